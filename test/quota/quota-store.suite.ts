import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Batch, Charge, Decision, Limits, Refund } from '../../src/quota/charge.ts'
import { usageOf } from '../../src/quota/counter.ts'
import type { Once } from '../../src/quota/once.ts'
import type { QuotaStore, StoreError } from '../../src/quota/quota-store.ts'
import { chargeOf } from './charge-of.ts'

/** What every quota store must do; a store's own test file calls this with a way to open a fresh, empty one. */
export interface StoreUnderTest {
  readonly store: QuotaStore
  /** Lets the store's clock pass this many milliseconds, or a little more where the clock is not ours. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

/** To be waited for: what is read of it must not depend on how long a step takes. */
const SECOND = { name: '1s', seconds: 1 }
/** Longer than any test, also where the clock is not ours and the machine has much to do. */
const MINUTE = { name: '1m', seconds: 60 }
const DAY = { name: '1d', seconds: 86_400 }

export function limits(personal: [number, number], global: [number, number] | null = null, shortest = MINUTE): Limits {
  const both = ([short, long]: [number, number]): Limits['personal'] => [
    { window: shortest, limit: short },
    { window: DAY, limit: long },
  ]
  return { personal: both(personal), organisation: null, global: global === null ? null : both(global) }
}

/** The same with an organisation. */
function withOrganisation(of: Limits, organisation: [number, number]): Limits {
  return { ...of, organisation: limits(organisation).personal }
}

export function quotaStoreSuite(open: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest
  let sequence: number

  beforeEach(async () => {
    under = await open()
    sequence = 0
  })
  afterEach(() => under.close())

  async function settle(charges: Charge[], refunds: Refund[] = []): Promise<readonly Decision[]> {
    return under.store.settle({ instance: 'test', sequence: ++sequence, charges, refunds })
  }
  const charge = (user: string, cost: number, of: Limits, category = 'read'): Charge =>
    chargeOf({ user, category, cost, limits: of })
  const chargeIn = (organisation: string, user: string, cost: number, of: Limits, category = 'read'): Charge => ({
    ...charge(user, cost, of, category),
    organisation,
  })
  const verdicts = (decisions: readonly Decision[]): boolean[] => decisions.map((d) => d.accepted)
  const admits = async (...charges: Charge[]): Promise<boolean[]> => verdicts(await settle(charges))
  async function used(user: string, category = 'read'): Promise<{ personal: number[]; global: number[] }> {
    const { at, personal, global } = await under.store.readUsage(user, [category])
    const of = (counter: (typeof personal)[number] | undefined): number[] =>
      [MINUTE, DAY].map((window) => usageOf(counter ?? [], window, at).used)
    return { personal: of(personal[0]), global: of(global[0]) }
  }

  async function usedBy(organisation: string, category = 'read'): Promise<number[]> {
    const { at, organisation: counters } = await under.store.readUsage('nobody', [category], organisation)
    return [MINUTE, DAY].map((window) => usageOf(counters?.[0] ?? [], window, at).used)
  }

  describe('an organisation', () => {
    const of = withOrganisation(limits([10, 10], [100, 100]), [15, 20])

    it('an organisation is charged with all its users together, and each organisation apart', async () => {
      const charges = [chargeIn('acme', 'a', 10, of), chargeIn('acme', 'b', 5, of), chargeIn('acme', 'c', 1, of)]
      const decisions = await settle([...charges, chargeIn('other', 'd', 1, of)])
      expect(verdicts(decisions)).toEqual([true, true, false, true])
      expect(decisions[1]?.organisation?.map(({ used }) => used)).toEqual([15, 15])
      expect([await usedBy('acme'), await usedBy('other')]).toEqual([
        [15, 15],
        [1, 1],
      ])
    })

    it('an organisation that refuses a charge leaves no window of any scope charged', async () => {
      await settle([chargeIn('acme', 'a', 10, of)])
      const [refused] = await settle([chargeIn('acme', 'b', 6, of)])
      expect(refused).toMatchObject({ accepted: false, organisation: [{ used: 10 }, { used: 10 }] })
      expect(await used('b')).toEqual({ personal: [0, 0], global: [10, 10] })
      expect(await usedBy('acme')).toEqual([10, 10])
    })

    it('an organisation is not charged what another scope refuses', async () => {
      await settle([
        chargeIn('acme', 'a', 11, of),
        chargeIn('acme', 'b', 8, { ...of, global: limits([7, 7]).personal }),
      ])
      expect(await usedBy('acme')).toEqual([0, 0])
    })

    it('an organisation of the name of a user has windows of its own', async () => {
      await settle([chargeIn('a', 'a', 4, of), charge('a', 3, of)])
      expect([await used('a'), await usedBy('a')]).toEqual([{ personal: [7, 7], global: [7, 7] }, [4, 4]])
    })

    it('an organisation is not charged by whoever belongs to none, also in one batch with its users', async () => {
      const decisions = await settle([charge('a', 1, of), chargeIn('acme', 'a', 2, of), charge('a', 4, of)])
      expect(decisions.map(({ organisation }) => organisation?.[0]?.used ?? null)).toEqual([null, 2, null])
      expect([await used('a'), await usedBy('acme')]).toEqual([{ personal: [7, 7], global: [7, 7] }, [2, 2]])
    })

    it('an organisation is left by a user with the personal windows as they are', async () => {
      await settle([chargeIn('acme', 'a', 4, of)])
      expect(await admits(chargeIn('other', 'a', 6, of), chargeIn('other', 'a', 1, of))).toEqual([true, false])
      expect([await usedBy('acme'), await usedBy('other')]).toEqual([
        [4, 4],
        [6, 6],
      ])
    })

    it('an organisation counts each of its categories, however they alternate in a batch', async () => {
      const charges = [1, 2, 3, 4].map((cost, i) =>
        chargeIn('acme', 'abcd'[i] ?? '', cost, of, i % 2 ? 'write' : 'read'),
      )
      expect(await admits(...charges)).toEqual([true, true, true, true])
      expect([await usedBy('acme', 'read'), await usedBy('acme', 'write')]).toEqual([
        [4, 4],
        [6, 6],
      ])
    })

    it('an organisation holds each of its users to the limits of his own plan', async () => {
      const tight = withOrganisation(limits([10, 10], [100, 100]), [6, 6])
      const charges = [chargeIn('acme', 'a', 5, of), chargeIn('acme', 'b', 2, tight), chargeIn('acme', 'c', 2, of)]
      expect(await admits(...charges)).toEqual([true, false, true])
      expect(await usedBy('acme')).toEqual([7, 7])
    })

    it('an organisation gets back what is refunded, whatever its user belongs to since', async () => {
      const [decision] = await settle([chargeIn('acme', 'a', 4, of)])
      await settle([], [{ charge: chargeIn('acme', 'a', 4, of), decision: decision as Decision }])
      expect([await used('a'), await usedBy('acme')]).toEqual([{ personal: [0, 0], global: [0, 0] }, [0, 0]])
    })

    it('an organisation may be the only scope of a forced charge', async () => {
      const alone = { ...withOrganisation(limits([1, 1]), [1, 1]), personal: [] }
      const forced: Charge = { ...chargeIn('acme', 'a', 9, alone), forced: true }
      const [decision] = await settle([forced])
      expect(decision).toMatchObject({ accepted: true, personal: [], organisation: [{ used: 9 }, { used: 9 }] })
      expect([await used('a'), await usedBy('acme')]).toEqual([{ personal: [0, 0], global: [0, 0] }, [9, 9]])
    })

    it('an organisation is read only if it is asked for', async () => {
      expect((await under.store.readUsage('a', ['read'])).organisation).toBeNull()
      expect((await under.store.readUsage('a', ['read'], 'acme')).organisation).toEqual([[]])
    })
  })

  describe('a charge', () => {
    it('a charge starts every window of its category at the same moment and counts its cost in each', async () => {
      const [decision] = await settle([charge('alice', 4, limits([10, 20], [100, 200]))])
      expect(decision).toMatchObject({ accepted: true })
      const at = decision?.at
      const usage = { startedAt: at, used: 4 }
      expect(decision?.personal).toEqual([usage, usage])
      expect(decision?.global).toEqual([usage, usage])
    })

    it('a charge that no window of its user limits is held to those of others, and passes where there are none', async () => {
      const ofAll = { ...limits([1, 1], [5, 9]), personal: [] }
      const ofTheirs = { ...withOrganisation(limits([1, 1]), [7, 9]), personal: [] }
      const none: Limits = { personal: [], organisation: null, global: null }
      expect(await admits(charge('a', 5, ofAll))).toEqual([true])
      expect(await admits(charge('b', 5, ofAll))).toEqual([false])
      expect(await admits(chargeIn('acme', 'a', 6, ofTheirs))).toEqual([true])
      expect(await admits(chargeIn('acme', 'c', 6, ofTheirs))).toEqual([false])
      const [free] = await settle([charge('a', 1000, none)])
      expect(free).toMatchObject({ accepted: true, personal: [], organisation: null, global: null })
      expect([await used('a'), await usedBy('acme')]).toEqual([{ personal: [0, 0], global: [5, 5] }, [6, 6]])
    })

    it('a charge is accepted up to the limit and not one token beyond', async () => {
      const of = limits([10, 100])
      expect(await admits(charge('a', 6, of), charge('a', 4, of), charge('a', 1, of))).toEqual([true, true, false])
      expect((await used('a')).personal).toEqual([10, 10])
    })

    it('a charge that one window refuses changes no window of either scope', async () => {
      await settle([charge('a', 3, limits([10, 100], [10, 100]))])
      const before = await used('a')
      const [refused] = await settle([charge('a', 8, limits([100, 100], [10, 100]))])
      expect(refused?.accepted).toBe(false)
      expect(refused?.global?.[0]?.used).toBe(3)
      expect(await used('a')).toEqual(before)
    })

    it('a charge that is refused before anything was accepted starts no window', async () => {
      const [refused] = await settle([charge('a', 11, limits([10, 100], [100, 100]))])
      expect(refused).toMatchObject({
        accepted: false,
        personal: [
          { startedAt: 0, used: 0 },
          { startedAt: 0, used: 0 },
        ],
      })
      expect(await used('a')).toEqual({ personal: [0, 0], global: [0, 0] })
    })

    it('larger than a limit of zero is refused', async () => {
      expect(await admits(charge('a', 1, limits([0, 10])))).toEqual([false])
    })

    it('a charge without the global scope neither reads nor writes it', async () => {
      await settle([charge('a', 5, limits([10, 10], [5, 5]))])
      expect(await admits(charge('b', 5, limits([10, 10], null)))).toEqual([true])
      expect((await used('b')).global).toEqual([5, 5])
    })

    it('a charge counts the global scope over all users and keeps the users apart', async () => {
      const of = limits([10, 10], [15, 15])
      expect(await admits(charge('a', 10, of), charge('b', 5, of), charge('c', 1, of))).toEqual([true, true, false])
      expect(await used('b')).toEqual({ personal: [5, 5], global: [15, 15] })
    })

    it('a charge keeps categories apart', async () => {
      await settle([charge('a', 10, limits([10, 10], [10, 10]), 'read')])
      expect(await admits(charge('a', 10, limits([10, 10], [10, 10]), 'write'))).toEqual([true])
    })

    it('a charge counts large numbers exactly', async () => {
      const of = limits([10 ** 12, 10 ** 12])
      expect(await admits(charge('a', 10 ** 12 - 1, of), charge('a', 1, of), charge('a', 1, of))).toEqual([
        true,
        true,
        false,
      ])
      expect((await used('a')).personal).toEqual([10 ** 12, 10 ** 12])
    })
  })

  describe('a forced charge', () => {
    const forced = (user: string, cost: number, of: Limits): Charge => ({ ...charge(user, cost, of), forced: true })

    it('a forced charge is another one than a charge of the same limits and cost beside it, which they bound', async () => {
      const of = limits([10, 10])
      expect(await admits(charge('a', 8, of), forced('a', 8, of), charge('b', 8, of))).toEqual([true, true, true])
      expect(await admits(forced('c', 8, of), charge('c', 8, of))).toEqual([true, false])
      expect((await used('a')).personal).toEqual([16, 16])
    })

    it('a forced charge is accepted above every limit and counts in all windows of both scopes', async () => {
      await settle([charge('a', 9, limits([10, 10], [10, 10]))])
      const [decision] = await settle([forced('a', 5, limits([10, 10], [10, 10]))])
      expect(decision).toMatchObject({ accepted: true, personal: [{ used: 14 }, { used: 14 }] })
      expect(await used('a')).toEqual({ personal: [14, 14], global: [14, 14] })
    })

    it('a forced charge starts the windows that are not running', async () => {
      const [decision] = await settle([forced('a', 5, limits([0, 0]))])
      expect(decision?.personal).toEqual([
        { startedAt: decision?.at, used: 5 },
        { startedAt: decision?.at, used: 5 },
      ])
    })

    it('a forced charge leaves no room for what its batch charges after it, and what came before it stays', async () => {
      const of = limits([10, 10], [100, 100])
      const batch = [charge('a', 8, of), forced('a', 3, of), charge('a', 1, of), charge('b', 1, of)]
      expect(await admits(...batch)).toEqual([true, true, false, true])
      expect(await used('a')).toEqual({ personal: [11, 11], global: [12, 12] })
    })

    it('a forced charge can be given back, in parts too', async () => {
      const one = forced('a', 9, limits([5, 5]))
      const [decision] = await settle([one])
      await settle([], [{ charge: { ...one, cost: 4 }, decision: decision as Decision }])
      expect((await used('a')).personal).toEqual([5, 5])
    })

    it('a forced charge may be one in the global scope alone, and be given back', async () => {
      const both = limits([5, 5], [9, 9])
      const of = { personal: [], organisation: null, global: both.global }
      const batch = [charge('a', 1, both), forced('b', 7, of), charge('a', 1, both), charge('c', 1, both)]
      const decisions = await settle(batch)
      expect(verdicts(decisions)).toEqual([true, true, true, false])
      expect(decisions[1]).toMatchObject({ personal: [], organisation: null, global: [{ used: 8 }, { used: 8 }] })
      expect([await used('a'), await used('b')]).toEqual([
        { personal: [2, 2], global: [9, 9] },
        { personal: [0, 0], global: [9, 9] },
      ])
      await settle([], [{ charge: forced('b', 3, of), decision: decisions[1] as Decision }])
      expect((await used('b')).global).toEqual([6, 6])
    })

    it('a forced charge that is sent again is applied once', async () => {
      const batch = { instance: 'again', sequence: 1, refunds: [], charges: [forced('a', 9, limits([5, 5]))] }
      expect(await under.store.settle(batch)).toEqual(await under.store.settle(batch))
      expect((await used('a')).personal).toEqual([9, 9])
    })
  })

  it('a window ends at its own time, while a longer one goes on', async () => {
    const of = limits([5, 8], null, SECOND)
    await settle([charge('a', 5, of)])
    await under.pass(1000)
    const [again] = await settle([charge('a', 3, of)])
    expect(again).toMatchObject({ accepted: true })
    expect(again?.personal.map((u) => u.used)).toEqual([3, 8])
    expect(again?.personal[0]?.startedAt).toBe(again?.at)
    await under.pass(1000)
    expect(await admits(charge('a', 1, of))).toEqual([false])
  })

  it('a window keeps what it has counted when its limit changes', async () => {
    await settle([charge('a', 5, limits([10, 10]))])
    expect(await admits(charge('a', 1, limits([5, 10])))).toEqual([false])
    expect(await admits(charge('a', 5, limits([20, 10])))).toEqual([true])
  })

  it('a window that the configuration no longer names is remembered until it ends', async () => {
    await settle([charge('a', 5, limits([10, 10]))])
    const short: Limits = { personal: [{ window: MINUTE, limit: 10 }], organisation: null, global: null }
    await settle([charge('a', 5, short)])
    expect((await used('a')).personal).toEqual([10, 5])
  })

  describe('a refund', () => {
    const of = limits([10, 10], [20, 20])

    it('a refund gives back exactly what was charged, in both scopes', async () => {
      const one = charge('a', 7, of)
      const [decision] = await settle([one])
      await settle([], [{ charge: one, decision: decision as Decision }])
      expect(await used('a')).toEqual({ personal: [0, 0], global: [0, 0] })
    })

    it('a refund of an amount gives back so much of the charge, once', async () => {
      const one = charge('a', 7, of)
      const [decision] = await settle([one, charge('a', 2, of)])
      const refunds = [{ charge: one, decision: decision as Decision, amount: 4 }]
      const batch = { instance: 'test', sequence: ++sequence, charges: [], refunds }
      await under.store.settle(batch)
      await under.store.settle(batch)
      expect(await used('a')).toEqual({ personal: [5, 5], global: [5, 5] })
    })

    it('a refund of an amount below 0 charges in addition, above every limit', async () => {
      const one = charge('a', 7, of)
      const [decision] = await settle([one])
      await settle([charge('b', 1, of)], [{ charge: one, decision: decision as Decision, amount: -30 }])
      expect(await used('a')).toEqual({ personal: [37, 37], global: [37, 37] })
      expect((await used('b')).personal).toEqual([0, 0])
    })

    it('a refund of an amount below 0 adds nothing to a later run of the window', async () => {
      const short = limits([10, 20], [20, 20], SECOND)
      const one = charge('a', 5, short)
      const [decision] = await settle([one])
      await under.pass(1000)
      const [later] = await settle(
        [charge('a', 4, short)],
        [{ charge: one, decision: decision as Decision, amount: -3 }],
      )
      const windows = [...(later?.personal ?? []), ...(later?.global ?? [])]
      expect(windows.map((each) => each.used)).toEqual([4, 12, 4, 12])
    })

    it('a refund of an amount below 0 stops at the most that a window can hold', async () => {
      const hour = { name: '1h', seconds: 3600 }
      const hours = [{ window: hour, limit: 10 ** 12 }]
      const one = charge('a', 10 ** 12, { personal: hours, organisation: null, global: null })
      const [decision] = await settle([one])
      await settle([], [{ charge: one, decision: decision as Decision, amount: -(10 ** 9) }])
      const { at, personal } = await under.store.readUsage('a', ['read'])
      expect(usageOf(personal[0] ?? [], hour, at).used).toBeGreaterThanOrEqual(10 ** 12)
    })

    it('a refund comes before the charges of its batch', async () => {
      const one = charge('a', 10, of)
      const [decision] = await settle([one])
      expect(verdicts(await settle([charge('a', 10, of)], [{ charge: one, decision: decision as Decision }]))).toEqual([
        true,
      ])
    })

    it('a refund of more than a store still knows of, as one that lost its last charges, leaves nothing and not less', async () => {
      const one = charge('a', 7, of)
      const [decision] = await settle([one])
      await settle([], [{ charge: { ...one, cost: 9 }, decision: decision as Decision }])
      expect(await used('a')).toEqual({ personal: [0, 0], global: [0, 0] })
      expect(await admits(charge('a', 10, of), charge('a', 1, of))).toEqual([true, false])
    })

    it('a refund leaves a later run of the window alone', async () => {
      const short = limits([10, 10], [20, 20], SECOND)
      const one = charge('a', 5, short)
      const [decision] = await settle([one])
      await under.pass(1000)
      const [later] = await settle([charge('a', 4, short)])
      await settle([], [{ charge: one, decision: decision as Decision }])
      // As it stands at the moment of the later charge, whenever it is read.
      const { personal, global } = await under.store.readUsage('a', ['read'])
      const at = later?.at ?? 0
      for (const counter of [personal[0], global[0]]) {
        expect([SECOND, DAY].map((window) => usageOf(counter ?? [], window, at).used)).toEqual([4, 4])
      }
    })
  })

  describe('a batch', () => {
    const of = limits([10, 10])
    const batch = (number: number, cost: number): Batch => ({
      instance: 'again',
      sequence: number,
      refunds: [],
      charges: [charge('a', cost, of)],
    })

    it('a batch that is sent again is applied once and has the same reply', async () => {
      const first = await under.store.settle(batch(1, 6))
      const second = await under.store.settle(batch(1, 6))
      expect(second).toEqual(first)
      expect((await used('a')).personal).toEqual([6, 6])
    })

    it('a batch that was overtaken is refused and never applied', async () => {
      await under.store.settle(batch(2, 1))
      await expect(under.store.settle(batch(1, 5))).rejects.toMatchObject({
        name: 'StaleBatch',
        applied: 'no',
      } satisfies Partial<StoreError>)
      expect((await used('a')).personal).toEqual([1, 1])
    })

    it('a batch of another instance with the same sequence is its own', async () => {
      await under.store.settle({ ...batch(1, 2), instance: 'one' })
      await under.store.settle({ ...batch(1, 2), instance: 'two' })
      expect((await used('a')).personal).toEqual([4, 4])
    })

    it('a batch without anything in it is settled', async () => {
      expect(await settle([])).toEqual([])
    })

    it('a batch of 256 charges of as many users is settled in order', async () => {
      const charges = Array.from({ length: 256 }, (_, i) => charge(`user-${i}`, 1, limits([1, 1], [200, 200])))
      expect(await admits(...charges)).toEqual(charges.map((_, i) => i < 200))
    })
  })

  describe('a charge of several meters', () => {
    const roomy = limits([10, 20], [100, 200])
    const tight = limits([10, 20], [5, 200])
    const several = (user: string, costs: readonly number[], of: Limits, more: Partial<Charge> = {}): Charge => {
      const [first, ...others] = costs.map((cost, i) => charge(user, cost, of, ['requests', 'tokens', 'images'][i]))
      return { ...(first as Charge), others, ...more }
    }
    const usedIn = async (...categories: string[]): Promise<number[]> => {
      const all = await Promise.all(categories.map((category) => used('a', category)))
      return all.map(({ personal }) => personal[0] as number)
    }

    it('a charge of several meters charges all windows of all scopes of each of them', async () => {
      const [decision] = await settle([several('a', [1, 4, 7], roomy)])
      expect(decision).toMatchObject({
        accepted: true,
        personal: [{ used: 1 }, { used: 1 }],
        others: [
          { accepted: true, personal: [{ used: 4 }, { used: 4 }], global: [{ used: 4 }, { used: 4 }] },
          { accepted: true, personal: [{ used: 7 }, { used: 7 }], global: [{ used: 7 }, { used: 7 }] },
        ],
      })
      expect(await usedIn('requests', 'tokens', 'images')).toEqual([1, 4, 7])
      expect((await used('a', 'images')).global).toEqual([7, 7])
    })

    it.each<[string, readonly number[]]>([
      ['the first', [11, 1, 1]],
      ['one between', [1, 11, 1]],
      ['the last', [1, 1, 11]],
    ])(
      'a charge of several meters charges nothing and starts no window where %s of them does not fit',
      async (_which, costs) => {
        const [decision] = await settle([several('a', costs, roomy)])
        expect(decision).toMatchObject({ accepted: false, personal: [{ startedAt: 0 }, { startedAt: 0 }] })
        expect(decision?.others?.map(({ accepted }) => accepted)).toEqual([false, false])
        const { personal, global } = await under.store.readUsage('a', ['requests', 'tokens', 'images'])
        expect([...personal, ...global].flat().filter(({ startedAt }) => startedAt > 0)).toEqual([])
      },
    )

    it('a charge of several meters charges nothing to its user where everybody, or the organisation, has no room for one of them', async () => {
      await settle([charge('b', 3, tight, 'tokens')])
      const ofOrganisation = withOrganisation(roomy, [2, 20])
      const inOrganisation = { organisation: 'acme', limits: ofOrganisation }
      const [of, by] = await settle([
        several('a', [1, 3], tight),
        {
          ...several('a', [1, 3], ofOrganisation),
          ...inOrganisation,
          others: [{ ...charge('a', 3, ofOrganisation, 'tokens'), ...inOrganisation }],
        },
      ])
      expect([of?.accepted, by?.accepted]).toEqual([false, false])
      expect(await usedIn('requests', 'tokens')).toEqual([0, 0])
      expect(await usedBy('acme', 'requests')).toEqual([0, 0])
    })

    it('a charge of several meters counts with all others of its batch, before it and behind it', async () => {
      const decisions = await settle([
        charge('a', 6, roomy, 'tokens'),
        several('a', [1, 4], roomy),
        several('a', [1, 1], roomy),
        charge('a', 9, roomy, 'requests'),
        charge('a', 1, roomy, 'requests'),
      ])
      expect(verdicts(decisions)).toEqual([true, true, false, true, false])
      expect(await usedIn('requests', 'tokens')).toEqual([10, 10])
    })

    it('a charge of several meters keeps what other charges of its batch have put beside, where all windows run and where one begins', async () => {
      await settle([several('a', [1, 1, 1], roomy)])
      const running = await settle([
        several('a', [2, 3, 4], roomy),
        several('a', [1, 1, 20], roomy),
        several('a', [1, 1, 1], roomy),
      ])
      expect(verdicts(running)).toEqual([true, false, true])
      expect(await usedIn('requests', 'tokens', 'images')).toEqual([4, 5, 6])
      const begun = await settle([
        several('a', [1, 2], roomy),
        charge('a', 3, roomy, 'read'),
        several('a', [1, 1, 1], roomy),
        charge('a', 1, roomy, 'images'),
      ])
      expect(verdicts(begun)).toEqual([true, true, true, true])
      expect(await usedIn('requests', 'tokens', 'images', 'read')).toEqual([6, 8, 8, 3])
      const short = limits([10, 20], [100, 200], SECOND)
      await settle([charge('a', 5, short, 'write')])
      await under.pass(1000)
      await settle([
        several('a', [1, 1, 1], roomy, { others: [charge('a', 2, short, 'write')] }),
        charge('a', 1, roomy, 'tokens'),
      ])
      expect(await usedIn('requests', 'tokens')).toEqual([7, 9])
      expect((await used('a', 'write')).personal[1]).toBe(7)
    })

    it('a charge of several meters gives back each meter by itself, and charges more for one', async () => {
      const one = several('a', [1, 8, 5], roomy)
      const [decision] = await settle([one])
      const refund = { charge: one, decision: decision as Decision }
      await settle(
        [],
        [
          { ...refund, meter: 1, amount: 6 },
          { ...refund, meter: 2, amount: -2 },
        ],
      )
      expect(await usedIn('requests', 'tokens', 'images')).toEqual([1, 2, 7])
      await settle([], [refund])
      expect(await usedIn('requests', 'tokens', 'images')).toEqual([0, 2, 7])
    })

    it('a charge of several meters with a key is charged once, and all its requests together cost of each meter what the dearest of them did', async () => {
      const once: Once = { key: 'k', body: 'a body', forMs: 86_400_000, replays: 2 }
      const one = several('a', [1, 8], roomy, { once })
      const [first, again] = await settle([one, one])
      expect([first?.once?.kind, again?.once?.kind]).toEqual(['charged', 'replayed'])
      expect(again?.others?.[0]).toMatchObject({ accepted: true, personal: [{ used: 8 }, { used: 8 }] })
      expect(await usedIn('requests', 'tokens')).toEqual([1, 8])
      const back = (decision: Decision | undefined, meter: number, amount: number): Refund => {
        return { charge: one, decision: decision as Decision, meter, amount }
      }
      // Of the tokens one used 3 and the other 5; the request of the first was free, and that of the second was not.
      await settle([], [back(first, 1, 5), back(first, 0, 1)])
      expect(await usedIn('requests', 'tokens')).toEqual([1, 8])
      await settle([], [back(again, 1, 3), back(again, 0, 0)])
      expect(await usedIn('requests', 'tokens')).toEqual([1, 5])
      expect((await settle([one]))[0]?.once?.kind).toBe('replayed')
    })

    it('a charge of several meters with a key is not held open by a repetition that has fewer meters', async () => {
      const once: Once = { key: 'k', body: 'a body', forMs: 86_400_000, replays: 2 }
      const [whole, single] = [several('a', [1, 8], roomy, { once }), several('a', [1], roomy, { once })]
      const [first, again] = await settle([whole, single])
      expect([first?.once?.kind, again?.once?.kind]).toEqual(['charged', 'replayed'])
      const of = { charge: whole, decision: first as Decision }
      await settle([], [of, { ...of, meter: 1, amount: 5 }])
      expect(await usedIn('requests', 'tokens')).toEqual([1, 3])
      await settle([], [{ charge: single, decision: again as Decision }])
      expect(await usedIn('requests', 'tokens')).toEqual([0, 3])
    })

    it('a charge of several meters with a key is forgotten only when all of its meters are given back whole', async () => {
      const once: Once = { key: 'k', body: 'a body', forMs: 86_400_000, replays: 2 }
      const one = several('a', [1, 8], roomy, { once })
      const [decision] = await settle([one])
      const refund = { charge: one, decision: decision as Decision }
      await settle([], [refund])
      const [repeated] = await settle([one])
      expect(repeated?.once?.kind).toBe('replayed')
      await settle([], [{ ...refund, decision: repeated as Decision }])
      await settle(
        [],
        [
          { ...refund, meter: 1 },
          { ...refund, decision: repeated as Decision, meter: 1 },
        ],
      )
      expect(await usedIn('requests', 'tokens')).toEqual([0, 0])
      expect((await settle([one]))[0]?.once?.kind).toBe('charged')
    })
  })

  describe('a request that may come again', () => {
    const of = limits([10, 20], [100, 200])
    const once = (key: string, more: Partial<Once> = {}): Once => {
      return { key, body: 'a body', forMs: 86_400_000, replays: 2, ...more }
    }
    const keyed = (cost: number, by: Once, user = 'a'): Charge => ({ ...charge(user, cost, of), once: by })

    it('a request that may come again is charged once, in one batch with its repetitions too, and beyond their number as any', async () => {
      const one = keyed(3, once('k'))
      const decisions = [...(await settle([one, one])), ...(await settle([one])), ...(await settle([one]))]
      const since = decisions[0]?.at ?? 0
      const all = [MINUTE, DAY].map(({ seconds }) => ({ seconds, startedAt: since }))
      const receipt = { category: 'read', organisation: null, runs: { personal: all, organisation: [], global: all } }
      expect(decisions.map(({ once: by }) => by)).toEqual([
        { kind: 'charged', since },
        { kind: 'replayed', since, receipt },
        { kind: 'replayed', since, receipt },
        undefined,
      ])
      expect(verdicts(decisions)).toEqual([true, true, true, true])
      expect(decisions.map(({ personal }) => personal.map((u) => u.used))).toEqual([
        [3, 3],
        [3, 3],
        [3, 3],
        [6, 6],
      ])
      expect(await used('a')).toEqual({ personal: [6, 6], global: [6, 6] })
    })

    it('a request that may come again is known whichever process it comes to', async () => {
      const one = keyed(3, once('k'))
      const batch = { sequence: 1, refunds: [], charges: [one] }
      const [first] = await under.store.settle({ instance: 'one', ...batch })
      const [other] = await under.store.settle({ instance: 'two', ...batch })
      expect([first?.once?.kind, other?.once?.kind]).toEqual(['charged', 'replayed'])
      expect((await used('a')).personal).toEqual([3, 3])
    })

    it('a request that may come again is accepted again also where its windows are full', async () => {
      const one = keyed(10, once('k'))
      expect(await admits(one, charge('a', 1, of), one, keyed(1, once('l')))).toEqual([true, false, true, false])
      expect((await used('a')).personal).toEqual([10, 10])
    })

    it('a request that may come again and is refused by its windows is not remembered', async () => {
      await settle([charge('a', 8, of)])
      const [refused] = await settle([keyed(3, once('k'))])
      expect(refused).toMatchObject({ accepted: false })
      expect(refused?.once).toBeUndefined()
      const wide = { ...keyed(3, once('k')), limits: limits([20, 20], [100, 200]) }
      expect((await settle([wide]))[0]?.once?.kind).toBe('charged')
    })

    it('a request that may come again with another body is refused, and nothing is charged', async () => {
      const decisions = await settle([keyed(3, once('k')), keyed(3, once('k', { body: 'another' }))])
      expect(verdicts(decisions)).toEqual([true, false])
      expect(decisions[1]).toMatchObject({ once: { kind: 'reused' }, personal: [{ used: 3 }, { used: 3 }] })
      expect((await settle([keyed(3, once('k'))]))[0]?.once?.kind).toBe('replayed')
      expect((await used('a')).personal).toEqual([3, 3])
    })

    it('a request that may come again is charged anew after its time', async () => {
      const one = keyed(3, once('k', { forMs: 1000 }))
      await settle([one])
      await under.pass(1000)
      const [again, third] = await settle([one, one])
      expect([again?.once?.kind, third?.once?.kind]).toEqual(['charged', 'replayed'])
      expect((await used('a')).personal).toEqual([6, 6])
    })

    it('a request that may come again is charged anew when it was given back', async () => {
      const one = keyed(3, once('k'))
      const [decision] = await settle([one])
      const [again] = await settle([one], [{ charge: one, decision: decision as Decision }])
      expect(again?.once).toEqual({ kind: 'charged', since: again?.at })
      expect((await used('a')).personal).toEqual([3, 3])
    })

    it.each([
      ['the request first', [0, 1, 2]],
      ['the request last', [2, 1, 0]],
    ])('a request that may come again is given back with the last of its repetitions, %s', async (_order, order) => {
      const one = keyed(3, once('k'))
      const decisions = await settle([one, one, one])
      const back = order.map((i) => ({ charge: one, decision: decisions[i] as Decision }))
      await settle([], back.slice(0, 2))
      expect(await used('a')).toEqual({ personal: [3, 3], global: [3, 3] })
      await settle([], back.slice(2))
      expect(await used('a')).toEqual({ personal: [0, 0], global: [0, 0] })
      expect((await settle([one]))[0]?.once?.kind).toBe('charged')
    })

    it('a request that may come again stays known when a part of it was given back, and when more was charged', async () => {
      const [one, other] = [keyed(3, once('k')), keyed(3, once('l'))]
      const [first, second] = await settle([one, other])
      await settle(
        [],
        [
          { charge: one, decision: first as Decision, amount: 1 },
          { charge: other, decision: second as Decision, amount: -1 },
        ],
      )
      expect((await used('a')).personal).toEqual([6, 6])
      expect((await settle([one, other])).map((d) => d.once?.kind)).toEqual(['replayed', 'replayed'])
    })

    /** What each of the requests of one key cost, in the order in which they end. @returns what was used behind each */
    async function usedBy(reserve: number, costs: readonly (readonly [which: number, cost: number | null])[]) {
      const one = keyed(reserve, once('k', { replays: 5 }))
      const decisions = await settle(costs.map(() => one))
      const made: number[] = []
      const seen: number[] = []
      for (const [which, cost] of costs) {
        const decision = decisions[which] as Decision
        const refund = { charge: one, decision, onMade: (amount: number) => void made.push(amount) }
        await settle([], [cost === null ? refund : { ...refund, amount: reserve - cost }])
        seen.push((await used('a')).personal[1] ?? 0)
      }
      expect(seen.at(-1)).toBe(reserve - made.reduce((sum, amount) => sum + amount, 0))
      expect(made).toHaveLength(costs.length)
      return seen
    }

    it.each<[string, [number, number | null][], number[]]>([
      [
        'the dearest first',
        [
          [0, 4],
          [1, 2],
          [2, 1],
        ],
        [5, 5, 4],
      ],
      [
        'the dearest last',
        [
          [0, 1],
          [1, 2],
          [2, 4],
        ],
        [5, 5, 4],
      ],
      [
        'a repetition that is dearer than the reserve',
        [
          [0, 1],
          [1, 9],
          [2, 4],
        ],
        [5, 9, 9],
      ],
      [
        'the first one last and free',
        [
          [2, 3],
          [1, 7],
          [0, 0],
        ],
        [5, 7, 7],
      ],
      [
        'all for nothing',
        [
          [0, null],
          [1, 0],
          [2, null],
        ],
        [5, 5, 0],
      ],
    ])(
      'a request that may come again costs with all its repetitions what the dearest of them did: %s',
      async (_what, costs, expected) => {
        expect(await usedBy(5, costs)).toEqual(expected)
      },
    )

    it('a request that may come again whose first request was cheap charges the difference for a dear one that comes later, and nothing for a cheap one', async () => {
      const one = keyed(1, once('k', { replays: 5 }))
      const settled = async (cost: number) => {
        const [decision] = await settle([one])
        await settle([], [{ charge: one, decision: decision as Decision, amount: 1 - cost }])
        return (await used('a')).personal[1]
      }
      expect([await settled(1), await settled(8), await settled(3), await settled(9), await settled(0)]).toEqual([
        1, 8, 8, 9, 9,
      ])
    })

    it('a request that may come again counts no repetition that reached nobody among those that are not charged', async () => {
      const one = keyed(3, once('k', { replays: 1 }))
      await settle([one])
      for (const _ of [1, 2, 3]) {
        const [again] = await settle([one])
        expect(again?.once?.kind).toBe('replayed')
        await settle([], [{ charge: one, decision: again as Decision }])
      }
      expect((await settle([one, one])).map((d) => d.once?.kind)).toEqual(['replayed', undefined])
      expect((await used('a')).personal).toEqual([6, 6])
    })

    it('a charge that is one use with its repetitions is settled by one report of them, and by no other', async () => {
      const one = keyed(5, once('k', { isOneUse: true, replays: 5 }))
      const [first, again] = [...(await settle([one])), ...(await settle([one]))]
      const made: number[] = []
      const report = async (decision: Decision | undefined, amount: number) => {
        await settle([], [{ charge: one, decision: decision as Decision, amount, onMade: (n) => void made.push(n) }])
        return (await used('a')).personal[1]
      }
      expect(await report(again, 3)).toBe(2)
      expect(await report(again, 5)).toBe(2)
      expect(await report(first, -9)).toBe(2)
      expect(made).toEqual([3, 0, 0])
      expect((await settle([one]))[0]?.once?.kind).toBe('replayed')
    })

    it('a charge of which nothing is remembered is settled once by a report that is, whichever process brings it again', async () => {
      const one = charge('a', 5, of)
      const [decision] = await settle([one])
      const kept = { ...one, once: once('r', { keepsReport: true, replays: 1 }) }
      const made: number[] = []
      const report = (instance: string, amount: number) =>
        under.store.settle({
          ...{ instance, sequence: 1, charges: [] },
          refunds: [
            {
              charge: kept,
              decision: { ...(decision as Decision), once: { kind: 'charged', since: decision?.at ?? 0 } },
              amount,
              onMade: (n) => void made.push(n),
            },
          ],
        })
      await report('one', 5)
      await report('two', 5)
      await report('three', -7)
      expect(made).toEqual([5, 0, 0])
      expect(await used('a')).toEqual({ personal: [0, 0], global: [0, 0] })
    })

    it('a request that may come again is the same whatever category, organisation and windows its repetition has, and is corrected where it was charged', async () => {
      const one = keyed(3, once('k'))
      await settle([one])
      const changed: Charge = {
        ...charge('a', 8, limits([100, 100], null, SECOND)),
        category: 'write',
        organisation: 'acme',
        once: once('k'),
      }
      const [again] = await settle([changed])
      expect(again?.once?.kind).toBe('replayed')
      await settle([], [{ charge: changed, decision: again as Decision, amount: 2 }])
      expect(await used('a')).toEqual({ personal: [6, 6], global: [6, 6] })
      expect(await used('a', 'write')).toEqual({ personal: [0, 0], global: [0, 0] })
    })

    it('a request that may come again that is given back late leaves a later charge of its key alone', async () => {
      const one = keyed(3, once('k', { forMs: 1000 }))
      const [first, repeated] = await settle([one, one])
      await under.pass(1000)
      await settle([one])
      const back = [first, repeated].map((decision) => ({ charge: one, decision: decision as Decision }))
      await settle([], back)
      expect((await settle([one]))[0]?.once?.kind).toBe('replayed')
      expect((await used('a')).personal).toEqual([3, 3])
    })

    it('a request that may come again gives nothing back in a window that began after it was charged', async () => {
      const short = limits([10, 20], null, SECOND)
      const one: Charge = { ...charge('a', 3, short), once: once('k') }
      const [first] = await settle([one])
      await under.pass(1000)
      const decisions = await settle([charge('a', 5, short), one])
      expect(decisions[1]?.once?.kind).toBe('replayed')
      const back = [first, decisions[1]].map((decision) => ({ charge: one, decision: decision as Decision }))
      await settle([], back)
      const { personal } = await under.store.readUsage('a', ['read'])
      const at = decisions[0]?.at ?? 0
      expect([SECOND, DAY].map((window) => usageOf(personal[0] ?? [], window, at).used)).toEqual([5, 5])
    })

    it('a request that may come again counts once for a batch that is sent again, which has the same reply', async () => {
      const one = keyed(3, once('k'))
      const batch = {
        instance: 'again',
        sequence: 1,
        refunds: [],
        charges: [one, one, keyed(1, once('k', { body: '' }))],
      }
      const first = await under.store.settle(batch)
      expect(await under.store.settle(batch)).toEqual(first)
      expect((await settle([one, one])).map((d) => d.once?.kind)).toEqual(['replayed', undefined])
      expect((await used('a')).personal).toEqual([6, 6])
    })
  })

  it('keeps apart any two user ids, whatever characters they hold', async () => {
    const ids = [
      'a',
      'A',
      'a:b',
      'a',
      'a\u0000',
      '\u0000a',
      '{a}',
      '{tollgate}',
      '}',
      'a b',
      'a\nb',
      'a\r\n',
      'read:a',
      ':a',
      '__proto__',
      'constructor',
      'é',
      'e\u0301',
      '用户',
      '💥',
      '*',
      '?',
      '[a]',
      '%61',
      '"',
      "'",
      '\\',
      ' ',
      'x'.repeat(256),
      'x'.repeat(100_000),
    ]
    const distinct = [...new Set(ids)]
    await settle(distinct.map((id, i) => charge(id, i + 1, limits([1000, 1000]))))
    for (const [i, id] of distinct.entries()) expect((await used(id)).personal).toEqual([i + 1, i + 1])
  })

  it('reads the usage of a user without starting or changing anything', async () => {
    expect(await used('nobody')).toEqual({ personal: [0, 0], global: [0, 0] })
    expect(await used('nobody')).toEqual({ personal: [0, 0], global: [0, 0] })
    expect(await admits(charge('nobody', 10, limits([10, 10])))).toEqual([true])
  })

  it('reads many snapshots at once, each of its own user and categories', async () => {
    const of = limits([1000, 1000], [100_000, 100_000])
    const users = Array.from({ length: 300 }, (_, i) => `user ${i}`)
    await settle(users.flatMap((user, i) => [charge(user, i + 1, of), charge(user, 1, of, 'write')]))
    const asked = users.map((_, i) => (i % 3 === 0 ? ['write', 'read'] : i % 3 === 1 ? ['read'] : ['none', 'write']))
    const snapshots = await Promise.all(users.map((user, i) => under.store.readUsage(user, asked[i] ?? [])))
    const everybody = { read: (300 * 301) / 2, write: 300, none: 0 } as Record<string, number>
    snapshots.forEach(({ at, personal, global }, i) => {
      const daily = (counters: typeof personal): number[] =>
        counters.map((counter) => usageOf(counter, { seconds: 86_400 }, at).used)
      const own = { read: i + 1, write: 1, none: 0 } as Record<string, number>
      expect(daily(personal)).toEqual(asked[i]?.map((category) => own[category]))
      expect(daily(global)).toEqual(asked[i]?.map((category) => everybody[category]))
    })
  })
}
