import { pathOfNames } from '../lib/json-path.ts'

/** The price of a request. */
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
  /** Whole tokens of a request with no value at the source, or with an unlisted value; `null` where such a request is refused. */
  readonly otherwise: number | null
  /** The most elements of a body that is an array and costs the sum of its elements; `null` where such a body is refused. */
  readonly batch: number | null
  /** Largest body in bytes; `null` if no part of the price is in the body. For nested prices the value of the outermost counts. */
  readonly maxBody: number | null
}

/** The place in a request from which its price is read. */
export type PriceSource =
  | BodySource
  | { readonly kind: 'query'; readonly name: string }
  /** The name as it is written. Letter case makes no difference. */
  | { readonly kind: 'header'; readonly name: string }
  /** The price depends on the length of the body. */
  | { readonly kind: 'size' }

export interface BodySource {
  readonly kind: 'body'
  /** The names of the member at each level of a JSON body, at least one. Only the top may have several; a request uses one. */
  readonly path: readonly (readonly string[])[]
}

/** How the value at the source becomes whole tokens. `min` and `max` bound the price. */
export type PriceReading =
  /** A price for each value, by its key of json-scalar.ts: the number 2 and the text "2" differ. */
  | { readonly kind: 'values'; readonly values: ReadonlyMap<string, Price> }
  /** A number times a factor, rounded up. */
  | { readonly kind: 'number'; readonly times: number; readonly min: number; readonly max: number }
  /** A list. Each of its elements costs so many tokens. */
  | { readonly kind: 'list'; readonly each: number; readonly min: number; readonly max: number }
  /** One token for each `per` bytes of the body, a begun part counting as whole. */
  | { readonly kind: 'size'; readonly per: number; readonly min: number; readonly max: number }

/** A price and all prices within it. */
export function partsOf(price: Price): readonly AskedPrice[] {
  if (price.kind === 'fixed') return []
  const { reading } = price
  return [price, ...(reading.kind === 'values' ? [...reading.values.values()].flatMap(partsOf) : [])]
}

/** The header fields from which a price is read, as the configuration writes them. */
export function fieldsOf(price: Price): string[] {
  return partsOf(price).flatMap(({ source }) => (source.kind === 'header' ? source.name : []))
}

/** The paths as the configuration writes them. */
export function pathsOf({ path }: BodySource): string[] {
  const [alternatives = []] = path
  return path.length === 1
    ? alternatives.map((name) => pathOfNames([name]))
    : [pathOfNames(path.map(([name = '']) => name))]
}

/**
 * The costs that requests of a price may have: whole tokens, at least one amount. The least and the most are among them, and so are all
 * costs that a map of values lists.
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

/** The largest of many numbers. A call with so many arguments would overflow the stack. */
function mostOf(all: readonly number[]): number {
  return all.reduce((most, next) => Math.max(most, next))
}

/** The most tokens that a request may cost. */
export function dearest(price: Price): number {
  return mostOf(costsOf(price))
}

/** The fewest tokens that a request may cost. */
export function cheapest(price: Price): number {
  return costsOf(price).reduce((least, next) => Math.min(least, next))
}

/** Whether some request may cost exactly so many tokens. */
export function mayCost(price: Price, tokens: number): boolean {
  if (price.kind === 'fixed') return tokens === price.cost
  if (price.batch !== null) return tokens >= cheapest(price) && tokens <= dearest(price)
  if (tokens === price.otherwise) return true
  const { reading } = price
  if (reading.kind === 'values') return [...reading.values.values()].some((each) => mayCost(each, tokens))
  return tokens >= reading.min && tokens <= reading.max
}

/** Whether the price depends on the length of the body. A body of unknown length may then cost less than was reserved. */
export function isByLength(price: Price): boolean {
  return partsOf(price).some(({ source }) => source.kind === 'size')
}
