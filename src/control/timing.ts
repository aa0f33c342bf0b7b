import { isObject } from '../lib/json.ts'
import { type Check, type Json, object, only, orNull, type Problem } from './problems.ts'
import { timeOf } from './times.ts'

/** When a change of the settings is made and taken back. Times in milliseconds since the epoch. */
export interface Timing {
  /** `null` for now. */
  readonly from: number | null
  /** `null` for never. */
  readonly until: number | null
  /** `null` for none. */
  readonly guard: { readonly forMs: number; readonly refused: number } | null
}

const DURATION = /^(\d{1,5})(s|m|h|d)$/
const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const GUARD_MS = { min: 10_000, max: 86_400_000 }
const SHARE = /^(\d{1,2}(?:\.\d{1,6})?)%$/

/** How far in the future a time may be. */
const YEAR_MS = 366 * 86_400_000

/** The fields of the body, each by itself. `timingProblems` checks whether they fit together. */
export const TIMING_FIELDS: readonly (readonly [string, Check])[] = [
  ['from', orNull(time)],
  ['until', orNull(time)],
  ['guard', orNull(guard)],
]

export function timingOf({ from, until, guard }: Json): Timing {
  return { from: momentOf(from), until: momentOf(until), guard: guardOf(guard) }
}

/** What is wrong with the times of a body whose fields are valid by themselves. @param now the store's time */
export function timingProblems(body: Json, now: number): Problem[] {
  const { from, until } = timingOf(body)
  const [first, what] = from === null ? [now, 'it is'] : [from, '`from` is']
  return [
    ...(from === null ? [] : momentProblems('from', from, now, now, 'it is')),
    ...(until === null ? [] : momentProblems('until', until, first, now, what)),
  ]
}

/** @param after the moment after which `at` must be @param what the words for it in the message */
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

function guardOf(value: unknown): Timing['guard'] {
  return isObject(value) ? { forMs: durationOf(value.for), refused: shareOf(value.refused) } : null
}

function guard(value: unknown, path: string): Problem[] {
  const fields = new Map([
    ['for', only((it) => durationOf(it) >= GUARD_MS.min && durationOf(it) <= GUARD_MS.max, FOR)],
    ['refused', only((it) => shareOf(it) > 0, REFUSED)],
  ])
  const problems = object(fields, 'field')(value, path)
  if (!isObject(value)) return problems
  const missing = [...fields].filter(([name]) => value[name] === undefined)
  return [...problems, ...missing.flatMap(([name, check]) => check(undefined, `${path}.${name}`))]
}

const FOR = 'must be how long requests are counted, from 10s to 1d: for example 10m'
const REFUSED = 'must be the share of requests that may be refused, above 0% and below 100%: for example 5%'

/** Milliseconds; `NaN` if the value is no duration. */
function durationOf(value: unknown): number {
  const [, count, unit] = DURATION.exec(textOf(value)) ?? []
  return Number(count) * UNITS[unit as keyof typeof UNITS]
}

function shareOf(value: unknown): number {
  return Number(SHARE.exec(textOf(value))?.[1]) / 100
}

/** A list or an object is no text, even if JavaScript could convert it. For `{"toString": 1}` it would throw. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
