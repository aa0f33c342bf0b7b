import { BUCKET_MS, BUCKETS, type Bucket, bucketStart } from '../../failures/histogram.ts'
import type { RecordList, Records } from '../records.ts'
import { lookedUp, milliseconds, reading, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** The failure histogram, as tally.lua keeps it: start of the bucket -> its counts. */

export function failureRecords(redis: RedisClient, keys: Keys, records: Records): RecordList<string, Bucket> {
  return records.list({
    kind: 'failures',
    list: keys.failures,
    parse: bucketOf,
    look: (start) => lookedUp(() => redis.hget(keys.failures, start)),
  })
}

export async function readBuckets(
  redis: RedisClient,
  keys: Keys,
  records: RecordList<string, Bucket>,
): Promise<{ at: number; buckets: Bucket[] }> {
  // The time comes last: nothing may have been counted after it.
  const [stored, time] = await reading<[Record<string, string>, [string, string]]>(
    redis,
    (commands) => commands.hgetall(keys.failures).time(),
    () => ({ '': UNREADABLE }),
  )
  const at = milliseconds(time)
  const oldest = bucketStart(at) - (BUCKETS - 1) * BUCKET_MS
  const buckets = records
    .readAll(Object.entries(stored))
    .filter((bucket) => bucket.start >= oldest)
    .sort((a, b) => a.start - b.start)
  return { at, buckets }
}

function bucketOf(counts: string, start: string): Bucket | null {
  if (!/^\d{1,15}$/.test(start) || !/^\d+( \d+)*$/.test(counts)) return null
  const numbers = counts.split(' ').map(Number)
  if (!numbers.every(Number.isSafeInteger)) return null
  const [total = 0, status0 = 0, status5xx = 0, aside = 0, asideFailed = 0] = numbers
  return { start: Number(start), total, status0, status5xx, aside, asideFailed }
}

export function writeBuckets(multi: ReturnType<RedisClient['multi']>, keys: Keys, buckets: readonly Bucket[]): void {
  for (const { start, total, status0, status5xx, aside, asideFailed } of buckets) {
    multi.hset(keys.failures, String(start), [total, status0, status5xx, aside, asideFailed].join(' '))
  }
  multi.pexpire(keys.failures, (BUCKETS + 1) * BUCKET_MS)
}
