import type { Calendar } from './calendar.ts'

/**
 * The arithmetic of one window: pure, with the time as an argument.
 * A window starts with the first charge that is accepted, runs for its length and ends at `startedAt + length`. At that
 * millisecond it is over.
 */

/** A kind of window. Its length is its identity in the store, so a renamed window keeps its usage. */
export interface Window {
  /** Label in responses and configuration, for example `1h`. */
  readonly name: string
  /** Length in whole seconds, at least 1; of a calendar window more than any period of its unit lasts. */
  readonly seconds: number
  /** Whose periods a run of the window ends with. Absent for a window of a fixed length. */
  readonly calendar?: Calendar
}

/** Windows of one category. A section of the Redis store has room for as many (store/redis/sections.ts). */
export const MOST_WINDOWS = 8

/** A window with the limit in force for somebody. */
export interface Limit {
  readonly window: Window
  /** Tokens allowed in one run of the window: an integer from 0 to 10^12. */
  readonly limit: number
  /**
   * Tokens of a global window that are kept for known users, beyond this limit of a user who is not known. Default
   * none.
   */
  readonly kept?: number
}

/** What has been counted in one window. */
export interface Usage {
  /** Start in milliseconds since the epoch on the store's clock, or 0 when the window is not running. */
  readonly startedAt: number
  /** Tokens used since then; 0 when the window is not running. */
  readonly used: number
}

export const NOT_RUNNING: Usage = Object.freeze({ startedAt: 0, used: 0 })

/** The start of a window in which something is charged at `now`: one that is not running starts then. */
export function startOf(usage: Usage, now: number): number {
  return usage.startedAt === 0 ? now : usage.startedAt
}

/** The moment at which a running window ends, in milliseconds since the epoch. */
export function resetAt(usage: Usage, seconds: number): number {
  return usage.startedAt + seconds * 1000
}

/**
 * `usage` as it counts at `now`. A window that has ended counts as not running. A window whose start lies in the future
 * counts as started now: the clock was ahead when it started. What was used in it stays, and it has its length left at
 * most.
 */
export function usageAt(usage: Usage, seconds: number, now: number): Usage {
  if (usage.startedAt > now) return { startedAt: now, used: usage.used }
  return usage.startedAt !== 0 && now < resetAt(usage, seconds) ? usage : NOT_RUNNING
}

/**
 * Whether a window has no room for the cheapest request of its category, so that it blocks its user. The admin page
 * asks as well: this file runs in a browser.
 * @param cost of that request; `undefined` if the quota refuses nothing of the category
 */
export function lacksRoom(
  { used, limit }: { readonly used: number; readonly limit: number },
  cost: number | undefined,
): boolean {
  return cost !== undefined && used + cost > limit
}
