import { describe, expect, test } from 'vitest'
import type { OverrideResponse, UserResponse } from '../../src/contract/api.ts'
import {
  aboveShare,
  bodyOf,
  editsSince,
  endOf,
  expiryOf,
  formOf,
  forOrganisation,
  isSet,
  usedUpUnder,
} from '../../src/dashboard/logic/override.ts'

const NOW = Date.parse('2026-11-20T10:00:00Z')
const BODY = { bypassGlobal: false, shadow: false, reason: 'why', expiresAt: null }
const FORM = { ...formOf(null), expiry: { kind: 'never' } as const, reason: 'a big event' }

test('a new override ends after a day if nothing else is chosen, but never with a billing day or a plan, and one that is set keeps its end', () => {
  const ends = [{}, { periodDay: '15' }, { plan: 'pro' }, { plan: 'pro', expiry: { kind: 'today' } as const }]
  expect(ends.map((part) => endOf({ ...formOf(null), ...part }).kind)).toEqual(['hours', 'never', 'never', 'today'])
  const set = { ...BODY, limits: {}, version: 1 }
  expect(formOf(set).expiry).toEqual({ kind: 'never' })
  expect(formOf({ ...set, expiresAt: '2026-11-21T10:00:00Z' }).expiry).toMatchObject({ kind: 'keep' })
})

describe('the body of an override', () => {
  test('the body of an override has the limits that were filled in, by category', () => {
    const limits = { 'read.1h': '500', 'read.1d': ' ', 'write.1h': '0', 'write.1d': '1000+200' }
    expect(bodyOf({ ...FORM, limits, bypassGlobal: true }, NOW).body).toEqual({
      read: { '1h': 500 },
      write: { '1h': 0, '1d': { limit: 1000, over: 200 } },
      bypassGlobal: true,
      shadow: false,
      reason: 'a big event',
      expiresAt: null,
    })
  })

  test('the body of an override is none without a reason, with a limit that is no number, or with an end that is past', () => {
    const expiry = { kind: 'at', local: '2020-01-01T00:00' } as const
    expect(bodyOf({ ...FORM, limits: { 'read.1h': 'x' }, reason: ' ', expiry }, NOW)).toEqual({
      body: null,
      problems: { 'read.1h': 'problem.limit', reason: 'problem.reason', expiresAt: 'problem.expiry' },
    })
  })

  test('the body of an override may leave a window without a limit, and a form of it says so again', () => {
    const limits = { 'read.1h': ' unlimited ', 'read.1d': '7' }
    const { body } = bodyOf({ ...FORM, limits }, NOW)
    expect(body).toMatchObject({ read: { '1h': 'unlimited', '1d': 7 } })
    const set = { ...body, limits: { read: body?.read }, version: 1 } as unknown as OverrideResponse
    expect(formOf(set).limits).toEqual({ 'read.1h': 'unlimited', 'read.1d': '7' })
    expect(isSet(body as NonNullable<typeof body>, set)).toBe(true)
  })

  test('the body of an override is none if it would set nothing', () => {
    const limits = { 'read.1h': ' ' }
    expect(bodyOf({ ...FORM, limits }, NOW)).toEqual({ body: null, problems: { '': 'problem.nothing' } })
  })

  test('the body of an override may be a plan and nothing else', () => {
    expect(bodyOf({ ...FORM, plan: 'pro' }, NOW)).toMatchObject({ body: { plan: 'pro' }, problems: {} })
    expect(bodyOf({ ...FORM, limits: { 'read.1h': '1' } }, NOW).body).not.toHaveProperty('plan')
  })

  test('the body of an override may be a day from 1 to 31 and nothing else, also of an organisation', () => {
    const { body, problems } = bodyOf({ ...FORM, periodDay: ' 17 ' }, NOW)
    expect([body?.periodDay, problems]).toEqual([17, {}])
    expect(body && forOrganisation(body)).toMatchObject({ periodDay: 17 })
    expect(bodyOf({ ...FORM, limits: { 'read.1h': '1' } }, NOW).body).not.toHaveProperty('periodDay')
    for (const periodDay of ['0', '32', '1.5', 'last', '017'])
      expect(bodyOf({ ...FORM, periodDay }, NOW).problems).toEqual({ periodDay: 'problem.periodDay' })
  })

  test('the body of an override that is read into the form and sent again is the same', () => {
    const set = {
      ...{ ...BODY, version: 3, limits: { read: { '1h': 5, '1d': 9 } } },
      ...{ periodDay: 31, plan: 'pro', shadow: true, expiresAt: '2026-12-01T00:00:00.000Z' },
    }
    const { version: _, limits, ...others } = set
    expect(bodyOf(formOf(set), NOW).body).toEqual({ ...limits, ...others })
  })
})

