import type { NowResponse, RefusalsResponse, WindowResponse } from '../../admin/api.ts'
import type { Costs, RouteCost } from './costs.ts'
import { type Rates, ratesBetween } from './rates.ts'

/** Who is refused now, and why, from what the API says of this moment. Pure. */

/** How long ago a refusal may lie to be one of now. */
export const RECENT_MS = 5 * 60_000

/** Shares of failures, 0 to 1: a line appears at the first and goes below the second, so that it does not come and go. */
const APPEARS = 0.02
const GOES = 0.005

/** A share of failures that is worth red. */
export const ALARMING = 0.05

/** Fewer forwarded requests than these have no share worth a line. */
const LEAST_FORWARDED = 20

/** What happens now is counted over so long, in milliseconds. */
export const FAILING_MS = 60_000

/** A window of everybody without room. */
export interface FullWindow {
  readonly category: string
  readonly window: string
  /** When it ends, in ISO 8601. */
  readonly until: string
  /** Tokens that are left. */
  readonly remaining: number
  /** A route whose requests cost more than is left; `null` if no request of the category has room. */
  readonly tooDear: RouteCost | null
}

export interface Status {
  /** By category the full window that ends last. Empty under shadow mode, and while the store is out. */
  readonly full: readonly FullWindow[]
  /** Users who were refused by a limit of their own a moment ago. */
  readonly users: number
  /** Organisations whose members were refused by its limit. */
  readonly organisations: number
  readonly isStoreOut: boolean
  readonly isShadow: boolean
  /** Share of the forwarded requests that the upstream fails now, 0 to 1; `null` if that is none worth a line, or not known. */
  readonly failing: number | null
}

export interface StatusSources {
  /** The latest ones. */
  readonly refusals: readonly Refusal[]
  /** What requests cost, by category. */
  readonly costs: ReadonlyMap<string, Costs>
  /** An earlier look at the same, from which what happens now is counted; `null` for none. */
  readonly before: NowResponse | null
  /** Whether there is a line about failures already. */
  readonly wasFailing: boolean
}

type Refusal = RefusalsResponse['refusals'][number]

export function statusOf(now: NowResponse, { refusals, costs, before, wasFailing }: StatusSources): Status {
  const since = Date.parse(now.at) - RECENT_MS
  const recent = refusals.filter(({ last }) => Date.parse(last) >= since)
  return {
    full: now.shadow ? [] : fullWindows(now, recent, costs),
    users: new Set(recent.filter(({ scope }) => scope === 'Personal').map(({ user }) => user)).size,
    organisations: new Set(recent.filter(({ scope }) => scope === 'Organisation').map((each) => each.organisation))
      .size,
    isStoreOut: !now.store.answers,
    isShadow: now.shadow,
    failing: before === null || !now.store.answers ? null : failingShare(before, now, wasFailing),
  }
}

/** Whether nobody is refused. */
export function isNobodyRefused({ full, users, organisations, isStoreOut }: Status): boolean {
  return full.length === 0 && users === 0 && organisations === 0 && !isStoreOut
}

function fullWindows(
  { windows }: NowResponse,
  recent: readonly Refusal[],
  costs: StatusSources['costs'],
): FullWindow[] {
  return Object.entries(windows ?? {}).flatMap(([category, list]) => {
    const full = list.flatMap((window) => fullWindow(category, window, recent, costs.get(category)))
    const [last] = full.toSorted((a, b) => Date.parse(b.until) - Date.parse(a.until))
    return last === undefined ? [] : [last]
  })
}

/** One with tokens left is full for a route that costs more, if somebody was refused for it in this run. */
function fullWindow(
  category: string,
  of: WindowResponse,
  recent: readonly Refusal[],
  costs: Costs | undefined,
): FullWindow[] {
  const { window, remaining, startedAt, resetAt } = of
  if (startedAt === null || resetAt === null) return []
  const full = { category, window, until: resetAt, remaining }
  if (remaining < (costs?.least ?? 1)) return [{ ...full, tooDear: null }]
  if (costs === undefined || costs.dearest.cost <= remaining) return []
  const hasRefused = recent.some(
    (each) => each.scope === 'Global' && each.category === category && each.window === window && each.last >= startedAt,
  )
  return hasRefused ? [{ ...full, tooDear: costs.dearest }] : []
}

function failingShare(before: NowResponse, now: NowResponse, wasFailing: boolean): number | null {
  const rates = ratesBetween(before, now)
  if (rates === null) return null
  const seconds = (rates.at - Date.parse(before.at)) / 1000
  if (rates.forwarded * seconds < LEAST_FORWARDED) return null
  const share = failedShare(rates) ?? 0
  return share >= (wasFailing ? GOES : APPEARS) ? share : null
}

/** Failures of the upstream as a share of the forwarded requests, 0 to 1; `null` if none was forwarded. */
export function failedShare({ failed, forwarded }: Pick<Rates, 'failed' | 'forwarded'>): number | null {
  return forwarded > 0 ? Math.min(1, failed / forwarded) : null
}
