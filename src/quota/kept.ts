import type { Retention } from './history.ts'
import type { KeptSince, KeptStates } from './history-store.ts'

/** Decides what a store notes when the time for which runs are kept changes. Pure. */

export const UNSWEPT = 'unswept'

/** How long a process waits before it lengthens a time that another process has set, in milliseconds. */
const OTHERS_MS = 60 * 60_000

/**
 * What a store with these states has to note for a retention; empty if nothing has changed. All processes repeat their retention each
 * minute, and two of them may differ. The shorter time then wins, because the process that has it keeps no run for longer. A longer time
 * is noted when a process starts with it, or an hour after the last change, since the other process may have ended by then.
 * @param isAnew whether the process has just started or reloaded with these values
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

/** The shortest time that still applies to runs from before a change. An earlier value counts until its time has passed. */
function leastOf(known: KeptSince | undefined, now: number): number | undefined {
  if (known === undefined) return undefined
  const { keptSeconds, leastSeconds, changedAt } = known
  return now - changedAt >= keptSeconds * 1000 ? keptSeconds : Math.min(keptSeconds, leastSeconds)
}

/** For how long a run that began at `startedAt` is certainly kept, in seconds. @param wanted the configured time */
export function keptForCertain(state: KeptSince | undefined, wanted: number, startedAt: number): number {
  if (state === undefined) return wanted
  const kept = Math.min(wanted, state.keptSeconds)
  return startedAt < state.changedAt ? Math.min(kept, state.leastSeconds) : kept
}
