import { describe, expect, it } from 'vitest'
import type { Charge, Decision } from '../../src/quota/charge.ts'
import { createLedger } from '../../src/quota/ledger.ts'
import { createRecentRefusals } from '../../src/quota/recent-refusals.ts'
import type { QuotaStore } from '../../src/quota/store.ts'

const HOUR = { name: '1h', seconds: 3600 }
const DAY = { name: '1d', seconds: 86_400 }
const LIMITS = {
  personal: [
    { window: HOUR, limit: 10 },
    { window: DAY, limit: 100 },
  ],
  global: [{ window: HOUR, limit: 1000 }],
}
const AT = 1_790_000_000_000
const charge = (more: Partial<Charge> = {}): Charge => ({
  user: 'alice',
  category: 'read',
  cost: 4,
  limits: LIMITS,
  ...more,
})
/** Refused by the hour of the user, which ends in `left` milliseconds. */
const refusal = (left = 1_800_000): Decision => ({
  accepted: false,
  at: AT,
  personal: [
    { startedAt: AT - 3_600_000 + left, used: 8 },
    { startedAt: 0, used: 0 },
  ],
  global: [{ startedAt: AT - 1000, used: 8 }],
})

function memory(keepMs = 250) {
  const clock = { now: 5000 }
  return { clock, refusals: createRecentRefusals(keepMs, () => clock.now) }
}

describe('a refusal of a moment ago', () => {
  it('is repeated with the time of now, for the same cost and for a higher one', () => {
    const { clock, refusals } = memory()
    refusals.note(charge(), refusal())
    clock.now += 100.6
    expect(refusals.recall(charge())).toEqual({ ...refusal(), at: AT + 100 })
    expect(refusals.recall(charge({ cost: 5 }))?.accepted).toBe(false)
  })

  it.each([
    ['a lower cost, which may fit', charge({ cost: 3 })],
    ['another user', charge({ user: 'bob' })],
    ['another category', charge({ category: 'write' })],
    ['limits that have changed', charge({ limits: { ...LIMITS } })],
  ])('says nothing about %s', (_what, other) => {
    const { refusals } = memory()
    refusals.note(charge(), refusal())
    expect(refusals.recall(other)).toBe(null)
  })

  it('is forgotten after a quarter of a second, when a window ends, and when anything is given back', () => {
    const { clock, refusals } = memory()
    refusals.note(charge(), refusal())
    clock.now += 250
    expect(refusals.recall(charge())).toBe(null)
    refusals.note(charge(), refusal(40))
    clock.now += 39
    expect(refusals.recall(charge())).not.toBe(null)
    clock.now += 1
    expect(refusals.recall(charge())).toBe(null)
    refusals.note(charge(), refusal())
    refusals.clear()
    expect(refusals.recall(charge())).toBe(null)
  })

  it('takes bounded memory, however many are refused', () => {
    const { refusals } = memory()
    for (let i = 0; i < 25_000; i++) refusals.note(charge({ user: `user-${i}` }), refusal())
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

  it('asks the store once, and again after a refund', async () => {
    const { ledger, batches } = asked()
    for (let i = 0; i < 5; i++) expect((await ledger.charge(charge())).accepted).toBe(false)
    expect(batches).toEqual([1])
    const decision = await ledger.charge(charge({ cost: 1 }))
    ledger.refund({ charge: charge({ cost: 1 }), decision })
    await ledger.charge(charge())
    expect(batches).toEqual([1, 1, 1])
    await ledger.close(100)
  })

  it('asks each time where refusals are not to be repeated', async () => {
    const { ledger, batches } = asked(0)
    for (let i = 0; i < 3; i++) await ledger.charge(charge())
    expect(batches).toEqual([1, 1, 1])
    await ledger.close(100)
  })
})
