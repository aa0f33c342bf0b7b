/** Days begin at midnight of Asia/Shanghai, which is 8 hours ahead of UTC and has had no summer time since 1991. */
const AHEAD_MS = 8 * 60 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000

/** The day of a time in milliseconds since the epoch, as `2026-08-25`. @param back how many days earlier */
export function dayOf(time: number, back = 0): string {
  return new Date(time + AHEAD_MS - back * DAY_MS).toISOString().slice(0, 10)
}
