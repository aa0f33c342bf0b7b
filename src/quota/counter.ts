import { NOT_RUNNING, type Usage, usageAt } from './window.ts'

/** One window inside a counter. */
export interface Entry {
  /** Length of the window, its identity. */
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
export function usageOf(counter: Counter, seconds: number, now: number): Usage {
  const entry = counter.find((e) => e.seconds === seconds)
  return entry === undefined ? NOT_RUNNING : usageAt(entry, seconds, now)
}

/** Adds `cost` to the window of this length, and starts it where it is not running. */
export function addTo(counter: Counter, seconds: number, cost: number, now: number): void {
  const entry = counter.find((e) => e.seconds === seconds)
  if (entry === undefined) counter.push({ seconds, startedAt: now, used: cost })
  else if (usageAt(entry, seconds, now) === NOT_RUNNING) {
    entry.startedAt = now
    entry.used = cost
  } else entry.used += cost
}

/** Takes `cost` back from the very run of the window that was charged; a later run is left alone. */
export function takeBack(counter: Counter, seconds: number, cost: number, startedAt: number): void {
  const entry = counter.find((e) => e.seconds === seconds && e.startedAt === startedAt)
  if (entry !== undefined) entry.used = Math.max(0, entry.used - cost)
}

/** The entries that still run at `now`. */
export function running(counter: Counter, now: number): Counter {
  return counter.filter((e) => now < e.startedAt + e.seconds * 1000)
}

/** When the last window of the counter ends: until then a store must keep it. 0 for an empty counter. */
export function endsAt(counter: Counter): number {
  return counter.reduce((latest, e) => Math.max(latest, e.startedAt + e.seconds * 1000), 0)
}
