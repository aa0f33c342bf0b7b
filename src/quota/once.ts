/**
 * Requests that may come again. A store remembers a charge by the key that its request has. A repetition within a time is
 * accepted, whatever the windows hold, and not charged.
 *
 * | What is remembered of a key | Event                                                 | Next                                  |
 * |-----------------------------|-------------------------------------------------------|---------------------------------------|
 * | nothing, or what has ended  | a charge with the key is accepted                     | the charge, with one use              |
 * | a charge                    | a repetition with its body, and one is left           | the same, with one use more           |
 * | a charge                    | a repetition with its body, and none is left          | the same; it is charged as any        |
 * | a charge                    | a request with another body                           | the same; it is refused               |
 * | a charge of several uses    | one of them is given back, or a part of its cost      | the same, with one use less; nothing is given back |
 * | a charge of one use         | that is given back, or a part of its cost             | nothing; the least that any of its uses gave back is given back |
 *
 * So all requests of a key together cost what the dearest of them did: one whose response was free does not take back the rest.
 */

/** How the repetitions of a request are known, and what they may do. */
export interface Once {
  /** A hash of the request but for its body, and of its user. */
  readonly key: string
  /** A hash of the body, of at most 32 characters of ASCII. */
  readonly body: string
  /** How long after the charge a repetition is not charged, in milliseconds. */
  readonly forMs: number
  /** How many repetitions are not charged, 1 to 100. */
  readonly replays: number
}

/** What a store keeps under a key. */
export interface Remembered {
  readonly body: string
  /** The store's time of the charge, its identity: it is not set right if the clock was ahead. */
  readonly since: number
  readonly replays: number
  /** The request and its repetitions, less those that were given back. */
  readonly uses: number
  /** The least tokens that one of the others gave back; the cost of the charge as long as there is none. */
  readonly least: number
}

/** What the key of a charge makes of it. */
export type Judgement =
  /** No charge is remembered: it is a charge as any, and remembered if it is accepted. */
  | { readonly kind: 'new' }
  /** A repetition that is not charged. `since`: the time of the charge that pays for it. */
  | { readonly kind: 'replayed'; readonly since: number }
  /** The key is that of a request with another body: it is refused. */
  | { readonly kind: 'reused' }
  /** There were too many repetitions: it is a charge as any, and not remembered. */
  | { readonly kind: 'spent' }

const NEW = { kind: 'new' } as const
const REUSED = { kind: 'reused' } as const
const SPENT = { kind: 'spent' } as const

export function judge({ body, forMs, replays }: Once, known: Remembered | undefined, now: number): Judgement {
  if (known === undefined || now >= known.since + forMs) return NEW
  if (known.body !== body) return REUSED
  return known.replays < replays ? { kind: 'replayed', since: known.since } : SPENT
}

/** A request may be under way when its repetitions are charged anew; what it gives back must find its charge. */
const LINGER_MS = 60_000

/** How long after the charge it may be forgotten, in milliseconds. */
export function keptMs({ forMs }: Once): number {
  return forMs + LINGER_MS
}

/** The keys that a batch works on. */
export interface Onces {
  /** A repetition that is not charged is counted. */
  judge(once: Once, now: number): Judgement
  /** A charge of a new key was accepted. */
  keep(once: Once, cost: number, now: number): void
  /**
   * One use of a charge is given back.
   * @param amount the tokens that it gives back, above 0
   * @param isFirst whether it is that of the charge itself, and not of a repetition
   * @param since the time of the charge
   * @returns the tokens to give back: none as long as there are other uses
   */
  release(once: Once, amount: number, isFirst: boolean, since: number): number
}

/** By what is remembered of a key. @param write is given `undefined` for nothing, and else when it may be forgotten */
export function oncesOf(
  read: (key: string) => Remembered | undefined,
  write: (key: string, remembered: Remembered | undefined, ends: number) => void,
): Onces {
  return {
    judge(once, now) {
      const known = read(once.key)
      const judged = judge(once, known, now)
      if (judged.kind === 'replayed' && known !== undefined) {
        const { replays, uses } = known
        write(once.key, { ...known, replays: replays + 1, uses: uses + 1 }, known.since + keptMs(once))
      }
      return judged
    },
    keep(once, cost, now) {
      write(once.key, { body: once.body, since: now, replays: 0, uses: 1, least: cost }, now + keptMs(once))
    },
    release(once, amount, isFirst, since) {
      const { key } = once
      const known = read(key)
      // Forgotten: nobody knows of the other uses.
      if (known?.since !== since) return isFirst ? amount : 0
      const least = Math.min(known.least, amount)
      if (known.uses === 1) write(key, undefined, 0)
      else write(key, { ...known, uses: known.uses - 1, least }, since + keptMs(once))
      return known.uses === 1 ? least : 0
    },
  }
}
