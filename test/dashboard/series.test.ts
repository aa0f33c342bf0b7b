import { describe, expect, test } from 'vitest'
import { moved, pointsOf, type SeriesPoint, sumsOf, ticksOf, type UsageRow } from '../../src/dashboard/logic/series.ts'

const HALF_HOUR = 1_800_000

const row = (start: string, tokens: number): UsageRow => ({ start, end: '', tokens, running: false })
const tokensOf = ({ tokens }: UsageRow) => [tokens]
const shortOf = (points: readonly SeriesPoint[]) => points.map(({ from, values }) => [from.toISOString(), values[0]])

describe('the points of a chart', () => {
  test('the points of a chart have a 0 for each half hour in which nothing was counted', () => {
    const rows = [row('2026-11-20T10:00:00.000Z', 7)]
    const range = { from: '2026-11-20T09:30:00.000Z', to: '2026-11-20T10:42:00.000Z', step: '30m' } as const
    const points = pointsOf({ ...range, rows }, tokensOf)
    expect(shortOf(points)).toEqual([
      ['2026-11-20T09:30:00.000Z', 0],
      ['2026-11-20T10:00:00.000Z', 7],
      ['2026-11-20T10:30:00.000Z', 0],
    ])
    expect(points[0]?.to).toEqual(points[1]?.from)
  })

  test('the points of a chart begin with the first half hour that begins in the range', () => {
    const range = { from: '2026-11-20T09:31:00.000Z', to: '2026-11-20T10:42:00.000Z', step: '30m' } as const
    expect(shortOf(pointsOf({ ...range, rows: [] }, tokensOf))).toEqual([
      ['2026-11-20T10:00:00.000Z', 0],
      ['2026-11-20T10:30:00.000Z', 0],
    ])
  })

  test('the points of a chart find a step that the range cuts at its beginning', () => {
    const rows = [row('2026-11-20T09:20:00.000Z', 3), row('2026-11-20T10:00:00.000Z', 4)]
    const range = { from: '2026-11-20T09:20:00.000Z', to: '2026-11-20T10:42:00.000Z', step: '1h' } as const
    expect(shortOf(pointsOf({ ...range, rows }, tokensOf))).toEqual([
      ['2026-11-20T09:00:00.000Z', 3],
      ['2026-11-20T10:00:00.000Z', 4],
    ])
  })

  test('the points of a chart are none of a response without steps', () => {
    const range = { from: '2026-11-20T09:30:00.000Z', to: '2026-11-20T10:42:00.000Z', step: 'range' } as const
    expect(pointsOf({ ...range, rows: [row(range.from, 3)] }, tokensOf)).toEqual([])
  })

  test('the points of a chart add up series by series', () => {
    const point = (values: number[]) => ({ from: new Date(0), to: new Date(1), values })
    expect(sumsOf([point([1, 2]), point([10, 0])])).toEqual([11, 2])
    expect(sumsOf([])).toEqual([])
  })
})

describe('the axis of time', () => {
  // Of the zone of the machine, whatever that is.
  const midnight = new Date(2026, 10, 20).getTime()
  const half = (count: number, start = midnight): SeriesPoint[] =>
    Array.from({ length: count }, (_, i) => ({
      from: new Date(start + i * HALF_HOUR),
      to: new Date(start + (i + 1) * HALF_HOUR),
      values: [],
    }))
  const indexes = (points: readonly SeriesPoint[]) => ticksOf(points).map(({ index }) => index)

  test('the axis of time names each step of an hour, each hour of six and every sixth hour of a day', () => {
    expect(indexes(half(3))).toEqual([0, 1, 2])
    expect(indexes(half(13))).toEqual([0, 2, 4, 6, 8, 10, 12])
    expect(indexes(half(49))).toEqual([0, 12, 24, 36, 48])
    expect(ticksOf(half(49)).some(({ isDay }) => isDay)).toBe(false)
  })

  test('the axis of time names the days of a week at their midnights', () => {
    const week = half(336, midnight + 10 * HALF_HOUR)
    expect(indexes(week)).toEqual([38, 86, 134, 182, 230, 278, 326])
    expect(ticksOf(week).every(({ isDay }) => isDay)).toBe(true)
  })

  test('the axis of time names each step that is a day, also one of 23 hours', () => {
    const from = (day: number) => new Date(2026, 10, day)
    const days = [1, 2, 3].map((day) => ({
      from: from(day),
      to: new Date(from(day + 1).getTime() - 3_600_000),
      values: [],
    }))
    expect(ticksOf(days)).toEqual([0, 1, 2].map((index) => ({ index, isDay: true })))
  })

  test('the axis of time is empty where nothing is drawn', () => {
    expect(ticksOf([])).toEqual([])
  })
})

test('a chart is walked by keys, and not over its ends', () => {
  const go = (key: string, from: number) => moved(key, from, { max: 335, page: 48 })
  expect([go('ArrowLeft', 5), go('ArrowRight', 5), go('PageDown', 100), go('PageUp', 100)]).toEqual([4, 6, 52, 148])
  expect([go('ArrowLeft', 0), go('ArrowRight', 335), go('Home', 77), go('End', 77)]).toEqual([0, 335, 0, 335])
  expect(go('x', 5)).toBeNull()
})
