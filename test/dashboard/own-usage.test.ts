import { afterEach, expect, test, vi } from 'vitest'
import { ownUsageOf, ownUsagePath } from '../../src/dashboard/logic/own-usage.ts'

const row = (category: string, start: string, tokens: number) => ({
  category,
  start,
  end: start,
  tokens,
  running: false,
})

test('what one user used is a sum of all categories for each step, and each category behind it, 0 where nothing was used', () => {
  const { categories, points } = ownUsageOf(
    {
      from: '2026-11-20T07:30:00Z',
      to: '2026-11-20T10:10:00Z',
      step: '1h',
      rows: [
        row('write', '2026-11-20T08:00:00Z', 5),
        row('read', '2026-11-20T08:00:00Z', 2),
        row('write', '2026-11-20T10:00:00Z', 1),
      ],
    },
    '24h',
  )
  expect(categories).toEqual(['read', 'write'])
  expect(points.map(({ values }) => values)).toEqual([
    [0, 0, 0],
    [7, 2, 5],
    [0, 0, 0],
    [1, 0, 1],
  ])
})

afterEach(() => vi.unstubAllEnvs())

test.each([
  ['Asia/Shanghai', ['2026-11-18T16:00:00.000Z', '2026-11-19T16:00:00.000Z'], [3, 4]],
  ['UTC', ['2026-11-19T00:00:00.000Z', '2026-11-20T00:00:00.000Z'], [7, 0]],
])('a point of a week is a day by the clock of the browser (%s)', (zone, starts, tokens) => {
  vi.stubEnv('TZ', zone)
  const { points } = ownUsageOf(
    {
      from: '2026-11-19T08:00:00Z',
      to: '2026-11-20T08:00:00Z',
      step: '1h',
      rows: [row('read', '2026-11-19T15:00:00Z', 3), row('read', '2026-11-19T16:00:00Z', 4)],
    },
    '7d',
  )
  expect(points.map(({ from }) => from.toISOString())).toEqual(starts)
  expect(points.map(({ values }) => values[0])).toEqual(tokens)
  expect(points[0]?.to).toEqual(points[1]?.from)
})

test('a user is asked for by the whole id, in steps of an hour for a day or a week and shorter ones for less', () => {
  expect(ownUsagePath('user', 'a&b', '7d')).toBe('/api/usage?by=user&user=a%26b&step=1h&from=10110m&limit=1000')
  expect(ownUsagePath('organisation', 'arcade', '24h')).toBe(
    '/api/usage?by=organisation&organisation=arcade&step=1h&from=1470m&limit=1000',
  )
  expect(ownUsagePath('user', 'bob', '1h')).toContain('step=30m&from=90m')
})
