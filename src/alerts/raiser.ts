import { randomBytes } from 'node:crypto'
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
  const { store, observe, targetOf, onStored, gatherMs = 50, pauseMs = 1000 } = options
  /** The waiting happenings, oldest first. */
  const waiting: Waiting[] = []
  /** How many happenings of each alert wait. */
  const counts = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let sending: Promise<boolean> | null = null

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
    waiting.push({ event: { ...noticed, id, target: targetOf(alert) }, onFull })
    sendSoon(gatherMs)
  }

  function turnAway(alert: string, onFull: () => void): void {
    onFull()
    observe({ type: 'alert_event', alert, event: 'full' })
  }

  function sendSoon(inMs: number): void {
    if (timer !== null || sending !== null) return
    timer = setTimeout(() => {
      timer = null
      sending = sendAll()
      void sending.then((isDone) => {
        sending = null
        if (waiting.length > 0) sendSoon(isDone ? gatherMs : pauseMs)
      })
    }, inMs).unref()
  }

  /** Brings all waiting happenings. @returns `false` if the store fails; the rest is brought later. The store claims none of them twice. */
  async function sendAll(): Promise<boolean> {
    while (waiting.length > 0) {
      const some = waiting.slice(0, MOST_RAISED)
      try {
        const raised = await store.raiseAlerts(some.map(({ event }) => event))
        waiting.splice(0, some.length)
        some.forEach((one, i) => {
          settle(one, raised[i] ?? 'known')
        })
      } catch (error) {
        if (!(error instanceof StoreError)) observe({ type: 'internal_error', where: 'alerts', error })
        else observe({ type: 'store_failed', operation: 'alerts', reason: error.reason, message: error.message })
        return false
      }
    }
    return true
  }

  function settle({ event, onFull }: Waiting, raised: Raised): void {
    const { alert } = event.happening
    count(alert, -1)
    if (raised === 'full') turnAway(alert, onFull)
    if (raised !== 'stored') return
    observe({ type: 'alert_event', alert, event: 'raised' })
    onStored()
  }

  return {
    raise,
    async close() {
      if (timer !== null) clearTimeout(timer)
      timer = null
      await sending
      await sendAll()
    },
  }
}
