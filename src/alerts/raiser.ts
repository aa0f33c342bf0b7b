import { randomBytes } from 'node:crypto'
import { GatheredNotes } from '../lib/gathered-notes.ts'
import type { Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { Noticed } from './alert.ts'
import { type AlertStore, MOST_PENDING, MOST_RAISED, type NewEvent, type Raised } from './alert-store.ts'

/** Brings happenings to the store in few calls, and no request waits for that. */
export interface Raiser {
  /** @param onFull is called if there is no room for the happening, here or in the store */
  raise(noticed: Noticed, onFull: () => void): void
  /** Brings the rest to the store, until the store fails, and stops. Never rejects. */
  close(): Promise<void>
}

export interface RaiserOptions {
  readonly store: Pick<AlertStore, 'raiseAlerts'>
  readonly observe: Observer
  /** The target of an alert, in a form that does not reveal the receiver. */
  readonly targetOf: (alert: string) => string
  /** Called when a new event is pending. */
  readonly onStored: () => void
  /** How long happenings gather before they are brought to the store, in milliseconds. Default 50. */
  readonly gatherMs?: number
  /** How long a store that failed is left alone, in milliseconds. Default 1000. */
  readonly pauseMs?: number
}

interface Waiting {
  readonly event: NewEvent
  readonly onFull: () => void
}

export function createRaiser(options: RaiserOptions): Raiser {
  const { store, observe, targetOf, onStored, gatherMs, pauseMs } = options
  /** How many happenings of each alert wait. */
  const counts = new Map<string, number>()
  /** By the id of the event. `MOST_PENDING` bounds how many wait. */
  const waiting = new GatheredNotes<Waiting>({
    write: (notes) => send(notes.map(([, one]) => one)),
    ...{ most: Number.POSITIVE_INFINITY, mostWritten: MOST_RAISED, gatherMs, pauseMs },
  })

  function count(alert: string, by: number): void {
    counts.set(alert, (counts.get(alert) ?? 0) + by)
  }

  function raise(noticed: Noticed, onFull: () => void): void {
    const { alert } = noticed.happening
    if ((counts.get(alert) ?? 0) >= MOST_PENDING) {
      turnAway(alert, onFull)
      return
    }
    count(alert, 1)
    const id = randomBytes(16).toString('base64url')
    waiting.add(id, { event: { ...noticed, id, target: targetOf(alert) }, onFull })
  }

  function turnAway(alert: string, onFull: () => void): void {
    onFull()
    observe({ type: 'alert_event', alert, event: 'full' })
  }

  /**
   * The store claims none of the happenings twice. If they cannot be written at all, they are dropped.
   * @throws StoreError if the store fails, so that they are brought again later
   */
  async function send(some: readonly Waiting[]): Promise<void> {
    let raised: readonly Raised[] = []
    try {
      raised = await store.raiseAlerts(some.map(({ event }) => event))
    } catch (error) {
      if (error instanceof StoreError) {
        observe({ type: 'store_failed', operation: 'alerts', reason: error.reason, message: error.message })
        throw error
      }
      observe({ type: 'internal_error', where: 'alerts', error })
    }
    some.forEach((one, i) => {
      settle(one, raised[i] ?? 'known')
    })
  }

  function settle({ event, onFull }: Waiting, raised: Raised): void {
    const { alert } = event.happening
    count(alert, -1)
    if (raised === 'full') turnAway(alert, onFull)
    if (raised !== 'stored') return
    observe({ type: 'alert_event', alert, event: 'raised' })
    onStored()
  }

  return { raise, close: () => waiting.close() }
}
