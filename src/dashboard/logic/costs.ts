import type { Rule } from './route-usage.ts'

/** What requests of a category cost, by the route map. Pure. */

/** A route and what a request to it costs in tokens. */
export interface RouteCost {
  readonly match: string
  readonly cost: number
}

export interface Costs {
  /** The least that a request of the category costs, above 0. */
  readonly least: number
  /** Of the routes the one whose requests cost most. */
  readonly dearest: RouteCost
}

/** By category, without routes in shadow, which refuse nobody. A category of which no request costs anything is not among them. */
export function costsOf(rules: readonly Rule[]): ReadonlyMap<string, Costs> {
  const all = new Map<string, Costs>()
  for (const { match, category, cost, costs, shadow } of rules) {
    if (category === null || shadow) continue
    for (const each of [...(cost === null ? [] : [cost]), ...Object.values(costs ?? {})]) {
      if (each > 0) all.set(category, withCost(all.get(category), { match, cost: each }))
    }
  }
  return all
}

function withCost(before: Costs | undefined, one: RouteCost): Costs {
  if (before === undefined) return { least: one.cost, dearest: one }
  return {
    least: Math.min(before.least, one.cost),
    dearest: one.cost > before.dearest.cost ? one : before.dearest,
  }
}
