import { describe, expect, test } from 'vitest'
import type { QuotaResponse, UserResponse } from '../../src/contract/api.ts'
import { defaultOf, fullAfter } from '../../src/dashboard/logic/undo-effect.ts'

const quota = {
  effective: { personal: { read: { '1h': 300 } }, plans: { free: {}, pro: { personal: { read: { '1h': 1200 } } } } },
  defaultPlan: 'free',
  cheapest: { read: 2 },
  shadow: false,
} as unknown as QuotaResponse
const READ = { category: 'read', window: '1h' }

const userWith = (used: number, override: { readonly plan?: string } | null = null, plan: string | null = null) =>
  ({
    plan: { name: plan, from: plan === null ? null : 'credential', unknown: null },
    override,
    windows: { read: [{ scope: 'Personal', window: '1h', used, limit: 450, resetAt: null }] },
  }) as unknown as UserResponse

describe('the limit of a user once an override is undone', () => {
  test('the limit of a user once an override is undone is that of the plan, or the baseline', () => {
    expect(defaultOf(null, userWith(0), quota, READ)).toBe(300)
    expect(defaultOf(null, userWith(0, null, 'pro'), quota, READ)).toBe(1200)
    expect(defaultOf({ plan: 'pro' }, userWith(0), quota, READ)).toBe(1200)
  })

  test('the limit of a user once an override is undone is not known where the override that goes hides the plan of the credential', () => {
    expect(defaultOf(null, userWith(0, { plan: 'pro' }, 'pro'), quota, READ)).toBeUndefined()
  })
})

describe('the windows that an undo leaves without room', () => {
  test('the windows that an undo leaves without room are those whose use has no room for the cheapest request', () => {
    expect(fullAfter(null, userWith(299), quota).map(({ limit }) => limit)).toEqual([300])
    expect(fullAfter(null, userWith(298), quota)).toEqual([])
    expect(fullAfter({ limits: { read: { '1h': 100 } } }, userWith(120), quota).map(({ limit }) => limit)).toEqual([
      100,
    ])
  })

  test('the windows that an undo leaves without room are none in shadow, of the gateway or of the user', () => {
    expect(fullAfter(null, userWith(400), { ...quota, shadow: true })).toEqual([])
    expect(fullAfter({ shadow: true }, userWith(400), quota)).toEqual([])
  })
})
