import { firstAndOthers } from '../lib/first-and-others.ts'
import type { Grants, PaidByGrants } from './grant.ts'
import type { Once, Receipt } from './once.ts'
import type { Limit, Usage, Window } from './window.ts'

/** The limits of one user in one category, each list shortest window first. */
export interface Limits {
  readonly personal: readonly Limit[]
  /** `null` if the user belongs to no organisation, or to one that has no limits here. */
  readonly organisation: readonly Limit[] | null
  /** `null` if the global scope does not apply: it is switched off or has no limit, or the user bypasses it. */
  readonly global: readonly Limit[] | null
  /**
   * The window of the books. What the user and the organisation use is counted in it too, without a limit. Absent if no days are kept.
   */
  readonly books?: Window
  /** What pays where the windows of a scope have no room. Absent for callers to whom nobody has given any. */
  readonly grants?: Grants
}

/** What a charge asks of one category. */
export interface Meter {
  /** The verified user id: a well-formed string of any content. Stores must keep two different ids apart. */
  readonly user: string
  /** The organisation of the user, of any content as well; `null` for none. No user id is the same as one of these. */
  readonly organisation: string | null
  readonly category: string
  /** Whole tokens, at least 1. */
  readonly cost: number
  readonly limits: Limits
}

/** A request for tokens: all that its meters ask for, or nothing. It is its own first meter. */
export interface Charge extends Meter {
  /**
   * Its further meters, at most three, each of a category of its own and of the same user. Default none, as nearly every charge, which then costs
   * nothing for what others may have.
   */
  readonly others?: readonly Meter[]
  /**
   * Accepted whatever the limits say, so all its windows are charged, also above their limits. The tokens were spent
   * already, on local counters while the store was out. The limits then only name the windows, and there may be none in
   * the personal scope. Never with `others`: each meter is owed by itself. Default: not so.
   */
  readonly forced?: true
  /** By what repetitions of the request are known, which are not charged; never with `forced`. Default: each is charged. */
  readonly once?: Once
}

/** The decision on a charge. Refusal is a value, not an error. */
export interface Decision {
  /** Of all its meters. */
  readonly accepted: boolean
  /** The store's time of the decision, in milliseconds since the epoch. */
  readonly at: number
  /** Usage after the decision, one for each of `limits.personal`, in the same order; behind these, of a store, that of the books. */
  readonly personal: readonly Usage[]
  /** The same for `limits.organisation`; `null` if the charge counts in no window of an organisation. */
  readonly organisation: readonly Usage[] | null
  /** The same for `limits.global`; `null` if that is `null`. */
  readonly global: readonly Usage[] | null
  /**
   * Which grants have paid instead of the windows of a scope. `personal` and `organisation` have then what was used in windows that are not
   * charged. Missing where none has.
   */
  readonly paidBy?: PaidByGrants
  /** The same for each of the charge's `others`, in their order. Missing where it has none. */
  readonly others?: readonly Decision[]
  /** The limits that decided the charge, if they are not its own: the share that may be used while the store is out. */
  readonly limits?: Limits
  /**
   * What the key of the charge made of it, if the store was asked for that. Missing too for a charge that no repetition is
   * known of later.
   */
  readonly once?: OnceDecision
  /** The batch by which a ledger has settled it. Default: none has, as a decision on local counters. */
  batch?: number | undefined
  /** What was made of a refusal for whoever asks, kept here because the same refusal is given again for a while. Default nothing. */
  memo?: object | undefined
}

export type OnceDecision =
  /** Charged at `since`, and remembered. */
  | { readonly kind: 'charged'; readonly since: number }
  /** Accepted as a repetition of such a charge, and not charged. `receipt`: where the charge was counted. */
  | { readonly kind: 'replayed'; readonly since: number; readonly receipt: Receipt }
  /** Not accepted: the key is that of a request with another body. */
  | { readonly kind: 'reused' }

/** A charge that was accepted, to be given back, or of which another amount turned out to be right. */
export interface Refund {
  readonly charge: Charge
  /** The decision that accepted it: it names the runs of the windows that were charged. */
  readonly decision: Decision
  /** Which of its meters: 0 is the charge itself, 1 the first of its `others`. Each is given back by itself. Default 0. */
  readonly meter?: number
  /**
   * Whole tokens to give back; below 0, to charge in addition, whatever the limits say. Default the cost, of a request that certainly
   * reached nobody.
   */
  readonly amount?: number
  /**
   * Hears once how much was given back, when the store has done it. Of a charge with a key the other requests of the key decide, too. A
   * refund that is lost is never heard of. Default nobody.
   */
  readonly onMade?: (amount: number) => void
}

/** The tokens that a refund gives back. */
export function amountOf(refund: Refund): number {
  return refund.amount ?? refundedMeter(refund).charge.cost
}

/** The meter that a refund is of, as a charge of it alone, and what was decided on that. */
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

/** Each meter of a charge, as a charge of it alone. */
export function metersOf(charge: Charge): readonly Charge[] {
  if (charge.others === undefined) return [charge]
  const { user, organisation, category, cost, limits } = charge
  return [{ user, organisation, category, cost, limits }, ...charge.others]
}

/** What was decided on each meter of a charge, in their order. */
export function decisionsOf(decision: Decision): readonly Decision[] {
  return firstAndOthers<Decision>(decision)
}

/** Many charges and refunds settled as one, in order, refunds first. */
export interface Batch {
  /** The process that sends it; a random name for each start. */
  readonly instance: string
  /** Counts up by one for each batch of the instance, from 1. */
  readonly sequence: number
  /** The batch of the instance that the store has settled last, as far as its sender knows. Default: none is known of. */
  readonly after?: number
  readonly refunds: readonly Refund[]
  readonly charges: readonly Charge[]
}
