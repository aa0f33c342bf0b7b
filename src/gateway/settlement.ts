import type { Caller } from '../auth/authenticator.ts'
import { isVerified } from '../auth/verdict.ts'
import { overloaded } from '../edge/denials.ts'
import type { Denial } from '../errors.ts'
import type { Observer, RefusingLimit, Settled, TunnelCharge } from '../observe/observation.ts'
import { type Charge, type Decision, decisionsOf, metersOf, refundedMeter } from '../quota/charge.ts'
import { chargeOf, type MeterCost } from '../quota/charge-of.ts'
import type { KnownUsers } from '../quota/known-users.ts'
import { type Asker, type Ledger, LedgerFull } from '../quota/ledger/ledger-contract.ts'
import type { Once } from '../quota/once.ts'
import type { Payer, PlanInForce, Policy } from '../quota/policy.ts'
import { StoreError } from '../quota/quota-store.ts'
import { refusingMeter } from '../quota/refusal.ts'
import { isOfReserve } from '../quota/reserve.ts'
import type { FinalCost } from '../routing/final-cost.ts'
import type { Exemption } from './exemption.ts'
import { keyReused, type Refusal, refusalOf, refusingWindow, storeUnavailable } from './responses.ts'
import type { Route, Rules } from './snapshot.ts'

/**
 * The only place that charges and corrects charges. `settled` reports each outcome once, and nobody else reports any.
 *
 * | Call       | Event                                                     | Reported                                     |
 * |------------|-----------------------------------------------------------|----------------------------------------------|
 * | `ask`      | the store, or the outage allowance, accepts               | `charged`, once for each meter               |
 * | `ask`      | the request repeats one that was charged                  | `repeated`                                   |
 * | `ask`      | a window refuses                                          | `refused`; in shadow `shadowed`              |
 * | `ask`      | nobody decides, or the key is that of another request     | nothing, it is denied; in shadow `shadowed`  |
 * | `correct`  | the response told the cost, and the store has settled it  | `corrected`                                  |
 * | `giveBack` | the request reached nobody, and the store has settled it  | `given_back`                                 |
 * | `unpriced` | nobody can tell the cost, and shadow lets it through      | `shadowed`                                   |
 * | `exempted` | nothing is charged to the caller                          | `exempt`                                     |
 *
 * If a correction never reaches the store, the ledger reports it as lost. If nobody decides on the charge of an open tunnel, nothing is
 * reported, and the charge is tried again.
 */

/** The result of asking the quota for tokens. */
export type Settlement = Settled & { readonly kind: 'charged' | 'repeated' | 'refused' | 'shadowed' }

/** A charge that may be corrected. A repetition corrects the charge that it repeats, which all requests with the key use together. */
export type Paid = Settled & { readonly kind: 'charged' | 'repeated'; readonly decision: Decision }

/** Who pays how much, under which configuration. */
export interface Order {
  readonly rules: Rules
  readonly route: Route
  readonly caller: Payer & Pick<Caller, 'kind'>
  /** The caller's plan by the policy. */
  readonly plan: PlanInForce | null
  readonly category: string
  /** In tokens. It is 0 only if the quota is not asked. */
  readonly cost: number
  /** Costs in other categories, charged together with the first or not at all. Default none. */
  readonly others?: readonly MeterCost[]
  /** How repetitions are recognised; `null` if each is charged. */
  readonly once: Once | null
  /** The request's Accept, for the form of a 429. */
  readonly accept: string | undefined
  /** Set for an open tunnel, and absent for a request or a handshake. */
  readonly tunnel?: TunnelCharge
}

/** What charging needs: the ledger, the known users, and the observer. */
export interface Charging {
  readonly ledger: Pick<Ledger, 'decide' | 'refund'>
  readonly knownUsers: Pick<KnownUsers, 'lookUp'>
  readonly observe: Observer
}

/** Waits for the quota's result. One of the two methods is called, once, perhaps before `ask` returns. Neither may throw. */
export interface Settling {
  /** @param settlement a denial if nobody decided or the key belongs to another request, and the request is not in shadow */
  settled(settlement: Settlement | Denial): void
  /** Reports a fault of the gateway. */
  failed(error: unknown): void
}

/** Asks the ledger, and calls `settling` with the result. */
export function ask(charging: Charging, order: Order, settling: Settling): void {
  const charge = chargeFor(order)
  charging.ledger.decide(charge, new Question(charging, order, charge, settling))
}

/** Does the same as `ask`, and returns the result as a promise. */
export function settle(charging: Charging, order: Order): Promise<Settlement | Denial> {
  return new Promise((settled, failed) => ask(charging, order, { settled, failed }))
}

/** A charge that the ledger decides, with its asker. It is no promise, because one takes 700 bytes for each request. */
class Question implements Asker {
  readonly #charging: Charging
  readonly #order: Order
  readonly #charge: Charge
  readonly #settling: Settling

