import { describe, expect, it } from 'vitest'
import type { Charge, Decision } from '../../src/quota/charge.ts'
import { isOver, overTokens } from '../../src/quota/quota-state.ts'
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
})
