import { expect, test } from 'vitest'
import type { QuotaResponse } from '../../src/contract/api.ts'
import { flatOf, type Overridable } from '../../src/dashboard/logic/override.ts'
import { overrideLines } from '../../src/dashboard/logic/override-lines.ts'

const ofWindow = (window: string, limit: number) => ({ scope: 'Personal', window, used: 0, limit }) as const
const SET = {
  version: 4,
  limits: { read: { '1h': 450 } },
  bypassGlobal: true,
  shadow: false,
  reason: 'a friend',
  expiresAt: null,
}
const BOB: Overridable = {
  kind: 'user',
  id: 'bob',
  windows: { read: [ofWindow('1h', 450), ofWindow('1d', 2000)] },
  override: SET,
  plan: { name: 'pro' },
}
const QUOTA = {
  effective: {
    personal: { read: { '1h': 300, '1d': 2000 } },
    plans: { pro: { personal: { read: { '1h': 1200, '1d': 2000 } } } },
  },
} as unknown as QuotaResponse

test('an override is put line by line in the order of the windows, with the limit that holds without it', () => {
  const fresh = { ...BOB, windows: { read: [ofWindow('1h', 300), ofWindow('1d', 2000)] }, override: null }
  const body = { read: { '1d': 3000, '1h': 450 }, bypassGlobal: false, reason: 'a trial', expiresAt: null }
  expect(overrideLines({ from: null, to: body }, fresh, null)).toEqual([
    { path: 'limits.read.1h', from: undefined, to: 450, byDefault: { from: 300, to: 300 } },
    { path: 'limits.read.1d', from: undefined, to: 3000, byDefault: { from: 2000, to: 2000 } },
    { path: 'reason', from: undefined, to: 'a trial' },
  ])
})

test('what comes back when an override ends is the limit of the plan, and nothing is made up of what is not known', () => {
  const removed = (of: Overridable, quota: QuotaResponse | null) =>
    overrideLines({ from: flatOf(of.override), to: null }, of, quota)[0]?.byDefault?.to
  expect(removed(BOB, QUOTA)).toBe(1200)
  expect(removed({ ...BOB, plan: undefined }, QUOTA)).toBeUndefined()
  expect(removed(BOB, null)).toBeUndefined()
  // Which plan the credential names is hidden by the one that was set.
  expect(removed({ ...BOB, override: { ...SET, plan: 'pro' } }, QUOTA)).toBeUndefined()
})

test('a change of plan and limit at once shows before it the default of the plan of before', () => {
  const windows = { read: [ofWindow('1d', 800)] }
  const of = { ...BOB, windows, override: { ...SET, limits: {}, plan: 'free' }, plan: { name: 'free' } }
  const body = { plan: 'pro', read: { '1d': 5000 } }
  expect(overrideLines({ from: { plan: 'free' }, to: body }, of, QUOTA)).toEqual([
    { path: 'limits.read.1d', from: undefined, to: 5000, byDefault: { from: 800, to: 2000 } },
    { path: 'plan', from: 'free', to: 'pro' },
  ])
})

test('a limit of an organisation has what each plan sets', () => {
  const byPlan = { free: null, pro: 2500 }
  const window = { scope: 'Organisation', window: '1h', used: 0, limit: 2500, byDefault: 2500, byPlan } as const
  const team: Overridable = { kind: 'organisation', id: 'acme', windows: { read: [window] }, override: null }
  expect(overrideLines({ from: null, to: { read: { '1h': 5000 } } }, team, QUOTA)).toEqual([
    { path: 'limits.read.1h', from: undefined, to: 5000, byDefault: { from: 2500, to: 2500 }, byPlan },
  ])
})
