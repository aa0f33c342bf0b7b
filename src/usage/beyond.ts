import { isBook } from '../quota/books.ts'
import { periodOf } from '../quota/calendar.ts'
import type { HistoryScope, OwnerHistory } from '../quota/history-store.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import { type Limit, promised, type Window } from '../quota/window.ts'

/**
 * By what the runs of an owner are read: how long its months are, what of runs lies beyond soft limits, and what grants it has. Of a run
 * only its tokens are kept, so the limits are those in force when it is asked. Pure.
 */

/** The limits of one user or organisation in a category; `null` for none. */
export type LimitsOf = (category: string) => readonly Limit[] | null

/** By what the runs of one user or organisation are read. */
export interface OwnerTerms {
  readonly limitsOf: LimitsOf
  /** The day with which its months begin; `null` for that of the window. */
  readonly periodDay: number | null
  /** One that the owner was given, also one that has ended; `null` for one that is not known. */
  readonly grantOf: (id: string) => KnownGrant | null
}

/** What is known of a grant whose tokens were taken. */
export interface KnownGrant {
  readonly category: string
  readonly tokens: number
  /** When it began and ends or has ended, in milliseconds since the epoch. */
  readonly from: number
  readonly until: number
}

/** Those of several users or organisations, in the order of their ids. @throws StoreError */
export type TermsOf = (scope: HistoryScope, ids: readonly string[]) => Promise<readonly OwnerTerms[]>

/** @param payer the owner, or a member of it @param grantOf of all grants, since ids are of one owner. Default none is known */
export function termsOf(
  policy: Policy,
  payer: Payer,
  scope: HistoryScope,
  grantOf: OwnerTerms['grantOf'] = NO_TERMS.grantOf,
): OwnerTerms {
  return {
    grantOf,
    limitsOf: (category) => (policy.categories.includes(category) ? policy.limitsFor(category, payer)[scope] : null),
    periodDay: policy.periodDayOf(payer, scope)?.day ?? null,
  }
}

/** Of whom no limit is known, and no grant. */
export const NO_TERMS: OwnerTerms = { limitsOf: () => null, periodDay: null, grantOf: () => null }

/** Tokens of one run beyond the limit of its window; `null` if that is not soft, or no limit is known. */
export type Beyond = (category: string, window: Window, startedAt: number, tokens: number) => number | null

/**
 * Of the runs of one user or organisation. What grants paid lies beyond no limit: it is in the books, and in no window that limits. So the
 * books count as the day of the window that is limited; where that is not kept any more, as no more than ever fits into it.
 */
export function beyondOf(owner: OwnerHistory, limitsOf: LimitsOf): Beyond {
  /** By category, then by the start of a day, what windows hold; `null` if no grant has paid. It is read when it is first needed. */
  let charged: DaysCharged | null | undefined
  return (category, window, startedAt, tokens) => {
    const limit = limitsOf(category)?.find((each) => each.over !== undefined && hasRunsOf(each.window, window))
    if (limit === undefined) return null
    const above = Math.max(0, tokens - promised(limit))
    if (above === 0 || !isBook(window)) return above
    if (charged === undefined) charged = owner.takenOf().size === 0 ? null : daysCharged(owner, limit.window)
    if (charged === null) return above
    // Of a day of which windows that are kept hold nothing, grants have paid all.
    const unknown = startedAt >= charged.since ? 0 : Math.min(tokens, limit.limit)
    const day = charged.tokens.get(dayOf(category, limit.window, startedAt)) ?? unknown
    return Math.max(0, day - promised(limit))
  }
}

/** Days of the same zone are the same runs, in a window that limits and in the books. */
function hasRunsOf({ seconds, calendar }: Window, counted: Window): boolean {
  if (seconds === counted.seconds) return true
  return isBook(counted) && calendar?.unit === 'day' && calendar.zone === counted.calendar?.zone
}

interface DaysCharged {
  readonly tokens: ReadonlyMap<string, number>
  /** When the oldest of them began; infinite for none. */
  readonly since: number
}

/** @param window a day of a calendar: all such have the zone of the books */
function daysCharged(owner: OwnerHistory, window: Window): DaysCharged {
  const tokens = new Map<string, number>()
  let since = Number.POSITIVE_INFINITY
  const add = (category: string, seconds: number, startedAt: number, more: number): void => {
    if (seconds !== window.seconds) return
    const day = dayOf(category, window, startedAt)
    tokens.set(day, (tokens.get(day) ?? 0) + more)
    since = Math.min(since, startedAt)
  }
  owner.eachRun(0, Number.MAX_SAFE_INTEGER, add, window.seconds)
  return { tokens, since }
}

/** In the books a day begins with its first charge, which a grant may have paid. */
function dayOf(category: string, { calendar }: Window, startedAt: number): string {
  return `${calendar === undefined ? startedAt : periodOf(calendar, startedAt).from} ${category}`
}
