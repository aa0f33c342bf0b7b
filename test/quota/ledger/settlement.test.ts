import { beforeEach, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import { settleBatch } from '../../../src/quota/arithmetic.ts'
import type { Batch, Charge, Decision } from '../../../src/quota/charge.ts'
import type { ScopeName } from '../../../src/quota/charged-scopes.ts'
import type { Counter } from '../../../src/quota/counter.ts'
import { Outage } from '../../../src/quota/ledger/outage.ts'
import { Queue } from '../../../src/quota/ledger/queue.ts'
import { createRecentRefusals, type RecentRefusals } from '../../../src/quota/ledger/recent-refusals.ts'
import { Settlement } from '../../../src/quota/ledger/settlement.ts'
import { abandon, resolveLocally } from '../../../src/quota/ledger/waiting-charge.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { chargeOf } from '../charge-of.ts'
import { queued } from './promised.ts'

const AT = Date.UTC(2026, 7, 6)
const LIMITS = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 100 }], organisation: null, global: null }
const charge = (cost: number, user = 'alice'): Charge => chargeOf({ user, cost, limits: LIMITS })
const DOWN = new StoreError('down', 'connection', 'no')

let counters: Map<string, Counter>
let queue: Queue
let outage: Outage
let refusals: RecentRefusals
let settlement: Settlement
let seen: Observation[]
/** Monotonic milliseconds. */
let clock: number
beforeEach(() => {
  counters = new Map()
  seen = []
  clock = 1000
  const now = (): number => clock
  const times = { deadlineMs: 600_000, askedAt: () => 1000, lastResponse: () => 1000, roundTrip: () => 0 }
  queue = new Queue({ ...times, onSilence: () => {}, now })
  outage = new Outage({ share: () => 1, report: () => {} })
  refusals = createRecentRefusals(1000, now)
  const observe = (observation: Observation): void => void seen.push(observation)
  const local = { time: () => AT }
  settlement = new Settlement({
    instance: 'test',
    maxBatch: 3,
    queue,
    outage,
    local,
    refusals,
    observe,
    rememberMs: 1000,
    now,
  })
})
const close = (): void => queue.close(DOWN)

function counterOf(scope: ScopeName, id: string): Counter {
  const counter = counters.get(`${scope} ${id}`) ?? []
  counters.set(`${scope} ${id}`, counter)
  return counter
}
const used = (user: string): number => counterOf('personal', user)[0]?.used ?? 0
/** The store settles a batch. */
const settle = (batch: Batch): Decision[] => settleBatch(batch, counterOf, AT)
/** Makes the next batch, and the store settles it. */
function settleNext(): Batch {
  const batch = settlement.next(false)
  settlement.settled(settle(batch))
  return batch
}
/** A charge goes out, and its caller gets this verdict before the store has settled the batch. */
function sendWithVerdict(asked: Charge, verdict: 'accepted' | 'refused' | 'error'): Batch {
  queued(queue, asked).catch(() => {})
  const batch = settlement.next(false)
  for (const waiting of queue.sent) {
    const decision = verdict === 'error' ? null : outage.decide(verdict === 'accepted' ? asked : charge(100), AT)
    if (decision === null) abandon(waiting, DOWN)
    else resolveLocally(waiting, decision)
  }
  return batch
}

it('a batch holds no more charges than allowed, and has the next number', async () => {
  const decisions = [1, 2, 3, 4].map((cost) => queued(queue, charge(cost)))
  expect(settlement.hasWork()).toBe(true)
  expect(settleNext()).toMatchObject({
    instance: 'test',
    sequence: 1,
    charges: [{ cost: 1 }, { cost: 2 }, { cost: 3 }],
  })
  expect(settleNext()).toMatchObject({ sequence: 2, charges: [{ cost: 4 }] })
  expect(settlement.hasWork()).toBe(false)
  expect((await Promise.all(decisions)).map(({ personal }) => personal[0]?.used)).toEqual([1, 3, 6, 10])
  close()
})

it('a batch is empty for a store that is out, whatever waits', () => {
  outage.owe(charge(5), outage.decide(charge(5), AT) as Decision)
  settlement.refund({
    charge: charge(1),
    decision: settle({ ...settlement.next(true), charges: [charge(1)] })[0] as Decision,
  })
  expect(settlement.next(true)).toMatchObject({ refunds: [], charges: [] })
  settlement.dropped(DOWN, false)
  expect([settlement.hasWork(), settlement.isOwing()]).toEqual([true, true])
})

it('a batch pays debts before it charges callers, who get the decisions of their own charges', async () => {
  outage.owe(charge(5), outage.decide(charge(5), AT) as Decision)
  const decision = queued(queue, charge(2))
  expect(settleNext().charges).toMatchObject([{ cost: 5, forced: true }, { cost: 2 }])
  expect(await decision).toMatchObject({ accepted: true, personal: [{ used: 7 }] })
  expect(settlement.isOwing()).toBe(false)
  close()
})

