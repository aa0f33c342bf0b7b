import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe } from 'vitest'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { quotaStoreSuite } from '../../quota/store.suite.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

describe('the Redis store', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())

  let opened = 0
  quotaStoreSuite(async () => {
    const store = openRedisStore({ url: redis.url, prefix: `suite-${++opened}`, deadlineMs: 2000, observe: () => {} })
    await whenReady(store)
    return { store, pass: (ms) => sleep(ms + 5), close: () => store.close() }
  })
})
