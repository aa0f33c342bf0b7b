import { expect, test } from 'vitest'
import { endOfFriday, endOfTomorrow, type Overridable, tomorrowsHour } from '../../src/dashboard/logic/override.ts'
import { canRaise, isBlock, newlyLimited, quickBody } from '../../src/dashboard/logic/quick-override.ts'

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

test('a raise multiplies own limits, rounds up, and keeps plan and switches', () => {
  const raised = quickBody(BOB, 'half', END)
  expect(raised).toMatchObject({
    read: { '1h': 23 },
    write: { '1h': 0 },
    plan: 'pro',
    bypassGlobal: true,
    shadow: true,
  })
  expect(raised).toMatchObject(END)
  expect(quickBody(BOB, 'double', END).read).toEqual({ '1h': 30 })
})

test('a raise over another one sends no layers, which are not for an administrator to set', () => {
  const layers = [{ id: 'a', from: null, until: null, state: 'in_force' as const, value: {}, who: null, why: null }]
  const layered: Overridable = {
    ...BOB,
    override: { ...BOB.override, layers } as Overridable['override'],
  } as Overridable
  expect(quickBody(layered, 'half', END)).not.toHaveProperty('layers')
})

test('a block sets every own limit to 0 and ends shadow mode, in which nothing would be refused', () => {
  const blocked = quickBody(BOB, 'block', END)
  expect(blocked).toMatchObject({ read: { '1h': 0 }, write: { '1h': 0 }, plan: 'pro', shadow: false })
})

test('of an organisation what no plan limits is blocked and not raised, and only its own fields are sent', () => {
  const windows = { read: [window('Organisation', 20)], write: [window('Organisation', null)] }
  const team: Overridable = { kind: 'organisation', id: 'arcade', windows, override: null }
  expect(quickBody(team, 'double', END)).toEqual({ read: { '1h': 40 }, ...END })
  expect(quickBody(team, 'block', END)).toEqual({ read: { '1h': 0 }, write: { '1h': 0 }, ...END })
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

test('the end of tomorrow is a midnight two days on, and a time begins with the full hour a day on', () => {
  const now = new Date(2026, 10, 30, 23, 30).getTime()
  expect(endOfTomorrow(now)).toBe(new Date(2026, 11, 2).getTime())
  expect(tomorrowsHour(now)).toBe('2026-12-02T00:00')
})

test('plans that set no limit for an organisation are those whose members get one', () => {
  const limited = { ...window('Organisation', 20), byPlan: { free: null, pro: 20 } }
  const windows = { read: [limited], write: [{ ...window('Organisation', null), byPlan: { basic: null } }] }
  expect(newlyLimited({ kind: 'organisation', id: 'arcade', windows, override: null })).toEqual(['free'])
})

test('a block is an override that sets each own limit to 0', () => {
  const zero = { limits: { read: { '1h': 0 }, write: { '1h': 0 } } }
  expect(isBlock(zero, { ...BOB.windows, read: [window('Personal', 0), window('Global', 9)] })).toBe(true)
  expect(isBlock({ limits: { write: { '1h': 0 } } }, BOB.windows)).toBe(false)
  expect(isBlock(null, BOB.windows)).toBe(false)
  expect(isBlock(zero, {})).toBe(false)
})
