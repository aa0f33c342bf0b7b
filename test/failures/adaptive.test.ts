import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ADAPTIVE, type AdaptiveOptions, adaptive } from '../../src/failures/adaptive.ts'
import { BUCKET_MS, type Bucket, bucketStart, NOTHING, plus } from '../../src/failures/histogram.ts'

const START = Date.UTC(2026, 7, 6, 15)
const bucket = (total: number, failed: number, start = START): Bucket => ({
  ...NOTHING,
  start,
  total,
  status5xx: failed,
})
const factor = (buckets: readonly Bucket[], at = START, options: Partial<AdaptiveOptions> = {}): number =>
  adaptive({ buckets, at, options: { ...ADAPTIVE, ...options } }).factor

it.each([
  [1000, 0, 1.5],
  [1000, 1, 1.5],
  [1000, 10, 1],
  [1000, 30, 0.88],
  [1000, 50, 0.75],
  [1000, 1000, 0.75],
])('the adaptive factor of %d requests with %d failures is as the curve says', (total, failed, expected) => {
  expect(factor([bucket(total, failed)], START + BUCKET_MS - 1)).toBe(expected)
})

it('the adaptive factor is 1 while there is too little traffic to judge', () => {
  expect(factor([])).toBe(1)
  expect(factor([bucket(100, 100)])).toBe(1)
})

it('the adaptive factor comes to the curve little by little while the traffic grows to twice the minimum', () => {
  const sound = [100, 102, 125, 150, 175, 199, 200, 201].map((total) => factor([bucket(total, 0)]))
  expect(sound).toEqual([1, 1.01, 1.13, 1.25, 1.38, 1.5, 1.5, 1.5])
  expect(factor([bucket(150, 150)])).toBe(0.88)
})

it('the adaptive factor counts forwarding failures and 5xx alike', () => {
  expect(factor([{ ...NOTHING, start: START, total: 1000, status0: 5, status5xx: 5 }])).toBe(1)
})

it('the adaptive factor leaves out the routes that say nothing of health, with their failures', () => {
  const failing = { ...NOTHING, total: 500, status0: 100, status5xx: 400, status4xx: 0, aside: 500, asideFailed: 500 }
  const both = { start: START, ...plus(bucket(1000, 10), failing) }
  expect(adaptive({ buckets: [both], at: START })).toEqual(adaptive({ buckets: [bucket(1000, 10)], at: START }))
})

it('the adaptive factor lets the half hour before fade out, and older ones not count', () => {
  const before = bucket(1000, 1000, START - BUCKET_MS)
  expect(factor([before])).toBe(0.75)
  expect(factor([before, bucket(1000, 0)], START + BUCKET_MS * 0.9999)).toBe(1.5)
  expect(factor([bucket(1000, 1000, START - 2 * BUCKET_MS)])).toBe(1)
})

it('the adaptive factor takes what chance explains for the share that half of the requests of three hours met', () => {
  const hours = [16, 16, 16, 10, 4, 4, 16].map((failed, i) => bucket(1000, failed, START - (i + 2) * BUCKET_MS))
  expect(factor([...hours, bucket(1000, 13, START - BUCKET_MS)])).toBe(1)
})

it('the adaptive factor takes traffic that chance explains for that of the half hour before', () => {
  const halves = [bucket(200, 200, START - 2 * BUCKET_MS), bucket(180, 180, START - BUCKET_MS)]
  expect(factor(halves)).toBe(0.75)
})

it('the adaptive factor does not take a half hour without traffic for the traffic to be expected', () => {
  const begun = [bucket(200, 0, START - BUCKET_MS), bucket(180, 0)]
  expect(factor(begun, START + 0.9 * BUCKET_MS)).toBe(1.5)
  const interrupted = [bucket(200, 0, START - 2 * BUCKET_MS), bucket(170, 0)]
  expect(factor(interrupted, START + 0.1 * BUCKET_MS)).toBe(1.5)
})

it('the adaptive factor has bounds and thresholds of its own where they were set', () => {
  const options = { min: 0.9, max: 1.2, good: 0, normal: 0.2, bad: 0.4, minRequests: 0 }
  const shares = [0, 10, 20, 30, 40, 100].map((failed) => factor([bucket(100, failed)], START, options))
  expect(shares).toEqual([1.2, 1.1, 1, 0.95, 0.9, 0.9])
  expect(factor([], START, options)).toBe(1)
})