describe('what was sent', () => {
  const same = { shadow: true, reason: 'why', expiresAt: '2026-12-01T00:00:00.000Z' }
  const set = { ...BODY, ...same, version: 3, limits: { write: { '1h': 7 }, read: { '1h': 5, '1d': 9 } } }
  const sent = { ...same, read: { '1d': 9, '1h': 5 }, write: { '1h': 7 } }

  test('what was sent is set, in whatever order', () => {
    expect(isSet(sent, set)).toBe(true)
  })

  test.each([
    [{ read: { '1h': 5 } }],
    [{ read: { '1h': 5, '1d': 9, '5h': 1 } }],
    [{ bypassGlobal: true }],
    [{ plan: 'pro' }],
    [{ shadow: false }],
    [{ reason: 'another' }],
    [{ expiresAt: null }],
  ])('what was sent is not set if it says %j', (other) => {
    expect(isSet({ ...sent, ...other }, set)).toBe(false)
  })

  test('what was sent is not set while nothing is', () => {
    expect(isSet(sent, null)).toBe(false)
  })
})

describe('what was edited since an override was sent', () => {
  const sent = { ...FORM, limits: { 'read.1h': ' 500' }, expiry: { kind: 'hours', hours: 24 } } as const
  const set = { ...FORM, limits: { 'read.1h': '500' }, expiry: { kind: 'keep', at: '2026-11-21T10:00:00Z' } } as const

  test('what was edited since an override was sent is nothing if all is as it was, also what was put back', () => {
    expect(editsSince(sent, sent, set)).toBeNull()
    const back = { ...sent, limits: { ...sent.limits, 'read.1d': '' }, expiry: { ...sent.expiry } }
    expect(editsSince(back, sent, set)).toBeNull()
  })

  test('what was edited since an override was sent stands on top of what is set: an end in so many hours does not begin anew', () => {
    expect(editsSince({ ...sent, reason: 'better' }, sent, set)).toEqual({ ...set, reason: 'better' })
    const limits = { 'read.1h': '', 'write.1h': '9' }
    expect(editsSince({ ...sent, limits }, sent, set)).toEqual({ ...set, limits })
    expect(editsSince({ ...sent, limits: { 'write.1h': '9' } }, sent, set)).toEqual({ ...set, limits })
    const expiry = { kind: 'never' } as const
    expect(editsSince({ ...sent, expiry, shadow: true }, sent, set)).toEqual({ ...set, expiry, shadow: true })
  })
})

describe('an end', () => {
  test('an end counts hours from now', () => {
    expect(expiryOf({ kind: 'hours', hours: 24 }, NOW)).toBe('2026-11-21T10:00:00.000Z')
  })
  test('an end may be that of today, by the clock of the browser', () => {
    const at = new Date(expiryOf({ kind: 'today' }, NOW) ?? '')
    expect([at.getHours(), new Date(at.getTime() - 1).getDate()]).toEqual([0, new Date(NOW).getDate()])
  })
  test('an end that has come in the meantime is none, also if it was set before', () => {
    expect(expiryOf({ kind: 'keep', at: '2026-11-20T09:59:59Z' }, NOW)).toBeUndefined()
  })
  test('an end that is not filled in is none', () => {
    expect(expiryOf({ kind: 'at', local: '' }, NOW)).toBeUndefined()
  })
  test('an end may be never', () => {
    expect(expiryOf({ kind: 'never' }, NOW)).toBeNull()
  })
})

