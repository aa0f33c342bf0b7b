import { beforeEach, describe, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Charge, Decision } from '../../../src/quota/charge.ts'
import { LocalDecisions } from '../../../src/quota/ledger/local-decisions.ts'
import { Outage } from '../../../src/quota/ledger/outage.ts'
import { Queue } from '../../../src/quota/ledger/queue.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { chargeOf } from '../charge-of.ts'
import { promised, queued } from './promised.ts'

const AUGUST = Date.UTC(2026, 7, 6)
const HOUR_MS = 3_600_000
const LIMITS = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 100 }], organisation: null, global: null }
const charge = (cost: number, category = 'read'): Charge => chargeOf({ category, cost, limits: LIMITS })
const DOWN = new StoreError('down', 'connection', 'no')

let clock: number
let storeAhead: number
let outage: Outage
let queue: Queue
let local: LocalDecisions
let seen: Observation[]
beforeEach(() => {
  clock = 5000.7
  storeAhead = AUGUST
  seen = []
  outage = new Outage({ share: (category) => (category === 'read' ? 0.1 : 0), report: () => {} })
  const now = (): number => clock
  const times = { deadlineMs: 600_000, askedAt: () => 0, lastResponse: () => 0, roundTrip: () => 0 }
  queue = new Queue({ ...times, onSilence: () => {}, now })
  const observe = (observation: Observation): void => void seen.push(observation)
  local = new LocalDecisions({ outage, storeAhead: () => storeAhead, observe, now })
  beginOutage()
})
function beginOutage(): void {
  local.takeOver(queue, DOWN)
}
const decide = (cost: number, category?: string): Promise<Decision> =>
  promised((asker) => local.charge(charge(cost, category), asker, DOWN))
/** The store is paid all that is owed. */
function pay(): void {
  const payment = outage.take(1000, local.time())
  outage.settled(payment, [])
}

it("the local clock is the store's, in whole milliseconds, carried on by our own", async () => {
  expect(local.time()).toBe(AUGUST + 5000)
  clock += 250
  expect(local.time()).toBe(AUGUST + 5250)
  expect((await decide(1)).at).toBe(AUGUST + 5250)
})

it('the local clock is set right only when an outage begins', () => {
  storeAhead += HOUR_MS
  expect(local.time()).toBe(AUGUST + 5000)
  beginOutage()
  expect(local.time()).toBe(AUGUST + HOUR_MS + 5000)
  storeAhead -= 2 * HOUR_MS
  beginOutage()
  expect(local.time()).toBe(AUGUST - HOUR_MS + 5000)
})

it('the local clock stays as it is while something is owed: the right time would end windows that still run', async () => {
  await decide(4)
  storeAhead += 2 * HOUR_MS
  beginOutage()
  expect(local.time()).toBe(AUGUST + 5000)
  pay()
  beginOutage()
  expect(local.time()).toBe(AUGUST + 2 * HOUR_MS + 5000)
})

it('the local clock moves the local counters with it, so that no share is handed out twice', async () => {
  await decide(10)
  pay()
  storeAhead += 2 * HOUR_MS
  beginOutage()
  expect(await decide(1)).toMatchObject({ accepted: false, personal: [{ used: 10 }] })
  clock += HOUR_MS
  expect(await decide(1)).toMatchObject({ accepted: true, personal: [{ used: 1 }] })
})

it('a charge while the store is out is owed if it is accepted, and not if it is refused', async () => {
  expect(await decide(4)).toMatchObject({ accepted: true })
  expect(outage.owed()).toBe(4)
  expect(await decide(7)).toMatchObject({ accepted: false })
  expect(outage.owed()).toBe(4)
})

it('a charge while the store is out fails if it cannot be decided here', async () => {
  await expect(decide(1, 'write')).rejects.toBe(DOWN)
  await expect(decide(11)).rejects.toBe(DOWN)
})

it('a charge while the store is out is reported with its verdict, also if there is none', async () => {
  await decide(8)
  await decide(8)
  await decide(1, 'write').catch(() => {})
  expect(seen).toEqual([
    { type: 'outage_charge', category: 'read', verdict: 'accepted' },
    { type: 'outage_charge', category: 'read', verdict: 'refused' },
    { type: 'outage_charge', category: 'write', verdict: 'unable' },
  ])
})

describe('when an outage begins', () => {
  it('all that are queued are decided, and owed if they are accepted', async () => {
    const decisions = [charge(4), charge(1, 'write'), charge(7)].map((each) => queued(queue, each))
    beginOutage()
    expect(await Promise.allSettled(decisions)).toMatchObject([
      { status: 'fulfilled', value: { accepted: true } },
      { status: 'rejected', reason: DOWN },
      { status: 'fulfilled', value: { accepted: false } },
    ])
    expect([queue.length, outage.owed()]).toEqual([0, 4])
  })

  it('all that have gone out are decided, and not owed: the store may have counted them', async () => {
    const decisions = [charge(4), charge(1, 'write'), charge(7)].map((each) => queued(queue, each))
    queue.take(10)
    beginOutage()
    expect(await Promise.allSettled(decisions)).toMatchObject([
      { status: 'fulfilled', value: { accepted: true } },
      { status: 'rejected', reason: DOWN },
      { status: 'fulfilled', value: { accepted: false } },
    ])
    expect(queue.sent.map(({ verdict }) => verdict)).toMatchObject([{ accepted: true }, 'error', { accepted: false }])
    expect(outage.owed()).toBe(0)
  })

  it('whoever has a verdict already gets no other one', async () => {
    const decision = queued(queue, charge(4))
    queue.take(10)
    beginOutage()
    beginOutage()
    await decision
    expect(seen).toHaveLength(1)
  })
})
