import { isBook } from './books.ts'
import type { ScopeName } from './charged-scopes.ts'
import type { Entry } from './counter.ts'

/** How long runs of windows are kept after their end. */
export interface Retention {
  /** For the books and the longest window of a category, in whole seconds. 0 keeps no runs. */
  readonly longestSeconds: number
  /** For all other windows. */
  readonly shorterSeconds: number
  /** For all windows of callers who are known only by an address or by an unchecked key. */
  readonly anonymousSeconds: number
  isAnonymous(user: string): boolean
}

/** The most runs of one window that a store keeps. If there are more, the oldest are forgotten. */
export const MOST_RUNS = 3000

export const NO_RETENTION: Retention = {
  longestSeconds: 0,
  shorterSeconds: 0,
  anonymousSeconds: 0,
  isAnonymous: () => false,
}

/** How long the runs of one user or organisation are kept, in seconds. */
export type Kept = Pick<Retention, 'longestSeconds' | 'shorterSeconds'>

/** How long the runs of an owner are kept; `null` if none is. Usage of everybody together has no history; it has series instead. */
export function keptOf(retention: Retention, scope: ScopeName, id: string): Kept | null {
  if (scope === 'global') return null
  const { anonymousSeconds } = retention
  const kept =
    scope === 'personal' && retention.isAnonymous(id)
      ? { longestSeconds: anonymousSeconds, shorterSeconds: anonymousSeconds }
      : retention
  return longestKept(kept) === 0 ? null : kept
}

/** The longest time for which runs of an owner are kept after their end, in seconds. */
export function mostKept(retention: Retention, scope: ScopeName, id: string): number {
  const kept = keptOf(retention, scope, id)
  return kept === null ? 0 : longestKept(kept)
}

/** The longest time for which a run is kept after its end, in seconds. */
export function longestKept({ longestSeconds, shorterSeconds }: Kept): number {
  return Math.max(longestSeconds, shorterSeconds)
}

/** A run that goes into the history. */
export interface EndedRun extends Readonly<Entry> {
  /** How long the run is kept after its end, in seconds. */
  readonly keptSeconds: number
}

/**
 * The runs that a counter no longer holds. A run that started in the future gets another start and goes on, so it is left
 * out.
 * @param before the earlier state of the counter
 * @param after its present state
 * @param latest the last moment at which an ended run may have started. Default no bound, for a counter that was emptied
 */
export function endedRuns(
  before: readonly Readonly<Entry>[],
  after: readonly Readonly<Entry>[],
  kept: Kept,
  latest: number = Number.POSITIVE_INFINITY,
): EndedRun[] {
  const longest = Math.max(...before.map((entry) => (isBook(entry) ? 0 : entry.seconds)))
  return before.flatMap((entry) => {
    const { seconds, startedAt, used } = entry
    const keptSeconds = isBook(entry) || seconds === longest ? kept.longestSeconds : kept.shorterSeconds
    const goesOn = after.some((entry) => entry.seconds === seconds && entry.startedAt === startedAt)
    return used === 0 || keptSeconds === 0 || startedAt > latest || goesOn
      ? []
      : [{ seconds, startedAt, used, keptSeconds }]
  })
}
