import { messageOf } from '../../errors.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Batch, Decision } from '../charge.ts'
import { LostCharges, type QuotaStore, StaleBatch, StoreError } from '../quota-store.ts'

export interface Until {
  /** Whether anybody waits for a batch that certainly was not applied; any other is sent on. */
  readonly isWanted: () => boolean
  /** Whether it is to be given up, whatever became of it, and not sent again. */
  readonly isOver: () => boolean
}

export type Outcome =
  | { readonly settled: true; readonly decisions: readonly Decision[] }
  /** Not applied, as the store has forgotten what it settled after the batch `after`. */
  | { readonly settled: 'lost'; readonly after: number }
  /** Not applied now, as the store takes no more batches of this name; `uncertain`: an earlier attempt may have been applied. */
  | { readonly settled: 'stale'; readonly failure: StoreError; readonly uncertain: boolean }
  /** Not applied, or (`uncertain`) given up without having learnt. */
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
  /** Milliseconds since the epoch, which go on while the machine sleeps: the monotonic clock stands still then. Default `Date.now`. */
  readonly wall?: () => number
  /** 0 to 1. */
  readonly random: () => number
}

/** How long a batch is sent again that fails for no reason of the connection. */
const FAULT_MS = 5000
const FIRST_PAUSE_MS = 20
/** With this pause a process asks a store that is out 5 to 10 times a second, and sees it come back as soon. */
const LONGEST_PAUSE_MS = 200

/**
 * Sends batches, one at a time, each again until its outcome is known; and remembers how the store is doing.
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
 * | any       | it fails, or a pause ends, and it is over          | given up                                              |
 */
export class Sender {
  readonly #options: SenderOptions
  #lastResponse = Number.NEGATIVE_INFINITY
  #roundTrip = 0
  #lastFailure: StoreError | null = null
  #failingSince: number | null = null
  #ahead: number
  /** The batch under way, while it may have been applied. */
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
   * How long the store's last response took, in milliseconds; three deadlines at most, as one that needs more is out. So a store that is
   * far away is slow and not silent, from its first response on.
   */
  get roundTrip(): number {
    return this.#roundTrip
  }

  /** Why the store failed last; `null` when it has responded since. */
  get lastFailure(): StoreError | null {
    return this.#lastFailure
  }

  /** Milliseconds from our monotonic clock to the store's (since the epoch), as far as its last decision lets know. */
  get ahead(): number {
    return this.#ahead
  }

  async send(batch: Batch, until: Until): Promise<Outcome> {
    const { store, giveUpMs, now, random, wall = Date.now } = this.#options
    const startedAt = now()
    const startedOnWall = wall()
    // The store forgets its reply by its own clock, so the later of both counts: a batch that is sent once too often is charged twice.
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
        // Processes that lost the same store should not ask for it in step.
        const wait = pause * (0.5 + random() / 2)
        await new Promise((resolve) => setTimeout(resolve, wait))
        // What was reported as never charged when the ledger closed must not be charged after that. And a process that was
        // stopped meanwhile, or whose machine slept, may wake when the store has forgotten its last reply.
        if (until.isOver() || (uncertain && age() > giveUpMs)) return this.#giveUp(failure, uncertain)
      }
    }
  }

  /** The batch under way got no response for too long: the store counts as failing. */
  miss(): void {
    this.#failingSince ??= this.#options.now()
  }

  /**
   * Nobody waits any more. If the batch under way may have been applied, its outcome is reported as unknown now, not at
   * its next failure.
   * @returns whether there is such a batch
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
    // A reply that cannot be understood will be the same at each try, and all other charges wait behind it.
    const isFault = failure.applied === 'unknown' && failure.reason === 'other'
    return ageMs > (isFault ? Math.min(FAULT_MS, giveUpMs) : giveUpMs)
  }

  #succeeded(batch: Batch, decisions: readonly Decision[], durationMs: number, wasUncertain: boolean): void {
    const { observe, now } = this.#options
    this.#lastResponse = now()
    this.#lastFailure = null
    const [first] = decisions
    // A batch that was sent again may come back with the time at which it was applied.
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

  /** A batch without charges leaves nothing open. */
  #reportUnknown({ charges }: Batch, settled: boolean): void {
    if (charges.length > 0) this.#options.observe({ type: 'outcome_unknown', charges: charges.length, settled })
  }
}

function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError(messageOf(error), 'other', 'unknown', error)
}
