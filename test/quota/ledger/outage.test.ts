import { beforeEach, describe, expect, it } from 'vitest'
import { settleBatch } from '../../../src/quota/arithmetic.ts'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
import type { ScopeName } from '../../../src/quota/charged-scopes.ts'
import { type Counter, usageOf } from '../../../src/quota/counter.ts'
import { Outage, type OutageOptions } from '../../../src/quota/ledger/outage.ts'
import type { DebtEvent } from '../../../src/quota/ledger/outage-debts.ts'
import { AT, charge, chargeIn, DAY, HOUR, LIMITS, limits, MINUTE } from './outage-charges.ts'

let tokens: Record<DebtEvent, number>
beforeEach(() => {
  tokens = { owed: 0, settled: 0, given_back: 0, expired: 0 }
})
function outage(more: Partial<OutageOptions> = {}): Outage {
  return new Outage({
    share: (category) => (category === 'read' ? 0.1 : 0),
    report: (event, count) => {
      tokens[event] += count
    },
    ...more,
  })
}
/** Decides and, where it is accepted, owes at once. */
function admit(open: Outage, asked: Charge, at = AT): Decision | null {
  const decision = open.decide(asked, at)
  if (decision?.accepted) open.owe(asked, decision)
  return decision
}
function accepted(open: Outage, asked: Charge, at = AT): number {
  let count = 0
  while (count < 1000 && admit(open, asked, at)?.accepted) count++
  return count
}

/** A store's counters that payments are made to. */
function bank() {
  const counters = new Map<string, Counter>()
  const counterOf = (scope: ScopeName, id: string, category: string): Counter => {
    const key = JSON.stringify([scope, id, category])
    const counter = counters.get(key) ?? []
    counters.set(key, counter)
    return counter
  }
  return {
    settle: (charges: readonly Charge[], at: number, refunds: Parameters<typeof settleBatch>[0]['refunds'] = []) =>
      settleBatch({ charges, refunds }, counterOf, at),
    usedBy: (organisation: string, at: number) =>
      usageOf(counterOf('organisation', organisation, 'read'), DAY, at).used,
    used: (user: string | null, at: number) =>
      [HOUR, DAY].map(
        (window) =>
          usageOf(user === null ? counterOf('global', '', 'read') : counterOf('personal', user, 'read'), window, at)
            .used,
      ),
  }
}
function pay(open: Outage, to: ReturnType<typeof bank>, at = AT): number {
  const payment = open.take(1000, at)
  open.settled(payment, to.settle(payment.charges, at))
  return payment.charges.length
}

