import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adaptiveFactor } from '../../src/failures/adaptive.ts'
import { BUCKET_MS } from '../../src/failures/histogram.ts'

const START = Date.UTC(2026, 7, 6, 15)
const bucket = (total: number, failed: number, start = START) => ({ start, total, status0: 0, status5xx: failed })

describe('the adaptive factor', () => {
  it.each([
    [1000, 0, 1.5],
    [1000, 1, 1.5],
    [1000, 10, 1],
    [1000, 30, 0.88],
    [1000, 50, 0.75],
    [1000, 1000, 0.75],
  ])('of %d requests with %d failures is as the curve says', (total, failed, factor) => {
    expect(adaptiveFactor([bucket(total, failed)], START + BUCKET_MS - 1)).toBe(factor)
  })

  it('is 1 while there is too little traffic to judge', () => {
    expect(adaptiveFactor([], START)).toBe(1)
    expect(adaptiveFactor([bucket(99, 99)], START)).toBe(1)
  })

  it('counts forwarding failures and 5xx alike', () => {
    const failures = { start: START, total: 1000, status0: 5, status5xx: 5 }
    expect(adaptiveFactor([failures], START)).toBe(1)
  })

  it('lets the half hour before fade out, and older ones not count', () => {
    const before = bucket(1000, 1000, START - BUCKET_MS)
    expect(adaptiveFactor([before], START)).toBe(0.75)
    expect(adaptiveFactor([before, bucket(1000, 0)], START + BUCKET_MS * 0.9999)).toBe(1.5)
    expect(adaptiveFactor([bucket(1000, 1000, START - 2 * BUCKET_MS)], START)).toBe(1)
  })

  it('never leaves its bounds and never rises with more failures', () => {
    const counts = fc.integer({ min: 100, max: 100_000 })
    fc.assert(
      fc.property(counts, fc.nat(), fc.nat(), fc.nat(BUCKET_MS - 1), (total, a, b, passed) => {
        const [few = 0, many = 0] = [a % (total + 1), b % (total + 1)].sort((x, y) => x - y)
        const best = adaptiveFactor([bucket(total, few)], START + passed)
        const worst = adaptiveFactor([bucket(total, many)], START + passed)
        expect(best).toBeLessThanOrEqual(1.5)
        expect(worst).toBeGreaterThanOrEqual(0.75)
        expect(worst).toBeLessThanOrEqual(best)
      }),
    )
  })
})
