import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Charge, Decision } from '../../../src/quota/charge.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

const WINDOWS = [
  { name: '1h', seconds: 3600 },
  { name: '5h', seconds: 18_000 },
  { name: '1d', seconds: 86_400 },
]
const LIMITS = {
  personal: WINDOWS.map((window) => ({ window, limit: 100 })),
  global: WINDOWS.map((window) => ({ window, limit: 10 ** 9 })),
}
const OWN = '{tollgate}:u:read:alice'

let server: RedisServer
let redis: Redis
let store: Store
let sequence = 0
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
  store = openRedisStore({ url: server.url, deadlineMs: 2000, observe: () => {} })
  await whenReady(store)
})
afterAll(async () => {
  await store.close()
  redis.disconnect()
  await server.stop()
})
beforeEach(async () => {
  await redis.flushall()
})

const charge = (cost: number, user = 'alice'): Charge => ({ user, category: 'read', cost, limits: LIMITS })
const settle = (...charges: Charge[]): Promise<readonly Decision[]> =>
  store.settle({ instance: 'keys', sequence: ++sequence, refunds: [], charges })

describe('what lies under the key of a counter', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['a list', () => redis.rpush(OWN, 'a', 'b')],
    ['a hash', () => redis.hset(OWN, 'a', 'b')],
    ['an empty string', () => redis.set(OWN, '')],
    ['a number', () => redis.set(OWN, '42')],
    ['a text', () => redis.set(OWN, 'what somebody else keeps here')],
    ['one of ours cut short', () => redis.set(OWN, Buffer.alloc(47, 1))],
    ['zeros', () => redis.set(OWN, Buffer.alloc(48))],
  ])('and is %s counts as nothing and is repaired by the next charge', async (_, put) => {
    await put()
    expect((await store.standing('alice', ['read'])).personal[0]?.filter((e) => e.used > 0)).toEqual([])
    expect(await settle(charge(60), charge(41))).toMatchObject([
      { accepted: true, personal: [{ used: 60 }, { used: 60 }, { used: 60 }] },
      { accepted: false, personal: [{ used: 60 }, { used: 60 }, { used: 60 }] },
    ])
    expect(await redis.strlen(OWN)).toBe(48)
    expect(await redis.pttl(OWN)).toBeGreaterThan(0)
  })

  it('and holds a window twice is decided all the same', async () => {
    const entry = (startedAt: number, used: number): Buffer => {
      const bytes = Buffer.alloc(16)
      bytes.writeUInt32BE(3600, 0)
      bytes.writeUIntBE(startedAt, 4, 6)
      bytes.writeUIntBE(used, 10, 6)
      return bytes
    }
    await redis.set(OWN, Buffer.concat([entry(1000, 90), entry(Date.now() - 1000, 50)]))
    expect((await settle(charge(50), charge(1))).map((d) => d.accepted)).toEqual([true, false])
  })

  it('and lost its expiry gets it back', async () => {
    await settle(charge(1))
    await redis.persist(OWN)
    await settle(charge(1))
    expect(await redis.pttl(OWN)).toBeGreaterThan(0)
  })
})

describe('every key', () => {
  it('ends by itself, but for those of tokens', async () => {
    const [accepted] = await settle(charge(5), charge(500))
    await store.settle({
      instance: 'other',
      sequence: 1,
      refunds: [{ charge: charge(5), decision: accepted as Decision }],
      charges: [],
    })
    await store.addTally({ total: 1, status0: 0, status5xx: 0 })
    await store.insertToken({
      id: 'i',
      hash: 'h',
      user: 'alice',
      name: 'n',
      createdAt: 1,
      expiresAt: null,
      revokedAt: null,
    })
    const keys = (await redis.keys('*')).sort()
    expect(keys).toEqual([
      '{tollgate}:failures',
      '{tollgate}:g:read',
      '{tollgate}:i:keys',
      '{tollgate}:i:other',
      '{tollgate}:token-ids',
      '{tollgate}:tokens',
      OWN,
    ])
    for (const key of keys.filter((k) => !k.includes(':token'))) expect(await redis.pttl(key)).toBeGreaterThan(0)
  })

  it('of a counter ends with the last of its windows', async () => {
    await settle(charge(1))
    const left = await redis.pttl(OWN)
    expect(left).toBeLessThanOrEqual(86_400_000)
    expect(left).toBeGreaterThan(86_400_000 - 60_000)
  })

  it('is not made by a charge that is refused', async () => {
    await settle(charge(101))
    expect(await redis.keys('*')).toEqual(['{tollgate}:i:keys'])
  })
})

it('an idle user costs Redis at most 250 bytes a category', async () => {
  const USERS = 10_000
  const memory = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
  const id = (n: number): string => `user-${String(n).padStart(6, '0')}@example.org`
  const before = await memory()
  for (let n = 0; n < USERS; n += 200) await settle(...Array.from({ length: 200 }, (_, i) => charge(1, id(n + i))))
  const bytes = ((await memory()) - before) / USERS
  const one = Number(await redis.memory('USAGE', `{tollgate}:u:read:${id(1)}`))
  console.info(`one idle user: ${bytes.toFixed(1)} bytes of used_memory, ${one} by MEMORY USAGE`)
  expect(bytes).toBeLessThanOrEqual(250)
  expect(one).toBeLessThanOrEqual(250)
})
