import { beforeEach, describe, expect, it } from 'vitest'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
import { OutageAllowance, type OutageAllowanceOptions } from '../../../src/quota/ledger/outage-allowance.ts'
import { type DebtEvent, OutageDebts } from '../../../src/quota/ledger/outage-debts.ts'
import { AT, charge, chargeIn, DAY, HOUR, LIMITS, limits, MINUTE } from './outage-charges.ts'

let tokens: Record<DebtEvent, number>
let debts: OutageDebts
beforeEach(() => {
  tokens = { owed: 0, settled: 0, given_back: 0, expired: 0 }
  debts = new OutageDebts((event, count) => {
    tokens[event] += count
  })
})
function allowance(more: Partial<OutageAllowanceOptions> = {}): OutageAllowance {
  const share = (category: string): number => (category === 'read' ? 0.1 : 0)
  return new OutageAllowance({ share, maxUsers: 1000, debts, ...more })
}
/** How many are accepted, each of which is owed. */
function accepted(open: OutageAllowance, asked: Charge, at = AT): number {
  for (let count = 0; ; count++) {
    const decision = open.decide(asked, at)
    if (!decision?.accepted) return count
    debts.owe(asked, decision)
  }
}

it('the share of an organisation is used up by its users together, and not by those of another', () => {
  const open = allowance()
  const tight = (user: string, organisation: string) => {
    const { limits, ...rest } = chargeIn(organisation, 6, user)
    return { ...rest, limits: { ...limits, organisation: limits.personal } }
  }
  const verdicts = [tight('a', 'acme'), tight('b', 'acme'), tight('c', 'other')].map((each) => open.decide(each, AT))
  expect(verdicts.map((each) => each?.accepted)).toEqual([true, false, true])
  expect(verdicts[1]?.organisation?.[0]?.used).toBe(6)
})

it('the share of an organisation is free again when its windows are emptied, and those of others are not', () => {
  const open = allowance()
  const tight = (organisation: string) => {
    const { limits, ...rest } = chargeIn(organisation, 6, `${organisation} ${Math.random()}`)
    return { ...rest, limits: { ...limits, organisation: limits.personal } }
  }
  for (const organisation of ['acme', 'other']) open.decide(tight(organisation), AT)
  open.empty('read', [HOUR.seconds, DAY.seconds], 'acme')
  expect([tight('acme'), tight('other')].map((each) => open.decide(each, AT)?.accepted)).toEqual([true, false])
})

it('the share of an organisation is free again in the run that a refund names', () => {
  const open = allowance()
  const asked = chargeIn('acme', 6)
  const decision = open.decide(asked, AT) as Decision
  open.giveBack({ charge: asked, decision }, open.moved)
  expect(open.decide(chargeIn('acme', 4, 'bob'), AT)?.organisation?.[0]?.used).toBe(4)
})

