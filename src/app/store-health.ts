import { repeat } from '../lib/repeat.ts'
import { isSilence, StoreError, type StoreFailure } from '../quota/quota-store.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from './telemetry.ts'

/** About a second in all, after which the gateway starts without its store. */
const START_TRIES = 40
const START_PAUSE_MS = 25
const CHECK_MS = 1000

/** The reason of a process that lacks its store begins with this. */
export const STORE = 'the quota store'

/** Within this time of its last answer, in milliseconds, a store is not asked. Whoever follows its changes asks it every second. */
const HEARD_MS = 1500

/** Whether the store responds: looked at every second, and when it has connected or did not say what has changed. */
export interface StoreHealth {
  /** Why the store does not respond; `null` while it does. */
  failure(): StoreFailure | null
  /**
   * Waits a moment for the first response: a Redis store connects in the background, and nobody is to be refused for
   * that.
   */
  patience(): Promise<void>
  stop(): void
}

/** @param heardAt when it has answered another question, in monotonic milliseconds */
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

  /** Ends early when the store has connected, which takes less, mostly. */
  function pause(): Promise<void> {
    return new Promise((resolve) => {
      endPause = resolve
      setTimeout(resolve, START_PAUSE_MS)
    })
  }

  return { failure: () => failure, patience, stop }
}

/** A store that responds and takes no charges is reported as such: whoever looks at the store will find it well. */
export function storeReason(failure: StoreFailure): string {
  return isSilence(failure) ? `${STORE} does not answer` : `${STORE} takes no charges: ${failure}`
}

/** Whether a reason of `Readiness` is that the store is lacking. */
export function isOfStore(reason: string): boolean {
  return reason.startsWith(STORE)
}
