import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NOTHING } from '../../../src/failures/histogram.ts'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Charge, Decision } from '../../../src/quota/charge.ts'
import { usageOf } from '../../../src/quota/counter.ts'
import { createLedger } from '../../../src/quota/ledger/ledger.ts'
import type { Ledger } from '../../../src/quota/ledger/ledger-contract.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { keepAccessKey } from '../../control/keep-access-key.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { atEnd, tempFolder } from '../../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../../setup/fault-proxy.ts'
import { freePort, PERSISTENT, type RedisServer, startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

/** Long enough that no window ends, and a limit that only the tests of refusals reach. */
const DAY = { name: '1d', seconds: 86_400 }
const LIMITS = {
  personal: [{ window: DAY, limit: 10_000 }],
  organisation: null,
  global: [{ window: DAY, limit: 1_000_000 }],
}
const charge = (cost = 1, user = 'alice'): Charge => chargeOf({ user, cost, limits: LIMITS })

let server: RedisServer
let proxy: FaultProxy
let admin: Redis

beforeAll(async () => {
  // Every acknowledged write is in the file, so that a killed server comes back with all of them.
  server = await startRedis({ port: await freePort(), args: ['--dir', tempFolder(), ...PERSISTENT] })
  proxy = await startFaultProxy(server.port)
  admin = new Redis(server.url, { maxRetriesPerRequest: null }).on('error', () => {})
  atEnd(() => admin.disconnect())
})

let store: Store
let ledger: Ledger
let seen: Observation[]
let opened = 0
let prefix: string
beforeEach(async () => {
  seen = []
  prefix = `faults-${++opened}`
  store = openRedisStore({
    url: `redis://127.0.0.1:${proxy.port}`,
    prefix,
    deadlineMs: 250,
    observe: (o) => seen.push(o),
  })
  await whenReady(store)
  ledger = open(5000)
})
afterEach(async () => {
  proxy.heal()
  await ledger.close(5000)
  await store.close()
})

function open(deadlineMs: number): Ledger {
  return createLedger({ store, instance: `ledger-${++opened}`, deadlineMs, observe: (o) => seen.push(o) })
}

/** Used tokens of everybody and of each user, read past the proxy. */
async function used(users: readonly string[] = ['alice']): Promise<{ all: number; each: number[] }> {
  const direct = openRedisStore({ url: server.url, prefix, deadlineMs: 5000, observe: () => {} })
  await whenReady(direct)
  const snapshots = await Promise.all(users.map((user) => direct.readUsage(user, ['read'])))
  await direct.close()
  const of = (counter: Parameters<typeof usageOf>[0] | undefined, at: number): number =>
    usageOf(counter ?? [], DAY, at).used
  return {
    all: of(snapshots[0]?.global[0], snapshots[0]?.at ?? 0),
    each: snapshots.map((s) => of(s.personal[0], s.at)),
  }
}

/** Charges one token for each of some users again and again while `upset` happens, and says how many were accepted for each. */
async function underLoad(upset: () => Promise<void>, users = ['alice', 'bob', 'carol']): Promise<number[]> {
  let done = false
  const accepted = users.map(() => 0)
  const clients = users.flatMap((user, i) =>
    Array.from({ length: 4 }, async () => {
      while (!done) {
        const decision: Decision | null = await ledger.charge(charge(1, user)).catch(() => null)
        if (decision?.accepted) accepted[i] = (accepted[i] ?? 0) + 1
        await sleep(1)
      }
    }),
  )
  // A slow machine needs more than these 50 ms to begin.
  for (let ms = 0; ms < 5000 && (ms < 50 || !accepted.some((n) => n > 0)); ms += 10) await sleep(10)
  await upset()
  await sleep(100)
  done = true
  await Promise.all(clients)
  return accepted
}

/** What callers were told is what the store has, once the ledger has given back what nobody was told of. */
async function expectExact(accepted: number[]): Promise<void> {
  await ledger.close(10_000)
  const sum = accepted.reduce((a, b) => a + b, 0)
  expect(sum).toBeGreaterThan(0)
  expect(await used(['alice', 'bob', 'carol'])).toEqual({ all: sum, each: accepted })
}

describe('a charge', () => {
  it('a charge whose reply is lost is charged once', async () => {
    const before = proxy.dropped
    proxy.dropReply()
    expect(await ledger.charge(charge(7))).toMatchObject({ accepted: true, personal: [{ used: 7 }] })
    expect(proxy.dropped).toBe(before + 1)
    expect(await used()).toEqual({ all: 7, each: [7] })
    expect(seen).toContainEqual({ type: 'outcome_unknown', charges: 1, settled: true })
  })

  it('a charge whose request is lost is charged once, after it was sent again', async () => {
    const before = proxy.dropped
    proxy.dropRequest()
    expect(await ledger.charge(charge(7))).toMatchObject({ accepted: true, personal: [{ used: 7 }] })
    expect(proxy.dropped).toBe(before + 1)
    expect(await used()).toEqual({ all: 7, each: [7] })
  })

  it('a charge that nobody waits for any more is given back when the store responds again', async () => {
    const impatient = open(100)
    proxy.blackhole()
    await expect(impatient.charge(charge(7))).rejects.toMatchObject({ name: 'StoreError', reason: 'timeout' })
    proxy.heal()
    await impatient.close(5000)
    expect(await used()).toEqual({ all: 0, each: [0] })
  })

  it('a charge that is settled after a flush of the scripts is charged once', async () => {
    await ledger.charge(charge(1))
    await admin.script('FLUSH')
    expect(await ledger.charge(charge(7))).toMatchObject({ accepted: true })
    expect(await used()).toEqual({ all: 8, each: [8] })
    expect(seen.filter((o) => o.type === 'store_failed')).toEqual([])
  })
})

describe('every decision a caller was given is in the store, and nothing else', () => {
  it('when requests and replies are lost', async () => {
    const accepted = await underLoad(async () => {
      for (let i = 0; i < 10; i++) {
        if (i % 2 === 0) proxy.dropReply()
        else proxy.dropRequest()
        await sleep(100)
      }
    })
    await expectExact(accepted)
  })

  it('when connections are reset', async () => {
    const accepted = await underLoad(async () => {
      for (let i = 0; i < 20; i++) {
        proxy.reset()
        await sleep(40)
      }
    })
    await expectExact(accepted)
  })

  it('when replies come later than the deadline', async () => {
    ledger = open(100)
    const accepted = await underLoad(async () => {
      proxy.delay(200)
      await sleep(700)
      proxy.heal()
    })
    await expectExact(accepted)
  })

  it('when nothing passes for a while', async () => {
    ledger = open(100)
    const accepted = await underLoad(async () => {
      proxy.blackhole()
      await sleep(1500)
      proxy.heal()
    })
    await expectExact(accepted)
  })

  it('when scripts are flushed', async () => {
    const accepted = await underLoad(async () => {
      for (let i = 0; i < 10; i++) {
        await admin.script('FLUSH')
        await sleep(20)
      }
    })
    await expectExact(accepted)
  })

  it('when Redis is stopped and goes on', async () => {
    ledger = open(200)
    const accepted = await underLoad(async () => {
      process.kill(server.pid, 'SIGSTOP')
      await sleep(1500)
      process.kill(server.pid, 'SIGCONT')
    })
    await expectExact(accepted)
  })

  it('when Redis is killed and started again', async () => {
    ledger = open(200)
    const accepted = await underLoad(async () => {
      await server.kill('SIGKILL')
      await sleep(500)
      await server.restart()
    })
    await expectExact(accepted)
  })

  it('when Redis becomes a replica and a primary again', async () => {
    ledger = open(200)
    const accepted = await underLoad(async () => {
      await admin.call('REPLICAOF', '127.0.0.1', '1')
      await sleep(500)
      await admin.call('REPLICAOF', 'NO', 'ONE')
    })
    await expectExact(accepted)
  })

  it('when Redis runs out of memory', async () => {
    ledger = open(200)
    const accepted = await underLoad(async () => {
      await admin.config('SET', 'maxmemory', '1')
      await sleep(400)
      await admin.config('SET', 'maxmemory', '0')
    })
    await expectExact(accepted)
  })
})

describe('a batch that Redis will not write', () => {
  const batch = { instance: 'direct', sequence: 1, refunds: [], charges: [charge(5, 'alice'), charge(5, 'bob')] }
  const keys = (): Promise<string[]> => admin.keys(`{${prefix}}*`)

  it('as a read-only replica fails whole, and is applied once when the server is a primary again', async () => {
    await admin.call('REPLICAOF', '127.0.0.1', '1')
    await expect(store.settle(batch)).rejects.toMatchObject({ name: 'StoreError', reason: 'readonly', applied: 'no' })
    expect(await keys()).toEqual([])
    await admin.call('REPLICAOF', 'NO', 'ONE')
    await whenReady(store)
    expect((await store.settle(batch)).map((d) => d.accepted)).toEqual([true, true])
    expect(await used(['alice', 'bob'])).toEqual({ all: 10, each: [5, 5] })
  })

  it('for want of memory fails whole', async () => {
    await admin.config('SET', 'maxmemory', '1')
    await expect(store.settle(batch)).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'out_of_memory',
      applied: 'no',
    })
    await expect(keepAccessKey(store, token())).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'out_of_memory',
      applied: 'no',
    })
    expect(await keys()).toEqual([])
    await admin.config('SET', 'maxmemory', '0')
    expect((await store.settle(batch)).map((d) => d.accepted)).toEqual([true, true])
  })

  it('for want of memory says what it holds all the same', async () => {
    await store.settle(batch)
    await store.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'ann', why: null }, null)
    await store.addTally({ total: 3, status0: 0, status5xx: 1, status4xx: 0, aside: 0, asideFailed: 0 })
    const counts = { requests: 0, refused: 0, shadowed: 0, tokens: 0, forwarded: 0, failed: 0, inFlight: 0 }
    const own = { instance: 'i', host: 'h', pid: 1, version: 'v', hash: 'x', controlVersion: 0, startedAt: 1 }
    await store.beat({ ...own, ready: true, reasons: [], configProblems: [], counts, hits: {}, unmatched: [] })
    await admin.config('SET', 'maxmemory', '1')
    expect(await store.readUsage('alice', ['read'])).toMatchObject({ personal: [[{ used: 5 }]] })
    expect(await store.controlVersion()).toMatchObject({ version: 1 })
    expect(await store.readControl()).toMatchObject({ settings: { version: 1, value: { mode: 'loose' } } })
    expect(await store.readTallies()).toMatchObject({ buckets: [{ total: 3, status5xx: 1 }] })
    expect(await store.listReplicas()).toMatchObject([{ instance: 'i' }])
    expect((await store.scanUsers(null)).owners.map(({ id }) => id).sort()).toEqual(['alice', 'bob'])
    await admin.config('SET', 'maxmemory', '0')
  })

  function token() {
    return { id: 'i', hash: 'h', user: 'alice', name: 'n', createdAt: 1, expiresAt: null, revokedAt: null }
  }
})

