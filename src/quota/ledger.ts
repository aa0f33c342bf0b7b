import type { Observer } from '../observe/observation.ts'
import type { Batch, Charge, Decision, Refund } from './charge.ts'
import { type QuotaStore, StoreError } from './store.ts'

/**
 * Takes charges one by one and settles them with the store in batches: all that arrive while a batch is under way go
 * out together in the next one. One batch at a time, so that a batch whose reply was lost can be sent again under the
 * same sequence number until its outcome is known, and is charged once.
 */
export interface Ledger {
  /**
   * Decides one charge.
   * @throws StoreError when the store did not decide within the deadline; whatever was charged then is given back
   * @throws LedgerFull when more charges wait than the ledger takes
   */
  charge(charge: Charge): Promise<Decision>
  /** Gives an accepted charge back; settled with the next batch. Call it at most once for a decision. Nothing happens after `close`. */
  refund(refund: Refund): void
  /** Settles what waits and stops; after `graceMs` whatever is left is given up. */
  close(graceMs: number): Promise<void>
}

export class LedgerFull extends Error {
  constructor(waiting: number) {
    super(`${waiting} charges are waiting for the store`)
    this.name = 'LedgerFull'
  }
}

export interface LedgerOptions {
  readonly store: Pick<QuotaStore, 'settle'>
  /** Random for each start of a process: a sequence number counts within it. */
  readonly instance: string
  /** How long the store may be silent while a charge waits for it, in milliseconds; a charge waits four times this at most. */
  readonly deadlineMs: number
  readonly observe: Observer
  /** Bounds the time that one batch holds the store. Default 256. */
  readonly maxBatch?: number
  /** Default 10,000. */
  readonly maxWaiting?: number
  /**
   * How long a batch of unknown outcome is sent again, in milliseconds. Default 30 minutes; a store must remember the
   * last reply of an instance for longer.
   */
  readonly giveUpMs?: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

interface Waiting {
  readonly charge: Charge
  readonly expiresAt: number
  readonly resolve: (decision: Decision) => void
  readonly reject: (error: Error) => void
  /** Its caller was told that the store did not answer. */
  abandoned: boolean
}

/** How long a batch is sent again that fails for no reason of the connection. */
const FAULT_MS = 5000
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 100

export function createLedger(options: LedgerOptions): Ledger {
  const { store, instance, deadlineMs, observe } = options
  const { maxBatch = 256, maxWaiting = 10_000, giveUpMs = 30 * 60_000, now = () => performance.now() } = options

  let queue: Waiting[] = []
  let refunds: Refund[] = []
  let sent: readonly Waiting[] = []
  let sequence = 0
  let busy = false
  let stopped = false
  let deadline: NodeJS.Timeout | null = null
  let failingSince: number | null = null
  let lastAnswer = Number.NEGATIVE_INFINITY
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  function charge(charge: Charge): Promise<Decision> {
    if (stopped) return Promise.reject(new StoreError('the ledger is closed', 'other', 'no'))
    if (queue.length >= maxWaiting) return Promise.reject(new LedgerFull(queue.length))
    return new Promise((resolve, reject) => {
      queue.push({ charge, expiresAt: now() + deadlineMs, resolve, reject, abandoned: false })
      watchDeadlines()
      wake()
    })
  }

  function refund(refund: Refund): void {
    if (stopped) return
    refunds.push(refund)
    wake()
  }

  /** Waits for the end of the event loop's turn, so that all requests that the same turn reads share a batch. */
  function wake(): void {
    if (busy) return
    busy = true
    idle = Promise.withResolvers()
    setImmediate(settleAll)
  }

  async function settleAll(): Promise<void> {
    while (queue.length > 0 || refunds.length > 0) await settleNext()
    busy = false
    idle.resolve()
  }

  async function settleNext(): Promise<void> {
    sent = queue.slice(0, maxBatch)
    queue = queue.slice(maxBatch)
    const batch: Batch = {
      instance,
      sequence: ++sequence,
      refunds: refunds.slice(0, maxBatch),
      charges: sent.map((waiting) => waiting.charge),
    }
    refunds = refunds.slice(maxBatch)
    const decisions = await settleSurely(batch)
    if (decisions !== null)
      sent.forEach((waiting, i) => {
        hand(waiting, decisions[i])
      })
    sent = []
  }

  function hand(waiting: Waiting, decision: Decision | undefined): void {
    if (decision === undefined) waiting.reject(new StoreError('the store left out a decision', 'other', 'unknown'))
    else if (!waiting.abandoned) waiting.resolve(decision)
    else if (decision.accepted) refunds.push({ charge: waiting.charge, decision })
  }

  /** Sends a batch until its outcome is known. `null`: it was not applied, and its callers have been told. */
  async function settleSurely(batch: Batch): Promise<readonly Decision[] | null> {
    const startedAt = now()
    let uncertain = false
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const decisions = await store.settle(batch)
        succeeded(batch, now() - startedAt, uncertain)
        return decisions
      } catch (error) {
        const failure = asStoreError(error)
        failed(failure)
        if (failure.applied === 'unknown') uncertain = true
        if (isHopeless(uncertain, failure, now() - startedAt)) {
          dropBatch(batch, failure, uncertain)
          return null
        }
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }
  }

