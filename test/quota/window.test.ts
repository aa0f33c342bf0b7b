import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beginOf, lacksRoom, NOT_RUNNING, resetAt, usageAt } from '../../src/quota/window.ts'

const START = Date.UTC(2026, 7, 6, 15, 6, 26)
const HOUR = 3600

describe('a window', () => {
  const usage = { startedAt: START, used: 7 }

  it('a window ends its length after it started', () => {
    expect(resetAt(usage, { seconds: HOUR })).toBe(Date.UTC(2026, 7, 6, 16, 6, 26))
  })

  it('a window runs to the last millisecond before its end and is over at its end', () => {
    expect(usageAt(usage, { seconds: HOUR }, START)).toBe(usage)
    expect(usageAt(usage, { seconds: HOUR }, START + 3_599_999)).toBe(usage)
    expect(usageAt(usage, { seconds: HOUR }, START + 3_600_000)).toBe(NOT_RUNNING)
  })

  it('a window whose start lies in the future counts as started now, with what was used in it', () => {
    expect(usageAt(usage, { seconds: HOUR }, START - 1)).toEqual({ startedAt: START - 1, used: 7 })
    expect(usageAt(usage, { seconds: HOUR }, START - 30 * 86_400_000)).toEqual({
      startedAt: START - 30 * 86_400_000,
      used: 7,
    })
  })

  it('a window has never more than its length left, wherever the clock is', () => {
    const moment = fc.integer({ min: 1, max: 2 ** 45 })
    fc.assert(
      fc.property(moment, fc.integer({ min: 1, max: 31_536_000 }), moment, (startedAt, seconds, now) => {
        const counted = usageAt({ startedAt, used: 1 }, { seconds }, now)
        if (counted === NOT_RUNNING) return
        const left = resetAt(counted, { seconds }) - now
        expect(left).toBeGreaterThan(0)
        expect(left).toBeLessThanOrEqual(seconds * 1000)
      }),
    )
  }, 60_000)

  it('a window that never started is not running, however long it is', () => {
    expect(usageAt({ startedAt: 0, used: 0 }, { seconds: 2 ** 32 - 1 }, 1)).toBe(NOT_RUNNING)
  })

  it('a window runs at a moment exactly when that moment lies before its end', () => {
    const moment = fc.integer({ min: 1, max: 2 ** 45 })
    fc.assert(
      fc.property(
        moment,
        fc.integer({ min: 1, max: 31_536_000 }),
        fc.integer({ min: -2000, max: 2000 }),
        (startedAt, seconds, off) => {
          const now = startedAt + seconds * 1000 + off
          const running = usageAt({ startedAt, used: 1 }, { seconds }, now) !== NOT_RUNNING
          expect(running).toBe(off < 0)
        },
      ),
    )
  }, 60_000)
})

describe('a calendar window', () => {
  /** In the night to 25 October 2026 the clocks of Berlin are set back. */
  const day = { seconds: 115_201, calendar: { unit: 'day', zone: 'Europe/Berlin' } } as const
  const midnight = Date.UTC(2026, 9, 24, 22)
  const next = Date.UTC(2026, 9, 25, 23)

  it('a calendar window runs from midnight to midnight, whenever it was charged first', () => {
    for (const startedAt of [midnight, midnight + 1, next - 1]) {
      const usage = { startedAt, used: 7 }
      expect([beginOf(day, startedAt), resetAt(usage, day)]).toEqual([midnight, next])
      expect(usageAt(usage, day, next - 1)).toBe(usage)
      expect(usageAt(usage, day, next)).toBe(NOT_RUNNING)
    }
  })

  it('a calendar window whose start lies in the future counts as started now, on whatever day', () => {
    const usage = { startedAt: next + 1, used: 7 }
    expect(usageAt(usage, day, next)).toEqual({ startedAt: next, used: 7 })
    expect(usageAt(usage, day, next - 1)).toEqual({ startedAt: next - 1, used: 7 })
  })

  it('a calendar window that never started is not running', () => {
    expect(usageAt({ startedAt: 0, used: 0 }, day, 1)).toBe(NOT_RUNNING)
  })
})

describe('a window lacks room', () => {
  it('once the cheapest request of its category no longer fits under the limit', () => {
    expect([7, 8].map((used) => lacksRoom({ used, limit: 10 }, 3))).toEqual([false, true])
    expect(lacksRoom({ used: 0, limit: 0 }, 1)).toBe(true)
  })

  it('a window lacks room never if the quota refuses nothing of the category', () => {
    expect(lacksRoom({ used: 10, limit: 10 }, undefined)).toBe(false)
  })
})