describe('while the store is out of reach', () => {
  it('a refund waits, and arrives once', async () => {
    const patient = open(1000)
    const accepted = charge(40)
    const decision = await patient.charge(accepted)
    await patient.charge(charge(2))
    proxy.blackhole()
    patient.refund({ charge: accepted, decision })
    // The client may have given the connection up meanwhile.
    await expect(patient.charge(charge(1))).rejects.toMatchObject({
      reason: expect.stringMatching(/^(timeout|connection)$/),
    })
    proxy.reset()
    await sleep(300)
    proxy.heal()
    await patient.close(5000)
    expect(await used()).toEqual({ all: 2, each: [2] })
  })

  it('every call of the store fails in bounded time', async () => {
    proxy.blackhole()
    const calls = [
      store.settle({ instance: 'direct', sequence: 1, refunds: [], charges: [charge()] }),
      store.readUsage('alice', ['read', 'write']),
      store.addTally({ ...NOTHING, total: 1 }),
      store.readTallies(),
      store.findTokens(['i']),
      store.readTokens(null),
      store.listTokens(),
      store.findTokenByHash('h'),
      store.ping(),
    ]
    const failure = { name: 'StoreError', applied: 'unknown' }
    await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject(failure)))
  })

  it('closing gives up after its grace', async () => {
    proxy.blackhole()
    const waiting = expect(ledger.charge(charge())).rejects.toMatchObject({ name: 'StoreError' })
    await sleep(20)
    await ledger.close(100)
    await waiting
  })
})

it('a demoted primary is left for a new connection, once a second at most and not at every refusal', async () => {
  const connections = async (): Promise<number> =>
    Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
  const before = await connections()
  await admin.call('REPLICAOF', '127.0.0.1', '1')
  ledger = open(100)
  const since = performance.now()
  let made = 0
  const afterAnother = async (): Promise<number> => {
    await ledger.charge(charge()).catch(() => {})
    made = (await connections()) - before
    return made
  }
  await expect.poll(afterAnother, { interval: 10 }).toBeGreaterThanOrEqual(2)
  const seconds = (performance.now() - since) / 1000
  await admin.call('REPLICAOF', 'NO', 'ONE')
  expect(made - 1).toBeLessThanOrEqual(seconds)
})
