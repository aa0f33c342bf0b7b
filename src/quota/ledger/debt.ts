import type { Charge, Decision, Refund } from '../charge.ts'
import { addRuns, noRuns, type Runs, refundOf } from './debt-runs.ts'

/**
 * What a user has been admitted in a category since the last payment, as one of an organisation or of none.
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
  /** What still counts, by window. */
  readonly owed: Runs
  state: 'open' | 'taken' | 'settled'
  /** The forced charges of its payment. */
  parts: readonly Charge[]
  /** The store's decisions for `parts`. */
  paid: readonly Decision[]
  /** The debt that took this one over. */
  joined: Debt | null
}

export function createDebt(charge: Charge): Debt {
  return { key: keyOf(charge), charge, tokens: 0, owed: noRuns(), state: 'open', parts: [], paid: [], joined: null }
}

/** Categories hold no colon. The length says where the organisation ends: it may hold anything, and so may the user. */
export function keyOf({ user, organisation, category }: Charge): string {
  return `${category}:${organisation?.length ?? ''}:${organisation ?? ''}${user}`
}

/** What the store is to give back for a charge of a settled debt. */
export function inStore({ parts, paid, owed }: Debt, refund: Refund): Refund[] {
  return parts.flatMap((part, i) => {
    const decision = paid[i]
    return decision === undefined ? [] : refundOf(owed, part, decision, refund)
  })
}

/** Takes the newer debt over. */
export function join(debt: Debt, newer: Debt): void {
  debt.tokens += newer.tokens
  newer.joined = debt
  addRuns(debt.owed, newer.owed)
}

/** The debt that this one has become a part of, or itself. */
export function final(debt: Debt): Debt {
  return debt.joined === null ? debt : final(debt.joined)
}