it('a batch is over when its callers hear of it, so that they may charge and give back at once', async () => {
  const sentThen: number[] = []
  const undecided = (): void => {}
  queue.add(charge(1), {
    decided(decision) {
      sentThen.push(queue.sent.length)
      settlement.refund({ charge: charge(1), decision })
      queue.add(charge(5), { decided: () => {}, undecided })
    },
    undecided,
  })
  const second = queued(queue, charge(2))
  settleNext()
  expect([sentThen, queue.length, (await second).personal[0]?.used]).toEqual([[0], 1, 3])
  expect(settlement.next(false)).toMatchObject({ refunds: [{ charge: { cost: 1 } }], charges: [{ cost: 5 }] })
  close()
})

it('a batch that leaves out a decision is an error to the caller concerned', async () => {
  const decision = queued(queue, charge(2))
  settlement.next(false)
  settlement.settled([])
  await expect(decision).rejects.toMatchObject({ name: 'StoreError', applied: 'unknown' })
  close()
})

it('a batch that is dropped fails for the callers that wait for it', async () => {
  const decision = queued(queue, charge(2))
  settlement.next(false)
  settlement.dropped(DOWN, true)
  await expect(decision).rejects.toBe(DOWN)
  expect(settlement.isOwing()).toBe(false)
  close()
})

it('a recent refusal is remembered until its user is charged, or anything is given back', async () => {
  const spent = queued(queue, charge(100))
  const refused = queued(queue, charge(1))
  settleNext()
  expect(await refused).toMatchObject({ accepted: false })
  // The refused charge and the next one have the same limits.
  expect(refusals.recall(charge(1))).toMatchObject({ accepted: false })
  settlement.refund({ charge: charge(100), decision: await spent })
  expect(refusals.recall(charge(1))).toBeNull()
  close()
})

it('a recent refusal of the batch that brings refunds is not forgotten, and any before it is', async () => {
  const decision = queued(queue, charge(100))
  settleNext()
  settlement.refund({ charge: charge(100), decision: await decision })
  const late = queued(queue, charge(101, 'bob'))
  refusals.note(charge(1), settle({ ...settlement.next(true), charges: [charge(101)] })[0] as Decision, 1000)
  settlement.dropped(DOWN, false)
  settleNext()
  expect(await late).toMatchObject({ accepted: false })
  expect([refusals.recall(charge(1)), refusals.recall(charge(101, 'bob'))]).toMatchObject([null, { accepted: false }])
  close()
})

it('a charge whose caller got its verdict without the store stands if it was admitted here and the store accepted it', () => {
  settlement.settled(settle(sendWithVerdict(charge(4), 'accepted')))
  expect([used('alice'), outage.owed()]).toEqual([4, 0])
  close()
})

it('a charge whose caller got its verdict without the store is owed if it was admitted here and the store refused it', () => {
  settle({ ...settlement.next(true), charges: [charge(98)] })
  settlement.settled(settle(sendWithVerdict(charge(4), 'accepted')))
  expect([used('alice'), outage.owed()]).toEqual([98, 4])
  settleNext()
  expect([used('alice'), outage.owed()]).toEqual([102, 0])
  close()
})

it.each([true, false])(
  'a charge whose caller got its verdict without the store is owed if it was admitted here and its batch was dropped (uncertain: %s)',
  (isUncertain) => {
    sendWithVerdict(charge(4), 'accepted')
    settlement.dropped(DOWN, isUncertain)
    expect(outage.owed()).toBe(4)
    close()
  },
)

it.each(['refused', 'error'] as const)(
  'a charge whose caller got its verdict without the store is given back if the store accepted it: %s',
  (verdict) => {
    if (verdict === 'refused') outage.decide(charge(100), AT)
    settlement.settled(settle(sendWithVerdict(charge(4), verdict)))
    expect(used('alice')).toBe(4)
    expect(settleNext()).toMatchObject({ refunds: [{ charge: { cost: 4 } }], charges: [] })
    expect([used('alice'), settlement.hasWork()]).toEqual([0, false])
    close()
  },
)

it('a charge whose caller got its verdict without the store is left alone if it got an error and the store refused it, or its batch was dropped', () => {
  settle({ ...settlement.next(true), charges: [charge(98)] })
  settlement.settled(settle(sendWithVerdict(charge(4), 'error')))
  sendWithVerdict(charge(4), 'error')
  settlement.dropped(DOWN, true)
  expect([used('alice'), outage.owed(), settlement.isOwing()]).toEqual([98, 0, false])
  close()
})

it('a settlement that closes reports what is never charged and never given back', async () => {
  const decision = queued(queue, charge(7))
  settleNext()
  settlement.refund({ charge: charge(7), decision: await decision })
  outage.owe(charge(5), outage.decide(charge(5), AT) as Decision)
  settlement.close()
  expect(seen).toEqual([
    { type: 'outage_tokens', event: 'lost', tokens: 5 },
    { type: 'refunds_lost', tokens: 7 },
  ])
  close()
})

it('a store is told which batch it has settled last, for as long as it certainly remembers that', () => {
  const afters = [0, 999, 1000].map((ms) => {
    clock += ms
    return settleNext().after
  })
  expect(afters).toEqual([0, 1, 0])
})
