import type { ForwardResult, ResponseFields, ResponseTap } from '../forward/contract.ts'
import { eventReaderOf, type OpenEventReader } from '../lib/event-stream.ts'
import type { JsonText } from '../lib/json-text.ts'
import {
  costByStatus,
  costByValue,
  costWithoutResponse,
  type FinalCost,
  type Found,
  inFields,
  inJson,
  inSize,
  type JsonSource,
  Said,
  type SettleRule,
  type SizeSource,
} from '../routing/final-cost.ts'
import { isPlain, ResponseText } from './response-text.ts'

/** The field in which the client reads what its request cost. */
export function chargedField(tokens: number): string[] {
  return ['X-Tollgate-Charged', String(tokens)]
}

/** The field for several meters, a dictionary of RFC 9651 like `requests=1, tokens=512`. */
export function chargedFields(meters: readonly (readonly [category: string, tokens: number])[]): string[] {
  return ['X-Tollgate-Charged', meters.map(([category, tokens]) => `${category}=${tokens}`).join(', ')]
}

/** What a tap must know of the request. */
export interface Asked {
  /** A response to HEAD has no body to read. */
  readonly isHead: boolean
  /** Whether the response gets `X-Tollgate-Charged`. */
  readonly hasField: boolean
  /**
   * Makes the fields of the quota. `beyond` is how much more the request costs than its reserve, as far as it is known when the head of the
   * response is sent. `others` are the same amounts for the further meters.
   */
  readonly quota: (beyond: number, others?: readonly number[]) => readonly string[]
}

/** Finds out during the response what a request cost, and adds that to the response. */
export interface CostTap extends ResponseTap {
  /** What the request cost, if that is known already. */
  readonly known: FinalCost | null
  /** The cost after the exchange, however it ended. */
  cost(result: Pick<ForwardResult, 'outcome' | 'headSent'>): Promise<FinalCost>
}

/** Raw fields of a response. @param tokens that the request cost; `null` if unknown yet */
export function fieldsOf({ hasField, quota }: Asked, tokens: number | null, reserve: number): readonly string[] {
  const charged = tokens === null || !hasField ? [] : chargedField(tokens)
  return [...charged, ...quota((tokens ?? reserve) - reserve)]
}

/** Reads the cost from a body. */
interface BodyReader {
  /** @returns the cost, if no later piece can change it */
  add(piece: Buffer | string): Found | null
  /** Handles the end of the body. @returns `null` if the body counts as cut off */
  end(): Found | Promise<Found> | null
  /** The cost in a body that was cut off. */
  soFar(): Found
}

/**
 * Finds out what a request cost from its response.
 *
 * | State    | What it means                              | Next                                                             |
 * |----------|--------------------------------------------|------------------------------------------------------------------|
 * | waiting  | no head yet                                | `onHead`: known by status or field, unread, or reading           |
 * | reading  | a body is read                             | `onBody`: known before the end · `onEnd`: known or decoding      |
 * | decoding | the body is here, and its coding is undone | `cost` waits for it: known                                       |
 * | known    | the cost is known, if only as the reserve  |                                                                  |
 */
export class ResponseCost implements CostTap {
  readonly #rule: SettleRule
  readonly #reserve: number
  readonly #asked: Asked
  readonly #text: ResponseText | null
  #known: FinalCost | null = null
  #reader: BodyReader | null = null
  #decoding: Promise<Found> | null = null

  /** @param text of the response, if other meters read it too. Default a new one */
  constructor(rule: SettleRule, reserve: number, asked: Asked, text: ResponseText | null = null) {
    this.#rule = rule
    this.#reserve = reserve
    this.#asked = asked
    this.#text = text
  }

