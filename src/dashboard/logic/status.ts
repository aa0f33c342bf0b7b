import type { NowResponse, RefusalsResponse, WindowResponse } from '../../admin/api.ts'
import { type Rates, ratesBetween } from './rates.ts'

/** Who is refused now, and why, from what the API says of this moment. Pure. */

/** How long ago a refusal may lie to be one of now. */
export const RECENT_MS = 5 * 60_000

/** A share of errors that is worth a word: below it one failure in a million would look like an outage. */
const ALARMING = 0.01

/** A window of everybody without room. */
export interface FullWindow {
  readonly category: string
  readonly window: string
  /** When it ends, in ISO 8601. */
  readonly until: string
  /** Tokens that are left: requests that cost more are refused. */
  readonly remaining: number
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
  /** Share of requests that the upstream fails now, 0 to 1; `null` if that is none worth a word, or not known. */
  readonly failing: number | null
}

type Refusal = RefusalsResponse['refusals'][number]

/**
 * @param refusals the latest ones
 * @param before an earlier look at the same, from which what happens now is counted; `null` for none
 */
export function statusOf(now: NowResponse, refusals: readonly Refusal[], before: NowResponse | null): Status {
  const since = Date.parse(now.at) - RECENT_MS
  const recent = refusals.filter(({ last }) => Date.parse(last) >= since)
  return {
    full: now.shadow ? [] : fullWindows(now, recent),
    users: new Set(recent.filter(({ scope }) => scope === 'Personal').map(({ user }) => user)).size,
    organisations: new Set(recent.filter(({ scope }) => scope === 'Organisation').map((each) => each.organisation))
      .size,
    isStoreOut: !now.store.answers,
    isShadow: now.shadow,
    failing: failingShare(before === null || !now.store.answers ? null : ratesBetween(before, now)),
  }
}

/** Whether nobody is refused. */
export function isNobodyRefused({ full, users, organisations, isStoreOut }: Status): boolean {
  return full.length === 0 && users === 0 && organisations === 0 && !isStoreOut
}

function fullWindows({ windows }: NowResponse, recent: readonly Refusal[]): FullWindow[] {
  return Object.entries(windows ?? {}).flatMap(([category, list]) => {
    const full = list.flatMap((window) => fullWindow(category, window, recent))
    const [last] = full.toSorted((a, b) => Date.parse(b.until) - Date.parse(a.until))
    return last === undefined ? [] : [last]
  })
}

/** One with tokens left is full for what costs more: that was refused in this run. */
function fullWindow(category: string, of: WindowResponse, recent: readonly Refusal[]): FullWindow[] {
  const { window, remaining, startedAt, resetAt } = of
  if (startedAt === null || resetAt === null) return []
  const hasRefused = recent.some(
    (each) => each.scope === 'Global' && each.category === category && each.window === window && each.last >= startedAt,
  )
  return remaining === 0 || hasRefused ? [{ category, window, until: resetAt, remaining }] : []
}

function failingShare(rates: Rates | null): number | null {
  if (rates === null || rates.requests === 0) return null
  const share = Math.min(1, rates.failed / rates.requests)
  return share < ALARMING ? null : share
}
