import { BUCKET_MS, type Bucket, bucketStart } from './histogram.ts'

/**
 * The factor of mode `adaptive`, drawn from the share of failures (status 0 and 5xx) among the forwarded requests of the
 * last 30 minutes. It depends on nothing but the shared histogram and the store's time, so all replicas agree.
 */

/** Fewer forwarded requests than this say nothing: the factor is 1. */
const LEAST_TRAFFIC = 100
/** Share of failures and the factor that goes with it; linear between two points, flat beyond the ends. */
const CURVE = [
  { share: 0.001, factor: 1.5 },
  { share: 0.01, factor: 1 },
  { share: 0.05, factor: 0.75 },
] as const

/** @returns 0.75 to 1.5 in steps of 0.01 */
export function adaptiveFactor(buckets: readonly Bucket[], at: number): number {
  const { total, failed } = lastHalfHour(buckets, at)
  if (total < LEAST_TRAFFIC) return 1
  return Math.round(factorOf(failed / total) * 100) / 100
}

/** The running bucket, and of the one before as much as still lies within 30 minutes: no jump where a bucket begins. */
function lastHalfHour(buckets: readonly Bucket[], at: number): { total: number; failed: number } {
  const start = bucketStart(at)
  const share = 1 - (at - start) / BUCKET_MS
  const sum = { total: 0, failed: 0 }
  for (const { start: from, total, status0, status5xx } of buckets) {
    const weight = from === start ? 1 : from === start - BUCKET_MS ? share : 0
    sum.total += weight * total
    sum.failed += weight * (status0 + status5xx)
  }
  return sum
}

function factorOf(share: number): number {
  const [first, ...rest] = CURVE
  let left: { share: number; factor: number } = first
  if (share <= left.share) return left.factor
  for (const right of rest) {
    if (share <= right.share) {
      const part = (share - left.share) / (right.share - left.share)
      return left.factor + part * (right.factor - left.factor)
    }
    left = right
  }
  return left.factor
}
