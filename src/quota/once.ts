import { firstAndOthers } from '../lib/first-and-others.ts'

/**
 * Requests that may come again. A store remembers a charge by the key that its request has. A repetition within a time is
 * accepted, whatever the windows hold, and not charged.
 *
 * | What is remembered of a key | Event                                                 | Next                                  |
 * |-----------------------------|-------------------------------------------------------|---------------------------------------|
 * | nothing, or what has ended  | a charge with the key is accepted                     | the charge, with one open use         |
 * | a charge                    | a repetition with its body, and one is left           | the same, with one open use more      |
 * | a charge                    | a repetition with its body, and none is left          | the same; it is charged as any        |
 * | a charge                    | a request with another body, or field of its price    | the same; it is refused               |
 * | a charge of several open uses | one of them reports what it cost                    | one open use less; what is paid rises to that, or stays |
 * | a charge of one open use    | it reports what it cost                               | what is paid becomes what the dearest use cost |
 * | a charge of one open use    | it reports that it cost nothing, as all before it did | nothing                               |
 * | a charge without open uses  | a report, which is one that was made before           | the same                              |
 * | nothing                     | a report of a charge that is kept by its report       | that charge, without open uses        |
 *
 * So all requests of a key together cost what the dearest of them did: one whose response was free does not take back the rest, and a
 * cheap one does not pay for a dear one. A use that never reports, as its cost was known before, leaves what is paid as it is.
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
  /** Whether the charge and its repetitions are one use, which reports once. Default each of them is one. */
  readonly isOneUse?: true
  /** Whether a report of a charge that is not remembered is: so nobody reports it again. Default not. */
  readonly keepsReport?: true
}

/** One run of a window: its length, and the store's time of its start; 0 for a window that was not charged. */
export interface ChargedRun {
  readonly seconds: number
  readonly startedAt: number
  /** The id of the grant that this is the run of. Default it is a window of the category. */
  readonly grant?: string
}

/**
 * Where a charge was counted. It is kept under the key: what a repetition gives back, or costs beyond, is that of the charge, whatever the
 * category, the organisation and the limits of the request are meanwhile.
 */
export interface Receipt {
  readonly category: string
  /** `null` if no window of an organisation was charged. */
  readonly organisation: string | null
  readonly runs: {
    readonly personal: readonly ChargedRun[]
    readonly organisation: readonly ChargedRun[]
    readonly global: readonly ChargedRun[]
  }
  /** The same of the further meters of the charge, in their order. Missing where it has none. */
  readonly others?: readonly Receipt[]
}

/** What is known of one meter of a charge. */
export interface Uses {
  /** The request and its repetitions, less those that have reported what they cost of it. */
  readonly open: number
  /** The tokens that the windows hold of it. */
  readonly paid: number
  /** What the dearest of those that have reported cost. */
  readonly dearest: number
}

/** What a store keeps under a key. It has the uses of the first meter itself. */
export interface Remembered extends Uses {
  readonly body: string
  /** The store's time of the charge, its identity: it is not set right if the clock was ahead. */
  readonly since: number
  /** From when the time of the repetitions counts: `since`, or when it was first seen to lie in the future. */
  readonly start: number
  /** Repetitions that reached the upstream, or may yet. */
  readonly replays: number
  /** Of the further meters of the charge, in their order. Missing where it has none. */
  readonly others?: readonly Uses[]
  readonly receipt: Receipt
}

/** What the key of a charge makes of it. */
export type Judgement =
  /** No charge is remembered: it is a charge as any, and remembered if it is accepted. */
  | { readonly kind: 'new' }
  /** A repetition that is not charged. `since`: the time of the charge that pays for it. `receipt`: where that was counted. */
  | { readonly kind: 'replayed'; readonly since: number; readonly receipt: Receipt }
  /** The key is that of a request with another body: it is refused. */
  | { readonly kind: 'reused' }
  /** There were too many repetitions: it is a charge as any, and not remembered. */
  | { readonly kind: 'spent' }

const NEW = { kind: 'new' } as const
const REUSED = { kind: 'reused' } as const
const SPENT = { kind: 'spent' } as const

function judge({ body, forMs, replays }: Once, known: Remembered | undefined, now: number): Judgement {
  if (known === undefined || now >= known.start + forMs) return NEW
  if (known.body !== body) return REUSED
  return known.replays < replays ? { kind: 'replayed', since: known.since, receipt: known.receipt } : SPENT
}