  onHead({ status, names, values }: ResponseFields): void {
    this.#known = costByStatus(this.#rule, status, this.#reserve)
    const { source, reading } = this.#rule
    if (this.#known !== null || source === null) return
    const of = (field: string): string[] => values.filter((_, i) => names[i]?.lower === field)
    if (source.kind === 'header') this.#know(inFields(of(source.field)))
    else if (source.kind === 'size') this.#reader = new BodySize(source)
    // A part of a body, or no body, does not say the cost of the whole.
    else if (this.#asked.isHead || status === 206 || status === 304) this.#know('unread')
    else {
      const coding = of('content-encoding').join().trim().toLowerCase()
      const openReader = eventReaderOf(of('content-type').join())
      const text = this.#text ?? new ResponseText(source.maxBody)
      if (openReader === null) this.#reader = new WholeBody(text, source, reading, coding)
      else if (isPlain(coding)) this.#reader = new Events(text, source, reading, openReader)
      else this.#know('coded')
    }
  }

  onBody(piece: Buffer | string): void {
    const found = this.#reader?.add(piece) ?? null
    if (found !== null) this.#know(found)
  }

  onEnd(): void {
    const found = this.#reader?.end() ?? null
    if (found instanceof Promise) {
      this.#decoding = found
      this.#reader = null
    } else if (found !== null) this.#know(found)
  }

  /** The cost if it is known already. */
  get known(): FinalCost | null {
    return this.#known
  }

  fields(): readonly string[] {
    return fieldsOf(this.#asked, this.#known?.tokens ?? null, this.#reserve)
  }

  async cost({ outcome, headSent }: Pick<ForwardResult, 'outcome' | 'headSent'>): Promise<FinalCost> {
    if (outcome === 'failed' && !headSent) return costWithoutResponse(this.#rule, this.#reserve)
    if (this.#decoding !== null) this.#know(await this.#decoding)
    return this.#known ?? this.#cutOff()
  }

  #know(found: Found): void {
    this.#known = costByValue(this.#rule, found, this.#reserve)
    this.#reader = null
  }

  /** A client that leaves early pays for the bytes that came, but at least the reserve if the body says the cost. */
  #cutOff(): FinalCost {
    const cost = costByValue(this.#rule, this.#reader?.soFar() ?? 'unread', this.#reserve)
    const isSize = this.#rule.source?.kind === 'size'
    return isSize || cost.tokens > this.#reserve ? cost : costByValue(this.#rule, 'unread', this.#reserve)
  }
}

/** A body that can only be read when it is complete. */
class WholeBody implements BodyReader {
  readonly #text: ResponseText
  readonly #source: JsonSource
  readonly #reading: SettleRule['reading']
  readonly #coding: string
  #length = 0

  constructor(text: ResponseText, source: JsonSource, reading: SettleRule['reading'], coding: string) {
    this.#text = text
    this.#source = source
    this.#reading = reading
    this.#coding = coding
  }

  add(piece: Buffer | string): Found | null {
    this.#length += piece.length
    this.#text.hold(piece, this.#length)
    return this.#length > this.#source.maxBody ? 'unread' : null
  }

  end(): Found | Promise<Found> {
    const whole = this.#text.whole(this.#coding)
    return whole instanceof Promise ? whole.then((text) => this.#read(text)) : this.#read(whole)
  }

  soFar(): Found {
    return 'unread'
  }

  #read(text: JsonText | null): Found {
    if (text === null || text.bytes > this.#source.maxBody) return 'unread'
    return inJson(text, this.#source, this.#reading)
  }
}

/** After this event OpenAI and similar services send nothing, and clients leave. */
const LAST_EVENT = '[DONE]'

/** A stream whose last event with a cost counts. */
class Events implements BodyReader {
  readonly #text: ResponseText
  readonly #said: Said
  readonly #maxBody: number
  #length = 0
  /** Whether a later event was too long to be read, and may have had a cost. */
  #isUnsure = false
  #isDone = false

  constructor(text: ResponseText, source: JsonSource, reading: SettleRule['reading'], open: OpenEventReader) {
    this.#text = text
    this.#said = new Said(source, reading)
    this.#maxBody = source.maxBody
    text.listen(open, (event) => this.#hear(event))
  }

  add(piece: Buffer | string): Found | null {
    this.#length += piece.length
    this.#text.pass(piece, this.#length)
    return this.#isDone ? this.end() : null
  }

  end(): Found | null {
    this.#text.end()
    if (this.#isUnsure) return null
    const { found } = this.#said
    return found === 'missing' ? 'unsaid' : found
  }

  soFar(): Found {
    const { found } = this.#said
    return found === 'missing' ? 'unread' : found
  }

  #hear(event: JsonText | null): void {
    if (event === null || event.bytes > this.#maxBody) this.#isUnsure = true
    else if (event.text === LAST_EVENT) this.#isDone = true
    else if (this.#said.hear(event)) this.#isUnsure = false
  }
}

class BodySize implements BodyReader {
  readonly #source: SizeSource
  #bytes = 0

  constructor(source: SizeSource) {
    this.#source = source
  }

  add(piece: Buffer | string): null {
    this.#bytes += piece.length
    return null
  }

  end(): Found {
    return this.soFar()
  }

  soFar(): Found {
    return inSize(this.#bytes, this.#source)
  }
}
