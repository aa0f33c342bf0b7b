import { expect, test } from 'vitest'
import { fullWindows, lastMinute, latestGlobal, whoIsRefused } from '../../src/admin/status.ts'
import type { WindowStatus } from '../../src/quota/status.ts'
import type { Episode } from '../../src/usage/episodes.ts'

const STARTED = '2026-11-27T08:30:00.000Z'
const RESET = '2026-11-27T09:30:00.000Z'
const LAST = Date.parse('2026-11-27T08:59:00Z')
const COSTS = { cheapest: new Map([['read', 2]]), priced: [{ match: 'DELETE /a', category: 'read', costs: [2, 5] }] }

function windowOf(part: Partial<WindowStatus> = {}): WindowStatus {
  const times = { startedAt: STARTED, resetAt: RESET }
  return { scope: 'Global', window: '1h', limit: 100, used: 100, remaining: 0, ...times, ...part }
}

function refusalOf(part: Partial<Episode> = {}): Episode {
  return {
    ...{ id: 'a', user: 'bob', plan: null, organisation: null, category: 'read', scope: 'Personal', window: '1h' },
    ...{ startedAt: Date.parse(STARTED), first: LAST, last: LAST, count: 1, routes: [], limit: 10, used: 10 },
    source: 'baseline',
    ...part,
  }
}

test('the full global window of a category that ends last is named', () => {
  const later = windowOf({ window: '24h', resetAt: '2026-11-28T08:30:00.000Z' })
  const full = fullWindows(
    { read: [windowOf(), later], write: [windowOf()], idle: [windowOf({ remaining: 9 })] },
    [],
    COSTS,
  )
  expect(full.map(({ category, window }) => [category, window])).toEqual([
    ['read', '24h'],
    ['write', '1h'],
  ])
})

test('a global window with a soft limit is full where what passes beyond the limit is used up too', () => {
  const full = (used: number) => fullWindows({ read: [windowOf({ over: 20, used })] }, [], COSTS)
  expect(full(118)).toEqual([])
  expect(full(119)).toEqual([{ category: 'read', window: '1h', until: RESET, remaining: 1, tooDear: null }])
})

test('a global window with tokens left is full only if a route costs more and somebody was refused in this run', () => {
  const full = (remaining: number, recent = [refusalOf({ scope: 'Global' })], part = {}) =>
    fullWindows({ read: [windowOf({ remaining, ...part })] }, recent, COSTS)
  const of = { category: 'read', window: '1h', until: RESET }
  expect(full(4)).toEqual([{ ...of, remaining: 4, tooDear: { match: 'DELETE /a', cost: 5 } }])
  // The dearest request has room, or nobody was refused, or in an earlier run, or by another limit.
  expect(full(5)).toEqual([])
  expect(full(4, [])).toEqual([])
  expect(full(4, undefined, { startedAt: '2026-11-27T08:59:30.000Z' })).toEqual([])
  expect(full(4, [refusalOf()])).toEqual([])
  // Not even the cheapest has room.
  expect(full(1, [])).toEqual([{ ...of, remaining: 1, tooDear: null }])
})

test('each refused user and each organisation counts once, by the scope of the limit that refused', () => {
  const recent = [
    refusalOf(),
    refusalOf({ category: 'write' }),
    refusalOf({ user: 'eve', scope: 'Organisation', organisation: 'acme' }),
    refusalOf({ user: 'mia', scope: 'Organisation', organisation: 'acme' }),
    refusalOf({ user: 'mia', scope: 'Global' }),
    refusalOf({ user: 'eve', scope: 'Global' }),
  ]
  expect(whoIsRefused(recent)).toEqual({ users: 1, organisations: 1, global: 2 })
})

test('the latest refusal of each global window stands for the earlier ones', () => {
  const [late, early] = [refusalOf({ scope: 'Global' }), refusalOf({ scope: 'Global', user: 'eve', last: LAST - 1 })]
  const other = refusalOf({ scope: 'Global', category: 'write' })
  expect(latestGlobal([refusalOf(), late, other, early])).toEqual([late, other])
})

test('requests of the last minute are counted from the first look in it, over replicas that come and go', () => {
  const beat = (instance: string, forwarded: number, failed: number, startedAt = 0) => ({
    ...{ instance, startedAt },
    counts: { requests: forwarded, refused: 0, shadowed: 0, tokens: 0, forwarded, failed, inFlight: 0 },
  })
  const look = lastMinute()
  expect(look([beat('a', 100, 1), beat('b', 50, 0)], 1_000_000)).toBeNull()
  // One that is new counts from its start, one that is gone not at all, one that nobody has seen before from now on.
  const later = [beat('a', 130, 4), beat('c', 7, 7, 1_010_000), beat('d', 900, 900)]
  expect(look(later, 1_030_000)).toEqual({ requests: 37, failed: 10 })
  expect(look(later, 1_060_001)).toEqual({ requests: 0, failed: 0 })
  // Nobody has looked for more than a minute, or the clock was set back.
  expect(look(later, 1_200_000)).toBeNull()
  expect(look(later, 900_000)).toBeNull()
})
