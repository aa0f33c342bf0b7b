import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import { repeat } from '../lib/repeat.ts'
import type { Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { AlertStore, Outcome, TakenEvent } from './alert-store.ts'

/** Delivers the pending events of the store, whichever process has noticed them. */
export interface Courier {
  /** Begins to look for events that are due. */
  start(): void
  /** Reports that an event may be due now. */
  wake(): void
  /** Ends attempts under way, so that another process makes them again. Never rejects. @param graceMs how long the store may take */
  close(graceMs: number): Promise<void>
}

/** The result of one attempt. */
export type Delivery =
  | { readonly kind: 'delivered' }
  /** @param error a sentence without anything secret */
  | { readonly kind: 'failed'; readonly error: string }
  /** The receiver wants no event, now or later. */
  | { readonly kind: 'refused'; readonly error: string }

export interface CourierOptions {
  readonly store: Pick<AlertStore, 'takeAlerts' | 'finishAlert'>
  /** Names of the alerts of the configuration in force. Events of other alerts wait for a process that has them. */
  readonly alerts: () => readonly string[]
  /** Makes one attempt, which ends within `ATTEMPT_MS`. */
  readonly deliver: (event: TakenEvent, signal: AbortSignal) => Promise<Delivery>
  readonly observe: Observer
  /** How often the courier looks, in milliseconds. Default 5000. */
  readonly everyMs?: number
  /** A number from 0 to 1, by which pauses vary. */
  readonly random?: () => number
}

/** How long one attempt may take, in milliseconds. */
export const ATTEMPT_MS = 10_000
/** How long an event belongs to the process that took it, in milliseconds. If the process died, another makes the attempt again after that. */
const LEASE_MS = 20_000
/** The most attempts of one alert at a time. One slow receiver does not hold up the others. */
export const AT_ONCE = 4
/** The age at which an event is given up, in milliseconds. */
export const GIVE_UP_MS = 86_400_000

const FIRST_PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 7_200_000

/** 5 s, 15 s, 45 s and so on up to 2 h, each varied by a quarter at most. @param attempt the number of the failed one, from 1 */
export function pauseAfter(attempt: number, random: number): number {
  const pause = Math.min(FIRST_PAUSE_MS * 3 ** Math.min(attempt - 1, 20), LONGEST_PAUSE_MS)
  return Math.round(pause * (0.75 + random / 2))
}

export function createCourier(options: CourierOptions): Courier {
  const { store, alerts, deliver, observe, everyMs = 5000, random = Math.random } = options
  const end = new AbortController()
  /** Attempts under way, by alert. */
  const underWay = new Map<string, number>()
  const attempts = new Set<Promise<void>>()
  let stop = (): void => {}
  let looking: Promise<void> | null = null
  let isAskedAgain = false

  function wake(): void {
    if (end.signal.aborted) return
    if (looking !== null) {
      isAskedAgain = true
      return
    }
    looking = look().finally(() => {
      looking = null
      if (isAskedAgain) wake()
    })
  }

  async function look(): Promise<void> {
    isAskedAgain = false
    const wanted = alerts()
      .map((alert) => ({ alert, most: AT_ONCE - (underWay.get(alert) ?? 0) }))
      .filter(({ most }) => most > 0)
    if (wanted.length === 0) return
    try {
      for (const event of await store.takeAlerts(wanted, LEASE_MS)) begin(event)
    } catch (error) {
      report(error, observe)
    }
  }

  function begin(event: TakenEvent): void {
    underWay.set(event.alert, (underWay.get(event.alert) ?? 0) + 1)
    const attempt = attemptOf(event).finally(() => {
      underWay.set(event.alert, (underWay.get(event.alert) ?? 1) - 1)
      attempts.delete(attempt)
      wake()
    })
    attempts.add(attempt)
  }

  async function attemptOf(event: TakenEvent): Promise<void> {
    if (event.takenAt - event.raisedAt > GIVE_UP_MS) return finish(options, event, LATE, end.signal)
    const delivery = await deliver(event, end.signal).catch((error: unknown): Delivery => {
      if (!end.signal.aborted) observe({ type: 'internal_error', where: 'alerts', error })
      return { kind: 'failed', error: messageOf(error) }
    })
    await finish(options, event, outcomeOf(event, delivery, end.signal.aborted, random), end.signal)
  }

  async function close(graceMs: number): Promise<void> {
    stop()
    end.abort()
    const grace = sleep(graceMs, undefined, { ref: false })
    await Promise.race([Promise.all([looking, ...attempts]), grace])
  }

  return {
    start() {
      stop = repeat(wake, everyMs)
      wake()
    },
    wake,
    close,
  }
}

const LATE: Outcome = { state: 'given_up', error: 'it could not be delivered within a day' }

function outcomeOf(
  { attempt, raisedAt, takenAt }: TakenEvent,
  delivery: Delivery,
  isEnding: boolean,
  random: () => number,
): Outcome {
  if (delivery.kind === 'delivered') return { state: 'delivered' }
  if (isEnding) return { state: 'pending', inMs: 0, error: null }
  const { error } = delivery
  if (delivery.kind === 'refused') return { state: 'given_up', error }
  const inMs = pauseAfter(attempt, random())
  return takenAt + inMs - raisedAt > GIVE_UP_MS ? { state: 'given_up', error } : { state: 'pending', inMs, error }
}

/** Notes the outcome in the store, and tries again until the lease is over, because a receiver should get no event twice. */
async function finish(
  { store, observe }: CourierOptions,
  event: TakenEvent,
  outcome: Outcome,
  end: AbortSignal,
): Promise<void> {
  notify(event, outcome, observe)
  const until = performance.now() + LEASE_MS - ATTEMPT_MS
  for (;;) {
    try {
      return await store.finishAlert(event, outcome)
    } catch (error) {
      report(error, observe)
      if (!(error instanceof StoreError) || end.aborted || performance.now() > until) return
    }
    await sleep(1000, undefined, { ref: false })
  }
}

function notify({ alert, id, attempt }: TakenEvent, outcome: Outcome, observe: Observer): void {
  if (outcome.state === 'delivered') observe({ type: 'alert_event', alert, event: 'delivered' })
  else if (outcome.error !== null) {
    observe({ type: 'alert_failed', alert, id, attempt, error: outcome.error, isLast: outcome.state === 'given_up' })
  }
}

function report(error: unknown, observe: Observer): void {
  if (error instanceof StoreError) {
    observe({ type: 'store_failed', operation: 'alerts', reason: error.reason, message: error.message })
  } else observe({ type: 'internal_error', where: 'alerts', error })
}
