import { memberAt } from '../lib/json-path.ts'
import { keyOfJson, keyOfWritten } from '../lib/json-scalar.ts'
import type { JsonText } from '../lib/json-text.ts'
import type { CostSource } from '../observe/observation.ts'
import { decimal, ONE } from '../quota/decimal.ts'

/** Whole tokens, or all tokens that were reserved before the request. */
export type Amount = number | 'all'

/** How the response says what its request cost. The price before the response is a reserve. */
export interface SettleRule {
  /**
   * Tokens by the status of the response, like `404`, or by its class, like `4xx`. The status itself comes first. `gateway` is for a
   * request that got no response, see `costWithoutResponse`.
   */
  readonly status: ReadonlyMap<string, Amount>
  /** The other part of the response that is read; `null` for none. */
  readonly source: HeaderSource | JsonSource | SizeSource | null
  /** The meaning of what is read: a number of tokens up to `max`, or one of these values, which have the keys of json-scalar.ts. */
  readonly reading: { readonly max: number } | { readonly values: ReadonlyMap<string, Amount> }
  /** Tokens for a value that is none of `values`, or, without a source, for a status that is none of `status`. */
  readonly otherwise: Amount
  /** Tokens for a response without the part that is read. */
  readonly missing: Amount
}

export interface HeaderSource {
  readonly kind: 'header'
  /** The name in lower case. */
  readonly field: string
}

export interface JsonSource {
  readonly kind: 'json'
  /** The paths at which the value may be. The first path that a text has counts. Empty for a sum of members at the top. */
  readonly paths: readonly Path[]
  /** The members below that path that are added up, and the tokens for a unit of each, to twelve decimals; `null` if the value itself counts. */
  readonly sum: readonly { readonly path: Path; readonly weight: number }[] | null
  /** Largest body in bytes, with and without its coding, and for a stream the largest event. */
  readonly maxBody: number
}

/** The names of nested members, from the outermost on. */
type Path = readonly string[]

/** The bytes of the body as they come, with their coding. Each begun `per` of them is a token, and an empty body is one token too. */
export interface SizeSource {
  readonly kind: 'size'
  /** Bytes, at least 1. */
  readonly per: number
}

export interface FinalCost {
  /** Whole tokens, 0 or more. */
  readonly tokens: number
  readonly source: CostSource
}

/** The result of reading a response: a text, a value of JSON as it is written, or why there is none. */
export type Found =
  | { readonly text: string }
  | { readonly json: string }
  | Exclude<CostSource, 'response' | 'above_max'>

/** The most bytes of a body, or of an event of a stream, that are held to read it; 0 if none is read. */
export function mostRead(rule: SettleRule | null): number {
  return rule?.source?.kind === 'json' ? rule.source.maxBody : 0
}

/** The cost that the status alone decides; `null` if something else decides it. */
export function costByStatus(rule: SettleRule, status: number, reserve: number): FinalCost | null {
  const amount = rule.status.get(String(status)) ?? rule.status.get(`${Math.floor(status / 100)}xx`)
  if (amount !== undefined) return known(amount, reserve)
  return rule.source === null ? known(rule.otherwise, reserve) : null
}

/**
 * The cost of a request that reached the upstream and got no response, so that the gateway responds. It is the whole reserve, unless the rule
 * sets another cost. A client can cause that after the work is done: it asks for work that takes longer than the gateway waits, or for a
 * field that makes the head of the response too large.
 */
export function costWithoutResponse(rule: SettleRule, reserve: number): FinalCost {
  const amount = rule.status.get('gateway')
  return amount === undefined ? { tokens: reserve, source: 'unread' } : known(amount, reserve)
}

/** The keys of a rule whose responses cost nothing: `status.5xx`, `values.HIT`, `otherwise`, `missing`. */
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

/** The most tokens that a response can cost, given a reserve. */
export function mostBy({ status, source, reading, otherwise, missing }: SettleRule, reserve: number): number {
  const said: Amount[] = 'max' in reading ? [reading.max] : [...reading.values.values(), otherwise]
  // A response that cannot be read costs the reserve, and by default so does a request without a response.
  const others: Amount[] = source === null ? [otherwise, status.get('gateway') ?? 'all'] : ['all', missing, ...said]
  return Math.max(...[...status.values(), ...others].map((amount) => tokensOf(amount, reserve)))
}

