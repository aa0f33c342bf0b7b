import { describe, it } from 'vitest'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { sharedRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'
import { boundOfRefusals } from './usage-log.suite.ts'

describe('refusals of a week', { timeout: 120_000 }, () => {
  it('refusals of a week are so many in the embedded store and no more: the oldest go first', async () => {
    const store = openSqliteStore({ file: ':memory:' })
    try {
      await boundOfRefusals(store)
    } finally {
      await store.close()
    }
  })

  it('refusals of a week are so many in Redis and no more: the oldest go first', async () => {
    const redis = await sharedRedis()
    const store = openRedisStore({ url: redis.url, prefix: redis.prefix, deadlineMs: 20_000, observe: () => {} })
    try {
      await whenReady(store)
      await boundOfRefusals(store)
    } finally {
      await store.close()
      await redis.stop()
    }
  })
})
