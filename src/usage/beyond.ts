import { isBook } from '../quota/books.ts'
import { periodOf } from '../quota/calendar.ts'
import type { HistoryScope, OwnerHistory } from '../quota/history-store.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import { type Limit, promised, type Window } from '../quota/window.ts'

/**
 * What is needed to read an owner's runs: the length of its months, the part of runs beyond soft limits, and its grants. Only the tokens
 * of a run are kept, so the present limits are used. Pure.
 */

/** The limits of one owner in a category; `null` for none. */
export type LimitsOf = (category: string) => readonly Limit[] | null

/** What is needed to read the runs of one owner. */
export interface OwnerTerms {
  readonly limitsOf: LimitsOf
  /** The first day of its months; `null` for that of the window. */
  readonly periodDay: number | null
  /** A grant of the owner, even an ended one; `null` if unknown. */
  readonly grantOf: (id: string) => KnownGrant | null
}

/** The facts about a grant whose tokens were taken. */
export interface KnownGrant {
  readonly category: string
  readonly tokens: number
  /** When it began, and when it ends or has ended, in milliseconds since the epoch. */
  readonly from: number
  readonly until: number
}

/** Reads the terms of several owners. They come in the order of `ids`. @throws StoreError */
export type TermsOf = (scope: HistoryScope, ids: readonly string[]) => Promise<readonly OwnerTerms[]>

/** @param payer the owner, or a member of an organisation @param grantOf finds any grant, since an id has one owner. Default unknown */
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

/** For an owner without known limits and grants. */
export const NO_TERMS: OwnerTerms = { limitsOf: () => null, periodDay: null, grantOf: () => null }

/** The tokens of one run beyond the soft limit of its window; `null` if no such limit is known. */
export type Beyond = (category: string, window: Window, startedAt: number, tokens: number) => number | null

/**
 * For the runs of one owner. Tokens paid by grants are in the books but in no limited window, so they are beyond no limit. So a day in the
 * books counts like the day of the limited window. If the limited window's day is no longer kept, at most the tokens that fit into it count.
 */
export function beyondOf(owner: OwnerHistory, limitsOf: LimitsOf): Beyond {
  /** By category and day, the tokens in windows; `null` if no grant has paid. Read when it is first needed. */
  let charged: DaysCharged | null | undefined
  return (category, window, startedAt, tokens) => {
    const limit = limitsOf(category)?.find((each) => each.over !== undefined && hasRunsOf(each.window, window))
    if (limit === undefined) return null
    const above = Math.max(0, tokens - promised(limit))
    if (above === 0 || !isBook(window)) return above
    if (charged === undefined) charged = owner.takenOf().size === 0 ? null : daysCharged(owner, limit.window)
    if (charged === null) return above
    // If kept windows have nothing for a day, grants have paid everything.
    const unknown = startedAt >= charged.since ? 0 : Math.min(tokens, limit.limit)
    const day = charged.tokens.get(dayOf(category, limit.window, startedAt)) ?? unknown
    return Math.max(0, day - promised(limit))
  }
}

/** Days in the same zone are the same runs in a limited window and in the books. */
function hasRunsOf({ seconds, calendar }: Window, counted: Window): boolean {
  if (seconds === counted.seconds) return true
  return isBook(counted) && calendar?.unit === 'day' && calendar.zone === counted.calendar?.zone
}

interface DaysCharged {
  readonly tokens: ReadonlyMap<string, number>
  /** When the oldest kept day began; infinite if none is kept. */
  readonly since: number
}

/** @param window a day of a calendar. All of them have the zone of the books */
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
