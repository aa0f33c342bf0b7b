import type { Watch } from '../alerts/watch.ts'
import type { Caller } from '../auth/authenticator.ts'
import { isVerified } from '../auth/verdict.ts'
import { overloaded } from '../edge/denials.ts'
import { type Denial, isDenial } from '../errors.ts'
import type { Charge, Decision, ScopeName } from '../quota/charge.ts'
import type { KnownUsers } from '../quota/known-users.ts'
import { type Ledger, LedgerFull } from '../quota/ledger/ledger-contract.ts'
import type { Once } from '../quota/once.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import { StoreError } from '../quota/quota-store.ts'
import { type Scope, violations } from '../quota/refusal.ts'
import { isOfReserve } from '../quota/reserve.ts'
import { keyReused, type Refusal, refusalOf, storeUnavailable } from './responses.ts'
import type { Route, Rules } from './snapshot.ts'

/** What came of asking the quota for the tokens of a request. */
export type Settlement =
  /** They are taken. */
  | { readonly kind: 'charged'; readonly charge: Charge; readonly decision: Decision }
  /** They were taken for the request that this one repeats. */
  | { readonly kind: 'replayed'; readonly charge: Charge; readonly decision: Decision }
  | { readonly kind: 'refused'; readonly charge: Charge; readonly decision: Decision; readonly refusal: Refusal }
  /** They are not taken, and the request is let through. `decision` is `null` if the store did not decide. */
  | { readonly kind: 'shadowed'; readonly charge: Charge; readonly decision: Decision | null }

/** Who pays how much, by which configuration. */
export interface Order {
  readonly rules: Rules
  readonly route: Route
  readonly caller: Payer & Pick<Caller, 'kind'>
  readonly category: string
  /** At least 1. */
  readonly cost: number
  /** By what repetitions are known; `null` if each is charged. */
  readonly once: Once | null
  /** Of the request, for the form of a 429. */
  readonly accept: string | undefined
}

/** Who charges, who remembers whom, and who notices that a window fills up. */
export interface Charging {
  readonly ledger: Pick<Ledger, 'charge'>
  readonly knownUsers: Pick<KnownUsers, 'note' | 'lookUp'>
  readonly alerts: Watch
}

/** Asks the ledger. @returns a denial if nobody decided, or the key is that of another request, and the request is not in shadow */
export async function chargeOrder(charging: Charging, order: Order): Promise<Settlement | Denial> {
  const { ledger, knownUsers, alerts } = charging
  const { rules, route, caller, category, cost, once } = order
  const { user } = caller
  const policy = rules.policy()
  const limits = policy.limitsFor(category, caller)
  const organisation = limits.organisation === null ? null : caller.organisation
  const base = { user, organisation, category, cost, limits }
  const charge: Charge = once === null ? base : { ...base, once }
  const decision = await ledger.charge(charge).catch(undecided)
  const isDecided = !isDenial(decision)
  if (isDecided) alerts.note(charge, decision, isVerified(caller))
  if (isDecided && decision.accepted) {
    knownUsers.note(user)
    return { kind: decision.once?.kind === 'replayed' ? 'replayed' : 'charged', charge, decision }
  }
  const isReused = isDecided && decision.once?.kind === 'reused'
  // A known user whom this process has not met counts as new, and would be refused what is kept for known ones. The second charge is the
  // last one: a user who was looked up is not looked up again.
  if (isDecided && !isReused && isOfReserve(charge, decision) && (await knownUsers.lookUp(user))) {
    return chargeOrder(charging, order)
  }
  if (isShadowed(rules, route, user, policy)) return { kind: 'shadowed', charge, decision: isDecided ? decision : null }
  if (!isDecided) return decision
  if (isReused && route.repetition !== null) return keyReused(route.repetition)
  return { kind: 'refused', charge, decision, refusal: refusalOf(charge, decision, rules, order.accept) }
}

/** What the client gets if the ledger could not decide. @throws what is a fault of ours */
export function undecided(error: unknown): Denial {
  if (error instanceof LedgerFull) return overloaded('charges')
  if (error instanceof StoreError) return storeUnavailable(error)
  throw error
}

/** Whether a refusal of the quota is only counted and reported: everywhere, on this route, or for this user. */
export function isShadowed(rules: Rules, route: Route, user: string, policy: Policy): boolean {
  return rules.shadow() || route.shadow || policy.isShadowed(user)
}

/** The scope of the window that a 429 would have named; `store` if the store did not decide, `key` if that is of another request. */
export function shadowScopeOf(charge: Charge, decision: Decision | null): ScopeName | 'store' | 'key' {
  if (decision?.once?.kind === 'reused') return 'key'
  const [worst] = decision === null ? [] : violations(charge, decision)
  return worst === undefined ? 'store' : SCOPES[worst.scope]
}

export const SCOPES = {
  Personal: 'personal',
  Organisation: 'organisation',
  Global: 'global',
} as const satisfies Record<Scope, ScopeName>
