import { describe, expect, it } from 'vitest'
import type { Tariff } from '../../src/replay/tariffs.ts'
import { RouteDurations } from '../../src/suggest/durations.ts'
import { percentileOf, roundedUp } from '../../src/suggest/limits.ts'
import { Peaks } from '../../src/suggest/peaks.ts'

it.each([
  [1, 1],
  [7, 7],
  [9.5, 10],
  [54, 54],
  [100, 100],
  [100.5, 110],
  [144, 150],
  [1.1 * 30, 33],
  [12_001, 13_000],
])('a suggested limit of %d tokens is rounded up to %d', (tokens, limit) => expect(roundedUp(tokens)).toBe(limit))

it('a suggested limit covers the percentage of users that was asked for', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1)
  expect([1, 50, 99, 99.5, 100].map((each) => percentileOf(hundred, each))).toEqual([1, 50, 99, 100, 100])
  expect(percentileOf([5], 99)).toBe(5)
})

const HOUR = 3_600_000
const charge = (peaks: Peaks, user: string, at: number, finalCost: number): void => {
  const tariff = { meters: [{ category: 'read', cost: finalCost, finalCost }], payer: { user } } as unknown as Tariff
  peaks.charged({ at } as never, tariff)
}

it('what was used in the busiest run counts runs as the gateway does, from the first charge on, for each user and for all together', () => {
  const peaks = new Peaks()
  charge(peaks, 'alice', 1000, 5)
  charge(peaks, 'alice', 1000 + HOUR - 1, 2)
  charge(peaks, 'alice', 1000 + HOUR, 3)
  charge(peaks, 'bob', 1000 + HOUR, 4)
  expect(peaks.ofUsers('read', 0)).toEqual([4, 7])
  expect(peaks.ofUsers('read', 1)).toEqual([4, 10])
  expect([peaks.ofAll('read', 0), peaks.ofAll('read', 1)]).toEqual([7, 14])
  expect(peaks.ofUsers('write', 0)).toEqual([])
})

describe('the cost of a route', () => {
  const durationsOf = (times: Readonly<Record<string, number>>, count = 20) => {
    const durations = new RouteDurations()
    for (const [route, ms] of Object.entries(times))
      for (let i = 0; i < count; i++) durations.add(route, { at: 1, endedAt: 1 + ms, fate: 'passed' })
    return durations
  }

  it('the cost of a route is how many times as long as all others it takes, 1 to 100', () => {
    const durations = durationsOf({ a: 10, b: 10, c: 31, d: 1, e: 60_000 })
    expect(['a', 'c', 'd', 'e'].map((route) => durations.costOf(route))).toEqual([1, 3, 1, 100])
    expect(durations.medianOf('c')).toBeCloseTo(31, -1)
  })

  it('the cost of a route is 1 if the log does not say how long, or hardly ever', () => {
    expect(durationsOf({ a: 0, b: 0 }).costOf('a')).toBe(1)
    expect(durationsOf({ a: 0, b: 0 }).medianOf('a')).toBeNull()
    const seldom = durationsOf({ a: 10 })
    seldom.add('b', { at: 1, endedAt: 9001, fate: 'passed' })
    expect(seldom.costOf('b')).toBe(1)
    expect(seldom.costOf('unknown')).toBe(1)
  })

  it('the cost of a route looks at no request that the quota refused', () => {
    const durations = durationsOf({ a: 10 })
    for (let i = 0; i < 100; i++) durations.add('a', { at: 1, endedAt: 2, fate: 'refused' })
    expect(durations.medianOf('a')).toBeCloseTo(10, -1)
  })
})
