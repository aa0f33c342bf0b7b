import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Observation } from '../../src/observe/observation.ts'
import type { Charge, Decision, Limits } from '../../src/quota/charge.ts'
import { usageOf } from '../../src/quota/counter.ts'
import { refusalBody } from '../../src/quota/refusal.ts'
import { FORGET_MS } from '../../src/replicas/presence.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { chargeOf } from '../quota/charge-of.ts'
import { replica } from '../replicas/replica.suite.ts'
import { startRedis } from '../setup/redis.ts'
import { createWallClock } from '../setup/wall-clock.ts'
import { whenReady } from './redis/ready.ts'

/** A store whose clock is wrong for a while. That of Redis is the clock of its process. */
interface Clocked {
  readonly store: Store
  /** Sets the store's clock so many milliseconds ahead of the right one. */
  set(aheadMs: number): void
  close(): Promise<void>
}

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MONTH = 30 * DAY
const window = { name: '1h', seconds: 3600 }
const day = { name: '1d', seconds: 86_400 }
const limits: Limits = {
  personal: [
    { window, limit: 40 },
    { window: day, limit: 400 },
  ],
  organisation: null,
  global: [
    { window, limit: 50 },
    { window: day, limit: 500 },
  ],
}
const charge = (user: string, cost: number, of = limits): Charge => chargeOf({ user, cost, limits: of })

const clock = createWallClock()
const server = await startRedis({ clock })

let prefixes = 0
async function openShared(observe: (seen: Observation) => void): Promise<Clocked> {
  const store = openRedisStore({ url: server.url, prefix: `clock-${++prefixes}`, deadlineMs: 5000, observe })
  await whenReady(store)
  return {
    store,
    set: clock.set,
    close: async () => {
      clock.set(0)
      await store.close()
    },
  }
}

async function openEmbedded(observe: (seen: Observation) => void): Promise<Clocked> {
  let ahead = 0
  const store = openSqliteStore({ file: ':memory:', clock: () => Date.now() + ahead, observe })
  return {
    store,
    set: (aheadMs) => {
      ahead = aheadMs
    },
    close: () => store.close(),
  }
}

