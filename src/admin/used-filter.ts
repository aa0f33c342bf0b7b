import { z } from 'zod'
import type { Used } from '../quota/quota-store.ts'
import type { FieldProblem } from './http.ts'

/** The filters of a list of users or organisations. */

/** A parameter that is either there or not. @param without what the list contains without it */
export function only(description: string, without = 'all') {
  return z
    .literal('true', { error: `must be true; leave it out for ${without}` })
    .transform(() => true)
    .default(false)
    .describe(description)
}

/** What determines the limits of an owner. */
export interface Entitlement {
  /** The plan in force; `null` for none. */
  readonly plan: string | null
  /** The organisation that a user's credential last named. */
  readonly organisation?: string | null
  /** Whether the quota refuses the owner now. */
  readonly isBlocked: (used: Used, at: number) => boolean
}

/** For owners of whom nothing is known. */
export const NO_ENTITLEMENT: Entitlement = { plan: null, isBlocked: () => false }

/** The parameters that filter both lists. */
export const filterFields = {
  near: only('Only users who have used 80 % or more of one of their limits. It needs an order'),
  refused: only('Only users to whom the quota refused a request in the last 24 hours. It needs an order'),
  blocked: only(
    'Only users whom the quota refuses now, so that even the cheapest request of some category would get a 429',
  ),
  override: only('Only those that have an override'),
  plan: z
    .string({ error: 'must be given once' })
    .max(512, { error: 'must have at most 512 characters' })
    .optional()
    .describe('Only users who have the limits of this plan, one of `quota.plans`'),
}

export interface FilterFields {
  readonly blocked: boolean
  readonly override: boolean
  readonly plan?: string | undefined
  /** Only users of this organisation. */
  readonly organisation?: string | undefined
  /** Only owners that an override puts into shadow mode. */
  readonly shadow?: boolean
  /** Only owners to whom nothing is charged. */
  readonly exempt?: boolean
  readonly near?: boolean
  readonly refused?: boolean
}

/** What a filter has to know about the owners in a list. */
export interface Filtered {
  readonly overrides: ReadonlyMap<string, unknown>
  /** Whether an override puts the owner into shadow mode. */
  readonly isShadowed: (id: string) => boolean
  /** In the order of the configuration. */
  readonly plans: readonly string[]
  readonly categories: readonly string[]
}

export interface UsedFilter {
  /** Decides by the id alone. */
  readonly hasId: (id: string) => boolean
  /** Whether only owners with an override can match. */
  readonly needsOverride: boolean
  /** Decides by usage and plan; `null` if everybody matches. */
  readonly fits: ((used: Used, entitlement: Entitlement, at: number) => boolean) | null
}

/** @returns what is wrong with the plan, if it is not configured */
export function filterOf(
  { blocked, override, plan, organisation, shadow = false, ...marks }: FilterFields,
  { overrides, isShadowed, plans }: Filtered,
): UsedFilter | { readonly problems: readonly FieldProblem[] } {
  const problem = planProblem(plan, plans) ?? markProblem(marks)
  if (problem !== null) return { problems: [problem] }
  const needsOverride = override || shadow
  return {
    hasId: (id) => (!needsOverride || overrides.has(id)) && (!shadow || isShadowed(id)),
    needsOverride,
    fits:
      blocked || plan !== undefined || organisation !== undefined
        ? (used, entitlement, at) =>
            (plan === undefined || entitlement.plan === plan) &&
            (organisation === undefined || entitlement.organisation === organisation) &&
            (!blocked || entitlement.isBlocked(used, at))
        : null,
  }
}

/** @returns what is wrong with the plan; `null` for nothing */
export function planProblem(plan: string | undefined, plans: readonly string[]): FieldProblem | null {
  return plan === undefined || plans.includes(plan) ? null : { path: 'plan', msg: planCure(plans) }
}

/** Only a search through everybody can tell who has these marks. */
function markProblem(marks: Pick<FilterFields, 'near' | 'refused' | 'exempt'>): FieldProblem | null {
  const path = (['near', 'refused', 'exempt'] as const).find((name) => marks[name])
  return path === undefined ? null : { path, msg: 'needs an order, such as order=use' }
}

function planCure(plans: readonly string[]): string {
  if (plans.length === 0) return 'is for a configuration with quota.plans: leave it out'
  const shown = plans.slice(0, 20).join(', ')
  return `must be one of ${shown}${plans.length > 20 ? `, … (${plans.length} plans)` : ''}`
}
