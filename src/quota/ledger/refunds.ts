import type { Observer } from '../../observe/observation.ts'
import { amountOf, type Refund, refundedMeter } from '../charge.ts'
import type { Losses } from './losses.ts'
import type { Outage } from './outage.ts'

export interface RefundsOptions {
  readonly outage: Pick<Outage, 'made' | 'giveBack'>
  readonly losses: Pick<Losses, 'has'>
  readonly observe: Observer
}

const NONE: readonly Refund[] = []

/**
 * What is to be given back. A refund of an amount below 0 is charged in addition.
 *
 * | A refund | Event                                                                       | Next              |
 * |----------|-----------------------------------------------------------------------------|-------------------|
 * |          | `add`, and the store has counted the charge                                 | waiting           |
 * |          | `add`, and the charge is owed                                               | gone: less owed   |
 * |          | `add`, and it is not known whether the store has counted the charge         | open              |
 * |          | `add`, and the store has forgotten the charge                               | void              |
 * | open     | `retryOpen`: the outcome of the batch under way is final                    | as by `add`       |
 * | waiting  | `take`: it goes out with a batch                                            | sent              |
 * | sent     | `settled`                                                                   | gone              |
 * | sent     | `dropped`, certainly not applied                                            | waiting, as first |
 * | sent     | `dropped`, uncertain: if it was sent again, it might be given back twice    | lost              |
 * | waiting, sent | `voidLost`, and the store has forgotten the charge                     | void              |
 * | any      | `close`                                                                     | lost              |
 */
export class Refunds {
  readonly #options: RefundsOptions
  #waiting: Refund[] = []
  #sent = NONE
  #open: Refund[] = []

  constructor(options: RefundsOptions) {
    this.#options = options
  }

  /** Refunds that wait for a batch. */
  get length(): number {
    return this.#waiting.length
  }

  /** Refunds of the batch under way. */
  get sent(): readonly Refund[] {
    return this.#sent
  }

  add(refund: Refund): void {
    if (this.#options.losses.has(refund.decision)) this.#reportVoid([refund])
    else if (this.#options.outage.made(refundedMeter(refund).decision)) this.#addLocal(refund)
    else this.#waiting.push(refund)
  }

  /** Takes the oldest refunds for a batch, at most `most` of them. */
  take(most: number): void {
    this.#sent = this.#waiting.splice(0, most)
  }

  settled(): void {
    this.#sent = NONE
  }

  dropped(isUncertain: boolean): void {
    if (isUncertain) this.#reportLost(this.#sent)
    else this.#waiting = [...this.#sent, ...this.#waiting]
    this.#sent = NONE
  }

  /** Removes refunds of charges that the store has forgotten. Nothing of the batch under way was applied. */
  voidLost(): void {
    const isLost = ({ decision }: Refund): boolean => this.#options.losses.has(decision)
    this.#reportVoid([...this.#sent, ...this.#waiting].filter(isLost))
    this.#sent = this.#sent.filter((refund) => !isLost(refund))
    this.#waiting = this.#waiting.filter((refund) => !isLost(refund))
  }

  retryOpen(): void {
    if (this.#open.length > 0) for (const refund of this.#open.splice(0)) this.#addLocal(refund)
  }

  close(): void {
    this.#reportLost([...this.#sent, ...this.#waiting.splice(0), ...this.#open.splice(0)])
  }

  #addLocal(refund: Refund): void {
    const inStore = this.#options.outage.giveBack(refund)
    if (inStore === null) {
      this.#open.push(refund)
      return
    }
    // One batch paid all parts of a debt, so the store has forgotten all of them or none.
    if (inStore.some(({ decision }) => this.#options.losses.has(decision))) {
      this.#reportVoid([refund])
      return
    }
    this.#waiting.push(...inStore)
    // Only a refund that goes to the store as a whole is reported when it is made there.
    if (inStore.every(({ onMade }) => onMade === undefined)) refund.onMade?.(amountOf(refund))
  }

  /** The charge is gone, so there is nothing to give back, and an additional charge would stand alone. */
  #reportVoid(refunds: readonly Refund[]): void {
    for (const refund of refunds) {
      refund.onMade?.(0)
      this.#options.observe({ type: 'refund_void', tokens: amountOf(refund) })
    }
  }

  /** Refunds that were sent may have been made, but nobody will learn it. */
  #reportLost(lost: readonly Refund[]): void {
    const amounts = lost.map(amountOf)
    const tokens = amounts.reduce((sum, amount) => sum + Math.max(0, amount), 0)
    const more = amounts.reduce((sum, amount) => sum + Math.max(0, -amount), 0)
    if (tokens > 0) this.#options.observe({ type: 'refunds_lost', tokens })
    if (more > 0) this.#options.observe({ type: 'additions_lost', tokens: more })
  }
}
