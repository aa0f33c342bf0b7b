import type { Charge, Decision, Refund } from '../charge.ts'
import { StoreError, type StoreFailure } from '../quota-store.ts'
import { type BatchDelay, createBatchDelay } from './batch-delay.ts'
import { Circuit } from './circuit.ts'
import { type Asker, type Ledger, LedgerFull, type LedgerOptions } from './ledger-contract.ts'
import { LocalDecisions } from './local-decisions.ts'
import { Outage } from './outage.ts'
import { Queue } from './queue.ts'
import { createRecentRefusals, type RecentRefusals } from './recent-refusals.ts'
import { Sender, type Until } from './sender.ts'
import { Settlement } from './settlement.ts'

interface Parts {
  readonly maxWaiting: number
  readonly refusals: RecentRefusals
  readonly outage: Outage
  readonly local: LocalDecisions
  readonly circuit: Circuit
  readonly queue: Queue
  readonly delay: BatchDelay
  readonly settlement: Settlement
  readonly sender: Sender
}

export function createLedger(options: LedgerOptions): Ledger {
  const { store, instance, deadlineMs, observe, outageShare: share = () => 0, maxOutageUsers: maxUsers } = options
  const { maxBatch = 256, maxWaiting = 10_000, giveUpMs = 30 * 60_000 } = options
  const { now = () => performance.now(), random = Math.random, repeatRefusalsMs = 250 } = options
  const askedAt = (): number | null => (delay.isUnderWay() ? null : settlement.sentAt)

  const refusals = createRecentRefusals(repeatRefusalsMs, now)
  const outage = new Outage({
    share,
    maxUsers,
    report: (event, tokens) => observe({ type: 'outage_tokens', event, tokens }),
  })
  const sender = new Sender({ store, deadlineMs, giveUpMs, observe, now, random })
  const local = new LocalDecisions({ outage, storeAhead: () => sender.ahead, observe, now })
  const onOut = (error: StoreError): void => local.takeOver(queue, error)
  const circuit = new Circuit({ deadlineMs, askedAt, sender, onOut, observe, now })
  const onSilence = (): void => circuit.open()
  const [lastResponse, roundTrip] = [() => sender.lastResponse, () => sender.roundTrip]
  const queue = new Queue({ deadlineMs, askedAt, lastResponse, roundTrip, onSilence, now })
  const delay = createBatchDelay({ waiting: () => queue.length, now })
  const settlement = new Settlement({
    instance,
    maxBatch,
    queue,
    outage,
    local,
    refusals,
    observe,
    rememberMs: giveUpMs,
    now,
  })
  return new BatchLedger({ maxWaiting, refusals, outage, local, circuit, queue, delay, settlement, sender })
}

/**
 * Sends one batch after the other while there is work.
 *
 * | Phase   | Event                                    | Next                                                         |
 * |---------|------------------------------------------|--------------------------------------------------------------|
 * | open    | `close`                                  | closing: a store that is out is asked only for what is owed  |
 * | closing | all is settled, or the grace has passed  | closed: what is left is given up                             |
 */
class BatchLedger implements Ledger {
  readonly #parts: Parts
  readonly #until: Until
  #phase: 'open' | 'closing' | 'closed' = 'open'
  /** Resolves when all is settled; `null` while there is nothing to settle. */
  #work: Promise<void> | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    const { queue, settlement } = parts
    this.#until = {
      isWanted: () => queue.isBatchWanted(),
      isOver: () => this.#phase === 'closed' || (this.#phase === 'closing' && !settlement.isOwing()),
    }
  }

  charge(charge: Charge): Promise<Decision> {
    return new Promise((decided, undecided) => this.decide(charge, { decided, undecided }))
  }

  decide(charge: Charge, asker: Asker): void {
    const { maxWaiting, refusals, local, circuit, queue } = this.#parts
    const error = this.#phase === 'closed' ? null : circuit.error()
    // A repetition is accepted even where everything else is refused, so an earlier refusal says nothing about it.
    const refusal = error !== null || charge.once !== undefined ? null : refusals.recall(charge)
    if (this.#phase === 'closed') asker.undecided(new StoreError('the ledger is closed', 'other', 'no'))
    else if (error !== null) local.charge(charge, asker, error)
    else if (refusal !== null) asker.decided(refusal)
    else if (queue.length >= maxWaiting) asker.undecided(new LedgerFull(queue.length))
    else {
      queue.add(charge, asker)
      this.#wake()
    }
  }

  refund(refund: Refund): void {
    if (this.#phase === 'closed') return
    this.#parts.settlement.refund(refund)
    this.#wake()
  }

  emptied(category: string, seconds: readonly number[], organisation: string | null = null): void {
    this.#parts.outage.empty(category, seconds, organisation)
  }

  async ask(): Promise<void> {
    if (this.#phase !== 'open') return
    const heard = this.#parts.circuit.ask()
    this.#wake()
    await heard
  }

  outage(): StoreFailure | null {
    return this.#parts.circuit.reason()
  }

  async close(graceMs: number): Promise<void> {
    const { circuit, queue, settlement, sender } = this.#parts
    if (this.#phase === 'open') this.#phase = 'closing'
    circuit.endQuestion()
    // If the store is far away, a batch that was sent still has time to be settled.
    await this.#rest(graceMs + sender.roundTrip)
    if (this.#phase === 'closed') return
    const error = new StoreError('the ledger is closed', 'other', 'unknown')
    if (!sender.abandon()) settlement.dropped(error, false)
    settlement.close()
    this.#phase = 'closed'
    queue.close(error)
  }

  #wake(): void {
    this.#work ??= this.#settleAll()
  }

  async #settleAll(): Promise<void> {
    for (await this.#delay(); this.#hasWork(); await this.#delay()) await this.#settleNext()
    this.#work = null
  }

  async #delay(): Promise<void> {
    const { delay, queue } = this.#parts
    queue.excuse(await delay.next())
  }

  #hasWork(): boolean {
    if (this.#phase === 'closed') return false
    const { circuit, settlement } = this.#parts
    return settlement.hasWork() || (this.#phase === 'open' && circuit.isAsking())
  }

  async #settleNext(): Promise<void> {
    const { circuit, queue, delay, settlement, sender } = this.#parts
    let batch = settlement.next(circuit.isOut())
    if (queue.sent.length > 0) delay.sent(queue.sent.length)
    let outcome = await sender.send(batch, this.#until)
    while (outcome.settled === 'lost' || outcome.settled === 'stale') {
      batch = outcome.settled === 'lost' ? settlement.lost(batch, outcome.after) : settlement.renamed(batch)
      // The batch may have been applied under its old name, so it would be counted twice under a new one.
      if (outcome.settled === 'stale' && outcome.uncertain) break
      outcome = await sender.send(batch, this.#until)
    }
    if (outcome.settled === true) {
      circuit.settled()
      settlement.settled(outcome.decisions)
    } else if (this.#phase !== 'closed') settlement.dropped(outcome.failure, outcome.uncertain)
  }

  /** Resolves when all is settled, or the grace has passed. */
  async #rest(graceMs: number): Promise<void> {
    const grace = Promise.withResolvers<void>()
    const timer = setTimeout(grace.resolve, graceMs)
    await Promise.race([this.#work, grace.promise])
    clearTimeout(timer)
  }
}
