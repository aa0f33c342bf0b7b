import type { Batch, Decision } from './charge.ts'
import type { Counter } from './counter.ts'

/** What a user has used: for each scope one counter for each of the requested categories, in their order. */
export interface UsageSnapshot {
  /** The store's time of the reading, in milliseconds since the epoch. */
  readonly at: number
  readonly personal: readonly Counter[]
  /** `null` if no organisation was requested. */
  readonly organisation: readonly Counter[] | null
  readonly global: readonly Counter[]
}

/** Keeps the counters. Every implementation passes test/quota/quota-store.suite.ts. */
export interface QuotaStore {
  /**
   * Settles a batch with the arithmetic of `settleBatch` on the store's own clock. On an error nothing is settled. The
   * decisions come in the order of the charges. After an error the same batch (same instance and sequence) may be sent
   * again: it is applied once and gets the same reply. If a later batch was applied, a batch with a lower sequence is
   * refused and never applied. An instance sends one batch at a time. The call ends in bounded time.
   * @throws StoreError whose `applied` says whether the batch may have been applied
   * @throws StaleBatch if a later batch of the instance was applied
   * @throws LostCharges if the store no longer knows `batch.after`; nothing is applied then
   */
  settle(batch: Batch): Promise<readonly Decision[]>

  /** Reads usage and charges nothing. @param organisation of the user; default none @throws StoreError */
  readUsage(user: string, categories: readonly string[], organisation?: string | null): Promise<UsageSnapshot>
}

/** A user or an organisation with usage, with counters as they are stored, so that ended windows may be among them. */
export interface Used {
  readonly id: string
  readonly counters: ReadonlyMap<string, Counter>
}

/** The owners that one step of a scan found. */
export interface UsedStep {
  /** The store's time, in milliseconds since the epoch. */
  readonly at: number
  readonly owners: readonly Used[]
  /** Where the following step begins; `null` at the end. */
  readonly next: string | null
}

/** Looks through the users and the organisations that have counters. Every implementation passes test/quota/usage.suite.ts. */
export interface UsageStore {
  /**
   * One step through all users. It returns some of them, in no order and each once. If users come and go between steps,
   * one may come twice. A step holds the store for a moment only, however many users there are.
   * @param cursor where the last step ended; `null` begins
   * @throws StoreError
   */
  scanUsers(cursor: string | null): Promise<UsedStep>
  /** One step through all organisations in the same way. @throws StoreError */
  scanOrganisations(cursor: string | null): Promise<UsedStep>
}

export type StoreFailure =
  | 'timeout'
  | 'connection'
  | 'readonly'
  | 'out_of_memory'
  | 'loading'
  | 'busy'
  | 'auth'
  | 'cluster'
  | 'disk_full'
  | 'disk_error'
  | 'other'

/** Whether the store sent nothing at all. Every other failure is a response. */
export function isSilence(reason: StoreFailure): boolean {
  return reason === 'timeout' || reason === 'connection'
}

/** The store could not do what was asked of it, or did not respond. A refused charge is never an error. */
export class StoreError extends Error {
  /** A short name that never changes, for metrics. */
  readonly reason: StoreFailure
  /** `no` if certainly nothing was applied. `unknown` if something may have been, and then only a batch may be sent again. */
  readonly applied: 'no' | 'unknown'

  constructor(message: string, reason: StoreFailure, applied: 'no' | 'unknown', cause?: unknown) {
    super(message, { cause })
    this.name = 'StoreError'
    this.reason = reason
    this.applied = applied
  }
}

/** The store has settled a later batch of this instance, perhaps in a newer state that was restored, so it takes no earlier batch. */
export class StaleBatch extends StoreError {
  constructor(message: string, cause?: unknown) {
    super(message, 'other', 'no', cause)
    this.name = 'StaleBatch'
  }
}

/** The store has forgotten its last batches, after a failover, a restart, a restored copy or an eviction. */
export class LostCharges extends StoreError {
  /** The last batch of the instance that the store knows; 0 for none. */
  readonly last: number

  constructor(last: number, cause?: unknown) {
    super(`the store has forgotten the batches after ${last}`, 'other', 'no', cause)
    this.name = 'LostCharges'
    this.last = last
  }
}
