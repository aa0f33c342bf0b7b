import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe } from 'vitest'
import { connect } from '../../../src/store/redis/client.ts'
import { redisControl } from '../../../src/store/redis/control.ts'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { replicaStoreSuite } from '../../control/replicas.suite.ts'
import { auditBoundSuite, controlStoreSuite, tokenStoreSuite } from '../../control/store.suite.ts'
import { failureStoreSuite } from '../../failures/store.suite.ts'
import { quotaStoreSuite } from '../../quota/store.suite.ts'
import { usageStoreSuite } from '../../quota/usage.suite.ts'
import { sharedRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

describe('the Redis store', () => {
  let redis: Awaited<ReturnType<typeof sharedRedis>>
  beforeAll(async () => {
    redis = await sharedRedis()
  })
  afterAll(() => redis.stop())

  let opened = 0
  async function open(prefix = `${redis.prefix}-${++opened}`) {
    const store = openRedisStore({ url: redis.url, prefix, deadlineMs: 2000, observe: () => {} })
    await whenReady(store)
    return { store, prefix, close: () => store.close() }
  }
  describe('as a quota store', () => quotaStoreSuite(async () => ({ ...(await open()), pass: (ms) => sleep(ms + 5) })))
  describe('as a failure store', () => failureStoreSuite(() => open()))
  describe('as a token store', () => tokenStoreSuite(() => open()))
  describe('as a usage store', () => usageStoreSuite(() => open()))
  describe('as a control store', () => {
    controlStoreSuite(async () => {
      const one = await open()
      const two = await open(one.prefix)
      return {
        store: one.store,
        other: two.store,
        close: async () => void (await Promise.all([one.close(), two.close()])),
      }
    })
    auditBoundSuite(async (maxAudit) => {
      const client = connect({ url: redis.url, deadlineMs: 2000 })
      await client.connect()
      const keys = createKeys(`${redis.prefix}-${++opened}`)
      return { store: redisControl(client, keys, maxAudit), close: async () => client.disconnect() }
    })
  })
  describe('as a replica store', () =>
    replicaStoreSuite(async () => {
      const { store, prefix, close } = await open()
      return { store, close, pass: (ms) => makeOlder(redis.url, createKeys(prefix).beats, ms) }
    }))
})

/** The clock of Redis is not ours to move; the moments it has written down are. */
async function makeOlder(url: string, beats: string, ms: number): Promise<void> {
  const redis = new Redis(url)
  for (const [instance, at] of Object.entries(await redis.hgetall(beats))) {
    await redis.hset(beats, instance, Number(at) - ms)
  }
  redis.disconnect()
}
