import { BUCKET_MS, BUCKETS, type Bucket, bucketStart } from '../../failures/histogram.ts'
import { milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** The failure histogram, as tally.lua keeps it: start of the bucket -> its counts. */

export async function readBuckets(redis: RedisClient, keys: Keys): Promise<{ at: number; buckets: Bucket[] }> {
  // The time comes last: nothing may have been counted after it.
  const [stored, time] = await reading<[Record<string, string>, [string, string]]>(redis, (commands) => {
    commands.hgetall(keys.failures).time()
  })
  const at = milliseconds(time)
  const oldest = bucketStart(at) - (BUCKETS - 1) * BUCKET_MS
  const buckets = Object.entries(stored)
    .map(([start, counts]) => bucketOf(Number(start), counts))
    .filter((bucket) => bucket.start >= oldest)
    .sort((a, b) => a.start - b.start)
  return { at, buckets }
}

function bucketOf(start: number, counts: string): Bucket {
  const numbers = (counts.match(/\d+/g) ?? []).map(Number)
  const [total = 0, status0 = 0, status5xx = 0, aside = 0, asideFailed = 0] = numbers
  return { start, total, status0, status5xx, aside, asideFailed }
}

export function writeBuckets(multi: ReturnType<RedisClient['multi']>, keys: Keys, buckets: readonly Bucket[]): void {
  for (const { start, total, status0, status5xx, aside, asideFailed } of buckets) {
    multi.hset(keys.failures, String(start), [total, status0, status5xx, aside, asideFailed].join(' '))
  }
  multi.pexpire(keys.failures, (BUCKETS + 1) * BUCKET_MS)
}
