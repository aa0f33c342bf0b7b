import type { Charge, Decision, Meter } from './charge.ts'
import { decisionsOf, metersOf } from './charge.ts'
import { grantsIn, SCOPE_NAMES, type ScopeName } from './charged-scopes.ts'
import { accountOf, isAccount, pays } from './grant.ts'
import type { Payer } from './payer.ts'
import type { Policy } from './policy.ts'
import { neverFits, violations } from './refusal.ts'
import { NOT_RUNNING, type Usage, usageAt, type Window } from './window.ts'

/**
 * How limits will change at moments that are already known. If a limit ends before the window does, callers have room again when the
 * limit ends. 429s, `explain`, pages, previews and `/me/quota` all read these changes here.
 */
export interface Ahead {
  /** Whether limits may also rise at moments that nobody knows, as they may in mode `adaptive`. */
  readonly canRise: boolean
  /** The moments after `at` at which limits of the caller may change, in milliseconds since the epoch, the next one first. */
  moments(payer: Payer, at: number): readonly number[]
  /** What will be in force for this caller from a moment on. The result is wrong for any other caller. */
  at(payer: Payer, moment: number): Then
}

/** What will be in force at a moment. */
export interface Then {
  readonly policy: Policy
  readonly shadow: boolean
}

/** How many of the next moments are looked at for one caller. */
const MOST_MOMENTS = 8

/**
 * The first moment before `until` at which a change of limits gives a caller room; `null` if there is none.
 * @param at the store's time
 * @param until when the windows end; infinite if the charge has no room even then
 * @param hasRoom whether the windows have room under the limits of a moment. It is not called for a moment in shadow
 * mode
 */
export function freeFrom(
  ahead: Ahead,
  payer: Payer,
  at: number,
  until: number,
  hasRoom: (policy: Policy, moment: number) => boolean,
): number | null {
  let looked = 0
  for (const moment of ahead.moments(payer, at)) {
    if (moment >= until || looked++ === MOST_MOMENTS) return null
    const { policy, shadow } = ahead.at(payer, moment)
    if (shadow || policy.isShadowed(payer.user) || hasRoom(policy, moment)) return moment
  }
  return null
}

/** Calls `freeFrom` for a refused charge, with the time of its refusal. `null` also if the share of an outage allowance refused it. */
export function roomFrom(ahead: Ahead, payer: Payer, charge: Charge, decision: Decision): number | null {
  if (decision.limits !== undefined || ahead.moments(payer, decision.at).length === 0) return null
  const [worst] = violations(charge, decision)
  if (worst === undefined) return null
  const until = neverFits(charge, decision) === null ? worst.resetAt : Number.POSITIVE_INFINITY
  const decisions = decisionsOf(decision)
  return freeFrom(ahead, payer, decision.at, until, (policy, moment) =>
    metersOf(charge).every((meter, i) =>
      hasRoom(policy, payer, meter, moment, usagesIn(meter, decisions[i] as Decision)),
    ),
  )
}

/** The usage of one window in a category or in the account of a grant; `null` if it is unknown. */
type Usages = (scope: ScopeName, counted: string, window: Window) => Usage | null

/** Whether a cost has room at a moment: in each scope in all windows, or in a grant that pays in their place. */
export function hasRoom(
  policy: Policy,
  payer: Payer,
  { category, cost }: Pick<Meter, 'category' | 'cost'>,
  moment: number,
  usages: Usages,
): boolean {
  const limits = policy.limitsFor(category, payer)
  const used = (scope: ScopeName, counted: string, window: Window) => {
    const usage = usages(scope, counted, window)
    return usage === null ? Number.POSITIVE_INFINITY : usageAt(usage, window, moment).used
  }
  return SCOPE_NAMES.every(
    (scope) =>
      (limits[scope] ?? []).every(({ window, limit }) => used(scope, category, window) + cost <= limit) ||
      grantsIn(limits.grants, scope).some((grant) =>
        pays(grant, used(scope, accountOf(grant.id), grant.window), cost, moment),
      ),
  )
}

/** A refusal says what is used in the windows of its charge, and in the grant of each scope that would have paid. */
function usagesIn({ limits }: Meter, decision: Decision): Usages {
  return (scope, counted, window) => {
    if (isAccount(counted)) {
      const paid = scope === 'global' ? null : (decision.paidBy?.[scope] ?? null)
      return paid !== null && accountOf(paid.grant.id) === counted ? paid : null
    }
    const i = (limits[scope] ?? []).findIndex((limit) => limit.window.seconds === window.seconds)
    return i < 0 ? null : (decision[scope]?.[i] ?? NOT_RUNNING)
  }
}

/** For a gateway in which no limit begins or ends by itself. */
export const NOTHING_AHEAD: Ahead = {
  canRise: false,
  moments: () => [],
  at() {
    throw new Error('there is no moment ahead')
  },
}
