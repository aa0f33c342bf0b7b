import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Charge, Decision, Limits } from '../../src/quota/charge.ts'
import { createPolicy, payerOf } from '../../src/quota/policy.ts'
import { problemBody } from '../../src/quota/problem-body.ts'
import { rateLimit, rateLimitPolicy, snapshotFields } from '../../src/quota/ratelimit-fields.ts'
import type { Limit, Usage } from '../../src/quota/window.ts'
import { settings } from './settings.ts'
import { parseList } from './structured-field.ts'

const AT = Date.UTC(2026, 7, 6, 15)
const HOUR = { name: '1h', seconds: 3600 }
const DAY = { name: '1d', seconds: 86_400 }
const LIMITS: Limits = {
  personal: [
    { window: HOUR, limit: 120 },
    { window: DAY, limit: 1200 },
  ],
  organisation: null,
  global: [{ window: HOUR, limit: 12_000 }],
}
const IDLE: Usage = { startedAt: 0, used: 0 }
const decision = (personal: Usage[], global: Usage[] | null): Decision => ({
  accepted: true,
  at: AT,
  personal,
  organisation: null,
  global,
})

it('the windows of an organisation stand between those of the user and those of everybody', () => {
  const limits: Limits = {
    ...LIMITS,
    personal: LIMITS.personal.slice(0, 1),
    organisation: [{ window: DAY, limit: 50 }],
  }
  const usage = { startedAt: AT, used: 7 }
  const used = { accepted: true, at: AT, personal: [usage], organisation: [usage], global: [usage] }
  expect(rateLimitPolicy('read', limits, AT)).toBe(
    '"personal-read-1h";q=120;w=3600, "organisation-read-1d";q=50;w=86400, "global-read-1h";q=12000;w=3600',
  )
  expect(rateLimit('read', limits, used)).toBe(
    '"personal-read-1h";r=113;t=3600, "organisation-read-1d";r=43;t=86400, "global-read-1h";r=11993;t=3600',
  )
})

it('RateLimit-Policy names each window with its quota and its length in seconds', () => {
  expect(rateLimitPolicy('read', LIMITS, AT)).toBe(
    '"personal-read-1h";q=120;w=3600, "personal-read-1d";q=1200;w=86400, "global-read-1h";q=12000;w=3600',
  )
})

it('RateLimit-Policy has no global entry if the global scope does not apply', () => {
  expect(rateLimitPolicy('read', { ...LIMITS, global: null }, AT)).toBe(
    '"personal-read-1h";q=120;w=3600, "personal-read-1d";q=1200;w=86400',
  )
})

describe('the fields of a calendar window', () => {
  const month = { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'UTC' } } as const
  const limits: Limits = {
    personal: [
      { window: HOUR, limit: 9 },
      { window: month, limit: 99 },
    ],
    organisation: null,
    global: null,
  }

  it('the fields of a calendar window have the length of its period, which changes with the month', () => {
    const lengths = [Date.UTC(2028, 0, 31), Date.UTC(2028, 1, 29), Date.UTC(2028, 0, 31)].map(
      (at) => /month";q=99;w=(\d+)$/.exec(rateLimitPolicy('read', limits, at))?.[1],
    )
    expect(lengths).toEqual([31, 29, 31].map((days) => String(days * 86_400)))
  })

  it('the fields of a calendar window have the seconds to the end of its period, also before the first charge', () => {
    const at = Date.UTC(2028, 1, 29, 23, 59, 58, 1)
    for (const startedAt of [0, Date.UTC(2028, 1, 3)]) {
      const used = startedAt === 0 ? 0 : 4
      const text = rateLimit('read', limits, {
        at,
        personal: [IDLE, { startedAt, used }],
        organisation: null,
        global: null,
      })
      expect(text).toBe(`"personal-read-1h";r=9, "personal-read-month";r=${99 - used};t=2`)
    }
  })
})

it('RateLimit says of each window what remains and in how many seconds it resets', () => {
  const text = rateLimit(
    'read',
    LIMITS,
    decision(
      [
        { startedAt: AT - 600_000, used: 20 },
        { startedAt: AT, used: 20 },
      ],
      [{ startedAt: AT, used: 3 }],
    ),
  )
  expect(text).toBe(
    '"personal-read-1h";r=100;t=3000, "personal-read-1d";r=1180;t=86400, "global-read-1h";r=11997;t=3600',
  )
})

it('RateLimit names no reset for a window that is not running', () => {
  expect(rateLimit('read', LIMITS, decision([IDLE, IDLE], null))).toContain(
    '"personal-read-1h";r=120, "personal-read-1d";r=1200',
  )
})