describe('a debt', () => {
  it('a debt is added to all windows of both scopes, by one charge for a user and category', () => {
    const open = outage()
    const store = bank()
    accepted(open, charge(3))
    accepted(open, charge(2, 'bob'))
    expect(pay(open, store)).toBe(2)
    expect(store.used('alice', AT)).toEqual([9, 9])
    expect(store.used(null, AT)).toEqual([19, 19])
    expect(open.owed()).toBe(0)
    expect(tokens).toMatchObject({ owed: 19, settled: 19 })
  })

  it('a debt counts above the limits of the store, in the windows that run there', () => {
    const open = outage()
    const store = bank()
    store.settle([charge(100)], AT)
    accepted(open, charge(5), AT + MINUTE)
    pay(open, store, AT + 2 * MINUTE)
    expect(store.used('alice', AT + 2 * MINUTE)).toEqual([110, 110])
    expect(store.used('alice', AT + 60 * MINUTE)).toEqual([0, 110])
  })

  it('a debt is owed for the organisation in which it was made, also of a user who changes it', () => {
    const [open, store] = [outage(), bank()]
    admit(open, chargeIn('acme', 3))
    admit(open, chargeIn('east', 4))
    admit(open, charge(1))
    expect(pay(open, store)).toBe(3)
    expect([store.usedBy('acme', AT), store.usedBy('east', AT)]).toEqual([3, 4])
    expect([store.used('alice', AT), store.used(null, AT)]).toEqual([
      [8, 8],
      [8, 8],
    ])
  })

  it('what is given back of a paid debt is given back to the organisation too', () => {
    const [open, store] = [outage(), bank()]
    const refund = { charge: chargeIn('acme', 3), decision: admit(open, chargeIn('acme', 3)) as Decision }
    pay(open, store)
    const inStore = open.giveBack(refund)
    store.settle([], AT, inStore ?? [])
    expect([store.usedBy('acme', AT), store.used('alice', AT)]).toEqual([0, [0, 0]])
  })

  it('a debt is paid once, and what is admitted after that is a new one', () => {
    const open = outage()
    const store = bank()
    admit(open, charge(5))
    expect([pay(open, store), pay(open, store)]).toEqual([1, 0])
    admit(open, charge(5))
    pay(open, store)
    expect(store.used('alice', AT)).toEqual([10, 10])
  })

  it('a paid debt does not give the share back: a store that comes and goes hands out no second one', () => {
    const open = outage()
    accepted(open, charge(1))
    pay(open, bank())
    expect(accepted(open, charge(1), AT + MINUTE)).toBe(0)
    expect(accepted(open, charge(1), AT + 60 * MINUTE)).toBe(10)
  })

  it('a window of the store may get debts of two local runs, after an outage before, and never of a third', () => {
    const [open, store] = [outage(), bank()]
    expect(accepted(open, charge(1, 'alice', limits([10, 300])))).toBe(1)
    // The window of the store starts with the payment, after the local one.
    pay(open, store, AT + 10 * MINUTE)
    const late = [50, 59, 60, 69].map((minutes) => {
      const count = accepted(open, charge(1), AT + minutes * MINUTE)
      pay(open, store, AT + minutes * MINUTE)
      return count
    })
    expect(late).toEqual([9, 0, 10, 0])
    expect(store.used('alice', AT + 69 * MINUTE)).toEqual([20, 20])
    expect(store.used('alice', AT + 70 * MINUTE)).toEqual([0, 20])
  })

  it('a debt counts in a window only while its local run lasts', () => {
    const open = outage()
    const store = bank()
    admit(open, charge(4))
    admit(open, charge(3), AT + 60 * MINUTE)
    const later = AT + 90 * MINUTE
    expect(pay(open, store, later)).toBe(2)
    expect(store.used('alice', later)).toEqual([3, 7])
    expect(store.used(null, later)).toEqual([3, 7])
    expect(tokens.settled).toBe(7)
  })

  it('a debt counts in a global window while the local run of all together lasts, which is not that of its user', () => {
    const used = (minutes: number) => {
      const [open, store] = [outage(), bank()]
      admit(open, charge(1, 'bob'))
      admit(open, charge(4), AT + 30 * MINUTE)
      admit(open, charge(3), AT + 70 * MINUTE)
      const at = AT + minutes * MINUTE
      pay(open, store, at)
      return { alice: store.used('alice', at), all: store.used(null, at) }
    }
    expect(used(89)).toEqual({ alice: [7, 7], all: [3, 8] })
    expect(used(90)).toEqual({ alice: [0, 7], all: [3, 8] })
    expect(used(130)).toEqual({ alice: [0, 7], all: [0, 8] })
  })

  it('a debt of before a reset of the windows of everybody stays owed beside that of the share that begins anew', () => {
    const [open, store] = [outage(), bank()]
    const most = limits([1000, 3000], [100, 3000])
    expect(accepted(open, charge(4, 'alice', most))).toBe(2)
    expect(open.decide(charge(4, 'bob', most), AT)?.accepted).toBe(false)
    open.empty('read', [HOUR.seconds])
    open.empty('write', [DAY.seconds])
    expect(accepted(open, charge(4, 'bob', most), AT + MINUTE)).toBe(2)
    // The day was not emptied: 16 of 300 are used there.
    expect(accepted(open, charge(4, 'alice', limits([1000, 3000], [9000, 300])), AT + MINUTE)).toBe(3)
    pay(open, store, AT + 2 * MINUTE)
    expect(store.used('alice', AT + 2 * MINUTE)).toEqual([20, 20])
    expect(store.used(null, AT + 2 * MINUTE)).toEqual([28, 28])
  })

  it('a debt of a user is the sum of what was admitted before a reset and after it', () => {
    const [open, store] = [outage(), bank()]
    admit(open, charge(4))
    open.empty('read', [HOUR.seconds, DAY.seconds])
    const later = { charge: charge(3), decision: admit(open, charge(3), AT + 30 * MINUTE) as Decision }
    admit(open, charge(2), AT + 31 * MINUTE)
    expect(open.giveBack(later)).toEqual([])
    expect(pay(open, store, AT + 40 * MINUTE)).toBe(1)
    expect(store.used(null, AT + 40 * MINUTE)).toEqual([6, 6])
  })

  it('a debt that is owed only after its window has ended leaves what the next one holds', () => {
    const [open, store] = [outage(), bank()]
    const early = { charge: charge(4), decision: open.decide(charge(4), AT) as Decision }
    const later = AT + 61 * MINUTE
    admit(open, charge(6), later)
    open.owe(early.charge, early.decision) // the store said only now that it had not counted it
    pay(open, store, later)
    expect([store.used('alice', later), store.used(null, later)]).toEqual([
      [6, 10],
      [6, 10],
    ])
  })

  it('a debt whose windows have all ended is over', () => {
    const open = outage()
    admit(open, charge(4))
    expect(pay(open, bank(), AT + 24 * 60 * MINUTE)).toBe(0)
    expect([open.owes(), open.owed(), tokens.expired]).toEqual([false, 0, 4])
  })

  it('a debt that came back unpaid is paid later with what was admitted since', () => {
    const open = outage()
    const store = bank()
    admit(open, charge(4))
    const payment = open.take(10, AT)
    admit(open, charge(3), AT + MINUTE)
    expect([open.owed(), open.owes()]).toEqual([7, true])
    open.returned(payment)
    expect(pay(open, store)).toBe(1)
    expect(store.used('alice', AT)).toEqual([7, 7])
    expect([open.owed(), tokens.settled]).toEqual([0, 7])
  })

  it('a debt of a user who bypasses the global scope is not added there', () => {
    const open = outage()
    const store = bank()
    admit(open, charge(4, 'alice', limits([100, 300])))
    admit(open, charge(3))
    pay(open, store)
    expect([store.used('alice', AT), store.used(null, AT)]).toEqual([
      [7, 7],
      [3, 3],
    ])
  })

  it('a debt in more windows than a charge may have, after a reload, is paid by several charges', () => {
    const open = outage()
    const windows = (from: number): Limits => ({
      personal: Array.from({ length: 8 }, (_, i) => ({ window: { name: `${i}`, seconds: from + i }, limit: 100 })),
      organisation: null,
      global: null,
    })
    const first = { charge: charge(4, 'alice', windows(60)), decision: admit(open, charge(4, 'alice', windows(60))) }
    admit(open, charge(4, 'alice', windows(64)))
    const payment = open.take(10, AT)
    expect(payment.charges.map(({ cost, limits }) => [cost, limits.personal.length])).toEqual([
      [4, 8],
      [8, 4],
    ])
    open.returned(payment)
    admit(open, charge(4, 'alice', windows(60)))
    admit(open, charge(4, 'alice', windows(72)))
    const counters = bank()
    const again = open.take(10, AT)
    expect(Math.max(...again.charges.map(({ limits }) => limits.personal.length))).toBeLessThanOrEqual(8)
    open.settled(again, counters.settle(again.charges, AT))
    const back = open.giveBack({ ...first, decision: first.decision as Decision })
    expect(back?.flatMap((refund) => refund.charge.limits.personal.map(({ window }) => window.seconds)).sort()).toEqual(
      windows(60).personal.map(({ window }) => window.seconds),
    )
  })

  it('a debt is kept while any of its windows runs, when those that ended make room', () => {
    const [open, store] = [outage({ maxUsers: 2 }), bank()]
    const hour = (limit: number) => [{ window: HOUR, limit }]
    const hours = { personal: hour(100), organisation: null, global: hour(1000) }
    admit(open, charge(1, 'bob', hours))
    admit(open, charge(4, 'alice', hours), AT + 30 * MINUTE)
    admit(open, charge(3, 'alice', hours), AT + 70 * MINUTE)
    admit(open, charge(2, 'carol', { personal: hour(100), organisation: null, global: null }), AT + 70 * MINUTE)
    // The hour of alice is over, that of all together and that of carol, who bypasses it, are not.
    const at = AT + 95 * MINUTE
    expect([open.decide(charge(1, 'dave', hours), at), open.owed(), tokens.expired]).toEqual([null, 9, 1])
    pay(open, store, at)
    expect([store.used('alice', at), store.used('carol', at), store.used(null, at)]).toEqual([
      [0, 0],
      [2, 0],
      [3, 0],
    ])
  })

  it('a debt of which nothing is left in a window does not start that window', () => {
    const [open, store] = [outage(), bank()]
    admit(open, charge(4))
    const later = AT + 61 * MINUTE
    const back = { charge: charge(3), decision: admit(open, charge(3), later) as Decision }
    open.giveBack(back)
    const payment = open.take(10, later)
    expect(payment.charges.map(({ cost, limits }) => [cost, limits.personal.length])).toEqual([[4, 1]])
    open.settled(payment, store.settle(payment.charges, later))
  })

  it('debts are taken in portions if there are many', () => {
    const open = outage()
    for (let i = 0; i < 10; i++) admit(open, charge(1, `user-${i}`))
    expect(open.take(4, AT).charges).toHaveLength(4)
    expect(open.take(4, AT).charges).toHaveLength(4)
    expect(open.take(4, AT).charges).toHaveLength(2)
    expect(open.owed()).toBe(10)
  })
})

