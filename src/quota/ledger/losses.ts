import type { Decision } from '../charge.ts'

/** Charges that a store has settled and forgotten. */
export interface Loss {
  /** Their tokens. If more batches than are known one by one were settled since, up to those of a second more. */
  readonly tokens: number
  /** The store's time of the first of them, or up to a second before, in milliseconds since the epoch. */
  readonly since: number
}

/** What was charged by the batches after those of the entry before, to `last`: by one of them, or within a second. */
interface Entry {
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
/** Of so many batches each is known by itself, of twice as many at most: at a thousand a second those of four seconds. */
const MOST_EXACT = 4096
/** For an hour of seconds with charges: nobody waits longer for what a request cost. */
const MOST_SECONDS = 3600
const MOST_GAPS = 100

/**
 * What the batches of an instance charged, and which of them the store has forgotten. What is given back of a charge that the store never
 * saw would be taken from what others were charged.
 */
export class Losses {
  /** Of earlier batches, by the second. */
  readonly #seconds: Entry[] = []
  /** Of the batches behind them, each. */
  readonly #batches: Entry[] = []
  readonly #gaps: Gap[] = []

  /** The store has settled a batch with charges. @param at the store's time */
  settled(sequence: number, tokens: number, at: number): void {
    this.#batches.push({ at, last: sequence, tokens })
    if (this.#batches.length < 2 * MOST_EXACT) return
    for (const batch of this.#batches.splice(0, MOST_EXACT)) this.#addToSeconds(batch)
  }

  #addToSeconds(batch: Entry): void {
    const newest = this.#seconds.at(-1)
    if (newest !== undefined && batch.at - newest.at < SECOND_MS && batch.at >= newest.at) {
      newest.last = batch.last
      newest.tokens += batch.tokens
      return
    }
    this.#seconds.push(batch)
    if (this.#seconds.length > MOST_SECONDS) this.#seconds.shift()
  }

  /** The store knows nothing of the batches after `after`, of which `last` was the last. @returns `null` if nothing was charged by them */
  lost(after: number, last: number): Loss | null {
    this.#gaps.push({ after, last })
    if (this.#gaps.length > MOST_GAPS) this.#gaps.shift()
    const lost = [...takenAfter(this.#seconds, after), ...takenAfter(this.#batches, after)]
    const [first] = lost
    return first === undefined ? null : { tokens: lost.reduce((sum, { tokens }) => sum + tokens, 0), since: first.at }
  }

  /** Whether the store has forgotten the charge of a decision. */
  has({ batch }: Decision): boolean {
    return batch !== undefined && this.#gaps.some(({ after, last }) => batch > after && batch <= last)
  }
}

/** Takes those out that end after a batch. */
function takenAfter(entries: Entry[], after: number): Entry[] {
  const first = entries.findIndex(({ last }) => last > after)
  return first === -1 ? [] : entries.splice(first)
}
