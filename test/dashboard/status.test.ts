import { describe, expect, test } from 'vitest'
import type { NowResponse, RefusalsResponse } from '../../src/admin/api.ts'
import { isNobodyRefused, statusOf } from '../../src/dashboard/logic/status.ts'

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
    ...part,
  }
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

  test('names a global window with tokens left only if it refused somebody in this run', () => {
    const windows = { read: [{ ...WINDOW, used: 98, remaining: 2 }] }
    expect(statusOf(nowOf({ windows }), [], null).full).toEqual([])
    const refused = statusOf(nowOf({ windows }), [refusalOf({ scope: 'Global' })], null)
    expect(refused.full).toEqual([{ category: 'read', window: '1h', until: RESET, remaining: 2 }])
    const next = { read: [{ ...WINDOW, used: 4, remaining: 96, startedAt: '2026-11-27T08:59:30.000Z' }] }
    expect(statusOf(nowOf({ windows: next }), [refusalOf({ scope: 'Global' })], null).full).toEqual([])
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

  test('says how much the upstream fails since an earlier look, from one percent', () => {
    const before = nowOf({ at: '2026-11-27T08:59:45.000Z' })
    const later = (failed: number) => nowOf({}, { ...COUNTS, requests: 1100, failed })
    expect(statusOf(later(5), [], before).failing).toBeNull()
    expect(statusOf(later(500), [], before).failing).toBe(0.5)
    expect(statusOf(later(500), [], null).failing).toBeNull()
  })
})
