import { type AskedPrice, isByLength, type Price } from '../inputs/price.ts'
import type { FinalCost } from '../routing/final-cost.ts'
import { priceOf } from '../routing/price.ts'
import type { Exchange } from './context.ts'
import { type Asked, type CostTap, fieldsOf } from './response-cost.ts'

/** The price of a request that depends on how many bytes are still to come; else `null`. */
export function openPriceOf({ req, body }: Exchange, price: Price): AskedPrice | null {
  if (price.kind !== 'asked' || body !== null || req.headers['transfer-encoding'] === undefined) return null
  return isByLength(price) ? price : null
}

/**
 * Finds out what a request cost by the length of its body, which was unknown before. It counts each piece on its way to the
 * upstream, and keeps none.
 */
export class SentCost implements CostTap {
  readonly #exchange: Exchange
  readonly #price: AskedPrice
  readonly #reserve: number
  readonly #asked: Asked
  #bytes = 0
  #isWhole = false

  constructor(exchange: Exchange, price: AskedPrice, reserve: number, asked: Asked) {
    this.#exchange = exchange
    this.#price = price
    this.#reserve = reserve
    this.#asked = asked
    const { req } = exchange
    // Without the pause, a `data` listener would let the body flow before the upstream accepts it.
    req.pause()
    req.on('data', (piece: Buffer) => {
      this.#bytes += piece.length
    })
    req.on('end', () => {
      this.#isWhole = true
    })
  }

  onHead(): void {}
  onBody(): void {}
  onEnd(): void {}

  get known(): FinalCost | null {
    return this.#isWhole ? { tokens: this.#tokens(), source: 'request' } : null
  }

  fields(): readonly string[] {
    return fieldsOf(this.#asked, this.#isWhole ? this.#tokens() : null, this.#reserve)
  }

  /** The cost of the bytes that the client has sent, because the upstream got at most these. */
  async cost(): Promise<FinalCost> {
    return { tokens: this.#tokens(), source: 'request' }
  }

  #tokens(): number {
    const { req, target } = this.#exchange
    const asked = { body: null, query: target?.query ?? '', rawHeaders: req.rawHeaders, length: this.#bytes }
    const priced = priceOf(this.#price, asked)
    return 'cost' in priced ? priced.cost : this.#reserve
  }
}
