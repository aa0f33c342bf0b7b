import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { NOTHING } from '../../../src/failures/histogram.ts'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
import { packCounters } from '../../../src/store/redis/form/section.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import { keepAccessKey } from '../../control/keep-access-key.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { atEnd, closedAtEnd } from '../../setup/at-end.ts'
import { startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

const WINDOWS = [
  { name: '1h', seconds: 3600 },
  { name: '5h', seconds: 18_000 },
  { name: '1d', seconds: 86_400 },
]
const LIMITS = {
  personal: WINDOWS.map((window) => ({ window, limit: 100 })),
  organisation: null,
  global: WINDOWS.map((window) => ({ window, limit: 10 ** 9 })),
}
const OWN = '{tollgate}:c:alice'
const LAST = '{tollgate}:last:keys'

const server = await startRedis()
const redis = new Redis(server.url)
atEnd(() => redis.disconnect())
const store = closedAtEnd(openRedisStore({ url: server.url, deadlineMs: 2000, observe: () => {} }))
await whenReady(store)
let sequence = 0
beforeEach(async () => {
  await redis.flushall()
})

const charge = (cost: number, user = 'alice', category = 'read', limits: Limits = LIMITS): Charge =>
  chargeOf({ user, category, cost, limits })
const settle = (...charges: Charge[]): Promise<readonly Decision[]> =>
  store.settle({ instance: 'keys', sequence: ++sequence, refunds: [], charges })

describe('what lies under the key of a counter', () => {
  const entry = (seconds: number, startedAt: number, used: number) => ({ seconds, startedAt, used })
  type Entries = ReturnType<typeof entry>[]
  const section = (category: string, ...entries: Entries) => packCounters(new Map([[category, entries]]))
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
  ])(
    'what lies under the key of a counter and is %s counts as nothing and is repaired by the next charge',
    async (_, put) => {
      await put()
      expect((await store.readUsage('alice', ['read'])).personal[0]?.filter((e) => e.used > 0)).toEqual([])
      expect(await settle(charge(60), charge(41))).toMatchObject([
        { accepted: true, personal: [{ used: 60 }, { used: 60 }, { used: 60 }] },
        { accepted: false, personal: [{ used: 60 }, { used: 60 }, { used: 60 }] },
      ])
      expect(await redis.strlen(OWN)).toBe(37)
      expect(await redis.pttl(OWN)).toBeGreaterThan(0)
    },
  )

  it('what lies under the key of a counter is a section for each category: its windows, and the start and the used tokens of each', async () => {
    const [one] = await settle(charge(5))
    expect(await redis.getBuffer(OWN)).toEqual(section('read', ...all(one?.at ?? 0, 5)))
    const [two] = await settle(charge(7, 'alice', 'write'))
    await settle(charge(1))
    const [read, write] = [section('read', ...all(one?.at ?? 0, 6)), section('write', ...all(two?.at ?? 0, 7))]
    expect(await redis.getBuffer(OWN)).toEqual(Buffer.concat([write, read]))
  })

  it('what lies under the key of a counter is brought into the shape that a charge wants, whatever windows lie together', async () => {
    const at = Date.now() - 1000
    const [hour, ...others] = all(at, 5)
    const [write, left] = [section('write', ...all(at, 8), entry(90, at, 1)), entry(90, at, 3)]
    await redis.set(OWN, Buffer.concat([section('read', ...others, left), write, section('read', hour as Entries[0])]))
    expect(await settle(charge(96), charge(7))).toMatchObject([
      { accepted: false, personal: WINDOWS.map(() => ({ startedAt: at, used: 5 })) },
      { accepted: true, personal: WINDOWS.map(() => ({ startedAt: at, used: 12 })) },
    ])
    const read = section('read', ...all(at, 12))
    expect(await redis.getBuffer(OWN)).toEqual(Buffer.concat([read, write, section('read', left)]))
    const { personal } = await store.readUsage('alice', ['read', 'write'])
    expect(personal).toEqual([
      [...all(at, 12), left],
      [entry(90, at, 1), ...all(at, 8)],
    ])
  })

  it.each([
    [255 * 3600, 'hours', 1 + 4 + 1 + 11],
    [256 * 3600, 'seconds', 1 + 4 + 4 + 11],
    [5400, 'seconds', 1 + 4 + 4 + 11],
    [2 ** 32 - 1, 'seconds', 1 + 4 + 4 + 11],
  ])('what lies under the key of a counter says %i seconds in %s', async (seconds, _, size) => {
    const limits: Limits = {
      personal: [{ window: { name: 'w', seconds }, limit: 9 }],
      organisation: null,
      global: null,
    }
    const [one] = await settle(charge(4, 'alice', 'read', limits))
    expect(await redis.strlen(OWN)).toBe(size)
    expect((await store.readUsage('alice', ['read'])).personal[0]).toEqual([entry(seconds, one?.at ?? 0, 4)])
    expect(await settle(charge(5, 'alice', 'read', limits), charge(1, 'alice', 'read', limits))).toMatchObject([
      { accepted: true, personal: [{ used: 9 }] },
      { accepted: false, personal: [{ used: 9 }] },
    ])
  })

  it('what lies under the key of a counter goes from one width to the other and back with the windows of the configuration', async () => {
    const minutes = { window: { name: '90m', seconds: 5400 }, limit: 100 }
    const longer: Limits = { personal: [...LIMITS.personal, minutes], organisation: null, global: null }
    for (const limits of [LIMITS, longer, LIMITS, longer]) await settle(charge(10, 'alice', 'read', limits))
    const used = (await store.readUsage('alice', ['read'])).personal[0]?.map((one) => [one.seconds, one.used])
    expect(used).toEqual([...WINDOWS.map(({ seconds }) => [seconds, 40]), [5400, 20]])
  })

  it('what lies under the key of a counter is decided also if it holds a window twice', async () => {
    const now = Date.now()
    await redis.set(OWN, section('read', entry(3600, 1000, 90), entry(3600, now - 1000, 50)))
    expect((await settle(charge(50), charge(1))).map((d) => d.accepted)).toEqual([true, false])
  })

  it('what lies under the key of a counter keeps the largest numbers exactly', async () => {
    const most = 10 ** 12 - 1
    const limits: Limits = {
      personal: [{ window: { name: '1d', seconds: 86_400 }, limit: most + 1 }],
      organisation: null,
      global: null,
    }
    expect(await settle(charge(most, 'alice', 'read', limits))).toMatchObject([{ personal: [{ used: most }] }])
    expect(await settle(charge(1, 'alice', 'read', limits), charge(1, 'alice', 'read', limits))).toMatchObject([
      { accepted: true, personal: [{ used: most + 1 }] },
      { accepted: false, personal: [{ used: most + 1 }] },
    ])
    expect((await store.readUsage('alice', ['read'])).personal[0]?.[0]?.used).toBe(most + 1)
  })

  describe('that the configuration names no more', () => {
    const HOUR = 3_600_000
    it('what lies under the key of a counter that the configuration names no more stays until its last window ends, whatever else is charged', async () => {
      const started = Date.now() - HOUR
      const old = section('old', entry(86_400, started, 9))
      await redis.set(OWN, Buffer.concat([old, section('read', entry(7200, started, 8))]))
      await settle(charge(5))
      const { personal } = await store.readUsage('alice', ['old', 'read'])
      expect(personal[0]).toEqual([entry(86_400, started, 9)])
      expect(personal[1]).toContainEqual(entry(7200, started, 8))
      expect(await redis.pttl(OWN)).toBeGreaterThan(22 * HOUR)
    })

    it('what lies under the key of a counter that the configuration names no more is gone with the first window that starts after that', async () => {
      const started = Date.now() - 3 * HOUR
      const gone = Buffer.concat([section('old', entry(7200, started, 9)), section('read', entry(60, started, 8))])
      await redis.set(OWN, gone)
      const [one] = await settle(charge(5))
      expect(await redis.getBuffer(OWN)).toEqual(section('read', ...all(one?.at ?? 0, 5)))
    })
  })

  it('what lies under the key of a counter gets a refund and a charge of one batch also if a category in front of it has ended', async () => {
    const at = Date.now() - 1000
    const old = section('old', entry(7200, at - 3 * 3_600_000, 9))
    await redis.set(OWN, Buffer.concat([old, section('read', ...all(at, 8))]))
    const usages = all(at, 8)
    const refund = {
      charge: charge(5),
      decision: { accepted: true, at, personal: usages, organisation: null, global: null },
    }
    await store.settle({ instance: 'keys', sequence: ++sequence, refunds: [refund], charges: [charge(2)] })
    expect(await redis.getBuffer(OWN)).toEqual(section('read', ...all(at, 5)))
  })

  it('what lies under the key of a counter is written in place by a charge that starts no window, and ends when it did', async () => {
    const at = Date.now()
    await redis.set(OWN, section('read', ...all(at - 1000, 5)), 'PX', 50_000)
    await settle(charge(7), charge(8))
    expect(await redis.getBuffer(OWN)).toEqual(section('read', ...all(at - 1000, 20)))
    expect(await redis.pttl(OWN)).toBeLessThanOrEqual(50_000)
  })

  it('what lies under the key of a counter gets a lost expiry back when the next window starts', async () => {
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
    const counter = (await store.readUsage('alice', [category])).personal[0] ?? []
    return WINDOWS.map(({ seconds }) => counter.find((entry) => entry.seconds === seconds)?.used)
  }

  it('one batch charges a user in two categories, again and again, while their windows run', async () => {
    for (let i = 0; i < 3; i++) {
      await settle(charge(1), charge(2, 'alice', 'write'), charge(3), charge(4, 'alice', 'write'))
    }
    expect(await used('read')).toEqual([12, 12, 12])
    expect(await used('write')).toEqual([18, 18, 18])
  })

  it('one batch takes a forced charge and one that is like it but for that', async () => {
    const decisions = await settle(charge(60), { ...charge(60), forced: true }, charge(60))
    expect(verdicts(decisions)).toEqual([true, true, false])
  })

  it('one batch counts other windows of the same category apart, also if there are as many', async () => {
    const others = [1800, 3600, 7200].map((seconds) => ({ window: { name: `${seconds}s`, seconds }, limit: 100 }))
    const changed: Limits = { personal: others, organisation: null, global: others }
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
  ])(
    'what lies under the key of the last reply and is %s counts as nothing and is repaired by the next batch',
    async (_, put) => {
      await put()
      expect(await settle(charge(5))).toMatchObject([{ accepted: true }])
      expect(await redis.strlen(LAST)).toBeLessThan(200)
      expect(await redis.pttl(LAST)).toBeGreaterThan(0)
    },
  )

  it('what lies under the key of the last reply stays for longer than the half hour in which a batch is sent again: after it, that would charge twice', async () => {
    await settle(charge(5))
    expect(await redis.pttl(LAST)).toBeGreaterThan(45 * 60_000)
  })
})

