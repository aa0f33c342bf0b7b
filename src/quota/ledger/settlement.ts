import type { Observer } from '../../observe/observation.ts'
import { type Batch, type Charge, type Decision, metersOf, type Refund, tokensOf } from '../charge.ts'
import { StoreError } from '../quota-store.ts'
import { DebtPayment } from './debt-payment.ts'
import type { LocalDecisions } from './local-decisions.ts'
import { Losses } from './losses.ts'
import type { Outage } from './outage.ts'
import type { Queue } from './queue.ts'
import type { RecentRefusals } from './recent-refusals.ts'
import { Refunds } from './refunds.ts'
import { abandon, isAdmitted, type WaitingCharge } from './waiting-charge.ts'

export interface SettlementOptions {
  /** The name under which batches are sent first. It is replaced when the store takes no more batches of this name. */
  readonly instance: string
  /** The most charges, and the most refunds, and the most debts in one batch. */
  readonly maxBatch: number
  readonly queue: Queue
  readonly outage: Outage
  readonly local: Pick<LocalDecisions, 'time'>
  readonly refusals: RecentRefusals
  readonly observe: Observer
  /** How long the store certainly remembers the last batch of an instance, in milliseconds. */
  readonly rememberMs: number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Makes the batches, and settles each part of one when its outcome is known.
 *
 * | State     | Event                             | Next                                                      |
 * |-----------|-----------------------------------|-----------------------------------------------------------|
 * | idle      | `next`                            | under way, with debts, refunds and charges, or empty      |
 * | under way | `settled`                         | idle: each caller has its decision, the debts are paid    |
 * | under way | `lost`, so not applied            | under way again, without refunds of what is forgotten     |
 * | under way | `renamed`, so not applied         | under way again, under a name that the store does not know |
 * | under way | `dropped`, certainly not applied  | idle: refunds and debts wait again                        |
 * | under way | `dropped`, uncertain              | idle: debts wait again, refunds are lost                  |
 */
export class Settlement {
  readonly #options: SettlementOptions
  readonly #refunds: Refunds
  readonly #payment: DebtPayment
  readonly #losses = new Losses()
  /** The instance of the options, or later another one that is made from it. */
  #instance: string
  #names = 1
  #sequence = 0
  #sentAt = 0
  /** The last batch that the store has settled, and the time of that on our clock. */
  #settled = 0
  #settledAt = 0

  constructor(options: SettlementOptions) {
    this.#options = options
    this.#instance = options.instance
    this.#refunds = new Refunds({ ...options, losses: this.#losses })
    this.#payment = new DebtPayment(options)
  }

  /** When the last batch first went out, on our clock. */
  get sentAt(): number {
    return this.#sentAt
  }

  /** Whether there is anything to put into a batch. */
  hasWork(): boolean {
    return this.#options.queue.length > 0 || this.#refunds.length > 0 || this.#options.outage.owes()
  }

