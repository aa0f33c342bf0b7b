import { isBook } from '../quota/books.ts'
import type { HistoryScope } from '../quota/history-store.ts'
import { type Limit, promised, type Window } from '../quota/window.ts'

/** What of runs lies beyond soft limits. Of a run only its tokens are kept, so the limits are those in force when it is asked. Pure. */

/** The limits of one user or organisation in a category; `null` for none. */
export type LimitsOf = (category: string) => readonly Limit[] | null

/** The limits of several users or organisations, in the order of their ids. @throws StoreError */
export type SoftLimits = (scope: HistoryScope, ids: readonly string[]) => Promise<readonly LimitsOf[]>

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
