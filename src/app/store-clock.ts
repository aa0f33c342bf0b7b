import type { ControlStore } from '../control/control-store.ts'
import { repeat } from '../lib/repeat.ts'
import { together } from '../lib/serialize.ts'
import type { Observer } from '../observe/observation.ts'

export interface StoreClockOptions {
  readonly store: Pick<ControlStore, 'controlVersion'>
  readonly observe: Observer
  /** How often the store is asked for its time, in milliseconds. Default 10,000. */
  readonly everyMs?: number
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

/** Compares the store's clock with ours. */
export interface StoreClock {
  /** Begins to compare. */
  start(): void
  stop(): void
}

/** The difference of the clocks that is worth a warning, in milliseconds. A working NTP keeps it below a hundredth of this. */
const APART_MS = 5000

export function createStoreClock(options: StoreClockOptions): StoreClock {
  const { store, observe, everyMs = 10_000, now = () => performance.now() } = options
  let isApart = false
  let stop: (() => void) | null = null

  const compare = together(async () => {
    const [ours, askedAt] = [Date.now(), now()]
    try {
      const { at } = await store.controlVersion()
      if (stop !== null) report(at - ours, now() - askedAt)
    } catch {
      // Other calls report that the store fails.
    }
  })

  /** @param tookMs how long the question took. The store read its clock during that time */
  function report(sinceAskedMs: number, tookMs: number): void {
    const offsetMs = sinceAskedMs - tookMs / 2
    observe({ type: 'store_clock', offsetMs })
    const apart = Math.abs(offsetMs) - tookMs / 2 > APART_MS
    if (apart === isApart) return
    isApart = apart
    observe({ type: 'store_clock_apart', offsetMs, apart })
  }

  return {
    start() {
      stop = repeat(() => void compare(), everyMs)
      void compare()
    },
    stop() {
      stop?.()
      stop = null
    },
  }
}
