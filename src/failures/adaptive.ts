import { counted } from '../lib/counted.ts'
import { BUCKET_MS, type Bucket, bucketStart, lastHalfHour, type Tally } from './histogram.ts'

/**
 * The factor of mode `adaptive`. It is computed from the share of failures (status 0 and 5xx) among the forwarded
 * requests of the last 30 minutes. It depends only on the shared histogram and the store's time, so all replicas agree.
 *
 * Counts vary by chance: of 4000 requests with 0.8% failures 32 fail in one half hour, and 24 or 40 in another. Computed
 * from the plain counts, the factor changed up to 1700 times on a simulated day without a cause. So a count that chance
 * explains is replaced by the one that the half hours before predict. A count far beyond chance is taken as it is, and
 * a count in between is taken in part.
 */

export interface AdaptiveOptions {
  /** The factor at a share of `bad` and above, at most 1. Default 0.75. */
  readonly min: number
  /** The factor at a share of `good` and below, at least 1. Default 1.5. */
  readonly max: number
  /**
   * Shares of failures, 0 to 1, rising. At `normal` the factor is 1, and between two of the shares it is linear. Defaults
   * 0.001, 0.01, 0.05.
   */
  readonly good: number
  readonly normal: number
  readonly bad: number
  /** Up to this many requests the factor is 1. From twice as many requests on the share counts in full. Default 100. */
  readonly minRequests: number
}

export const ADAPTIVE: AdaptiveOptions = Object.freeze({
  min: 0.75,
  max: 1.5,
  good: 0.001,
  normal: 0.01,
  bad: 0.05,
  minRequests: 100,
})

export interface Adaptive {
  /** The factor, `min` to `max`, in steps of 0.01. */
  readonly factor: number
  /** The forwarded requests of the last 30 minutes that count, and how many of them failed: whole numbers. */
  readonly requests: number
  readonly failed: number
  /** `failed / requests`, 0 to 1; `null` without a request. */
  readonly share: number | null
  /** The share that makes the factor: `share`, moved to the usual share as far as chance explains the difference; `null` as `share`. */
  readonly settled: number | null
  /** How much the share counts, from 0 (too few requests, the factor is 1) to 1. */
  readonly trust: number
  readonly minRequests: number
  /** The reason, as a sentence. */
  readonly why: string
}

export interface AdaptiveInput {
  readonly buckets: readonly Bucket[]
  /** The store's time, in milliseconds since the epoch. */
  readonly at: number
  /** Default ADAPTIVE. */
  readonly options?: AdaptiveOptions
}

/** The value before the histogram has been read. */
export const UNREAD: Adaptive = Object.freeze({
  factor: 1,
  requests: 0,
  failed: 0,
  share: null,
  settled: null,
  trust: 0,
  minRequests: ADAPTIVE.minRequests,
  why: 'The failures of the last 30 minutes have not been read yet, so the factor is 1.',
})

export function adaptive({ buckets, at, options = ADAPTIVE }: AdaptiveInput): Adaptive {
  const { now, usualRequests, usualShare } = read(buckets, at)
  const counted = {
    requests: Math.round(now.requests),
    failed: Math.round(now.failed),
    minRequests: options.minRequests,
  }
  if (counted.requests === 0) return { ...counted, factor: 1, share: null, settled: null, trust: 0, why: SILENCE }
  const share = now.failed / now.requests
  const requests = settle(now.requests, usualRequests, 1)
  const settled = settle(share, usualShare, now.requests)
  const trust = trustIn(requests, options.minRequests)
  const factor = Math.round((1 + trust * (factorOf(settled, options) - 1)) * 100) / 100
  return { ...counted, factor, share, settled, trust, why: why({ ...now, share, settled, trust, factor }, options) }
}

/** The requests that count, and those of them that failed. */
interface Counts {
  readonly requests: number
  readonly failed: number
}

