import type { Observer } from '../../observe/observation.ts'
import type { Charge, Decision } from '../charge.ts'
import type { StoreError } from '../quota-store.ts'
import type { Asker } from './ledger-contract.ts'
import type { Outage } from './outage.ts'
import type { Queue } from './queue.ts'
import { abandon, isWaiting, resolveLocally, type WaitingCharge } from './waiting-charge.ts'

export interface LocalDecisionsOptions {
  readonly outage: Pick<Outage, 'decide' | 'owe' | 'owed' | 'shift'>
  /** Milliseconds from our monotonic clock to the store's clock, by its last decision. */
  readonly storeAhead: () => number
  readonly observe: Observer
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Decides charges on local counters while the store is out. The local clock is the store's clock, carried on by our monotonic
 * clock, which nobody sets.
 *
 * | Local clock            | Event                                   | Next                   |
 * |------------------------|-----------------------------------------|------------------------|
 * | as of an outage before | an outage begins, and nothing is owed   | as the store's is now  |
 * | as of an outage before | an outage begins, and something is owed | as of an outage before |
 */
export class LocalDecisions {
  readonly #options: LocalDecisionsOptions
  /** Milliseconds from our monotonic clock to the local clock. */
  #ahead = 0

  constructor(options: LocalDecisionsOptions) {
    this.#options = options
  }

  /** The time of the local clock, in milliseconds since the epoch. */
  time(): number {
    return Math.floor(this.#options.now() + this.#ahead)
  }

  /** Decides a charge that never goes to the store. If accepted, it is owed. @param error for a charge that cannot be decided here */
  charge(charge: Charge, asker: Asker, error: StoreError): void {
    const decision = this.#decide(charge)
    if (decision?.accepted === true) this.#options.outage.owe(charge, decision)
    // Calls back later, as the store would. `resolveLocally` says why.
    queueMicrotask(() => (decision === null ? asker.undecided(error) : asker.decided(decision)))
  }

  /** Begins an outage: each charge whose caller waits is decided here, or fails. */
  takeOver(queue: Queue, error: StoreError): void {
    this.#setClock()
    for (const waiting of queue.sent) if (isWaiting(waiting)) this.#conclude(waiting, error)
    for (const { charge, asker } of queue.takeAll()) this.charge(charge, asker, error)
  }

  /**
   * Corrects the local clock if nothing is owed. Counters move with it, so that a corrected clock hands out no share
   * twice. Debts keep the clock by which they were admitted. If we had the store's time wrong (a wall clock, a machine
   * that slept), the right time would end windows that still run.
   */
  #setClock(): void {
    const { outage, storeAhead } = this.#options
    if (outage.owed() > 0) return
    const right = Math.round(storeAhead())
    outage.shift(right - this.#ahead)
    this.#ahead = right
  }

  /**
   * The store may have decided the charge or still do so. Only `outage` learns that decision, since the caller gets one
   * here.
   */
  #conclude(waiting: WaitingCharge, error: StoreError): void {
    const decision = this.#decide(waiting.charge)
    if (decision === null) abandon(waiting, error)
    else resolveLocally(waiting, decision)
  }

  /** `null` if the charge cannot be decided here. */
  #decide(charge: Charge): Decision | null {
    const decision = this.#options.outage.decide(charge, this.time())
    const verdict = decision === null ? 'unable' : decision.accepted ? 'accepted' : 'refused'
    this.#options.observe({ type: 'outage_charge', category: charge.category, verdict })
    return decision
  }
}