describe.each([
  ['Redis', openShared],
  ['the embedded store', openEmbedded],
])('while the clock of %s is ahead for a moment', (_, open) => {
  let seen: Observation[]
  let clocked: Clocked
  let sequence: number
  beforeEach(async () => {
    seen = []
    sequence = 0
    clocked = await open((observation) => seen.push(observation))
  })
  afterEach(() => clocked.close())

  async function settle(...charges: Charge[]): Promise<Decision[]> {
    return [...(await clocked.store.settle({ instance: 'one', sequence: ++sequence, refunds: [], charges }))]
  }
  const settleOne = async (one: Charge): Promise<Decision> => (await settle(one))[0] as Decision
  const starts = (): number => seen.filter(({ type }) => type === 'window_start_ahead').length

  it('a window that starts then has its length left at most when the clock is right again, and keeps what was used', async () => {
    clocked.set(MONTH)
    await settle(charge('a', 10), charge('b', 20))
    clocked.set(0)
    const next = await settleOne(charge('c', 5))
    expect(next).toMatchObject({ accepted: true, global: [{ used: 35 }, { used: 35 }] })
    for (const usage of next.global ?? []) expect(usage.startedAt).toBe(next.at)
    expect(await settleOne(charge('a', 1))).toMatchObject({ accepted: true, personal: [{ used: 11 }, { used: 11 }] })
  })

  it('a refusal names a time that is one length away at most, and stays with it', async () => {
    clocked.set(MONTH)
    await settle(charge('a', 40), charge('b', 10))
    clocked.set(0)
    const refused = await settleOne(charge('nobody-yet', 1))
    const { retryAfterSeconds, quota } = refusalBody(charge('nobody-yet', 1), refused, 'UTC')
    expect(quota).toMatchObject({ scope: 'Global', window: '1h', used: 50 })
    expect(retryAfterSeconds).toBe(3600)
    clocked.set(HOUR / 2)
    const later = await settleOne(charge('somebody', 1))
    expect(refusalBody(charge('somebody', 1), later, 'UTC').quota.resetAt).toBe(quota.resetAt)
    clocked.set(HOUR)
    expect(await settleOne(charge('somebody', 1))).toMatchObject({
      accepted: true,
      global: [{ used: 1 }, { used: 51 }],
    })
  })

  it('a user who is at his limit waits for one length of his window at most', async () => {
    clocked.set(DAY)
    await settle(charge('a', 40))
    clocked.set(0)
    const refused = await settleOne(charge('a', 1))
    expect(refused.personal[0]).toEqual({ startedAt: refused.at, used: 40 })
    clocked.set(HOUR)
    expect((await settleOne(charge('a', 1))).accepted).toBe(true)
  })

  it('a calendar window goes by that clock alone, which the gateway need not share by days', async () => {
    const calendar = { unit: 'day', zone: 'Asia/Shanghai' } as const
    const personal = [{ window: { name: 'day', seconds: 115_201, calendar }, limit: 40 }]
    const of = { personal, organisation: null, global: personal }
    for (const days of [0, 3, 40]) {
      clocked.set(days * DAY)
      const { at } = await settleOne(charge('a', 1, of))
      const midnight = Math.ceil((at + 8 * HOUR) / DAY) * DAY - 8 * HOUR
      clocked.set(days * DAY + midnight - at)
      const first = await settleOne(charge('a', 30, of))
      expect(first, `${days} days`).toMatchObject({ accepted: true, personal: [{ used: 30 }], global: [{ used: 30 }] })
      expect(first.at).toBeGreaterThanOrEqual(midnight)
      const refused = await settleOne(charge('a', 11, of))
      const { retryAfterSeconds, quota } = refusalBody(charge('a', 11, of), refused, 'UTC')
      expect(quota).toMatchObject({ window: 'day', resetAt: new Date(midnight + DAY).toISOString() })
      expect(retryAfterSeconds).toBe(Math.ceil((midnight + DAY - refused.at) / 1000))
    }
  })

  it('nothing that is read shows more than one length, and reading changes nothing', async () => {
    clocked.set(MONTH)
    await settle(charge('a', 10))
    clocked.set(0)
    for (const ahead of [0, HOUR / 2]) {
      clocked.set(ahead)
      const { at, personal, global } = await clocked.store.readUsage('a', ['read'])
      for (const counter of [personal[0], global[0]]) {
        expect(usageOf(counter ?? [], { seconds: 3600 }, at)).toEqual({ startedAt: at, used: 10 })
      }
    }
    expect(starts()).toBe(0)
  })

  it('each window that is set to now is reported once', async () => {
    clocked.set(DAY)
    await settle(charge('a', 10))
    clocked.set(0)
    await settle(charge('a', 1), charge('a', 1), charge('b', 1))
    await settle(charge('a', 1))
    const told = seen.filter((each) => each.type === 'window_start_ahead')
    // Two personal ones of a, and two of everybody.
    expect(told).toHaveLength(4)
    for (const { aheadMs } of told) {
      expect(aheadMs).toBeGreaterThan(DAY - 60_000)
      expect(aheadMs).toBeLessThanOrEqual(DAY)
    }
  })

  it('a window that has not started yet does not start with a refusal, also where the clock is set back once more', async () => {
    const two = { name: '2h', seconds: 7200 }
    const only = { personal: limits.personal.slice(0, 1), organisation: null, global: null }
    const both = { personal: [...only.personal, { window: two, limit: 100 }], organisation: null, global: null }
    clocked.set(MONTH)
    await settle(charge('a', 40, only))
    clocked.set(0)
    expect(await settleOne(charge('a', 1, both))).toMatchObject({
      accepted: false,
      personal: [{ used: 40 }, { startedAt: 0, used: 0 }],
    })
    clocked.set(-HOUR)
    const more = {
      personal: both.personal.map(({ window }) => ({ window, limit: 100 })),
      organisation: null,
      global: null,
    }
    const accepted = await settleOne(charge('a', 1, more))
    expect(accepted.personal).toEqual([
      { startedAt: accepted.at, used: 41 },
      { startedAt: accepted.at, used: 1 },
    ])
  })

  it('a charge of before the clock was put right can not be given back, and no other one is in its place', async () => {
    clocked.set(DAY)
    const one = charge('a', 10)
    const decision = await settleOne(one)
    clocked.set(0)
    const after = await settleOne(charge('a', 5))
    await clocked.store.settle({
      instance: 'one',
      sequence: ++sequence,
      charges: [],
      refunds: [{ charge: one, decision }],
    })
    const { at, personal } = await clocked.store.readUsage('a', ['read'])
    expect(usageOf(personal[0] ?? [], { seconds: 3600 }, at)).toMatchObject({ startedAt: after.at, used: 15 })
  })

  it('a process that died then leaves the list, and those that live stay in it', async () => {
    const listed = async (): Promise<string[]> =>
      (await clocked.store.listReplicas()).map(({ instance }) => instance).sort()
    clocked.set(MONTH)
    for (const name of ['dead', 'alive']) await clocked.store.beat(replica(name))
    expect(await listed()).toEqual(['alive', 'dead'])
    clocked.set(0)
    expect(await listed()).toEqual([])
    await clocked.store.beat(replica('alive'))
    expect(await listed()).toEqual(['alive', 'dead'])
    clocked.set(FORGET_MS + 1000)
    await clocked.store.beat(replica('alive'))
    expect(await listed()).toEqual(['alive'])
  })

  it('a process that died a moment before the clock was put right is not heard of for longer than its silence', async () => {
    clocked.set(10_000)
    await clocked.store.beat(replica('dead'))
    clocked.set(0)
    const [dead] = await clocked.store.listReplicas()
    expect(dead?.silentMs).toBeGreaterThan(5000)
    clocked.set(10_000 + FORGET_MS + 1000)
    expect(await clocked.store.listReplicas()).toEqual([])
  })
})

