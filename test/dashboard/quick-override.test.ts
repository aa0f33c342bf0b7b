import { expect, test } from 'vitest'
import { endOfDay, endOfFriday, type Overridable, tomorrowsHour } from '../../src/dashboard/logic/override.ts'
import { canRaise, isBlock, quickBody, quickLines } from '../../src/dashboard/logic/quick-override.ts'

const END = { reason: 'a big event', expiresAt: '2026-11-28T00:00:00.000Z' }
const window = (scope: 'Personal' | 'Organisation' | 'Global', limit: number | null) => ({
  scope,
  window: '1h',
  used: 0,
  limit,
})
const BOB: Overridable = {
  kind: 'user',
  id: 'bob',
  windows: { read: [window('Personal', 15), window('Global', 900)], write: [window('Personal', 0)] },
  override: {
    version: 3,
    limits: { read: { '1h': 15 }, gone: { '1h': 3 } },
    plan: 'pro',
    bypassGlobal: true,
    shadow: true,
    reason: 'a friend',
    expiresAt: null,
  },
}

test('with an end only the factor is set, which lies over whatever there is', () => {
  expect(quickBody(BOB, 'half', END)).toEqual({ factor: 1.5, ...END })
  expect(quickBody(BOB, 'block', END)).toEqual({ factor: 0, ...END })
})

test('without an end what is set stays and is multiplied, and a block ends shadow mode, in which nothing would be refused', () => {
  const forGood = { ...END, expiresAt: null }
  const doubled = quickBody(BOB, 'double', forGood)
  expect(doubled).toEqual({
    ...{ read: { '1h': 15 }, gone: { '1h': 3 }, factor: 2 },
    ...{ plan: 'pro', bypassGlobal: true, shadow: true, ...forGood },
  })
  expect(quickBody(BOB, 'block', forGood)).toMatchObject({ factor: 0, shadow: false })
  const twice = { ...BOB, override: { ...BOB.override, factor: 1.5 } as Overridable['override'] }
  expect(quickBody(twice, 'double', forGood)).toMatchObject({ factor: 3 })
})

test('each own limit is shown with what becomes of it, of an organisation for each plan', () => {
  expect(quickLines(BOB, 'half')).toEqual([
    { category: 'read', window: '1h', plan: null, from: 15, to: 22 },
    { category: 'write', window: '1h', plan: null, from: 0, to: 0 },
  ])
  const windows = {
    read: [{ ...window('Organisation', 20), byPlan: { team: 10, pro: 20, free: null } }],
    write: [window('Organisation', null)],
  }
  const team: Overridable = { kind: 'organisation', id: 'arcade', windows, override: null }
  expect(quickLines(team, 'double').map(({ plan, from, to }) => [plan, from, to])).toEqual([
    ['team', 10, 20],
    ['pro', 20, 40],
  ])
  expect(quickBody(team, 'block', { ...END, expiresAt: null })).toEqual({ factor: 0, ...END, expiresAt: null })
})

test('the same factor again changes no limit, since it only moves the end', () => {
  const until = '2026-11-27T00:00:00.000Z'
  const layers = [
    {
      id: 'a',
      from: null,
      until,
      state: 'in_force' as const,
      value: { limits: {}, factor: 1.5 },
      who: 'ann',
      why: 'r',
    },
    { id: 'permanent', from: null, until: null, state: 'in_force' as const, value: {}, who: null, why: null },
  ]
  const raised = { ...BOB, override: { ...BOB.override, factor: 1.5, layers } as Overridable['override'] }
  expect(quickLines(raised, 'half')[0]).toMatchObject({ from: 15, to: 15 })
  expect(quickLines(raised, 'double')[0]).toMatchObject({ from: 15, to: 30 })
})

test('a factor of 0 blocks', () => {
  expect(isBlock({ factor: 0, limits: {} }, {})).toBe(true)
})

test('nothing can be raised where every limit is 0 or missing', () => {
  const windows = { read: [window('Personal', 0), window('Global', 9)] }
  expect(canRaise({ ...BOB, windows })).toBe(false)
  expect(canRaise(BOB)).toBe(true)
})

test('the end of Friday is a midnight to come, a week later on Saturday', () => {
  const local = (day: number, hour = 0) => new Date(2026, 10, day, hour).getTime()
  for (const [now, end] of [
    [local(23, 9), 28],
    [local(27, 23), 28],
    [local(28, 0), 35],
  ] as const) {
    expect(endOfFriday(now)).toBe(local(end))
  }
})

test('the end of today is the next midnight, that of tomorrow the one behind it, and a time begins with the full hour a day on', () => {
  const now = new Date(2026, 10, 30, 23, 30).getTime()
  expect(endOfDay(now, 0)).toBe(new Date(2026, 11, 1).getTime())
  expect(endOfDay(now, 1)).toBe(new Date(2026, 11, 2).getTime())
  expect(tomorrowsHour(now)).toBe('2026-12-02T00:00')
})

test('a block is an override that sets each own limit to 0', () => {
  const zero = { limits: { read: { '1h': 0 }, write: { '1h': 0 } } }
  expect(isBlock(zero, { ...BOB.windows, read: [window('Personal', 0), window('Global', 9)] })).toBe(true)
  expect(isBlock({ limits: { write: { '1h': 0 } } }, BOB.windows)).toBe(false)
  expect(isBlock(null, BOB.windows)).toBe(false)
  expect(isBlock(zero, {})).toBe(false)
})
