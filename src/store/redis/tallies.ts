import { BUCKET_MS, BUCKETS, type Bucket, type Tally } from '../../failures/histogram.ts'
import { oldestStart } from '../../usage/series.ts'
import type { RecordList, Records } from '../records.ts'
import { lookedUp, milliseconds, reading, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** The failure histogram in the form of tally.lua: start of the bucket -> its counts. */

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
  // TIME is the last command, so that no reading has counts from after its time.
  const [stored, time] = await reading<[Record<string, string>, [string, string]]>(
    redis,
    (commands) => commands.hgetall(keys.failures).time(),
    () => ({ '': UNREADABLE }),
  )
  const at = milliseconds(time)
  const oldest = oldestStart(at)
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
  const [total = 0, status0 = 0, status5xx = 0, aside = 0, asideFailed = 0, status4xx = 0] = numbers
  return { start: Number(start), total, status0, status5xx, status4xx, aside, asideFailed }
}

/** In the order in which the store keeps them. */
export function countsOf({ total, status0, status5xx, aside, asideFailed, status4xx }: Tally): number[] {
  return [total, status0, status5xx, aside, asideFailed, status4xx]
}

export function writeBuckets(multi: ReturnType<RedisClient['multi']>, keys: Keys, buckets: readonly Bucket[]): void {
  for (const bucket of buckets) multi.hset(keys.failures, String(bucket.start), countsOf(bucket).join(' '))
  multi.pexpire(keys.failures, (BUCKETS + 1) * BUCKET_MS)
}
