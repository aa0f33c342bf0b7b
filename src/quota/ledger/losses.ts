import type { Decision } from '../charge.ts'

/** Charges that a store has settled and forgotten. */
export interface Loss {
  /** Their tokens. If the lost batches are no longer known one by one, the tokens of up to one more second are included. */
  readonly tokens: number
  /** The store's time of the first lost charge, or up to a second earlier, in milliseconds since the epoch. */
  readonly since: number
}

/** What the batches after the previous entry charged, up to and with `last`: one batch, or the batches of one second. */
interface Entry {
  readonly at: number
  last: number
  tokens: number
}

/** Lost batches: those after `after`, up to and with `last`. */
interface Gap {
  readonly after: number
  readonly last: number
}

const SECOND_MS = 1000
/** At least so many batches, and at most twice as many, are known one by one: at a thousand a second, the last four seconds. */
const MOST_EXACT = 4096
/** The most entries of older batches: an hour of seconds with charges. A loss of still older batches is reported without their tokens. */
const MOST_SECONDS = 3600
const MOST_GAPS = 100

/**
 * Remembers what the batches of an instance charged, and which of them the store has forgotten. A refund of a forgotten charge would take
 * tokens away that others were charged.
 */
export class Losses {
  /** Older batches, added up by the second. */
  readonly #seconds: Entry[] = []
  /** The latest batches, one by one. */
  readonly #batches: Entry[] = []
  readonly #gaps: Gap[] = []

  /** Notes that the store has settled a batch with charges. @param at the store's time */
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

  /** Notes that the store has forgotten the batches after `after`, up to and with `last`. @returns `null` if they charged nothing */
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

/** Removes and returns the entries whose `last` is after a batch. */
function takenAfter(entries: Entry[], after: number): Entry[] {
  const first = entries.findIndex(({ last }) => last > after)
  return first === -1 ? [] : entries.splice(first)
}
