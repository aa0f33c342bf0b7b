import { messageOf } from '../../errors.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Batch, Decision } from '../charge.ts'
import { LostCharges, type QuotaStore, StaleBatch, StoreError } from '../quota-store.ts'

export interface Until {
  /**
   * Whether anybody waits for a batch that certainly was not applied. A batch that may have been applied is always sent
   * again.
   */
  readonly isWanted: () => boolean
  /** Whether the batch is to be given up, whatever became of it. */
  readonly isOver: () => boolean
}

export type Outcome =
  | { readonly settled: true; readonly decisions: readonly Decision[] }
  /** Not applied, because the store has forgotten what it settled after the batch `after`. */
  | { readonly settled: 'lost'; readonly after: number }
  /** Not applied now, because the store takes no more batches of this name. If `uncertain`, an earlier attempt may have been. */
  | { readonly settled: 'stale'; readonly failure: StoreError; readonly uncertain: boolean }
  /** Not applied, or, if `uncertain`, given up without a known outcome. */
  | { readonly settled: false; readonly failure: StoreError; readonly uncertain: boolean }

export interface SenderOptions {
  readonly store: Pick<QuotaStore, 'settle'>
  /** How long the store may be silent while somebody waits for it, in milliseconds. */
  readonly deadlineMs: number
  /** How long a batch of unknown outcome is sent again, in milliseconds. */
  readonly giveUpMs: number
  readonly observe: Observer
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Milliseconds since the epoch. Unlike the monotonic clock it goes on while the machine sleeps. Default `Date.now`. */
  readonly wall?: () => number
  /** 0 to 1. */
  readonly random: () => number
}

/** How long a batch is sent again if it fails for a reason that has nothing to do with the connection. */
const FAULT_MS = 5000
const FIRST_PAUSE_MS = 20
/** With this pause a process asks a store that is out 5 to 10 times a second, so it soon notices that the store is back. */
const LONGEST_PAUSE_MS = 200

/**
 * Sends batches one at a time, each again until its outcome is known. It also remembers how the store is doing.
 *
 * | The batch | Event                                              | Next                                                  |
 * |-----------|----------------------------------------------------|-------------------------------------------------------|
 * |           | `send`                                             | certain                                               |
 * | certain   | it certainly was not applied, and is wanted        | certain: sent again after a pause                     |
 * | certain   | it certainly was not applied, and is not wanted    | given up                                              |
 * | certain   | it may have been applied                           | uncertain: sent again after a pause                   |
 * | uncertain | it fails, however                                  | uncertain: sent again, for as long as the store remembers its reply |
 * | uncertain | it has failed for too long                         | given up, its outcome is unknown                      |
 * | any       | the store settles it                               | settled                                               |
 * | any       | the store has forgotten earlier ones               | lost, and certainly not applied                       |
 * | any       | the store has settled a later one of this name     | stale: certainly not applied, or its outcome is unknown |
 * | any       | it fails, or a pause ends, and `isOver` is true    | given up                                              |
 */
export class Sender {
  readonly #options: SenderOptions
  #lastResponse = Number.NEGATIVE_INFINITY
  #roundTrip = 0
  #lastFailure: StoreError | null = null
  #failingSince: number | null = null
  #ahead: number
  /** The batch under way, if it may have been applied. */
  #open: Batch | null = null
  #isAbandoned = false

  constructor(options: SenderOptions) {
    this.#options = options
    this.#ahead = Date.now() - options.now()
  }

  /** When the store responded last, on our clock; minus infinity before its first response. */
  get lastResponse(): number {
    return this.#lastResponse
  }

  /**
   * How long the store's last response took, in milliseconds, at most three deadlines, because a store that needs more is out. By this a
   * store that is far away counts as slow and not as silent, once it has responded.
   */
  get roundTrip(): number {
    return this.#roundTrip
  }

  /** Why the store failed last; `null` if it has responded since. */
  get lastFailure(): StoreError | null {
    return this.#lastFailure
  }

  /** Milliseconds from our monotonic clock to the store's clock (since the epoch), by its last decision. */
  get ahead(): number {
    return this.#ahead
  }

