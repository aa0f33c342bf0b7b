import { expect, test } from 'vitest'
import { failureRate } from '../../src/failures/failure-rate.ts'
import { BUCKET_MS, bucketStart, NOTHING } from '../../src/failures/histogram.ts'

const AT = Date.UTC(2026, 6, 21, 5, 47)
const LAST = bucketStart(AT)

test('the failure rate for everybody has all half hours of seven days, oldest first, up to the one that is counted', () => {
  const rate = failureRate({ at: AT, buckets: [] })
  expect(rate).toMatchObject({
    scope: 'global',
    days: 7,
    bucketMinutes: 30,
    since: '2026-07-14T06:00:00.000Z',
    until: '2026-07-21T05:30:00.000Z',
  })
  expect(rate.series).toHaveLength(336)
  expect(rate.series.map(({ bucketUnix }) => bucketUnix * 1000)).toEqual(
    Array.from({ length: 336 }, (_, i) => LAST - (335 - i) * BUCKET_MS),
  )
  expect(rate.series.every(({ ts, bucketUnix }) => Date.parse(ts) === bucketUnix * 1000)).toBe(true)
})

test('the failure rate for everybody counts failed forwarding and 5xx as errors of the server, 4xx as those of clients, and shares to four digits', () => {
  const buckets = [
    { ...NOTHING, start: LAST - BUCKET_MS, total: 12, status0: 1, status5xx: 1, status4xx: 3 },
    { ...NOTHING, start: LAST, total: 3 },
  ]
  const { series, summary } = failureRate({ at: AT, buckets })
  expect(series.at(-2)).toEqual({
    ts: '2026-07-21T05:00:00.000Z',
    bucketUnix: Date.UTC(2026, 6, 21, 5) / 1000,
    calls: 12,
    codeZero: 7,
    businessFail: 0,
    serverError: 2,
    clientError: 3,
    successRate: 0.5833,
    failureRate: 0.1667,
  })
  expect(summary).toMatchObject({
    calls: 15,
    codeZero: 10,
    serverError: 2,
    clientError: 3,
    successRate: 0.6667,
    failureRate: 0.1333,
  })
})

test('the failure rate for everybody says no share of no call', () => {
  const { summary, definitions } = failureRate({ at: AT, buckets: [] })
  expect(summary).toMatchObject({ calls: 0, successRate: 0, failureRate: 0 })
  const { calls, ...defined } = summary
  expect(Object.keys(definitions)).toEqual(Object.keys(defined))
})
