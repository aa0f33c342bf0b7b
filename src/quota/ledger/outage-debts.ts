import { amountOf, type Charge, type Decision, type Refund } from '../charge.ts'
import { createDebt, type Debt, final, inStore, join, keyOf } from './debt.ts'
import { addRuns, isOver, partsOf, removeRuns, runsOf } from './debt-runs.ts'

/** Debts that are under way to the store. */
export interface Payment {
  readonly charges: readonly Charge[]
  readonly debts: readonly Debt[]
}

/** `expired` means that the windows of a debt ended before the store was back, so nothing is left to count. */
export type DebtEvent = 'owed' | 'settled' | 'given_back' | 'expired'

const NOTHING: Payment = { charges: [], debts: [] }

/**
 * What one process owes the store: tokens that it admitted while the store was out, to be added to the store's windows by
 * forced charges. After an outage of three hours, only the last run of a 1-hour window is added.
 */
export class OutageDebts {
  readonly #report: (event: DebtEvent, tokens: number) => void
  readonly #open = new Map<string, Debt>()
  #tokens = 0

  /** @param report is called whenever tokens change their state */
  constructor(report: (event: DebtEvent, tokens: number) => void) {
    this.#report = report
  }

  size(): number {
    return this.#open.size
  }

  /** Tokens owed, including those of debts that were taken. */
  tokens(): number {
    return this.#tokens
  }

  /** Adds an admitted charge. @returns the debt that now contains it, for `giveBack` */
  owe(charge: Charge, decision: Decision): Debt {
    const debt = this.#debtOf(charge)
    debt.tokens += charge.cost
    addRuns(debt.owed, runsOf(charge, decision))
    this.#count('owed', charge.cost)
    return debt
  }

  /**
   * Removes a charge, or a part of it, from its debt. An amount below 0 is owed in addition.
   * @returns what the store has to give back, or `null` while it is not known whether the store has counted the charge
   */
  giveBack(first: Debt, refund: Refund): readonly Refund[] | null {
    const debt = final(first)
    if (debt.state === 'taken') return null
    if (debt.state === 'settled') return inStore(debt, refund)
    const amount = amountOf(refund)
    debt.tokens -= amount
    removeRuns(debt.owed, runsOf({ ...refund.charge, cost: amount }, refund.decision))
    if (debt.tokens === 0) this.#open.delete(debt.key)
    if (amount > 0) this.#count('given_back', amount)
    else this.#count('owed', -amount)
    return []
  }

  /** Takes debts until they make `enough` charges, or until none is left. Each must come back by `settled` or `returned`. */
  take(enough: number, at: number): Payment {
    if (this.#open.size === 0) return NOTHING
    const debts: Debt[] = []
    const charges: Charge[] = []
    for (const debt of this.#open.values()) {
      if (charges.length >= enough) break
      debt.parts = partsOf(debt.owed, debt.charge, at)
      if (debt.parts.length === 0) this.#expire(debt)
      else {
        this.#open.delete(debt.key)
        debt.state = 'taken'
        debts.push(debt)
        charges.push(...debt.parts)
      }
    }
    return { charges, debts }
  }

  settled(payment: Payment, decisions: readonly Decision[]): void {
    let at = 0
    for (const debt of payment.debts) {
      debt.paid = decisions.slice(at, at + debt.parts.length)
      at += debt.parts.length
      debt.state = 'settled'
      this.#count('settled', debt.tokens)
    }
  }

  returned({ debts }: Payment): void {
    for (const debt of debts) {
      debt.state = 'open'
      const newer = this.#open.get(debt.key)
      if (newer !== undefined) join(debt, newer)
      this.#open.set(debt.key, debt)
    }
  }

  /** Drops debts whose windows have all ended. */
  sweep(at: number): void {
    for (const debt of this.#open.values()) if (isOver(debt.owed, at)) this.#expire(debt)
  }

  #debtOf(charge: Charge): Debt {
    const key = keyOf(charge)
    const known = this.#open.get(key)
    if (known !== undefined) return known
    const debt = createDebt(charge)
    this.#open.set(key, debt)
    return debt
  }

  #expire(debt: Debt): void {
    this.#open.delete(debt.key)
    debt.state = 'settled'
    this.#count('expired', debt.tokens)
  }

  #count(event: DebtEvent, tokens: number): void {
    this.#tokens += event === 'owed' ? tokens : -tokens
    this.#report(event, tokens)
  }
}
