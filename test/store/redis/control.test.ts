import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { createChangeFollower } from '../../../src/control/change-follower.ts'
import type { Author, Change } from '../../../src/control/control-store.ts'
import { UNCHANGED } from '../../../src/control/state.ts'
import { KEEP_SILENCES_MS } from '../../../src/replicas/presence.ts'
import { milliseconds } from '../../../src/store/redis/calls.ts'
import type { Store } from '../../../src/store/store.ts'
import { replica } from '../../replicas/replica.suite.ts'
import { startFaultProxy } from '../../setup/fault-proxy.ts'
import { OwnRedis } from './own-redis.ts'
import { whenReady } from './ready.ts'

const ANN: Author = { who: 'ann', why: null }
const LOOSE: Change = { kind: 'settings', to: { mode: 'loose' } }
const ALICE = {
  kind: 'override',
  user: 'alice',
  to: { limits: {}, bypassGlobal: true, shadow: false, reason: 'r', expiresAt: null },
} as const satisfies Change
const replaceAll = (staged: string, count: number, base: number): Change => ({
  kind: 'overrides',
  staged,
  count,
  organisations: 0,
  base,
  from: null,
  to: null,
})
const RESET: Change = { kind: 'reset', user: 'alice' }

const own = new OwnRedis()
beforeEach(async () => {
  await own.redis.flushall()
})

async function open(url = own.server.url, deadlineMs = 2000): Promise<Store> {
  const store = own.open({ url, deadlineMs })
  await whenReady(store)
  return store
}
const subscribers = async (): Promise<number> =>
  (String(await own.redis.client('LIST', 'TYPE', 'PUBSUB')).match(/^id=/gm) ?? []).length

describe('a change by one process', () => {
  const SOON = { timeout: 30_000, interval: 10 }

  it('a change by one process is reported to the others', async () => {
    const [one, two] = [await open(), await open()]
    const heard: string[] = []
    one.onChange(() => heard.push('one'))
    two.onChange(() => heard.push('two'))
    two.onChange(() => heard.push('two again'))
    // A subscription calls when it begins, since what was told before it was not heard.
    await expect.poll(() => heard.length, SOON).toBe(3)
    heard.length = 0
    await one.change(LOOSE, ANN, null)
    await expect.poll(() => heard.toSorted(), SOON).toEqual(['one', 'two', 'two again'])
    await sleep(100)
    expect(heard).toHaveLength(3)
  })

  it('a change by one process is reported again after connections were cut, and a change made meanwhile is reported by the new connection', async () => {
    const proxy = await startFaultProxy(own.server.port)
    const [near, far] = [await open(), await open(`redis://127.0.0.1:${proxy.port}`)]
    let heard = 0
    far.onChange(() => heard++)
    await expect.poll(() => heard, SOON).toBe(1)
    await proxy.refuseConnects()
    await near.change(LOOSE, ANN, null)
    await sleep(500)
    expect(heard).toBe(1)
    await proxy.heal()
    await expect.poll(() => heard, SOON).toBeGreaterThan(1)
    await whenReady(far)
    expect((await far.controlVersion()).version).toBe(1)
    const before = heard
    await near.change(ALICE, ANN, null)
    await expect.poll(() => heard, SOON).toBeGreaterThan(before)
  })

  it('a change by one process is reported again after Redis was started anew, and after a server that resets connections as they come', async () => {
    const proxy = await startFaultProxy(own.server.port)
    const far = await open(`redis://127.0.0.1:${proxy.port}`)
    let heard = 0
    far.onChange(() => heard++)
    await expect.poll(() => heard, SOON).toBe(1)
    proxy.resetConnects()
    proxy.reset()
    await sleep(1000)
    await proxy.heal()
    await expect.poll(() => heard, SOON).toBeGreaterThan(1)
    const before = heard
    await own.server.kill()
    await own.server.restart()
    await expect.poll(() => heard, SOON).toBeGreaterThan(before)
  })

  it('a change by one process is reported again if a connection was lost just when it began to listen', async () => {
    const proxy = await startFaultProxy(own.server.port)
    const far = await open(`redis://127.0.0.1:${proxy.port}`)
    let heard = 0
    far.onChange(() => heard++)
    await expect.poll(() => heard, SOON).toBe(1)
    proxy.dropRequest({ containing: 'subscribe' })
    proxy.reset()
    await expect.poll(() => [proxy.dropped, heard], SOON).toEqual([1, 2])
  })

  it('a change by one process needs a connection more only if somebody listens, and it ends with the store', async () => {
    const store = await open()
    await store.change(LOOSE, ANN, null)
    expect(await subscribers()).toBe(0)
    store.onChange(() => {})
    await expect.poll(subscribers, SOON).toBe(1)
    await store.close()
    await expect.poll(subscribers, SOON).toBe(0)
  })

  it('a change by one process is made also by a user of Redis who may not publish, and then not reported', async () => {
    await own.redis.acl('SETUSER', 'quiet', 'on', '>secret', '~*', 'resetchannels', '+@all')
    const quiet = await open(`redis://quiet:secret@127.0.0.1:${own.server.port}`)
    quiet.onChange(() => {})
    expect(await quiet.change(LOOSE, ANN, null)).toMatchObject({ done: true, entry: { version: 1 } })
    await sleep(1500) // the subscription is refused, and tried again
    expect((await quiet.controlVersion()).version).toBe(1)
  })

  it('a change by one process is reported to a user of Redis who may listen only later, without a new connection', async () => {
    await own.redis.acl('SETUSER', 'deaf', 'on', '>secret', '~*', 'resetchannels', '+@all')
    await own.redis.acl('LOG', 'RESET')
    const [near, deaf] = [await open(), await open(`redis://deaf:secret@127.0.0.1:${own.server.port}`)]
    let heard = 0
    deaf.onChange(() => heard++)
    const refused = async (): Promise<number> => ((await own.redis.acl('LOG')) as unknown[]).length
    await expect.poll(refused, SOON).toBeGreaterThan(0)
    await own.redis.acl('SETUSER', 'deaf', '&*')
    await expect.poll(() => heard, SOON).toBe(1)
    await near.change(LOOSE, ANN, null)
    await expect.poll(() => heard, SOON).toBe(2)
  })
})

