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

/** The field that says to the client what its request cost. */
export function chargedField(tokens: number): string[] {
  return ['X-Tollgate-Charged', String(tokens)]
}

/** The field for several meters is a dictionary of RFC 9651, like `requests=1, tokens=512`. */
export function chargedFields(meters: readonly (readonly [category: string, tokens: number])[]): string[] {
  return ['X-Tollgate-Charged', meters.map(([category, tokens]) => `${category}=${tokens}`).join(', ')]
}

/** What of the request matters. */
export interface Asked {
  /** A response to HEAD has no body to read. */
  readonly isHead: boolean
  /** Whether the response has `X-Tollgate-Charged`. */
  readonly hasField: boolean
  /**
   * The fields of the quota, by how much it costs beyond the reserve as far as the head of the response says, and of several meters the
   * same of each further one.
   */
  readonly quota: (beyond: number, others?: readonly number[]) => readonly string[]
}

/** Finds out on the way what a request cost, and adds to its response what that leaves. */
export interface CostTap extends ResponseTap {
  /** What the request cost, once that is known. */
  readonly known: FinalCost | null
  /** The cost when the exchange is over, however it ended. */
  cost(result: Pick<ForwardResult, 'outcome' | 'headSent'>): Promise<FinalCost>
}

/** Raw fields of a response. @param tokens that the request cost; `null` if that is not known yet */
export function fieldsOf({ hasField, quota }: Asked, tokens: number | null, reserve: number): readonly string[] {
  const charged = tokens === null || !hasField ? [] : chargedField(tokens)
  return [...charged, ...quota((tokens ?? reserve) - reserve)]
}

/** Reads from a body what it says about the cost. */
interface BodyReader {
  /** @returns what it says, if no later piece can change that */
  add(piece: Buffer | string): Found | null
  /** The body is whole. @returns `null` if it counts as one that was cut off */
  end(): Found | Promise<Found> | null
  /** What is known of a body that was cut off. */
  soFar(): Found
}

/**
 * Finds out by a response what its request cost.
 *
 * | State    | What it means                              | Next                                                             |
 * |----------|--------------------------------------------|------------------------------------------------------------------|
 * | waiting  | no head yet                                | `onHead`: known by status or field, unread, or reading           |
 * | reading  | a body is read                             | `onBody`: known too early or unread · `onEnd`: known or decoding |
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

  /** @param text of the response, if other meters read it too. Default one of its own */
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
    // A part of a body and none at all say nothing of what the whole would have said.
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

  /** The cost, once it is known. */
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

  /** A client that leaves early pays the bytes that came. Where the body says the cost, it pays the reserve at least, as more may have followed. */
  #cutOff(): FinalCost {
    const cost = costByValue(this.#rule, this.#reader?.soFar() ?? 'unread', this.#reserve)
    const isSize = this.#rule.source?.kind === 'size'
    return isSize || cost.tokens > this.#reserve ? cost : costByValue(this.#rule, 'unread', this.#reserve)
  }
}

/** A body that can be read only when it is whole. */
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

/** Behind it OpenAI and those who speak like it send nothing, and clients leave. */
const LAST_EVENT = '[DONE]'

/** A stream, of which the last event with a cost counts. */
class Events implements BodyReader {
  readonly #text: ResponseText
  readonly #said: Said
  readonly #maxBody: number
  #length = 0
  /** Whether an event that was too long to be read may have said something since. */
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