  constructor(charging: Charging, order: Order, charge: Charge, settling: Settling) {
    this.#charging = charging
    this.#order = order
    this.#charge = charge
    this.#settling = settling
  }

  decided(decision: Decision): void {
    try {
      this.#report(settlementOf(this.#charging, this.#order, this.#charge, decision))
    } catch (error) {
      this.#settling.failed(error)
    }
  }

  undecided(error: Error): void {
    try {
      this.#report(letThroughOf(this.#charging, this.#order, this.#charge, undecided(error)))
    } catch (fault) {
      this.#settling.failed(fault)
    }
  }

  #report(settlement: Settlement | Denial | Promise<Settlement | Denial>): void {
    if (settlement instanceof Promise) reportLater(settlement, this.#settling)
    else this.#settling.settled(settlement)
  }
}

function reportLater(settlement: Promise<Settlement | Denial>, settling: Settling): void {
  settlement.then(
    (known) => settling.settled(known),
    (error) => settling.failed(error),
  )
}

/** Handles a charge that nobody decided: it is denied, or let through in shadow. */
function letThroughOf({ observe }: Charging, order: Order, charge: Charge, denial: Denial): Settlement | Denial {
  const { rules, route, caller } = order
  const isLetThrough = order.tunnel === undefined && isShadowed(rules, route, caller.user, rules.policy())
  return isLetThrough ? settled(observe, decidedOn(order, 'shadowed', charge, null, 'store')) : denial
}

function settlementOf(
  charging: Charging,
  order: Order,
  charge: Charge,
  decision: Decision,
): Settlement | Denial | Promise<Settlement | Denial> {
  if (!decision.accepted) return refusedOf(charging, order, charge, decision)
  const kind = decision.once?.kind === 'replayed' ? 'repeated' : 'charged'
  return settled(charging.observe, decidedOn(order, kind, charge, decision, null))
}

/**
 * A known user whom this process does not know yet counts as new, and would be refused the part for known users. So the user is looked
 * up and charged once more, but not a third time.
 */
function refusedOf(
  charging: Charging,
  order: Order,
  charge: Charge,
  decision: Decision,
): Settlement | Denial | Promise<Settlement | Denial> {
  const isReused = decision.once?.kind === 'reused'
  if (isReused || !isOfAnyReserve(charge, decision)) return refusalSettled(charging, order, charge, decision, isReused)
  return refusedOfReserve(charging, order, charge, decision)
}

function isOfAnyReserve(charge: Charge, decision: Decision): boolean {
  if (charge.others === undefined) return isOfReserve(charge, decision)
  const decisions = decisionsOf(decision)
  return metersOf(charge).some((meter, i) => isOfReserve(meter, decisions[i] as Decision))
}

async function refusedOfReserve(
  charging: Charging,
  order: Order,
  charge: Charge,
  decision: Decision,
): Promise<Settlement | Denial> {
  const isKnown = await charging.knownUsers.lookUp(order.caller.user)
  return isKnown ? settle(charging, order) : refusalSettled(charging, order, charge, decision, false)
}

function refusalSettled(
  { observe }: Charging,
  order: Order,
  charge: Charge,
  decision: Decision,
  isReused: boolean,
): Settlement | Denial {
  const { rules, route, caller } = order
  const isLetThrough = isShadowed(rules, route, caller.user, rules.policy())
  if (isReused && !isLetThrough && route.repetition !== null) return keyReused(route.repetition)
  const kind = isLetThrough ? 'shadowed' : 'refused'
  const refusedBy = isReused ? 'key' : refusingLimit(order, charge, decision, kind)
  return settled(observe, decidedOn(order, kind, charge, decision, refusedBy))
}

function chargeFor(order: Order): Charge {
  const { rules, caller, others, once } = order
  const charge = chargeOf(caller, order, others, rules.policy())
  return once === null ? charge : { ...charge, once }
}

/** The denial if the ledger could not decide. @throws any fault of the gateway */
export function undecided(error: unknown): Denial {
  if (error instanceof LedgerFull) return overloaded('charges')
  if (error instanceof StoreError) return storeUnavailable(error)
  throw error
}

/** Whether refusals of the quota are only counted and reported: everywhere, on this route, or for this user. */
export function isShadowed(rules: Rules, route: Route, user: string, policy: Policy): boolean {
  return rules.shadow() || route.shadow || policy.isShadowed(user)
}

/** The limit that a 429 names, or would have named. */
function refusingLimit(order: Order, charge: Charge, decision: Decision, kind: 'refused' | 'shadowed'): RefusingLimit {
  const { rules, caller, accept } = order
  if (kind === 'shadowed') return withSource(windowOf(charge, decision), order, decision)
  const refusal = refusalOf(caller, charge, decision, rules, accept)
  const policy = rules.policy()
  const { named } = refusal
  if (named?.caller === caller && named.policy === policy) return named.limit
  const limit = withSource(refusal.by, order, decision)
  refusal.named = { caller, policy, limit }
  return limit
}