it('staged overrides end by themselves, and do not once they are in force', async () => {
  const store = await open()
  await store.stageOverrides('s', [['alice', { version: 1, value: ALICE.to }]])
  expect(await own.redis.pttl('{tollgate}:overrides:staged:s')).toBeGreaterThan(0)
  expect(await own.redis.pttl('{tollgate}:overrides:staged:s')).toBeLessThanOrEqual(60_000)
  await store.change(replaceAll('s', 1, 0), ANN, null)
  expect(await own.redis.pttl('{tollgate}:overrides')).toBe(-1)
  expect(await own.redis.keys('*staged*')).toEqual([])
})

it('a user of Redis who may not put staged overrides in force changes nothing', async () => {
  const store = await open()
  await store.change(ALICE, ANN, null)
  for (const right of ['rename', 'persist', 'unlink']) {
    await own.redis.acl('SETUSER', 'other', 'on', '>secret', '~*', '&*', '+@all', `-${right}`)
    const other = await open(`redis://other:secret@127.0.0.1:${own.server.port}`)
    await other.stageOverrides(right, [['bob', { version: 2, value: ALICE.to }]])
    const change = other.change(replaceAll(right, 1, 1), ANN, null)
    await expect(change).rejects.toMatchObject({ name: 'StoreError', reason: 'auth', applied: 'no' })
    expect([...(await store.readControl()).overrides.keys()]).toEqual(['alice'])
    expect((await store.controlVersion()).version).toBe(1)
    expect(await own.redis.pttl(`{tollgate}:overrides:staged:${right}`)).toBeGreaterThan(0)
    await own.redis.acl('DELUSER', 'other')
  }
})

it('a Redis that was emptied and changed as often again is read anew', async () => {
  const store = await open()
  const keeper = createChangeFollower({ store, observe: () => {}, pollMs: 1e9 })
  await store.change(LOOSE, ANN, null)
  await store.change(ALICE, ANN, null)
  expect((await keeper.fresh()).overrides.size).toBe(1)
  await own.redis.flushall()
  await store.change(LOOSE, ANN, null)
  await store.change(LOOSE, ANN, null)
  expect(await keeper.fresh()).toMatchObject({ version: 2, settings: { version: 2 }, overrides: new Map() })
})

it.each(['not ours', '', '-1', '9'.repeat(400)])(
  'the number of the last change is known by the audit where it is no number: %j',
  async (number) => {
    const store = await open()
    await store.change(LOOSE, ANN, null)
    await own.redis.set('{tollgate}:version', number)
    expect(await store.change(ALICE, ANN, null)).toMatchObject({ done: true, entry: { version: 2 } })
  },
)

