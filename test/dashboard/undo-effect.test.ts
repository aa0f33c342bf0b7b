import { expect, test } from 'vitest'
import type { OverrideResponse, QuotaResponse } from '../../src/contract/api.ts'
import type { Overridable } from '../../src/dashboard/logic/override.ts'
import { fullAfter, type OverrideBack, patchOf, withDefaults } from '../../src/dashboard/logic/undo-effect.ts'

const quota = {
  effective: { personal: { read: { '1h': 300 } }, plans: { free: {}, pro: { personal: { read: { '1h': 1200 } } } } },
  windows: {},
  cheapest: { read: 2 },
  shadow: false,
} as unknown as QuotaResponse

/** A user whose limit of 450 is that of an override. */
function userWith(used: number, plan: string | null = null, override: Partial<OverrideResponse> = {}): Overridable {
  return {
    ...{ kind: 'user', id: 'bob', plan: { name: plan } },
    windows: { read: [{ scope: 'Personal', window: '1h', used, limit: 450, resetAt: '2026-11-21T19:00:00.000Z' }] },
    override: { version: 1, limits: { read: { '1h': 450 } }, ...override } as OverrideResponse,
  }
}

const defaultOf = (back: OverrideBack | null, user: Overridable) =>
  withDefaults([{ path: 'limits.read.1h', from: 450, to: undefined, file: undefined }], back, user, quota)[0]?.file

test('the limit of a user once an override is undone is that of the plan, or the baseline', () => {
  expect(defaultOf(null, userWith(0))).toBe(300)
  expect(defaultOf(null, userWith(0, 'pro'))).toBe(1200)
  expect(defaultOf({ limits: {}, plan: 'pro' }, userWith(0))).toBe(1200)
})

test('the limit of a user once an override is undone is not known where the override that goes hides the plan of the credential', () => {
  expect(defaultOf(null, userWith(0, 'pro', { plan: 'pro' }))).toBeUndefined()
})

test('the windows that an undo leaves without room are those whose use has no room for the cheapest request, and say when they end', () => {
  expect(fullAfter(null, userWith(299), quota)).toMatchObject([{ limit: 300, resetAt: '2026-11-21T19:00:00.000Z' }])
  expect(fullAfter(null, userWith(298), quota)).toEqual([])
  const back = { limits: { read: { '1h': 100 } } }
  expect(fullAfter(back, userWith(120), quota).map(({ limit }) => limit)).toEqual([100])
  expect(fullAfter({ limits: {}, factor: 0.5 }, userWith(149), quota).map(({ limit }) => limit)).toEqual([150])
})

test('the windows that an undo leaves without room are none in shadow, of the gateway or of the user', () => {
  expect(fullAfter(null, userWith(400), { ...quota, shadow: true })).toEqual([])
  expect(fullAfter({ limits: {}, shadow: true }, userWith(400), quota)).toEqual([])
})

test('the undo of settings is a change that follows the file where nothing was set', () => {
  const changes = [
    { path: 'mode', from: 'loose', to: undefined, file: 'normal' },
    { path: 'baselines.personal.read.1h', from: 200, to: 150, file: 120 },
  ]
  expect(patchOf(changes)).toEqual({ mode: null, baselines: { personal: { read: { '1h': 150 } } } })
})
