import { repeat } from '../lib/repeat.ts'
import type { Observation, Observer, RequestDone } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import { addTo, BUCKET_MS, BUCKETS, type FailureStore, NOTHING, plus, type Tally } from './histogram.ts'
import { createVoices } from './voices.ts'

export interface FailureRecorderOptions {
  readonly store: Pick<FailureStore, 'addTally'>
  /** How often the sum is sent to the store, in milliseconds. Default 1000. */
  readonly flushMs?: number
  /** Is notified of a failure of the store, with the operation `tally`. */
  readonly observe: Observer
  /** A clock in monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

export interface FailureRecorder {
  readonly observer: Observer
  /** Sends the rest, until the store fails, and stops. Never rejects. */
  close(): Promise<void>
}

/** The requests that were counted from shortly before `at`, on our clock, until at most PART_MS after it. */
interface Part {
  readonly at: number
  readonly tally: Tally
}

/** During an outage counts wait in parts of this many milliseconds, so that each part is added to the half hour that it belongs to. */
const PART_MS = 60_000

/** Counts forwarded requests for the failure histogram and adds the sum to the store, one call at a time. */
export function createFailureRecorder(options: FailureRecorderOptions): FailureRecorder {
  const { store, flushMs = 1000, observe, now = () => performance.now() } = options
  const voices = createVoices(now)
  /** The sum is changed in place, so that an object is made for each second and not for each request. */
  let sum = { ...NOTHING }
  /** The parts, oldest first. Failures that were counted during an outage of the store must not count as those of the last minutes. */
  const unsent: Part[] = []
  let sending: Promise<void> | null = null
  const stopSending = repeat(send, flushMs)

  function send(): Promise<void> {
    sending ??= sendAll().finally(() => {
      sending = null
    })
    return sending
  }

  async function sendAll(): Promise<void> {
    if (sum.total > 0) setAside()
    for (let part = unsent.shift(); part !== undefined; part = unsent.shift()) {
      try {
        await store.addTally(part.tally, now() - part.at)
      } catch (error) {
        return failed(error, part)
      }
    }
  }

  function setAside(): void {
    const at = now()
    const last = unsent.at(-1)
    if (last !== undefined && at - last.at < PART_MS)
      unsent[unsent.length - 1] = { ...last, tally: plus(last.tally, sum) }
    else unsent.push({ at, tally: sum })
    sum = { ...NOTHING }
    // The store keeps nothing that is so old.
    while (at - (unsent[0]?.at ?? at) > BUCKETS * BUCKET_MS) unsent.shift()
  }

  /** Keeps a part only if it was certainly not applied, because a tally has no key and might count twice if it was sent again. */
  function failed(error: unknown, part: Part): void {
    if (error instanceof StoreError) {
      if (error.applied === 'no') unsent.unshift(part)
      observe({ type: 'store_failed', operation: 'tally', reason: error.reason, message: error.message })
    } else observe({ type: 'internal_error', where: 'tally', error })
  }

  return {
    observer: function count(observation: Observation) {
      if (observation.type !== 'request' || observation.httpStatus === null) return
      const { voice } = observation
      const kind = kindOf(observation)
      const isHeard = voice !== null && voices.hear(voice, kind === 'failed' || kind === 'error')
      addTo(sum, KINDS[kind][isHeard ? 'heard' : 'aside'])
    },
    async close() {
      stopSending()
      await sending
      await send()
    },
  }
}

const KINDS = {
  fine: tallies({ ...NOTHING, total: 1 }),
  refused: tallies({ ...NOTHING, total: 1, status4xx: 1 }),
  failed: tallies({ ...NOTHING, total: 1, status0: 1 }),
  error: tallies({ ...NOTHING, total: 1, status5xx: 1 }),
}

/** The tally of one request that the adaptive mode hears, and of one that it does not hear. */
function tallies(tally: Tally): { readonly heard: Tally; readonly aside: Tally } {
  return { heard: tally, aside: { ...tally, aside: 1, asideFailed: tally.status0 + tally.status5xx } }
}

/** A client that left says nothing about the upstream. */
function kindOf({ outcome, httpStatus }: RequestDone): keyof typeof KINDS {
  if (outcome === 'aborted') return 'fine'
  if (httpStatus === 0) return 'failed'
  if (httpStatus === null || httpStatus < 400) return 'fine'
  return httpStatus >= 500 ? 'error' : 'refused'
}
