/** One half-hour of the series, as written in the address of a page. Pure. */

export const HALF_HOUR_MS = 1_800_000
export const DAY_MS = 48 * HALF_HOUR_MS

export interface HalfHour {
  readonly from: Date
  /** The first moment after it. */
  readonly to: Date
}

/** @param text the start in ISO 8601 @returns `null` if no half-hour starts there */
export function halfHourOf(text: string | undefined): HalfHour | null {
  const start = Date.parse(text ?? '')
  const isStart = Number.isFinite(start) && start % HALF_HOUR_MS === 0
  return isStart ? { from: new Date(start), to: new Date(start + HALF_HOUR_MS) } : null
}