describe('what an override uses up', () => {
  const DEFAULTS = { read: { '1h': 120, '1d': 1200 } }
  const QUOTA = { effective: { personal: DEFAULTS, global: {} }, cheapest: { read: 2 }, windows: {} }
  const SET: OverrideResponse = { ...BODY, version: 3, limits: { read: { '1h': 500 } } }

  function userWith(used: number, override: OverrideResponse | null): UserResponse {
    const limit = (window: '1h' | '1d') => Number(override?.limits.read?.[window] ?? DEFAULTS.read[window])
    const line = (scope: 'Personal' | 'Global', window: '1h' | '1d') => ({
      ...{ scope, window, used, limit: limit(window), remaining: Math.max(0, limit(window) - used) },
      ...{ startedAt: null, resetAt: null, source: '', steps: [] },
    })
    return {
      user: 'alice',
      override,
      standing: { state: 'room', by: null },
      windows: { read: [line('Personal', '1h'), line('Personal', '1d'), line('Global', '1h')] },
    }
  }

  test('what an override uses up are windows under the limits that it sets', () => {
    const body = { ...BODY, read: { '1h': 100 } }
    expect(usedUpUnder(body, userWith(100, null), QUOTA)).toMatchObject([
      { scope: 'Personal', category: 'read', window: '1h', used: 100, limit: 100, forever: false },
    ])
  })

  test('what an override uses up are windows that go back to their default, by another override or by none', () => {
    const found = [{ scope: 'Personal', category: 'read', window: '1h', used: 200, limit: 120, forever: false }]
    expect(usedUpUnder({ ...BODY, bypassGlobal: true }, userWith(200, SET), QUOTA)).toMatchObject(found)
    expect(usedUpUnder(null, userWith(200, SET), QUOTA)).toMatchObject(found)
    expect(usedUpUnder({ ...BODY, read: { '1h': 500 } }, userWith(200, SET), QUOTA)).toEqual([])
    expect(usedUpUnder({ ...BODY, read: { '1h': 'unlimited' } }, userWith(200, SET), QUOTA)).toEqual([])
  })

  test('what an override uses up are windows under the limits of a plan that it sets, or takes away', () => {
    const plans = { free: { personal: { read: { '1h': 60 } }, organisation: {} } }
    const quota = { ...QUOTA, effective: { ...QUOTA.effective, plans } }
    const window = { scope: 'Personal', category: 'read', window: '1h' }
    expect(usedUpUnder({ ...BODY, plan: 'free' }, userWith(100, null), quota)).toMatchObject([
      { ...window, used: 100, limit: 60, forever: false },
    ])
    const free = { ...SET, limits: { read: { '1h': 500 } }, plan: 'free' }
    expect(usedUpUnder(null, userWith(130, free), quota)).toMatchObject([
      { ...window, used: 130, limit: 120, forever: false },
    ])
    expect(usedUpUnder({ ...BODY, plan: 'free', read: { '1h': 500 } }, userWith(130, free), quota)).toEqual([])
  })

  test('what an override uses up are global windows that the user is spared now, and no more then', () => {
    const now = { limit: 100, used: 99, remaining: 1, startedAt: null, resetAt: null }
    const full = { ...now, scope: 'Global', window: '1h' } as const
    const quota = { ...QUOTA, windows: { read: [full] } }
    const found = [{ scope: 'Global', category: 'read', window: '1h', used: 99, limit: 100, forever: false }]
    const bypassing = userWith(0, { ...SET, bypassGlobal: true })
    expect(usedUpUnder(null, bypassing, quota)).toMatchObject(found)
    expect(usedUpUnder(BODY, bypassing, quota)).toMatchObject(found)
    expect(usedUpUnder(BODY, userWith(0, { ...SET, shadow: true }), quota)).toMatchObject(found)
    expect(usedUpUnder({ ...BODY, bypassGlobal: true }, bypassing, quota)).toEqual([])
    expect(usedUpUnder(null, userWith(0, SET), quota)).toEqual([])
  })

  test('what an override uses up are windows without room for the cheapest request, and none of a category that refuses nothing', () => {
    const body = { ...BODY, read: { '1h': 100 } }
    expect(usedUpUnder(body, userWith(98, null), QUOTA)).toEqual([])
    expect(usedUpUnder(body, userWith(99, null), QUOTA)).toMatchObject([{ used: 99, limit: 100 }])
    expect(usedUpUnder({ ...BODY, read: { '1h': 1 } }, userWith(0, null), QUOTA)).toMatchObject([{ forever: true }])
    expect(usedUpUnder(body, userWith(99, null), { ...QUOTA, cheapest: {} })).toEqual([])
  })

  test('what an override uses up are windows that only shadow mode lets through, and none under shadow mode', () => {
    const shadow = { ...SET, limits: {}, shadow: true }
    expect(usedUpUnder(null, userWith(200, shadow), QUOTA)).toHaveLength(1)
    expect(usedUpUnder({ ...BODY, shadow: true, read: { '1h': 1 } }, userWith(200, shadow), QUOTA)).toEqual([])
  })
})

test('a lead may give at most what the member has by default and what the organisation has, and no limit without an end', () => {
  const windows = {
    read: [
      { scope: 'Personal', window: '1h', used: 0, limit: 600 },
      { scope: 'Organisation', window: '1h', used: 0, limit: 1000 },
      { scope: 'Personal', window: '1d', used: 0, limit: 9000 },
      { scope: 'Organisation', window: '1d', used: 0, limit: 5000 },
    ],
  } as const
  const above = (limits: Record<string, string>, override: OverrideResponse | null = null) =>
    aboveShare({ ...FORM, limits }, { kind: 'user', id: 'carla', windows, override })
  expect(above({ 'read.1h': '600', 'read.1d': ' ', 'read.month': '7' })).toEqual({})
  expect(above({ 'read.1h': '601', 'read.1d': '5001' })).toEqual({ 'read.1h': 600, 'read.1d': 5000 })
  expect(above({ 'read.1h': 'unlimited', 'read.1d': '1 + 1' })).toEqual({ 'read.1h': 600, 'read.1d': 5000 })
  const set = { ...BODY, version: 1, limits: { read: { '1h': 200 } } }
  expect([above({ 'read.1h': '900' }, set), above({ 'read.1h': '1001' }, set)]).toEqual([{}, { 'read.1h': 1000 }])
})