describe('a change that fails leaves everything as it was', () => {
  async function snapshot(): Promise<unknown> {
    const keys = (await own.redis.keys('*')).sort()
    return Promise.all(keys.map(async (key) => [key, await own.redis.dumpBuffer(key)]))
  }

  it.each(['version', 'settings', 'overrides', 'audit'])('if the key of the %s holds another thing', async (name) => {
    const store = await open()
    await store.change(LOOSE, ANN, null)
    await store.change(ALICE, ANN, null)
    const key = `{tollgate}:${name}`
    await own.redis.del(key)
    await own.redis.rpush(key, 'not ours')
    const before = await snapshot()
    const change = name === 'settings' ? LOOSE : ALICE
    await expect(store.change(change, ANN, null)).rejects.toMatchObject({ name: 'StoreError', applied: 'no' })
    expect(await snapshot()).toEqual(before)
  })

  it('if the memory of Redis is used up', async () => {
    const store = await open()
    await store.change(LOOSE, ANN, null)
    await store.change(ALICE, ANN, null)
    await store.stageOverrides('s', [['bob', { version: 3, value: ALICE.to }]])
    const before = await snapshot()
    await own.redis.config('SET', 'maxmemory', '1')
    try {
      for (const change of [LOOSE, ALICE, { ...ALICE, to: null } as Change, RESET, replaceAll('s', 1, 2)]) {
        await expect(store.change(change, ANN, null)).rejects.toMatchObject({ reason: 'out_of_memory', applied: 'no' })
      }
    } finally {
      await own.redis.config('SET', 'maxmemory', '0')
    }
    expect(await snapshot()).toEqual(before)
  })

  it('if Redis is a replica', async () => {
    const store = await open()
    await store.change(LOOSE, ANN, null)
    await own.redis.call('REPLICAOF', '127.0.0.1', '1')
    try {
      await expect(store.change(ALICE, ANN, null)).rejects.toMatchObject({ reason: 'readonly', applied: 'no' })
    } finally {
      await own.redis.call('REPLICAOF', 'NO', 'ONE')
    }
    await whenReady(store)
    expect((await store.controlVersion()).version).toBe(1)
    expect((await store.readControl()).overrides.size).toBe(0)
  })
})

it('every call fails with a StoreError in bounded time when Redis does not respond', async () => {
  const proxy = await startFaultProxy(own.server.port)
  const store = await open(`redis://127.0.0.1:${proxy.port}`, 500)
  proxy.blackhole()
  const calls = [
    store.controlVersion(),
    store.readControl(),
    store.changesSince(UNCHANGED),
    store.change(LOOSE, ANN, null),
    store.readAudit(null, 1),
    store.scanUsers(null),
    store.listReplicas(),
    store.leave('a'),
  ]
  await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject({ name: 'StoreError' })))
})

it('what processes reported is forgotten when they are silent, and ends by itself when none reports', async () => {
  const store = await open()
  await own.redis.hset('{tollgate}:beats', { long: Date.now() - 16_000, short: Date.now() - 5000, odd: 'x' })
  await own.redis.hset('{tollgate}:replicas', { long: '{}', short: '{}', odd: '{}' })
  await store.beat(replica('i'))
  expect((await store.listReplicas()).map(({ instance }) => instance)).toEqual(['i'])
  for (const key of ['{tollgate}:beats', '{tollgate}:replicas']) {
    expect((await own.redis.hkeys(key)).sort()).toEqual(['i', 'short'])
    expect(await own.redis.pttl(key)).toBeGreaterThan(0)
    expect(await own.redis.pttl(key)).toBeLessThanOrEqual(KEEP_SILENCES_MS)
  }
})

it('a process has spoken at the moment of the clock of Redis, to the millisecond', async () => {
  const store = await open()
  const now = async () => milliseconds((await own.redis.time()) as [number, number])
  const before = await now()
  await store.beat(replica('a'))
  const at = Number(await own.redis.hget('{tollgate}:beats', 'a'))
  expect(at).toBeGreaterThanOrEqual(before)
  expect(at).toBeLessThanOrEqual(await now())
})

it('a process leaves nothing behind if what it reports cannot be kept', async () => {
  const store = await open()
  await own.redis.rpush('{tollgate}:replicas', 'x')
  await expect(store.beat(replica('a'))).rejects.toThrow('WRONGTYPE')
  expect(await own.redis.exists('{tollgate}:beats')).toBe(0)
})