describe('a charge that the store may have decided before it fell silent', () => {
  it('a charge that the store had accepted before it fell silent stands, and is not owed', () => {
    const open = outage()
    const store = bank()
    const [byStore] = store.settle([charge(4)], AT)
    const decision = open.decide(charge(4), AT) as Decision
    open.learn(charge(4), decision, byStore as Decision)
    expect([open.owes(), tokens.owed]).toEqual([false, 0])
    expect(open.giveBack({ charge: charge(4), decision })).toEqual([{ charge: charge(4), decision: byStore }])
  })

  it('a charge that the store had refused before it fell silent is owed', () => {
    const open = outage()
    const store = bank()
    store.settle([charge(100)], AT)
    const [byStore] = store.settle([charge(4)], AT)
    open.learn(charge(4), open.decide(charge(4), AT) as Decision, byStore as Decision)
    pay(open, store)
    expect(store.used('alice', AT)).toEqual([104, 104])
  })
})

describe('a refund of what was admitted locally', () => {
  it('a refund before the debt is paid lowers it and frees the share', () => {
    const open = outage()
    const store = bank()
    const decision = admit(open, charge(4)) as Decision
    admit(open, charge(5))
    expect(open.giveBack({ charge: charge(4), decision })).toEqual([])
    expect(accepted(open, charge(1))).toBe(5)
    pay(open, store)
    expect(store.used('alice', AT)).toEqual([10, 10])
    expect(tokens).toEqual({ owed: 14, given_back: 4, settled: 10, expired: 0 })
  })

  it('a refund frees the share also if the clock was set right since', () => {
    const open = outage()
    const wrong = AT + 365 * 24 * 60 * MINUTE
    const of = limits([100, 300], [100, 300])
    const decision = admit(open, charge(10, 'alice', of), wrong) as Decision
    pay(open, bank(), wrong)
    open.shift(AT - wrong)
    expect(accepted(open, charge(1, 'alice', of))).toBe(0)
    open.giveBack({ charge: charge(10, 'alice', of), decision })
    expect(accepted(open, charge(1, 'alice', of))).toBe(10)
  })

  it('a refund frees the share also of a run that began after the clock was set right', () => {
    const open = outage()
    open.shift(-MINUTE)
    const decision = admit(open, charge(10)) as Decision
    pay(open, bank())
    expect(accepted(open, charge(1))).toBe(0)
    open.giveBack({ charge: charge(10), decision })
    expect(accepted(open, charge(1))).toBe(10)
  })

  it('a refund of all that was admitted leaves no debt', () => {
    const open = outage()
    const decision = admit(open, charge(4)) as Decision
    open.giveBack({ charge: charge(4), decision })
    expect([open.owes(), open.owed()]).toEqual([false, 0])
  })

  it('a refund waits while the debt is paid, and is then asked of the store, in the windows that were charged', () => {
    const open = outage()
    const store = bank()
    const refund = { charge: charge(4), decision: admit(open, charge(4)) as Decision }
    admit(open, charge(3))
    const payment = open.take(10, AT)
    expect(open.giveBack(refund)).toBeNull()
    open.settled(payment, store.settle(payment.charges, AT + 5))
    store.settle([], AT + 6, open.giveBack(refund) ?? [])
    expect([store.used('alice', AT + 6), store.used(null, AT + 6)]).toEqual([
      [3, 3],
      [3, 3],
    ])
  })

  it('a refund finds the debt that took over one whose payment came back', () => {
    const open = outage()
    const store = bank()
    const first = { charge: charge(4), decision: admit(open, charge(4)) as Decision }
    const payment = open.take(10, AT)
    const second = { charge: charge(3), decision: admit(open, charge(3), AT + 1) as Decision }
    open.returned(payment)
    expect([open.giveBack(first), open.giveBack(second)]).toEqual([[], []])
    expect([open.owes(), pay(open, store)]).toEqual([false, 0])
  })

  it('a refund leaves the rest of the debt that took over one whose payment came back', () => {
    const open = outage()
    const store = bank()
    admit(open, charge(4))
    const payment = open.take(10, AT)
    const second = { charge: charge(3), decision: admit(open, charge(3), AT + 1) as Decision }
    open.returned(payment)
    expect([open.giveBack(second), open.owed(), pay(open, store)]).toEqual([[], 4, 1])
    expect(store.used('alice', AT)).toEqual([4, 4])
  })

  it('a refund whose debt ended with its windows leaves a new debt of that user alone', () => {
    const open = outage()
    const store = bank()
    const early = { charge: charge(4), decision: admit(open, charge(4)) as Decision }
    const tomorrow = AT + 24 * 60 * MINUTE
    pay(open, store, tomorrow)
    admit(open, charge(4), tomorrow)
    expect([open.giveBack(early), open.owed(), pay(open, store, tomorrow)]).toEqual([[], 4, 1])
    expect(store.used('alice', tomorrow)).toEqual([4, 4])
    expect(tokens).toEqual({ owed: 8, settled: 4, given_back: 0, expired: 4 })
  })

  it('a refund waits while it is unknown whether the store has counted the charge', () => {
    const open = outage()
    const decision = open.decide(charge(4), AT) as Decision
    expect(open.giveBack({ charge: charge(4), decision })).toBeNull()
    open.owe(charge(4), decision)
    expect(open.giveBack({ charge: charge(4), decision })).toEqual([])
    expect(open.owed()).toBe(0)
  })

  it('a refund of a charge that became owed after later ones is taken out of the debt all the same', () => {
    const open = outage()
    const early = { charge: charge(4), decision: open.decide(charge(4), AT) as Decision }
    admit(open, charge(3), AT + 500)
    open.owe(early.charge, early.decision) // the store said only now that it had not counted it
    open.giveBack(early)
    const store = bank()
    pay(open, store, AT + 1000)
    expect(store.used('alice', AT + 1000)).toEqual([3, 3])
  })

  it('a refund is asked of the store in the windows of each scope whose runs the charge was part of', () => {
    const [open, store] = [outage(), bank()]
    admit(open, charge(1, 'bob'))
    const early = { charge: charge(4), decision: admit(open, charge(4), AT + 30 * MINUTE) as Decision }
    const late = { charge: charge(3), decision: admit(open, charge(3), AT + 70 * MINUTE) as Decision }
    const at = AT + 95 * MINUTE
    admit(open, charge(2), at)
    pay(open, store, at)
    expect([store.used('alice', at), store.used(null, at)]).toEqual([
      [2, 9],
      [5, 10],
    ])
    store.settle([], at, open.giveBack(early) ?? [])
    expect([store.used('alice', at), store.used(null, at)]).toEqual([
      [2, 5],
      [5, 6],
    ])
    store.settle([], at, open.giveBack(late) ?? [])
    expect([store.used('alice', at), store.used(null, at)]).toEqual([
      [2, 2],
      [2, 3],
    ])
  })

  it('a refund before the debt is paid lowers what is owed in the global windows too', () => {
    const [open, store] = [outage(), bank()]
    admit(open, charge(1, 'bob'))
    const back = { charge: charge(4), decision: admit(open, charge(4), AT + 30 * MINUTE) as Decision }
    admit(open, charge(3), AT + 30 * MINUTE)
    expect(open.giveBack(back)).toEqual([])
    pay(open, store, AT + 31 * MINUTE)
    expect(store.used(null, AT + 31 * MINUTE)).toEqual([4, 4])
  })

  it('a refund leaves a window alone whose run the charge was not part of', () => {
    const open = outage()
    const store = bank()
    const early = { charge: charge(4), decision: admit(open, charge(4)) as Decision }
    const later = AT + 61 * MINUTE
    admit(open, charge(6), later)
    pay(open, store, later + 1)
    store.settle([], later + 2, open.giveBack(early) ?? [])
    expect(store.used('alice', later + 2)).toEqual([6, 6])
  })

  it('a refund is done once', () => {
    const open = outage()
    const refund = { charge: charge(4), decision: admit(open, charge(4)) as Decision }
    expect([open.made(refund.decision), open.giveBack(refund)]).toEqual([true, []])
    expect([open.made(refund.decision), open.giveBack(refund), open.owed()]).toEqual([false, [], 0])
  })
})

