import { expect, test } from 'vitest'
import type { OverrideResponse } from '../../src/contract/api.ts'
import {
  comesBackBehind,
  endsUnder,
  followsAt,
  isSameOverride,
  topOf,
} from '../../src/dashboard/logic/override-layers.ts'

const iso = (hour: number) => new Date(Date.UTC(2026, 10, 27, hour)).toISOString()
const at = (hour: number) => Date.parse(iso(hour))
const layer = (id: string, until: string | null, value: Readonly<Record<string, unknown>>) => ({
  ...{ id, from: null, until, state: 'in_force' as const, value, who: 'ann', why: id },
})
const THROTTLE = { limits: { read: { '1h': 30 } }, bypassGlobal: false, shadow: false, reason: 'OPS-1423' }
const RAISED: OverrideResponse = {
  ...{ version: 4, ...THROTTLE, factor: 1.5, reason: 'half', expiresAt: iso(18) },
  layers: [
    layer('half', iso(18), { limits: {}, factor: 1.5, bypassGlobal: false, shadow: false, reason: 'half' }),
    layer('loop', iso(20), { ...THROTTLE, limits: { read: { '1h': 5 } }, reason: 'loop' }),
    layer('permanent', null, THROTTLE),
  ],
}
const half = (hour: number) => ({ factor: 1.5, reason: 'longer', expiresAt: iso(hour) })
const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id)

test('what is edited is what lies on top, and not what it makes of what lies under it', () => {
  expect(topOf(RAISED)).toMatchObject({ limits: {}, factor: 1.5, reason: 'half', expiresAt: iso(18) })
  expect(topOf(null)).toBeNull()
})

test('behind an end is in force what lives then, down to what hides the rest', () => {
  expect(ids(followsAt(RAISED, at(17)))).toEqual(['half', 'loop'])
  expect(ids(followsAt(RAISED, at(19)))).toEqual(['loop'])
  expect(ids(followsAt(RAISED, at(21)))).toEqual(['permanent'])
  expect(followsAt({ version: 1, ...THROTTLE, expiresAt: iso(18) }, at(18))).toEqual([])
})

test('another value with an end adds one, the same value moves it, and one without an end drops all', () => {
  expect(endsUnder(RAISED, { factor: 2, reason: 'r', expiresAt: iso(19) })).toMatchObject([
    { kind: 'added', at: iso(19), next: [{ id: 'loop' }] },
  ])
  expect(endsUnder(RAISED, half(21))).toMatchObject([
    { kind: 'moved', from: iso(18), at: iso(21), next: [{ id: 'permanent' }] },
  ])
  expect(endsUnder(RAISED, half(18))).toEqual([])
  const dropped = [
    { kind: 'dropped', id: 'half', at: iso(18), why: 'half' },
    { kind: 'dropped', id: 'loop', at: iso(20), why: 'loop' },
  ]
  expect(endsUnder(RAISED, { read: { '1h': 9 }, reason: 'r' })).toEqual(dropped)
  expect(endsUnder(RAISED, null)).toEqual(dropped)
  expect(endsUnder(null, half(18))).toEqual([{ kind: 'added', at: iso(18), next: [] }])
})

test('two overrides are the same whatever their reason, their end, and what they say of nothing', () => {
  const body = { read: { '1h': 30, '5h': null }, plan: null, shadow: false, reason: 'r', expiresAt: iso(1) }
  expect(isSameOverride(body, THROTTLE)).toBe(true)
  expect(isSameOverride({ ...body, factor: 2 }, THROTTLE)).toBe(false)
})

test('behind the end of a billing day or a plan is said what comes back: the day of the plan, or the first', () => {
  const at = new Date(Date.now() + 3_600_000).toISOString()
  const body = { periodDay: 15, plan: 'pro', reason: 'a trial', expiresAt: at }
  const back = (periodDay?: { day: number; from: 'override' | 'plan' }, part = {}) =>
    comesBackBehind({ ...body, ...part }, { override: null, periodDay })
  expect(back()).toEqual({ day: 1, isPlan: true })
  expect(back({ day: 17, from: 'plan' }, { plan: undefined })).toEqual({ day: 17, isPlan: false })
  expect(back({ day: 5, from: 'override' }).day).toBeNull()
  expect(back(undefined, { expiresAt: null })).toEqual({ isPlan: false })
})