/** How long a charge is known after its key has ended: the request may still be under way, and its response must find the charge. */
const LINGER_MS = 600_000

/** How long after the charge it may be forgotten, in milliseconds. */
export function keptMs({ forMs }: Once): number {
  return forMs + LINGER_MS
}

/** A request with a key, or a repetition of it, that reports what it cost. */
export interface Report {
  readonly once: Once
  /** Of which meter of the charge: 0 is the first. */
  readonly meter: number
  /** What the request itself was charged, or would have been as a first one. */
  readonly reserve: number
  /** What it cost, at least 0. */
  readonly cost: number
  /** Whether it is the charge itself, and not a repetition. */
  readonly isFirst: boolean
  /** Whether it certainly reached nobody. */
  readonly isUnreached: boolean
  /** The time of the charge. */
  readonly since: number
}

/** The keys that a batch works on. */
export interface Onces {
  /** A repetition that is not charged is counted, and uses as many meters of the charge as it has itself. @param meters 0 for no use of its own */
  judge(once: Once, now: number, meters: number): Judgement
  /** A charge of a new key was accepted. @param costs of its meters, one at least */
  keep(once: Once, costs: readonly number[], now: number, receipt: Receipt): void
  /** @returns the tokens to give back of the charge; below 0, to charge in addition */
  report(report: Report): number
}

/** By what is remembered of a key. @param write is given `undefined` for nothing, and else when it may be forgotten */
export function oncesOf(
  read: (key: string) => Remembered | undefined,
  write: (key: string, remembered: Remembered | undefined, ends: number) => void,
): Onces {
  return {
    judge(once, now, meters) {
      let known = read(once.key)
      // The clock was ahead: the charge counts as made now.
      if (known !== undefined && known.start > now) {
        known = { ...known, start: now }
        write(once.key, known, now + keptMs(once))
      }
      const judged = judge(once, known, now)
      if (judged.kind === 'replayed' && known !== undefined) {
        const uses = withUses(known, (each, i) => (i < meters ? { ...each, open: each.open + 1 } : each))
        write(once.key, { ...uses, replays: known.replays + 1 }, known.start + keptMs(once))
      }
      return judged
    },
    keep(once, costs, now, receipt) {
      const { key, body } = once
      const [first, ...rest] = costs.map((paid): Uses => ({ open: 1, paid, dearest: 0 })) as [Uses, ...Uses[]]
      const others = rest.length === 0 ? {} : { others: rest }
      write(key, { body, since: now, start: now, replays: 0, ...first, ...others, receipt }, now + keptMs(once))
    },
    report({ once, meter, reserve, cost, isFirst, isUnreached, since }) {
      const known = read(once.key)
      // Forgotten: nobody knows of the other uses.
      if (known?.since !== since) {
        if (isFirst && once.keepsReport) write(once.key, reported(once, since, cost), since + keptMs(once))
        return isFirst ? reserve - cost : 0
      }
      const uses = usesOf(known)[meter]
      // The charge had fewer meters than its repetition, or this was reported before.
      if (uses === undefined || uses.open === 0) return 0
      const open = uses.open - 1
      const dearest = Math.max(uses.dearest, cost)
      const paid = open > 0 ? Math.max(uses.paid, dearest) : dearest
      const replays = known.replays - (isUnreached && !isFirst && meter === 0 ? 1 : 0)
      const next = withUses({ ...known, replays }, (each, i) => (i === meter ? { open, paid, dearest } : each))
      if (usesOf(next).every(isFree)) write(once.key, undefined, 0)
      else write(once.key, next, known.start + keptMs(once))
      return uses.paid - paid
    },
  }
}

/** What is kept of a charge of which only its report came. */
function reported({ body }: Once, since: number, cost: number): Remembered {
  const receipt = { category: '', organisation: null, runs: { personal: [], organisation: [], global: [] } }
  return { body, since, start: since, replays: 0, open: 0, paid: cost, dearest: cost, receipt }
}

function usesOf(known: Remembered): readonly Uses[] {
  return firstAndOthers<Uses>(known)
}

function withUses(known: Remembered, change: (uses: Uses, meter: number) => Uses): Remembered {
  const { open, paid, dearest } = change(known, 0)
  const changed = { ...known, open, paid, dearest }
  return known.others === undefined
    ? changed
    : { ...changed, others: known.others.map((uses, i) => change(uses, i + 1)) }
}

/** Whether nobody uses it any more, and nobody's use cost anything. */
function isFree({ open, dearest }: Uses): boolean {
  return open === 0 && dearest === 0
}