function withSource(by: Refusal['by'], { rules, caller }: Order, decision: Decision): RefusingLimit {
  const made = rules.policy().sourceOf(by.category, caller, by.scope, by.window)
  // While the store is out, only a share of the limits applies.
  return { ...by, source: decision.limits === undefined ? made : `${made} x outage share`, episode: undefined }
}

function windowOf(charge: Charge, decision: Decision): Refusal['by'] {
  const by = refusingWindow(charge, decision)
  if (by === null) throw new Error('a charge was refused by no window')
  return by
}

function decidedOn<K extends Settled['kind']>(
  { route, caller, plan, tunnel }: Order,
  kind: K,
  charge: Charge,
  decision: Decision | null,
  refusedBy: Settled['refusedBy'],
): Settled & { readonly kind: K } {
  const tokens = kind === 'charged' ? charge.cost : 0
  // Each field is written by its name, for the reason in `record.ts`.
  const outcome = {
    type: 'settled' as const,
    kind,
    tokens,
    charge,
    decision,
    caller,
    isVerified: isVerified(caller),
    plan,
    route: route.match,
    refusedBy,
  }
  return tunnel === undefined ? outcome : { ...outcome, tunnel }
}

/** Reports that shadow lets a request without a price through. Nothing is charged. @param reason for the log */
export function unpriced({ observe }: Pick<Charging, 'observe'>, order: Order, reason: string): Settlement {
  const charge = chargeFor({ ...order, cost: 0 })
  return settled(observe, { ...decidedOn(order, 'shadowed', charge, null, 'price'), reason })
}

/** Reports that nothing is charged to the caller. */
export function exempted({ observe }: Pick<Charging, 'observe'>, order: Order, exempt: Exemption): void {
  const outcome = decidedOn(order, 'exempt', chargeFor(order), null, null)
  settled(observe, { ...outcome, exempt })
}

/** The only place that reports what happened to a charge. */
function settled<S extends Settled>(observe: Observer, outcome: S): S {
  if (outcome.charge.others === undefined) observe(outcome)
  else reportMeters(observe, outcome)
  return outcome
}

/** Reports each meter of an accepted charge, the refusing meter of a refusal, and otherwise the first meter. */
function reportMeters(observe: Observer, outcome: Settled): void {
  const { kind, charge, decision } = outcome
  const [first, ...others] = metersOf(charge) as [Charge, ...Charge[]]
  observe({ ...outcome, charge: first, ...(decision?.accepted === false && refusingMeter(charge, decision)) })
  if (kind !== 'charged') return
  for (const [i, charge] of others.entries()) {
    const of = { charge, decision: decision?.others?.[i] ?? null, tokens: charge.cost }
    observe({ ...outcome, ...of, isFurther: true })
  }
}

/** Whether something is charged for a request, by itself or by the request that it repeats. */
export function isPaid(settlement: Settled | null): settlement is Paid {
  return settlement?.kind === 'charged' || settlement?.kind === 'repeated'
}

/**
 * Gives back the charge of a request that certainly reached nobody, in all meters.
 * @returns for each meter how much was given back, if other requests with the same key decide it; else `null`
 */
export function giveBack(charging: Charging, paid: Paid): readonly (Promise<number> | null)[] {
  return metersOf(paid.charge).map((_, i) => refund(charging, paid, i, undefined, { ...paid, kind: 'given_back' }))
}

/**
 * Gives back what a request has not cost, or charges the difference.
 * @param meter of the charge. Default the first
 * @returns as `giveBack`, for this meter
 */
export function correct(
  charging: Charging,
  paid: Paid,
  { tokens, source }: FinalCost,
  meter = 0,
): Promise<number> | null {
  const { charge } = meter === 0 ? paid : refundedMeter({ ...paid, meter })
  return refund(charging, paid, meter, charge.cost - tokens, { ...paid, kind: 'corrected', source })
}

function refund(
  { ledger, observe }: Charging,
  { charge, decision }: Paid,
  meter: number,
  amount: number | undefined,
  whole: Settled,
): Promise<number> | null {
  const outcome = charge.others === undefined ? whole : meterOutcome(whole, charge, decision, meter)
  const isKeyed = decision.once !== undefined
  if (amount === 0 && !isKeyed) {
    settled(observe, { ...outcome, tokens: 0 })
    return null
  }
  const made = isKeyed ? Promise.withResolvers<number>() : null
  ledger.refund({
    charge,
    decision,
    ...(meter > 0 && { meter }),
    ...(amount !== undefined && { amount }),
    onMade(tokens) {
      settled(observe, { ...outcome, tokens: 0 - tokens })
      made?.resolve(tokens)
    },
  })
  return made?.promise ?? null
}

/** The report on one meter of a charge with several. */
function meterOutcome(whole: Settled, charge: Charge, decision: Decision, meter: number): Settled {
  const of = {
    charge: metersOf(charge)[meter] as Charge,
    decision: refundedMeter({ charge, decision, meter }).decision,
  }
  return { ...whole, ...of, ...(meter > 0 && { isFurther: true }) }
}
