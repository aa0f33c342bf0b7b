import { beforeEach, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Charge, Decision } from '../../../src/quota/charge.ts'
import { DebtPayment } from '../../../src/quota/ledger/debt-payment.ts'
import { Outage } from '../../../src/quota/ledger/outage.ts'
import { chargeOf } from '../charge-of.ts'

const AT = Date.UTC(2026, 7, 6)
const HOUR = { window: { name: '1h', seconds: 3600 }, limit: 1000 }
const DAY = { window: { name: '1d', seconds: 86_400 }, limit: 1000 }
const charge = (cost: number, user: string, personal = [HOUR]): Charge =>
  chargeOf({ user, cost, limits: { personal, organisation: null, global: null } })
const decision: Decision = {
  accepted: true,
  at: AT,
  personal: [{ startedAt: AT, used: 9 }],
  organisation: null,
  global: null,
}

let outage: Outage
let payment: DebtPayment
let seen: Observation[]
beforeEach(() => {
  seen = []
  outage = new Outage({ share: () => 1, report: () => {} })
  payment = new DebtPayment({ outage, observe: (observation) => seen.push(observation) })
})
function owe(asked: Charge, at = AT): void {
  outage.owe(asked, outage.decide(asked, at) as Decision)
}
const costs = (): number[] => payment.charges.map(({ cost }) => cost)

it('a payment takes debts up to the size of a batch, and is reported with the last of them', () => {
  for (const [cost, user] of [
    [5, 'alice'],
    [6, 'bob'],
    [7, 'carol'],
  ] as const)
    owe(charge(cost, user))
  payment.take(2, AT)
  expect(costs()).toEqual([5, 6])
  payment.settled([decision, decision])
  expect([costs(), outage.owed(), seen]).toEqual([[], 7, []])
  payment.take(2, AT)
  payment.settled([decision])
  expect([outage.owed(), seen]).toEqual([0, [{ type: 'outage_settled', tokens: 18 }]])
  payment.settled([])
  expect(seen).toHaveLength(1)
})

it('a payment whose batch was dropped is owed as before', () => {
  owe(charge(5, 'alice'))
  payment.take(2, AT)
  payment.returned()
  expect([costs(), outage.owed(), outage.owes()]).toEqual([[], 5, true])
  payment.take(2, AT)
  expect(costs()).toEqual([5])
})

it('what was paid is reported also if the windows of the rest have ended meanwhile', () => {
  for (const user of ['alice', 'bob']) owe(charge(5, user))
  payment.take(1, AT)
  payment.settled([decision])
  payment.take(1, AT + 3_600_000)
  payment.settled([])
  expect(seen).toEqual([{ type: 'outage_settled', tokens: 5 }])
})

it('debts that are never paid are reported as lost, without those of a payment that may have been made', () => {
  owe(charge(60, 'alice'))
  // This debt counts differently in its two windows, so that it is paid by two charges.
  owe(charge(10, 'alice', [HOUR, DAY]))
  owe(charge(7, 'bob'))
  payment.take(2, AT)
  expect(costs()).toEqual([70, 10])
  payment.close()
  expect(seen).toEqual([{ type: 'outage_tokens', event: 'lost', tokens: 7 }])
})

it('nothing is reported as lost if nothing is owed', () => {
  payment.close()
  expect(seen).toEqual([])
})
