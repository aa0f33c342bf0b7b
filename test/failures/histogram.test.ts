import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  BUCKET_MS,
  BUCKETS,
  bucketStart,
  fullHistory,
  lastHalfHour,
  NOTHING,
  plus,
} from '../../src/failures/histogram.ts'

const AT = Date.UTC(2026, 7, 6, 15, 29, 59, 999)

it('a bucket is half an hour, aligned to UTC', () => {
  expect(bucketStart(AT)).toBe(Date.UTC(2026, 7, 6, 15))
  expect(bucketStart(AT + 1)).toBe(Date.UTC(2026, 7, 6, 15, 30))
  expect(bucketStart(Date.UTC(2026, 7, 6, 15))).toBe(Date.UTC(2026, 7, 6, 15))
})

it('a bucket holds every moment exactly once', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 45 }), (at) => {
      const start = bucketStart(at)
      expect(start % BUCKET_MS).toBe(0)
      expect(at - start).toBeGreaterThanOrEqual(0)
      expect(at - start).toBeLessThan(BUCKET_MS)
    }),
  )
}, 60_000)

it('the full history is 336 half hours, seven days without a gap, up to the one that holds now', () => {
  const history = fullHistory([], AT)
  expect(history).toHaveLength(336)
  expect(BUCKETS * BUCKET_MS).toBe(7 * 24 * 60 * 60 * 1000)
  expect(history.at(-1)?.start).toBe(Date.UTC(2026, 7, 6, 15))
  expect(history[0]?.start).toBe(Date.UTC(2026, 6, 30, 15, 30))
  history.slice(1).forEach(({ start }, i) => {
    expect(start - (history[i]?.start ?? 0)).toBe(BUCKET_MS)
  })
})

it('the full history is zero where nothing is known, and what is known elsewhere', () => {
  const known = {
    start: Date.UTC(2026, 7, 6, 14, 30),
    total: 9,
    status0: 1,
    status5xx: 2,
    status4xx: 0,
    aside: 3,
    asideFailed: 1,
  }
  const history = fullHistory([known], AT)
  expect(history.at(-2)).toEqual(known)
  expect(history.at(-1)).toEqual({ start: Date.UTC(2026, 7, 6, 15), ...NOTHING })
  expect(history.filter((b) => b.total > 0)).toEqual([known])
})

it('the full history leaves out what is older, and what lies ahead', () => {
  const bucket = (start: number) => ({ start, ...NOTHING, total: 1 })
  const oldest = Date.UTC(2026, 6, 30, 15, 30)
  const history = fullHistory([bucket(oldest - BUCKET_MS), bucket(oldest), bucket(bucketStart(AT) + BUCKET_MS)], AT)
  expect(history.filter((b) => b.total > 0)).toEqual([bucket(oldest)])
})

it('the last half hour takes of the bucket before as much as still lies within it, number by number', () => {
  const start = Date.UTC(2026, 7, 6, 15)
  const now = { start, total: 10, status0: 1, status5xx: 2, status4xx: 0, aside: 4, asideFailed: 1 }
  const before = {
    start: start - BUCKET_MS,
    total: 100,
    status0: 20,
    status5xx: 12,
    status4xx: 0,
    aside: 40,
    asideFailed: 8,
  }
  expect(lastHalfHour([before, now], start + 0.75 * BUCKET_MS)).toEqual({
    total: 35,
    status0: 6,
    status5xx: 5,
    status4xx: 0,
    aside: 14,
    asideFailed: 3,
  })
})

it('two tallies add up number by number', () => {
  const sum = plus(
    { total: 10, status0: 1, status5xx: 2, status4xx: 0, aside: 4, asideFailed: 1 },
    { total: 5, status0: 3, status5xx: 0, status4xx: 0, aside: 2, asideFailed: 2 },
  )
  expect(sum).toEqual({ total: 15, status0: 4, status5xx: 2, status4xx: 0, aside: 6, asideFailed: 3 })
  expect(plus(NOTHING, NOTHING)).toEqual(NOTHING)
})
