import { repeat } from '../lib/repeat.ts'
import { isSilence, StoreError, type StoreFailure } from '../quota/quota-store.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from './telemetry.ts'

/** The pauses between the tries at a start are a second in all. Then the gateway starts without its store. */
const START_TRIES = 40
const START_PAUSE_MS = 25
const CHECK_MS = 1000

/** The beginning of the reason for a process that lacks its store. */
export const STORE = 'the quota store'

/** A store that responded within this time, in milliseconds, is not pinged. The follower of changes asks it every second. */
const HEARD_MS = 1500

/**
 * Whether the store responds. It is pinged every second unless it has just responded, when it has connected, and when its changes could not
 * be read.
 */
export interface StoreHealth {
  /** Why the store does not respond; `null` while it does. */
  failure(): StoreFailure | null
  /**
   * Waits a moment for the first response, because a Redis store connects in the background and should refuse nobody
   * for that.
   */
  patience(): Promise<void>
  stop(): void
}

/** @param heardAt when the store last responded to another question, in monotonic milliseconds */
export function watchStore(
  store: Pick<Store, 'ping'>,
  follow: Telemetry['follow'],
  heardAt: () => number,
): StoreHealth {
  let failure: StoreFailure | null = 'connection'
  let endPause = (): void => {}
  const stop = repeat(look, CHECK_MS)
  follow((seen) => {
    if (seen.type === 'store_connected') void check().then(() => endPause())
    if (seen.type !== 'store_failed' || seen.operation !== 'control') return
    if (isSilence(seen.reason)) failure = seen.reason
    else void check()
  })

  function look(): void {
    if (performance.now() - heardAt() < HEARD_MS) failure = null
    else void check()
  }

  async function check(): Promise<void> {
    failure = await store.ping().then(
      () => null,
      (error: unknown) => (error instanceof StoreError ? error.reason : 'other'),
    )
  }

  async function patience(): Promise<void> {
    for (let tries = 0; tries < START_TRIES && failure !== null; tries++) {
      await check()
      if (failure !== null) await pause()
    }
  }

  /** Ends early when the store has connected, which usually takes less time. */
  function pause(): Promise<void> {
    return new Promise((resolve) => {
      endPause = resolve
      setTimeout(resolve, START_PAUSE_MS)
    })
  }

  return { failure: () => failure, patience, stop }
}

/** The failure as a reason. It tells a silent store from one that accepts no charges, which looks fine to an operator. */
export function storeReason(failure: StoreFailure): string {
  return isSilence(failure) ? `${STORE} does not answer` : `${STORE} takes no charges: ${failure}`
}

/** Whether a reason of `Readiness` is about the store. */
export function isOfStore(reason: string): boolean {
  return reason.startsWith(STORE)
}
