const FIRST_MS = 1000
const MOST_MS = 15_000

/** Milliseconds before the next attempt: 1 s, doubled by each further failure, up to 15 s. @param failures consecutive, 1 or more */
export function backoffMs(failures: number): number {
  return Math.min(MOST_MS, FIRST_MS * 2 ** (failures - 1))
}
