import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blameOf, choiceOf, worstSteps } from '../../src/dashboard/logic/blame.ts'
import { failingRoutes } from '../../src/dashboard/logic/failing-routes.ts'
import { halfHourOf } from '../../src/dashboard/logic/half-hour.ts'
import { boundOf, LATENCY_BOUNDS } from '../../src/dashboard/logic/latency.ts'
import { changed } from '../../src/dashboard/logic/location.ts'
import { countedIn, OTHER_ROUTES, type Rule, routeUsages, shareOf } from '../../src/dashboard/logic/route-usage.ts'
import * as series from '../../src/usage/series.ts'

test('what the page knows of the series is what the series are', () => {
  expect(LATENCY_BOUNDS).toEqual(series.LATENCY_BOUNDS)
  expect(OTHER_ROUTES).toBe(series.OTHER_ROUTES)
})

describe('the bound of a share of the requests', () => {
  test('the bound of a share of the requests is that of the bucket in which the share is reached', () => {
    expect(boundOf([95, 5], 0.95)).toEqual({ ms: 25, isAbove: false })
    expect(boundOf([94, 6], 0.95)).toEqual({ ms: 50, isAbove: false })
    expect(boundOf([0, 0, 1], 0.95)).toEqual({ ms: 100, isAbove: false })
  })

  test('the bound of a share of the requests is above the last bound if the share is reached in no other bucket', () => {
    expect(boundOf([1, 0, 0, 0, 0, 0, 0, 0, 1], 0.95)).toEqual({ ms: 10_000, isAbove: true })
  })

  test('the bound of a share of the requests is none of no requests', () => {
    expect(boundOf([], 0.95)).toBeNull()
    expect(boundOf([0, 0, 0], 0.95)).toBeNull()
  })

  test('the bound of a share of the requests is kept by at least the share, and the bound before it is not', () => {
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
  }, 60_000)
})

const rule = (match: string, line: number): Rule => ({
  ...{ match, line, public: false, category: 'read', cost: 4, price: null, health: true, shadow: false, hits: 0 },
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
  const latency = [0, 500]
  const of = (counts: object) => blameOf(countedIn({ ...row, tokens: 0, requests: 1000, latency, ...counts }))

  test('nobody if there is none', () => {
    expect(of({ status4xx: 5, refusedGlobal: 100 })).toMatchObject({ whose: 'nobody', isAlarming: false })
  })

  test('the upstream, the gateway or both, by who has nearly all of them', () => {
    expect(of({ status5xx: 60, status0: 30, gateway5xx: 10 }).whose).toBe('upstream')
    expect(of({ status5xx: 60, status0: 29, gateway5xx: 11 }).whose).toBe('both')
    expect(of({ status0: 11, gateway5xx: 89 }).whose).toBe('both')
    expect(of({ status0: 10, gateway5xx: 90 }).whose).toBe('gateway')
  })

  test('each with its count and share: the upstream of what was forwarded, the gateway of all; red from five percent', () => {
    expect(of({ status5xx: 16, status0: 9, gateway5xx: 20 })).toMatchObject({
      isAlarming: true,
      upstream: { count: 25, whole: 500, share: 0.05 },
      gateway: { count: 20, whole: 1000, share: 0.02 },
    })
    expect(of({ status5xx: 24 }).isAlarming).toBe(false)
    expect(of({ gateway5xx: 50 }).isAlarming).toBe(true)
  })
})

test('the half-hour in which each of both failed most is known, the earlier of two alike', () => {
  const point = (hour: number, values: readonly number[]) => ({ from: new Date(hour), to: new Date(hour + 1), values })
  const points = [point(0, [1, 1, 0]), point(1, [0, 2, 3]), point(2, [0, 1, 4])]
  expect(worstSteps(points)).toEqual({
    upstream: { point: points[0], count: 2 },
    gateway: { point: points[2], count: 4 },
  })
  expect(worstSteps([point(0, [0, 0, 0])])).toEqual({ upstream: null, gateway: null })
})

test('a half-hour is chosen within the range, and a longer step becomes the range', () => {
  const from = new Date('2026-11-20T18:30:00Z')
  const stepOf = (minutes: number) => ({ from, to: new Date(from.getTime() + minutes * 60_000), values: [] })
  const fields = { route: 'GET /a', range: '30d', half: '2026-11-27T20:30:00.000Z' }
  expect(changed(fields, choiceOf(stepOf(30)))).toEqual({ ...fields, half: '2026-11-20T18:30:00.000Z' })
  expect(changed(fields, choiceOf(stepOf(24 * 60)))).toEqual({
    ...{ route: 'GET /a', from: '2026-11-20T18:30:00.000Z', to: '2026-11-21T18:30:00.000Z' },
  })
})

test('failing routes and what failed without a route add up to all failures', () => {
  const all = { ...row, tokens: 0, requests: 270, status5xx: 90, status0: 10, gateway5xx: 53, latency: [200] }
  const rows = [
    { ...row, tokens: 0, route: 'GET /sound', requests: 5, latency: [5] },
    { ...row, tokens: 0, route: 'GET /a', requests: 200, status5xx: 90, status0: 10, gateway5xx: 17, latency: [195] },
  ]
  const failing = failingRoutes(rows, all)
  expect(failing.map(({ route, status5xx, gateway5xx }) => [route, status5xx, gateway5xx])).toEqual([
    ['GET /a', 90, 17],
    [null, 0, 36],
  ])
  // The routes were read a moment later.
  expect(failingRoutes(rows, { ...all, gateway5xx: 16 }).map(({ route }) => route)).toEqual(['GET /a'])
})

test('a half-hour is named by its start; anything else names none', () => {
  expect(halfHourOf('2026-11-27T20:30:00.000Z')?.to.toISOString()).toBe('2026-11-27T21:00:00.000Z')
  for (const text of ['2026-11-27T20:31:00.000Z', 'x', '', undefined]) expect(halfHourOf(text)).toBeNull()
})
