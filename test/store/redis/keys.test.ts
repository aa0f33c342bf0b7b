import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
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
const OWN = '{tollgate}:c:alice'
const LAST = '{tollgate}:last:keys'

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

const charge = (cost: number, user = 'alice', category = 'read', limits: Limits = LIMITS): Charge => ({
  user,
  category,
  cost,
  limits,
})
const settle = (...charges: Charge[]): Promise<readonly Decision[]> =>
  store.settle({ instance: 'keys', sequence: ++sequence, refunds: [], charges })

describe('what lies under the key of a counter', () => {
  const entry = (seconds: number, startedAt: number, used: number) => ({ seconds, startedAt, used })
  /** A section as the script writes it. */
  function section(category: string, ...entries: ReturnType<typeof entry>[]): Buffer {
    const n = entries.length
    const bytes = Buffer.alloc(1 + category.length + 16 * n)
    bytes[0] = (n - 1) * 32 + category.length - 1
    bytes.write(category, 1)
    entries.forEach(({ seconds, startedAt, used }, i) => {
      bytes.writeUInt32BE(seconds, 1 + category.length + 4 * i)
      bytes.writeUIntBE(startedAt, 1 + category.length + 4 * n + 6 * i, 6)
      bytes.writeUIntBE(used, 1 + category.length + 10 * n + 6 * i, 6)
    })
    return bytes
  }
  const all = (startedAt: number, used: number) => WINDOWS.map(({ seconds }) => entry(seconds, startedAt, used))

  it.each<[string, () => Promise<unknown>]>([
    ['a list', () => redis.rpush(OWN, 'a', 'b')],
    ['a hash', () => redis.hset(OWN, 'a', 'b')],
    ['an empty string', () => redis.set(OWN, '')],
    ['a number', () => redis.set(OWN, '42')],
    ['a text', () => redis.set(OWN, 'what somebody else keeps here')],
    ['one of ours cut short', () => redis.set(OWN, section('read', ...all(Date.now(), 90)).subarray(0, -1))],
    ['zeros', () => redis.set(OWN, Buffer.alloc(48))],
    ['8 MB of zeros', () => redis.set(OWN, Buffer.alloc(8 << 20))],
    ['8 MB that read like sections', () => redis.set(OWN, Buffer.alloc(8 << 20, section('x', entry(1, 1, 1))))],
    [
      '8 MB of windows that run',
      () => redis.set(OWN, Buffer.alloc(8 << 20, section('x', entry(86_400, Date.now(), 1)))),
    ],
  ])('and is %s counts as nothing and is repaired by the next charge', async (_, put) => {
    await put()
    expect((await store.standing('alice', ['read'])).personal[0]?.filter((e) => e.used > 0)).toEqual([])
    expect(await settle(charge(60), charge(41))).toMatchObject([
      { accepted: true, personal: [{ used: 60 }, { used: 60 }, { used: 60 }] },
      { accepted: false, personal: [{ used: 60 }, { used: 60 }, { used: 60 }] },
    ])
    expect(await redis.strlen(OWN)).toBe(53)
    expect(await redis.pttl(OWN)).toBeGreaterThan(0)
  })

  it('is a section for each category: its windows, and the start and the used tokens of each', async () => {
    const [one] = await settle(charge(5))
    expect(await redis.getBuffer(OWN)).toEqual(section('read', ...all(one?.at ?? 0, 5)))
    const [two] = await settle(charge(7, 'alice', 'write'))
    await settle(charge(1))
    const [read, write] = [section('read', ...all(one?.at ?? 0, 6)), section('write', ...all(two?.at ?? 0, 7))]
    expect(await redis.getBuffer(OWN)).toEqual(Buffer.concat([write, read]))
  })

  it('and holds a window twice is decided all the same', async () => {
    const now = Date.now()
    await redis.set(OWN, section('read', entry(3600, 1000, 90), entry(3600, now - 1000, 50)))
    expect((await settle(charge(50), charge(1))).map((d) => d.accepted)).toEqual([true, false])
  })

  it('keeps the largest numbers exactly', async () => {
    const most = 2 ** 48 - 2
    const limits: Limits = { personal: [{ window: { name: '1d', seconds: 86_400 }, limit: most + 1 }], global: null }
    expect(await settle(charge(most, 'alice', 'read', limits))).toMatchObject([{ personal: [{ used: most }] }])
    expect(await settle(charge(1, 'alice', 'read', limits), charge(1, 'alice', 'read', limits))).toMatchObject([
      { accepted: true, personal: [{ used: most + 1 }] },
      { accepted: false, personal: [{ used: most + 1 }] },
    ])
    expect((await store.standing('alice', ['read'])).personal[0]?.[0]?.used).toBe(most + 1)
  })

  describe('that the configuration names no more', () => {
    const HOUR = 3_600_000
    it('stays until its last window ends, whatever else is charged', async () => {
      const started = Date.now() - HOUR
      const old = section('old', entry(86_400, started, 9))
      await redis.set(OWN, Buffer.concat([old, section('read', entry(7200, started, 8))]))
      await settle(charge(5))
      const { personal } = await store.standing('alice', ['old', 'read'])
      expect(personal[0]).toEqual([entry(86_400, started, 9)])
      expect(personal[1]).toContainEqual(entry(7200, started, 8))
      expect(await redis.pttl(OWN)).toBeGreaterThan(22 * HOUR)
    })

    it('is gone with the first window that starts after that', async () => {
      const started = Date.now() - 3 * HOUR
      const gone = Buffer.concat([section('old', entry(7200, started, 9)), section('read', entry(60, started, 8))])
      await redis.set(OWN, gone)
      const [one] = await settle(charge(5))
      expect(await redis.getBuffer(OWN)).toEqual(section('read', ...all(one?.at ?? 0, 5)))
    })
  })

  it('is written in place by a charge that starts no window, and ends when it did', async () => {
    const at = Date.now()
    await redis.set(OWN, section('read', ...all(at - 1000, 5)), 'PX', 50_000)
    await settle(charge(7), charge(8))
    expect(await redis.getBuffer(OWN)).toEqual(section('read', ...all(at - 1000, 20)))
    expect(await redis.pttl(OWN)).toBeLessThanOrEqual(50_000)
  })

  it('and lost its expiry gets it back when the next window starts', async () => {
    await redis.set(
      OWN,
      section('read', entry(3600, Date.now() - 3_600_000, 5), ...all(Date.now() - 3_600_000, 5).slice(1)),
    )
    await settle(charge(1))
    expect(await redis.pttl(OWN)).toBeGreaterThan(0)
  })
})

