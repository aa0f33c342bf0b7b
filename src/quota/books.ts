import type { Limit, Window } from './window.ts'

/**
 * The books count every charge in a window of calendar days, beside the windows with limits. They say what was used on a day,
 * whatever windows are configured. The books limit nobody, and no list of limits shows them.
 */
export interface Books {
  /** Made by `bookWindow`. */
  readonly window: Window
  /** Whether this user's days are kept. */
  isKept(user: string): boolean
}

/**
 * The length by which stores know the window of the books. It is longer than any day of any zone, as for every calendar window. It
 * is a number of whole hours, because a counter in Redis keeps such a length in one byte. No window of a configuration has this
 * length.
 */
export const BOOK_SECONDS = 33 * 3600

/** The window that counts the days of a zone. @param zone IANA name that `Intl` knows */
export function bookWindow(zone: string): Window {
  return { name: 'day', seconds: BOOK_SECONDS, calendar: { unit: 'day', zone } }
}

export function isBook({ seconds }: Pick<Window, 'seconds'>): boolean {
  return seconds === BOOK_SECONDS
}

/**
 * The name under which a store keeps the moment from which a window is counted. The name contains the length of the window in seconds. For
 * a calendar window it also contains the zone, and the day with which months begin if that is set.
 * @param category in which the window is counted. Default every category
 */
export function countedName({ seconds, calendar }: Window, category: string | null = null): string {
  const day = calendar?.day === undefined ? '' : `@${calendar.day}`
  const name = calendar === undefined ? String(seconds) : `${seconds} ${calendar.zone}${day}`
  return category === null ? name : `${name} ${category}`
}

/** The prefix for the name of a category's longest window, whose runs are kept for `usage.keep`. */
export const LONGEST = 'longest '

/** @returns `null` if there is no window */
export function longestOf(windows: readonly Window[]): Window | null {
  return windows.reduce<Window | null>((a, b) => (a === null || b.seconds > a.seconds ? b : a), null)
}

/**
 * The time that a store keeps for a new name, in milliseconds since the epoch. If a longer window was just removed, a counter may still
 * hold a run of the longer one. Until that run is over, the runs of shorter windows are kept for the shorter time.
 * @param gone the names that were removed
 */
export function countedFrom(name: string, gone: Iterable<string>, now: number): number {
  const before = Math.max(0, ...[...gone].map(secondsOfLongest))
  return before > secondsOfLongest(name) && name.startsWith(LONGEST) ? now + before * 1000 : now
}

/** The length in a name that begins with `LONGEST`, in seconds; 0 for any other name. */
function secondsOfLongest(name: string): number {
  return name.startsWith(LONGEST) ? Number.parseInt(name.slice(LONGEST.length), 10) : 0
}

/** More tokens than a counter can hold. */
const WITHOUT_BOUND = Number.MAX_SAFE_INTEGER

export function bookLimit(window: Window): Limit {
  return { window, limit: WITHOUT_BOUND }
}
