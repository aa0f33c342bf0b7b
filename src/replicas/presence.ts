import type { Observation } from '../observe/observation.ts'
import type { Silence, Unsent } from '../usage/silence.ts'

/** The processes that share a store. Each reports every few seconds that it is alive. */

/** The report of one process that takes requests. Plain JSON. */
export interface Replica {
  /** A random id for each start of the process. */
  readonly instance: string
  readonly host: string
  readonly pid: number
  readonly version: string
  /** The hash of all that its configuration decides (`config/fingerprint.ts`). Replicas with the same hash decide alike. */
  readonly hash: string
  /** The number of the last change at run time that it follows. */
  readonly controlVersion: number
  /** Milliseconds since the epoch, on its own clock. */
  readonly startedAt: number
  readonly ready: boolean
  /** Why it is not ready, or which part is missing although it is ready. */
  readonly reasons: readonly string[]
  /** Why the last configuration file was not accepted; empty if it was. */
  readonly configProblems: readonly string[]
  /** The counts since it started. */
  readonly counts: ReplicaCounts
  /** Requests that `auth.shadow` let in since it started, by their credential's fault. Older builds have no count. */
  readonly letIn?: LetIn
  /** Requests by route, as written in the file, since it started: the 200 most used, and UNMATCHED. */
  readonly hits: Readonly<Record<string, number>>
  /** Method and path (without its query) of the latest 20 requests without a route, at most 200 characters each, latest first. */
  readonly unmatched: readonly string[]
  /** How far back the usage reaches that it has counted and not yet written to the store. Missing if a build does not report it. */
  readonly unsent?: Unsent
}

export type LetIn = Readonly<Record<Extract<Observation, { type: 'caller_let_in' }>['why'], number>>

export interface ReplicaCounts {
  readonly requests: number
  /** Requests that got 429. */
  readonly refused: number
  /** Requests that would have got 429, and were let through. */
  readonly shadowed: number
  readonly tokens: number
  readonly forwarded: number
  /** Requests whose forwarding failed, or to which the upstream responded with 500 or above. */
  readonly failed: number
  readonly inFlight: number
}

/** How often a process reports that it is alive, in milliseconds. */
export const BEAT_MS = 2000
/** After this many milliseconds without a report a process is forgotten. */
export const FORGET_MS = 15_000
/** Counts that have waited for longer than this many milliseconds are reported as missing. A process sends them every two seconds. */
export const LATE_MS = 3 * BEAT_MS
/** How long a silence is remembered, in milliseconds. This is longer than any day of a series is kept. */
export const KEEP_SILENCES_MS = 402 * 24 * 60 * 60_000
/** The most silences that are kept. If there are more, the two with the least time between them become one that spans both. */
export const MOST_SILENCES = 200

/** The key of unmatched requests among the hits: no rule of a file has this text. */
export const UNMATCHED = 'unmatched'

export interface ReplicaStore {
  /** Keeps the report of a process. Forgets each process that was silent for longer than FORGET_MS, and notes its silence. @throws StoreError */
  beat(replica: Replica): Promise<void>
  /** The processes that reported within FORGET_MS, on the store's clock, sorted by host and pid. @throws StoreError */
  listReplicas(): Promise<readonly (Replica & { readonly silentMs: number })[]>
  /** Forgets a process that ends after it has written all its counts to the store. @throws StoreError */
  leave(instance: string): Promise<void>
  /** The times, up to KEEP_SILENCES_MS ago, from which counts may be missing, because a process is or was silent. @throws StoreError */
  readSilences(): Promise<readonly Silence[]>
}
