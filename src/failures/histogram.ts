/** The history of failures: 7 days in half-hour buckets aligned to UTC, shared by all replicas. */

export const BUCKET_MS = 30 * 60 * 1000
export const BUCKETS = 336

/** Counts of forwarded requests. A request whose client left before the end counts as no failure. */
export interface Tally {
  /** All forwarded requests. */
  readonly total: number
  /** The requests whose forwarding failed (`httpStatus` 0). */
  readonly status0: number
  /** The requests to which the upstream responded with 500 or above. */
  readonly status5xx: number
  /** The requests to which the upstream responded with 400 to 499. */
  readonly status4xx: number
  /** The requests of `total` that the adaptive mode does not hear (`voices.ts`). */
  readonly aside: number
  /** The requests of `aside` that are also in `status0` or `status5xx`. */
  readonly asideFailed: number
}

export interface Bucket extends Tally {
  /** The first millisecond of the bucket, a multiple of BUCKET_MS. */
  readonly start: number
}

/** The buckets that are not empty, oldest first, and the store's time of the reading. */
export interface FailureHistory {
  readonly at: number
  readonly buckets: readonly Bucket[]
}

export interface FailureStore {
  /** Adds to the bucket in which the store's clock was `agoMs` milliseconds ago. Default 0. @throws StoreError */
  addTally(tally: Tally, agoMs?: number): Promise<void>
  /** Reads the last 7 days. @throws StoreError */
  readTallies(): Promise<FailureHistory>
}

export const NOTHING: Tally = Object.freeze({
  total: 0,
  status0: 0,
  status5xx: 0,
  status4xx: 0,
  aside: 0,
  asideFailed: 0,
})

/** The start of the bucket that holds the moment `at`. */
export function bucketStart(at: number): number {
  return Math.floor(at / BUCKET_MS) * BUCKET_MS
}

/** All 336 buckets up to the one that holds `at`, oldest first. Buckets without traffic are zero. */
export function fullHistory(buckets: readonly Bucket[], at: number): Bucket[] {
  const known = new Map(buckets.map((b) => [b.start, b]))
  const last = bucketStart(at)
  return Array.from({ length: BUCKETS }, (_, i) => {
    const start = last - (BUCKETS - 1 - i) * BUCKET_MS
    return known.get(start) ?? { start, ...NOTHING }
  })
}

/**
 * The last 30 minutes: the running bucket, and the part of the one before that still lies within them, so that no figure
 * jumps where a bucket begins. The figures are not whole numbers.
 */
export function lastHalfHour(buckets: readonly Bucket[], at: number): Tally {
  const start = bucketStart(at)
  const before = 1 - (at - start) / BUCKET_MS
  const of = (from: number): Tally => buckets.find((bucket) => bucket.start === from) ?? NOTHING
  return plus(of(start), times(of(start - BUCKET_MS), before))
}

function times({ total, status0, status5xx, status4xx, aside, asideFailed }: Tally, part: number): Tally {
  return {
    total: part * total,
    status0: part * status0,
    status5xx: part * status5xx,
    status4xx: part * status4xx,
    aside: part * aside,
    asideFailed: part * asideFailed,
  }
}

export function plus(a: Tally, b: Tally): Tally {
  return {
    total: a.total + b.total,
    status0: a.status0 + b.status0,
    status5xx: a.status5xx + b.status5xx,
    status4xx: a.status4xx + b.status4xx,
    aside: a.aside + b.aside,
    asideFailed: a.asideFailed + b.asideFailed,
  }
}

/** Adds one tally to another in place. */
export function addTo(sum: { -readonly [K in keyof Tally]: Tally[K] }, more: Tally): void {
  sum.total += more.total
  sum.status0 += more.status0
  sum.status5xx += more.status5xx
  sum.status4xx += more.status4xx
  sum.aside += more.aside
  sum.asideFailed += more.asideFailed
}