  async send(batch: Batch, until: Until): Promise<Outcome> {
    const { store, giveUpMs, now, random, wall = Date.now } = this.#options
    const startedAt = now()
    const startedOnWall = wall()
    // The store forgets its reply by its own clock, so the later clock counts. One attempt too many would be charged twice.
    const age = (): number => Math.max(now() - startedAt, wall() - startedOnWall)
    let uncertain = false
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        this.#open = batch
        const askedAt = now()
        const decisions = await store.settle(batch)
        this.#open = null
        this.#roundTrip = Math.min(now() - askedAt, 3 * this.#options.deadlineMs)
        this.#succeeded(batch, decisions, now() - startedAt, uncertain)
        return { settled: true, decisions }
      } catch (error) {
        if (error instanceof LostCharges) {
          this.#open = null
          return { settled: 'lost', after: error.last }
        }
        const failure = asStoreError(error)
        this.#failed(failure)
        if (failure.applied === 'unknown') uncertain = true
        if (!uncertain) this.#open = null
        if (failure instanceof StaleBatch) return { ...this.#giveUp(failure, uncertain), settled: 'stale' }
        const isLost = until.isOver() || this.#isHopeless(uncertain, failure, age(), until)
        if (isLost) return this.#giveUp(failure, uncertain)
        // Varies the pause, so that processes that lost the same store do not all ask at the same time.
        const wait = pause * (0.5 + random() / 2)
        await new Promise((resolve) => setTimeout(resolve, wait))
        // A ledger that closes reports what is never charged, so nothing may be charged after that. And if this process
        // was stopped or its machine slept, the store may have forgotten its last reply by now.
        if (until.isOver() || (uncertain && age() > giveUpMs)) return this.#giveUp(failure, uncertain)
      }
    }
  }

  /** Notes that the batch under way got no response for too long, so the store counts as failing. */
  miss(): void {
    this.#failingSince ??= this.#options.now()
  }

  /**
   * Nobody waits any more. If the batch under way may have been applied, its outcome is reported as unknown now, and
   * not at its next failure.
   * @returns whether it may have been applied
   */
  abandon(): boolean {
    const isUnknown = this.#open !== null
    this.#reportOpen()
    this.#isAbandoned = true
    return isUnknown
  }

  #giveUp(failure: StoreError, uncertain: boolean): Extract<Outcome, { settled: false }> {
    this.#reportOpen()
    return { settled: false, failure, uncertain }
  }

  #isHopeless(uncertain: boolean, failure: StoreError, ageMs: number, { isWanted }: Until): boolean {
    if (!uncertain) return !isWanted()
    const { giveUpMs } = this.#options
    // A reply that cannot be understood will be the same at each attempt, and all other charges wait behind it.
    const isFault = failure.applied === 'unknown' && failure.reason === 'other'
    return ageMs > (isFault ? Math.min(FAULT_MS, giveUpMs) : giveUpMs)
  }

  #succeeded(batch: Batch, decisions: readonly Decision[], durationMs: number, wasUncertain: boolean): void {
    const { observe, now } = this.#options
    this.#lastResponse = now()
    this.#lastFailure = null
    const [first] = decisions
    // A batch that was sent again may come back with the time of an earlier attempt, which says nothing about the
    // clocks.
    if (first !== undefined && !wasUncertain) this.#ahead = first.at - this.#lastResponse
    observe({ type: 'batch_settled', charges: batch.charges.length, refunds: batch.refunds.length, durationMs })
    if (wasUncertain && !this.#isAbandoned) this.#reportUnknown(batch, true)
    const since = this.#failingSince
    if (since !== null) observe({ type: 'store_recovered', downMs: Math.round(this.#lastResponse - since) })
    this.#failingSince = null
  }

  #failed(error: StoreError): void {
    this.miss()
    this.#lastFailure = error
    const { reason, message } = error
    this.#options.observe({ type: 'store_failed', operation: 'settle', reason, message })
  }

  #reportOpen(): void {
    if (this.#open !== null && !this.#isAbandoned) this.#reportUnknown(this.#open, false)
    this.#open = null
  }

  /** A batch without charges leaves nothing unknown. */
  #reportUnknown({ charges }: Batch, settled: boolean): void {
    if (charges.length > 0) this.#options.observe({ type: 'outcome_unknown', charges: charges.length, settled })
  }
}

function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError(messageOf(error), 'other', 'unknown', error)
}
