import fc from 'fast-check'
import { expect, it } from 'vitest'
import { settleBatch } from '../../src/quota/arithmetic.ts'
import type { Charge, Decision, Refund } from '../../src/quota/charge.ts'
import { chargedScopes, SCOPE_NAMES, type ScopeName } from '../../src/quota/charged-scopes.ts'
import { type Counter, usageOf } from '../../src/quota/counter.ts'
import { violations } from '../../src/quota/refusal.ts'
import type { Limit, Usage } from '../../src/quota/window.ts'

const START = Date.UTC(2026, 7, 6)
const WINDOWS = [
  { name: '1s', seconds: 1 },
  { name: '5s', seconds: 5 },
  { name: '1m', seconds: 60 },
]

/** Counters in memory, as settleBatch asks for them. */
function ledgerBook() {
  const counters = new Map<string, Counter>()
  const counterOf = (scope: ScopeName, id: string, category: string): Counter => {
    const key = JSON.stringify([scope, id, category])
    const known = counters.get(key) ?? []
    counters.set(key, known)
    return known
  }
  return { counterOf, dump: () => structuredClone([...counters].filter(([, counter]) => counter.length > 0)) }
}

/** One set of limits for the whole history: a limit that is lowered later may well stand below what was admitted. */
const fixedLimits: fc.Arbitrary<Limit[]> = fc
  .tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 25 }), fc.integer({ min: 0, max: 60 }))
  .map((limits) => limits.map((limit, i) => ({ window: WINDOWS[i] as Limit['window'], limit })))

interface Request {
  readonly user: string
  readonly organisation: string | null
  readonly category: string
  readonly cost: number
  readonly bypass: boolean
  readonly passMs: number
}
const request: fc.Arbitrary<Request> = fc.record({
  user: fc.constantFrom('alice', 'bob'),
  // One has the name of a user.
  organisation: fc.constantFrom(null, 'alice', 'acme'),
  category: fc.constantFrom('read', 'write'),
  cost: fc.integer({ min: 1, max: 6 }),
  bypass: fc.boolean(),
  passMs: fc.constantFrom(0, 1, 998, 999, 1000, 1001, 4999, 5000, 60_000),
})
const history = fc.record({
  personal: fixedLimits,
  organisation: fixedLimits,
  global: fixedLimits,
  requests: fc.array(request, { maxLength: 60 }),
})

type Scopes = Readonly<Record<ScopeName, Limit[]>>

function chargeOf({ user, organisation, category, cost, bypass }: Request, of: Scopes): Charge {
  const limits = {
    personal: of.personal,
    organisation: organisation === null ? null : of.organisation,
    global: bypass ? null : of.global,
  }
  return { user, organisation, category, cost, limits }
}

it('any history of charges admits in each run of a window at most its limit, in every scope', () => {
  fc.assert(
    fc.property(history, ({ requests, ...of }) => {
      const { counterOf } = ledgerBook()
      const admitted = new Map<string, number>()
      let now = START
      const count = (scope: string, charge: Charge, limits: readonly Limit[], usages: readonly Usage[]): void =>
        limits.forEach(({ window, limit }, i) => {
          const run = JSON.stringify([scope, charge.category, window.seconds, usages[i]?.startedAt])
          admitted.set(run, (admitted.get(run) ?? 0) + charge.cost)
          expect(admitted.get(run)).toBeLessThanOrEqual(limit)
          expect(now - (usages[i]?.startedAt ?? 0)).toBeLessThan(window.seconds * 1000)
        })
      for (const each of requests) {
        now += each.passMs
        const charge = chargeOf(each, of)
        const [decision] = settleBatch({ refunds: [], charges: [charge] }, counterOf, now) as [Decision]
        if (!decision.accepted) continue
        for (const { scope, id, limits, usages } of chargedScopes(charge, decision))
          count(`${scope} ${id}`, charge, limits, usages)
      }
    }),
  )
}, 60_000)

it('any history of charges refuses exactly what does not fit, and a refused charge changes nothing', () => {
  fc.assert(
    fc.property(history, ({ requests, ...of }) => {
      const { counterOf, dump } = ledgerBook()
      let now = START
      for (const each of requests) {
        now += each.passMs
        const charge = chargeOf(each, of)
        const before = dump()
        const room = (scope: ScopeName, id: string | null): boolean => {
          const counter = structuredClone(counterOf(scope, id ?? '', charge.category))
          return (charge.limits[scope] ?? []).every(
            ({ window, limit }) => limit - usageOf(counter, window, now).used >= charge.cost,
          )
        }
        const fits = room('personal', charge.user) && room('organisation', charge.organisation) && room('global', '')
        const [decision] = settleBatch({ refunds: [], charges: [charge] }, counterOf, now) as [Decision]
        expect(decision.accepted).toBe(fits)
        if (!decision.accepted) expect(dump()).toEqual(before)
      }
    }),
  )
}, 60_000)

