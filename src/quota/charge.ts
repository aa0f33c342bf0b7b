import { firstAndOthers } from '../lib/first-and-others.ts'
import type { Grants, PaidByGrants } from './grant.ts'
import type { Once, Receipt } from './once.ts'
import type { Limit, Usage, Window } from './window.ts'

/** The limits of one user in one category, each list shortest window first. */
export interface Limits {
  readonly personal: readonly Limit[]
  /** `null` if the user belongs to no organisation. If the organisation has no limits here, the list is `null` or empty. */
  readonly organisation: readonly Limit[] | null
  /** `null` if the global scope does not apply: it is switched off or has no limit, or the user bypasses it. */
  readonly global: readonly Limit[] | null
  /**
   * The window of the books, in which usage of the user and the organisation is counted without a limit. Absent if no days are kept.
   */
  readonly books?: Window
  /** What pays if the windows of a scope have no room. Absent for callers without grants. */
  readonly grants?: Grants
}

/** What a charge takes in one category. */
export interface Meter {
  /** The verified user id, a well-formed string of any content. Stores must keep different ids apart. */
  readonly user: string
  /**
   * The organisation of the user, also of any content; `null` for none. It is never confused with a user id of the same
   * text.
   */
  readonly organisation: string | null
  readonly category: string
  /** Whole tokens, at least 1. */
  readonly cost: number
  readonly limits: Limits
}

/** A request for tokens. All its meters are charged, or none. The charge itself is its first meter. */
export interface Charge extends Meter {
  /**
   * At most three further meters, each of another category and of the same user. Default none, because nearly every charge has one meter
   * and should not pay for more.
   */
  readonly others?: readonly Meter[]
  /**
   * Charges all windows even above their limits, because an outage allowance has already admitted the tokens while the
   * store was out. The limits then only name the windows, and the personal scope may have none. Never set together with
   * `others`, because each meter is owed by itself. Default not set.
   */
  readonly forced?: true
  /** How repetitions are recognised, so that they are not charged. Never set with `forced`. By default each request is charged. */
  readonly once?: Once
}

/** The decision on a charge. Refusal is a value, not an error. */
export interface Decision {
  /** Whether all its meters are accepted. */
  readonly accepted: boolean
  /** The store's time of the decision, in milliseconds since the epoch. */
  readonly at: number
  /** Usage after the decision, in the order of `limits.personal`. A store adds the usage of the books at the end. */
  readonly personal: readonly Usage[]
  /** The same for `limits.organisation`; `null` if the charge counts in no window of an organisation. */
  readonly organisation: readonly Usage[] | null
  /** The same for `limits.global`; `null` if `limits.global` is `null`. */
  readonly global: readonly Usage[] | null
  /**
   * Which grants have paid instead of the windows of a scope, or would have paid for a refused charge. `personal` and `organisation` then say
   * what was used in windows that were not charged. Absent for no grants.
   */
  readonly paidBy?: PaidByGrants
  /** The decisions on `others` of the charge, in the same order. Absent if the charge has no `others`. */
  readonly others?: readonly Decision[]
  /** The limits that decided the charge if they are not its own limits, but the share of an outage allowance. */
  readonly limits?: Limits
  /**
   * What the key of the charge decided. Absent for a charge without a key, and for a charge whose repetitions are not recognised later
   * because it was refused, exceeded the free repetitions or was decided without the store.
   */
  readonly once?: OnceDecision
  /** The batch in which a ledger has settled the charge. Default none, as for a decision on local counters. */
  batch?: number | undefined
  /** What the response has made from this refusal, kept here because the same refusal is often given again. Default nothing. */
  memo?: object | undefined
}

export type OnceDecision =
  /** Charged and remembered at `since`. */
  | { readonly kind: 'charged'; readonly since: number }
  /** Accepted without a charge, because it repeats one that was made at `since`. `receipt` says where that was counted. */
  | { readonly kind: 'replayed'; readonly since: number; readonly receipt: Receipt }
  /** Not accepted, because the key belongs to a request with another body. */
  | { readonly kind: 'reused' }

/** An accepted charge that is given back, or whose amount is corrected. */
export interface Refund {
  readonly charge: Charge
  /** The decision that accepted the charge. It names the runs of the windows that were charged. */
  readonly decision: Decision
  /** The meter to give back: 0 is the charge itself, 1 the first of its `others`. Each has its own refund. Default 0. */
  readonly meter?: number
  /**
   * Whole tokens to give back. An amount below 0 is charged in addition, whatever the limits say. Default the whole cost, for a
   * request that certainly did not reach the upstream.
   */
  readonly amount?: number
  /**
   * Is called once with the amount that the store has given back. If the charge has a key, its repetitions count for this amount too.
   * It is never called for a refund that is lost. Default none.
   */
  readonly onMade?: (amount: number) => void
}

export function amountOf(refund: Refund): number {
  return refund.amount ?? refundedMeter(refund).charge.cost
}

/** The meter of a refund as a charge by itself, and the decision on it. */
export function refundedMeter({ charge, decision, meter = 0 }: Refund): { charge: Meter; decision: Decision } {
  if (meter === 0) return { charge, decision }
  const [of, decided] = [charge.others?.[meter - 1], decision.others?.[meter - 1]]
  if (of === undefined || decided === undefined) throw new Error(`a charge has no meter ${meter}`)
  return { charge: of, decision: decided }
}

/** The tokens that a charge asks for, of all its meters. */
export function tokensOf({ cost, others }: Charge): number {
  return others === undefined ? cost : others.reduce((sum, meter) => sum + meter.cost, cost)
}

export function metersOf(charge: Charge): readonly Charge[] {
  if (charge.others === undefined) return [charge]
  const { user, organisation, category, cost, limits } = charge
  return [{ user, organisation, category, cost, limits }, ...charge.others]
}

/** The decisions on the meters of a charge, in the order of the meters. */
export function decisionsOf(decision: Decision): readonly Decision[] {
  return firstAndOthers<Decision>(decision)
}

/** Many charges and refunds that are settled together and in order, refunds first. */
export interface Batch {
  /** The process that sends it; a random name for each start. */
  readonly instance: string
  /** Counts up by one for each batch of the instance, from 1. */
  readonly sequence: number
  /** The last batch of the instance that the store has settled, as far as its sender knows. Default unknown. */
  readonly after?: number
  readonly refunds: readonly Refund[]
  readonly charges: readonly Charge[]
}
