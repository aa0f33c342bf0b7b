import type { Limit, Window } from './window.ts'

/**
 * The books: beside the windows that limit somebody, each charge counts in a window of calendar days that limits nobody. It says what
 * was used on a day, whatever windows are configured, and is shown nowhere among limits.
 */
export interface Books {
  /** Of `bookWindow`. */
  readonly window: Window
  /** Whether this user's days are kept. */
  isKept(user: string): boolean
}

/**
 * The identity of the window of the books in the stores: longer than any day of any zone, as every calendar window has it, and whole
 * hours, of which a counter of Redis keeps the length in one byte. No window of a configuration has this length.
 */
export const BOOK_SECONDS = 33 * 3600

/** The days of a zone. @param zone IANA name that `Intl` knows */
export function bookWindow(zone: string): Window {
  return { name: 'day', seconds: BOOK_SECONDS, calendar: { unit: 'day', zone } }
}

export function isBook({ seconds }: Pick<Window, 'seconds'>): boolean {
  return seconds === BOOK_SECONDS
}

/**
 * How stores name a window of which they know since when it is counted: by its identity, the zone of its days, and the day with which its months begin.
 * @param category in which it is counted. Default each
 */
export function countedName({ seconds, calendar }: Window, category: string | null = null): string {
  const day = calendar?.day === undefined ? '' : `@${calendar.day}`
  const name = calendar === undefined ? String(seconds) : `${seconds} ${calendar.zone}${day}`
  return category === null ? name : `${name} ${category}`
}

/** Before the name of the window whose runs are kept for `usage.keep`: since when that is so of each run which begins. */
export const LONGEST = 'longest '

/** @returns `null` if there is no window */
export function longestOf(windows: readonly Window[]): Window | null {
  return windows.reduce<Window | null>((a, b) => (a === null || b.seconds > a.seconds ? b : a), null)
}

/**
 * What a store is to note of a name that is new, in milliseconds since the epoch. A counter may still hold a run of a longer window that was
 * just taken out, and until that is over others are kept as shorter ones.
 * @param gone the names that are there no more
 */
export function countedFrom(name: string, gone: Iterable<string>, now: number): number {
  const before = Math.max(0, ...[...gone].map(secondsOfLongest))
  return before > secondsOfLongest(name) && name.startsWith(LONGEST) ? now + before * 1000 : now
}

/** 0 for any other name. */
function secondsOfLongest(name: string): number {
  return name.startsWith(LONGEST) ? Number.parseInt(name.slice(LONGEST.length), 10) : 0
}

/** More than a counter holds. */
const WITHOUT_BOUND = Number.MAX_SAFE_INTEGER

export function bookLimit(window: Window): Limit {
  return { window, limit: WITHOUT_BOUND }
}
