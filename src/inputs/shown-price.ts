import { type AskedPrice, type Price, type PriceReading, type PriceSource, pathsOf } from './price.ts'

/** A price by its parts, as the configuration writes it, for programs. */
export interface ShownPrice {
  /** The paths of members of the body. A request has one of them. */
  readonly body?: readonly string[]
  readonly query?: string
  readonly header?: string
  readonly size?: 'request'
  readonly values?: Readonly<Record<string, number | ShownPrice>>
  readonly times?: number
  readonly each?: number
  /** Bytes. */
  readonly per?: number
  readonly min?: number
  readonly max?: number
  readonly missing?: number
  readonly otherwise?: number
  readonly batch?: number
}

export function shownPrice(price: Price): number | ShownPrice {
  return price.kind === 'fixed' ? price.cost : shownAsked(price)
}

export function shownAsked({ source, reading, otherwise, batch }: AskedPrice): ShownPrice {
  const others = reading.kind === 'values' ? 'otherwise' : 'missing'
  return {
    ...shownSource(source),
    ...shownReading(reading),
    ...(otherwise !== null && { [others]: otherwise }),
    ...(batch !== null && { batch }),
  }
}

function shownSource(source: PriceSource): ShownPrice {
  switch (source.kind) {
    case 'body':
      return { body: pathsOf(source) }
    case 'query':
      return { query: source.name }
    case 'header':
      return { header: source.name }
    case 'size':
      return { size: 'request' }
  }
}

function shownReading(reading: PriceReading): ShownPrice {
  if (reading.kind === 'values') {
    return { values: Object.fromEntries([...reading.values].map(([value, price]) => [value, shownPrice(price)])) }
  }
  const { kind: _, ...shown } = reading
  return shown
}

/** The same price in words, to follow the words for the cost of a request: `by body method: eth_call 2, else 1`. */
export function priceText(price: number | ShownPrice): string {
  if (typeof price === 'number') return String(price)
  const { values, min, max, missing, otherwise, batch } = price
  const amounts =
    values === undefined
      ? [rateText(price), `${min} to ${max}`]
      : Object.entries(values).map(([value, of]) => `${value} ${typeof of === 'number' ? of : `(${priceText(of)})`}`)
  const others = otherwise ?? missing
  return [
    `by ${sourceText(price)}: ${amounts.join(', ')}`,
    ...(others === undefined ? [] : [`${otherwise === undefined ? 'without it' : 'else'} ${others}`]),
    ...(batch === undefined ? [] : [`the sum of up to ${batch} in an array`]),
  ].join(', ')
}

function rateText({ times, each, per }: ShownPrice): string {
  if (times !== undefined) return `${times} for each one`
  return each === undefined ? `1 for each ${per} bytes` : `${each} for each element`
}

function sourceText({ body, query, header }: ShownPrice): string {
  if (body !== undefined) return `body ${body.join(' or ')}`
  if (query !== undefined) return `query ${query}`
  return header === undefined ? 'the length of the body' : `header ${header}`
}
