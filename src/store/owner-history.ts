import { grantCountedIn, isAccount } from '../quota/grant.ts'
import type { OwnerHistory, RunVisitor } from '../quota/history-store.ts'
import { eachPackedRun, oldestShown, type Shown } from './packed-history.ts'

/** Calls `visit` for each window of the counters of one user or organisation, even if the window is over. */
export type EachWindow = (visit: WindowVisitor) => void
export type WindowVisitor = (category: string, seconds: number, startedAt: number, used: number) => void

/**
 * The history of an owner, for both stores.
 * @param runs the packed runs that are over; `null` for none
 * @param shown which part is shown; `null` for everything
 */
export function ownerHistory(
  id: string,
  runs: Buffer | null,
  eachWindow: EachWindow,
  shown: Shown | null,
): OwnerHistory {
  function eachOfAll(from: number, to: number, visit: RunVisitor, only?: number): void {
    if (runs !== null) eachPackedRun(runs, from, to, visit, only ?? null, shown)
    eachWindow((category, seconds, startedAt, used) => {
      if (used === 0 || startedAt >= to || (only !== undefined && seconds !== only)) return
      const oldest = shown === null ? from : Math.max(from, oldestShown(seconds, shown.mostSeconds, shown))
      if (startedAt >= oldest) visit(category, seconds, startedAt, used, true)
    })
  }

  return {
    id,
    eachRun(from, to, visit, only) {
      const ofWindows: RunVisitor = (category, seconds, startedAt, tokens, isCounted) => {
        if (!isAccount(category)) visit(category, seconds, startedAt, tokens, isCounted)
      }
      eachOfAll(from, to, ofWindows, only)
    },
    takenOf() {
      const taken = new Map<string, number>()
      eachOfAll(0, Number.MAX_SAFE_INTEGER, (category, _seconds, _startedAt, tokens) => {
        const id = grantCountedIn(category)
        if (id !== null) taken.set(id, (taken.get(id) ?? 0) + tokens)
      })
      return taken
    },
  }
}
