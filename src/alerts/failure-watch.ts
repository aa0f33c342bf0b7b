import { BUCKET_MS, type Bucket, bucketStart } from '../failures/histogram.ts'
import { createCache } from '../lib/second-chance-cache.ts'
import { type FailureAlert, leastOf, type Noticed, placeOf } from './alert.ts'

/** Notices that too many requests of a half hour have failed, from the histogram that each process reads anyway. */
export interface FailureWatch {
  /** @param at the store's time of the reading, in milliseconds since the epoch */
  note(buckets: readonly Bucket[], at: number): void
}

/** So long after its end a half hour is looked at once more: the last requests come in with a delay. In milliseconds. */
const LATE_MS = 60_000

export function createFailureWatch(
  alerts: readonly FailureAlert[],
  raise: (noticed: Noticed, onFull: () => void) => void,
): FailureWatch {
  /** By alert and half hour: the highest threshold that was reached. */
  const seen = createCache<number>(2 * alerts.length)

  function look(alert: FailureAlert, bucket: Bucket, at: number): void {
    const { start, total, status0, status5xx } = bucket
    const failed = status0 + status5xx
    if (total < alert.minRequests) return
    const threshold = alert.at.findLast((share) => failed >= leastOf(share, total))
    const key = `${alert.name} ${start}`
    if (threshold === undefined || threshold <= (seen.get(key, at) ?? 0)) return
    const endsAt = start + BUCKET_MS
    const mark = (reached: number): void => seen.set(key, reached, endsAt + LATE_MS, at)
    mark(threshold)
    const { name, scope } = alert
    raise(
      {
        claim: { place: placeOf(alert, 0, ''), run: start, threshold, endsAt },
        happening: {
          ...{ alert: name, scope, subject: null, category: null, window: null },
          ...{ threshold, used: failed, limit: total, at, startedAt: start, endsAt },
        },
      },
      () => mark(0),
    )
  }

  return {
    note(buckets, at) {
      const start = bucketStart(at)
      // The older one first: the store takes no happening of a half hour before one that it knows.
      const starts = at - start < LATE_MS ? [start - BUCKET_MS, start] : [start]
      for (const alert of alerts) {
        for (const bucket of buckets) if (starts.includes(bucket.start)) look(alert, bucket, at)
      }
    },
  }
}
