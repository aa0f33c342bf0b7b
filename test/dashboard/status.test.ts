import { describe, expect, test } from 'vitest'
import type { NowResponse, RefusalsResponse } from '../../src/admin/api.ts'
import { type Costs, costsOf } from '../../src/dashboard/logic/costs.ts'
import { refusedSince } from '../../src/dashboard/logic/full-since.ts'
import { isNobodyRefused, type StatusSources, statusOf as statusFrom } from '../../src/dashboard/logic/status.ts'

const AT = '2026-11-27T09:00:00.000Z'
const STARTED = '2026-11-27T08:30:00.000Z'
const RESET = '2026-11-27T09:30:00.000Z'

const WINDOW = {
  scope: 'Global',
  window: '1h',
  limit: 100,
  used: 100,
  remaining: 0,
  startedAt: STARTED,
  resetAt: RESET,
} as const
const COUNTS = { requests: 100, refused: 0, shadowed: 0, tokens: 0, forwarded: 100, failed: 0, inFlight: 0 }

function nowOf(part: Partial<NowResponse> = {}, counts = COUNTS): NowResponse {
  const replica = { instance: 'a', host: 'a', pid: 1, version: '1', hash: 'h', controlVersion: 0, startedAt: STARTED }
  return {
    at: AT,
    counts,
    replicas: [{ ...replica, silentMs: 0, ready: true, reasons: [], configProblems: [], counts }],
    agree: true,
    store: { kind: 'sqlite', answers: true },
    storeOutage: {},
    backend: { origin: 'http://127.0.0.1', requests: 0, status0: 0, status5xx: 0 },
    config: { file: 'a.yaml', hash: 'h' },
    controlVersion: 0,
    windows: { read: [{ ...WINDOW, used: 0, remaining: 100 }] },
    shadow: false,
    authShadow: { on: false, letIn: null },
    ...part,
  }
}

type Refusal = RefusalsResponse['refusals'][number]

function refusalOf(part: Partial<Refusal>): Refusal {
  return {
    user: 'bob',
    plan: null,
    organisation: null,
    category: 'read',
    scope: 'Personal',
    window: '1h',
    startedAt: STARTED,
    first: STARTED,
    last: '2026-11-27T08:59:00.000Z',
    count: 1,
    routes: [],
    limit: 10,
    used: 10,
    source: 'baseline',
    cost: 4,
    until: '2026-11-27T09:00:00.000Z',
    emptied: false,
    ...part,
  }
}

function statusOf(
  now: NowResponse,
  refusals: readonly Refusal[],
  before: NowResponse | null,
  more: Partial<StatusSources> = {},
) {
  return statusFrom(now, { refusals, before, costs: new Map(), wasFailing: false, ...more })
}

