import type { Observer } from '../../observe/observation.ts'
import type { Charge, Decision } from '../charge.ts'
import type { Outage } from './outage.ts'
import type { Payment } from './outage-debts.ts'

export interface DebtPaymentOptions {
  readonly outage: Pick<Outage, 'take' | 'settled' | 'returned' | 'owes' | 'owed'>
  readonly observe: Observer
}

const NOTHING: Payment = { charges: [], debts: [] }

/**
 * Pays what is owed after an outage, a part with each batch.
 *
 * | Payment   | Event                             | Next                                              |
 * |-----------|-----------------------------------|---------------------------------------------------|
 * | none      | `take`: a batch is made           | under way, if anything is owed                    |
 * | under way | `settled`                         | none: reported with the last of the debts         |
 * | under way | `returned`: the batch was dropped | none: what was taken is owed as before            |
 */
export class DebtPayment {
  readonly #options: DebtPaymentOptions
  #underWay = NOTHING
  /** Tokens that were paid since the last time when nothing was owed. */
  #tokensPaid = 0

  constructor(options: DebtPaymentOptions) {
    this.#options = options
  }

  /** The charges of the payment under way. */
  get charges(): readonly Charge[] {
    return this.#underWay.charges
  }

  /** Takes debts until they make `enough` charges, or until none is left. */
  take(enough: number, at: number): void {
    this.#underWay = this.#options.outage.take(enough, at)
  }

  /** @param decisions those of `charges`, which may be followed by others */
  settled(decisions: readonly Decision[]): void {
    const { outage, observe } = this.#options
    if (this.charges.length > 0) {
      const before = outage.owed()
      outage.settled(this.#underWay, decisions)
      this.#tokensPaid += before - outage.owed()
    }
    this.#underWay = NOTHING
    // The last debts may have ended before they were paid.
    if (this.#tokensPaid === 0 || outage.owes()) return
    observe({ type: 'outage_settled', tokens: this.#tokensPaid })
    this.#tokensPaid = 0
  }

  returned(): void {
    this.#options.outage.returned(this.#underWay)
    this.#underWay = NOTHING
  }

  /** Reports what was admitted and is never charged. The payment under way is left out, because it may have been made. */
  close(): void {
    const { outage, observe } = this.#options
    // A debt that has different amounts in its windows is paid by several charges, so their tokens do not add up to its
    // own.
    const tokens = this.#underWay.debts.reduce((owed, debt) => owed - debt.tokens, outage.owed())
    if (tokens > 0) observe({ type: 'outage_tokens', event: 'lost', tokens })
  }
}
