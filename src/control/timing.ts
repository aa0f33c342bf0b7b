import { type Check, type Json, orNull, type Problem } from './problems.ts'
import { timeOf } from './times.ts'

/** When a change of the settings is made, and taken back, beside what it sets. Times in milliseconds since the epoch. */
export interface Timing {
  /** `null` for now. */
  readonly from: number | null
  /** `null` for never. */
  readonly until: number | null
}

/** How far ahead a time may lie. */
const YEAR_MS = 366 * 86_400_000

/** The fields of the body, of a good form or not. Whether they go together is for `timingProblems`. */
export const TIMING_FIELDS: readonly (readonly [string, Check])[] = [
  ['from', orNull(time)],
  ['until', orNull(time)],
]

export function timingOf({ from, until }: Json): Timing {
  return { from: momentOf(from), until: momentOf(until) }
}

/** What is wrong with the times of a body whose fields have a good form. @param now the store's time */
export function timingProblems(body: Json, now: number): Problem[] {
  const { from, until } = timingOf(body)
  const [first, what] = from === null ? [now, 'it is'] : [from, '`from` is']
  return [
    ...(from === null ? [] : momentProblems('from', from, now, now, 'it is')),
    ...(until === null ? [] : momentProblems('until', until, first, now, what)),
  ]
}

/** @param after the moment behind which it must lie, which `what` names */
function momentProblems(path: string, at: number, after: number, now: number, what: string): Problem[] {
  if (at <= after) return [{ path, msg: `must be later: ${what} ${new Date(after).toISOString()}` }]
  return at - now > YEAR_MS ? [{ path, msg: 'must be within 366 days from now' }] : []
}

function momentOf(value: unknown): number | null {
  return typeof value === 'string' ? timeOf(value) : null
}

function time(value: unknown, path: string): Problem[] {
  if (typeof value === 'string' && !Number.isNaN(timeOf(value))) return []
  return [{ path, msg: 'must be a time with its offset, for example 2030-01-31T00:00:00Z' }]
}
