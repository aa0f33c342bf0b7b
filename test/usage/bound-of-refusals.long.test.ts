import { describe, it } from 'vitest'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'
import { boundOfRefusals } from './usage-log.suite.ts'

describe('refusals of a week', { timeout: 120_000 }, () => {
  it('refusals of a week are so many in the embedded store and no more: the oldest go first', async () => {
    const store = closedAtEnd(openSqliteStore({ file: ':memory:' }))
    await boundOfRefusals(store)
  })

  it('refusals of a week are so many in Redis and no more: the oldest go first', async () => {
    const redis = await sharedRedis()
    const store = closedAtEnd(
      openRedisStore({ url: redis.url, prefix: redis.prefix, deadlineMs: 20_000, observe: () => {} }),
    )
    await whenReady(store)
    await boundOfRefusals(store)
  })
})