  /** A batch that may have been applied is sent on, for as long as the store remembers replies; any other while somebody waits for it. */
  function isHopeless(uncertain: boolean, failure: StoreError, ageMs: number): boolean {
    if (stopped) return true
    // A reply that cannot be understood will be the same at each try, and all other charges wait behind it.
    const isFault = failure.applied === 'unknown' && failure.reason === 'other'
    if (uncertain) return ageMs > (isFault ? Math.min(FAULT_MS, giveUpMs) : giveUpMs)
    return sent.length > 0 && sent.every((waiting) => waiting.abandoned)
  }

  function dropBatch(batch: Batch, failure: StoreError, uncertain: boolean): void {
    if (uncertain) observe({ type: 'outcome_unknown', charges: batch.charges.length, settled: false })
    else if (!stopped) refunds = [...batch.refunds, ...refunds]
    for (const waiting of sent) abandon(waiting, failure)
  }

  function succeeded(batch: Batch, durationMs: number, wasUncertain: boolean): void {
    lastAnswer = now()
    observe({ type: 'batch_settled', charges: batch.charges.length, refunds: batch.refunds.length, durationMs })
    if (wasUncertain) observe({ type: 'outcome_unknown', charges: batch.charges.length, settled: true })
    if (failingSince !== null) observe({ type: 'store_recovered', downMs: Math.round(now() - failingSince) })
    failingSince = null
  }

  function failed(error: StoreError): void {
    failingSince ??= now()
    observe({ type: 'store_failed', operation: 'settle', reason: error.reason, message: error.message })
  }

  /** One timer for all that wait: they expire in the order of arrival, so only the oldest matters. */
  function watchDeadlines(): void {
    if (deadline !== null) return
    const oldest = sent.find((waiting) => !waiting.abandoned) ?? queue[0]
    if (oldest === undefined) return
    deadline = setTimeout(expire, Math.max(1, dueOf(oldest) - now()))
  }

  /**
   * A store that answers is not late because many wait for it: the deadline counts from its last answer, up to four
   * times its length.
   */
  function dueOf({ expiresAt }: Waiting): number {
    return Math.min(Math.max(expiresAt, lastAnswer + deadlineMs), expiresAt + 3 * deadlineMs)
  }

  function expire(): void {
    deadline = null
    const time = now()
    const late = new StoreError(`the store did not decide within ${deadlineMs} ms`, 'timeout', 'unknown')
    for (const waiting of sent) if (dueOf(waiting) <= time) abandon(waiting, late)
    const alive = queue.findIndex((waiting) => dueOf(waiting) > time)
    const expired = queue.splice(0, alive === -1 ? queue.length : alive)
    for (const waiting of expired) abandon(waiting, late)
    watchDeadlines()
  }

  function abandon(waiting: Waiting, error: StoreError): void {
    if (waiting.abandoned) return
    waiting.abandoned = true
    waiting.reject(error)
  }

  async function close(graceMs: number): Promise<void> {
    const grace = Promise.withResolvers<void>()
    const timer = setTimeout(grace.resolve, graceMs)
    await Promise.race([idle.promise, grace.promise])
    clearTimeout(timer)
    stopped = true
    if (deadline !== null) clearTimeout(deadline)
    const closing = new StoreError('the ledger is closed', 'other', 'unknown')
    for (const waiting of [...sent, ...queue]) abandon(waiting, closing)
    queue = []
    refunds = []
  }

  return { charge, refund, close }
}

function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError(error instanceof Error ? error.message : String(error), 'other', 'unknown', error)
}
