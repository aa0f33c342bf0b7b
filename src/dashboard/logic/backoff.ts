const FIRST_MS = 1000
const MOST_MS = 15_000

/** The wait before the next attempt. @param failures consecutive, 1 or more */
export function backoffMs(failures: number): number {
  return Math.min(MOST_MS, FIRST_MS * 2 ** (failures - 1))
}
