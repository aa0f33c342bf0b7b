import { type Charge, type Decision, metersOf, type Refund, refundedMeter } from '../charge.ts'
import type { Debt } from './debt.ts'
import { OutageAllowance } from './outage-allowance.ts'
import { type DebtEvent, OutageDebts, type Payment } from './outage-debts.ts'

export interface OutageOptions {
  /** The share of the limits that a category may use, 0 (none) to 1. */
  readonly share: (category: string) => number
  /** The most pairs of user and category that are kept, 1.5 KB each. Default 50,000. */
  readonly maxUsers?: number | undefined
  /** Is called whenever tokens change their state. */
  readonly report: (event: DebtEvent, tokens: number) => void
}

/** What became of a meter of a charge that was accepted here. Nothing is known yet if both are `null`. */
interface Admission {
  debt: Debt | null
  /** The store's decision, if the store had accepted the charge as well. */
  byStore: Decision | null
  /** How far the local counters had been moved when the charge was accepted. */
  readonly moved: number
}

/**
 * What one process admits by itself while the store is out, and what it owes the store for it.
 *
 * | An admitted charge | Event                                       | Next                                     |
 * |--------------------|---------------------------------------------|------------------------------------------|
 * |                    | `decide`                                    | open: the store may have counted it      |
 * | open               | `owe`: the store certainly has not          | owed, see the debts                      |
 * | open               | `learn`, and the store had refused it       | owed                                     |
 * | open               | `learn`, and the store had accepted it      | counted by the store                     |
 * | open               | `giveBack`                                  | open: what to give back is not known yet |
 * | owed, counted      | `giveBack`                                  | gone, and its share is free again        |
 */
export class Outage {
  readonly #debts: OutageDebts
  readonly #allowance: OutageAllowance
  /** Keyed by the decision on each meter. */
  readonly #admissions = new WeakMap<Decision, Admission>()

  constructor({ share, maxUsers = 50_000, report }: OutageOptions) {
    this.#debts = new OutageDebts(report)
    this.#allowance = new OutageAllowance({ share, maxUsers, debts: this.#debts })
  }

  /** Decides a charge by the outage allowance; `null` if the allowance cannot decide it. */
  decide(charge: Charge, at: number): Decision | null {
    const decision = this.#allowance.decide(charge, at)
    for (const each of decision === null ? [] : [decision, ...(decision.others ?? [])]) {
      this.#admissions.set(each, { debt: null, byStore: null, moved: this.#allowance.moved })
    }
    return decision
  }

  /** Whether a decision was made here. @param decision on a meter that was not given back since */
  made(decision: Decision): boolean {
    return this.#admissions.has(decision)
  }

  /** Notes that the store certainly did not count a charge that was accepted here, so it is owed. */
  owe(charge: Charge, decision: Decision): void {
    for (const [i, meter] of metersOf(charge).entries()) {
      const of = i === 0 ? decision : decision.others?.[i - 1]
      const admission = of && this.#admissions.get(of)
      if (of && admission) admission.debt = this.#debts.owe(meter, of)
    }
  }

  /**
   * Notes that the store had decided the charge too, before it fell silent. If it was accepted there, it is counted and
   * not owed.
   */
  learn(charge: Charge, decision: Decision, byStore: Decision): void {
    if (!byStore.accepted) {
      this.owe(charge, decision)
      return
    }
    for (const each of [decision, ...(decision.others ?? [])]) {
      const admission = this.#admissions.get(each)
      if (admission !== undefined) admission.byStore = byStore
    }
  }

  /**
   * Gives back a meter of a charge that was accepted here, or a part of it, or charges more for it. At most once for each
   * meter.
   * @returns what the store has to give back, or `null` while it is not known whether the store has counted the charge
   */
  giveBack(refund: Refund): readonly Refund[] | null {
    const alone = { ...refund, ...refundedMeter(refund), meter: 0 }
    const admission = this.#admissions.get(alone.decision)
    if (admission === undefined) return []
    const inStore = this.#inStoreOf(admission, refund, alone)
    if (inStore === null) return null
    this.#admissions.delete(alone.decision)
    this.#allowance.giveBack(alone, admission.moved)
    return inStore
  }

  /**
   * Empties the local counters of windows of an organisation, or of everybody (`null`), which were emptied in the
   * store. What is owed stays owed.
   */
  empty(category: string, seconds: readonly number[], organisation: string | null = null): void {
    this.#allowance.empty(category, seconds, organisation)
  }

  /** Corrects the times that were given so far by this many milliseconds. Call it only while nothing is owed. */
  shift(ms: number): void {
    this.#allowance.shift(ms)
  }

  /** Takes debts until they make `enough` charges, or until none is left. Each must come back by `settled` or `returned`. */
  take(enough: number, at: number): Payment {
    return this.#debts.take(enough, at)
  }

  settled(payment: Payment, decisions: readonly Decision[]): void {
    this.#debts.settled(payment, decisions)
  }

  returned(payment: Payment): void {
    this.#debts.returned(payment)
  }

  /** Whether there are debts to take. */
  owes(): boolean {
    return this.#debts.size() > 0
  }

  /** Tokens owed, including those of debts that were taken. */
  owed(): number {
    return this.#debts.tokens()
  }

  /** @param alone the refund as if its meter was the whole charge */
  #inStoreOf({ debt, byStore }: Admission, refund: Refund, alone: Refund): readonly Refund[] | null {
    if (byStore !== null) return [{ ...refund, decision: byStore }]
    return debt === null ? null : this.#debts.giveBack(debt, alone)
  }
}
