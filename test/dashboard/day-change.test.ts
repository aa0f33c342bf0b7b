import { expect, test } from 'vitest'
import { figuresOf } from '../../src/dashboard/logic/day-change.ts'

const HALF_HOUR = 1_800_000
const TO = Date.parse('2026-11-30T10:15:00Z')
const iso = (at: number) => new Date(at).toISOString()
const rowAt = (start: string, tokens: number, requests = 0) => ({
  ...{
    start,
    end: iso(Date.parse(start) + HALF_HOUR),
    tokens,
    requests,
    running: false,
    refusedPersonal: 1,
    status0: 2,
  },
})
const of = (rows: readonly ReturnType<typeof rowAt>[]) =>
  figuresOf({ from: iso(TO - 48 * 2 * HALF_HOUR), to: iso(TO), step: '30m', rows: [...rows] })

test('a figure has the sum of 24 hours, by hour, and its change against the same hours of the day before', () => {
  const rows = [
    rowAt('2026-11-30T10:00:00Z', 60, 6),
    rowAt('2026-11-30T08:30:00Z', 40, 4),
    rowAt('2026-11-29T09:00:00Z', 50, 20),
  ]
  const [requests, refused, tokens, failed] = of(rows)
  expect([requests?.sum, requests?.change]).toEqual([10, -0.5])
  expect([tokens?.sum, tokens?.change]).toEqual([100, 1])
  expect([refused?.sum, failed?.sum]).toEqual([2, 4])
  expect(tokens?.hours.length).toBe(24)
  expect(tokens?.hours.slice(-3)).toEqual([0, 40, 60])
})

test('the half hour that runs still is compared with as much of the one a day before', () => {
  // Half of it is over.
  const [, , tokens] = of([rowAt('2026-11-30T10:00:00Z', 30), rowAt('2026-11-29T10:00:00Z', 60)])
  expect(tokens?.change).toBe(0)
})

test('a day after one in which nothing happened has no change', () => {
  expect(of([rowAt('2026-11-30T10:00:00Z', 30)]).map(({ change }) => change)).toEqual([null, null, null, null])
})
