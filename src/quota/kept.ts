import type { Retention } from './history.ts'
import type { KeptSince, KeptStates } from './history-store.ts'

/** What becomes of runs when it is said anew how long they are kept. Pure. */

export const UNSWEPT = 'unswept'

/** How long a process waits that keeps runs for longer than another one has said, in milliseconds. */
const OTHERS_MS = 60 * 60_000

/**
 * What a store that knows these states is to note of a retention; none if nothing has changed. All processes say it again each minute, and
 * two may differ: then the shorter time stands, since the process that says it keeps no run for longer. A longer time is noted when a
 * process begins with it, or an hour after the last change: a process that kept less may have ended.
 * @param isAnew whether the process begins with it: it has started, or was reloaded
 */
export function keptChanges(before: KeptStates, retention: Retention, now: number, isAnew: boolean): KeptStates {
  const { longestSeconds, shorterSeconds, anonymousSeconds } = retention
  const wanted = { longest: longestSeconds, shorter: shorterSeconds, anonymous: anonymousSeconds }
  const changes = new Map<string, KeptSince>()
  for (const [name, keptSeconds] of Object.entries(wanted)) {
    const known = before.get(name)
    if (known?.keptSeconds === keptSeconds) continue
    const isLonger = known !== undefined && keptSeconds > known.keptSeconds
    if (isLonger && !isAnew && now - known.changedAt < OTHERS_MS) continue
    changes.set(name, { keptSeconds, leastSeconds: leastOf(known, now) ?? keptSeconds, changedAt: now })
    if (known !== undefined && !isLonger && isAnew) {
      changes.set(UNSWEPT, { keptSeconds: 0, leastSeconds: 0, changedAt: now })
    }
  }
  return changes
}

/** What was charged before an earlier change is gone once the time has passed that it was kept for. */
function leastOf(known: KeptSince | undefined, now: number): number | undefined {
  if (known === undefined) return undefined
  const { keptSeconds, leastSeconds, changedAt } = known
  return now - changedAt >= keptSeconds * 1000 ? keptSeconds : Math.min(keptSeconds, leastSeconds)
}

/** For how long a run that began then is kept for certain, in seconds. @param wanted by the configuration */
export function keptForCertain(state: KeptSince | undefined, wanted: number, startedAt: number): number {
  if (state === undefined) return wanted
  const kept = Math.min(wanted, state.keptSeconds)
  return startedAt < state.changedAt ? Math.min(kept, state.leastSeconds) : kept
}