  /** Whether the store has still to learn of something, including the batch under way. */
  isOwing(): boolean {
    const { queue, outage } = this.#options
    return [queue, queue.sent, this.#refunds, this.#refunds.sent].some((list) => list.length > 0) || outage.owed() > 0
  }

  /** Gives an accepted charge back with the next batch, or corrects its amount. */
  refund(refund: Refund): void {
    this.#options.refusals.clear()
    this.#refunds.add(refund)
  }

  /**
   * @param isEmpty for a store that is out. An empty batch asks whether the store is back, and its loss leaves nothing
   * unknown
   */
  next(isEmpty: boolean): Batch {
    const { maxBatch, queue, local, rememberMs, now } = this.#options
    this.#sentAt = now()
    if (!isEmpty) {
      this.#payment.take(maxBatch, local.time())
      this.#refunds.take(maxBatch)
      queue.take(maxBatch)
    }
    const debts = this.#payment.charges
    const charges = queue.sent.map(chargeOf)
    return {
      instance: this.#instance,
      sequence: ++this.#sequence,
      after: now() - this.#settledAt < rememberMs ? this.#settled : 0,
      refunds: this.#refunds.sent,
      charges: debts.length === 0 ? charges : [...debts, ...charges],
    }
  }

  /**
   * Notes that the store has forgotten everything after a batch, even the batch under way if it was applied.
   * @returns the batch under way without refunds of forgotten charges
   */
  lost(batch: Batch, after: number): Batch {
    const loss = this.#losses.lost(after, this.#settled)
    if (loss !== null) this.#options.observe({ type: 'charges_lost', ...loss })
    this.#settled = after
    this.#refunds.voidLost()
    return { ...batch, after, refunds: this.#refunds.sent }
  }

  /**
   * Replaces our name, because the store has settled a later batch of it and takes no batch with a lower number. The numbers go on, because
   * they show which batches the store has forgotten.
   * @returns the batch under way under the new name
   */
  renamed(batch: Batch): Batch {
    this.#instance = `${this.#options.instance}-${++this.#names}`
    this.#settled = 0
    return { ...batch, instance: this.#instance, after: 0 }
  }

  /** @param decisions those of the charges of the batch under way */
  settled(decisions: readonly Decision[]): void {
    const { queue, refusals, now } = this.#options
    const debts = this.#payment.charges.length
    this.#settled = this.#sequence
    this.#settledAt = now()
    this.#note(decisions)
    this.#payment.settled(decisions)
    // A refusal from before these refunds did not count them.
    if (this.#refunds.sent.length > 0) refusals.clear()
    const { sent } = queue
    const heard = new Array<Decision | undefined>(sent.length)
    for (let i = 0; i < sent.length; i++) heard[i] = this.#decided(sent[i] as WaitingCharge, decisions[debts + i])
    this.#refunds.settled()
    this.#end()
    // Callers are called last, because they may do anything, even charge again.
    for (let i = 0; i < sent.length; i++) notify(sent[i] as WaitingCharge, heard[i])
  }

  /** Remembers which batch settled these charges, in case the store forgets it. */
  #note(decisions: readonly Decision[]): void {
    const debts = this.#payment.charges
    const { sent } = this.#options.queue
    let tokens = 0
    for (let i = 0; i < decisions.length; i++) {
      const decision = decisions[i] as Decision
      decision.batch = this.#sequence
      if (!decision.accepted || decision.once?.kind === 'replayed') continue
      const charge = debts[i] ?? sent[i - debts.length]?.charge
      if (charge !== undefined) tokens += tokensOf(charge)
    }
    if (tokens > 0) this.#losses.settled(this.#sequence, tokens, decisions[0]?.at ?? 0)
  }

  /**
   * What was admitted locally is owed from now on. If the outcome stays unknown, the store may count it twice, which still
   * keeps every limit. If it was not owed, a limit might be exceeded.
   */
  dropped(failure: StoreError, isUncertain: boolean): void {
    this.#refunds.dropped(isUncertain)
    this.#payment.returned()
    for (const waiting of this.#options.queue.sent) this.#missed(waiting, failure)
    this.#end()
  }

  /** Reports what is never charged and never given back, without the batch under way, which may have been applied. */
  close(): void {
    this.#payment.close()
    this.#refunds.close()
  }

  /** @returns the decision for a caller that still waits; an earlier refusal, if it says the same */
  #decided(waiting: WaitingCharge, decision: Decision | undefined): Decision | undefined {
    const { outage, refusals } = this.#options
    const { charge, verdict } = waiting
    if (decision === undefined)
      this.#missed(waiting, new StoreError('the store left out a decision', 'other', 'unknown'))
    else if (verdict === null) {
      if (decision.accepted) refusals.forget(charge)
      else if (decision.once === undefined) return refusals.note(charge, decision, this.#sentAt)
    } else if (isAdmitted(verdict)) outage.learn(charge, verdict, decision)
    else if (decision.accepted) this.#giveBack(charge, decision)
    return decision
  }

  /** Gives back all meters of a charge whose caller has gone. */
  #giveBack(charge: Charge, decision: Decision): void {
    for (const meter of metersOf(charge).keys()) this.refund({ charge, decision, meter })
  }

  /** The store will make no decision. A caller that still waits gets an error, and what was admitted locally is owed. */
  #missed(waiting: WaitingCharge, error: StoreError): void {
    const { charge, verdict } = waiting
    if (verdict === null) abandon(waiting, error)
    else if (isAdmitted(verdict)) this.#options.outage.owe(charge, verdict)
  }

  /** Ends the batch under way. Nothing more will become known about it. */
  #end(): void {
    this.#options.queue.release()
    this.#refunds.retryOpen()
  }
}

/** Calls the caller back if he still waits. */
function notify({ asker, verdict }: WaitingCharge, decision: Decision | undefined): void {
  if (verdict === null && decision !== undefined) asker.decided(decision)
}

function chargeOf({ charge }: WaitingCharge): Charge {
  return charge
}