describe('the status of the gateway', () => {
  test('is that nobody is refused if no window is full and nobody was refused a moment ago', () => {
    const old = refusalOf({ last: '2026-11-27T08:54:00.000Z' })
    expect(isNobodyRefused(statusOf(nowOf(), [old], null))).toBe(true)
  })

  test('names by category the full global window that ends last', () => {
    const later = { ...WINDOW, window: '24h', resetAt: '2026-11-28T08:30:00.000Z' }
    const status = statusOf(nowOf({ windows: { read: [WINDOW, later], write: [WINDOW] } }), [], null)
    expect(status.full.map(({ category, window }) => [category, window])).toEqual([
      ['read', '24h'],
      ['write', '1h'],
    ])
    expect(isNobodyRefused(status)).toBe(false)
  })

  test('names a global window with tokens left only if a route costs more and somebody was refused in this run', () => {
    const dearest = { match: 'DELETE /a', cost: 5 }
    const costs = new Map<string, Costs>([['read', { least: 2, dearest }]])
    const full = (remaining: number, refusals: readonly Refusal[] = [refusalOf({ scope: 'Global' })], part = {}) =>
      statusOf(nowOf({ windows: { read: [{ ...WINDOW, remaining, ...part }] } }), refusals, null, { costs }).full
    const of = { category: 'read', window: '1h', until: RESET }
    expect(full(4)).toEqual([{ ...of, remaining: 4, tooDear: dearest }])
    // The dearest request has room, or nobody was refused, or in an earlier run.
    expect(full(5)).toEqual([])
    expect(full(77)).toEqual([])
    expect(full(4, [])).toEqual([])
    expect(full(4, undefined, { startedAt: '2026-11-27T08:59:30.000Z' })).toEqual([])
    // Not even the cheapest has room.
    expect(full(1, [])).toEqual([{ ...of, remaining: 1, tooDear: null }])
  })

  test('counts each user and organisation once', () => {
    const refusals = [
      refusalOf({}),
      refusalOf({ category: 'write' }),
      refusalOf({ user: 'eve', scope: 'Organisation', organisation: 'acme' }),
      refusalOf({ user: 'mia', scope: 'Organisation', organisation: 'acme' }),
    ]
    expect(statusOf(nowOf(), refusals, null)).toMatchObject({ users: 1, organisations: 1 })
  })

  test('under shadow mode no window is full', () => {
    expect(statusOf(nowOf({ shadow: true, windows: { read: [WINDOW] } }), [], null)).toMatchObject({
      full: [],
      isShadow: true,
    })
  })

  test('says how much of the forwarded requests fails from two percent, and then until it is half a percent', () => {
    const before = nowOf({ at: '2026-11-27T08:59:45.000Z' })
    const later = (failed: number, forwarded = 1000) =>
      nowOf({}, { ...COUNTS, requests: 5100, forwarded: 100 + forwarded, failed })
    expect(statusOf(later(19), [], before).failing).toBeNull()
    expect(statusOf(later(500), [], before).failing).toBe(0.5)
    expect(statusOf(later(6), [], before, { wasFailing: true }).failing).toBeCloseTo(0.006)
    expect(statusOf(later(4), [], before, { wasFailing: true }).failing).toBeNull()
    // Too few to know, and no earlier look.
    expect(statusOf(later(10, 19), [], before).failing).toBeNull()
    expect(statusOf(later(500), [], null).failing).toBeNull()
  })
})

test('what requests of a category cost is by its cheapest and its dearest route; what is free or in shadow counts for nothing', () => {
  const rule = { line: 1, public: false, costs: null, health: true, shadow: false, hits: 0 }
  const costs = costsOf([
    { ...rule, match: 'GET /a', category: 'read', cost: 4 },
    { ...rule, match: 'GET /free', category: 'read', cost: 0 },
    { ...rule, match: 'POST /b', category: 'read', cost: null, costs: { small: 2, large: 20 } },
    { ...rule, match: 'GET /health', category: null, cost: null, public: true },
    { ...rule, match: 'PUT /c', category: 'idle', cost: 0 },
    { ...rule, match: 'POST /shadow', category: 'read', cost: 50, shadow: true },
  ])
  expect([...costs]).toEqual([['read', { least: 2, dearest: { match: 'POST /b', cost: 20 } }]])
})

test('a window refuses since its first refusal of this run, if all of them are known', () => {
  const global = (first: string, part: Partial<Refusal> = {}) => refusalOf({ scope: 'Global', first, ...part })
  const refusals = [
    global('2026-11-27T08:50:00.000Z'),
    global('2026-11-27T08:41:00.000Z', { user: 'eve' }),
    global('2026-11-27T08:20:00.000Z', { startedAt: '2026-11-27T07:30:00.000Z', last: '2026-11-27T08:29:00.000Z' }),
  ]
  expect(refusedSince({ refusals, next: 'more' }, 'read', WINDOW)).toBe('2026-11-27T08:41:00.000Z')
  expect(refusedSince({ refusals: refusals.slice(0, 2), next: 'more' }, 'read', WINDOW)).toBeNull()
  expect(refusedSince({ refusals, next: null }, 'write', WINDOW)).toBeNull()
  expect(refusedSince(null, 'read', WINDOW)).toBeNull()
})
