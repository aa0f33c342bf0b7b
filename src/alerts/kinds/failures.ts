import { BUCKET_MS, type Bucket, bucketStart } from '../../failures/histogram.ts'
import { type Cache, createCache } from '../../lib/second-chance-cache.ts'
import { type Alert, leastOf } from '../alert.ts'
import type { AlertKind, WatcherTools } from '../alert-kind.ts'

/** How long after its end a half hour is looked at again, in milliseconds, because requests may be counted late. */
const LATE_MS = 60_000

interface FailureAlert extends Alert {
  /** In a half hour with fewer requests nothing is noticed. */
  readonly minRequests: number | null
}

/** Alerts for a share of failures (status 0 and 5xx) among the forwarded requests of a half hour. Their histogram is read anyway. */
export const FAILURES = {
  scopes: {
    failures: {
      watches: 'the share of 5xx and failed forwards among the forwarded requests of a half hour',
      subject: null,
    },
  },
  hasWindow: false,
  keys: {
    minRequests: {
      ...{ min: 1, max: 1_000_000, default: 100 },
      means: 'How many requests must be forwarded in a half hour before the share of failures is judged',
    },
  },
  event: { type: 'failures.threshold', amounts: { requests: 'limit', failed: 'used' }, end: 'endsAt' },
  counts: '`used` is the number of requests that failed, and `limit` the number of all requests',
  watcher({ raise }: Pick<WatcherTools, 'raise'>) {
    let alerts: readonly FailureAlert[] = []
    /** The highest threshold that was reached, by alert and half hour. */
    let seen: Cache<number> = createCache(0)

    function look(alert: FailureAlert, bucket: Bucket, at: number): void {
      const { start, total, status0, status5xx } = bucket
      const failed = status0 + status5xx
      if (total < (alert.minRequests ?? 0)) return
      const threshold = alert.at.findLast((share) => failed >= leastOf(share, total))
      const key = `${alert.name} ${start}`
      if (threshold === undefined || threshold <= (seen.get(key, at) ?? 0)) return
      const endsAt = start + BUCKET_MS
      const mark = (reached: number): void => seen.set(key, reached, endsAt + LATE_MS, at)
      mark(threshold)
      const { name, scope } = alert
      raise(
        {
          claim: { place: `${name}:${scope}`, run: start, threshold, endsAt },
          happening: {
            ...{ alert: name, scope, subject: null, category: null, window: null },
            ...{ threshold, used: failed, limit: total, at, startedAt: start, endsAt },
          },
        },
        () => mark(0),
      )
    }

    return {
      configure(next) {
        alerts = next
        seen = createCache(2 * next.length)
      },
      noteFailures(buckets, at) {
        const start = bucketStart(at)
        // The older half hour comes first: the store takes no happening of a half hour that is older than one it knows.
        const starts = at - start < LATE_MS ? [start - BUCKET_MS, start] : [start]
        for (const alert of alerts) {
          for (const bucket of buckets) if (starts.includes(bucket.start)) look(alert, bucket, at)
        }
      },
    }
  },
} as const satisfies AlertKind<'minRequests'>
