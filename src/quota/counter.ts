import { isBook } from './books.ts'
import { isAccount } from './grant.ts'
import { type Length, NOT_RUNNING, type Usage, usageAt, type Window } from './window.ts'

/** One window inside a counter. */
export interface Entry {
  /** Length of the window (of a calendar window its longest one): its identity. */
  readonly seconds: number
  startedAt: number
  used: number
}

/**
 * All windows of one user (or of everybody, for the global scope) in one category: what a store keeps under one key.
 * Entries of windows that the configuration no longer names stay until they end, so that a reload never forgets a charge.
 */
export type Counter = Entry[]

/** The usage of the window of this length at `now`. */
export function usageOf(counter: Counter, window: Length, now: number): Usage {
  const entry = entryOf(counter, window.seconds)
  return entry === undefined ? NOT_RUNNING : usageAt(entry, window, now)
}

/** Hears how many milliseconds in the future the start of a window lay when a charge met it. */
export type AheadListener = (aheadMs: number) => void

/**
 * The same for a charge, also a refused one. It sets a start in the future to `now` for good. Otherwise the window
 * would have its whole length left at each look, and nobody would see it end.
 */
export function usageToCharge(counter: Counter, window: Length, now: number, onAhead: AheadListener): Usage {
  const entry = entryOf(counter, window.seconds)
  if (entry === undefined) return NOT_RUNNING
  if (entry.startedAt > now) {
    onAhead(entry.startedAt - now)
    entry.startedAt = now
  }
  return usageAt(entry, window, now)
}

/** Sets the window of this length. */
export function put(counter: Counter, seconds: number, { startedAt, used }: Usage): void {
  const entry = entryOf(counter, seconds)
  if (entry === undefined) counter.push({ seconds, startedAt, used })
  else {
    entry.startedAt = startedAt
    entry.used = used
  }
}

function entryOf(counter: Counter, seconds: number): Entry | undefined {
  for (const entry of counter) {
    if (entry.seconds === seconds) return entry
  }
  return undefined
}

/**
 * Takes an amount back from the very run of the window that was charged, or adds one that is below 0. A later run is left alone, and so is a run whose
 * start was set to another moment since. What an ended window still holds counts in its history alone.
 * @returns whether the counter holds that run
 */
export function takeBack(counter: Counter, seconds: number, amount: number, startedAt: number): boolean {
  const entry = counter.find((e) => e.seconds === seconds && e.startedAt === startedAt)
  if (entry === undefined) return false
  entry.used = Math.max(0, entry.used - amount)
  return true
}

/** The windows of a counter that are left after others were emptied, and what was used in those. */
export interface Emptied {
  readonly left: Counter
  /** By the names of the windows. */
  readonly used: Readonly<Record<string, number>>
}

/**
 * Empties windows of a counter: these, and with `all` every other but that of the books, which is named by its seconds. A refund names a run
 * by its start, so no later run may start at the same moment. What started at `now` or later becomes a run that is a
 * millisecond old, and stays if it is emptied again at `now`. Not provided for is a charge between two calls of one
 * millisecond: a refund of an earlier one may then reach a later run.
 */
export function empty(counter: Counter, windows: readonly Window[], all: boolean, now: number): Emptied {
  const isNamed = ({ seconds }: Entry): boolean => windows.some((window) => window.seconds === seconds)
  const named = windows.map((window) => [window.name, usageOf(counter, window, now).used] as const)
  // A window that no configuration names any more is left out if nothing is used in it.
  const others = all ? running(counter, now).filter((entry) => entry.used > 0 && !isBook(entry) && !isNamed(entry)) : []
  const left = counter.flatMap((entry) => {
    if (isBook(entry) || (!all && !isNamed(entry))) return [entry]
    const isEmptiedNow = entry.startedAt === now - 1 && entry.used === 0
    return entry.startedAt < now && !isEmptiedNow ? [] : [{ ...entry, startedAt: now - 1, used: 0 }]
  })
  return {
    left,
    used: Object.fromEntries([...named, ...others.map(({ seconds, used }) => [`${seconds}s`, used] as const)]),
  }
}

/** The entries that still run at `now`, as far as their lengths say: a period of a calendar may have ended before. */
export function running(counter: Counter, now: number): Counter {
  return counter.filter((e) => now < e.startedAt + e.seconds * 1000)
}

/**
 * Whether a window that may limit still runs in any of the counters, of which grants are none, which may outlive their windows in the store.
 * @param windows of the configuration, which know their calendars
 */
export function isInUse(counters: ReadonlyMap<string, Counter>, windows: readonly Window[], now: number): boolean {
  const runs = (entry: Entry): boolean =>
    !isBook(entry) &&
    usageAt(entry, windows.find(({ seconds }) => seconds === entry.seconds) ?? entry, now) !== NOT_RUNNING
  return [...counters].some(([category, counter]) => !isAccount(category) && counter.some(runs))
}

/** When the last window of the counter ends at the latest: until then a store must keep it. 0 for an empty counter. */
export function endsAt(counter: Counter): number {
  return counter.reduce((latest, e) => Math.max(latest, e.startedAt + e.seconds * 1000), 0)
}
