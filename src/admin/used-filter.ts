import { z } from 'zod'
import { usageOf } from '../quota/counter.ts'
import { lacksRoom } from '../quota/window.ts'
import type { FieldProblem } from './http.ts'
import type { LimitsOf, Standing, Used } from './near-limit.ts'

/** Which users, or organisations, a list is to have. */

/** One that is either there or not. @param without what a list has without it */
export function only(description: string, without = 'all') {
  return z
    .literal('true', { error: `must be true; leave it out for ${without}` })
    .transform(() => true)
    .default(false)
    .meta({ description })
}

/** The parameters that filter both lists. */
export const filterFields = {
  blocked: only('Only those of whom a window has no room for the cheapest request of its category'),
  override: only('Only those with an override'),
  plan: z
    .string({ error: 'must be given once' })
    .max(512, { error: 'must have at most 512 characters' })
    .optional()
    .meta({ description: 'Only those whose limits are those of this plan, one of `quota.plans`' }),
}

export interface FilterWish {
  readonly blocked: boolean
  readonly override: boolean
  readonly plan?: string | undefined
  /** Only users of this organisation. */
  readonly organisation?: string | undefined
  /** Only those to whom an override of theirs refuses nothing. */
  readonly shadow?: boolean
}

/** What a filter has to know of those whom a list is of. */
export interface Filtered {
  readonly overrides: ReadonlyMap<string, unknown>
  /** To whom an override of theirs refuses nothing. */
  readonly isShadowed: (id: string) => boolean
  /** Of the configuration, in its order. */
  readonly plans: readonly string[]
  readonly categories: readonly string[]
  /** By category: the least that a request costs which the quota may refuse. */
  readonly cheapest: ReadonlyMap<string, number>
  /** To whom nothing is charged. */
  readonly exempt: ReadonlySet<string>
}

export interface UsedFilter {
  /** What the id decides alone. */
  readonly hasId: (id: string) => boolean
  /** Whether only those with an override can be among them. */
  readonly needsOverride: boolean
  /** What usage and plan decide; `null` for everybody. */
  readonly fits: ((used: Used, standing: Standing, at: number) => boolean) | null
}

/** @returns what is wrong with the plan, if the configuration lacks it */
export function filterOf(
  { blocked, override, plan, organisation, shadow = false }: FilterWish,
  { overrides, isShadowed, plans, categories, cheapest, exempt }: Filtered,
): UsedFilter | { readonly problems: readonly FieldProblem[] } {
  if (plan !== undefined && !plans.includes(plan)) return { problems: [{ path: 'plan', msg: planCure(plans) }] }
  const needsOverride = override || shadow
  const isBlocked = (used: Used, { limitsOf }: Standing, at: number): boolean =>
    !exempt.has(used.id) && categories.some((category) => isFull(used, category, limitsOf, cheapest.get(category), at))
  return {
    hasId: (id) => (!needsOverride || overrides.has(id)) && (!shadow || isShadowed(id)),
    needsOverride,
    fits:
      blocked || plan !== undefined || organisation !== undefined
        ? (used, standing, at) =>
            (plan === undefined || standing.plan === plan) &&
            (organisation === undefined || standing.organisation === organisation) &&
            (!blocked || isBlocked(used, standing, at))
        : null,
  }
}

function planCure(plans: readonly string[]): string {
  if (plans.length === 0) return 'is for a configuration with quota.plans: leave it out'
  const shown = plans.slice(0, 20).join(', ')
  return `must be one of ${shown}${plans.length > 20 ? `, … (${plans.length} plans)` : ''}`
}

/** @param cost of the cheapest request of the category; `undefined` if the quota refuses none */
function isFull(
  { counters }: Used,
  category: string,
  limitsOf: LimitsOf,
  cost: number | undefined,
  at: number,
): boolean {
  return (limitsOf(category) ?? []).some(({ window, limit }) => {
    return lacksRoom({ used: usageOf(counters.get(category) ?? [], window, at).used, limit }, cost)
  })
}
