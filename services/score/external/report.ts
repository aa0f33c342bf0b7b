import type { Skipped } from './platform.ts'

/** The most records that a report names. */
const MAX_NAMED = 20

/** How many records were skipped, and the first of them, each only once. */
export function reportOf(count: number, skipped: readonly Skipped[]) {
  const named = new Map(skipped.map((record) => [JSON.stringify(record), record]))
  return { skipped: count, skippedRecords: [...named.values()].slice(0, MAX_NAMED) }
}
