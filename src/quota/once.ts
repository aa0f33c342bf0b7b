import { firstAndOthers } from '../lib/first-and-others.ts'

/**
 * Requests that may be repeated. A store remembers a charge by the key of its request. A repetition within a certain time is accepted,
 * whatever the windows hold, and not charged.
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
 * | a charge without open uses  | a report, which repeats an earlier report             | the same                              |
 * | nothing                     | a report of a charge that is kept by its report       | that charge, without open uses        |
 *
 * So all requests with one key together cost as much as the dearest of them. A free response does not give back what the others cost, and a
 * cheap one does not pay for a dear one. A use whose cost was known before never reports, and leaves what is paid as it is.
 */

/** How repetitions of a request are recognised, and how many are allowed. */
export interface Once {
  /** A hash of the user and the request without its body. */
  readonly key: string
  /** A hash of the body, at most 32 ASCII characters. */
  readonly body: string
  /** For how long after the charge repetitions are free, in milliseconds. */
  readonly forMs: number
  /** How many repetitions are free, 1 to 100. */
  readonly replays: number
  /** Whether the charge and its repetitions together are one use, which reports once. By default each of them is a use. */
  readonly isOneUse?: true
  /** Whether a report is remembered even if its charge is not, so that nobody can report it again. Default no. */
  readonly keepsReport?: true
}

/** One run of a window: its length, and the store's time of its start. The start is 0 for a window that was not charged. */
export interface ChargedRun {
  readonly seconds: number
  readonly startedAt: number
  /** The id of the grant, if this is the run of a grant. By default it is a window of the category. */
  readonly grant?: string
}

/**
 * Where a charge was counted. It is kept under the key, because a repetition corrects the original charge, whatever category, organisation
 * and limits the repetition itself has.
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
  /** Where the further meters of the charge were counted, in their order. Absent if there are none. */
  readonly others?: readonly Receipt[]
}

/** What is known of one meter of a charge. */
export interface Uses {
  /** How many of the request and its repetitions have not reported their cost in this meter yet. */
  readonly open: number
  /** The tokens of this charge that the windows hold. */
  readonly paid: number
  /** The highest cost that was reported. */
  readonly dearest: number
}

/** What a store keeps under a key. Its own members are the uses of the first meter. */
export interface Remembered extends Uses {
  readonly body: string
  /** The store's time of the charge, which is its identity. It is not corrected even if the clock was ahead. */
  readonly since: number
  /** From when repetitions are timed. This is `since`, or the moment at which `since` was first seen to lie in the future. */
  readonly start: number
  /** Repetitions that reached the upstream or may still reach it. */
  readonly replays: number
  /** The uses of the further meters of the charge, in their order. Absent if there are none. */
  readonly others?: readonly Uses[]
  readonly receipt: Receipt
}

/** What the key of a charge means for the charge. */
export type Judgement =
  /** No charge is remembered, so this one is charged, and remembered if it is accepted. */
  | { readonly kind: 'new' }
  /**
   * A free repetition. `since` is the time of the charge that pays for it, and `receipt` says where that charge was counted.
   */
  | { readonly kind: 'replayed'; readonly since: number; readonly receipt: Receipt }
  /** The key belongs to a request with another body, so this one is refused. */
  | { readonly kind: 'reused' }
  /** There were too many repetitions, so this one is charged, and not remembered. */
  | { readonly kind: 'spent' }

const NEW = { kind: 'new' } as const
const REUSED = { kind: 'reused' } as const
const SPENT = { kind: 'spent' } as const

function judge({ body, forMs, replays }: Once, known: Remembered | undefined, now: number): Judgement {
  if (known === undefined || now >= known.start + forMs) return NEW
  if (known.body !== body) return REUSED
  return known.replays < replays ? { kind: 'replayed', since: known.since, receipt: known.receipt } : SPENT
}

/** How long a charge outlives its key, because a request that is still under way must find its charge. */
const LINGER_MS = 600_000

/** When the charge may be forgotten, in milliseconds after it was made. */
export function keptMs({ forMs }: Once): number {
  return forMs + LINGER_MS
}

/** The report of what a request with a key, or its repetition, has cost. */
export interface Report {
  readonly once: Once
  /** The index of the meter in the charge; 0 is the first. */
  readonly meter: number
  /** The reserve that this request was charged, or would have been without its key. */
  readonly reserve: number
  /** What this request cost, at least 0. */
  readonly cost: number
  /** Whether this is the charged request, and not a repetition. */
  readonly isFirst: boolean
  /** Whether the request certainly did not reach the upstream. */
  readonly isUnreached: boolean
  /** The time of the charge, which is its identity. */
  readonly since: number
}

/** The keys of a batch. */
export interface Onces {
  /** Decides what a key means for a request. A free repetition opens a use of the first meters. @param meters how many; 0 opens no use */
  judge(once: Once, now: number, meters: number): Judgement
  /** Remembers an accepted charge under a new key. @param costs of its meters, at least one */
  keep(once: Once, costs: readonly number[], now: number, receipt: Receipt): void
  /** @returns tokens of the charge to give back. A number below 0 is charged in addition */
  report(report: Report): number
}

/**
 * Makes `Onces` from what is remembered by key.
 * @param write remembers something under a key that may be forgotten at `ends`, in milliseconds since the epoch; `undefined` forgets the key
 */
export function oncesOf(
  read: (key: string) => Remembered | undefined,
  write: (key: string, remembered: Remembered | undefined, ends: number) => void,
): Onces {
  return {
    judge(once, now, meters) {
      let known = read(once.key)
      // The clock was ahead, so the charge counts as made now.
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
      // The charge is forgotten, so nobody knows of its other uses.
      if (known?.since !== since) {
        if (isFirst && once.keepsReport) write(once.key, reported(once, since, cost), since + keptMs(once))
        return isFirst ? reserve - cost : 0
      }
      const uses = usesOf(known)[meter]
      // Either the charge had fewer meters than its repetition, or this use has already reported.
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

/** What is kept of a charge if only its report came. */
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

/** Whether no use is open, and no use has cost anything. */
function isFree({ open, dearest }: Uses): boolean {
  return open === 0 && dearest === 0
}