describe('every key', () => {
  it('every key ends by itself, but for those of access keys and their changes', async () => {
    const [accepted] = await settle(charge(5), charge(500))
    await store.settle({
      instance: 'other',
      sequence: 1,
      refunds: [{ charge: charge(5), decision: accepted as Decision }],
      charges: [],
    })
    await store.addTally({ ...NOTHING, total: 1 })
    await keepAccessKey(store, {
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
      '{tollgate}:audit',
      OWN,
      '{tollgate}:failures',
      LAST,
      '{tollgate}:last:other',
      '{tollgate}:token-ids',
      '{tollgate}:tokens',
      '{tollgate}:version',
    ])
    for (const key of keys.filter((k) => !/:(token|audit|version)/.test(k)))
      expect(await redis.pttl(key)).toBeGreaterThan(0)
  })

  it('every key of a counter ends with the last of its windows', async () => {
    await settle(charge(1))
    const left = await redis.pttl(OWN)
    expect(left).toBeLessThanOrEqual(86_400_000)
    expect(left).toBeGreaterThan(86_400_000 - 60_000)
  })

  it('every key of a counter ends with the last of its windows also if that is a shorter one', async () => {
    const pair = WINDOWS.slice(0, 2).map((window) => ({ window, limit: 100 }))
    await settle(charge(1, 'alice', 'read', { personal: pair.slice(1), organisation: null, global: null }))
    // The five hours end in a minute, and the hour has yet to start.
    const fiveHours = { seconds: 18_000, startedAt: Date.now() - 5 * 3_600_000 + 60_000, used: 1 }
    await redis.set(OWN, packCounters(new Map([['read', [fiveHours]]])), 'PX', 60_000)
    await settle(charge(1, 'alice', 'read', { personal: pair, organisation: null, global: null }))
    expect(await redis.pttl(OWN)).toBeGreaterThan(50 * 60_000)
  })

  it('every key is not made by a charge that is refused', async () => {
    await settle(charge(101))
    expect(await redis.keys('*')).toEqual([LAST])
  })
})

