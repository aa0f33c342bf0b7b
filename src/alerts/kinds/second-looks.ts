import type { Settled } from '../../observe/observation.ts'
import type { Charge, Decision } from '../../quota/charge.ts'
import { type Counter, usageOf } from '../../quota/counter.ts'
import { type QuotaStore, StoreError, type UsageSnapshot } from '../../quota/quota-store.ts'
import type { Limit } from '../../quota/window.ts'
import type { WatcherTools } from '../alert-kind.ts'

/**
 * Looks at windows once more after a response has reported a higher cost. The store settles that cost without a reply about the windows, and a
 * user who stops there would never come to the next charge. There is one look at a time, and the waiting corrections of one user share one
 * look.
 *
 * | State   | Event                          | Next                                    |
 * |---------|--------------------------------|-----------------------------------------|
 * | idle    | `add`                          | looking                                 |
 * | looking | the store has replied          | looking at the next one, or idle        |
 * | looking | the store fails                | looking again, after a pause            |
 * | any     | `close`                        | closed: what waits is looked at no more |
 */
export interface SecondLooks {
  add(corrected: Settled): void
  close(): void
}

/** The part of the outcome of a charge that the watch of windows reads. */
export type Noted = Pick<Settled, 'kind' | 'charge' | 'decision' | 'isVerified'>

export interface SecondLooksOptions {
  readonly store: Pick<QuotaStore, 'readUsage'>
  readonly note: (outcome: Noted) => void
  /** Hears of errors that should never happen. */
  readonly onError: (error: unknown) => void
  readonly pause: WatcherTools['pause']
}

/** How long a store that failed is left alone, in milliseconds. */
const PAUSE_MS = 1000
/** The most looks that wait. For any further user only the next charge shows a threshold, as usual. */
const MOST_WAITING = 10_000

export function createSecondLooks({ store, note, onError, pause }: SecondLooksOptions): SecondLooks {
  const waiting = new Map<string, Settled>()
  let isLooking = false
  let isClosed = false

  async function lookAtAll(): Promise<void> {
    isLooking = true
    for (let [next] = waiting; next !== undefined && !isClosed; [next] = waiting) {
      const [key, corrected] = next
      waiting.delete(key)
      try {
        await lookAt(corrected)
      } catch (error) {
        if (!(error instanceof StoreError)) onError(error)
        else {
          if (!waiting.has(key)) waiting.set(key, corrected)
          await pause(PAUSE_MS)
        }
      }
    }
    isLooking = false
  }

  async function lookAt({ charge, isVerified }: Settled): Promise<void> {
    const snapshot = await store.readUsage(charge.user, [charge.category], charge.organisation)
    note({ kind: 'charged', charge, decision: decisionOf(charge, snapshot), isVerified })
  }

  return {
    add(corrected) {
      const { user, organisation, category } = corrected.charge
      const key = JSON.stringify([user, organisation, category])
      if (isClosed || (waiting.size >= MOST_WAITING && !waiting.has(key))) return
      waiting.set(key, corrected)
      if (!isLooking) void lookAtAll()
    },
    close() {
      isClosed = true
    },
  }
}

/** The present usage of the charge's windows, in the form of a reply to the charge. */
function decisionOf({ limits }: Charge, { at, personal, organisation, global }: UsageSnapshot): Decision {
  const usages = (of: readonly Limit[], counter: Counter = []) => of.map(({ window }) => usageOf(counter, window, at))
  return {
    accepted: true,
    at,
    personal: usages(limits.personal, personal[0]),
    organisation: limits.organisation === null ? null : usages(limits.organisation, organisation?.[0]),
    global: limits.global === null ? null : usages(limits.global, global[0]),
  }
}
