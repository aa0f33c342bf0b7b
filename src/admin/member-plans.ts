import { inSteps, planIn } from '../control/in-steps.ts'
import type { InTurn } from '../lib/serialize.ts'
import { memberOf, type Payer, type Policy } from '../quota/policy.ts'
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
 * The plans of the members of organisations, each as a payer of the organisation with the day that was last named. The store remembers
 * only the last plan for an organisation, so all users are looked through. This happens at most once for a response, and only if an
 * organisation's windows refuse under one plan and not under another.
 */
export class MemberPlans {
  readonly #desk: Desk
  readonly #view: View
  readonly #turn: Turn
  #found: Promise<ReadonlyMap<string, ReadonlySet<string | null>>> | null = null

  constructor(desk: Desk, view: View, turn: Turn) {
    this.#desk = desk
    this.#view = view
    this.#turn = turn
  }

  /**
   * The members with whom it can be judged whether each organisation is blocked.
   * @param last a member of each, with the plan that was last named
   * @throws StoreError, or the reason of the signal
   */
  async of(organisations: readonly Used[], last: readonly Payer[], at: number): Promise<readonly (readonly Payer[])[]> {
    const doesMatter = organisations.some((each, i) => this.#doesMatter(each, last[i] ?? memberOf(each.id), at))
    return doesMatter ? this.all(last) : last.map((member) => [member])
  }

  /** @throws StoreError, or the reason of the signal */
  async all(last: readonly Payer[]): Promise<readonly (readonly Payer[])[]> {
    if (this.#view.policy.plans.length === 0) return last.map((member) => [member])
    this.#found ??= this.#look()
    const found = await this.#found
    return last.map((member) =>
      [...new Set([member.plan, ...(found.get(member.organisation ?? '') ?? [])])].map((plan) => ({ ...member, plan })),
    )
  }

  #doesMatter({ counters }: Used, last: Payer, at: number): boolean {
    const { policy, setup, shadow } = this.#view
    const members = [null, ...policy.plans].map((plan) => ({ ...last, plan }))
    const blocked = organisationBlocks({ policy, cheapest: setup.cheapest, shadow }, members, counters, at).length
    return blocked > 0 && blocked < members.length
  }

  async #look(): Promise<ReadonlyMap<string, ReadonlySet<string | null>>> {
    const { policy, state } = this.#view
    const { inTurn, signal } = this.#turn
    const found = new Map<string, Set<string | null>>()
    const steps = inSteps({ windows: policy.windowsOfAnybody, signal }, state.overrides.keys(), (cursor) =>
      inTurn(() => this.#desk.store.scanUsers(cursor)),
    )
    for await (const { owners } of steps) {
      for (const payer of await this.#desk.payersOf(owners.map(({ id }) => id))) {
        if (payer.organisation === null) continue
        const plans = found.get(payer.organisation) ?? new Set<string | null>()
        found.set(payer.organisation, plans.add(planIn(policy, payer)))
      }
    }
    return found
  }
}

/**
 * The limits for an organisation's windows. If the plan that was last named limits none, another user may have a plan that does.
 * Then the highest limit of all plans counts.
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