/** The cost that the source decides. */
export function costByValue(rule: SettleRule, found: Found, reserve: number): FinalCost {
  if (found === 'missing' || found === 'unsaid') return { tokens: tokensOf(rule.missing, reserve), source: found }
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

/** The value of a field. If its lines have different values, it is malformed. */
export function inFields(values: readonly string[]): Found {
  const [first, ...others] = new Set(values.map((value) => value.trim()))
  if (first === undefined) return 'missing'
  return others.length === 0 ? { text: first } : 'malformed'
}

/** The tokens for so many bytes, at least 1. */
export function inSize(bytes: number, { per }: SizeSource): Found {
  return { text: String(Math.max(1, Math.ceil(bytes / per))) }
}

/** The value in a whole body. */
export function inJson(body: JsonText, source: JsonSource, reading: SettleRule['reading']): Found {
  const said = new Said(source, reading)
  said.hear(body)
  return said.found
}

/** A value, or a member of a sum. */
interface Term {
  readonly paths: readonly Path[]
  /** The weight as `decimal` makes it. */
  readonly weight: bigint
}

/** A character that JSON may write in two ways without `\u`. */
const NEEDS_ESCAPE = /["\\/\p{Cc}]/u

/** Reads one text of JSON after the other. For each member of a sum its last value counts. */
export class Said {
  readonly #isSum: boolean
  /** Where a number is read, `null` counts as no value. */
  readonly #isNumber: boolean
  readonly #terms: readonly Term[]
  /** The innermost names of all members. An event with none of them has no value, and most events have none. */
  readonly #names: readonly string[]
  readonly #last: ({ readonly json: string } | 'twice' | undefined)[] = []

  constructor({ paths, sum }: JsonSource, reading: SettleRule['reading']) {
    this.#isSum = sum !== null
    this.#isNumber = 'max' in reading
    this.#terms = sum === null ? [{ paths, weight: ONE }] : sum.map((member) => termOf(paths, member))
    this.#names = this.#terms.flatMap((term) => term.paths.map((path) => path.at(-1) ?? ''))
  }

  /** @returns whether the text has a value. A text that is no JSON has none */
  hear(text: JsonText): boolean {
    return this.#mayHave(text.text) && text.values.map((value) => this.#take(value)).includes(true)
  }

  /** Any other spelling of a name has an escape. */
  #mayHave(text: string): boolean {
    return this.#names.some((name) => text.includes(NEEDS_ESCAPE.test(name) ? '\\' : name)) || text.includes('\\u')
  }

  #take(text: string): boolean {
    let isNew = false
    for (const [i, { paths }] of this.#terms.entries()) {
      const found = paths.map((path) => memberAt(text, path)).find((each) => this.#isValue(each))
      if (found === undefined || found === 'missing') continue
      this.#last[i] = found
      isNew = true
    }
    return isNew
  }

  #isValue(found: ReturnType<typeof memberAt>): boolean {
    if (typeof found === 'string') return found === 'twice'
    return !(this.#isNumber && found.json === 'null')
  }

  /** A duplicate member has two values, and another reader may take either. */
  get found(): Found {
    if (this.#last.includes('twice')) return 'malformed'
    const last = this.#last as ({ readonly json: string } | undefined)[]
    if (!this.#isSum) return last[0] ?? 'missing'
    return last.length === 0 ? 'missing' : this.#summed(last)
  }

  #summed(last: readonly ({ readonly json: string } | undefined)[]): Found {
    let sum = 0n
    for (const [i, value] of last.entries()) {
      const amount = value === undefined ? 0 : tokensInJson(value.json)
      if (amount === null) return 'malformed'
      sum += BigInt(amount) * (this.#terms[i]?.weight ?? 0n)
    }
    return { json: String(Number((sum + ONE - 1n) / ONE)) }
  }
}

function termOf(paths: readonly Path[], { path, weight }: NonNullable<JsonSource['sum']>[number]): Term {
  return { paths: paths.length === 0 ? [path] : paths.map((above) => [...above, ...path]), weight: decimal(weight) }
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