describe('while the store is out', () => {
  it('a user is admitted up to the share of each personal limit, rounded down', () => {
    expect(accepted(allowance(), charge(1))).toBe(10)
    expect(accepted(allowance(), charge(1, 'alice', limits([109, 300])))).toBe(10)
    expect(accepted(allowance(), charge(4))).toBe(2)
    expect(accepted(allowance({ share: () => 0.29 }), charge(1))).toBe(29)
  })

  it('all users together are admitted up to the share of each global limit', () => {
    const open = allowance()
    const of = limits([100, 300], [250, 3000])
    expect(['a', 'b', 'c', 'd'].map((user) => accepted(open, charge(1, user, of)))).toEqual([10, 10, 5, 0])
  })

  it('the longer window goes on counting when the shorter one has started anew', () => {
    const open = allowance()
    const counts = [0, 60, 120, 180].map((minutes) => accepted(open, charge(1), AT + minutes * MINUTE))
    expect(counts).toEqual([10, 10, 10, 0])
  })

  it('a decision names the limits that made it, and the numbers of the local windows', () => {
    const open = allowance()
    accepted(open, charge(1))
    expect(open.decide(charge(1), AT)).toEqual({
      accepted: false,
      at: AT,
      personal: [
        { startedAt: AT, used: 10 },
        { startedAt: AT, used: 10 },
      ],
      organisation: null,
      global: [
        { startedAt: AT, used: 10 },
        { startedAt: AT, used: 10 },
      ],
      limits: limits([10, 30], [100, 300]),
    })
  })

  it('a category without a share is not decided', () => {
    expect(allowance().decide(charge(1, 'alice', LIMITS, 'write'), AT)).toBeNull()
  })

  it('a user has the share of each category', () => {
    const open = allowance({ share: () => 0.1 })
    expect(['read', 'write'].map((category) => accepted(open, charge(1, 'alice', LIMITS, category)))).toEqual([10, 10])
    const later = AT + 60 * MINUTE
    expect(['write', 'read'].map((category) => accepted(open, charge(1, 'alice', LIMITS, category), later))).toEqual([
      10, 10,
    ])
  })

  it('a cost that the share can never hold is not decided: waiting for a window would not help', () => {
    expect(allowance().decide(charge(11), AT)).toBeNull()
    expect(allowance().decide(charge(1, 'alice', limits([9, 300])), AT)).toBeNull()
    expect(allowance().decide(charge(1, 'alice', limits([100, 300], [9, 300])), AT)).toBeNull()
  })

  it('the share in force is the one that counts, also when it changes', () => {
    let share = 0.1
    const open = allowance({ share: () => share })
    expect(accepted(open, charge(1))).toBe(10)
    share = 0.2
    expect(accepted(open, charge(1))).toBe(10)
  })

  it('no more users are kept than agreed, those whose windows ended make room, and a known user goes on', () => {
    const open = allowance({ maxUsers: 2 })
    expect(['a', 'b'].map((user) => accepted(open, charge(5, user)))).toEqual([2, 2])
    expect(open.decide(charge(1, 'c'), AT)).toBeNull()
    expect(open.decide(charge(1, 'a'), AT)).toMatchObject({ accepted: false })
    const tomorrow = AT + 24 * 60 * MINUTE
    expect(accepted(open, charge(5, 'c'), tomorrow)).toBe(2)
    expect(tokens).toMatchObject({ owed: 30, expired: 20 })
  })

  it('those whose windows ended make room also by a clock that was set right since it was looked for last', () => {
    const open = allowance({ maxUsers: 1 })
    const wrong = AT + 365 * 24 * 60 * MINUTE
    expect(open.decide(charge(5, 'a'), wrong)?.accepted).toBe(true)
    expect(open.decide(charge(5, 'b'), wrong)).toBeNull()
    open.shift(AT - wrong)
    expect(open.decide(charge(5, 'b'), AT)).toBeNull()
    expect(open.decide(charge(5, 'b'), AT + 24 * 60 * MINUTE)?.accepted).toBe(true)
  })

  it('those whose windows ended are looked for once a second: a crowd of new users must not cost a sweep each', () => {
    const open = allowance({ maxUsers: 1 })
    const second = [{ window: { name: '1s', seconds: 1 }, limit: 100 }]
    const of: Limits = { personal: second, organisation: null, global: null }
    expect(open.decide(charge(5, 'a', of), AT)?.accepted).toBe(true)
    expect(open.decide(charge(5, 'b', of), AT + 500)).toBeNull()
    expect(open.decide(charge(5, 'b', of), AT + 1499)).toBeNull()
    expect(open.decide(charge(5, 'b', of), AT + 1500)?.accepted).toBe(true)
  })

  it('a crowd of users that are all refused is not remembered', () => {
    const open = allowance({ maxUsers: 2 })
    const of = limits([100, 300], [50, 50])
    expect(accepted(open, charge(5, 'first', of))).toBe(1)
    for (let i = 0; i < 10; i++) expect(open.decide(charge(5, `user-${i}`, of), AT)?.accepted).toBe(false)
    expect(open.decide(charge(5, 'second'), AT)?.accepted).toBe(true)
  })
})