it('any history of charges keeps every limit and ends every window one length on at most, however the clock is set', () => {
  const jumps = fc.array(
    fc.constantFrom(0, 1, 999, 5000, 3_600_000, 2_592_000_000).chain((ms) => fc.constantFrom(ms, -ms)),
    {
      minLength: 60,
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(history, jumps, ({ requests, ...of }, jumps) => {
      const { counterOf } = ledgerBook()
      let now = START
      requests.forEach((each, i) => {
        now += each.passMs + (jumps[i] ?? 0)
        const charge = chargeOf(each, of)
        const [decision] = settleBatch({ refunds: [], charges: [charge] }, counterOf, now) as [Decision]
        const usages = [...decision.personal, ...(decision.organisation ?? []), ...(decision.global ?? [])]
        const limits = SCOPE_NAMES.flatMap((scope) => charge.limits[scope] ?? [])
        limits.forEach(({ window, limit }, i) => {
          const { startedAt, used } = usages[i] as Usage
          expect(used).toBeLessThanOrEqual(limit)
          expect(startedAt).toBeLessThanOrEqual(now)
          if (startedAt !== 0) expect(startedAt + window.seconds * 1000).toBeGreaterThan(now)
        })
        if (decision.accepted || limits.some(({ limit }) => limit < charge.cost)) return
        // Whoever waits for as long as he is told to, once, is accepted, also where he goes on asking meanwhile.
        const { resetAt } = violations(charge, decision)[0] as { resetAt: number }
        const asked = new Map<string, Counter>()
        const later = (scope: ScopeName, id: string, category: string): Counter => {
          const counter = asked.get(scope) ?? structuredClone(counterOf(scope, id, category))
          asked.set(scope, counter)
          return counter
        }
        const askAt = (at: number) => settleBatch({ refunds: [], charges: [charge] }, later, at)[0]?.accepted
        expect(askAt(now + Math.floor((resetAt - now) / 2))).toBe(false)
        expect(askAt(resetAt)).toBe(true)
      })
    }),
  )
}, 60_000)

it('any history of charges that is given back whole within its windows leaves nothing used', () => {
  fc.assert(
    fc.property(history, ({ requests, ...of }) => {
      const { counterOf } = ledgerBook()
      const refunds: Refund[] = []
      const charges = requests.map((each) => chargeOf(each, of))
      settleBatch({ refunds, charges }, counterOf, START).forEach((decision, i) => {
        if (decision.accepted) refunds.push({ charge: charges[i] as Charge, decision })
      })
      settleBatch({ refunds, charges: [] }, counterOf, START + 999)
      for (const { charge, decision } of refunds)
        for (const { scope, id } of chargedScopes(charge, decision))
          for (const entry of counterOf(scope, id, charge.category)) expect(entry.used).toBe(0)
    }),
  )
}, 60_000)

it('any history of charges decides one by one as it decides in one batch', () => {
  fc.assert(
    fc.property(history, ({ requests, ...of }) => {
      const charges = requests.map((each) => chargeOf(each, of))
      const together = settleBatch({ refunds: [], charges }, ledgerBook().counterOf, START)
      const { counterOf } = ledgerBook()
      const apart = charges.flatMap((charge) => settleBatch({ refunds: [], charges: [charge] }, counterOf, START))
      expect(apart).toEqual(together)
    }),
  )
}, 60_000)

it('a decision is a picture of its moment: later charges of its batch do not change it', () => {
  const charge: Charge = {
    user: 'a',
    organisation: null,
    category: 'read',
    cost: 2,
    limits: { personal: [{ window: WINDOWS[2] as Limit['window'], limit: 9 }], organisation: null, global: null },
  }
  const decisions = settleBatch({ refunds: [], charges: [charge, charge, charge] }, ledgerBook().counterOf, START)
  expect(decisions.map((d) => d.personal[0]?.used)).toEqual([2, 4, 6])
})

it('a decision shows what refuses a charge as it stands, in the order of the limits', () => {
  const [short, , long] = WINDOWS as [Limit['window'], Limit['window'], Limit['window']]
  const limits = {
    personal: [
      { window: short, limit: 5 },
      { window: long, limit: 50 },
    ],
    organisation: null,
    global: null,
  }
  const { counterOf } = ledgerBook()
  const charges = [4, 2].map((cost): Charge => ({ user: 'a', organisation: null, category: 'read', cost, limits }))
  const [, refused] = settleBatch({ refunds: [], charges }, counterOf, START)
  const usage = { startedAt: START, used: 4 }
  expect(refused).toEqual({ accepted: false, at: START, personal: [usage, usage], organisation: null, global: null })
})
