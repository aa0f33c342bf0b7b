import { expect, it } from 'vitest'
import { createPolicy, payerOf } from '../../src/quota/policy.ts'
import { globalStatus, limitsInForce, quotaStatus, windowStatus } from '../../src/quota/status.ts'
import { settings } from './settings.ts'

const AT = Date.UTC(2026, 7, 6, 15)
const STARTED = Date.UTC(2026, 7, 6, 14, 30)
const OVERRIDES = new Map([
  ['alice', { limits: new Map([['read', new Map([['1h', 500]])]]), bypassGlobal: true, shadow: false }],
])
const policy = (enabled = true) => createPolicy(settings({ global: { enabled, multiplier: 1 } }), 1, OVERRIDES)
const NOTHING = { at: AT, personal: [[], []], organisation: null, global: [[], []] }

it('the quota status has an array for each category, Personal first, shortest window first', () => {
  const { windows } = quotaStatus(policy(), NOTHING, payerOf('bob'))
  const names = (category: string) => windows[category]?.map(({ scope, window }) => `${scope} ${window}`)
  expect(Object.keys(windows)).toEqual(['read', 'write'])
  expect(names('read')).toEqual(['Personal 1h', 'Personal 1d', 'Global 1h', 'Global 1d'])
  expect(names('write')).toEqual(names('read'))
})

it('the quota status says of a running window when it started and when it resets', () => {
  const personal = [[{ seconds: 3600, startedAt: STARTED, used: 20 }], []]
  const { windows } = quotaStatus(policy(), { ...NOTHING, personal }, payerOf('bob'))
  expect(windows.read?.[0]).toEqual({
    scope: 'Personal',
    window: '1h',
    limit: 120,
    used: 20,
    remaining: 100,
    startedAt: '2026-08-06T14:30:00.000Z',
    resetAt: '2026-08-06T15:30:00.000Z',
  })
})

it('the quota status shows a calendar window from the beginning of its period to the next, also before the first charge', () => {
  const month = { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'Asia/Shanghai' } } as const
  const of = (used: number, counter: readonly { startedAt: number; used: number }[]) => {
    const entries = counter.map((entry) => ({ seconds: month.seconds, ...entry }))
    expect(windowStatus('personal', { window: month, limit: 5 }, entries, AT)).toMatchObject({
      used,
      startedAt: '2026-07-31T16:00:00.000Z',
      resetAt: '2026-08-31T16:00:00.000Z',
    })
  }
  of(0, [])
  of(3, [{ startedAt: STARTED, used: 3 }])
  of(0, [{ startedAt: Date.UTC(2026, 6, 31, 15, 59, 59, 999), used: 3 }])
})

it('the quota status shows a window that is not running as empty, with no start and no reset', () => {
  const idle = {
    scope: 'Personal',
    window: '1h',
    limit: 120,
    used: 0,
    remaining: 120,
    startedAt: null,
    resetAt: null,
  }
  expect(quotaStatus(policy(), NOTHING, payerOf('bob')).windows.read?.[0]).toEqual(idle)
  const ended = [[{ seconds: 3600, startedAt: AT - 3_600_000, used: 20 }], []]
  expect(quotaStatus(policy(), { ...NOTHING, personal: ended }, payerOf('bob')).windows.read?.[0]).toEqual(idle)
})

it('the quota status keeps the numbers of each category and scope where they belong', () => {
  const counter = (used: number) => [{ seconds: 86_400, startedAt: STARTED, used }]
  const { windows } = quotaStatus(
    policy(),
    {
      at: AT,
      personal: [counter(1), counter(2)],
      organisation: null,
      global: [counter(3), counter(4)],
    },
    payerOf('bob'),
  )
  const used = (category: string) => windows[category]?.map((entry) => entry.used)
  expect([used('read'), used('write')]).toEqual([
    [0, 1, 0, 3],
    [0, 2, 0, 4],
  ])
})

it('the quota status shows the windows of the organisation of the caller behind the personal ones, if the plan limits it', () => {
  const table = new Map([['read', new Map([['1h', 50]])]])
  const plans = new Map([['team', { personal: new Map(), organisation: table }]])
  const ofTeam = createPolicy(settings({ plans }))
  const organisation = [[{ seconds: 3600, startedAt: STARTED, used: 20 }], []]
  const { windows } = quotaStatus(
    ofTeam,
    { ...NOTHING, organisation },
    { user: 'bob', organisation: 'acme', plan: 'team' },
  )
  const shown = (category: string) => windows[category]?.map(({ scope, window, used }) => `${scope} ${window} ${used}`)
  expect(shown('read')).toEqual(['Personal 1h 0', 'Personal 1d 0', 'Organisation 1h 20', 'Global 1h 0', 'Global 1d 0'])
  expect(shown('write')).toEqual(['Personal 1h 0', 'Personal 1d 0', 'Global 1h 0', 'Global 1d 0'])
})

it('the quota status never says that less than nothing remains, also if a limit was lowered', () => {
  const personal = [[{ seconds: 3600, startedAt: STARTED, used: 500 }], []]
  expect(quotaStatus(policy(), { ...NOTHING, personal }, payerOf('bob')).windows.read?.[0]).toMatchObject({
    limit: 120,
    used: 500,
    remaining: 0,
  })
})

it('the quota status leaves the global scope out if it does not apply', () => {
  const { windows } = quotaStatus(policy(false), NOTHING, payerOf('bob'))
  expect(windows.read?.map((entry) => entry.scope)).toEqual(['Personal', 'Personal'])
})

it("the quota status of a user with an override shows the user's own limits, and no global scope that is bypassed", () => {
  const { windows } = quotaStatus(policy(), NOTHING, payerOf('alice'))
  expect(windows.read?.map(({ scope, window, limit }) => [scope, window, limit])).toEqual([
    ['Personal', '1h', 500],
    ['Personal', '1d', 1200],
  ])
})

it('the status of all users together has the global windows of each category', () => {
  const global = [[{ seconds: 3600, startedAt: STARTED, used: 20 }], []]
  const windows = globalStatus(policy(), { at: AT, global })
  expect(Object.values(windows).map((each) => each.map(({ scope, window, used }) => [scope, window, used]))).toEqual([
    [
      ['Global', '1h', 20],
      ['Global', '1d', 0],
    ],
    [
      ['Global', '1h', 0],
      ['Global', '1d', 0],
    ],
  ])
})

it('the status of all users together is empty if the global scope is switched off', () => {
  expect(globalStatus(policy(false), NOTHING)).toEqual({ read: [], write: [] })
})

it('the limits in force are plain tables, of the global scope only if it applies', () => {
  const personal = { read: { '1h': 120, '1d': 1200 }, write: { '1h': 60, '1d': 600 } }
  const global = { read: { '1h': 12_000, '1d': 120_000 }, write: { '1h': 6000, '1d': 60_000 } }
  expect(limitsInForce(policy())).toEqual({ personal, global })
  expect(limitsInForce(policy(false))).toEqual({ personal, global: {} })
})
