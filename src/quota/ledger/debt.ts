import type { Charge, Decision, Refund } from '../charge.ts'
import { addRuns, noRuns, type Runs, refundOf } from './debt-runs.ts'

/**
 * What a user has been admitted in a category since the last payment, within one organisation or none.
 *
 * | A debt  | Event                                                       | Next                                             |
 * |---------|-------------------------------------------------------------|--------------------------------------------------|
 * |         | `owe`: the first charge of its user in its category         | open                                             |
 * | open    | `owe`: another one                                          | open, larger                                     |
 * | open    | `giveBack`                                                  | open, smaller; gone with its last token          |
 * | open    | `take`                                                      | taken; a later charge makes a new debt           |
 * | open    | `take`, `sweep`: its windows have all ended                 | settled, with nothing to give back               |
 * | taken   | `giveBack`                                                  | taken: it is not known whether it is paid        |
 * | taken   | `settled`                                                   | settled                                          |
 * | taken   | `returned`                                                  | open; a new debt of its user joins it            |
 * | settled | `giveBack`                                                  | settled: the store gives back                    |
 */
export interface Debt {
  readonly key: string
  readonly charge: Charge
  tokens: number
  /** What is still owed, by window. */
  readonly owed: Runs
  state: 'open' | 'taken' | 'settled'
  /** The forced charges that pay the debt. */
  parts: readonly Charge[]
  /** The store's decisions for `parts`. */
  paid: readonly Decision[]
  /** The debt with which this one was merged. */
  joined: Debt | null
}

export function createDebt(charge: Charge): Debt {
  return { key: keyOf(charge), charge, tokens: 0, owed: noRuns(), state: 'open', parts: [], paid: [], joined: null }
}

/** Unambiguous: the length says where the organisation ends, and a category contains no colon. */
export function keyOf({ user, organisation, category }: Charge): string {
  return `${category}:${organisation?.length ?? ''}:${organisation ?? ''}${user}`
}

/** What the store has to give back for a charge of a settled debt. */
export function inStore({ parts, paid, owed }: Debt, refund: Refund): Refund[] {
  return parts.flatMap((part, i) => {
    const decision = paid[i]
    return decision === undefined ? [] : refundOf(owed, part, decision, refund)
  })
}

/** Merges the newer debt into `debt`. */
export function join(debt: Debt, newer: Debt): void {
  debt.tokens += newer.tokens
  newer.joined = debt
  addRuns(debt.owed, newer.owed)
}

/** The debt into which this one was merged, or this debt itself. */
export function final(debt: Debt): Debt {
  return debt.joined === null ? debt : final(debt.joined)
}
