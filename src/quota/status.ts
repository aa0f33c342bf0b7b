import { type Ahead, freeFrom, NOTHING_AHEAD } from './ahead.ts'
import { SCOPE_NAMES, type ScopeName } from './charged-scopes.ts'
import { type Counter, usageOf } from './counter.ts'
import { accountOf } from './grant.ts'
import type { Payer, Policy } from './policy.ts'
import type { UsageSnapshot } from './quota-store.ts'
import { overOf, SCOPE_TITLES, type Scope } from './refusal.ts'
import { type CountersOf, countersIn } from './standing.ts'
import { beginOf, endOf, type Limit, NOT_RUNNING, promised } from './window.ts'

/** One entry of `GET /me/quota`. */
export interface WindowStatus {
  readonly scope: Scope
  readonly window: string
  readonly limit: number
  /** Tokens that pass beyond the limit. Only a soft limit has them. */
  readonly over?: number
  readonly used: number
  /** What is left of the limit. It is never below 0, even if more was used. */
  readonly remaining: number
  /** ISO 8601 UTC; `null` for a window that is not running. A calendar window always runs. */
  readonly startedAt: string | null
  readonly resetAt: string | null
}

/** A window of all users together. */
export interface SharedWindowStatus extends WindowStatus {
  /** The limit for new users, if a part of it is kept for known users. */
  readonly limitOfNewUsers?: number
}

/** Windows of all users together, by category. */
export type WindowStatuses = Readonly<Record<string, readonly SharedWindowStatus[]>>

/** The body of `GET /me/quota`: entries by category, Personal first, then Organisation, shortest window first. */
export interface QuotaStatus {
  /** The caller's plan; `null` for none. Only present if the configuration has plans. */
  readonly plan?: string | null
  /** Whether nothing is charged to the caller. Only present if so. */
  readonly exempt?: true
  readonly windows: Readonly<Record<string, readonly WindowStatus[]>>
  /** The grants that pay where windows have no room. Only present if there are any. */
  readonly grants?: readonly GrantStatus[]
}

/** The present state of a grant. */
export interface GrantStatus {
  readonly id: string
  readonly scope: Scope
  readonly category: string
  readonly tokens: number
  /** More than `tokens` only if a request cost more than its reserve. */
  readonly taken: number
  readonly left: number
  /** ISO 8601 UTC. */
  readonly until: string
}

/**
 * The state of each of a user's windows. If nothing is left, `resetAt` is when the window has room again, as in a 429.
 * @param snapshot of the user, read for exactly `policy.countedOf`, in that order
 * @param ahead default nothing
 */
export function quotaStatus(
  policy: Policy,
  snapshot: UsageSnapshot,
  payer: Payer,
  ahead: Ahead = NOTHING_AHEAD,
): QuotaStatus {
  const plan = policy.planOf(payer)
  return {
    ...(plan !== null && { plan: plan.name }),
    windows: byCategory(policy, (category, i) => {
      const limits = policy.limitsFor(category, payer)
      return SCOPE_NAMES.flatMap((scope) => {
        const counter = snapshot[scope]?.[i]
        return (limits[scope] ?? []).map((limit) => {
          const status = windowStatus(scope, limit, counter, snapshot.at)
          return status.remaining > 0
            ? status
            : freeSooner(status, { ahead, payer, category, scope, counter }, snapshot.at)
        })
      })
    }),
    ...grantsShown(policy, countersIn(policy.countedOf(payer), snapshot), payer, snapshot.at),
  }
}

/** The present state of a caller's grants that pay; nothing if there are none. */
export function grantsShown(
  policy: Policy,
  counters: CountersOf,
  payer: Payer,
  at: number,
): Pick<QuotaStatus, 'grants'> {
  const grants = policy.grantsOf(payer)
  if (grants.length === 0) return {}
  return {
    grants: grants.map(({ scope, category, grant: { id, window, limit: tokens, until } }) => {
      const { used: taken } = usageOf(counters[scope](accountOf(id)) ?? [], window, at)
      return grantStatus(scope, { id, category, tokens, until }, taken)
    }),
  }
}

interface Given extends Pick<GrantStatus, 'id' | 'category' | 'tokens'> {
  /** When the grant ends or has ended, in milliseconds since the epoch. */
  readonly until: number
}

/** A grant as its caller sees it. */
export function grantStatus(scope: ScopeName, { id, category, tokens, until }: Given, taken: number): GrantStatus {
  const left = Math.max(0, tokens - taken)
  return { id, scope: SCOPE_TITLES[scope], category, tokens, taken, left, until: new Date(until).toISOString() }
}

interface Whose {
  readonly ahead: Ahead
  readonly payer: Payer
  readonly category: string
  readonly scope: ScopeName
  readonly counter: Counter | undefined
}