it('Redis keeps nothing of a process that died then', async () => {
  const { store, close } = await openShared(() => {})
  const redis = new Redis(server.url)
  const { beats, replicas } = createKeys(`clock-${prefixes}`)
  clock.set(MONTH)
  await store.beat(replica('dead'))
  clock.set(0)
  await store.beat(replica('alive'))
  expect((await redis.hkeys(beats)).sort()).toEqual(['alive', 'dead'])
  clock.set(FORGET_MS + 1000)
  await store.beat(replica('alive'))
  expect([await redis.hkeys(beats), await redis.hkeys(replicas)]).toEqual([['alive'], ['alive']])
  redis.disconnect()
  await close()
})

it('keys of Redis end with the windows that were set to now', async () => {
  const { store, close } = await openShared(() => {})
  const redis = new Redis(server.url)
  const keys = createKeys(`clock-${prefixes}`)
  const short = {
    personal: limits.personal.slice(0, 1),
    organisation: null,
    global: limits.global?.slice(0, 1) ?? null,
  }
  const settle = (sequence: number, cost: number): ReturnType<Store['settle']> =>
    store.settle({ instance: 'one', sequence, refunds: [], charges: [charge('a', cost, short)] })
  clock.set(MONTH)
  await settle(1, 40)
  clock.set(0)
  for (const key of [keys.user('a'), keys.everybody('read')]) expect(await redis.pttl(key)).toBeGreaterThan(MONTH)
  await settle(2, 40)
  for (const key of [keys.user('a'), keys.everybody('read')]) {
    const ttl = await redis.pttl(key)
    expect(ttl).toBeGreaterThan(HOUR - 60_000)
    expect(ttl).toBeLessThanOrEqual(HOUR)
  }
  redis.disconnect()
  await close()
})
