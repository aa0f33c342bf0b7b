import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
import { createLedger } from '../../../src/quota/ledger/ledger.ts'
import { createRecentRefusals } from '../../../src/quota/ledger/recent-refusals.ts'
import type { QuotaStore } from '../../../src/quota/quota-store.ts'
import { rateLimit } from '../../../src/quota/ratelimit-fields.ts'
import { refusalBody, violations } from '../../../src/quota/refusal.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { chargeOf } from '../charge-of.ts'

const HOUR = { name: '1h', seconds: 3600 }
const DAY = { name: '1d', seconds: 86_400 }
const LIMITS = {
  personal: [
    { window: HOUR, limit: 10 },
    { window: DAY, limit: 100 },
  ],
  organisation: null,
  global: [{ window: HOUR, limit: 1000 }],
}
const NOT_STARTED = { startedAt: 0, used: 0 }
const AT = 1_790_000_000_000
const charge = (more: Partial<Charge> = {}): Charge => chargeOf({ cost: 4, limits: LIMITS, ...more })
/** Refused by the hour of the user, which ends in `left` milliseconds. */
const refusal = (left = 1_800_000): Decision => ({
  accepted: false,
  at: AT,
  personal: [
    { startedAt: AT - 3_600_000 + left, used: 8 },
    { startedAt: 0, used: 0 },
  ],
  organisation: null,
  global: [{ startedAt: AT - 1000, used: 8 }],
})

function memory(keepMs = 250) {
  const clock = { now: 5000 }
  return { clock, refusals: createRecentRefusals(keepMs, () => clock.now) }
}

