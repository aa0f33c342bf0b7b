import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Counter,
  endsAt,
  isInUse,
  put,
  running,
  takeBack,
  usageOf,
  usageToCharge,
} from '../../src/quota/counter.ts'
import { NOT_RUNNING } from '../../src/quota/window.ts'

const T = Date.UTC(2026, 7, 6)

it('put sets the window of a length, and leaves the others alone', () => {
  const counter: Counter = []
  put(counter, 60, { startedAt: T, used: 4 })
  put(counter, 3600, { startedAt: T + 1000, used: 5 })
  put(counter, 60, { startedAt: T + 60_000, used: 3 })
  expect(counter).toEqual([
    { seconds: 60, startedAt: T + 60_000, used: 3 },
    { seconds: 3600, startedAt: T + 1000, used: 5 },
  ])
})

describe('usageOf', () => {
  const counter: Counter = [{ seconds: 60, startedAt: T, used: 4 }]

  it('usageOf counts a window until the millisecond at which it ends', () => {
    expect(usageOf(counter, { seconds: 60 }, T + 59_999)).toMatchObject({ startedAt: T, used: 4 })
    expect(usageOf(counter, { seconds: 60 }, T + 60_000)).toBe(NOT_RUNNING)
  })

  it('usageOf finds a window by its length alone', () => {
    expect(usageOf(counter, { seconds: 3600 }, T)).toBe(NOT_RUNNING)
  })
})

it('usageToCharge sets a start in the future to now for good, tells of it once, and keeps what was used', () => {
  const counter: Counter = [
    { seconds: 60, startedAt: T + 5000, used: 4 },
    { seconds: 3600, startedAt: T + 5000, used: 4 },
  ]
  const told: number[] = []
  expect(usageToCharge(counter, { seconds: 60 }, T, (ms) => told.push(ms))).toMatchObject({ startedAt: T, used: 4 })
  expect(usageToCharge(counter, { seconds: 60 }, T + 1000, (ms) => told.push(ms))).toMatchObject({
    startedAt: T,
    used: 4,
  })
  expect(told).toEqual([5000])
  // Nobody asked for the other one.
  expect(counter[1]?.startedAt).toBe(T + 5000)
})

it('usageToCharge leaves what runs and what has ended as it is', () => {
  const counter: Counter = [{ seconds: 60, startedAt: T, used: 4 }]
  const told: number[] = []
  expect(usageToCharge(counter, { seconds: 60 }, T, (ms) => told.push(ms))).toBe(counter[0])
  expect(usageToCharge(counter, { seconds: 60 }, T + 60_000, (ms) => told.push(ms))).toBe(NOT_RUNNING)
  expect(usageToCharge(counter, { seconds: 3600 }, T, (ms) => told.push(ms))).toBe(NOT_RUNNING)
  expect([told, counter]).toEqual([[], [{ seconds: 60, startedAt: T, used: 4 }]])
})

it('takeBack takes from the very run that was charged', () => {
  const counter: Counter = [{ seconds: 60, startedAt: T, used: 9 }]
  takeBack(counter, 60, 4, T)
  expect(counter[0]?.used).toBe(5)
})

it('takeBack leaves a later run and other windows alone', () => {
  const counter: Counter = [
    { seconds: 60, startedAt: T + 60_000, used: 9 },
    { seconds: 3600, startedAt: T, used: 9 },
  ]
  takeBack(counter, 60, 4, T)
  expect(counter.map((e) => e.used)).toEqual([9, 9])
})

it('takeBack never goes below zero', () => {
  const counter: Counter = [{ seconds: 60, startedAt: T, used: 3 }]
  takeBack(counter, 60, 4, T)
  expect(counter[0]?.used).toBe(0)
})

describe('counters are in use', () => {
  it('as long as one of their windows runs, one of a calendar to the end of its period', () => {
    const day = { name: 'day', seconds: 115_201, calendar: { unit: 'day', zone: 'UTC' } } as const
    const evening = Date.UTC(2026, 7, 6, 23)
    const counters = new Map([['read', [{ seconds: day.seconds, startedAt: evening, used: 1 }]]])
    const midnight = Date.UTC(2026, 7, 7)
    expect([midnight - 1, midnight].map((now) => isInUse(counters, [day], now))).toEqual([true, false])
    expect(isInUse(new Map([['read', []]]), [day], evening)).toBe(false)
    expect(
      [T + 59_999, T + 60_000].map((now) =>
        isInUse(new Map([['read', [{ seconds: 60, startedAt: T, used: 1 }]]]), [day], now),
      ),
    ).toEqual([true, false])
  })
})

describe('what a store must keep', () => {
  const counter: Counter = [
    { seconds: 1, startedAt: T, used: 1 },
    { seconds: 60, startedAt: T - 1000, used: 1 },
  ]

  it('what a store must keep is every entry that still runs', () => {
    expect(running(counter, T + 999)).toEqual(counter)
    expect(running(counter, T + 1000)).toEqual([counter[1]])
    expect(running(counter, T + 59_000)).toEqual([])
  })

  it('what a store must keep is kept until the last of its windows ends', () => {
    expect(endsAt(counter)).toBe(T + 59_000)
    expect(endsAt([])).toBe(0)
  })

  it('what a store must keep is nothing from the moment that endsAt names, and something before', () => {
    const entry = fc.record({
      seconds: fc.integer({ min: 1, max: 100_000 }),
      startedAt: fc.integer({ min: T, max: T + 10 ** 9 }),
      used: fc.nat(),
    })
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: (e) => e.seconds, minLength: 1 }), (entries) => {
        expect(running(entries, endsAt(entries))).toEqual([])
        expect(running(entries, endsAt(entries) - 1)).not.toEqual([])
      }),
    )
  }, 60_000)
})
