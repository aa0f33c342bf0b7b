import type { Limits } from '../quota/charge.ts'
import type { Policy } from '../quota/policy.ts'
import type { Limit } from '../quota/window.ts'

/** Whether a change makes a difference to anybody. */

/** What holds for everybody: limits, and whether refusals are only counted. */
export interface Ruled {
  readonly policy: Policy
  readonly shadow: boolean
}

/**
 * Whether nobody at all would notice a change, whoever comes: plans set the limits of everybody who has one, so a baseline that all of
 * them replace moves nobody.
 */
export function movesNobody(now: Ruled, next: Ruled): boolean {
  if (now.shadow !== next.shadow) return false
  const plans = [undefined, ...next.policy.plans]
  return next.policy.categories.every(
    (category) =>
      plans.every((plan) => sameLimits(now.policy.limitsOf(category, plan), next.policy.limitsOf(category, plan))) &&
      sameLimits(now.policy.limitsOfNewcomers(category), next.policy.limitsOfNewcomers(category)),
  )
}

export function sameLimits(a: Limits, b: Limits): boolean {
  return same(a.personal, b.personal) && same(a.organisation, b.organisation) && same(a.global, b.global)
}

function same(a: readonly Limit[] | null, b: readonly Limit[] | null): boolean {
  if (a === null || b === null || a.length !== b.length) return a === b
  return a.every(
    ({ window, limit, over }, i) => limit === b[i]?.limit && over === b[i]?.over && window.name === b[i]?.window.name,
  )
}
