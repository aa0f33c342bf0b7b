import { expect, test } from 'vitest'
import { categoryPath, categoryUsageOf, pathBefore } from '../../src/dashboard/logic/category-usage.ts'
import { rangeOf } from '../../src/dashboard/logic/range.ts'

const NOW = Date.parse('2026-11-20T10:10:00Z')
const rangeIn = (fields: Record<string, string>) => rangeOf({ page: 'users', rest: 'bob', fields })

const row = (category: string, start: string, tokens: number) => ({
  category,
  start,
  end: start,
  tokens,
  running: false,
})

test('what was used is a number of each category for each step, those with the most tokens first, 0 where nothing was used', () => {
  const { categories, points } = categoryUsageOf(
    {
      from: '2026-11-20T07:30:00Z',
      to: '2026-11-20T10:10:00Z',
      step: '1h',
      rows: [
        row('read', '2026-11-20T08:00:00Z', 2),
        row('write', '2026-11-20T08:00:00Z', 5),
        row('write', '2026-11-20T10:00:00Z', 1),
      ],
    },
    NOW,
  )
  expect(categories).toEqual(['write', 'read'])
  expect(points.map(({ values }) => values)).toEqual([
    [0, 0],
    [5, 2],
    [0, 0],
    [1, 0],
  ])
})

test('the least of more than five categories are drawn as one, and what is to come is not drawn', () => {
  const rows = [6, 5, 4, 3, 2, 1].map((tokens) => row(`of ${tokens}`, '2026-11-20T10:00:00Z', tokens))
  const { categories, points } = categoryUsageOf(
    { from: '2026-11-20T10:00:00Z', to: '2026-11-21T00:00:00Z', step: '1h', rows },
    NOW,
  )
  expect(categories).toEqual(['of 6', 'of 5', 'of 4', 'of 3', null])
  expect(points.map(({ values }) => values)).toEqual([[6, 5, 4, 3, 3]])
})

test('days are those of the zone of the API, also on the day on which its clock is set', () => {
  const { points } = categoryUsageOf(
    {
      // Berlin, where the 25th of October has 25 hours.
      from: '2026-10-23T22:00:00Z',
      to: '2026-10-27T23:00:00Z',
      step: '1d',
      rows: [row('read', '2026-10-24T22:00:00Z', 3), row('read', '2026-10-25T23:00:00Z', 4)],
    },
    NOW,
  )
  expect(points.map(({ from }) => from.toISOString())).toEqual([
    '2026-10-23T22:00:00.000Z',
    '2026-10-24T22:00:00.000Z',
    '2026-10-25T23:00:00.000Z',
    '2026-10-26T23:00:00.000Z',
  ])
  expect(points.map(({ values }) => values[0])).toEqual([0, 3, 4, 0])
})

test.each([
  [{ range: '7d' }, '/api/usage?by=user&user=a%26b&step=1d&from=7d&limit=1000'],
  [{ range: '24h' }, '/api/usage?by=user&user=a%26b&step=1h&from=1470m&limit=1000'],
  [{ range: '1h' }, '/api/usage?by=user&user=a%26b&step=30m&from=90m&limit=1000'],
  [
    { from: '2026-11-01', to: '2026-12-01' },
    '/api/usage?by=user&user=a%26b&step=1d&from=2026-11-01&to=2026-12-01&limit=1000',
  ],
])('one user is asked for over %j by the whole id', (fields, path) => {
  expect(categoryPath({ user: 'a&b' }, rangeIn(fields), NOW)).toBe(path)
})

test('days are compared with those of the week before, and hours with those of the day before', () => {
  const point = (from: string, to: string) => ({ from: new Date(from), to: new Date(to), values: [] })
  const days = [
    point('2026-11-08T23:00:00Z', '2026-11-09T23:00:00Z'),
    point('2026-11-09T23:00:00Z', '2026-11-10T23:00:00Z'),
  ]
  expect(pathBefore('/api/usage?by=category&step=1d&from=2026-11-09&to=2026-11-11', days)).toBe(
    '/api/usage?by=category&step=1d&from=2026-11-01T23%3A00%3A00.000Z&to=2026-11-03T23%3A00%3A00.000Z',
  )
  const hours = [point('2026-11-09T10:00:00Z', '2026-11-09T11:00:00Z')]
  expect(pathBefore('/api/usage?by=category&step=1h&from=60m', hours)).toContain('from=2026-11-08T10')
})