it('the adaptive factor never leaves its bounds, never rises with more failures, and has at most two decimals', () => {
  const history = fc.array(fc.tuple(fc.nat(5000), fc.double({ min: 0, max: 1, noNaN: true })), { maxLength: 10 })
  fc.assert(
    fc.property(history, fc.nat(100_000), fc.nat(), fc.nat(), fc.nat(BUCKET_MS - 1), (before, total, a, b, passed) => {
      const older = before.map(([n, share], i) => bucket(n, Math.round(n * share), START - (i + 1) * BUCKET_MS))
      const [few = 0, many = 0] = [a % (total + 1), b % (total + 1)].sort((x, y) => x - y)
      const best = factor([...older, bucket(total, few)], START + passed)
      const worst = factor([...older, bucket(total, many)], START + passed)
      expect(best).toBeLessThanOrEqual(1.5)
      expect(worst).toBeGreaterThanOrEqual(0.75)
      expect(worst).toBeLessThanOrEqual(best)
      expect(Number(best.toFixed(2))).toBe(best)
    }),
    { numRuns: 2000 },
  )
}, 60_000)

it('what it is drawn from is told in numbers and in a sentence', () => {
  const { why, ...numbers } = adaptive({ buckets: [bucket(1000, 30)], at: START })
  expect(numbers).toEqual({
    ...{ factor: 0.88, requests: 1000, failed: 30, minRequests: 100 },
    ...{ share: 0.03, settled: 0.03, trust: 1 },
  })
  expect(why).toBe('30 of 1000 requests that count failed in the last 30 minutes (3%), so the factor is 0.88.')
})

it('what it is drawn from is told where it is too little', () => {
  const silent = adaptive({ buckets: [], at: START })
  expect(silent).toMatchObject({ requests: 0, failed: 0, share: null })
  expect(silent.why).toBe('No request that counts was forwarded in the last 30 minutes, so the factor is 1.')
  expect(adaptive({ buckets: [bucket(60, 3)], at: START }).why).toBe(
    '3 of 60 requests that count failed in the last 30 minutes: too few to judge (about 100 are needed), so the factor is 1.',
  )
  expect(adaptive({ buckets: [bucket(150, 0)], at: START }).why).toBe(
    '0 of 150 requests that count failed in the last 30 minutes (0%), which counts in part up to 200 requests, so the factor is 1.25.',
  )
  expect([60, 150].map((total) => adaptive({ buckets: [bucket(total, 0)], at: START }).trust)).toEqual([0, 0.5])
})

it('what it is drawn from is told where chance explains it', () => {
  const usual = [1, 2, 3].map((ago) => bucket(1000, 10, START - ago * BUCKET_MS))
  const { why, factor, share, settled } = adaptive({
    buckets: [...usual, bucket(1000, 14)],
    at: START + BUCKET_MS - 1,
  })
  expect(factor).toBe(1)
  expect(share).toBeCloseTo(0.014)
  expect(settled).toBeCloseTo(0.01)
  expect(why).toBe(
    '14 of 1000 requests that count failed in the last 30 minutes (1.4%, taken as 1% beside the hours before), so the factor is 1.',
  )
})

it('what it is drawn from is told as nothing once the last request has faded to less than a half', () => {
  const buckets = [bucket(1, 1, START - BUCKET_MS)]
  const at = (part: number) => adaptive({ buckets, at: START + part * BUCKET_MS })
  expect(at(0.4)).toMatchObject({ requests: 1, failed: 1, share: 1 })
  expect(at(0.6)).toEqual(adaptive({ buckets: [], at: START }))
})

it('what it is drawn from is told to two decimals of a percent, and once where both are the same so', () => {
  const usual = bucket(100_000, 833, START - 2 * BUCKET_MS)
  expect(adaptive({ buckets: [usual, bucket(1200, 10)], at: START }).why).toBe(
    '10 of 1200 requests that count failed in the last 30 minutes (0.83%), so the factor is 1.09.',
  )
})

it('what it is drawn from has whole numbers, also while a half hour fades', () => {
  const { requests, failed } = adaptive({ buckets: [bucket(1000, 7, START - BUCKET_MS)], at: START + BUCKET_MS / 3 })
  expect([requests, failed]).toEqual([667, 5])
})