/** Corrects `resetAt` of a running window whose limit may end before it. */
function freeSooner(status: WindowStatus, { ahead, payer, category, scope, counter }: Whose, at: number): WindowStatus {
  if (status.resetAt === null) return status
  const moment = freeFrom(ahead, payer, at, Date.parse(status.resetAt), (policy, then) => {
    const limit = policy.limitsFor(category, payer)[scope]?.find(({ window }) => window.name === status.window)
    return limit === undefined || usageOf(counter ?? [], limit.window, then).used < promised(limit)
  })
  return moment === null ? status : { ...status, resetAt: new Date(moment).toISOString() }
}

/**
 * The windows of all users together, by category. The lists are empty if the global scope is switched off.
 * @param snapshot read for any user, with `policy.categories` first and in their order
 */
export function globalStatus(policy: Policy, snapshot: Pick<UsageSnapshot, 'at' | 'global'>): WindowStatuses {
  return byCategory(policy, (category, i) => {
    const { global: ofNewcomers } = policy.limitsOfNewcomers(category)
    return (policy.limitsOf(category).global ?? []).map((limit, j) => ({
      ...windowStatus('global', limit, snapshot.global[i], snapshot.at),
      ...limitOfNewUsers(ofNewcomers?.[j]),
    }))
  })
}

function limitOfNewUsers(limit: Limit | undefined): Pick<SharedWindowStatus, 'limitOfNewUsers'> {
  return limit?.kept === undefined ? {} : { limitOfNewUsers: promised(limit) }
}

function byCategory<T>({ categories }: Policy, of: (category: string, i: number) => T): Record<string, T> {
  const result: Record<string, T> = Object.create(null)
  categories.forEach((category, i) => {
    result[category] = of(category, i)
  })
  return result
}

/** The status of one window. @param at the store's time of the reading */
export function windowStatus(scope: ScopeName, limit: Limit, counter: Counter | undefined, at: number): WindowStatus {
  const { window } = limit
  const whole = promised(limit)
  const usage = usageOf(counter ?? [], window, at)
  // A calendar window runs even without a charge.
  const runs = usage !== NOT_RUNNING || window.calendar !== undefined
  const startedAt = beginOf(window, usage === NOT_RUNNING ? at : usage.startedAt)
  return {
    scope: SCOPE_TITLES[scope],
    window: window.name,
    limit: whole,
    ...overOf(limit),
    used: usage.used,
    remaining: Math.max(0, whole - usage.used),
    startedAt: runs ? new Date(startedAt).toISOString() : null,
    resetAt: runs ? new Date(endOf(window, startedAt)).toISOString() : null,
  }
}

/** The limits of users without an override, as plain JSON by category and window name. */
export interface LimitsInForce {
  readonly personal: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Has no categories if the global scope is switched off. */
  readonly global: Readonly<Record<string, Readonly<Record<string, number>>>>
}

const rows = (limits: readonly Limit[]) =>
  Object.fromEntries(limits.map((limit) => [limit.window.name, promised(limit)]))

/** The limits of each plan as plain JSON. A category that a plan does not limit for organisations is left out. */
export function plansInForce(policy: Policy) {
  const of = (plan: string, scope: 'personal' | 'organisation') =>
    Object.fromEntries(
      policy.categories.flatMap((category) => {
        const limits = policy.limitsOf(category, plan)[scope]
        return limits === null ? [] : [[category, rows(limits)]]
      }),
    )
  return Object.fromEntries(
    policy.plans.map((plan) => [plan, { personal: of(plan, 'personal'), organisation: of(plan, 'organisation') }]),
  )
}

/** Includes the limits of plans, if there are any. */
export interface EffectiveLimits extends LimitsInForce {
  readonly plans?: ReturnType<typeof plansInForce>
}

export function effectiveLimits(policy: Policy): EffectiveLimits {
  return { ...limitsInForce(policy), ...(policy.plans.length > 0 && { plans: plansInForce(policy) }) }
}

export function limitsInForce(policy: Policy): LimitsInForce {
  return byScope(policy, rows)
}

/** The tokens that pass beyond these limits. Windows without such tokens are left out. `null` if there are none at all. */
export function overInForce(policy: Policy): LimitsInForce | null {
  const isSoft = ({ over }: Limit): boolean => over !== undefined
  const found = byScope(policy, (limits) =>
    Object.fromEntries(limits.filter(isSoft).map(({ window, over = 0 }) => [window.name, over])),
  )
  const all = [found.personal, found.global].flatMap((table) => Object.values(table))
  return all.some((row) => Object.keys(row).length > 0) ? found : null
}

function byScope(policy: Policy, rowsOf: typeof rows): LimitsInForce {
  const each = policy.categories.map((category) => ({ category, ...policy.limitsOf(category) }))
  return {
    personal: Object.fromEntries(each.map(({ category, personal }) => [category, rowsOf(personal)])),
    global: Object.fromEntries(
      each.flatMap(({ category, global }) => (global === null ? [] : [[category, rowsOf(global)]])),
    ),
  }
}
