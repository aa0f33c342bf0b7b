import { expect, test } from 'vitest'
import type { Place } from '../../src/dashboard/logic/location.ts'
import { monthOf, rangeFields, rangeOf, stepOf, timeQuery } from '../../src/dashboard/logic/range.ts'

const NOW = Date.parse('2026-11-20T10:10:00Z')
const at = (page: Place['page'], fields: Record<string, string> = {}): Place => ({ page, rest: null, fields })

test('a page without a range in its address, or with one that is none, has its own usual one', () => {
  for (const fields of [{}, { range: '8d' }, { range: 'all' }, { from: 'yesterday' }]) {
    expect(rangeOf(at('overview', fields)).name).toBe('24h')
    expect(rangeOf(at('refusals', fields)).name).toBe('7d')
  }
  expect(rangeOf(at('audit'))).toEqual({ name: 'all', from: '', to: null })
})

test('dates go before a name, and of an address the range alone goes along to other pages', () => {
  const fields = { range: '6h', from: '2026-11-01', to: '2026-11-08', order: 'tokens', compare: 'true' }
  expect(rangeOf(at('errors', fields))).toEqual({ name: null, from: '2026-11-01', to: '2026-11-08' })
  expect(rangeFields(fields)).toEqual({ from: '2026-11-01', to: '2026-11-08', compare: 'true' })
  expect(rangeFields({ range: 'windows', order: 'use' })).toEqual({})
})

test.each([
  [{ range: '1h' }, '30m', 'from=60m'],
  [{ range: '7d' }, '1h', 'from=10080m'],
  [{ range: '30d' }, '1d', 'from=30d'],
  [{ from: '2026-11-19T10:00:00Z' }, '30m', 'from=2026-11-19T10:00:00Z'],
  // Half hours are not kept that long.
  [{ from: '2026-11-02', to: '2026-11-03' }, '1d', 'from=2026-11-02&to=2026-11-03'],
])('a chart of %j has a step of %s', (fields, step, query) => {
  const range = rangeOf(at('overview', fields))
  expect(stepOf(range, NOW)).toBe(step)
  expect(timeQuery(range)).toBe(query)
})

test('a month is asked for by its first day and that of the next, also over the end of a year', () => {
  const january = new Date(2026, 0, 31, 12)
  expect(monthOf(january, 0)).toEqual({ from: '2026-01-01', to: '2026-02-01' })
  expect(monthOf(january, 1)).toEqual({ from: '2025-12-01', to: '2026-01-01' })
})

test('a month begins with the billing day, or with the last day of a month that is shorter', () => {
  const january = new Date(2026, 0, 14, 12)
  expect(monthOf(january, 0, 15)).toEqual({ from: '2025-12-15', to: '2026-01-15' })
  expect(monthOf(january, 0, 14)).toEqual({ from: '2026-01-14', to: '2026-02-14' })
  expect(monthOf(new Date(2026, 1, 28, 12), 0, 31)).toEqual({ from: '2026-02-28', to: '2026-03-31' })
  expect(monthOf(new Date(2026, 1, 27, 12), 1, 31)).toEqual({ from: '2025-12-31', to: '2026-01-31' })
})
