import { type Calendar, periodOf } from './calendar.ts'

/**
 * The arithmetic of one window: pure, with the time as an argument.
 * A window starts with the first charge that is accepted, runs for its length and ends at `startedAt + length`. At that
 * millisecond it is over. A run of a calendar window ends with the period that its first charge lies in. It is shown from
 * the beginning of that period. In the store it is named by its first charge, as any other: so no two have one name,
 * whenever a window is emptied.
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

/** What says how long a window runs. */
export interface Length {
  readonly seconds: number
  readonly calendar?: Calendar | undefined
}

/** Windows of one category, that of the books among them. A section of the Redis store has room for as many (store/redis/form/section.ts). */
export const MOST_WINDOWS = 8

/** A window with the limit in force for somebody. */
export interface Limit {
  readonly window: Window
  /** Tokens that pass in one run of the window: an integer from 0 to 10^12. */
  readonly limit: number
  /**
   * So many of them, the last ones, lie beyond the limit that was promised: they pass, and are called over. Above 0 and below `limit`.
   * Default none.
   */
  readonly over?: number
  /**
   * Tokens of a global window that are kept for known users, beyond this limit of a user who is not known. Default
   * none.
   */
  readonly kept?: number
}

/** What clients and operators see of a limit: the tokens before those that pass as over. */
export function promised({ limit, over = 0 }: Pick<Limit, 'limit' | 'over'>): number {
  return limit - over
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

/** The moment at which a run that starts then ends, in milliseconds since the epoch. */
export function endOf({ seconds, calendar }: Length, startedAt: number): number {
  return calendar === undefined ? startedAt + seconds * 1000 : periodOf(calendar, startedAt).to
}

/** The moment from which a run that starts then is shown: a period of a calendar begins without a charge. */
export function beginOf({ calendar }: Length, startedAt: number): number {
  return calendar === undefined ? startedAt : periodOf(calendar, startedAt).from
}

/** The moment at which a running window ends, in milliseconds since the epoch. */
export function resetAt(usage: Usage, window: Length): number {
  return endOf(window, usage.startedAt)
}

/**
 * `usage` as it counts at `now`. A window that has ended counts as not running. A window whose start lies in the future
 * counts as started now: the clock was ahead when it started. What was used in it stays, and it has its length left at
 * most.
 */
export function usageAt(usage: Usage, window: Length, now: number): Usage {
  if (usage.startedAt > now) return { startedAt: now, used: usage.used }
  return usage.startedAt !== 0 && isRunning(usage.startedAt, window, now) ? usage : NOT_RUNNING
}

/** The period of `now` is the one that is remembered. */
function isRunning(startedAt: number, { seconds, calendar }: Length, now: number): boolean {
  return calendar === undefined ? now < startedAt + seconds * 1000 : startedAt >= periodOf(calendar, now).from
}

/**
 * Whether a window has no room for the cheapest request of its category, so that it blocks its user. The admin page
 * asks as well: this file runs in a browser.
 * @param over tokens that pass beyond the limit, where it is what was promised. Default none
 * @param cost of that request; `undefined` if the quota refuses nothing of the category
 */
export function lacksRoom(
  { used, limit, over = 0 }: { readonly used: number; readonly limit: number; readonly over?: number | undefined },
  cost: number | undefined,
): boolean {
  return cost !== undefined && used + cost > limit + over
}