describe('a charge of several meters', () => {
  const both = { share: () => 0.1 }
  const several = (read: number, write: number): Charge => ({
    ...charge(read),
    others: [charge(write, 'alice', LIMITS, 'write')],
  })

  it('a charge of several meters is admitted where each has room in its share, and is owed by each', () => {
    const [open, store] = [outage(both), bank()]
    expect(admit(open, several(2, 9))).toMatchObject({ accepted: true, others: [{ accepted: true }] })
    expect(admit(open, several(2, 2))).toMatchObject({ accepted: false, personal: [{ used: 2 }, { used: 2 }] })
    expect(admit(open, charge(8))?.accepted).toBe(true)
    expect(open.owed()).toBe(19)
    expect(pay(open, store)).toBe(2)
    expect(store.used('alice', AT)).toEqual([10, 10])
    expect(tokens).toMatchObject({ owed: 19, settled: 19 })
  })

  it('a charge of several meters is not decided where one of them has no share, or a share below its cost', () => {
    expect(outage().decide(several(1, 1), AT)).toBe(null)
    expect(outage(both).decide(several(1, 11), AT)).toBe(null)
  })

  it('each meter of a charge is given back by itself, of what is owed and of what the store has', () => {
    const [open, store] = [outage(both), bank()]
    const one = several(2, 8)
    const decision = admit(open, one) as Decision
    expect(open.made(decision.others?.[0] as Decision)).toBe(true)
    expect(open.giveBack({ charge: one, decision, meter: 1 })).toEqual([])
    expect(open.owed()).toBe(2)
    expect(open.decide(charge(9, 'alice', LIMITS, 'write'), AT)?.accepted).toBe(true)
    pay(open, store)
    const back = open.giveBack({ charge: one, decision, amount: 1 }) ?? []
    expect(back.map(({ amount }) => amount)).toEqual([1])
    store.settle([], AT, back)
    expect(store.used('alice', AT)).toEqual([1, 1])
  })

  it('a charge of several meters that the store had accepted, too, is owed by none', () => {
    const [open, store] = [outage(both), bank()]
    const one = several(2, 8)
    const decision = open.decide(one, AT) as Decision
    const [byStore] = store.settle([one], AT) as [Decision]
    open.learn(one, decision, byStore)
    expect(open.owed()).toBe(0)
    const back = [0, 1].flatMap((meter) => open.giveBack({ charge: one, decision, meter }) ?? [])
    store.settle([], AT, back)
    expect(store.used('alice', AT)).toEqual([0, 0])
    expect(back.map(({ meter }) => meter)).toEqual([0, 1])
  })
})
