import { expect, test } from 'vitest'
import { createLimitsInForce } from '../../src/app/limits-in-force.ts'
import { inForce, NOTHING_CHANGED } from '../../src/control/in-force.ts'
import type { Changes, GivenGrant, Layer, Packed, StoredControl, UserOverride } from '../../src/control/state.ts'
import { roomFrom } from '../../src/quota/ahead.ts'
import type { Charge, Decision } from '../../src/quota/charge.ts'
import type { Grant } from '../../src/quota/grant.ts'
import { neverFits, refusalBody } from '../../src/quota/refusal.ts'
import { type Block, blockOf, endOfBlock } from '../../src/quota/standing.ts'
import { quotaStatus } from '../../src/quota/status.ts'
import { understood } from '../e2e/harness.ts'

const T = Date.UTC(2026, 10, 27, 9)
const MINUTE = 60_000
const ALICE = { user: 'alice', organisation: null, plan: null }
const OVERRIDE: UserOverride = { limits: {}, bypassGlobal: false, shadow: false, reason: 'why', expiresAt: null }
const { quota } = understood(
  'upstream: { url: "http://127.0.0.1:9000" }\nquota: { baselines: { personal: { read: { 1h: 100, 1d: 200 } }, global: { read: { 1h: 1000, 1d: 9000 } } } }',
).config

const layer = (id: string, from: number, until: number | null, value: unknown): Layer => ({
  ...{ id, from, until, value, who: 'ann', why: null },
  begun: true,
})

/** The limits at `T`, with these changes. */
function limitsWith(of: {
  settings?: Packed<Changes>
  override?: Packed<UserOverride>
  grant?: GivenGrant
}): ReturnType<typeof createLimitsInForce> {
  const stored: StoredControl = {
    ...{ version: 3, changedAt: 0, organisationOverrides: new Map() },
    settings: { version: 1, value: of.settings ?? {} },
    overrides: new Map(of.override && [['alice', { version: 2, value: of.override }]]),
    grants: new Map(of.grant && [['g', { version: 2, value: of.grant }]]),
  }
  const limits = createLimitsInForce(quota)
  limits.enforce(inForce(stored, NOTHING_CHANGED, T).state, 1)
  return limits
}

/** What alice is told who has used so much since ten minutes, and when that is. */
function told(of: Parameters<typeof limitsWith>[0], used: { read: number; all?: number }) {
  const limits = limitsWith(of)
  const charge: Charge = {
    ...{ user: 'alice', organisation: null, category: 'read', cost: 1 },
    limits: limits.policy().limitsFor('read', ALICE),
  }
  const run = (tokens: number) => ({ startedAt: T - 10 * MINUTE, used: tokens })
  const decision: Decision = {
    ...{ accepted: false, at: T, organisation: null },
    personal: [run(used.read), run(used.read)],
    global: [run(used.all ?? used.read), run(used.all ?? used.read)],
  }
  const {
    msg,
    retryAfterSeconds,
    quota: violated,
  } = refusalBody(charge, decision, 'UTC', {
    freeAt: roomFrom(limits.ahead(), ALICE, charge, decision),
    never: neverFits(charge, decision),
  })
  return { minutes: retryAfterSeconds / 60, resetAt: violated.resetAt, msg }
}

test('a block that ends by itself tells when it ends, and not that waiting does not help', () => {
  const override = { ...OVERRIDE, limits: { read: { '1h': 0 } }, expiresAt: T + 4 * MINUTE }
  expect(told({ override }, { read: 7 })).toEqual({
    minutes: 4,
    resetAt: '2026-11-27T09:04:00.000Z',
    msg: 'The Personal 1-hour read limit of 0 leaves no room for this request, and it ends by itself. Requests may continue after 2026-11-27 09:04:00 UTC (UTC).',
  })
})

test('a limit below what is used that ends before its window does is waited for until it ends, of users and of settings', () => {
  const override = { ...OVERRIDE, limits: { read: { '1h': 10 } }, expiresAt: T + 5 * MINUTE }
  expect(told({ override }, { read: 10 }).minutes).toBe(5)
  const settings = { layers: [layer('a', T - 1, T + 6 * MINUTE, { baselines: { personal: { read: { '1h': 10 } } } })] }
  expect(told({ settings }, { read: 10 }).minutes).toBe(6)
  const shadow = { layers: [layer('a', T + 3 * MINUTE, null, { shadow: true })] }
  expect(told({ settings: shadow }, { read: 100 }).minutes).toBe(3)
})

