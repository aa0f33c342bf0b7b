import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { NO_RETENTION } from '../../../src/quota/history.ts'
import { KEEP_SILENCES_MS } from '../../../src/replicas/presence.ts'
import { createRecords } from '../../../src/store/records.ts'
import { connect } from '../../../src/store/redis/client.ts'
import { redisControl } from '../../../src/store/redis/control.ts'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import { alertStoreSuite } from '../../alerts/alert-store.suite.ts'
import {
  accessKeyChangeSuite,
  accessKeyStoreSuite,
  auditBoundSuite,
  controlStoreSuite,
} from '../../control/control-store.suite.ts'
import { guardStoreSuite } from '../../control/guard-store.suite.ts'
import { handoverStoreSuite } from '../../control/handover-store.suite.ts'
import { keySetStoreSuite } from '../../control/key-set-store.suite.ts'
import { sessionStoreSuite } from '../../control/session-store.suite.ts'
import { stagedOverridesSuite } from '../../control/staged-overrides.suite.ts'
import { failureStoreSuite } from '../../failures/failure-store.suite.ts'
import { knownUserStoreSuite } from '../../quota/known-users.suite.ts'
import { membershipStoreSuite } from '../../quota/memberships.suite.ts'
import { quotaStoreSuite } from '../../quota/quota-store.suite.ts'
import { usageStoreSuite } from '../../quota/usage.suite.ts'
import { replica, replicaStoreSuite } from '../../replicas/replica.suite.ts'
import { atEnd } from '../../setup/at-end.ts'
import { sharedRedis } from '../../setup/redis.ts'
import { usageLogSuite } from '../../usage/usage-log.suite.ts'
import { whenReady } from './ready.ts'

const redis = await sharedRedis()

