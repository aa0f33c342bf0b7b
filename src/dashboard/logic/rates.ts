import type { NowResponse } from '../../contract/api.ts'

const FIELDS = ['requests', 'refused', 'shadowed', 'tokens', 'forwarded', 'failed'] as const
type Field = (typeof FIELDS)[number]

/** Per second, between two looks. `at` is the time of the later look, in milliseconds since the epoch. */
export type Rates = Readonly<Record<Field | 'at', number>>

/**
 * What each replica did per second between two looks, by instance. A new replica counts from its start. One that is gone does not
 * count, because its counts have left the sums.
 *
 * @returns `null` if unknown, because no time has passed or the store was out
 */
export function replicaRates(before: NowResponse, after: NowResponse): ReadonlyMap<string, Rates> | null {
  const at = Date.parse(after.at)
  const seconds = (at - Date.parse(before.at)) / 1000
  if (!(seconds > 0)) return null
  if (before.replicas === null || after.replicas === null) return null
  const known = new Map(before.replicas.map((replica) => [replica.instance, replica.counts]))
  const rates = after.replicas.map(({ instance, startedAt, counts }): [string, Rates] => {
    const old = known.get(instance) ?? (startedAt >= before.at ? null : counts)
    const rate = (field: Field): number => Math.max(0, counts[field] - (old?.[field] ?? 0)) / seconds
    return [instance, ratesBy(at, rate)]
  })
  return new Map(rates)
}

/** What all replicas together did per second between two looks. */
export function ratesBetween(before: NowResponse, after: NowResponse): Rates | null {
  const each = replicaRates(before, after)
  if (each === null) return null
  return ratesBy(Date.parse(after.at), (field) => [...each.values()].reduce((sum, rates) => sum + rates[field], 0))
}

function ratesBy(at: number, rate: (field: Field) => number): Rates {
  return { at, ...(Object.fromEntries(FIELDS.map((field) => [field, rate(field)])) as Record<Field, number>) }
}

/** How many looks are kept, and over how many of them a rate is taken, because replicas report counts in beats. */
export const KEPT = 90
export const SPAN = 3

/** The longest gap between looks, in milliseconds. In a longer gap nothing was measured, because nobody looked at the page. */
const LONGEST_GAP_MS = 20_000

/** @param looks oldest first */
export function rateHistory(looks: readonly NowResponse[]): Rates[] {
  return looks.slice(SPAN).flatMap((after, i) => {
    const measured = looks.slice(i, i + SPAN + 1)
    const [before] = measured
    const rates = before === undefined || hasGap(measured) ? null : ratesBetween(before, after)
    return rates === null ? [] : [rates]
  })
}

function hasGap(looks: readonly NowResponse[]): boolean {
  return looks.some(({ at }, i) => i > 0 && Date.parse(at) - Date.parse(looks[i - 1]?.at ?? at) > LONGEST_GAP_MS)
}

/** The latest rates; `undefined` if there are none, or if they are more than 20 s older than `now`. */
export function latestRates(history: readonly Rates[], now: Pick<NowResponse, 'at'>): Rates | undefined {
  const last = history.at(-1)
  return last !== undefined && Date.parse(now.at) - last.at <= LONGEST_GAP_MS ? last : undefined
}

/** A replica that is gone. */
export interface Left {
  readonly instance: string
  readonly host: string
  readonly pid: number
  /** When it was first missing, in milliseconds since the epoch. */
  readonly at: number
  /** The requests that it had counted. The sums no longer contain them. */
  readonly requests: number
}

/** The replicas that were there at the first look but not at the second. */
export function leftBetween(before: NowResponse, after: NowResponse): Left[] {
  if (before.replicas === null || after.replicas === null) return []
  const here = new Set(after.replicas.map(({ instance }) => instance))
  const at = Date.parse(after.at)
  return before.replicas
    .filter(({ instance }) => !here.has(instance))
    .map(({ instance, host, pid, counts }) => ({ instance, host, pid, at, requests: counts.requests }))
}
