import type { ForwardResult, ResponseFields, ResponseTap } from '../forward/contract.ts'
import type { FinalCost } from '../routing/final-cost.ts'
import { type Asked, type CostTap, chargedFields } from './response-cost.ts'

/** What was charged in one category, and what finds out on the way what it cost; `null` where that is known before. */
interface ChargedMeter {
  readonly category: string
  readonly cost: number
  readonly tap: CostTap | null
}

/** Finds out by one request and its response what it cost in several meters, each by its own rule. A body is read once for all of them. */
export class ResponseCosts implements ResponseTap {
  readonly #meters: readonly ChargedMeter[]
  readonly #asked: Asked

  /** @param meters of the charge, in its order */
  constructor(meters: readonly ChargedMeter[], asked: Asked) {
    this.#meters = meters
    this.#asked = asked
  }

  onHead(fields: ResponseFields): void {
    for (const { tap } of this.#meters) tap?.onHead(fields)
  }

  onBody(piece: Buffer | string): void {
    for (const { tap } of this.#meters) tap?.onBody(piece)
  }

  onEnd(): void {
    for (const { tap } of this.#meters) tap?.onEnd()
  }

  /** The client hears the cost only if that of each meter is known. */
  fields(): readonly string[] {
    const { hasField, quota } = this.#asked
    const known = this.#meters.map(({ tap, cost }) => (tap === null ? cost : tap.known?.tokens))
    const isWhole = hasField && !known.includes(undefined)
    const charged = isWhole ? chargedFields(this.#meters.map(({ category }, i) => [category, known[i] ?? 0])) : []
    const [first = 0, ...others] = this.#meters.map(({ cost }, i) => (known[i] ?? cost) - cost)
    return [...charged, ...quota(first, others)]
  }

  /** When the exchange is over, however it ended: the cost of each meter, `null` of one that was known before. */
  costs(result: Pick<ForwardResult, 'outcome' | 'headSent'>): Promise<readonly (FinalCost | null)[]> {
    return Promise.all(this.#meters.map(({ tap }) => tap?.cost(result) ?? null))
  }
}