describe('a refusal of a moment ago', () => {
  it('a refusal is repeated with the time of now, for the same cost and for a higher one', () => {
    const { clock, refusals } = memory(1000)
    // 1,800 s less 50 ms are left.
    refusals.note(charge(), refusal(1_799_950), clock.now)
    clock.now += 950.6
    expect(refusals.recall(charge())).toEqual({ ...refusal(1_799_950), at: AT + 950 })
    expect(refusals.recall(charge({ cost: 5 }))?.accepted).toBe(false)
  })

  it('a refusal by a window that has not started names an end that is ahead, however long it goes on', () => {
    const { clock, refusals } = memory()
    const never = (at: number): Decision => ({
      accepted: false,
      at,
      personal: [NOT_STARTED, NOT_STARTED],
      organisation: null,
      global: [NOT_STARTED],
    })
    const dear = charge({ cost: 11 })
    const ends: number[] = []
    for (let ms = 0; ms < 5000; ms += 300) {
      clock.now = 5000 + ms
      const said = refusals.recall(dear) ?? refusals.note(dear, never(AT + ms), clock.now)
      ends.push(Date.parse(refusalBody(dear, said, 'UTC').quota.resetAt) - AT - ms)
    }
    expect(ends.filter((left) => left > 3_600_000 || left <= 3_599_000)).toEqual([])
  })

  it('a refusal is the same object, for a response that is remembered with it, until a second of one of its windows has passed', () => {
    const { clock, refusals } = memory(5000)
    refusals.note(charge(), refusal(1_800_300), clock.now)
    const said = [0, 299, 1, 699, 1].map((ms) => {
      clock.now += ms
      return refusals.recall(charge())
    })
    expect(said.map((decision) => said.indexOf(decision))).toEqual([0, 0, 2, 2, 4])
  })

  it('a refusal keeps to the clock, however often it is repeated', () => {
    const { clock, refusals } = memory(60_000)
    refusals.note(charge(), refusal(), clock.now)
    for (let i = 0; i < 30; i++) {
      clock.now += 1000.9
      refusals.recall(charge())
    }
    expect(refusals.recall(charge())?.at).toBe(AT + 30_027)
  })

  it('a refusal says of every window what is left of it, at any moment', () => {
    const moment = fc.integer({ min: 1, max: 3_600_000 })
    fc.assert(
      fc.property(
        moment,
        moment,
        fc.array(fc.tuple(fc.double({ min: 0, max: 900, noNaN: true }), fc.boolean())),
        (own, all, steps) => {
          const { clock, refusals } = memory(10_000)
          const refused = { ...refusal(own), global: [{ startedAt: AT - 3_600_000 + all, used: 8 }] }
          refusals.note(charge(), refused, clock.now)
          const begin = clock.now
          for (const [step, isAsked] of steps) {
            clock.now += step
            const exact = { ...refused, at: AT + Math.floor(clock.now - begin) }
            // Nothing refuses any more.
            if (exact.at >= AT + Math.min(own, all)) return
            const again = isAsked ? refusals.note(charge(), exact, clock.now) : refusals.recall(charge())
            if (again === null) return
            expect(rateLimit('read', LIMITS, again)).toBe(rateLimit('read', LIMITS, exact))
            expect(refusalBody(charge(), again, 'UTC')).toEqual(refusalBody(charge(), exact, 'UTC'))
          }
        },
      ),
    )
  }, 60_000)

  it('a refusal that the store gives again is the object that was given before, as long as it says the same', () => {
    const { clock, refusals } = memory(250)
    const again = (ms: number, decision: Decision = refusal(1_800_300)) => {
      clock.now += ms
      const now = { ...decision, at: AT + clock.now - 5000 }
      return { now, said: refusals.note(charge(), now, clock.now) }
    }
    const first = again(0)
    expect(first.said).toBe(first.now)
    expect(again(299).said).toBe(first.now)
    expect(refusals.recall(charge())).toBe(first.now)
    const [later, used] = [again(1), again(1, { ...refusal(1_800_300), global: [{ startedAt: AT - 1000, used: 9 }] })]
    expect([later.said, used.said]).toEqual([later.now, used.now])
    expect([later.said === first.now, used.said === later.now]).toEqual([false, false])
  })

  it('a refusal that is never to be repeated is the one of the store each time', () => {
    const { clock, refusals } = memory(0)
    const [first, second] = [refusal(), refusal()]
    expect([first, second].map((decision) => refusals.note(charge(), decision, clock.now))).toEqual([first, second])
    expect(refusals.note(charge(), second, clock.now)).toBe(second)
  })

  it.each([
    ['a lower cost, which may fit', charge({ cost: 3 })],
    ['another user', charge({ user: 'bob' })],
    ['another category', charge({ category: 'write' })],
    ['another organisation', charge({ organisation: 'acme' })],
    ['limits that have changed', charge({ limits: { ...LIMITS } })],
  ])('a refusal of a moment ago says nothing about %s', (_what, other) => {
    const { clock, refusals } = memory()
    refusals.note(charge(), refusal(), clock.now)
    expect(refusals.recall(other)).toBe(null)
  })

  it('a refusal of several meters is repeated for the same ones, or dearer ones, and for no others', () => {
    const { clock, refusals } = memory(1000)
    const other = charge({ category: 'tokens', cost: 7 })
    const several = (...others: readonly Charge[]): Charge => charge({ others })
    // The first has room: it is the other that refuses.
    refusals.note(several(other), { ...refusal(), others: [refusal(899_950)] }, clock.now)
    clock.now += 960
    const again = refusals.recall(several({ ...other }))
    expect(again).toEqual({ ...refusal(), at: AT + 960, others: [{ ...refusal(899_950), at: AT + 960 }] })
    expect(refusals.recall(several({ ...other, cost: 8 }))).not.toBe(null)
    const unlike = [{ cost: 6 }, { category: 'images' }, { limits: { ...LIMITS } }, { organisation: 'acme' }]
    for (const more of unlike) expect(refusals.recall(several({ ...other, ...more }))).toBe(null)
    for (const meters of [[], [other, other]]) expect(refusals.recall(several(...meters))).toBe(null)
    expect(refusals.recall(charge())).toBe(null)
    refusals.note(charge(), refusal(), clock.now)
    expect(refusals.recall(several(other))).toBe(null)
  })

  it('a refusal of several meters ends with the first window of any of them', () => {
    const { clock, refusals } = memory(60_000)
    const several = charge({ others: [charge({ category: 'tokens' })] })
    refusals.note(several, { ...refusal(), others: [refusal(2000)] }, clock.now)
    clock.now += 1998
    expect(refusals.recall(several)).not.toBe(null)
    clock.now += 1
    expect(refusals.recall(several)).toBe(null)
  })

  it('a refusal of a user stays when another user, who has none, is admitted', () => {
    const { clock, refusals } = memory()
    refusals.note(charge(), refusal(), clock.now)
    refusals.forget(charge({ user: 'bob' }))
    expect(refusals.recall(charge())).not.toBe(null)
  })

  it('a refusal is forgotten after a quarter of a second, when a window ends, and when anything is given back', () => {
    const { clock, refusals } = memory()
    refusals.note(charge(), refusal(), clock.now)
    clock.now += 250
    expect(refusals.recall(charge())).toBe(null)
    refusals.note(charge(), refusal(40), clock.now)
    // Asked in the last moment of a millisecond of the store's, which it tells as whole.
    clock.now += 38.9
    expect(refusals.recall(charge())).not.toBe(null)
    clock.now += 0.2
    expect(refusals.recall(charge())).toBe(null)
    refusals.note(charge(), refusal(), clock.now)
    refusals.clear()
    expect(refusals.recall(charge())).toBe(null)
  })

  it('a refusal is forgotten when a global window ends', () => {
    const { clock, refusals } = memory()
    const byAll = { ...refusal(), global: [{ startedAt: AT - 3_600_000 + 40, used: 998 }] }
    refusals.note(charge(), byAll, clock.now)
    clock.now += 38.9
    expect(refusals.recall(charge())).not.toBe(null)
    clock.now += 0.2
    expect(refusals.recall(charge())).toBe(null)
  })

  it('refusals take bounded memory, however many there are', () => {
    const { clock, refusals } = memory()
    for (let i = 0; i < 25_000; i++) refusals.note(charge({ user: `user-${i}` }), refusal(), clock.now)
    const kept = Array.from({ length: 25_000 }, (_, i) => refusals.recall(charge({ user: `user-${i}` }))).filter(
      Boolean,
    )
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.length).toBeLessThanOrEqual(10_000)
  })
})