describe('the Redis store', () => {
  let opened = 0
  async function open(prefix = `${redis.prefix}-${++opened}`) {
    let retention = NO_RETENTION
    const store = openRedisStore({
      url: redis.url,
      prefix,
      deadlineMs: 2000,
      retention: () => retention,
      observe: () => {},
    })
    await whenReady(store)
    const keep = (days: number) => {
      retention = { ...NO_RETENTION, longestSeconds: days * 86_400 }
    }
    return { store, prefix, keep, close: () => store.close() }
  }
  describe('as a quota store', () => quotaStoreSuite(async () => ({ ...(await open()), pass: (ms) => sleep(ms + 5) })))
  describe('as a failure store', () => failureStoreSuite(() => open()))
  describe('as a store of series and refusals', () =>
    usageLogSuite(async () => {
      const opened = await open()
      const series = createKeys(opened.prefix).series('all', 0, null).replace(/0$/, '*')
      const held = () => asking(redis.url, async (client) => (await client.keys(series)).length)
      return { ...opened, heldHalfHours: held }
    }))
  describe('as a token store', () => accessKeyStoreSuite(() => open()))
  describe('as a store of access keys whose user of Redis lacks a right', () =>
    accessKeyChangeSuite(async () => {
      const admin = new Redis(redis.url, { disableClientInfo: true })
      const user = `clerk-${++opened}`
      const allow = async () => void (await admin.acl('SETUSER', user, 'on', '>secret', '~*', '&*', '+@all'))
      await allow()
      const { prefix, close } = await open()
      await close()
      const url = redis.url.replace('redis://', `redis://${user}:secret@`)
      const store = openRedisStore({ url, prefix, deadlineMs: 2000, observe: () => {} })
      await whenReady(store)
      return {
        store,
        refuse: async (what) => void (await admin.acl('SETUSER', user, what === 'record' ? '-hset' : '-zadd')),
        allow,
        close: async () => {
          await store.close()
          await admin.acl('DELUSER', user)
          admin.disconnect()
        },
      }
    }))
  describe('as a usage store', () => usageStoreSuite(() => open()))
  describe('as a store of known users', () =>
    knownUserStoreSuite(async () => ({ ...(await open()), pass: (ms) => sleep(ms + 5) })))
  describe('as a store of plans of users', () =>
    membershipStoreSuite(async () => ({ ...(await open()), pass: (ms) => sleep(ms + 5) })))
  describe('as a store of alerts', () =>
    alertStoreSuite(async () => {
      const one = await open()
      const two = await open(one.prefix)
      return {
        store: one.store,
        other: two.store,
        now: Date.now,
        pass: (ms) => makeEventsOlder(redis.url, one.prefix, ms),
        close: async () => void (await Promise.all([one.close(), two.close()])),
      }
    }))
  describe('as a control store', () => {
    async function openTwo() {
      const one = await open()
      const two = await open(one.prefix)
      return {
        store: one.store,
        other: two.store,
        close: async () => void (await Promise.all([one.close(), two.close()])),
      }
    }
    controlStoreSuite(openTwo)
    stagedOverridesSuite(openTwo)
    auditBoundSuite(async (bounds) => {
      const client = connect({ url: redis.url, deadlineMs: 2000 })
      await client.connect()
      const keys = createKeys(`${redis.prefix}-${++opened}`)
      return {
        store: redisControl(
          client,
          keys,
          createRecords(() => {}),
          bounds,
        ),
        close: async () => client.disconnect(),
      }
    })
  })
  describe('as a store of what guards count', () => guardStoreSuite(() => open()))
  describe('as a store of sessions that were signed out', () => sessionStoreSuite(() => open()))
  describe('as a store of keys to be handed over', () => handoverStoreSuite(() => open()))
  describe('as a store of key sets', () =>
    keySetStoreSuite(async () => {
      const one = await open()
      return { ...one, pass: (ms) => makeKeySetsOlder(redis.url, one.prefix, ms) }
    }))
  describe('as a replica store', () =>
    replicaStoreSuite(async () => {
      const { store, prefix, close } = await open()
      const { beats, replicas } = createKeys(prefix)
      return {
        store,
        close,
        pass: (ms) => makeOlder(redis.url, beats, ms),
        held: () =>
          asking(redis.url, async (client) => Math.max(await client.hlen(beats), await client.hlen(replicas))),
      }
    }))

  it('the Redis store is rid of what processes reported when none of them reports any more', async () => {
    const { store, prefix, close } = await open()
    const { beats, replicas } = createKeys(prefix)
    await store.beat(replica('a'))
    const left = await asking(redis.url, (client) => Promise.all([beats, replicas].map((key) => client.pttl(key))))
    for (const ms of left) {
      expect(ms).toBeGreaterThan(0)
      expect(ms).toBeLessThanOrEqual(KEEP_SILENCES_MS)
    }
    await close()
  })
})

/** The clock of Redis is not ours to move; the moments it has written down are. */
async function makeOlder(url: string, beats: string, ms: number): Promise<void> {
  await asking(url, async (redis) => {
    for (const [instance, at] of Object.entries(await redis.hgetall(beats))) {
      await redis.hset(beats, instance, Number(at) - ms)
    }
  })
}

async function makeKeySetsOlder(url: string, prefix: string, ms: number): Promise<void> {
  await asking(url, async (redis) => {
    for (const key of await redis.keys(`{${prefix}}:key-set:*`)) await redis.pexpire(key, (await redis.pttl(key)) - ms)
  })
}

async function makeEventsOlder(url: string, prefix: string, ms: number): Promise<void> {
  await asking(url, async (redis) => {
    for (const key of await redis.keys(`{${prefix}}:alert:*`)) {
      if ((await redis.type(key)) !== 'zset') continue
      for (const id of await redis.zrange(key, '0', '-1')) await redis.zincrby(key, -ms, id)
    }
  })
}

async function asking<T>(url: string, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url)
  atEnd(() => redis.disconnect())
  return await ask(redis)
}
