import { isBook } from './books.ts'
import { isAccount } from './grant.ts'
import { type Length, NOT_RUNNING, type Usage, usageAt, type Window } from './window.ts'

/** One window inside a counter. */
export interface Entry {
  /** Length of the window, which is its identity. For a calendar window it is `LONGEST_SECONDS`. */
  readonly seconds: number
  startedAt: number
  used: number
}

/**
 * All windows of one owner in one category, which a store keeps under one key. A window that was removed from the
 * configuration stays until it ends, so that a reload never forgets a charge.
 */
export type Counter = Entry[]

/** The usage of the window of this length at `now`. */
export function usageOf(counter: Counter, window: Length, now: number): Usage {
  const entry = entryOf(counter, window.seconds)
  return entry === undefined ? NOT_RUNNING : usageAt(entry, window, now)
}

/** Is called with the number of milliseconds by which the start of a window was in the future when a charge met it. */
export type AheadListener = (aheadMs: number) => void

/**
 * Returns what `usageOf` returns, for a charge that may yet be refused. If the start lies in the future, it is corrected to `now` for good.
 * Otherwise the window would always have its whole length left, and would never end.
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

/** Sets the usage of the window of this length. */
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
 * Takes an amount back from the run that was charged. An amount below 0 is added. A later run of the window is left alone, and so is a run
 * whose start was changed meanwhile. A run that has left the counter can only be corrected in the history.
 * @returns whether the counter holds that run
 */
export function takeBack(counter: Counter, seconds: number, amount: number, startedAt: number): boolean {
  const entry = counter.find((e) => e.seconds === seconds && e.startedAt === startedAt)
  if (entry === undefined) return false
  entry.used = Math.max(0, entry.used - amount)
  return true
}

/** The windows that are left in a counter after others were emptied, and what the emptied ones held. */
export interface Emptied {
  readonly left: Counter
  /** Tokens by the name of the window, or by its seconds, as `86400s`, if it was not named. */
  readonly used: Readonly<Record<string, number>>
}

/**
 * Empties windows of a counter. With `all` it empties every other window too, except the books. `used` names these other windows by their seconds. A
 * refund names a run by its start, so no later run may start at the same moment. A run that started at `now` or later becomes a run that is
 * one millisecond old. It keeps that start if it is emptied again at `now`. One case is not covered: if a charge comes between two calls in
 * one millisecond, a refund of an earlier charge may reach a later run.
 */
export function empty(counter: Counter, windows: readonly Window[], all: boolean, now: number): Emptied {
  const isNamed = ({ seconds }: Entry): boolean => windows.some((window) => window.seconds === seconds)
  const named = windows.map((window) => [window.name, usageOf(counter, window, now).used] as const)
  // A window that is no longer configured is left out if nothing is used in it.
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

/** The entries that still run at `now`, by their lengths. The period of a calendar window may have ended earlier. */
export function running(counter: Counter, now: number): Counter {
  return counter.filter((e) => now < e.startedAt + e.seconds * 1000)
}

/**
 * Whether a window that can limit still runs in any of the counters. Grants are left out, because the run of a grant in the store lasts
 * longer than the grant.
 * @param windows of the configuration, which know their calendars
 */
export function isInUse(counters: ReadonlyMap<string, Counter>, windows: readonly Window[], now: number): boolean {
  const runs = (entry: Entry): boolean =>
    !isBook(entry) &&
    usageAt(entry, windows.find(({ seconds }) => seconds === entry.seconds) ?? entry, now) !== NOT_RUNNING
  return [...counters].some(([category, counter]) => !isAccount(category) && counter.some(runs))
}

/**
 * The latest moment at which a window of the counter ends. A store must keep the counter until then. 0 for an empty
 * counter.
 */
export function endsAt(counter: Counter): number {
  return counter.reduce((latest, e) => Math.max(latest, e.startedAt + e.seconds * 1000), 0)
}
