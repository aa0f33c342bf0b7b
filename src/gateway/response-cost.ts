import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import type { ForwardResult, ResponseFields, ResponseTap } from '../forward/contract.ts'
import { gather } from '../lib/gathered-bytes.ts'
import {
  costByStatus,
  costByValue,
  costWithoutResponse,
  type FinalCost,
  type Found,
  inFields,
  inJson,
  type JsonSource,
  type SettleRule,
} from '../routing/final-cost.ts'

/** Tells the client what its request cost. */
export function chargedField(tokens: number): string[] {
  return ['X-Tollgate-Charged', String(tokens)]
}

/** What of the request matters. */
export interface Asked {
  /** A response to HEAD has no body to read. */
  readonly isHead: boolean
  /** Whether the response has `X-Tollgate-Charged`. */
  readonly hasField: boolean
  /** The RateLimit fields, by how much it costs beyond the reserve as far as the head of the response says; `null` for none. */
  readonly rateLimit: ((beyond: number) => readonly string[]) | null
}

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress) as Decoder,
}

/**
 * Finds out by a response what its request cost.
 *
 * | State   | What it means                               | Next                                                          |
 * |---------|---------------------------------------------|---------------------------------------------------------------|
 * | waiting | no head yet                                 | `onHead`: known by status or field, unread, or reading        |
 * | reading | a body is collected                         | `onBody`: unread if it is too long · `onEnd`: whole, or known |
 * | whole   | the body is here, in a coding               | `cost` decodes it: known                                      |
 * | known   | the cost is known, if only as the reserve   |                                                               |
 */
export class ResponseCost implements ResponseTap {
  readonly #rule: SettleRule
  readonly #reserve: number
  readonly #asked: Asked
  #known: FinalCost | null = null
  /** Of a body that is read. */
  #source: JsonSource | null = null
  #coding = ''
  #body = gather()
  #isWhole = false

  constructor(rule: SettleRule, reserve: number, asked: Asked) {
    this.#rule = rule
    this.#reserve = reserve
    this.#asked = asked
  }

  onHead({ status, names, values }: ResponseFields): void {
    this.#known = costByStatus(this.#rule, status, this.#reserve)
    const { source } = this.#rule
    if (this.#known !== null || source === null) return
    const of = (field: string): string[] => values.filter((_, i) => names[i]?.lower === field)
    if (source.kind === 'header') {
      this.#know(inFields(of(source.field)))
      return
    }
    // A part of a body and none at all say nothing of what the whole would have said.
    if (this.#asked.isHead || status === 206 || status === 304) {
      this.#know('unread')
      return
    }
    this.#coding = of('content-encoding').join().trim().toLowerCase()
    this.#source = source
  }

  onBody(piece: Buffer | string): void {
    if (this.#source === null) return
    const length = this.#body.add(Buffer.from(piece as string, 'latin1'))
    if (length > this.#source.maxBody) this.#know('unread')
  }

  onEnd(): void {
    if (this.#source === null || this.#isWhole) return
    this.#isWhole = true
    const isPlain = this.#coding === '' || this.#coding === 'identity'
    if (isPlain) this.#know(inJson(this.#body.whole().toString('utf8'), this.#source.path))
  }

  fields(): readonly string[] {
    const { hasField, rateLimit } = this.#asked
    const { tokens } = this.#known ?? { tokens: this.#reserve }
    const charged = this.#known === null || !hasField ? [] : chargedField(tokens)
    return rateLimit === null ? charged : [...charged, ...rateLimit(tokens - this.#reserve)]
  }

  /** The cost when the exchange is over, however it ended. */
  async cost({ outcome, headSent }: Pick<ForwardResult, 'outcome' | 'headSent'>): Promise<FinalCost> {
    if (outcome === 'failed' && !headSent) return costWithoutResponse(this.#rule, this.#reserve)
    if (this.#known === null && this.#source !== null && this.#isWhole) this.#know(await this.#decoded(this.#source))
    return this.#known ?? this.#cutOff()
  }

  async #decoded({ path, maxBody }: JsonSource): Promise<Found> {
    const decode = DECODERS[this.#coding]
    const body = this.#body.whole()
    if (decode === undefined) return 'unread'
    try {
      return inJson((await decode(body, { maxOutputLength: maxBody })).toString('utf8'), path)
    } catch {
      return 'unread'
    }
  }

  #know(found: Found): void {
    this.#known = costByValue(this.#rule, found, this.#reserve)
    this.#source = null
    this.#body = gather()
  }

  #cutOff(): FinalCost {
    return costByValue(this.#rule, 'unread', this.#reserve)
  }
}
