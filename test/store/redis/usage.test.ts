import { beforeEach, expect, it } from 'vitest'
import type { Used } from '../../../src/quota/quota-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { limits } from '../../quota/quota-store.suite.ts'
import { OwnRedis } from './own-redis.ts'
import { whenReady } from './ready.ts'

const own = new OwnRedis()
beforeEach(async () => {
  await own.redis.flushall()
})

async function open(prefix = 'tollgate'): Promise<Store> {
  const store = own.open({ prefix })
  await whenReady(store)
  return store
}
async function charge(store: Store, user: string): Promise<void> {
  const charges = [{ user, organisation: null, category: 'read', cost: 1, limits: limits([10, 10], [100, 100]) }]
  await store.settle({ instance: `usage-${user}`, sequence: 1, refunds: [], charges })
}
async function scan(store: Store): Promise<{ steps: number; users: Used[] }> {
  const users: Used[] = []
  let cursor: string | null = null
  for (let steps = 1; ; steps++) {
    const step: Awaited<ReturnType<Store['scanUsers']>> = await store.scanUsers(cursor)
    users.push(...step.owners)
    cursor = step.next
    if (cursor === null) return { steps, users }
  }
}

it('a hundred thousand users are looked through without holding Redis for long', async () => {
  const store = await open()
  await charge(store, 'first')
  const value = await own.redis.getBuffer('{tollgate}:c:first')
  const multi = own.redis.pipeline()
  for (let i = 0; i < 100_000; i++) multi.set(`{tollgate}:c:user-${i}`, value ?? '')
  await multi.exec()
  await own.redis.config('SET', 'slowlog-max-len', '10000')
  await own.redis.config('SET', 'slowlog-log-slower-than', '0')
  const { steps, users } = await scan(store)
  await own.redis.config('SET', 'slowlog-log-slower-than', '-1')
  const micros = ((await own.redis.call('SLOWLOG', 'GET', '-1')) as [number, number, number][]).map(
    ([, , taken]) => taken,
  )
  // By the clock on the wall, so that a machine which is busy with other things may stretch a few of them.
  micros.sort((a, b) => a - b)
  console.info(`steps: ${steps}, microseconds of a command: ${micros[micros.length >> 1]}, longest ${micros.at(-1)}`)
  expect(micros[Math.floor(micros.length * 0.9)]).toBeLessThan(20_000)
  expect(new Set(users.map(({ id }) => id)).size).toBe(100_001)
  expect(steps).toBeGreaterThanOrEqual(50)
})

it('what lies under our keys and is no counter is nobody, and what lies beside them is not looked at', async () => {
  const store = await open()
  for (const user of ['alice', 'bob']) await charge(store, user)
  await own.redis.rpush('{tollgate}:c:list', 'x')
  await own.redis.set('{tollgate}:c:text', 'what somebody else keeps here')
  await own.redis.set('{tollgate}:c:empty', '')
  await own.redis.set('{tollgate}:c:zeros', Buffer.alloc(48))
  await own.redis.set('{tollgate}:c:', (await own.redis.getBuffer('{tollgate}:c:alice')) ?? '')
  await own.redis.copy('{tollgate}:c:alice', 'x{tollgate}:c:carol')
  await own.redis.copy('{tollgate}:c:alice', '{tollgate}:C:dave')
  expect((await scan(store)).users.map(({ id }) => id).sort()).toEqual(['alice', 'bob'])
})

it('a prefix that reads like a pattern finds its own users only', async () => {
  for (const prefix of ['a*', 'a?', 'a[x-z]', 'a\\*', 'a\\b', 'a*b']) {
    const [own, likeIt] = [await open(prefix), await open('axb')]
    await charge(own, 'mine')
    await charge(likeIt, 'theirs')
    expect(
      (await scan(own)).users.map(({ id }) => id),
      prefix,
    ).toEqual(['mine'])
  }
})

it.each(['abc', '-1', ''])('a scan begins anew for a cursor that is none of its own: %j', async (cursor) => {
  const store = await open()
  await charge(store, 'alice')
  expect((await store.scanUsers(cursor)).owners.map(({ id }) => id)).toEqual(['alice'])
})
