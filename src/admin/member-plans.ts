import { inSteps, planIn } from '../control/in-steps.ts'
import type { InTurn } from '../lib/serialize.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import type { Used } from '../quota/quota-store.ts'
import { organisationBlocks } from '../quota/standing.ts'
import type { Limit } from '../quota/window.ts'
import type { Desk } from './desk.ts'
import type { View } from './state.ts'

/** How to look through users for one response. */
export interface Turn {
  /** Shared by all searches, so that however many there are, their steps take turns. */
  readonly inTurn: InTurn
  readonly signal: AbortSignal
}

/**
 * One member of an organisation for each plan of its users, to judge whether the organisation is blocked. The store remembers only the plan
 * that was named last for the organisation. So all users are looked through if its windows refuse under one possible plan and not under
 * another. Otherwise the result is `last` alone.
 * @param last a member with the plan and the day that were named last
 * @throws StoreError, or the reason of the signal
 */
export async function membersOf(
  desk: Desk,
  view: View,
  { inTurn, signal }: Turn,
  { counters }: Used,
  last: Payer,
  at: number,
): Promise<readonly Payer[]> {
  const { policy, state, setup, shadow } = view
  const possible = [null, ...policy.plans].map((plan) => ({ ...last, plan }))
  const blocked = organisationBlocks({ policy, cheapest: setup.cheapest, shadow }, possible, counters, at).length
  if (blocked === 0 || blocked === possible.length) return [last]
  const plans = new Set([last.plan])
  const steps = inSteps({ windows: policy.windowsOfAnybody, signal }, state.overrides.keys(), (cursor) =>
    inTurn(() => desk.store.scanUsers(cursor)),
  )
  for await (const { owners } of steps) {
    for (const payer of await desk.payersOf(owners.map(({ id }) => id))) {
      if (payer.organisation === last.organisation) plans.add(planIn(policy, payer))
    }
  }
  return [...plans].map((plan) => ({ ...last, plan }))
}

/**
 * The limits for an organisation's windows. If the plan that was named last does not limit a window, the highest limit of all plans counts,
 * because another user may have such a plan.
 */
export function limitsOfMembers(policy: Policy, category: string, member: Payer): readonly Limit[] {
  const highest = new Map<string, Limit>()
  for (const plan of policy.plans) {
    for (const limit of policy.limitsFor(category, { ...member, plan }).organisation ?? []) {
      const known = highest.get(limit.window.name)
      if (known === undefined || known.limit < limit.limit) highest.set(limit.window.name, limit)
    }
  }
  for (const limit of policy.limitsFor(category, member).organisation ?? []) highest.set(limit.window.name, limit)
  return [...highest.values()]
}
