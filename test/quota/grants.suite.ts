import { expect, it } from 'vitest'
import { bookWindow } from '../../src/quota/books.ts'
import type { Charge, Decision, Limits, Refund } from '../../src/quota/charge.ts'
import { type Grant, grantOf } from '../../src/quota/grant.ts'
import type { HistoryScope } from '../../src/quota/history-store.ts'
import { violations } from '../../src/quota/refusal.ts'
import type { Limit } from '../../src/quota/window.ts'
import { chargeOf } from './charge-of.ts'
import { KEPT_FOR_EVER, type OpenHistory } from './history.suite.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** A Redis keeps each key by a clock of its own, while the test moves that of its scripts. */
const BEGIN = Date.UTC(2150, 0, 1)
const BOOKS = bookWindow('UTC')

const hourly = (limit: number): readonly Limit[] => [{ window: { name: '1h', seconds: 3600 }, limit }]
/** @param until milliseconds from the beginning */
const grant = (id: string, tokens: number, until = 10 * DAY): Grant => grantOf(id, BEGIN, BEGIN + until, tokens)

interface Having {
  readonly own?: readonly Grant[]
  readonly theirs?: readonly Grant[]
  readonly organisation?: number
  readonly global?: number
}

/** Limits of ten tokens an hour, with these grants. */
function limits({ own = [], theirs = [], organisation, global }: Having): Limits {
  return {
    personal: hourly(10),
    organisation: organisation === undefined ? null : hourly(organisation),
    global: global === undefined ? null : hourly(global),
    books: BOOKS,
    grants: { personal: own, organisation: theirs },
  }
}

