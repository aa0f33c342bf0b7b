import type { Batch, Charge, Decision, Refund } from '../charge.ts'
import { StoreError } from '../quota-store.ts'
import { createGathering } from './batching.ts'
import { Circuit } from './circuit.ts'
import { afterDeadline } from './deadline.ts'
import { type Ledger, LedgerFull, type LedgerOptions } from './ledger-contract.ts'
import { LocalDecisions } from './local-decisions.ts'
import { createOutage } from './outage-allowance.ts'
import type { Payment } from './outage-debts.ts'
import { createRecentRefusals } from './recent-refusals.ts'
import { createSender, type Until } from './sender.ts'

interface Waiting {
  readonly charge: Charge
  expiresAt: number
  readonly resolve: (decision: Decision) => void
  readonly reject: (error: Error) => void
  /** What its caller was told without the store: a decision on local counters, or that there is none. */
  told: Decision | 'nothing' | null
}

const NOBODY: Waiting[] = []
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
  const circuit = new Circuit({
    deadlineMs,
    askedAt: () => (gathering.isUnderWay() ? null : sentAt),
    sender,
    onOut: decideWithoutStore,
    observe,
    now,
  })
  const until: Until = {
    // Refunds, debts, and the question whether the store is back wait for no caller.
    isWanted: () => sent.length === 0 || sent.some((waiting) => waiting.told === null),
    isOver: () => stopped || (closing && !isOwing()),
  }

  let queue: Waiting[] = []
  let refunds: Refund[] = []
  /** Of charges that were admitted here, while it is not known whether the store has counted them. */
  const openRefunds: Refund[] = []
  let sent: Waiting[] = NOBODY
  let sentAt = 0
  let sentRefunds: Refund[] = NO_REFUNDS
  let payment: Payment = NO_PAYMENT
  let tokensPaid = 0
  let sequence = 0
  let busy = false
  let closing = false
  let stopped = false
  let deadline: NodeJS.Timeout | null = null
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  function charge(charge: Charge): Promise<Decision> {
    if (stopped) return Promise.reject(new StoreError('the ledger is closed', 'other', 'no'))
    const error = circuit.error()
    if (error !== null) return chargeLocally(charge, error)
    const refusal = refusals.recall(charge)
    if (refusal !== null) return Promise.resolve(refusal)
    if (queue.length >= maxWaiting) return Promise.reject(new LedgerFull(queue.length))
    return new Promise((resolve, reject) => {
      queue.push({ charge, expiresAt: now() + deadlineMs, resolve, reject, told: null })
      if (deadline === null) watchDeadlines()
      if (!busy) wake()
    })
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
    excuse(await gathering.next())
  }

  /** Where this process was held up before it asked, the store was not silent: so long all that wait have more time. */
  function excuse(ms: number): void {
    if (ms < deadlineMs / 4) return
    const latest = now() + deadlineMs
    for (const waiting of queue) waiting.expiresAt = Math.min(waiting.expiresAt + ms, latest)
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
    sent = NOBODY
    sentRefunds = NO_REFUNDS
    payment = NO_PAYMENT
    if (openRefunds.length > 0) giveBackAlone(openRefunds.splice(0))
  }

  /** While the store is out the batch is empty: it asks whether the store is back, and its loss leaves nothing open. */
  function nextBatch(): Batch {
    if (!circuit.isOut()) {
      payment = outage.take(maxBatch, local.time())
      ;[sent, queue] = split(queue)
      if (sent.length > 0) gathering.sent(sent.length)
      ;[sentRefunds, refunds] = split(refunds)
    }
    const charges = sent.map(chargeOf)
    return {
      instance,
      sequence: ++sequence,
      refunds: sentRefunds,
      charges: payment.charges.length === 0 ? charges : [...payment.charges, ...charges],
    }
  }

  function split<T>(list: T[]): [T[], T[]] {
    return list.length <= maxBatch ? [list, []] : [list.slice(0, maxBatch), list.slice(maxBatch)]
  }

  function handOut(decisions: readonly Decision[]): void {
    const debts = payment.charges.length
    if (debts > 0) paid(decisions)
    if (tokensPaid > 0 && !outage.owes()) reportPaid()
    // Whatever was refused between the call of `refund` and now did not know of them.
    if (sentRefunds.length > 0) refusals.clear()
    for (let i = 0; i < sent.length; i++) hand(sent[i] as Waiting, decisions[debts + i])
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

  function hand(waiting: Waiting, decision: Decision | undefined): void {
    const { charge, told } = waiting
    if (decision === undefined) miss(waiting, new StoreError('the store left out a decision', 'other', 'unknown'))
    else if (told === null) {
      if (decision.accepted) refusals.forget(charge)
      else refusals.note(charge, decision, sentAt)
      waiting.resolve(decision)
    } else if (isAdmitted(told)) outage.learn(charge, told, decision)
    else if (decision.accepted) refund({ charge, decision })
  }

  /** There will be no decision of the store: who still waits is told, and what was admitted here is owed. */
  function miss(waiting: Waiting, error: StoreError): void {
    const { charge, told } = waiting
    if (told === null) abandon(waiting, error)
    else if (isAdmitted(told)) outage.owe(charge, told)
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
    for (const waiting of sent) miss(waiting, failure)
  }

  /** One timer for all that wait: they expire in the order of arrival, so only the oldest matters. */
  function watchDeadlines(): void {
    const oldest = sent.find((waiting) => waiting.told === null) ?? queue[0]
    if (oldest === undefined) return
    deadline = afterDeadline(dueOf(oldest) - now(), expire)
  }

  /**
   * A store that answers is not late because many wait for it: the deadline counts from its last answer, up to four
   * times its length.
   */
  function dueOf({ expiresAt }: Waiting): number {
    return Math.min(Math.max(expiresAt, sender.lastResponse() + deadlineMs), expiresAt + 3 * deadlineMs)
  }

  function expire(): void {
    deadline = null
    const time = now()
    const isLate = (waiting: Waiting): boolean => waiting.told === null && dueOf(waiting) <= time
    const late = !gathering.isUnderWay() && (sent.some(isLate) || (queue[0] !== undefined && isLate(queue[0])))
    if (late && time - sender.lastResponse() >= deadlineMs) circuit.open()
    else if (late) giveUpLate(isLate)
    watchDeadlines()
  }

  /** The store answers, and too many wait for it. */
  function giveUpLate(isLate: (waiting: Waiting) => boolean): void {
    const error = new StoreError(`the store did not decide within ${4 * deadlineMs} ms`, 'timeout', 'unknown')
    for (const waiting of sent) if (isLate(waiting)) abandon(waiting, error)
    const alive = queue.findIndex((waiting) => !isLate(waiting))
    const late = queue.splice(0, alive === -1 ? queue.length : alive)
    for (const waiting of late) abandon(waiting, error)
  }

  /** All that wait for a store that is out get their verdict here. */
  function decideWithoutStore(error: StoreError): void {
    local.setClock()
    for (const waiting of sent) if (waiting.told === null) reportAlone(waiting, error)
    const waited = queue
    queue = []
    for (const waiting of waited) chargeLocally(waiting.charge, error).then(waiting.resolve, waiting.reject)
  }

  function chargeLocally(charge: Charge, error: StoreError): Promise<Decision> {
    const decision = local.admit(charge)
    return decision === null ? Promise.reject(error) : Promise.resolve(decision)
  }

  /** A charge that the store may have decided, or will yet: the outage learns the store's decision, and the caller does not. */
  function reportAlone(waiting: Waiting, error: StoreError): void {
    const decision = local.decide(waiting.charge)
    if (decision === null) abandon(waiting, error)
    else {
      waiting.told = decision
      waiting.resolve(decision)
    }
  }

  function giveBackAlone(given: readonly Refund[]): void {
    for (const refund of given) {
      const inStore = outage.giveBack(refund)
      if (inStore === null) openRefunds.push(refund)
      else refunds.push(...inStore)
    }
  }

  function abandon(waiting: Waiting, error: StoreError): void {
    waiting.told = 'nothing'
    waiting.reject(error)
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
    if (deadline !== null) clearTimeout(deadline)
    for (const waiting of [...sent, ...queue]) abandon(waiting, closed)
    queue = []
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
    return [sent, queue, sentRefunds, refunds].some((list) => list.length > 0) || outage.owed() > 0
  }

  async function idleFor(graceMs: number): Promise<void> {
    const grace = Promise.withResolvers<void>()
    const timer = setTimeout(grace.resolve, graceMs)
    await Promise.race([idle.promise, grace.promise])
    clearTimeout(timer)
  }

  return { charge, refund, emptied: outage.empty, ask, outage: () => circuit.reason(), close }
}

function isAdmitted(told: Decision | 'nothing'): told is Decision {
  return told !== 'nothing' && told.accepted
}

function tokensOf(charges: readonly Charge[]): number {
  return charges.reduce((sum, { cost }) => sum + cost, 0)
}

/** A debt that does not count alike in all its windows is paid by several charges. */
function tokensIn({ debts }: Payment): number {
  return debts.reduce((sum, { tokens }) => sum + tokens, 0)
}

function chargeOf({ charge }: Waiting): Charge {
  return charge
}
