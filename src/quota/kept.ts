import type { Retention } from './history.ts'
import type { KeptSince, KeptStates } from './history-store.ts'

/** What becomes of runs when it is said anew how long they are kept. Pure. */

export const UNSWEPT = 'unswept'

/** What a store that knows these states is to note of a retention; none if nothing has changed. */
export function keptChanges(before: KeptStates, retention: Retention, now: number): KeptStates {
  const { longestSeconds, shorterSeconds, anonymousSeconds } = retention
  const wanted = { longest: longestSeconds, shorter: shorterSeconds, anonymous: anonymousSeconds }
  const changes = new Map<string, KeptSince>()
  for (const [name, keptSeconds] of Object.entries(wanted)) {
    const known = before.get(name)
    if (known?.keptSeconds === keptSeconds) continue
    changes.set(name, { keptSeconds, leastSeconds: leastOf(known, now) ?? keptSeconds, changedAt: now })
    if (known !== undefined && keptSeconds < known.keptSeconds) {
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
