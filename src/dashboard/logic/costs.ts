import type { Rule } from './route-usage.ts'

/** What requests cost, by the route map. Pure. */

export type AskedPrice = NonNullable<Rule['price']>

/** The lowest and the highest cost under a price. An array of up to `batch` elements costs their sum. */
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