/** What every store must do with extra tokens that were given once. */
export function grantsSuite(open: OpenHistory): void {
  async function withStore(test: (under: Under) => Promise<void>): Promise<void> {
    const store = await open(KEPT_FOR_EVER)
    let sequence = 0
    const charge = (cost: number, of: Limits, more: Partial<Charge> = {}) => chargeOf({ cost, limits: of, ...more })
    try {
      await test({
        charge,
        settle: (charges, at = 0, refunds = []) =>
          store.settle({ instance: 'grants', sequence: ++sequence, charges, refunds }, BEGIN + at),
        reset: (user, at) => store.change({ kind: 'reset', user }, BEGIN + at),
        async used(scope = 'personal', id = 'alice') {
          const { history } = await store.history.readHistory(scope, id)
          const sums = { windows: 0, books: 0 }
          history.eachRun(0, 2 ** 48, (_category, seconds, _startedAt, tokens) => {
            sums[seconds === BOOKS.seconds ? 'books' : 'windows'] += tokens
          })
          return { ...sums, ...Object.fromEntries(history.takenOf()) }
        },
      })
    } finally {
      await store.close()
    }
  }
  interface Under {
    charge(cost: number, of: Limits, more?: Partial<Charge>): Charge
    settle(charges: readonly Charge[], at?: number, refunds?: readonly Refund[]): Promise<readonly Decision[]>
    reset(user: string, at: number): Promise<void>
    used(scope?: HistoryScope, id?: string): Promise<Record<string, number>>
  }
  const verdicts = (decisions: readonly Decision[]) => decisions.map(({ accepted }) => accepted)

  it('a grant pays the whole cost of a request for which a window has no room, and the windows stay as they are', () =>
    withStore(async ({ charge, settle, used }) => {
      const of = limits({ own: [grant('a', 12)] })
      const decisions = await settle([charge(8, of), charge(5, of), charge(2, of), charge(7, of), charge(8, of)])
      expect(verdicts(decisions)).toEqual([true, true, true, true, false])
      expect(decisions.map(({ paidBy }) => paidBy?.personal?.used ?? null)).toEqual([null, 5, null, 12, null])
      expect(await used()).toEqual({ windows: 10, books: 22, a: 12 })
    }))

  it('a grant that ends first pays first, and one that has not enough pays no part', () =>
    withStore(async ({ charge, settle, used }) => {
      const of = limits({ own: [grant('soon', 5, DAY), grant('late', 20)] })
      await settle([charge(10, of), charge(6, of), charge(3, of), charge(3, of), charge(2, of)])
      expect(await used()).toEqual({ windows: 10, books: 24, soon: 5, late: 9 })
    }))

  it('a grant pays nothing from its end on, by the clock of the store', () =>
    withStore(async ({ charge, settle, used }) => {
      const of = limits({ own: [grant('a', 100, 2000)] })
      await settle([charge(10, of)])
      expect(verdicts(await settle([charge(1, of)], 1999))).toEqual([true])
      expect(verdicts(await settle([charge(1, of)], 2000))).toEqual([false])
      // A clock that is set back finds it as it was.
      expect((await settle([charge(1, of)], 1000))[0]?.paidBy?.personal?.used).toBe(2)
      expect(await used()).toEqual({ windows: 10, books: 12, a: 2 })
    }))

  it('a grant pays nothing of a request that another scope refuses, and is not named by the refusal', () =>
    withStore(async ({ charge, settle, used }) => {
      const of = limits({ own: [grant('a', 100)], global: 12 })
      const asked = charge(5, of)
      const [, refused] = await settle([charge(10, of), asked])
      expect(refused?.accepted).toBe(false)
      expect(violations(asked, refused as Decision).map(({ scope }) => scope)).toEqual(['global'])
      expect(await used()).toEqual({ windows: 10, books: 10 })
    }))

  it('a grant of an organisation pays for all its users together, beside one of the user', () =>
    withStore(async ({ charge, settle, used }) => {
      const of = limits({ own: [grant('own', 9)], theirs: [grant('theirs', 7)], organisation: 12 })
      const ofBob = limits({ theirs: [grant('theirs', 7)], organisation: 12 })
      const ask = (user: string, cost: number) =>
        charge(cost, user === 'bob' ? ofBob : of, { user, organisation: 'acme' })
      const all = [ask('alice', 10), ask('alice', 3), ask('bob', 3), ask('bob', 2), ask('bob', 2)]
      expect(verdicts(await settle(all))).toEqual([true, true, true, true, false])
      expect(await used()).toEqual({ windows: 10, books: 13, own: 3 })
      expect(await used('organisation', 'acme')).toEqual({ windows: 12, books: 18, theirs: 6 })
    }))

  it('a grant gets back what it paid, and pays what a request costs beyond, also when it has ended long since', () =>
    withStore(async ({ charge, settle, used }) => {
      const asked = charge(6, limits({ own: [grant('a', 12)] }))
      const [, paid] = await settle([charge(10, asked.limits), asked])
      const refund = (amount: number): Refund => ({ charge: asked, decision: paid as Decision, amount })
      await settle([], HOUR, [refund(2)])
      expect(await used()).toEqual({ windows: 10, books: 14, a: 4 })
      await settle([], 2 * HOUR, [refund(-9)])
      expect(await used()).toEqual({ windows: 10, books: 23, a: 13 })
      await settle([charge(1, asked.limits)], 40 * DAY)
      await settle([], 40 * DAY, [refund(3)])
      expect(await used()).toEqual({ windows: 11, books: 21, a: 10 })
    }))

  it('a grant stays taken when the windows of its user are emptied', () =>
    withStore(async ({ charge, settle, reset, used }) => {
      const of = limits({ own: [grant('a', 12)] })
      await settle([charge(10, of), charge(9, of)])
      await reset('alice', HOUR / 2)
      const again = await settle([charge(10, of), charge(4, of), charge(3, of)], HOUR / 2)
      expect(verdicts(again)).toEqual([true, false, true])
      expect((await used()).a).toBe(12)
    }))

  it('a grant that has paid for a request pays for its repetition too, once', () =>
    withStore(async ({ charge, settle, used }) => {
      const of = limits({ own: [grant('a', 12)] })
      const once = { key: 'k', body: 'b', forMs: HOUR, replays: 5 }
      const keyed = charge(6, of, { once })
      const [, first, second] = await settle([charge(10, of), keyed, keyed])
      expect([first?.once?.kind, second?.once?.kind]).toEqual(['charged', 'replayed'])
      expect(await used()).toMatchObject({ windows: 10, books: 16, a: 6 })
      const refund = (decision?: Decision): Refund => ({ charge: keyed, decision: decision as Decision, amount: 4 })
      await settle([], 0, [refund(first), refund(second)])
      expect(await used()).toMatchObject({ windows: 10, books: 12, a: 2 })
    }))

  it('a grant pays for the meter of its category alone, and for none of them if one has no room', () =>
    withStore(async ({ charge, settle, used }) => {
      const of = limits({ own: [grant('a', 12)] })
      const others = (cost: number) => ({ others: [charge(cost, limits({}), { category: 'write' })] })
      const decisions = await settle([charge(10, of), charge(4, of, others(7)), charge(4, of, others(4))])
      expect(verdicts(decisions)).toEqual([true, true, false])
      expect(await used()).toEqual({ windows: 17, books: 21, a: 4 })
    }))
}
