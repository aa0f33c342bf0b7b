import type { Rule } from './route-usage.ts'

/** What requests of a category cost, by the route map. Pure. */

export type AskedPrice = NonNullable<Rule['price']>

/**
 * By category the least that a request costs, above 0, without routes in shadow, which refuse nobody. A category of which no request
 * costs anything is not among them.
 */
export function cheapestOf(rules: readonly Rule[]): ReadonlyMap<string, number> {
  const all = new Map<string, number>()
  for (const { others = [], shadow, ...first } of rules) {
    if (shadow) continue
    for (const { category, cost, price } of [first, ...others]) {
      if (category === null) continue
      for (const each of amountsOf(cost ?? price ?? 0)) {
        if (each > 0) all.set(category, Math.min(each, all.get(category) ?? each))
      }
    }
  }
  return all
}

/** The least and the most that a request may cost by a price, of which an array costs the sum of its elements. */
export function rangeOf(price: number | AskedPrice): { readonly least: number; readonly most: number } {
  if (typeof price === 'number') return { least: price, most: price }
  const { values, min, max, missing, otherwise, batch = 1 } = price
  const inner = Object.values(values ?? {}).map(rangeOf)
  const own = [min, max, missing, otherwise].filter((each) => each !== undefined)
  return {
    least: Math.min(...own, ...inner.map(({ least }) => least)),
    most: Math.max(...own, ...inner.map(({ most }) => most)) * batch,
  }
}

/** What a price may come to, the least of it among them. */
function amountsOf(price: number | AskedPrice): number[] {
  if (typeof price === 'number') return [price]
  const { values, min, missing, otherwise } = price
  return [...Object.values(values ?? {}).flatMap(amountsOf), min, missing, otherwise].filter(
    (each) => each !== undefined,
  )
}
