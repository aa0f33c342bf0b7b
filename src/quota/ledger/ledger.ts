import type { Batch, Charge, Decision, Refund } from '../charge.ts'
import { StoreError } from '../quota-store.ts'
import { createGathering } from './batching.ts'
import { Circuit } from './circuit.ts'
import { type Ledger, LedgerFull, type LedgerOptions } from './ledger-contract.ts'
import { LocalDecisions } from './local-decisions.ts'
import { createOutage } from './outage-allowance.ts'
import type { Payment } from './outage-debts.ts'
import { Queue } from './queue.ts'
import { createRecentRefusals } from './recent-refusals.ts'
import { createSender, type Until } from './sender.ts'
import { abandon, isWaiting, resolveLocally, type WaitingCharge } from './waiting-charge.ts'

const NO_REFUNDS: Refund[] = []
const NO_PAYMENT: Payment = { charges: [], debts: [] }

export function createLedger(options: LedgerOptions): Ledger {
  const { store, instance, deadlineMs, observe, outageShare = () => 0, maxOutageUsers } = options
  const { maxBatch = 256, maxWaiting = 10_000, giveUpMs = 30 * 60_000 } = options
  const { now = () => performance.now(), random = Math.random, repeatRefusalsMs = 250 } = options
  const refusals = createRecentRefusals(repeatRefusalsMs, now)
  const outage = createOutage({
    share: outageShare,
    ...(maxOutageUsers !== undefined && { maxUsers: maxOutageUsers }),
    tell: (event, tokens) => observe({ type: 'outage_tokens', event, tokens }),
  })

  const gathering = createGathering({ waiting: () => queue.length, now })
  const sender = createSender({ store, giveUpMs, observe, now, random })
  const local = new LocalDecisions({ outage, storeAhead: sender.ahead, observe, now })
  const askedAt = (): number | null => (gathering.isUnderWay() ? null : sentAt)
  const circuit = new Circuit({
    deadlineMs,
    askedAt,
    sender,
    onOut: decideWithoutStore,
    observe,
    now,
  })
  const queue = new Queue({
    deadlineMs,
    askedAt,
    lastResponse: sender.lastResponse,
    onSilence: () => circuit.open(),
    now,
  })
  const until: Until = {
    isWanted: () => queue.isBatchWanted(),
    isOver: () => stopped || (closing && !isOwing()),
  }

  let refunds: Refund[] = []
  /** Of charges that were admitted here, while it is not known whether the store has counted them. */
  const openRefunds: Refund[] = []
  let sentAt = 0
  let sentRefunds: Refund[] = NO_REFUNDS
  let payment: Payment = NO_PAYMENT
  let tokensPaid = 0
  let sequence = 0
  let busy = false
  let closing = false
  let stopped = false
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  function charge(charge: Charge): Promise<Decision> {
    if (stopped) return Promise.reject(new StoreError('the ledger is closed', 'other', 'no'))
    const error = circuit.error()
    if (error !== null) return chargeLocally(charge, error)
    const refusal = refusals.recall(charge)
    if (refusal !== null) return Promise.resolve(refusal)
    if (queue.length >= maxWaiting) return Promise.reject(new LedgerFull(queue.length))
    const decision = queue.add(charge)
    if (!busy) wake()
    return decision
  }

  function refund(refund: Refund): void {
    if (stopped) return
    refusals.clear()
    if (outage.made(refund.decision)) giveBackAlone([refund])
    else refunds.push(refund)
    wake()
  }

  async function ask(): Promise<void> {
    if (closing) return
    const heard = circuit.ask()
    wake()
    await heard
  }

  function wake(): void {
    if (busy) return
    busy = true
    idle = Promise.withResolvers()
    void settleAll()
  }

  async function settleAll(): Promise<void> {
    for (await gather(); hasWork(); await gather()) await settleNext()
    busy = false
    idle.resolve()
  }

  async function gather(): Promise<void> {
    queue.excuse(await gathering.next())
  }

  function hasWork(): boolean {
    if (stopped) return false
    if (queue.length > 0 || refunds.length > 0 || outage.owes()) return true
    return circuit.isAsking() && !closing
  }

  async function settleNext(): Promise<void> {
    sentAt = now()
    const outcome = await sender.send(nextBatch(), until)
    if (outcome.settled) {
      circuit.settled()
      handOut(outcome.decisions)
    } else drop(outcome.failure, outcome.uncertain)
    forget()
  }

  /** Of the batch that was sent everything is known now that will be. */
  function forget(): void {
    queue.release()
    sentRefunds = NO_REFUNDS
    payment = NO_PAYMENT
    if (openRefunds.length > 0) giveBackAlone(openRefunds.splice(0))
  }

  /** While the store is out the batch is empty: it asks whether the store is back, and its loss leaves nothing open. */
  function nextBatch(): Batch {
    if (!circuit.isOut()) {
      payment = outage.take(maxBatch, local.time())
      const sent = queue.take(maxBatch)
      if (sent.length > 0) gathering.sent(sent.length)
      sentRefunds = refunds.splice(0, maxBatch)
    }
    const charges = queue.sent.map(chargeOf)
    return {
      instance,
      sequence: ++sequence,
      refunds: sentRefunds,
      charges: payment.charges.length === 0 ? charges : [...payment.charges, ...charges],
    }
  }

  function handOut(decisions: readonly Decision[]): void {
    const debts = payment.charges.length
    if (debts > 0) paid(decisions)
    if (tokensPaid > 0 && !outage.owes()) reportPaid()
    // Whatever was refused between the call of `refund` and now did not know of them.
    if (sentRefunds.length > 0) refusals.clear()
    const { sent } = queue
    for (let i = 0; i < sent.length; i++) hand(sent[i] as WaitingCharge, decisions[debts + i])
  }

  function paid(decisions: readonly Decision[]): void {
    const before = outage.owed()
    outage.settled(payment, decisions)
    tokensPaid += before - outage.owed()
  }

  /** Also where the last debts ended before they were paid. */
  function reportPaid(): void {
    observe({ type: 'outage_settled', tokens: tokensPaid })
    tokensPaid = 0
  }

  function hand(waiting: WaitingCharge, decision: Decision | undefined): void {
    const { charge, verdict } = waiting
    if (decision === undefined) miss(waiting, new StoreError('the store left out a decision', 'other', 'unknown'))
    else if (verdict === null) {
      if (decision.accepted) refusals.forget(charge)
      else refusals.note(charge, decision, sentAt)
      waiting.resolve(decision)
    } else if (isAdmitted(verdict)) outage.learn(charge, verdict, decision)
    else if (decision.accepted) refund({ charge, decision })
  }

  /** There will be no decision of the store: a caller that still waits gets an error, and what was admitted here is owed. */
  function miss(waiting: WaitingCharge, error: StoreError): void {
    const { charge, verdict } = waiting
    if (verdict === null) abandon(waiting, error)
    else if (isAdmitted(verdict)) outage.owe(charge, verdict)
  }

  /**
   * What was admitted here is owed from now on. Where the outcome stays unknown it may so be counted twice, which keeps
   * every limit; not counting it might not.
   */
  function drop(failure: StoreError, uncertain: boolean): void {
    if (stopped) return
    if (uncertain) reportLostRefunds(sentRefunds)
    else refunds = [...sentRefunds, ...refunds]
    outage.returned(payment)
    for (const waiting of queue.sent) miss(waiting, failure)
  }

  /** All that wait for a store that is out get their verdict here. */
  function decideWithoutStore(error: StoreError): void {
    local.setClock()
    for (const waiting of queue.sent) if (isWaiting(waiting)) concludeLocally(waiting, error)
    for (const { charge, resolve, reject } of queue.takeAll()) chargeLocally(charge, error).then(resolve, reject)
  }

  function chargeLocally(charge: Charge, error: StoreError): Promise<Decision> {
    const decision = local.admit(charge)
    return decision === null ? Promise.reject(error) : Promise.resolve(decision)
  }

  /** A charge that the store may have decided, or will yet: the outage learns the store's decision, and the caller does not. */
  function concludeLocally(waiting: WaitingCharge, error: StoreError): void {
    const decision = local.decide(waiting.charge)
    if (decision === null) abandon(waiting, error)
    else resolveLocally(waiting, decision)
  }

  function giveBackAlone(given: readonly Refund[]): void {
    for (const refund of given) {
      const inStore = outage.giveBack(refund)
      if (inStore === null) openRefunds.push(refund)
      else refunds.push(...inStore)
    }
  }

  async function close(graceMs: number): Promise<void> {
    closing = true
    circuit.endQuestion()
    await idleFor(graceMs)
    const closed = new StoreError('the ledger is closed', 'other', 'unknown')
    if (!stopped) {
      if (!sender.abandon()) {
        drop(closed, false)
        forget()
      }
      reportLost()
      reportLostRefunds([...sentRefunds, ...refunds, ...openRefunds])
    }
    stopped = true
    queue.close(closed)
    refunds = []
  }

  /** What was admitted here and is never charged. A payment under way may have been made. */
  function reportLost(): void {
    const tokens = outage.owed() - tokensIn(payment)
    if (tokens > 0) observe({ type: 'outage_tokens', event: 'lost', tokens })
  }

  /** Those that were sent may have been made: that will not be known. */
  function reportLostRefunds(lost: readonly Refund[]): void {
    const tokens = tokensOf(lost.map(({ charge }) => charge))
    if (tokens > 0) observe({ type: 'refunds_lost', tokens })
  }

  /** Whether there is anything but the question for a store that is out. */
  function isOwing(): boolean {
    return [queue.sent, queue, sentRefunds, refunds].some((list) => list.length > 0) || outage.owed() > 0
  }

  async function idleFor(graceMs: number): Promise<void> {
    const grace = Promise.withResolvers<void>()
    const timer = setTimeout(grace.resolve, graceMs)
    await Promise.race([idle.promise, grace.promise])
    clearTimeout(timer)
  }

  return { charge, refund, emptied: outage.empty, ask, outage: () => circuit.reason(), close }
}

function isAdmitted(verdict: Decision | 'error'): verdict is Decision {
  return verdict !== 'error' && verdict.accepted
}

function tokensOf(charges: readonly Charge[]): number {
  return charges.reduce((sum, { cost }) => sum + cost, 0)
}

/** A debt that does not count alike in all its windows is paid by several charges. */
function tokensIn({ debts }: Payment): number {
  return debts.reduce((sum, { tokens }) => sum + tokens, 0)
}

function chargeOf({ charge }: WaitingCharge): Charge {
  return charge
}
