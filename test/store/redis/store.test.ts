import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe } from 'vitest'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { tokenStoreSuite } from '../../control/store.suite.ts'
import { failureStoreSuite } from '../../failures/store.suite.ts'
import { quotaStoreSuite } from '../../quota/store.suite.ts'
import { sharedRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

describe('the Redis store', () => {
  let redis: Awaited<ReturnType<typeof sharedRedis>>
  beforeAll(async () => {
    redis = await sharedRedis()
  })
  afterAll(() => redis.stop())

  let opened = 0
  async function open() {
    const prefix = `${redis.prefix}-${++opened}`
    const store = openRedisStore({ url: redis.url, prefix, deadlineMs: 2000, observe: () => {} })
    await whenReady(store)
    return { store, close: () => store.close() }
  }
  describe('as a quota store', () => quotaStoreSuite(async () => ({ ...(await open()), pass: (ms) => sleep(ms + 5) })))
  describe('as a failure store', () => failureStoreSuite(open))
  describe('as a token store', () => tokenStoreSuite(open))
})
