import { repeat } from '../lib/repeat.ts'
import type { Observation, Observer } from '../observe/observation.ts'
import type { Calendar } from '../quota/calendar.ts'
import { StoreError } from '../quota/quota-store.ts'
import { createHalfHours } from './half-hours.ts'
import { createOpenEpisodes } from './open-episodes.ts'
import type { SeriesEntry } from './series.ts'
import type { Unsent } from './silence.ts'
import { MOST_CHANGES, MOST_ENTRIES, type UsageFlush, type UsageLogStore } from './usage-log-store.ts'

export interface UsageRecorderOptions {
  readonly store: Pick<UsageLogStore, 'addUsage'>
  /** A random id for each start of a process. Sequence numbers count the flushes of this id. */
  readonly instance: string
  /** How often counts go to the store, in milliseconds. Default 2000. */
  readonly flushMs?: number
  /** Is notified of a failure of the store with operation `usage_flush`. */
  readonly observe: Observer
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

export interface UsageRecorder {
  readonly observer: Observer
  /** From now on also adds counts to the days of this calendar; `null` for none, as before the first call. */
  keepDays(days: Calendar | null): void
  /** What would be lost if the process ended now. */
  unsent(): Unsent
  /**
   * Sends the rest until it is known to be applied, or the grace has passed, and stops. Never rejects.
   * @returns whether nothing is left
   */
  close(graceMs: number): Promise<boolean>
}

/** The pause between attempts of `close`. */
const AGAIN_MS = 50

/**
 * Counts requests, tokens and refusals, and adds the sums to the store, one flush at a time. A flush that may have been applied is
 * sent again under its number, until it is known that it was. Meanwhile what comes later is added up in memory, by its half
 * hour on the store's clock.
 *
 * | State     | Event                              | Next                                    |
 * |-----------|------------------------------------|-----------------------------------------|
 * | idle      | every 2 s, if anything was counted | waiting, with parts to send one by one  |
 * | waiting   | the store applied the part         | waiting for the next part, or idle      |
 * | waiting   | the store failed                   | waiting: the same part 2 s later        |
 */
export function createUsageRecorder(options: UsageRecorderOptions): UsageRecorder {
  const { store, instance, flushMs = 2000, observe, clock = Date.now, now = () => performance.now() } = options
  /** How far the store's clock is ahead of ours, in milliseconds; `null` until it is known. */
  let offset: number | null = null
  const halfHours = createHalfHours(() => clock() + (offset ?? 0))
  const open = createOpenEpisodes(now)
  let sequence = 0
  /** Flushes that are not known to be applied, the next one first. */
  let unsent: UsageFlush[] = []
  /** A moment on the monotonic clock. Everything that was counted before it is in the store. */
  let sentUntil = now()
  let sending: Promise<void> | null = null
  const stopSending = repeat(() => void send(false), flushMs)

  function send(isLast: boolean): Promise<void> {
    sending ??= sendAll(isLast).finally(() => {
      sending = null
    })
    return sending
  }

  async function sendAll(isLast: boolean): Promise<void> {
    let takenAt = sentUntil
    if (unsent.length === 0) {
      takenAt = now()
      unsent = flushesOf(halfHours.take(), open.take(MOST_CHANGES, isLast))
    }
    while (unsent.length > 0) {
      for (let flush = unsent[0]; flush !== undefined; flush = unsent[0]) {
        try {
          await store.addUsage(flush)
        } catch (error) {
          return failed(error)
        }
        unsent.shift()
      }
      // One flush may not have room for all episodes, because many users were refused at once or during an outage.
      unsent = flushesOf([], open.take(MOST_CHANGES, isLast))
    }
    sentUntil = takenAt
  }

  function flushesOf(series: readonly SeriesEntry[], episodes: UsageFlush['episodes']): UsageFlush[] {
    const flushes: UsageFlush[] = []
    for (let i = 0; i < series.length || (i === 0 && episodes.length > 0); i += MOST_ENTRIES) {
      flushes.push({
        instance,
        sequence: ++sequence,
        series: series.slice(i, i + MOST_ENTRIES),
        episodes: i === 0 ? episodes : [],
      })
    }
    return flushes
  }

  function failed(error: unknown): void {
    if (error instanceof StoreError) {
      observe({ type: 'store_failed', operation: 'usage_flush', reason: error.reason, message: error.message })
      return
    }
    // This is a fault of the program. Sending the flush again would only repeat it.
    unsent.shift()
    observe({ type: 'internal_error', where: 'usage_flush', error })
  }

  function learn(seen: Observation): void {
    if (seen.type === 'store_clock') offset = seen.offsetMs
    else if (offset === null && seen.type === 'settled' && seen.decision !== null) offset = seen.decision.at - clock()
  }

  async function close(graceMs: number): Promise<boolean> {
    stopSending()
    await sending
    const until = now() + graceMs
    await send(true)
    while (unsent.length > 0 && now() < until) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
      await send(true)
    }
    // Sends the counts that waited behind a flush with an unknown outcome.
    await send(true)
    return unsent.length === 0
  }

  return {
    observer: function count(observation) {
      learn(observation)
      halfHours.count(observation)
      if (observation.type === 'settled') open.count(observation)
    },
    keepDays: halfHours.keepDays,
    unsent: () => ({ forMs: Math.ceil(now() - sentUntil), lateMs: halfHours.lateMs() }),
    close,
  }
}
