import { pathOfNames } from '../lib/json-path.ts'

/** What a request costs. */
export type Price = FixedPrice | AskedPrice

export interface FixedPrice {
  readonly kind: 'fixed'
  /** Whole tokens, 0 or more. */
  readonly cost: number
}

/** The price depends on what the request asks for. */
export interface AskedPrice {
  readonly kind: 'asked'
  readonly source: PriceSource
  readonly reading: PriceReading
  /** Whole tokens of a request that has nothing there, or none of the values; `null` where such a request is refused. */
  readonly otherwise: number | null
  /** Elements that a body may have at most which is an array, and costs the sum of them; `null` where such a body is refused. */
  readonly batch: number | null
  /** Largest body in bytes; `null` if nothing of the price is in the body. Of a price within another one that of the outermost counts. */
  readonly maxBody: number | null
}

/** Where a request says what it asks for. */
export type PriceSource =
  | BodySource
  | { readonly kind: 'query'; readonly name: string }
  /** As it is written; any letter case is one name. */
  | { readonly kind: 'header'; readonly name: string }
  /** The length of the body. */
  | { readonly kind: 'size' }

export interface BodySource {
  readonly kind: 'body'
  /** At each level of a JSON body the names under which the upstream accepts the member, at least one: several only at the top. A request uses exactly one of them. */
  readonly path: readonly (readonly string[])[]
}

/** What is read there. Whole tokens; `min` and `max` are the least and the most that it may come to. */
export type PriceReading =
  /** A price for each value, by its key as json-scalar.ts has it: the number 2 and the text "2" differ. */
  | { readonly kind: 'values'; readonly values: ReadonlyMap<string, Price> }
  /** A number times a factor, rounded up. */
  | { readonly kind: 'number'; readonly times: number; readonly min: number; readonly max: number }
  /** A list: so many for each element. */
  | { readonly kind: 'list'; readonly each: number; readonly min: number; readonly max: number }
  /** One for each `per` bytes that the body begins. */
  | { readonly kind: 'size'; readonly per: number; readonly min: number; readonly max: number }

/** A price and all within it. */
export function partsOf(price: Price): readonly AskedPrice[] {
  if (price.kind === 'fixed') return []
  const { reading } = price
  return [price, ...(reading.kind === 'values' ? [...reading.values.values()].flatMap(partsOf) : [])]
}

/** The fields that it is read from, as the configuration writes them. */
export function fieldsOf(price: Price): string[] {
  return partsOf(price).flatMap(({ source }) => (source.kind === 'header' ? source.name : []))
}

/** As the configuration writes them. */
export function pathsOf({ path }: BodySource): string[] {
  const [alternatives = []] = path
  return path.length === 1
    ? alternatives.map((name) => pathOfNames([name]))
    : [pathOfNames(path.map(([name = '']) => name))]
}

/**
 * What requests of a price may cost: whole tokens, at least one amount. The least and the most are among them, and all that a map of values
 * lists.
 */
export function costsOf(price: Price): readonly number[] {
  if (price.kind === 'fixed') return [price.cost]
  const one = [...amountsOf(price), ...(price.otherwise === null ? [] : [price.otherwise])]
  return price.batch === null ? one : [...one, price.batch * mostOf(one)]
}

function amountsOf({ reading }: AskedPrice): number[] {
  if (reading.kind === 'values') return [...reading.values.values()].flatMap(costsOf)
  return [reading.min, reading.max]
}

/** Of many: a call with as many arguments would not end well. */
function mostOf(all: readonly number[]): number {
  return all.reduce((most, next) => Math.max(most, next))
}

/** The most tokens that a request may cost. */
export function dearest(price: Price): number {
  return mostOf(costsOf(price))
}

/** The least tokens that a request may cost. */
export function cheapest(price: Price): number {
  return costsOf(price).reduce((least, next) => Math.min(least, next))
}

/** Whether some request costs just that. */
export function mayCost(price: Price, tokens: number): boolean {
  if (price.kind === 'fixed') return tokens === price.cost
  if (price.batch !== null) return tokens >= cheapest(price) && tokens <= dearest(price)
  if (tokens === price.otherwise) return true
  const { reading } = price
  if (reading.kind === 'values') return [...reading.values.values()].some((each) => mayCost(each, tokens))
  return tokens >= reading.min && tokens <= reading.max
}

/** Whether it hangs on the length of the body, so that one of unknown length may cost less than was reserved. */
export function isByLength(price: Price): boolean {
  return partsOf(price).some(({ source }) => source.kind === 'size')
}
