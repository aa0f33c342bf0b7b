import type { Rule } from './route-usage.ts'

/** What requests of a category cost, by the route map. Pure. */

/**
 * By category the least that a request costs, above 0, without routes in shadow, which refuse nobody. A category of which no request
 * costs anything is not among them.
 */
export function cheapestOf(rules: readonly Rule[]): ReadonlyMap<string, number> {
  const all = new Map<string, number>()
  for (const { category, cost, costs, shadow } of rules) {
    if (category === null || shadow) continue
    for (const each of [...(cost === null ? [] : [cost]), ...Object.values(costs ?? {})]) {
      if (each > 0) all.set(category, Math.min(each, all.get(category) ?? each))
    }
  }
  return all
}
