import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { beforeEach, expect, it } from 'vitest'
import { BUCKET_MS, BUCKETS, bucketStart, NOTHING } from '../../../src/failures/histogram.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import { atEnd } from '../../setup/at-end.ts'
import { startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

/** The script as it is shipped, but for its clock, which the test moves by half hours. */
const SHIPPED = readFileSync(new URL('../../../src/store/redis/tally.lua', import.meta.url), 'utf8')
const CLOCKED = SHIPPED.replace("redis.call('TIME')", '{ ARGV[10], 999999 }')
const START = Date.UTC(2026, 7, 6)

const server = await startRedis()
const redis = new Redis(server.url)
atEnd(() => redis.disconnect())
beforeEach(async () => {
  await redis.flushall()
})

const add = (at: number, total = 1, agoMs = 0): Promise<unknown> =>
  redis.eval(CLOCKED, 1, 'failures', total, 0, 0, 0, 0, 0, BUCKET_MS, BUCKETS, agoMs, Math.floor(at / 1000))

it('a tally counts to the end of a half hour and from its start', async () => {
  expect(CLOCKED).not.toBe(SHIPPED)
  await add(START)
  await add(START + BUCKET_MS - 1000)
  await add(START + BUCKET_MS)
  expect(await redis.hgetall('failures')).toEqual({ [START]: '2 0 0 0 0 0', [START + BUCKET_MS]: '1 0 0 0 0 0' })
})

it('a tally keeps 336 half hours and no more', async () => {
  for (let i = 0; i < BUCKETS + 5; i++) await add(START + i * BUCKET_MS)
  const starts = (await redis.hkeys('failures')).map(Number).sort((a, b) => a - b)
  expect(starts).toEqual(Array.from({ length: BUCKETS }, (_, i) => START + (i + 5) * BUCKET_MS))
  const left = await redis.pttl('failures')
  expect(left).toBeGreaterThan(BUCKETS * BUCKET_MS)
  expect(left).toBeLessThanOrEqual((BUCKETS + 1) * BUCKET_MS)
})

it('a tally counts what comes late in its own half hour, and forgets by the time of now', async () => {
  await add(START)
  await add(START + 2 * BUCKET_MS + 5000, 3, 5000)
  await add(START + 2 * BUCKET_MS + 5000, 4, 5001)
  await add(START + BUCKETS * BUCKET_MS, 5, BUCKET_MS)
  expect(await redis.hgetall('failures')).toEqual({
    [START + BUCKET_MS]: '4 0 0 0 0 0',
    [START + 2 * BUCKET_MS]: '3 0 0 0 0 0',
    [START + (BUCKETS - 1) * BUCKET_MS]: '5 0 0 0 0 0',
  })
})

it('a tally begins anew if a bucket holds what is not ours', async () => {
  await redis.hset('failures', String(START), 'nonsense')
  await add(START, 3)
  expect(await redis.hget('failures', String(START))).toBe('3 0 0 0 0 0')
})

it('a tally forgets what is no half hour with the half hours that are too old', async () => {
  await redis.hset('failures', 'odd', '1 0 0 0 0 0')
  await add(START)
  expect(await redis.hkeys('failures')).toEqual([String(START)])
  expect(await redis.pttl('failures')).toBeGreaterThan(0)
})

it('a tally goes on with a bucket of more numbers, as a later version may write it', async () => {
  await redis.hset('failures', String(START), '7 2 1 0 0 3 9')
  await add(START, 5)
  expect(await redis.hget('failures', String(START))).toBe('12 2 1 0 0 3')
})

it.each([
  ['three', '7 2 1', '12 3 2 3 2 4'],
  ['five', '7 2 1 1 1', '12 3 2 4 3 4'],
])('a tally goes on with a bucket of %s numbers, as an earlier version wrote it', async (_count, before, after) => {
  await redis.hset('failures', String(START), before)
  await redis.eval(CLOCKED, 1, 'failures', 5, 1, 1, 3, 2, 4, BUCKET_MS, BUCKETS, 0, START / 1000)
  expect(await redis.hget('failures', String(START))).toBe(after)
})

it('a tally is read as far as it is kept: 336 half hours, that of now among them', async () => {
  const store = openRedisStore({ url: server.url, deadlineMs: 2000, observe: () => {} })
  await whenReady(store)
  // The last one is still to come, should a half hour end meanwhile.
  const last = bucketStart(Date.now()) + BUCKET_MS
  const older = Array.from({ length: BUCKETS + 5 }, (_, i) => [String(last - i * BUCKET_MS), '1 0 0 0 0 0'])
  await redis.hset('{tollgate}:failures', Object.fromEntries(older))
  const { at, buckets } = await store.readTallies()
  expect(buckets[0]?.start).toBe(bucketStart(at) - (BUCKETS - 1) * BUCKET_MS)
  await store.close()
})

it('a tally reads what is missing in a bucket as nothing, and leaves out one that is no numbers', async () => {
  const store = openRedisStore({ url: server.url, deadlineMs: 2000, observe: () => {} })
  await whenReady(store)
  const now = bucketStart(Date.now())
  await redis.hset('{tollgate}:failures', { [now - BUCKET_MS]: '7 2 1', [now]: 'nonsense', odd: '1 0 0 0 0 0' })
  expect((await store.readTallies()).buckets).toEqual([
    { ...NOTHING, start: now - BUCKET_MS, total: 7, status0: 2, status5xx: 1 },
  ])
  await store.close()
})