describe('one batch', () => {
  const verdicts = (decisions: readonly Decision[]): boolean[] => decisions.map((d) => d.accepted)
  const used = async (category: string): Promise<(number | undefined)[]> => {
    const counter = (await store.standing('alice', [category])).personal[0] ?? []
    return WINDOWS.map(({ seconds }) => counter.find((entry) => entry.seconds === seconds)?.used)
  }

  it('charges a user in two categories, again and again, while their windows run', async () => {
    for (let i = 0; i < 3; i++) {
      await settle(charge(1), charge(2, 'alice', 'write'), charge(3), charge(4, 'alice', 'write'))
    }
    expect(await used('read')).toEqual([12, 12, 12])
    expect(await used('write')).toEqual([18, 18, 18])
  })

  it('takes a forced charge and one that is like it but for that', async () => {
    const decisions = await settle(charge(60), { ...charge(60), forced: true }, charge(60))
    expect(verdicts(decisions)).toEqual([true, true, false])
  })

  it('counts other windows of the same category apart, also where there are as many', async () => {
    const others = [1800, 3600, 7200].map((seconds) => ({ window: { name: `${seconds}s`, seconds }, limit: 100 }))
    const changed: Limits = { personal: others, global: others }
    const decisions = await settle(charge(40), charge(50, 'alice', 'read', changed), charge(11))
    expect(decisions[1]?.personal.map((usage) => usage.used)).toEqual([50, 90, 50])
    expect(decisions[1]?.global?.map((usage) => usage.used)).toEqual([50, 90, 50])
    expect(verdicts(decisions)).toEqual([true, true, false])
    expect(await used('read')).toEqual([90, 40, 40])
    expect((await settle(charge(10)))[0]?.personal.map((usage) => usage.used)).toEqual([100, 50, 50])
  })
})

describe('what lies under the key of the last reply', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['a list', () => redis.rpush(LAST, 'a', 'b')],
    ['an empty string', () => redis.set(LAST, '')],
    ['a text', () => redis.set(LAST, 'what somebody else keeps here')],
    ['one of ours cut short', () => redis.set(LAST, 'batch:\xff\xff')],
    ['8 MB of something', () => redis.set(LAST, Buffer.alloc(8 << 20, 'x'))],
  ])('and is %s counts as nothing and is repaired by the next batch', async (_, put) => {
    await put()
    expect(await settle(charge(5))).toMatchObject([{ accepted: true }])
    expect(await redis.strlen(LAST)).toBeLessThan(200)
    expect(await redis.pttl(LAST)).toBeGreaterThan(0)
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
      '{tollgate}:all:read',
      OWN,
      '{tollgate}:failures',
      LAST,
      '{tollgate}:last:other',
      '{tollgate}:token-ids',
      '{tollgate}:tokens',
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
    expect(await redis.keys('*')).toEqual([LAST])
  })
})

it('an idle user has one key, and two categories of three windows cost it 48 bytes more than one', async () => {
  // By the classes of jemalloc: one byte more in a section and the second category would cost 64.
  const usage = async (): Promise<number> => Number(await redis.memory('USAGE', '{tollgate}:c:user-00001'))
  await settle(charge(1, 'user-00001'))
  const one = await usage()
  await settle(charge(1, 'user-00001', 'write'))
  console.info(`one idle user, by MEMORY USAGE: ${one} bytes in one category, ${await usage()} in two`)
  expect(await redis.keys('*user-00001*')).toHaveLength(1)
  expect(await usage()).toBeLessThanOrEqual(one + 48)
  // Beside these: 24 to 32 bytes for the expiry, and 16 to 32 of two tables.
  expect(await usage()).toBeLessThanOrEqual(250 - 64)
})
