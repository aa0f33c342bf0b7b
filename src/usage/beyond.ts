import { isBook } from '../quota/books.ts'
import type { HistoryScope } from '../quota/history-store.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import { type Limit, promised, type Window } from '../quota/window.ts'

/** Whose runs they are: how long its months are, and what of runs lies beyond soft limits. Of a run only its tokens are kept, so the limits are those in force when it is asked. Pure. */

/** The limits of one user or organisation in a category; `null` for none. */
export type LimitsOf = (category: string) => readonly Limit[] | null

/** By what the runs of one user or organisation are read. */
export interface OwnerTerms {
  readonly limitsOf: LimitsOf
  /** The day with which its months begin; `null` for that of the window. */
  readonly periodDay: number | null
}

/** Those of several users or organisations, in the order of their ids. @throws StoreError */
export type TermsOf = (scope: HistoryScope, ids: readonly string[]) => Promise<readonly OwnerTerms[]>

/** @param payer the owner, or a member of it */
export function termsOf(policy: Policy, payer: Payer, scope: HistoryScope): OwnerTerms {
  return {
    limitsOf: (category) => (policy.categories.includes(category) ? policy.limitsFor(category, payer)[scope] : null),
    periodDay: policy.periodDaysOf(payer)?.[scope]?.day ?? null,
  }
}

/** Of whom no limit is known. */
export const NO_TERMS: OwnerTerms = { limitsOf: () => null, periodDay: null }

/** Tokens of one run beyond the limit of its window; `null` if that is not soft, or no limit is known. */
export function beyond(limits: readonly Limit[] | null, window: Window, tokens: number): number | null {
  const limit = limits?.find((each) => each.over !== undefined && hasRunsOf(each.window, window))
  return limit === undefined ? null : Math.max(0, tokens - promised(limit))
}

/** Days of the same zone are the same runs, in a window that limits and in the books. */
function hasRunsOf({ seconds, calendar }: Window, counted: Window): boolean {
  if (seconds === counted.seconds) return true
  return isBook(counted) && calendar?.unit === 'day' && calendar.zone === counted.calendar?.zone
}
