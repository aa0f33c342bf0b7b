import type { Decision } from '../charge.ts'

/** Charges that a store has settled and forgotten. */
export interface Loss {
  /** Their tokens, or up to those of a second more. */
  readonly tokens: number
  /** The store's time of the first of them, or up to a second before, in milliseconds since the epoch. */
  readonly since: number
}

/** What was charged within a second or so: by the batches after those of the second before, to `last`. */
interface Second {
  readonly at: number
  last: number
  tokens: number
}

/** Lost batches: after `after`, to `last`. */
interface Gap {
  readonly after: number
  readonly last: number
}

const SECOND_MS = 1000
/** For an hour of seconds with charges: nobody waits longer for what a request cost. */
const MOST_SECONDS = 3600
const MOST_GAPS = 100

/**
 * What the batches of an instance charged, and which of them the store has forgotten. What is given back of a charge that the store never
 * saw would be taken from what others were charged.
 */
export class Losses {
  readonly #seconds: Second[] = []
  readonly #gaps: Gap[] = []

  /** The store has settled a batch with charges. @param at the store's time */
  settled(sequence: number, tokens: number, at: number): void {
    const newest = this.#seconds.at(-1)
    if (newest !== undefined && at - newest.at < SECOND_MS && at >= newest.at) {
      newest.last = sequence
      newest.tokens += tokens
      return
    }
    this.#seconds.push({ at, last: sequence, tokens })
    if (this.#seconds.length > MOST_SECONDS) this.#seconds.shift()
  }

  /** The store knows nothing of the batches after `after`, of which `last` was the last. @returns `null` if nothing was charged by them */
  lost(after: number, last: number): Loss | null {
    this.#gaps.push({ after, last })
    if (this.#gaps.length > MOST_GAPS) this.#gaps.shift()
    const seconds = this.#seconds.filter((second) => second.last > after)
    const [first] = seconds
    this.#seconds.splice(this.#seconds.length - seconds.length)
    return first === undefined
      ? null
      : { tokens: seconds.reduce((sum, { tokens }) => sum + tokens, 0), since: first.at }
  }

  /** Whether the store has forgotten the charge of a decision. */
  has({ batch }: Decision): boolean {
    return batch !== undefined && this.#gaps.some(({ after, last }) => batch > after && batch <= last)
  }
}
