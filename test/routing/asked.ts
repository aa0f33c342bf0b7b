import { parseConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import type { Price } from '../../src/inputs/price.ts'
import { type Asked, priceOf, queryDenial, queryFault } from '../../src/routing/price.ts'

/** The price that a file writes. @throws Error with the problems of the file */
export function priceIn(cost: string): Price {
  const text = `upstream: { url: http://127.0.0.1:9000 }\nroutes:\n  - { match: POST /a, category: write, cost: ${cost} }\n`
  const loaded = parseConfig(text, 'tollgate.yaml', {})
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems))
  const [route] = loaded.config.routes
  if (route === undefined || route.public) throw new Error('no price')
  return route.cost
}

export interface Request {
  readonly body?: string | Buffer
  readonly type?: string
  readonly query?: string
  /** Names and values by turns. */
  readonly fields?: readonly string[]
  /** Default that of the body. */
  readonly length?: number | null
}

export function askedBy({ body = '', type = 'application/json', query = '', fields = [], length }: Request): Asked {
  const bytes = Buffer.from(body)
  const rawHeaders = [...(type === '' ? [] : ['Content-Type', type]), ...fields]
  return { body: bytes, query, rawHeaders, length: length === undefined ? bytes.length : length }
}

/** The cost, or the sentence of the refusal. */
export function cost(price: Price, request: Request): number | string {
  const asked = askedBy(request)
  const fault = price.kind === 'asked' ? queryFault(price, asked.query) : null
  if (price.kind === 'asked' && fault !== null) return queryDenial(price, fault).msg
  const priced = priceOf(price, asked)
  return 'cost' in priced ? priced.cost : priced.msg
}
