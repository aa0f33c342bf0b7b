import { beforeEach, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Charge, Decision, Refund } from '../../../src/quota/charge.ts'
import { Outage } from '../../../src/quota/ledger/outage.ts'
import { Refunds } from '../../../src/quota/ledger/refunds.ts'

const AT = Date.UTC(2026, 7, 6)
const LIMITS = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 100 }], organisation: null, global: null }
const charge = (cost: number): Charge => ({ user: 'alice', organisation: null, category: 'read', cost, limits: LIMITS })
const DECISION: Decision = {
  accepted: true,
  at: AT,
  personal: [{ startedAt: AT, used: 9 }],
  organisation: null,
  global: null,
}
/** Of a charge that the store decided. */
const refund = (cost: number): Refund => ({ charge: charge(cost), decision: DECISION })

let outage: Outage
let refunds: Refunds
let seen: Observation[]
beforeEach(() => {
  seen = []
  outage = new Outage({ share: () => 1, report: () => {} })
  refunds = new Refunds({
    outage,
    losses: { has: ({ batch }) => batch === 7 },
    observe: (observation) => seen.push(observation),
  })
})
/** Of a charge that was decided locally. */
function localRefund(cost: number): Refund {
  return { charge: charge(cost), decision: outage.decide(charge(cost), AT) as Decision }
}
const sent = (): number[] => refunds.sent.map((each) => each.charge.cost)

const forgotten = (cost: number): Refund => ({ charge: charge(cost), decision: { ...DECISION, batch: 7 } })

it('a refund of what the store has forgotten is void as soon as it is asked for, and whoever waits for it hears so', () => {
  const made: number[] = []
  refunds.add({ ...forgotten(5), onMade: (amount) => made.push(amount) })
  refunds.add({ ...forgotten(5), amount: -2 })
  expect([refunds.length, made]).toEqual([0, [0]])
  expect(seen).toEqual([
    { type: 'refund_void', tokens: 5 },
    { type: 'refund_void', tokens: -2 },
  ])
})

it('a refund of what the store has forgotten is void when it becomes known while it waits or is under way, and others stay', () => {
  const all = [forgotten(1), refund(2), forgotten(3), refund(4)].map((each) => ({
    ...each,
    decision: { ...each.decision },
  }))
  const batches = all.map(({ decision }) => decision.batch)
  for (const { decision } of all) decision.batch = undefined
  for (const each of all) refunds.add(each)
  refunds.take(2)
  for (const [i, { decision }] of all.entries()) decision.batch = batches[i]
  refunds.voidLost()
  expect(sent()).toEqual([2])
  refunds.settled()
  refunds.take(9)
  expect(sent()).toEqual([4])
  expect(seen).toEqual([
    { type: 'refund_void', tokens: 1 },
    { type: 'refund_void', tokens: 3 },
  ])
})

it('a refund of what the store has counted waits for a batch, and is gone when that is settled', () => {
  for (const cost of [1, 2, 3]) refunds.add(refund(cost))
  expect([sent(), refunds.length]).toEqual([[], 3])
  refunds.take(2)
  expect([sent(), refunds.length]).toEqual([[1, 2], 1])
  refunds.settled()
  refunds.take(2)
  expect([sent(), refunds.length]).toEqual([[3], 0])
})

it('a refund of what the store has counted waits again, as the first, if its batch was certainly not applied', () => {
  for (const cost of [1, 2, 3]) refunds.add(refund(cost))
  refunds.take(2)
  refunds.dropped(false)
  expect([sent(), refunds.length]).toEqual([[], 3])
  refunds.take(2)
  expect(sent()).toEqual([1, 2])
  expect(seen).toEqual([])
})

it('a refund of what the store has counted is lost if it is unknown whether its batch was applied: it might be given back twice', () => {
  for (const cost of [1, 2, 3]) refunds.add(refund(cost))
  refunds.take(2)
  refunds.dropped(true)
  expect([sent(), refunds.length]).toEqual([[], 1])
  expect(seen).toEqual([{ type: 'refunds_lost', tokens: 3 }])
})

it('a refund of a local admission lowers the debt, and the store learns nothing of it', () => {
  const mine = localRefund(4)
  outage.owe(mine.charge, mine.decision)
  refunds.add(mine)
  expect([refunds.length, outage.owed()]).toEqual([0, 0])
})

it('a refund of a local admission is asked of the store once it is known that the store has counted the charge', () => {
  const mine = localRefund(4)
  refunds.add(mine)
  refunds.retryOpen()
  expect(refunds.length).toBe(0)
  outage.learn(mine.charge, mine.decision, DECISION)
  refunds.retryOpen()
  refunds.retryOpen()
  refunds.take(10)
  expect(refunds.sent).toEqual([{ charge: mine.charge, decision: DECISION }])
})

it('a refund of a local admission is void if the store has counted the charge, or the payment of its debt, and has forgotten that since', () => {
  const made: number[] = []
  const mine = { ...localRefund(4), onMade: (amount: number) => made.push(amount) }
  refunds.add(mine)
  outage.learn(mine.charge, mine.decision, { ...DECISION, batch: 7 })
  refunds.retryOpen()
  const owed = { ...localRefund(3), onMade: (amount: number) => made.push(amount) }
  outage.owe(owed.charge, owed.decision)
  const payment = outage.take(9, AT)
  outage.settled(
    payment,
    payment.charges.map(() => ({ ...DECISION, batch: 7 })),
  )
  refunds.add(owed)
  expect([refunds.length, made]).toEqual([0, [0, 0]])
  expect(seen).toEqual([
    { type: 'refund_void', tokens: 4 },
    { type: 'refund_void', tokens: 3 },
  ])
})

it('a refund of a local admission lowers the debt once it is known that the store has not counted the charge', () => {
  const mine = localRefund(4)
  refunds.add(mine)
  outage.owe(mine.charge, mine.decision)
  refunds.retryOpen()
  expect([refunds.length, outage.owed()]).toEqual([0, 0])
})

it('what is to be charged in addition is lost with its batch too, and reported as such', () => {
  refunds.add({ ...refund(5), amount: -3 })
  refunds.add({ ...refund(5), amount: 2 })
  refunds.take(2)
  refunds.dropped(true)
  expect(seen).toEqual([
    { type: 'refunds_lost', tokens: 2 },
    { type: 'additions_lost', tokens: 3 },
  ])
})

it('refunds that close report all that may stay charged, once', () => {
  refunds.add(localRefund(4))
  for (const cost of [1, 2]) refunds.add(refund(cost))
  refunds.take(1)
  refunds.close()
  expect(seen).toEqual([{ type: 'refunds_lost', tokens: 7 }])
  expect(refunds.length).toBe(0)
})

it('refunds that close with nothing left report nothing', () => {
  refunds.add(refund(1))
  refunds.take(1)
  refunds.settled()
  refunds.close()
  expect(seen).toEqual([])
})
