import fc from 'fast-check'
import { parseDictionary } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import type { Charge, Decision } from '../../src/quota/charge.ts'
import { isOver, legacyFields, overTokens, quotaField, tightestOf } from '../../src/quota/quota-state.ts'
import type { Limit } from '../../src/quota/window.ts'

const HOUR = { name: '1h', seconds: 3600 }
const DAY = { name: '1d', seconds: 86_400 }
const AT = Date.UTC(2026, 7, 6, 14)

/** A charge of `cost` with what is used of each personal limit behind it. */
function accepted(cost: number, ...rows: readonly (readonly [Limit, number])[]): [Charge, Decision] {
  const limits = { personal: rows.map(([limit]) => limit), organisation: null, global: null }
  const personal = rows.map(([, used]) => ({ startedAt: AT - 60_000, used }))
  const decision = { accepted: true, at: AT, personal, organisation: null, global: null }
  return [{ user: 'alice', organisation: null, category: 'read', cost, limits }, decision]
}
/** 100, and 20 beyond. */
const soft: Limit = { window: HOUR, limit: 120, over: 20 }
const hard: Limit = { window: DAY, limit: 100 }

describe('the state of a charge', () => {
  it.each([
    [[soft, 100], false],
    [[soft, 101], true],
    [[hard, 500], false],
  ] as const)(
    'the state of a charge is over only where more is used than a soft limit promises: %j',
    ([limit, used], expected) => {
      expect(isOver(...accepted(1, [limit, used]))).toBe(expected)
    },
  )

  it('the state of a charge moves with what the request is charged beyond its reserve, or given back of it', () => {
    const charge = accepted(10, [hard, 9], [soft, 105])
    expect([-6, -5, -4].map((beyond) => isOver(...charge, beyond))).toEqual([false, false, true])
  })

  it('the state of a charge is over if any of several meters is, and tokens beyond a limit are those of the last ones', () => {
    const [charge, decision] = accepted(5, [hard, 5])
    const [other, ofOther] = accepted(30, [soft, 110], [{ ...soft, window: DAY }, 103])
    expect(isOver({ ...charge, others: [other] }, { ...decision, others: [ofOther] })).toBe(true)
    expect([30, 25, 20, 0].map((cost) => overTokens(other, ofOther, cost))).toEqual([10, 5, 0, 0])
    expect(overTokens(...accepted(5, [soft, 119]), 5)).toBe(5)
  })

  it('the tightest window has least left, of several the one that ends last, and nothing that lies over the limit', () => {
    expect(tightestOf(...accepted(1, [soft, 110], [hard, 99]))).toMatchObject({ limit: 100, remaining: 0 })
    const equal = accepted(1, [{ window: HOUR, limit: 50 }, 49], [hard, 99])
    const tightest = { category: 'read', limit: 100, remaining: 1, resetSeconds: 86_340 }
    expect(tightestOf(...equal)).toEqual(tightest)
    expect(legacyFields(tightest).join()).toBe('X-RateLimit-Limit,100,X-RateLimit-Remaining,1,X-RateLimit-Reset,86340')
    expect(tightestOf(...accepted(1))).toBeNull()
  })
})

it('the dictionary for the upstream is one that a parser of structured fields reads back, for any names, limits and usage', () => {
  const state = fc.constantFrom('within' as const, 'over' as const, 'shadow' as const)
  const texts = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constantFrom('größer', '"\\', '100%', ''))
  const amount = fc.integer({ min: 0, max: 1e12 })
  fc.assert(
    fc.property(state, texts, fc.option(texts), amount, amount, (state, category, plan, limit, used) => {
      const [charge, decision] = accepted(1, [{ window: HOUR, limit }, used])
      const field = quotaField(state, { ...charge, category }, decision, plan)
      expect(field).toMatch(/^[ -~]*$/)
      const values = [...parseDictionary(field)].map(([name, [value]]) => [name, String(value)])
      expect(Object.fromEntries(values)).toEqual({
        ...{ state, category, remaining: String(Math.max(0, limit - used)), reset: '3540' },
        ...(plan !== null && { plan }),
      })
    }),
  )
})

it('the dictionary for the upstream has neither what is left nor a reset where nobody decided, and where nothing limits the charge', () => {
  const [charge, decision] = accepted(1)
  expect(quotaField('shadow', charge, null, 'pro')).toBe('state=shadow, category="read", plan="pro"')
  expect(quotaField('within', charge, decision, null)).toBe('state=within, category="read"')
})
