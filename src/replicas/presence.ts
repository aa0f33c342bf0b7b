import type { Observation } from '../observe/observation.ts'
import type { Silence, Unsent } from '../usage/silence.ts'

/** The processes that share a store, each reporting every few seconds that it is there. */

/** What one process that takes requests reports of itself. Plain JSON. */
export interface Replica {
  /** Random for each start of the process. */
  readonly instance: string
  readonly host: string
  readonly pid: number
  readonly version: string
  /** Of what its configuration decides (`config/fingerprint.ts`): replicas with the same one decide alike. */
  readonly hash: string
  /** The last change at run time that it follows. */
  readonly controlVersion: number
  /** Milliseconds since the epoch, its own clock. */
  readonly startedAt: number
  readonly ready: boolean
  /** Why not, or what is missing although it is. */
  readonly reasons: readonly string[]
  /** Why the last configuration file was not taken; empty if it was. */
  readonly configProblems: readonly string[]
  /** Since it started. */
  readonly counts: ReplicaCounts
  /** Requests that `auth.shadow` let in since it started, by what was wrong. A build that does not count them has none. */
  readonly letIn?: LetIn
  /** Requests by route, as written in the file, since it started: the 200 most used, and UNMATCHED. */
  readonly hits: Readonly<Record<string, number>>
  /** What matched no route: the latest 20, method and path without its query, at most 200 characters. */
  readonly unmatched: readonly string[]
  /** What it has counted of usage and has not yet brought into the store. A build that does not say so has none. */
  readonly unsent?: Unsent
}

export type LetIn = Readonly<Record<Extract<Observation, { type: 'caller_let_in' }>['why'], number>>

export interface ReplicaCounts {
  readonly requests: number
  /** Answered 429. */
  readonly refused: number
  /** Would have been answered 429, and were let through. */
  readonly shadowed: number
  readonly tokens: number
  readonly forwarded: number
  /** Forwarding failed, or the upstream answered 500 or above. */
  readonly failed: number
  readonly inFlight: number
}

/** How often a process reports that it is there, in milliseconds. It is forgotten after a longer silence. */
export const BEAT_MS = 2000
export const FORGET_MS = 15_000
/** Counts that wait for longer than this are said to be missing, in milliseconds: a process sends them every two seconds. */
export const LATE_MS = 3 * BEAT_MS
/** For how long it is known that a process ended without a word: longer than any day of a series is kept. */
export const KEEP_SILENCES_MS = 402 * 24 * 60 * 60_000
/** Of more of them two that follow each other become one that reaches over both. */
export const MOST_SILENCES = 200

/** The key of what matched no route among the hits: no rule of a file is written so. */
export const UNMATCHED = 'unmatched'

export interface ReplicaStore {
  /** Who was silent for longer than FORGET_MS is forgotten, and his silence is noted until he speaks again. @throws StoreError */
  beat(replica: Replica): Promise<void>
  /** Those that spoke within FORGET_MS of now, on the store's clock, by host and pid; and how long ago each spoke. @throws StoreError */
  listReplicas(): Promise<readonly (Replica & { readonly silentMs: number })[]>
  /** For a process that ends, and has brought all that it counted into the store. @throws StoreError */
  leave(instance: string): Promise<void>
  /** What processes that ended without a word, or are silent, may have taken with them: those of the last 8 days. @throws StoreError */
  readSilences(): Promise<readonly Silence[]>
}