/** A day in steps of ten seconds, as the gateway takes them, of a store that was there the day before. */
describe('a day of traffic that rises and falls', () => {
  const HOUR = 3600
  const STEP = 10
  const INCIDENT = { from: 14 * HOUR, to: 14 * HOUR + 20 * 60 }

  interface Moment {
    /** Seconds since midnight. */
    readonly time: number
    readonly factor: number
  }

  function day(peak: number, share: number, seed: number): Moment[] {
    const random = createRandom(seed)
    const buckets = new Map<number, Bucket>()
    const moments: Moment[] = []
    for (let time = -24 * HOUR; time < 24 * HOUR; time += STEP) {
      const at = START + time * 1000
      const rate = peak * (0.25 + 0.75 * (0.5 - 0.5 * Math.cos((2 * Math.PI * time) / (24 * HOUR))))
      const isIncident = time >= INCIDENT.from && time < INCIDENT.to
      const total = poisson(rate * STEP, random)
      const failed = Math.min(total, poisson(total * (isIncident ? 0.4 : share), random))
      const start = bucketStart(at)
      buckets.set(start, { start, ...plus(buckets.get(start) ?? NOTHING, bucket(total, failed)) })
      if (time < 0) continue
      const recent = [...buckets.values()].slice(-12)
      moments.push({ time, factor: factor(recent, at + STEP * 1000 - 1) })
    }
    return moments
  }

  /** How often the factor turns from rising to falling or back. */
  function turns(moments: readonly Moment[]): number {
    const moves = moments.slice(1).map(({ factor }, i) => Math.sign(factor - (moments[i]?.factor ?? 0)))
    const directions = moves.filter((move) => move !== 0)
    return directions.filter((move, i) => i > 0 && move !== directions[i - 1]).length
  }

  const within = (moments: readonly Moment[], from: number, to: number) =>
    moments.filter(({ time }) => time >= from && time < to)

  const SITES: [number, number][] = [0.3, 1, 5, 50, 500].flatMap((peak) =>
    [0.0005, 0.003, 0.008, 0.02].map((share): [number, number] => [peak, share]),
  )

  it.each(SITES)(
    'a day of traffic that rises and falls with %d requests a second at most, of which %d fail, does not flap',
    (peak, share) => {
      const moments = day(peak, share, peak * 1000 + share)
      for (const { factor } of moments) {
        expect(factor).toBeGreaterThanOrEqual(0.75)
        expect(factor).toBeLessThanOrEqual(1.5)
      }
      const steady = [...within(moments, 0, INCIDENT.from), ...within(moments, INCIDENT.to + HOUR, 24 * HOUR)]
      // Drawn straight from the counts it was up to 70 an hour.
      expect(turns(steady) / 23).toBeLessThanOrEqual(2.5)
      for (let hour = 0; hour < 23; hour++) {
        expect(turns(within(moments, hour * HOUR, (hour + 1) * HOUR)), `hour ${hour}`).toBeLessThanOrEqual(12)
      }
    },
    60_000,
  )

  it.each([
    [5, 0.003],
    [50, 0.003],
    [500, 0.0005],
  ])(
    'a day of traffic that rises and falls with %d requests a second at most, of which %d fail, falls in an incident and recovers after it',
    (peak, share) => {
      const moments = day(peak, share, 7)
      const before = moments.find(({ time }) => time === INCIDENT.from - STEP)?.factor ?? 0
      const after = within(moments, INCIDENT.to + 40 * 60, INCIDENT.to + 2 * HOUR)
      expect(before).toBeGreaterThan(1.3)
      // Ten minutes of it are 13% of what was forwarded in half an hour.
      expect(within(moments, INCIDENT.from + 10 * 60, INCIDENT.to).every(({ factor }) => factor === 0.75)).toBe(true)
      for (const { factor } of after) expect(Math.abs(factor - before)).toBeLessThanOrEqual(0.1)
      expect(turns(within(moments, INCIDENT.from, INCIDENT.to + HOUR))).toBeLessThanOrEqual(6)
    },
  )

  it('a day of traffic that rises and falls follows a change that stays, and has settled after it', () => {
    const random = createRandom(3)
    const buckets: Bucket[] = []
    for (let half = 0; half < 24; half++) {
      buckets.push(bucket(9000, poisson(9000 * (half < 12 ? 0.002 : 0.03), random), START + half * BUCKET_MS))
    }
    const at = (half: number) => factor(buckets.slice(0, half + 1), START + (half + 1) * BUCKET_MS - 1)
    expect(at(11)).toBeGreaterThan(1.35)
    for (let half = 12; half < 24; half++) expect(Math.abs(at(half) - 0.875)).toBeLessThan(0.05)
  })
})

/** mulberry32: the same numbers for the same seed, 0 to 1. */
function createRandom(seed: number): () => number {
  let state = Math.trunc(seed)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

/** How many of many rare events happen; for large means by the normal distribution. */
function poisson(mean: number, random: () => number): number {
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal))
  }
  let count = 0
  for (let product = random(); product > Math.exp(-mean); product *= random()) count++
  return count
}
