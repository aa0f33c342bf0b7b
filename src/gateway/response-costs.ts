import type { ForwardResult, ResponseFields, ResponseTap } from '../forward/contract.ts'
import type { FinalCost } from '../routing/final-cost.ts'
import { type Asked, type CostTap, chargedFields } from './response-cost.ts'

/** The charge in one category, and what finds out its cost; `null` if the cost is known before. */
interface ChargedMeter {
  readonly category: string
  readonly cost: number
  readonly tap: CostTap | null
}

/** Finds out what a request cost in several meters, each by its own rule. The body is read once for all of them. */
export class ResponseCosts implements ResponseTap {
  readonly #meters: readonly ChargedMeter[]
  readonly #asked: Asked

  /** @param meters of the charge, in order */
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

  /** The client learns the cost only if the costs of all meters are known. */
  fields(): readonly string[] {
    const { hasField, quota } = this.#asked
    const known = this.#meters.map(({ tap, cost }) => (tap === null ? cost : tap.known?.tokens))
    const isWhole = hasField && !known.includes(undefined)
    const charged = isWhole ? chargedFields(this.#meters.map(({ category }, i) => [category, known[i] ?? 0])) : []
    const [first = 0, ...others] = this.#meters.map(({ cost }, i) => (known[i] ?? cost) - cost)
    return [...charged, ...quota(first, others)]
  }

  /** The cost of each meter after the exchange, however it ended; `null` if it was known before. */
  costs(result: Pick<ForwardResult, 'outcome' | 'headSent'>): Promise<readonly (FinalCost | null)[]> {
    return Promise.all(this.#meters.map(({ tap }) => tap?.cost(result) ?? null))
  }
}
