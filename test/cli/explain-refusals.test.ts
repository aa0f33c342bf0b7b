import { expect, test } from 'vitest'
import { explainRequest } from '../../src/cli/explain.ts'
import { refusalsAsText, refusalsNear } from '../../src/cli/explain-refusals.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { episode } from '../usage/usage-log.suite.ts'
import { wrongCall } from './wrong-call.ts'

const NOW = Date.parse('2026-11-20T10:10:00Z')
const MINUTE = 60_000

test('why a user was refused an hour ago is told by the limits that refused it, the nearest first', async () => {
  const store = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => NOW }))
  const then = NOW - 60 * MINUTE
  const of = (window: string, first: number, last: number, user = 'bob') =>
    episode({ user, window, first, last, startedAt: first - MINUTE, count: 37, plan: 'pro', cost: 4 })
  const episodes = [
    of('5h', then - 20 * MINUTE, then - 10 * MINUTE),
    of('1h', then - MINUTE, then + 2 * MINUTE),
    of('1d', then - 90 * MINUTE, then - 40 * MINUTE),
    of('1m', NOW - 10 * MINUTE, NOW),
    of('1h', then, then, 'alice'),
  ]
  await store.addUsage({ instance: 'i', sequence: 1, series: [], episodes })
  const near = await refusalsNear(store, 'bob', then)
  expect(near.map(({ window }) => window)).toEqual(['1h', '5h'])
  expect(
    refusalsAsText('bob', then, near.slice(0, 1)),
  ).toBe(`bob was refused within half an hour of 2026-11-20T09:10:00.000Z:

Personal write 1h: 118 of 120 used (baseline), running since 2026-11-20T09:08:00.000Z, the last one costs 4
  37 times from 2026-11-20T09:09:00.000Z to 2026-11-20T09:12:00.000Z, plan pro
  on POST /v1/x`)
  expect(refusalsAsText('carol', then, await refusalsNear(store, 'carol', then))).toBe(
    'No limit refused carol within half an hour of 2026-11-20T09:10:00.000Z.',
  )
})

test('what was let through in shadow is told beside what was refused', async () => {
  const store = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => NOW }))
  const times = { startedAt: NOW - MINUTE, first: NOW - MINUTE, last: NOW, count: 2 }
  const shadowed = episode({ user: 'bob', id: 'shadowed-of-bob-', window: '1h', ...times, shadow: true })
  const refused = episode({ user: 'bob', id: 'refused-of-bob--', window: '5h', ...times })
  await store.addUsage({ instance: 'i', sequence: 1, series: [], episodes: [shadowed] })
  expect(refusalsAsText('bob', NOW, await refusalsNear(store, 'bob', NOW))).toMatch(
    /^bob was let through in shadow and would have been refused within .*\n\nPersonal write 1h: .*\n {2}2 times from .*, let through in shadow\n/,
  )
  await store.addUsage({ instance: 'i', sequence: 2, series: [], episodes: [refused] })
  const both = await refusalsNear(store, 'bob', NOW)
  expect(both.map(({ window }) => window).sort()).toEqual(['1h', '5h'])
  const text = refusalsAsText('bob', NOW, both)
  expect(text).toMatch(/^bob was refused within /)
  expect(text.match(/let through in shadow/g)).toHaveLength(1)
})

test.each([
  [['--at', '2026-11-20T10:00:00Z'], 'explain --at needs --user'],
  [['--user', 'bob', '--at', 'noon'], '--at takes a time such as 2026-10-10T12:00:00Z'],
  [['--user', 'bob', '--at', '2026-02-30T10:00:00Z'], '--at takes a time such as 2026-10-10T12:00:00Z'],
])('a wrong call says how: %s', async (args, problem) => {
  expect(await wrongCall(explainRequest(args))).toBe(problem)
})