test('an end after which another limit refuses is not told: the windows are waited for, or a later end', () => {
  const later = { ...OVERRIDE, limits: { read: { '1h': 10 } }, expiresAt: T + 5 * MINUTE }
  expect(told({ override: later }, { read: 100 }).minutes).toBe(50)
  expect(told({ override: later }, { read: 10, all: 1000 }).minutes).toBe(50)
  const beneath = { ...OVERRIDE, limits: { read: { '1h': 5 } } }
  const throttled = {
    ...beneath,
    layers: [layer('b', T - 1, T + 5 * MINUTE, { ...OVERRIDE, limits: { read: { '1h': 0 } } })],
  }
  expect(told({ override: throttled }, { read: 7 }).minutes).toBe(50)
  const nested = [
    layer('c', T - 2, T + 9 * MINUTE, { ...OVERRIDE, limits: { read: { '1h': 5 } } }),
    layer('d', T - 1, T + 5 * MINUTE, { ...OVERRIDE, limits: { read: { '1h': 0 } } }),
  ]
  expect(told({ override: { layers: nested } }, { read: 7 }).minutes).toBe(9)
})

test('a personal window in whose place a grant pays does not keep the end of a global limit from being told, in a 429 and in lists', () => {
  const given = (until: number) => {
    const facts = { user: 'alice', category: 'read', tokens: 50, givenAt: T - 1, reason: 'why' }
    const grant: GivenGrant = { ...facts, until, endedAt: null }
    const settings = { layers: [layer('a', T + 4 * MINUTE, null, { baselines: { global: { read: { '1h': 2000 } } } })] }
    const limits = limitsWith({ settings, grant })
    const policy = limits.policy()
    const own = policy.limitsFor('read', ALICE)
    const runs = (used: number) => [3600, 86_400].map((seconds) => ({ seconds, startedAt: T - 10 * MINUTE, used }))
    const refused: Decision = {
      ...{ accepted: false, at: T, personal: runs(100), organisation: null, global: runs(1000) },
      paidBy: { personal: { grant: own.grants?.personal[0] as Grant, startedAt: T - 1, used: 49 }, organisation: null },
    }
    const charge = { user: 'alice', organisation: null, category: 'read', cost: 1, limits: own }
    const account = [{ seconds: own.grants?.personal[0]?.window.seconds ?? 0, startedAt: T - 1, used: 49 }]
    const personal = (counted: string) => (counted === 'read' ? runs(100) : account)
    const counters = { personal, organisation: () => undefined, global: () => runs(1000) }
    const cheapest = new Map([['read', 1]])
    const block = blockOf({ policy, cheapest }, ALICE, counters, T)
    expect(block).toMatchObject({ scope: 'global', window: { name: '1h' } })
    const listed = endOfBlock({ cheapest, ahead: limits.ahead() }, ALICE, counters, block as Block, T)
    return [roomFrom(limits.ahead(), ALICE, charge, refused) ?? T + 50 * MINUTE, listed].map((at) => (at - T) / MINUTE)
  }
  expect(given(T + 60 * MINUTE)).toEqual([4, 4])
  expect(given(T + 3 * MINUTE)).toEqual([50, 50])
})

test('what is left of a window says the same: it has room again when its limit ends, or else when it does', () => {
  const resets = (limit: number, used: number) => {
    const override = { ...OVERRIDE, limits: { read: { '1h': limit, '1d': 300 } }, expiresAt: T + 5 * MINUTE }
    const limits = limitsWith({ override })
    const runs = [3600, 86_400].map((seconds) => ({ seconds, startedAt: T - 10 * MINUTE, used }))
    const snapshot = { at: T, personal: [runs], organisation: null, global: [runs] }
    const { windows } = quotaStatus(limits.policy(), snapshot, ALICE, limits.ahead())
    return windows.read?.map(({ resetAt }) => (Date.parse(resetAt ?? '') - T) / MINUTE)
  }
  const [hour, day] = [50, 1430]
  expect(resets(10, 10)).toEqual([5, day, hour, day])
  expect(resets(11, 10)).toEqual([hour, day, hour, day])
  expect(resets(10, 100)).toEqual([hour, day, hour, day])
})

test('an end behind that of the window changes nothing', () => {
  const override = { ...OVERRIDE, limits: { read: { '1h': 10 } }, expiresAt: T + 55 * MINUTE }
  const { minutes, msg } = told({ override }, { read: 10 })
  expect([minutes, msg]).toEqual([50, expect.stringContaining('is used up. Requests may continue after')])
})