describe('the numbers of a section', () => {
  const used = async (...categories: string[]) =>
    (await store.readUsage('alice', categories)).personal.map((counter) => counter.map((entry) => entry.used))

  it('the numbers of a section are those that were counted, also of windows that began at other times and of large counts', async () => {
    const [hour, fiveHours, day] = WINDOWS.map(({ seconds }) => seconds * 1000) as [number, number, number]
    const now = Date.now()
    const counter = [
      { seconds: 3600, startedAt: now - hour + 60_000, used: 2 ** 31 },
      { seconds: 18_000, startedAt: now - fiveHours + 60_000, used: 2 ** 32 + 1 },
      { seconds: 86_400, startedAt: now - day + 60_000, used: 10 ** 12 - 7 },
    ]
    await redis.set(OWN, packCounters(new Map([['read', counter]])), 'PX', 60_000)
    const most = WINDOWS.map((window) => ({ window, limit: 10 ** 12 }))
    const [decision] = await settle(charge(7, 'alice', 'read', { personal: most, organisation: null, global: null }))
    const charged = counter.map(({ startedAt, used }) => ({ startedAt, used: used + 7 }))
    expect(decision).toMatchObject({ accepted: true, personal: charged })
    expect(await redis.strlen(OWN)).toBe(37)
    expect((await store.readUsage('alice', ['read'])).personal[0]).toMatchObject(charged)
    expect(
      await settle(charge(1, 'alice', 'read', { personal: most, organisation: null, global: null })),
    ).toMatchObject([{ accepted: false, personal: charged }])
  })

  it('the numbers of a section stay above every limit if more is counted than it has room for', async () => {
    const most = WINDOWS.map((window) => ({ window, limit: 10 ** 12 }))
    const forced: Charge = {
      ...charge(10 ** 12, 'alice', 'read', { personal: most, organisation: null, global: null }),
      forced: true,
    }
    await settle(forced, forced, forced)
    expect(await used('read')).toEqual([[2 ** 40 - 1, 2 ** 40 - 1, 2 ** 40 - 1]])
    expect(
      await settle(charge(1, 'alice', 'read', { personal: most, organisation: null, global: null })),
    ).toMatchObject([{ accepted: false }])
  })

  it('the numbers of a section hold an idle user of 36 characters in 245 bytes, two categories of three windows and all that Redis adds', async () => {
    const id = randomUUID()
    await settle(charge(1, id), charge(1, id, 'write'))
    expect(await redis.keys(`*${id}*`)).toHaveLength(1)
    expect(await redis.strlen(`{tollgate}:c:${id}`)).toBe(75)
    const usage = Number(await redis.memory('USAGE', `{tollgate}:c:${id}`))
    // Beside these: 24 to 32 bytes for the expiry, and 16 to 32 of two tables.
    expect(usage + 32 + 21).toBeLessThanOrEqual(250)
  })
})
