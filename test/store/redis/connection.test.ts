import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect, it, vi } from 'vitest'
import { bucketStart, NOTHING } from '../../../src/failures/histogram.ts'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Batch } from '../../../src/quota/charge.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { atEnd } from '../../setup/at-end.ts'
import { startFaultProxy } from '../../setup/fault-proxy.ts'
import { FORGETFUL, freePort, PERSISTENT, startRedis } from '../../setup/redis.ts'
import { OwnRedis } from './own-redis.ts'
import { whenReady } from './ready.ts'

const own = new OwnRedis()

const open = (url: string, seen: Observation[] = [], deadlineMs = 5000): Store => own.open({ url, seen, deadlineMs })
/** Connection ids of the server's clients, without the test's own. */
async function connections(): Promise<string[]> {
  const mine = String(await own.redis.client('ID'))
  const list = String(await own.redis.client('LIST', 'TYPE', 'NORMAL'))
  return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => id ?? '').filter((id) => id !== mine)
}
/** The server, which calls itself another version. @param version of three characters */
async function relay(version: string): Promise<string> {
  const listener = net.createServer((client) => {
    const upstream = net.connect(own.server.port, '127.0.0.1')
    client.pipe(upstream)
    // As many bytes as before: the length of the reply stands in front of it.
    const renamed = (piece: Buffer): string =>
      piece.toString('latin1').replace(/^(redis_version:)\d\.\d/m, `$1${version}`)
    upstream.on('data', (piece: Buffer) => client.write(renamed(piece), 'latin1'))
    client.on('error', () => {}).on('close', () => upstream.destroy())
    upstream.on('error', () => {}).on('close', () => client.destroy())
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  atEnd(() => listener.close())
  return `redis://127.0.0.1:${(listener.address() as AddressInfo).port}`
}
/** Has the server evict counters, which the operator is warned of. @returns ends that, as the end of the test does */
async function evict(): Promise<() => Promise<void>> {
  await own.redis.config('SET', 'maxmemory', '100mb')
  await own.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
  return atEnd(async () => {
    await own.redis.config('SET', 'maxmemory', '0')
    await own.redis.config('SET', 'maxmemory-policy', 'noeviction')
  })
}
/** A batch without charges. */
function nothing(sequence: number): Batch {
  return { instance: 'connection', sequence, refunds: [], charges: [] }
}
/** The warnings of the store, each once: a connection that is lost on a busy machine repeats them, and the server may look far away on one. */
function told(seen: readonly Observation[]): string[] {
  return [...new Set(seen.flatMap((o) => (o.type === 'store_warning' && o.warning !== 'far' ? [o.message] : [])))]
}

describe('the connection to Redis', () => {
  it('the connection to Redis outlives an idle time longer than any deadline', async () => {
    const seen: Observation[] = []
    const store = open(own.server.url, seen, 1000)
    await whenReady(store)
    const before = await connections()
    await sleep(2500)
    await store.ping()
    expect(before).toHaveLength(1)
    expect(await connections()).toEqual(before)
    expect(seen).toEqual([{ type: 'store_connected' }])
  })

  it('the connection to Redis gives the reply that came while this process was held up for longer than a deadline', async () => {
    const store = open(own.server.url, [], 100)
    await whenReady(store)
    // Redis has the script: one that it lacks is sent behind a first reply, and has a deadline of its own.
    const settled = (): Promise<boolean> =>
      store.settle(nothing(1)).then(
        () => true,
        () => false,
      )
    await vi.waitUntil(settled, { timeout: 20_000 })
    const sent = new Promise((resolve) => setImmediate(resolve))
    const asked = [store.ping(), store.readUsage('alice', ['read']), store.listTokens(), store.settle(nothing(2))]
    await sent
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900)
    expect(await Promise.allSettled(asked)).toEqual(asked.map(() => expect.objectContaining({ status: 'fulfilled' })))
  })

  it('the connection to Redis is made anew at most once a second while Redis takes no writes, however often it is asked', async () => {
    const store = open(own.server.url)
    await whenReady(store)
    const received = async (): Promise<number> =>
      Number(/total_connections_received:(\d+)/.exec(String(await own.redis.info('stats')))?.[1])
    const before = await received()
    await own.redis.call('REPLICAOF', '127.0.0.1', '1')
    const since = performance.now()
    try {
      let made = 0
      while (made < 3) {
        await store.addTally({ ...NOTHING, total: 1 }).catch(() => {})
        made = (await received()) - before
        await sleep(10)
      }
      expect(made - 1).toBeLessThanOrEqual((performance.now() - since) / 1000)
    } finally {
      await own.redis.call('REPLICAOF', 'NO', 'ONE')
    }
  })

  it('the connection to Redis is given up when Redis swallows what is sent, so that a new one can be tried', async () => {
    const store = open(own.server.url, [], 250)
    await whenReady(store)
    const [before] = await connections()
    process.kill(own.server.pid, 'SIGSTOP')
    try {
      const asked = [store.ping(), store.settle(nothing(3))]
      const silent = { status: 'rejected', reason: { reason: 'timeout', applied: 'unknown' } }
      expect(await Promise.allSettled(asked)).toMatchObject([silent, silent])
      await sleep(1200)
    } finally {
      process.kill(own.server.pid, 'SIGCONT')
    }
    await whenReady(store)
    expect(await connections()).not.toContain(before)
  })

  it('the connection to Redis is made without a restart when Redis comes up later', async () => {
    const port = await freePort()
    const seen: Observation[] = []
    const store = open(`redis://127.0.0.1:${port}`, seen)
    await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError', reason: 'connection', applied: 'no' })
    const refused = { type: 'store_failed', operation: 'connect', reason: 'connection' }
    await expect.poll(() => seen).toContainEqual(expect.objectContaining(refused))
    await startRedis({ port })
    await whenReady(store)
    await store.close()
  })

  it('the connection to Redis that is silent now is reported as that, and not by what a connection met before', async () => {
    const port = await freePort()
    const seen: Observation[] = []
    const store = open(`redis://127.0.0.1:${port}`, seen, 250)
    await expect.poll(() => seen).toContainEqual(expect.objectContaining({ type: 'store_failed' }))
    const late = await startRedis({ port })
    try {
      await whenReady(store)
      process.kill(late.pid, 'SIGSTOP')
      await expect(store.ping()).rejects.toThrow(/^Redis did not answer in time$/)
    } finally {
      process.kill(late.pid, 'SIGCONT')
      await late.stop()
    }
  })

  it('the connection to Redis with a wrong password is an error of each call, and reported', async () => {
    const locked = await startRedis({ args: ['--requirepass', 'right'] })
    const seen: Observation[] = []
    const wrong = open(`redis://:wrong@127.0.0.1:${locked.port}`, seen)
    const refused = { type: 'store_failed', message: expect.stringContaining('WRONGPASS') }
    await expect.poll(() => seen).toContainEqual(expect.objectContaining(refused))
    await expect(wrong.ping()).rejects.toThrow(
      /^no connection to Redis: WRONGPASS .* Cure: set the user and the password/,
    )
    await whenReady(open(`redis://:right@127.0.0.1:${locked.port}`))
  })

  it.each([
    ['there is no such database', '', '999', 'DB index is out of range'],
    ['its user may not select', 'narrow:pw@', '1', 'NOPERM'],
  ])('to a database of its URL never serves another one: %s', async (_, login, database, told) => {
    await own.redis.acl('SETUSER', 'narrow', 'on', '>pw', '~*', '+@all', '-select')
    const seen: Observation[] = []
    const store = open(`redis://${login}127.0.0.1:${own.server.port}/${database}`, seen)
    const until = performance.now() + 1500
    while (performance.now() < until || seen.length === 0) {
      await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError', applied: 'no' })
      await sleep(5)
    }
    expect(seen).not.toContainEqual({ type: 'store_connected' })
    expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(1)
    expect(seen[0]).toMatchObject({ type: 'store_failed', message: expect.stringContaining(told) })
    await expect(store.ping()).rejects.toThrow(told)
  })

  it('the connection to Redis fails every call after it was closed', async () => {
    const store = open(own.server.url)
    await whenReady(store)
    await store.close()
    await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError' })
  })
})

describe('the operator', () => {
  it('the operator is warned of a server that may evict counters', async () => {
    await evict()
    const seen: Observation[] = []
    await whenReady(open(own.server.url, seen))
    await expect.poll(() => told(seen)).toEqual([expect.stringContaining('maxmemory-policy is allkeys-lru')])
  })

  describe('with a password that Redis does not ask for', () => {
    const warning = expect.stringMatching(/^Redis asks for no password.*: set requirepass/)

    it.each(['redis://:pw@', 'redis://default:pw@'])(
      'the operator with a password that Redis does not ask for is warned that it protects nobody: %s',
      async (begin) => {
        const seen: Observation[] = []
        await whenReady(open(`${begin}127.0.0.1:${own.server.port}`, seen))
        await expect.poll(() => told(seen)).toEqual([warning])
      },
    )

    it('the operator with a password that Redis does not ask for is warned in the log alone, also if Redis has no HELLO', async () => {
      const printed = vi.spyOn(console, 'warn').mockImplementation(() => {})
      atEnd(() => printed.mockRestore())
      const old = await startRedis({ args: ['--rename-command', 'HELLO', ''] })
      const seen: Observation[] = []
      await whenReady(open(`redis://:pw@127.0.0.1:${old.port}`, seen))
      await expect.poll(() => told(seen)).toEqual([warning])
      expect(printed).not.toHaveBeenCalled()
    })

    it('the operator with a password that Redis does not ask for is not warned once Redis asks for it', async () => {
      await own.redis.acl('SETUSER', 'default', 'resetpass', '>pw')
      atEnd(() => own.redis.acl('SETUSER', 'default', 'nopass'))
      await evict()
      const seen: Observation[] = []
      await whenReady(open(`redis://:pw@127.0.0.1:${own.server.port}`, seen))
      // Told after it would have been.
      await expect.poll(() => told(seen)).toEqual([expect.stringContaining('maxmemory-policy')])
    })
  })

  it.each([
    ['5.9', ['Redis 5.9 is too old: 6.2 or newer is needed']],
    ['6.1', ['Redis 6.1 is too old: 6.2 or newer is needed']],
    ['6.2', []],
    ['7.0', []],
  ])(
    'the operator is warned of a server that is too old, and not of the first that is not: %s',
    async (version, warnings) => {
      const url = await relay(version)
      // Told after the version, so that a version which is not told of has been looked at.
      await evict()
      const seen: Observation[] = []
      await whenReady(open(url, seen))
      await expect.poll(() => told(seen)).toContainEqual(expect.stringContaining('maxmemory-policy'))
      // Each look tells them anew.
      expect(told(seen).slice(0, warnings.length + 1)).toEqual([
        ...warnings,
        expect.stringContaining('maxmemory-policy'),
      ])
    },
  )

  describe('with a Redis that keeps nothing on disk', () => {
    const warning = expect.stringMatching(/^Redis keeps nothing on disk.*: when it starts anew, .* set its appendonly/)
    // Looked at before what is on disk, so that whoever is warned of this alone is not warned of the other.
    const before = expect.stringContaining('maxmemory-policy')

    async function warned(
      of: readonly unknown[],
      args: readonly string[] = FORGETFUL,
      rights = '+@all',
    ): Promise<void> {
      const redis = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru', ...args] })
      const other = new Redis(redis.url, { disableClientInfo: true })
      atEnd(() => other.disconnect())
      await other.acl('SETUSER', 'tollgate', 'on', '>secret', '~*', '&*', '+@all', rights)
      const seen: Observation[] = []
      const store = open(redis.url.replace('//', '//tollgate:secret@'), seen)
      await whenReady(store)
      await expect.poll(() => told(seen), { timeout: 30_000 }).toContainEqual(before)
      await sleep(100) // two questions follow
      // Each look tells them anew, and a slow machine may have looked more than once.
      await expect.poll(() => told(seen), { timeout: 30_000 }).toEqual(of)
      expect(await other.acl('LOG')).toEqual([])
    }

    it('the operator with a Redis that keeps nothing on disk is warned of it', () => warned([before, warning]))
    it.each([
      ['save points', []],
      ['an append-only file', PERSISTENT],
    ])('the operator with a Redis that keeps nothing on disk is not warned once it has %s', (_, args) =>
      warned([before], args),
    )
    it('the operator with a Redis that keeps nothing on disk is not warned if the rights hide it, and ACL LOG has no entry of the look', () =>
      warned([before], FORGETFUL, '-config'))
  })

  it('the operator is warned of nothing if nothing is ever evicted', async () => {
    await own.redis.config('SET', 'maxmemory', '100mb')
    const seen: Observation[] = []
    await whenReady(open(own.server.url, seen))
    await sleep(100) // the check follows the connection
    expect(told(seen)).toEqual([])
    await own.redis.config('SET', 'maxmemory', '0')
    await own.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await whenReady(open(own.server.url, seen))
    await sleep(100)
    expect(told(seen)).toEqual([])
    await own.redis.config('SET', 'maxmemory-policy', 'noeviction')
  })
})

it('what is wrong with a server that runs is noticed, and that it is mended', async () => {
  const seen: string[] = []
  const begun = (o: Observation) => void (o.type === 'store_warning' && seen.push(o.warning))
  const onChecked = (all: ReadonlySet<string>) => void (all.size === 0 && seen.push('none'))
  const store = openRedisStore({ url: own.server.url, deadlineMs: 5000, observe: begun, onChecked, checkMs: 20 })
  own.endsWithTheTest(store)
  await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe('none')
  const mend = await evict()
  await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe('eviction')
  await mend()
  await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe('none')
})

it('a server that takes more than half of the deadline to respond is far away, until it is near again', async () => {
  const proxy = await startFaultProxy(own.server.port)
  const seen: Observation[] = []
  const over: string[] = []
  const onChecked = (all: ReadonlySet<string>) => void over.push([...all].join())
  const url = `redis://127.0.0.1:${proxy.port}`
  proxy.delay(150)
  own.endsWithTheTest(openRedisStore({ url, deadlineMs: 500, observe: (o) => seen.push(o), onChecked, checkMs: 20 }))
  await expect.poll(() => over.at(-1)).toBe('far')
  expect(seen).toContainEqual({
    type: 'store_warning',
    warning: 'far',
    message: expect.stringMatching(
      /^Redis takes 3\d\d ms to respond, more than half of store_options.deadline \(500 ms\)/,
    ),
  })
  proxy.delay(0)
  await expect.poll(() => over.at(-1)).toBe('')
  await proxy.close()
})

it('keys that a server evicts are told, each once, also where its policy is another one again', async () => {
  const small = await startRedis()
  const client = new Redis(small.url)
  const seen: Observation[] = []
  const checked = { looks: 0 }
  const onChecked = (): void => void checked.looks++
  const observe = (o: Observation) => void seen.push(o)
  const store = openRedisStore({ url: small.url, deadlineMs: 5000, observe, onChecked, checkMs: 20 })
  own.endsWithTheTest(store)
  const keys = (): number => seen.reduce((sum, one) => sum + (one.type === 'keys_evicted' ? one.keys : 0), 0)
  const evicted = async (): Promise<number> => Number(/evicted_keys:(\d+)/.exec(await client.info('stats'))?.[1])
  await expect.poll(() => checked.looks, { timeout: 20_000 }).toBeGreaterThan(1)
  for (let bout = 0; bout < 2; bout++) {
    for (let i = 0; i < 200; i++) await client.set(`other-${bout}-${i}`, 'x'.repeat(1000))
    await client.config('SET', 'maxmemory-policy', 'allkeys-random')
    await client.config('SET', 'maxmemory', '1')
    await client.get('other')
    await client.config('SET', 'maxmemory', '0')
    await client.config('SET', 'maxmemory-policy', 'noeviction')
    const all = await evicted()
    expect(all).toBeGreaterThan(0)
    await expect.poll(keys, { timeout: 20_000 }).toBe(all)
  }
  client.disconnect()
  await small.stop()
})

it('the clock is that of Redis, whatever this process takes for the time', async () => {
  const store = open(own.server.url)
  await whenReady(store)
  const limits = {
    personal: [{ window: { name: '1d', seconds: 86_400 }, limit: 10 }],
    organisation: null,
    global: null,
  }
  const charges = [{ user: 'clock', organisation: null, category: 'read', cost: 1, limits }]
  const before = Number((await own.redis.time())[0]) * 1000
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2099, 0, 1) })
  try {
    const [decision] = await store.settle({ instance: 'clock', sequence: 1, refunds: [], charges })
    await store.addTally({ ...NOTHING, total: 1 })
    const { buckets, at } = await store.readTallies()
    const snapshot = await store.readUsage('clock', ['read'])
    const after = Number((await own.redis.time())[0]) * 1000 + 1000
    for (const moment of [decision?.at ?? 0, decision?.personal[0]?.startedAt ?? 0, at, snapshot.at]) {
      expect(moment).toBeGreaterThanOrEqual(before)
      expect(moment).toBeLessThanOrEqual(after)
    }
    expect(buckets).toEqual([{ ...NOTHING, start: bucketStart(at), total: 1 }])
  } finally {
    vi.useRealTimers()
  }
})
