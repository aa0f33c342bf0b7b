import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forecastOf, rateOf, recentTokens } from '../../src/dashboard/logic/forecast.ts'

const AT = Date.parse('2026-11-27T09:40:00Z')
const MINUTE = 60_000
const iso = (ms: number): string => new Date(ms).toISOString()

/** A run that began `age` ago, and lasts for an hour. */
const runOf = (limit: number, used: number, age = 40 * MINUTE) => ({
  limit,
  used,
  startedAt: iso(AT - age),
  resetAt: iso(AT - age + 60 * MINUTE),
})

const leftOf = ({ limit, used }: { readonly limit: number; readonly used: number }) => Math.max(0, limit - used)

const runs = fc
  .record({
    limit: fc.integer({ min: 0, max: 1e9 }),
    used: fc.integer({ min: 0, max: 1e9 }),
    age: fc.integer({ min: 0, max: 59 }),
  })
  .map(({ limit, used, age }) => runOf(limit, used, age * MINUTE))
const rates = fc.double({ min: 0, max: 1e6, noNaN: true })

describe('the forecast of a window', () => {
  test('the forecast of a window is the time at which the rate has used what is left', () => {
    // 100 tokens are left, 10 go in a minute, and the run has 20 minutes.
    expect(forecastOf(runOf(1000, 900), { rate: 10 / MINUTE, at: AT })).toEqual({ kind: 'at', at: AT + 10 * MINUTE })
    expect(forecastOf(runOf(1000, 900), { rate: 5 / MINUTE, at: AT })).toEqual({ kind: 'notBefore' })
    expect(forecastOf(runOf(1000, 900), { rate: 0, at: AT })).toEqual({ kind: 'notBefore' })
  })

  test('the forecast of a window with a soft limit is full once nothing passes beyond the limit either', () => {
    const soft = { ...runOf(1000, 1100), over: 200 }
    expect(forecastOf(soft, { rate: 10 / MINUTE, at: AT })).toEqual({ kind: 'at', at: AT + 10 * MINUTE })
    expect(forecastOf({ ...soft, used: 1200 }, { rate: 1, at: AT })).toEqual({ kind: 'full' })
  })

  test('the forecast of a window is not known without a rate, and none of a window that has not begun', () => {
    expect(forecastOf(runOf(1000, 900), { rate: null, at: AT })).toEqual({ kind: 'unknown' })
    const notBegun = { limit: 10, used: 0, startedAt: null, resetAt: null }
    expect(forecastOf(notBegun, { rate: 1, at: AT })).toEqual({ kind: 'notRunning' })
    expect(forecastOf({ ...notBegun, limit: 0 }, { rate: 1, at: AT })).toEqual({ kind: 'full' })
  })

  test('the forecast of a window takes account of what a shorter window lets pass, in this run and the next ones', () => {
    const day = { ...runOf(60_000, 0), resetAt: iso(AT + 1200 * MINUTE), used: 34_000 }
    // 8000 of 9000 are used, and 20 minutes are left of the hour.
    const hour = runOf(9000, 8000)
    const rate = 1000 / MINUTE
    // 1000 in this hour, 18,000 in the next two, and 7 minutes of the one behind them.
    const expected = AT + (20 + 120 + 7) * MINUTE
    expect(forecastOf(day, { rate, at: AT, shorter: [hour] })).toEqual({ kind: 'at', at: expected })
    const soon = { ...day, resetAt: iso(expected - 1) }
    expect(forecastOf(soon, { rate, at: AT, shorter: [hour] })).toEqual({ kind: 'notBefore' })
    expect(forecastOf(day, { rate, at: AT })).toEqual({ kind: 'at', at: AT + 26 * MINUTE })
    expect(forecastOf(day, { rate, at: AT, shorter: [runOf(0, 0)] })).toEqual({ kind: 'notBefore' })
  })

  test('the forecast of a window is full with less left than the cheapest request costs', () => {
    expect(forecastOf(runOf(1000, 997), { rate: 1, at: AT, least: 4 })).toEqual({ kind: 'full' })
    expect(forecastOf(runOf(1000, 996), { rate: 1, at: AT, least: 4 }).kind).toBe('at')
  })

  test('the forecast of a window says full exactly if no token is left', () => {
    fc.assert(
      fc.property(
        runs,
        rates,
        (run, rate) => (forecastOf(run, { rate, at: AT }).kind === 'full') === (leftOf(run) === 0),
      ),
    )
  }, 60_000)

  test('the forecast of a window lies between now and the end of the run, and the rate has used what is left by then', () => {
    fc.assert(
      fc.property(runs, rates, (run, rate) => {
        const forecast = forecastOf(run, { rate, at: AT })
        if (forecast.kind !== 'at') return
        expect(forecast.at).toBeGreaterThanOrEqual(AT)
        expect(forecast.at).toBeLessThan(Date.parse(run.resetAt))
        expect(Math.abs((forecast.at - AT) * rate - leftOf(run))).toBeLessThanOrEqual(rate + leftOf(run) * 1e-6)
      }),
    )
  }, 60_000)

  test('the forecast of a window is not later if more is used', () => {
    const time = (run: ReturnType<typeof runOf>, rate: number): number => {
      const forecast = forecastOf(run, { rate, at: AT })
      return forecast.kind === 'at' ? forecast.at : forecast.kind === 'full' ? AT : Number.POSITIVE_INFINITY
    }
    fc.assert(fc.property(runs, rates, rates, (run, rate, more) => time(run, rate + more) <= time(run, rate)))
  }, 60_000)
})

describe('the rate of a category', () => {
  test('the rate of a category is that of the latest half hour, once a run is as old as that', () => {
    expect(rateOf([runOf(1000, 900), runOf(50, 5, MINUTE)], 300, AT)).toBe(300 / (30 * MINUTE))
    expect(rateOf([runOf(1000, 900)], null, AT)).toBeNull()
    expect(rateOf([runOf(1000, 900)], -3, AT)).toBe(0)
  })

  test('the rate of a category is before that what the oldest run has used since it began', () => {
    expect(rateOf([runOf(1000, 60, 6 * MINUTE), runOf(1000, 50, 5 * MINUTE)], 9999, AT)).toBe(10 / MINUTE)
    expect(rateOf([runOf(1000, 60, 6 * MINUTE)], null, AT)).toBe(10 / MINUTE)
  })

  test('the rate of a category is not known in the first minute, and without a run', () => {
    expect(rateOf([runOf(1000, 60, MINUTE - 1)], 60, AT)).toBeNull()
    expect(rateOf([{ limit: 10, used: 0, startedAt: null, resetAt: null }], 60, AT)).toBeNull()
    expect(rateOf([], 60, AT)).toBeNull()
  })
})

describe('the tokens of the latest half hour', () => {
  const row = (start: string, tokens: number, category = 'read') => ({
    start,
    end: '',
    tokens,
    running: false,
    category,
  })

  test('the tokens of the latest half hour are those of this half hour, and of the one before the part that is not older', () => {
    const rows = [
      row('2026-11-27T08:30:00.000Z', 1000),
      row('2026-11-27T09:00:00.000Z', 300),
      row('2026-11-27T09:30:00.000Z', 50),
      row('2026-11-27T09:30:00.000Z', 7, 'write'),
    ]
    // At 09:40 two thirds of the half hour from 09:00 are not older than 30 minutes.
    expect(recentTokens({ rows }, 'read', AT)).toBeCloseTo(250)
    expect(recentTokens({ rows }, 'write', AT)).toBe(7)
    expect(recentTokens({ rows }, 'other', AT)).toBe(0)
  })
})
