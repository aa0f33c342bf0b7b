import { foundAt } from '../lib/json-path.ts'
import { keyOfJson, keyOfWritten } from '../lib/json-scalar.ts'
import type { CostSource } from '../observe/observation.ts'

/** Whole tokens, or all that was reserved before the request. */
export type Amount = number | 'all'

/** What a request cost is known by its response: before that its price is a reserve. */
export interface SettleRule {
  /**
   * Tokens by the status of the response, like `404`, or by its class, like `4xx`. The status itself comes first. `gateway` has those
   * of a request that got no response, see `costWithoutResponse`.
   */
  readonly status: ReadonlyMap<string, Amount>
  /** What else of the response is read; `null` for nothing. */
  readonly source: HeaderSource | JsonSource | null
  /** What the source says: tokens, up to `max`, or one of these values, by its key as json-scalar.ts has it. */
  readonly reading: { readonly max: number } | { readonly values: ReadonlyMap<string, Amount> }
  /** Tokens of a value that is none of `values`, and without a source of a status that is none of `status`. */
  readonly otherwise: Amount
  /** Tokens of a response that does not have what is read. */
  readonly missing: Amount
}

export interface HeaderSource {
  readonly kind: 'header'
  /** In lower case. */
  readonly field: string
}

export interface JsonSource {
  readonly kind: 'json'
  /** As `foundAt` reads it. */
  readonly path: string
  /** Largest body in bytes, with and without its coding. */
  readonly maxBody: number
}

export interface FinalCost {
  /** Whole tokens, 0 or more. */
  readonly tokens: number
  readonly source: CostSource
}

/** What was read of a response: a text, a value of JSON as it is written, or why there is none. */
export type Found =
  | { readonly text: string }
  | { readonly json: string }
  | Extract<CostSource, 'missing' | 'malformed' | 'unread'>

/** What the status alone decides; `null` if something else does. */
export function costByStatus(rule: SettleRule, status: number, reserve: number): FinalCost | null {
  const amount = rule.status.get(String(status)) ?? rule.status.get(`${Math.floor(status / 100)}xx`)
  if (amount !== undefined) return known(amount, reserve)
  return rule.source === null ? known(rule.otherwise, reserve) : null
}

/**
 * What a request costs that reached the upstream and got no response, so that the gateway responds instead: all, unless the rule says
 * otherwise. A client can bring that about when the work is done: it asks for what takes longer than the gateway waits, or for a field
 * that makes the head of the response too large.
 */
export function costWithoutResponse(rule: SettleRule, reserve: number): FinalCost {
  const amount = rule.status.get('gateway')
  return amount === undefined ? { tokens: reserve, source: 'unread' } : known(amount, reserve)
}

/** The responses that cost nothing by a rule, by its keys: `status.5xx`, `values.HIT`, `otherwise`, `missing`. */
export function freeBy({ status, source, reading, otherwise, missing }: SettleRule): string[] {
  const values = 'values' in reading ? reading.values : new Map<string, Amount>()
  const amounts: [string, Amount][] = [
    ...[...status].map(([key, amount]): [string, Amount] => [`status.${key}`, amount]),
    ...[...values].map(([key, amount]): [string, Amount] => [`values.${key}`, amount]),
    ['otherwise', otherwise],
  ]
  if (source !== null) amounts.push(['missing', missing])
  return amounts.filter(([, amount]) => amount === 0).map(([key]) => key)
}

/** What the source decides. */
export function costByValue(rule: SettleRule, found: Found, reserve: number): FinalCost {
  if (found === 'missing') return { tokens: tokensOf(rule.missing, reserve), source: 'missing' }
  if (typeof found === 'string') return { tokens: reserve, source: found }
  const { reading } = rule
  if ('values' in reading) {
    const key = 'text' in found ? keyOfWritten(found.text) : keyOfJson(found.json)
    return known((key === null ? undefined : reading.values.get(key)) ?? rule.otherwise, reserve)
  }
  const tokens = 'text' in found ? tokensIn(found.text) : tokensInJson(found.json)
  if (tokens === null) return { tokens: reserve, source: 'malformed' }
  return tokens > reading.max ? { tokens: reading.max, source: 'above_max' } : { tokens, source: 'response' }
}

/** The one value of a field; lines that differ say two. */
export function inFields(values: readonly string[]): Found {
  const [first, ...others] = new Set(values.map((value) => value.trim()))
  if (first === undefined) return 'missing'
  return others.length === 0 ? { text: first } : 'malformed'
}

/** The value at a path of a body. A member that is there twice has two values, of which another reader may take either. */
export function inJson(body: string, path: string): Found {
  const text = body.trim()
  try {
    JSON.parse(text)
  } catch {
    return 'missing'
  }
  const found = foundAt(text, path)
  return found === 'twice' ? 'malformed' : found
}

function known(amount: Amount, reserve: number): FinalCost {
  return { tokens: tokensOf(amount, reserve), source: 'response' }
}

function tokensOf(amount: Amount, reserve: number): number {
  return amount === 'all' ? reserve : amount
}

/** A number that a double does not hold exactly is far above every `max`, here and in JSON. */
function tokensIn(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null
}

/** -0 is 0. */
function tokensInJson(json: string): number | null {
  const value: unknown = JSON.parse(json)
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? Math.abs(value) : null
}
