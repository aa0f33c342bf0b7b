import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blameOf } from '../../src/dashboard/logic/blame.ts'
import { boundOf, LATENCY_BOUNDS } from '../../src/dashboard/logic/latency.ts'
import { countedIn, OTHER_ROUTES, type Rule, routeUsages, shareOf } from '../../src/dashboard/logic/route-usage.ts'
import * as series from '../../src/usage/series.ts'

test('what the page knows of the series is what the series are', () => {
  expect(LATENCY_BOUNDS).toEqual(series.LATENCY_BOUNDS)
  expect(OTHER_ROUTES).toBe(series.OTHER_ROUTES)
})

describe('the bound of a share of the requests', () => {
  test('is that of the bucket in which the share is reached', () => {
    expect(boundOf([95, 5], 0.95)).toEqual({ ms: 25, isAbove: false })
    expect(boundOf([94, 6], 0.95)).toEqual({ ms: 50, isAbove: false })
    expect(boundOf([0, 0, 1], 0.95)).toEqual({ ms: 100, isAbove: false })
  })

  test('is above the last bound if the share is reached in no other bucket', () => {
    expect(boundOf([1, 0, 0, 0, 0, 0, 0, 0, 1], 0.95)).toEqual({ ms: 10_000, isAbove: true })
  })

  test('is none of no requests', () => {
    expect(boundOf([], 0.95)).toBeNull()
    expect(boundOf([0, 0, 0], 0.95)).toBeNull()
  })

  test('is kept by at least the share, and the bound before it is not', () => {
    const counts = fc.array(fc.nat(1000), { minLength: 9, maxLength: 9 })
    fc.assert(
      fc.property(counts, fc.double({ min: 0.01, max: 1, noNaN: true }), (buckets, share) => {
        const all = buckets.reduce((sum, count) => sum + count, 0)
        const bound = boundOf(buckets, share)
        if (bound === null) return all === 0
        const index = bound.isAbove ? 8 : (LATENCY_BOUNDS as readonly number[]).indexOf(bound.ms)
        const upTo = (end: number) => buckets.slice(0, end).reduce((sum, count) => sum + count, 0)
        return upTo(index + 1) >= share * all && (index === 0 || upTo(index) < share * all)
      }),
    )
  })
})

const rule = (match: string, line: number): Rule => ({
  ...{ match, line, public: false, category: 'read', cost: 4, costs: null, health: true, shadow: false, hits: 0 },
})
const row = { start: '', end: '', running: false }

test('routes have their counts, those without any too, and behind them those that the configuration has no more', () => {
  const counts = {
    requests: 10,
    refusedPersonal: 1,
    refusedOrganisation: 2,
    refusedGlobal: 3,
    status5xx: 1,
    status0: 2,
  }
  const rows = [
    { ...row, route: 'GET /gone', tokens: 3, requests: 1 },
    { ...row, route: 'GET /a', tokens: 40, ...counts, latency: [0, 4] },
  ]
  const usages = routeUsages([rule('GET /b', 1), rule('GET /a', 2)], rows)
  expect(usages.map(({ match, rule, tokens }) => [match, rule?.line ?? null, tokens])).toEqual([
    ['GET /b', 1, 0],
    ['GET /a', 2, 40],
    ['GET /gone', null, 3],
  ])
  expect(usages[1]).toMatchObject({ requests: 10, refused: 6, status5xx: 1, status0: 2, forwarded: 4 })
  expect(usages[1]?.p95).toEqual({ ms: 50, isAbove: false })
  expect(usages[0]).toMatchObject({ requests: 0, refused: 0, p95: null })
})

test('a share of nothing is none, and none is above the whole', () => {
  expect(shareOf(1, 4)).toBe(0.25)
  expect(shareOf(0, 0)).toBeNull()
  expect(shareOf(3, 2)).toBe(1)
})

describe('a failure is blamed on', () => {
  const of = (counts: object) => blameOf(countedIn({ ...row, tokens: 0, requests: 1000, ...counts }))

  test('nobody if there is none', () => {
    expect(of({ status4xx: 5, refusedGlobal: 100 })).toMatchObject({ whose: 'nobody', failed: 0, isAlarming: false })
  })

  test('the upstream, the gateway or both, by who has nearly all of them', () => {
    expect(of({ status5xx: 60, status0: 30, gateway5xx: 10 })).toMatchObject({ whose: 'upstream', failed: 100 })
    expect(of({ status5xx: 60, status0: 29, gateway5xx: 11 }).whose).toBe('both')
    expect(of({ status0: 11, gateway5xx: 89 }).whose).toBe('both')
    expect(of({ status0: 10, gateway5xx: 90 }).whose).toBe('gateway')
  })

  test('somebody with shares of the failures that make a whole, and alarms from one percent of the requests', () => {
    expect(of({ status5xx: 6, status0: 3, gateway5xx: 1 })).toMatchObject({
      isAlarming: true,
      share: 0.01,
      of: { status5xx: 0.6, status0: 0.3, gateway5xx: 0.1 },
    })
    expect(of({ status5xx: 9 }).isAlarming).toBe(false)
  })
})
