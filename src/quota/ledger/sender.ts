import { messageOf } from '../../errors.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Batch, Decision } from '../charge.ts'
import { type QuotaStore, StoreError } from '../quota-store.ts'

/** Sends batches, one at a time, each again until its outcome is known; and remembers how the store is doing. */
export interface Sender {
  send(batch: Batch, until: Until): Promise<Outcome>
  /** When the store answered last, on our clock; minus infinity before its first answer. */
  lastResponse(): number
  /** Why it failed last; `null` when it has answered since. */
  lastFailure(): StoreError | null
  /** The batch under way got no answer for too long: the store counts as failing. */
  miss(): void
  /** Milliseconds from our monotonic clock to the store's (since the epoch), as far as its last decision lets know. */
  ahead(): number
  /**
   * Nobody waits any more: of a batch under way that may have been applied it is told now, not at its next failure, that its
   * outcome is unknown. @returns whether there is such a one
   */
  abandon(): boolean
}

export interface Until {
  /** Whether anybody waits for a batch that certainly was not applied; any other is sent on. */
  readonly isWanted: () => boolean
  /** Whether it is to be given up, whatever became of it, and not sent again. */
  readonly isOver: () => boolean
}

export type Outcome =
  | { readonly settled: true; readonly decisions: readonly Decision[] }
  /** Not applied, or (`uncertain`) given up without having learnt. */
  | { readonly settled: false; readonly failure: StoreError; readonly uncertain: boolean }

export interface SenderOptions {
  readonly store: Pick<QuotaStore, 'settle'>
  /** How long a batch of unknown outcome is sent again, in milliseconds. */
  readonly giveUpMs: number
  readonly observe: Observer
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** 0 to 1. */
  readonly random: () => number
}

/** How long a batch is sent again that fails for no reason of the connection. */
const FAULT_MS = 5000
const FIRST_PAUSE_MS = 20
/** With this a process asks a store that is out 5 to 10 times a second, and sees it come back as soon. */
const LONGEST_PAUSE_MS = 200

export function createSender({ store, giveUpMs, observe, now, random }: SenderOptions): Sender {
  let lastResponse = Number.NEGATIVE_INFINITY
  let lastFailure: StoreError | null = null
  let failingSince: number | null = null
  let ahead = Date.now() - now()
  /** The batch under way, while it may have been applied. */
  let open: Batch | null = null
  let abandoned = false

  async function send(batch: Batch, until: Until): Promise<Outcome> {
    const startedAt = now()
    let uncertain = false
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        open = batch
        const decisions = await store.settle(batch)
        open = null
        succeeded(batch, decisions, now() - startedAt, uncertain)
        return { settled: true, decisions }
      } catch (error) {
        const failure = asStoreError(error)
        failed(failure)
        if (failure.applied === 'unknown') uncertain = true
        if (!uncertain) open = null
        const isLost = until.isOver() || isHopeless(uncertain, failure, now() - startedAt, until)
        if (isLost) return giveUp(failure, uncertain)
        // Processes that lost the same store shall not ask for it in step.
        const wait = pause * (0.5 + random() / 2)
        await new Promise((resolve) => setTimeout(resolve, wait))
        // What was told at its end as never charged must not be charged after it; and a process that was stopped meanwhile may
        // wake when the store has forgotten its last reply.
        if (until.isOver() || (uncertain && now() - startedAt > giveUpMs)) return giveUp(failure, uncertain)
      }
    }
  }

  function giveUp(failure: StoreError, uncertain: boolean): Outcome {
    reportOpen()
    return { settled: false, failure, uncertain }
  }

  /** A batch that may have been applied is sent on, for as long as the store remembers replies; any other while somebody waits for it. */
  function isHopeless(uncertain: boolean, failure: StoreError, ageMs: number, { isWanted }: Until): boolean {
    if (!uncertain) return !isWanted()
    // A reply that cannot be understood will be the same at each try, and all other charges wait behind it.
    const isFault = failure.applied === 'unknown' && failure.reason === 'other'
    return ageMs > (isFault ? Math.min(FAULT_MS, giveUpMs) : giveUpMs)
  }

  function succeeded(batch: Batch, decisions: readonly Decision[], durationMs: number, wasUncertain: boolean): void {
    lastResponse = now()
    lastFailure = null
    const [first] = decisions
    // A batch that was sent again may be answered with the time at which it was applied.
    if (first !== undefined && !wasUncertain) ahead = first.at - lastResponse
    observe({ type: 'batch_settled', charges: batch.charges.length, refunds: batch.refunds.length, durationMs })
    if (wasUncertain && !abandoned) reportUnknown(batch, true)
    if (failingSince !== null) observe({ type: 'store_recovered', downMs: Math.round(lastResponse - failingSince) })
    failingSince = null
  }

  function failed(error: StoreError): void {
    failingSince ??= now()
    lastFailure = error
    observe({ type: 'store_failed', operation: 'settle', reason: error.reason, message: error.message })
  }

  function reportOpen(): void {
    if (open !== null && !abandoned) reportUnknown(open, false)
    open = null
  }

  /** Of a batch without charges nothing is left open. */
  function reportUnknown({ charges }: Batch, settled: boolean): void {
    if (charges.length > 0) observe({ type: 'outcome_unknown', charges: charges.length, settled })
  }

  return {
    send,
    lastResponse: () => lastResponse,
    lastFailure: () => lastFailure,
    miss() {
      failingSince ??= now()
    },
    ahead: () => ahead,
    abandon() {
      const isUnknown = open !== null
      reportOpen()
      abandoned = true
      return isUnknown
    },
  }
}

function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError(messageOf(error), 'other', 'unknown', error)
}
