import type { Observer } from '../../observe/observation.ts'
import type { Charge, Decision } from '../charge.ts'
import type { StoreError } from '../quota-store.ts'
import type { Asker } from './ledger-contract.ts'
import type { Outage } from './outage.ts'
import type { Queue } from './queue.ts'
import { abandon, isWaiting, resolveLocally, type WaitingCharge } from './waiting-charge.ts'

export interface LocalDecisionsOptions {
  readonly outage: Pick<Outage, 'decide' | 'owe' | 'owed' | 'shift'>
  /** Milliseconds from our monotonic clock to the store's, as far as its last decision lets know. */
  readonly storeAhead: () => number
  readonly observe: Observer
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Decides charges while the store is out: on local counters, by the local clock. That clock is the store's, carried on by our
 * monotonic one, which nobody sets.
 *
 * | Local clock            | Event                                   | Next                   |
 * |------------------------|-----------------------------------------|------------------------|
 * | as of an outage before | an outage begins, and nothing is owed   | as the store's is now  |
 * | as of an outage before | an outage begins, and something is owed | as of an outage before |
 */
export class LocalDecisions {
  readonly #options: LocalDecisionsOptions
  /** From our clock to the local one, in milliseconds. */
  #ahead = 0

  constructor(options: LocalDecisionsOptions) {
    this.#options = options
  }

  /** Milliseconds since the epoch on the local clock. */
  time(): number {
    return Math.floor(this.#options.now() + this.#ahead)
  }

  /** Decides a charge that never goes to the store: what is accepted is owed. @param error what the asker gets if it cannot be decided here */
  charge(charge: Charge, asker: Asker, error: StoreError): void {
    const decision = this.#decide(charge)
    if (decision?.accepted === true) this.#options.outage.owe(charge, decision)
    // Later, as whoever waits for a store: see `resolveLocally`.
    queueMicrotask(() => (decision === null ? asker.undecided(error) : asker.decided(decision)))
  }

  /** An outage begins: all whose callers wait are decided here, or fail. */
  takeOver(queue: Queue, error: StoreError): void {
    this.#setClock()
    for (const waiting of queue.sent) if (isWaiting(waiting)) this.#conclude(waiting, error)
    for (const { charge, asker } of queue.takeAll()) this.charge(charge, asker, error)
  }

  /**
   * Sets the local clock right. What was used up by a wrong time stays so until its windows have run out on our clock:
   * no share is handed out twice.
   * What is owed keeps the clock that it was admitted by. If we had the store's time wrong (a wall clock, a machine
   * that slept), the right time would end windows that still run.
   */
  #setClock(): void {
    const { outage, storeAhead } = this.#options
    if (outage.owed() > 0) return
    const right = Math.round(storeAhead())
    outage.shift(right - this.#ahead)
    this.#ahead = right
  }

  /** The store may have decided the charge, or will yet: the outage learns that decision, and the caller does not. */
  #conclude(waiting: WaitingCharge, error: StoreError): void {
    const decision = this.#decide(waiting.charge)
    if (decision === null) abandon(waiting, error)
    else resolveLocally(waiting, decision)
  }

  /** `null`: it cannot be decided here. */
  #decide(charge: Charge): Decision | null {
    const decision = this.#options.outage.decide(charge, this.time())
    const verdict = decision === null ? 'unable' : decision.accepted ? 'accepted' : 'refused'
    this.#options.observe({ type: 'outage_charge', category: charge.category, verdict })
    return decision
  }
}