it('RateLimit resets as the 429 says if a limit below the cost refuses although its window is not running', () => {
  const refused = { ...decision([IDLE, { startedAt: AT, used: 20 }], [IDLE]), accepted: false }
  expect(rateLimit('read', LIMITS, refused, 130)).toBe(
    '"personal-read-1h";r=120;t=3600, "personal-read-1d";r=1180;t=86400, "global-read-1h";r=12000',
  )
})

it('RateLimit rounds the seconds up, and says 0 of what is overdrawn', () => {
  const text = rateLimit('read', LIMITS, decision([{ startedAt: AT - 3_599_999, used: 500 }, IDLE], [IDLE]))
  expect(parseList(text)[0]).toEqual(['personal-read-1h', { r: 0, t: 1 }])
})

it('RateLimit parses as a structured-field list and names the same policies, for any limits and usage', () => {
  const seconds = fc.uniqueArray(fc.integer({ min: 1, max: 31_536_000 }), { minLength: 1, maxLength: 8 })
  const amount = fc.integer({ min: 0, max: 10 ** 12 })
  fc.assert(
    fc.property(seconds, amount, amount, fc.nat(10 ** 6), fc.boolean(), (lengths, limit, used, age, both) => {
      const list: Limit[] = lengths.map((s) => ({ window: { name: `${s}s`, seconds: s }, limit }))
      const usages = list.map(({ window }) => ({ startedAt: AT - Math.min(age, window.seconds * 1000 - 1), used }))
      const limits: Limits = { personal: list, organisation: null, global: both ? list : null }
      const policy = parseList(rateLimitPolicy('read', limits, AT))
      const state = parseList(rateLimit('read', limits, decision(usages, both ? usages : null)))
      expect(state.map(([name]) => name)).toEqual(policy.map(([name]) => name))
      expect(policy.map(([, p]) => p)).toEqual(
        [...list, ...(both ? list : [])].map((l) => ({ q: limit, w: l.window.seconds })),
      )
      for (const [, { r, t }] of state) {
        expect(r).toBe(Math.max(0, limit - used))
        expect(t).toBeGreaterThan(0)
      }
    }),
  )
}, 60_000)

it('a problem of type quota-exceeded names the policies that refuse, the reported one first', () => {
  const charge: Charge = { user: 'alice', organisation: null, category: 'read', cost: 4, limits: LIMITS }
  const usages: Usage[] = [
    { startedAt: AT - 1000, used: 118 },
    { startedAt: AT - 1000, used: 1199 },
  ]
  const refused = { ...decision(usages, [{ startedAt: AT, used: 5 }]), accepted: false }
  expect(problemBody(charge, refused, 'Used up.')).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: 'Used up.',
    'violated-policies': ['personal-read-1d', 'personal-read-1h'],
  })
})

describe('the fields of a snapshot', () => {
  const table = new Map(['read', 'write'].map((category) => [category, new Map([['1h', 120]])]))
  const fields = (enabled: boolean, startedAt: number): Map<string, string> => {
    const baselines = { personal: table, global: table }
    const policy = createPolicy(settings({ windows: [HOUR], baselines, global: { enabled, multiplier: 1 } }))
    const counter = (used: number) => [{ seconds: 3600, startedAt, used }]
    const snapshot = {
      at: AT,
      personal: [counter(1), counter(2)],
      organisation: null,
      global: [counter(3), counter(4)],
    }
    const [a = '', b = '', c = '', d = ''] = snapshotFields(policy, snapshot, payerOf('bob'))
    return new Map([
      [a, b],
      [c, d],
    ])
  }

  it('the fields of a snapshot hold every window of every category in both scopes', () => {
    const both = fields(true, AT - 1000)
    expect(parseList(both.get('RateLimit-Policy') ?? '').map(([name]) => name)).toEqual([
      'personal-read-1h',
      'global-read-1h',
      'personal-write-1h',
      'global-write-1h',
    ])
    expect(parseList(both.get('RateLimit') ?? '')).toEqual([
      ['personal-read-1h', { r: 119, t: 3599 }],
      ['global-read-1h', { r: 117, t: 3599 }],
      ['personal-write-1h', { r: 118, t: 3599 }],
      ['global-write-1h', { r: 116, t: 3599 }],
    ])
  })

  it('the fields of a snapshot leave the global scope out if it does not apply', () => {
    expect(parseList(fields(false, AT).get('RateLimit') ?? '')).toHaveLength(2)
  })

  it('the fields of a snapshot count a window that has ended as full again and name no reset for it', () => {
    expect(parseList(fields(false, AT - 3_600_000).get('RateLimit') ?? '')[0]).toEqual(['personal-read-1h', { r: 120 }])
  })
})