/** How many half hours make the usual share. A failure that lasts for an hour does not become usual, but one of a whole afternoon does. */
const USUAL = 6

function read(buckets: readonly Bucket[], at: number) {
  const start = bucketStart(at)
  const passed = (at - start) / BUCKET_MS
  const byStart = new Map(buckets.map((bucket) => [bucket.start, countsOf(bucket)]))
  const half = (ago: number): Counts => byStart.get(start - ago * BUCKET_MS) ?? { requests: 0, failed: 0 }
  const shareFrom = (ago: number) => medianShare(Array.from({ length: USUAL }, (_, i) => half(ago + i)))
  const [last, before] = [half(1), half(2)]
  return {
    now: countsOf(lastHalfHour(buckets, at)),
    // These buckets are complete, so within a half hour both figures only move from one value to the next.
    usualRequests: between(before.requests || null, last.requests || null, passed),
    usualShare: between(shareFrom(2), shareFrom(1), passed),
  }
}

function countsOf({ total, status0, status5xx, aside, asideFailed }: Tally): Counts {
  return { requests: total - aside, failed: status0 + status5xx - asideFailed }
}

/** The least share that half of the requests did not exceed; `null` without a request. */
function medianShare(halves: readonly Counts[]): number | null {
  const busy = halves.filter(({ requests }) => requests > 0)
  const shares = busy.map(({ requests, failed }) => ({ requests, share: failed / requests }))
  let rest = busy.reduce((sum, { requests }) => sum + requests, 0) / 2
  for (const { requests, share } of shares.sort((a, b) => a.share - b.share)) {
    rest -= requests
    if (rest <= 0) return share
  }
  return null
}

function between(from: number | null, to: number | null, part: number): number | null {
  if (from === null || to === null) return to ?? from
  return from + part * (to - from)
}

/** Standard deviations: up to `CHANCE` a count is taken for chance, from `CERTAIN` on it counts in full. */
const CHANCE = 3
const CERTAIN = 6

/** `value`, moved to `usual` as far as chance explains their difference. @param times the factor that makes both of them counts */
function settle(value: number, usual: number | null, times: number): number {
  if (usual === null) return value
  const [count, expected] = [times * value, times * usual]
  const deviations = Math.abs(count - expected) / Math.sqrt(Math.max(count, expected, 1))
  const part = Math.min(1, Math.max(0, (deviations - CHANCE) / (CERTAIN - CHANCE)))
  return usual + part * (value - usual)
}

/** How much the share counts, 0 to 1. It grows with the traffic, so that the factor never jumps. */
function trustIn(requests: number, minRequests: number): number {
  return Math.min(1, Math.max(0, requests / minRequests - 1))
}

/** The factor, linear between two points of the curve and flat beyond its ends. */
function factorOf(share: number, { min, max, good, normal, bad }: AdaptiveOptions): number {
  if (share <= good) return max
  if (share <= normal) return max + ((share - good) / (normal - good)) * (1 - max)
  if (share <= bad) return 1 + ((share - normal) / (bad - normal)) * (min - 1)
  return min
}

const SILENCE = 'No request that counts was forwarded in the last 30 minutes, so the factor is 1.'

interface Reasons extends Counts {
  readonly share: number
  readonly settled: number
  readonly trust: number
  readonly factor: number
}

function why({ requests, failed, share, settled, trust, factor }: Reasons, { minRequests }: AdaptiveOptions): string {
  const of = `${Math.round(failed)} of ${counted(Math.round(requests), 'request that counts', 'requests that count')} failed in the last 30 minutes`
  if (trust === 0) return `${of}: too few to judge (about ${minRequests} are needed), so the factor is 1.`
  const usual = percent(settled) === percent(share) ? '' : `, taken as ${percent(settled)} beside the hours before`
  const part = trust < 1 ? `, which counts in part up to ${2 * minRequests} requests` : ''
  return `${of} (${percent(share)}${usual})${part}, so the factor is ${factor}.`
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`
}
