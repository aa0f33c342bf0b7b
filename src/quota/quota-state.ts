import { structuredText } from '../lib/structured-text.ts'
import type { Charge, Decision, Meter } from './charge.ts'
import { hasPayer, SCOPE_NAMES } from './charged-scopes.ts'
import { endOf, type Limit, NOT_RUNNING, promised, resetAt, type Usage } from './window.ts'

/** What client and upstream learn about a request that passes: whether it keeps within the promised limits, and what is left of them. Pure. */

/** `over`: the request passes beyond a soft limit. `shadow`: it would have been refused. */
export type QuotaState = 'within' | 'over' | 'shadow'

/**
 * Whether an accepted charge goes beyond what was promised in some window of some meter. Every accepted request asks this, so it allocates
 * nothing.
 * @param beyond tokens that the first meter cost more than the decision has counted, below 0 if it cost less
 * @param beyondOthers the same for each of the further meters. Default none
 */
export function isOver(
  { limits: own, others }: Charge,
  decision: Decision,
  beyond = 0,
  beyondOthers: readonly number[] = NOTHING_BEYOND,
): boolean {
  const limits = decision.limits ?? own
  const { paidBy } = decision
  if (!hasPayer(paidBy, 'personal') && isOverIn(limits.personal, decision.personal, beyond)) return true
  const theirs = hasPayer(paidBy, 'organisation') ? null : limits.organisation
  if (theirs !== null && isOverIn(theirs, decision.organisation ?? [], beyond)) return true
  if (limits.global !== null && isOverIn(limits.global, decision.global ?? [], beyond)) return true
  if (others === undefined) return false
  for (let i = 0; i < others.length; i++) {
    if (isOver(others[i] as Meter, decision.others?.[i] as Decision, beyondOthers[i])) return true
  }
  return false
}

/** The value of `beyondOthers` for a charge without further meters. It is one object, because every accepted request uses it. */
export const NOTHING_BEYOND: readonly number[] = []

function isOverIn(limits: readonly Limit[], usages: readonly Usage[], beyond: number): boolean {
  for (let i = 0; i < limits.length; i++) {
    const limit = limits[i] as Limit
    if (limit.over !== undefined && (usages[i]?.used ?? 0) + beyond > promised(limit)) return true
  }
  return false
}

/**
 * How many tokens of an accepted charge are beyond what was promised. The last tokens of a charge are beyond first, so tokens that are
 * beyond several windows count once.
 * @param cost what the charge cost in the end
 * @returns 0 to `cost`, for this meter only. 0 for a repetition, and for a decision of an outage allowance
 */
export function overTokens(charge: Meter, decision: Decision, cost: number): number {
  if (decision.limits !== undefined || decision.once?.kind === 'replayed') return 0
  let most = 0
  for (const scope of SCOPE_NAMES) {
    const limits = charge.limits[scope]
    if (limits === null || hasPayer(decision.paidBy, scope)) continue
    for (let i = 0; i < limits.length; i++) {
      const limit = limits[i] as Limit
      const used = decision[scope]?.[i]?.used
      if (limit.over === undefined || used === undefined) continue
      most = Math.max(most, used - charge.cost + cost - promised(limit))
    }
  }
  return Math.min(most, cost)
}

/** The window with the fewest tokens left. */
export interface Tightest {
  readonly category: string
  readonly limit: number
  /** Tokens left of what was promised, never below 0. */
  readonly remaining: number
  /** Whole seconds until the window is empty again, rounded up. */
  readonly resetSeconds: number
}

/**
 * The window with the fewest tokens left among all windows of all meters. Of several such windows it is the one that stays so longest.
 * `null` if nothing limits the charge.
 * @param beyond, beyondOthers as of `isOver`
 */
export function tightestOf(
  charge: Charge,
  decision: Decision,
  beyond = 0,
  beyondOthers: readonly number[] = NOTHING_BEYOND,
): Tightest | null {
  let tightest = tightestOfMeter(charge, decision, beyond, null)
  charge.others?.forEach((meter, i) => {
    tightest = tightestOfMeter(meter, decision.others?.[i] as Decision, beyondOthers[i] ?? 0, tightest)
  })
  return tightest
}

function tightestOfMeter(
  { category, limits: own }: Meter,
  decision: Decision,
  beyond: number,
  before: Tightest | null,
): Tightest | null {
  const limits = decision.limits ?? own
  let tightest = before
  for (const scope of SCOPE_NAMES) {
    for (const [i, limit] of (limits[scope] ?? []).entries()) {
      const usage = decision[scope]?.[i] ?? NOT_RUNNING
      const remaining = Math.max(0, promised(limit) - usage.used - beyond)
      const end = usage.startedAt === 0 ? endOf(limit.window, decision.at) : resetAt(usage, limit.window)
      const resetSeconds = Math.max(0, Math.ceil((end - decision.at) / 1000))
      if (tightest === null || isTighter({ remaining, resetSeconds }, tightest)) {
        tightest = { category, limit: promised(limit), remaining, resetSeconds }
      }
    }
  }
  return tightest
}

type Left = Pick<Tightest, 'remaining' | 'resetSeconds'>

function isTighter(a: Left, b: Left): boolean {
  return a.remaining === b.remaining ? a.resetSeconds > b.resetSeconds : a.remaining < b.remaining
}

/** The header fields from before the standard, which many clients know. */
export function legacyFields({ limit, remaining, resetSeconds }: Omit<Tightest, 'category'>): string[] {
  return [
    'X-RateLimit-Limit',
    String(limit),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    String(resetSeconds),
  ]
}

/**
 * The field for the upstream, a dictionary of RFC 9651: `state=over, category="read", remaining=0, reset=3540, plan="pro"`.
 * `category`, `remaining` and `reset` come from the tightest window.
 * @param decision `null` if there was no decision
 * @param plan of the caller; `null` for none
 */
export function quotaField(state: QuotaState, charge: Charge, decision: Decision | null, plan: string | null): string {
  const tightest = decision === null ? null : tightestOf(charge, decision)
  const left = tightest === null ? '' : `, remaining=${tightest.remaining}, reset=${tightest.resetSeconds}`
  const whose = plan === null ? '' : `, plan=${structuredText(plan)}`
  return `state=${state}, category=${structuredText(tightest?.category ?? charge.category)}${left}${whose}`
}
