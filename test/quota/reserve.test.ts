import fc from 'fast-check'
import { expect, it } from 'vitest'
import { settleBatch } from '../../src/quota/arithmetic.ts'
import type { ScopeName } from '../../src/quota/charged-scopes.ts'
import type { Counter } from '../../src/quota/counter.ts'
import { createPolicy, type Override, payerOf, type QuotaSettings } from '../../src/quota/policy.ts'
import { isOfReserve, type Reserve } from '../../src/quota/reserve.ts'
import { chargeOf } from './charge-of.ts'
import { settings as settingsOf, WINDOWS } from './settings.ts'

const KEPT: Reserve = { share: 0.2, knownAfterMs: 86_400_000, rememberMs: 30 * 86_400_000 }
const table = (hour: number, day: number) => new Map([['read', new Map(Object.entries({ '1h': hour, '1d': day }))]])
const settings = (change: Partial<QuotaSettings> = {}): QuotaSettings =>
  settingsOf({
    baselines: { personal: table(120, 1200), global: table(12_000, 120_000) },
    reserve: KEPT,
    ...change,
  })
const override: Override = { limits: new Map(), bypassGlobal: false, shadow: false }
const policyOf = (change?: Partial<QuotaSettings>) =>
  createPolicy(settings(change), 1, new Map([['vip', override]]), (user) => user === 'old')

it('the limits with a reserve are whole for known users and for those with an override, and in both scopes lower for nobody but new ones', () => {
  const policy = policyOf()
  for (const user of ['old', 'vip']) expect(policy.limitsFor('read', payerOf(user))).toBe(policy.limitsOf('read'))
  const { personal, global } = policy.limitsFor('read', payerOf('new'))
  expect(personal).toBe(policy.limitsOf('read').personal)
  expect(global).toEqual([
    { window: WINDOWS[0], limit: 9600, kept: 2400 },
    { window: WINDOWS[1], limit: 96_000, kept: 24_000 },
  ])
})

it('the limits with a reserve are one object for all new users, so that a batch can send each set once', () => {
  const policy = policyOf()
  expect(policy.limitsFor('read', payerOf('new'))).toBe(policy.limitsFor('read', payerOf('another')))
})

it('the limits with a reserve are those without one if the global scope is switched off', () => {
  const policy = policyOf({ global: { enabled: false, multiplier: 1 } })
  expect(policy.limitsFor('read', payerOf('new')).global).toBeNull()
})

it('the limits with a reserve say in the layers of a new user how much is kept', () => {
  const policy = policyOf({ mode: 'loose' })
  expect(policy.trace('read', payerOf('new')).global?.[0]).toEqual({
    window: WINDOWS[0],
    limit: 14_400,
    kept: 3600,
    source: 'baseline x mode - reserve',
    steps: ['baseline 12000', 'mode loose x 1.5', 'reserve: 3600 of 18000 are kept for known users'],
  })
  expect(policy.trace('read', payerOf('old')).global?.[0]?.steps).toEqual(['baseline 12000', 'mode loose x 1.5'])
})

it('the limits with a reserve are for new users the whole ones less the part, rounded up, and never 0 unless the whole one is', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10 ** 12 }),
      fc.integer({ min: 0, max: 200 }),
      fc.integer({ min: 1, max: 900 }),
      (large, small, permille) => {
        const reserve = { ...KEPT, share: permille / 1000 }
        const policy = policyOf({ baselines: { personal: table(1, 1), global: table(large, small) }, reserve })
        const limits = policy.limitsFor('read', payerOf('new')).global ?? []
        for (const [i, whole] of [large, small].entries()) {
          const { limit = -1, kept = 0 } = limits[i] ?? {}
          expect(limit + kept).toBe(whole)
          expect(BigInt(limit) * 1000n).toBeGreaterThanOrEqual(BigInt(whole) * BigInt(1000 - permille))
          expect(BigInt(limit - 1) * 1000n).toBeLessThan(BigInt(whole) * BigInt(1000 - permille))
          expect(limit > 0).toBe(whole > 0)
          // An object of its own would have a text of its own that says the same.
          if (kept === 0) expect(limits[i]).not.toHaveProperty('kept')
        }
      },
    ),
    { numRuns: 1000 },
  )
}, 60_000)

it('the limits with a reserve leave known users their part, whatever new ones charge before', () => {
  const charges = fc.array(
    fc.record({
      user: fc.constantFrom('old', 'new-1', 'new-2', 'new-3', 'vip'),
      cost: fc.integer({ min: 1, max: 30 }),
    }),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 200 }), charges, (whole, asked) => {
      const policy = policyOf({ baselines: { personal: table(1e6, 1e6), global: table(whole, 1e6) } })
      const counters = new Map<string, Counter>()
      const find = (scope: ScopeName, id: string) => {
        const counter = counters.get(`${scope} ${id}`) ?? []
        counters.set(`${scope} ${id}`, counter)
        return counter
      }
      let byNew = 0
      let all = 0
      for (const { user, cost } of asked) {
        const charge = chargeOf({ user, cost, limits: policy.limitsFor('read', payerOf(user)) })
        const [decision] = settleBatch({ refunds: [], charges: [charge] }, find, 1000)
        const isNew = user.startsWith('new')
        const most = isNew ? Math.ceil(whole * 0.8) : whole
        expect(decision?.accepted).toBe(all + cost <= most)
        expect(decision !== undefined && isOfReserve(charge, decision)).toBe(
          isNew && all + cost > most && all + cost <= whole,
        )
        if (!decision?.accepted) continue
        all += cost
        if (isNew) byNew += cost
      }
      expect(byNew).toBeLessThanOrEqual(Math.ceil(whole * 0.8))
      expect(all).toBeLessThanOrEqual(whole)
    }),
  )
}, 60_000)
