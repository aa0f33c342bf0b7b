import { type Calendar, periodOf } from './calendar.ts'

/**
 * The arithmetic of one window. Pure, with the time as an argument. A window starts with its first accepted charge, and
 * is over at `startedAt + length`. A run of a calendar window ends with the period of its first charge, and is shown from
 * the beginning of that period. In the store every run is named by its first charge, so no two runs have the same name,
 * even if a window is emptied.
 */

/** A kind of window. Its length is its identity in the store, so a renamed window keeps its usage. */
export interface Window {
  /** The name in responses and in the configuration, for example `1h`. */
  readonly name: string
  /** Length in whole seconds, at least 1. For a calendar window it is longer than any period of its unit. */
  readonly seconds: number
  /** The calendar whose periods end the runs. Absent for a window of a fixed length. */
  readonly calendar?: Calendar
}

/** What decides how long a window runs. */
export interface Length {
  readonly seconds: number
  readonly calendar?: Calendar | undefined
}

/** The most windows of one category, including the window of the books. store/redis/form/section.ts has room for as many. */
export const MOST_WINDOWS = 8

/** A window with the limit that somebody has in it. */
export interface Limit {
  readonly window: Window
  /** Tokens that pass in one run of the window, an integer from 0 to 10^12. */
  readonly limit: number
  /** The last of these tokens, which are beyond the promised limit but still pass. Above 0 and below `limit`. Default none. */
  readonly over?: number
  /** Tokens of a global window that only known users may use, in addition to this limit of a new user. Default none. */
  readonly kept?: number
}

/** The limit that clients and operators see: the tokens before those that are over. */
export function promised({ limit, over = 0 }: Pick<Limit, 'limit' | 'over'>): number {
  return limit - over
}

/** What has been counted in one window. */
export interface Usage {
  /** Milliseconds since the epoch on the store's clock, or 0 when the window is not running. */
  readonly startedAt: number
  /** Tokens used since then; 0 when the window is not running. */
  readonly used: number
}

export const NOT_RUNNING: Usage = Object.freeze({ startedAt: 0, used: 0 })

/** The start of a window in which something is charged at `now`. A window that is not running starts at `now`. */
export function startOf(usage: Usage, now: number): number {
  return usage.startedAt === 0 ? now : usage.startedAt
}

/** When a run ends that starts at `startedAt`, in milliseconds since the epoch. */
export function endOf({ seconds, calendar }: Length, startedAt: number): number {
  return calendar === undefined ? startedAt + seconds * 1000 : periodOf(calendar, startedAt).to
}

/** From when a run that starts at `startedAt` is shown. The period of a calendar window begins even without a charge. */
export function beginOf({ calendar }: Length, startedAt: number): number {
  return calendar === undefined ? startedAt : periodOf(calendar, startedAt).from
}

/** The moment at which a running window ends, in milliseconds since the epoch. */
export function resetAt(usage: Usage, window: Length): number {
  return endOf(window, usage.startedAt)
}

/**
 * `usage` as it counts at `now`. A window that has ended counts as not running. If its start lies in the future, the
 * clock was ahead, and the window counts as started now. Its usage stays, and it never has more than its length left.
 */
export function usageAt(usage: Usage, window: Length, now: number): Usage {
  if (usage.startedAt > now) return { startedAt: now, used: usage.used }
  return usage.startedAt !== 0 && isRunning(usage.startedAt, window, now) ? usage : NOT_RUNNING
}

/** A calendar remembers the period of `now`, so this is fast. */
function isRunning(startedAt: number, { seconds, calendar }: Length, now: number): boolean {
  return calendar === undefined ? now < startedAt + seconds * 1000 : startedAt >= periodOf(calendar, now).from
}

/**
 * Whether a window has no room for the cheapest request of its category, so that it blocks its user. The dashboard
 * calls it too, so this file runs in a browser.
 * @param over tokens that pass beyond `limit`, if `limit` is what was promised. Default none
 * @param cost of that request; `undefined` if nothing of the category is refused
 */
export function lacksRoom(
  { used, limit, over = 0 }: { readonly used: number; readonly limit: number; readonly over?: number | undefined },
  cost: number | undefined,
): boolean {
  return cost !== undefined && used + cost > limit + over
}