describe('a ledger whose client goes on asking', () => {
  function asked(repeatRefusalsMs?: number) {
    const batches: number[] = []
    const store: Pick<QuotaStore, 'settle'> = {
      settle: async ({ charges }) => {
        batches.push(charges.length)
        return charges.map(({ cost }) => ({ ...refusal(), accepted: cost === 1 }))
      },
    }
    const options = { store, instance: 'test', deadlineMs: 5000, observe: () => {} }
    const ledger = createLedger({ ...options, ...(repeatRefusalsMs !== undefined && { repeatRefusalsMs }) })
    return { ledger, batches }
  }

  it('a client that goes on asking costs the store one charge, and another after a refund', async () => {
    const { ledger, batches } = asked()
    for (let i = 0; i < 5; i++) expect((await ledger.charge(charge())).accepted).toBe(false)
    expect(batches).toEqual([1])
    const decision = await ledger.charge(charge({ cost: 1 }))
    ledger.refund({ charge: charge({ cost: 1 }), decision })
    await ledger.charge(charge())
    expect(batches).toEqual([1, 1, 1])
    await ledger.close(100)
  })

  /** On a real store, whose answers come when the test lets them. */
  function onStore(of: Limits) {
    const store = openSqliteStore({ file: ':memory:', clock: () => AT + clock.now })
    const clock = { now: 5000 }
    let [responses, batches] = [Promise.resolve(), 0]
    const ledger = createLedger({
      store: {
        settle: async (batch) => {
          const decisions = await store.settle(batch)
          batches++
          await responses
          return decisions
        },
      },
      instance: 'test',
      deadlineMs: 60_000,
      observe: () => {},
      now: () => clock.now,
    })
    function hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      responses = promise
      return resolve
    }
    const ask = (cost: number) => ledger.charge(charge({ cost, limits: of }))
    onTestFinished(() => ledger.close(100).then(store.close))
    return { clock, ledger, hold, ask, settled: (count: number) => vi.waitUntil(() => batches === count) }
  }
  const both = (hour: number, day: number): Limits => ({
    personal: [
      { window: HOUR, limit: hour },
      { window: DAY, limit: day },
    ],
    organisation: null,
    global: null,
  })

  it('a refusal names the window that its client must wait for longest, also if a cheaper charge has just used that up', async () => {
    const limits = both(5, 6)
    const { ask } = onStore(limits)
    const asked: Decision[] = []
    for (const cost of [4, 2, 1, 2]) asked.push(await ask(cost))
    expect(asked.map(({ accepted }) => accepted)).toEqual([true, false, true, false])
    const worst = (i: number) => violations(charge({ cost: 2, limits }), asked[i] as Decision)[0]?.limit.window.name
    expect([worst(1), worst(3)]).toEqual(['1h', '1d'])
  })

  it('a client is not refused for what was given back while the refusal was under way', async () => {
    const limits = both(5, 5)
    const { ask, ledger, hold, settled } = onStore(limits)
    const decision = await ask(5)
    const response = hold()
    const refused = ask(5)
    await settled(2)
    ledger.refund({ charge: charge({ cost: 5, limits }), decision })
    response()
    expect((await refused).accepted).toBe(false)
    await settled(3)
    expect((await ask(5)).accepted).toBe(true)
  })

  it('a client is accepted from the moment at which the window ends, also if the refusal took long to arrive', async () => {
    const { ask, clock, hold, settled } = onStore({
      personal: [{ window: HOUR, limit: 5 }],
      organisation: null,
      global: null,
    })
    const { at } = await ask(5)
    const end = at - AT + HOUR.seconds * 1000
    clock.now = end - 100
    const response = hold()
    const refused = ask(5)
    await settled(2)
    clock.now = end - 20
    response()
    expect((await refused).accepted).toBe(false)
    clock.now = end - 1
    expect((await ask(5)).accepted).toBe(false)
    clock.now = end
    expect((await ask(5)).accepted).toBe(true)
  })

  it('a ledger asks each time if refusals are not to be repeated', async () => {
    const { ledger, batches } = asked(0)
    for (let i = 0; i < 3; i++) await ledger.charge(charge())
    expect(batches).toEqual([1, 1, 1])
    await ledger.close(100)
  })
})
