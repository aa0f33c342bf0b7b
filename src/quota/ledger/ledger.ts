import type { Charge, Decision, Refund } from '../charge.ts'
import { StoreError } from '../quota-store.ts'
import { createGathering } from './batching.ts'
import { Circuit } from './circuit.ts'
import { type Ledger, LedgerFull, type LedgerOptions } from './ledger-contract.ts'
import { LocalDecisions } from './local-decisions.ts'
import { createOutage } from './outage-allowance.ts'
import { Queue } from './queue.ts'
import { createRecentRefusals } from './recent-refusals.ts'
import { createSender, type Until } from './sender.ts'
import { Settlement } from './settlement.ts'
import { abandon, isWaiting, resolveLocally, type WaitingCharge } from './waiting-charge.ts'

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
  const askedAt = (): number | null => (gathering.isUnderWay() ? null : settlement.sentAt)
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
  const settlement = new Settlement({ instance, maxBatch, queue, outage, local, refusals, observe, now })
  const until: Until = {
    isWanted: () => queue.isBatchWanted(),
    isOver: () => stopped || (closing && !settlement.isOwing()),
  }

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
    settlement.refund(refund)
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
    return settlement.hasWork() || (circuit.isAsking() && !closing)
  }

  async function settleNext(): Promise<void> {
    const batch = settlement.next(circuit.isOut())
    if (queue.sent.length > 0) gathering.sent(queue.sent.length)
    const outcome = await sender.send(batch, until)
    if (outcome.settled) {
      circuit.settled()
      settlement.settled(outcome.decisions)
    } else if (!stopped) settlement.dropped(outcome.failure, outcome.uncertain)
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

  async function close(graceMs: number): Promise<void> {
    closing = true
    circuit.endQuestion()
    await idleFor(graceMs)
    const closed = new StoreError('the ledger is closed', 'other', 'unknown')
    if (!stopped) {
      if (!sender.abandon()) settlement.dropped(closed, false)
      settlement.close()
    }
    stopped = true
    queue.close(closed)
  }

  async function idleFor(graceMs: number): Promise<void> {
    const grace = Promise.withResolvers<void>()
    const timer = setTimeout(grace.resolve, graceMs)
    await Promise.race([idle.promise, grace.promise])
    clearTimeout(timer)
  }

  return { charge, refund, emptied: outage.empty, ask, outage: () => circuit.reason(), close }
}
