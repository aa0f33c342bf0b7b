import type { Episode, EpisodeChange, Place, RefusalFilter } from './episodes.ts'
import type { SeriesEntry, SeriesQuestion, SeriesRow } from './series.ts'

/** What one process adds at once. */
export interface UsageFlush {
  /** The process that sends it; a random name for each start. */
  readonly instance: string
  /** Increases by one with each flush of the instance, from 1. */
  readonly sequence: number
  /** At most `MOST_ENTRIES`. */
  readonly series: readonly SeriesEntry[]
  /** At most `MOST_CHANGES`, each episode once. */
  readonly episodes: readonly EpisodeChange[]
}

/** The most entries and changes of one flush, so that it holds Redis for about a millisecond. */
export const MOST_ENTRIES = 100
export const MOST_CHANGES = 50

/** How long the last flush of an instance is remembered, in milliseconds. Nothing waits in memory for longer. */
export const REMEMBER_FLUSH_MS = 8 * 24 * 60 * 60_000

/** Series of half hours and refusals. Every implementation passes test/usage/usage-log.suite.ts. */
export interface UsageLogStore {
  /**
   * Adds a whole flush or, on an error, nothing. The same flush (same instance and sequence) may be sent again after an error,
   * but is applied once. An instance sends one flush at a time. Counts that are too old for the store are left out.
   * @throws StoreError
   */
  addUsage(flush: UsageFlush): Promise<void>
  /** Rows with counts, by start, then name, and the store's time. @throws StoreError */
  readSeries(question: SeriesQuestion): Promise<{ readonly at: number; readonly rows: readonly SeriesRow[] }>
  /**
   * One page of the episodes, the one with the latest refusal first. An episode with a further refusal meanwhile moves to the front.
   * @param page `cursor`: where the page before ended, `null` for the first; `limit`: 1 to 1000
   * @returns `next`: where the following page begins; `null` at the end
   * @throws StoreError
   */
  readRefusals(
    filter: RefusalFilter,
    page: { readonly cursor: Place | null; readonly limit: number },
  ): Promise<{ readonly at: number; readonly episodes: readonly Episode[]; readonly next: Place | null }>
}
