import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { messageOf } from '../../../src/errors.ts'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Batch, Decision } from '../../../src/quota/charge.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { accessKeyStoreSuite, controlStoreSuite } from '../../control/control-store.suite.ts'
import { stagedOverridesSuite } from '../../control/staged-overrides.suite.ts'
import { failureStoreSuite } from '../../failures/failure-store.suite.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { quotaStoreSuite } from '../../quota/quota-store.suite.ts'
import { usageStoreSuite } from '../../quota/usage.suite.ts'
import { atEnd, closedAtEnd, tempFolder } from '../../setup/at-end.ts'
import { startFaultProxy } from '../../setup/fault-proxy.ts'
import { freePort, type RedisServer, startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

let opened = 0
async function open(url: string, prefix = `suite-${++opened}`) {
  const store = closedAtEnd(openRedisStore({ url, prefix, deadlineMs: 2000, observe: () => {} }))
  await whenReady(store)
  return { store, prefix, pass: (ms: number) => sleep(ms + 5), close: () => store.close() }
}

function batch(sequence: number, user = 'alice'): Batch {
  const limits = {
    personal: [{ window: { name: '1d', seconds: 86_400 }, limit: 10 }],
    organisation: null,
    global: null,
  }
  return { instance: 'failover', sequence, refunds: [], charges: [chargeOf({ user, cost: 6, limits })] }
}

/** Sends a batch again until the store has found its new primary. */
async function untilSettled(store: Store, batch: Batch): Promise<readonly Decision[]> {
  for (let tries = 0; ; tries++) {
    try {
      return await store.settle(batch)
    } catch (error) {
      if (tries > 300) throw error
      await sleep(50)
    }
  }
}

describe('the Redis store on a cluster', () => {
  const nodes: ClusterNode[] = []
  const clients: Redis[] = []
  let url: string

  beforeAll(async () => {
    const [primary, replica] = [await startNode(), await startNode()]
    nodes.push(primary, replica)
    clients.push(primary.client, replica.client)
    url = `redis+cluster://127.0.0.1:${primary.port},127.0.0.1:${replica.port}`
    const [one, two] = clients as [Redis, Redis]
    await one.cluster('ADDSLOTSRANGE', 0, 16_383)
    await one.call('CLUSTER', 'MEET', '127.0.0.1', String(replica.port), String(replica.busPort))
    const id = await one.cluster('MYID')
    while (!String(await two.cluster('NODES')).includes(String(id))) await sleep(50)
    await two.cluster('REPLICATE', id)
    await wholeCluster(one)
    while (!String(await two.info('replication')).includes('master_link_status:up')) await sleep(50)
  })

  // One primary checks as a thousand do that all keys of a script are in one slot.
  describe('as a quota store', () => quotaStoreSuite(() => open(url)))
  describe('as a failure store', () => failureStoreSuite(() => open(url)))
  describe('as a token store', () => accessKeyStoreSuite(() => open(url)))
  describe('as a usage store', () => usageStoreSuite(() => open(url)))
  describe('as a control store', () => {
    async function openTwo() {
      const one = await open(url)
      const two = await open(url, one.prefix)
      return {
        store: one.store,
        other: two.store,
        close: async () => void (await Promise.all([one.close(), two.close()])),
      }
    }
    controlStoreSuite(openTwo)
    stagedOverridesSuite(openTwo)
  })

  it('the Redis store on a cluster reports a change to other processes, whichever node they listen at', async () => {
    const one = await open(url)
    const others = await Promise.all([0, 1, 2, 3].map(() => open(url, one.prefix)))
    const heard = new Map<number, number>()
    others.forEach(({ store }, i) => {
      store.onChange(() => heard.set(i, (heard.get(i) ?? 0) + 1))
    })
    await expect.poll(() => heard.size, { timeout: 30_000 }).toBe(4)
    heard.clear()
    await one.store.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'ann', why: null }, null)
    await expect.poll(() => heard.size, { timeout: 30_000 }).toBe(4)
  })

  it('the Redis store on a cluster reports a password that no node asks for, in the log alone', async () => {
    const printed = vi.spyOn(console, 'warn').mockImplementation(() => {})
    atEnd(() => printed.mockRestore())
    const seen: Observation[] = []
    const store = closedAtEnd(
      openRedisStore({
        url: url.replace('://', '://:pw@'),
        deadlineMs: 2000,
        observe: (one) => seen.push(one),
      }),
    )
    await whenReady(store)
    const message = expect.stringContaining('Redis asks for no password')
    await expect
      .poll(() => seen, { timeout: 30_000 })
      .toContainEqual({ type: 'store_warning', warning: 'no_password', message })
    expect(printed).not.toHaveBeenCalled()
  })

  it('the Redis store on a cluster goes on with the replica when the primary dies', async () => {
    const { store } = await open(url)
    expect(await store.settle(batch(1))).toMatchObject([{ accepted: true }])
    const [one, two] = clients as [Redis, Redis]
    while ((await one.dbsize()) !== (await two.dbsize())) await sleep(50)
    await nodes[0]?.kill('SIGKILL')
    await two.cluster('FAILOVER', 'TAKEOVER')
    expect(await untilSettled(store, batch(2))).toMatchObject([{ accepted: false, personal: [{ used: 6 }] }])
  })
})

it('the Redis store on a cluster of two primaries finds its users on the one that holds them', async () => {
  const [a, b] = [await startNode(), await startNode()]
  await a.client.cluster('ADDSLOTSRANGE', 0, 8191)
  await b.client.cluster('ADDSLOTSRANGE', 8192, 16_383)
  await a.client.call('CLUSTER', 'MEET', '127.0.0.1', String(b.port), String(b.busPort))
  for (const { client } of [a, b]) await wholeCluster(client)
  // Of ten names, some lie on either.
  for (let i = 0; i < 10; i++) {
    const { store } = await open(`redis+cluster://127.0.0.1:${a.port}`, `quota-${i}`)
    // Only the other node may have a connection yet.
    await untilSettled(store, batch(1))
    await store.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'ann', why: null }, 0)
    const users: string[] = []
    for (let cursor: string | null = null; ; ) {
      const step: Awaited<ReturnType<Store['scanUsers']>> = await store.scanUsers(cursor)
      users.push(...step.owners.map(({ id }) => id))
      cursor = step.next
      if (cursor === null) break
    }
    expect(users).toEqual(['alice'])
  }
  const asOne = await Promise.all([a, b].map(({ port }) => settledOrNot(`redis://127.0.0.1:${port}`)))
  expect(asOne.sort()).toEqual([expect.stringMatching(/^MOVED .*write redis\+cluster:/), 'settled'])
  for (const { client } of [a, b]) expect(await client.dbsize()).toBeGreaterThan(0)
})

it('the rights that docs/stores.md names for a cluster suffice, and Redis denies nothing that is asked', async () => {
  const written = readFileSync('docs/stores.md', 'utf8')
  const [, first = ''] = /^ACL SETUSER tollgate on >PASSWORD ([^`]*)^```/m.exec(written) ?? []
  const [, more = ''] = /In a cluster add (.*?)\. If /.exec(written) ?? []
  const node = await startNode()
  await node.client.cluster('ADDSLOTSRANGE', 0, 16_383)
  await wholeCluster(node.client)
  await node.client.acl('SETUSER', 'tollgate', 'on', '>secret', ...first.trim().split(/\s+/))
  for (const [, right = ''] of more.matchAll(/`(\+[^`]+)`/g)) {
    // A version before 7.2 neither has this command nor takes a right to it.
    const granted = await node.client.acl('SETUSER', 'tollgate', right).catch(messageOf)
    if (right !== '+client|setinfo') expect(granted, right).toBe('OK')
  }
  const { store } = await open(`redis+cluster://tollgate:secret@127.0.0.1:${node.port}`, 'tollgate')
  expect(await untilSettled(store, batch(1))).toMatchObject([{ accepted: true }])
  let heard = 0
  store.onChange(() => heard++)
  await expect.poll(() => heard, { timeout: 30_000 }).toBe(1)
  expect(await node.client.acl('LOG')).toEqual([])
})

it('the Redis store on a cluster without free memory still knows which sessions have ended, and whom credentials named', async () => {
  const node = await startNode()
  await node.client.cluster('ADDSLOTSRANGE', 0, 16_383)
  await wholeCluster(node.client)
  const { store } = await open(`redis+cluster://127.0.0.1:${node.port}`)
  await store.endSession('s1', 60_000)
  await store.noteMemberships([{ user: 'alice', plan: 'pro', organisation: 'acme' }], 60_000)
  await node.client.config('SET', 'maxmemory', '1')
  expect([await store.isSessionEnded('s1'), await store.isSessionEnded('s2')]).toEqual([true, false])
  expect(await store.readMemberships(['alice'])).toMatchObject([{ plan: 'pro' }])
  expect(await store.readNamed(['acme'])).toMatchObject([{ plan: 'pro' }])
})

it('the Redis store on a cluster is asked at the node that has its keys, and warns of what it finds there', async () => {
  const more = ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru']
  const [ours, other] = [await startNode({ more }), await startNode({ more })]
  const warnings: string[] = []
  await ours.client.cluster('ADDSLOTSRANGE', 0, 16_382)
  await other.client.cluster('ADDSLOTS', 16_383)
  await ours.client.call('CLUSTER', 'MEET', '127.0.0.1', String(other.port), String(other.busPort))
  for (const { client } of [ours, other]) await wholeCluster(client)
  const store = closedAtEnd(
    openRedisStore({
      url: `redis+cluster://127.0.0.1:${other.port}`,
      observe: (seen) => {
        // As a gateway does, and every one of its parts at the same moment.
        if (seen.type === 'store_connected') for (let i = 0; i < 4; i++) store.ping().catch(() => {})
        if (seen.type === 'store_warning') warnings.push(seen.message)
      },
    }),
  )
  await whenReady(store)
  await expect.poll(() => warnings).toEqual([expect.stringMatching(/^maxmemory-policy is allkeys-lru/)])
  await ours.kill('SIGKILL')
  await expect
    .poll(() =>
      Promise.all(
        Array.from({ length: 10 }, () =>
          store.ping().then(
            () => 1,
            () => 0,
          ),
        ),
      ),
    )
    .toEqual(Array.from({ length: 10 }, () => 0))
})

it('a batch whose reply a cluster lost may have been applied, although no node is there to be asked again', async () => {
  const port = await freePort()
  const proxy = await startFaultProxy(port)
  const { client } = await startNode({ port, more: ['--cluster-announce-port', String(proxy.port)] })
  await client.cluster('ADDSLOTSRANGE', 0, 16_383)
  await wholeCluster(client)
  const { store, prefix } = await open(`redis+cluster://127.0.0.1:${proxy.port}`)
  proxy.dropReply({ containing: 'alice' })
  const settled = store.settle(batch(1)).catch((error: unknown) => error)
  while ((await client.exists(`{${prefix}}:c:alice`)) === 0) await sleep(1)
  await proxy.refuseConnects()
  expect(await settled).toMatchObject({ name: 'StoreError', reason: 'connection', applied: 'unknown' })
  await proxy.heal()
  expect(await untilSettled(store, batch(1))).toMatchObject([{ accepted: true, personal: [{ used: 6 }] }])
})

async function settledOrNot(url: string): Promise<string> {
  const { store } = await open(url, 'one')
  return store.settle(batch(1)).then(
    () => 'settled',
    (error: Error) => error.message,
  )
}

it.each([
  ['of a Redis that is none', [], /cluster support disabled\. Cure: write redis:/],
  ['that wants a password', ['--requirepass', 'secret'], /NOAUTH .* Cure: set the user and the password/],
])('the Redis store says why it finds no cluster: %s', async (_what, args, words) => {
  const redis = await startRedis({ args })
  const told: string[] = []
  closedAtEnd(
    openRedisStore({
      url: `redis+cluster://127.0.0.1:${redis.port}`,
      observe: (seen) => {
        if (seen.type === 'store_failed') told.push(seen.message)
      },
    }),
  )
  await expect.poll(() => told[0]).toMatch(words)
})

it('the Redis store leaves a primary that sentinels have replaced, and that goes on taking charges', async () => {
  const primary = await startRedis()
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
  const sentinel = await startSentinel(primary.port)
  const [old, watch] = [clientOf(primary.port), clientOf(sentinel)]
  const role = async (): Promise<string> => String(await old.info('replication'))
  const { store, prefix, close } = await open(`redis+sentinel://127.0.0.1:${sentinel}/quota`)
  while (!/master-link-status,ok/.test(String(await watch.call('SENTINEL', 'REPLICAS', 'quota')))) await sleep(100)
  let heard = 0
  store.onChange(() => heard++)
  await expect.poll(() => heard, { timeout: 30_000 }).toBe(1)
  await store.settle(batch(1))
  await replicated(replica, primary)

  await watch.call('SENTINEL', 'FAILOVER', 'quota')
  await becomesPrimary(replica)
  const ours = clientOf(replica.port)
  for (let sequence = 2; Number(await ours.exists(`{${prefix}}:c:user-${sequence - 1}`)) === 0; sequence++) {
    await untilSettled(store, batch(sequence, `user-${sequence}`))
  }
  expect(await role()).toContain('role:master')
  await expect.poll(() => heard).toBeGreaterThan(1)
  expect(await role()).toContain('role:master')

  await close()
  const connections = async () =>
    String(await watch.call('CLIENT', 'LIST'))
      .trim()
      .split('\n').length
  await expect.poll(connections).toBe(1)
})

it('the Redis store finds the new primary also if it hears of it while it asks a sentinel', async () => {
  const primary = await startRedis()
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
  const sentinel = await startSentinel(primary.port)
  const proxy = await startFaultProxy(sentinel)
  const [asked, watch] = [clientOf(sentinel), clientOf(sentinel)]
  const { store } = await open(`redis+sentinel://127.0.0.1:${proxy.port}/quota`)
  while (!/master-link-status,ok/.test(String(await asked.call('SENTINEL', 'REPLICAS', 'quota')))) await sleep(100)
  expect(await store.settle(batch(1))).toMatchObject([{ accepted: true }])
  await replicated(replica, primary)
  // What the sentinel tells of its own accord waits here from now on, and so does each question.
  proxy.blackhole()
  const { connections } = proxy
  await primary.kill('SIGKILL')
  await expect.poll(() => proxy.connections).toBeGreaterThan(connections)
  const told = once(watch, 'message')
  await watch.subscribe('+switch-master')
  await asked.call('SENTINEL', 'FAILOVER', 'quota')
  await told
  await proxy.heal()
  expect(await untilSettled(store, batch(2))).toMatchObject([{ accepted: false, personal: [{ used: 6 }] }])
})

it('the Redis store asks the next sentinel if one takes its question and says nothing', async () => {
  const primary = await startRedis()
  const sentinel = await startSentinel(primary.port)
  const stopped = await startFaultProxy(sentinel)
  stopped.blackhole()
  const sentinels = [stopped.port, sentinel].map((port) => `127.0.0.1:${port}`)
  const store = closedAtEnd(openRedisStore({ url: `redis+sentinel://${sentinels}/quota`, observe: () => {} }))
  await whenReady(store)
  expect(await store.settle(batch(1))).toMatchObject([{ accepted: true }])
  expect(stopped.connections).toBeGreaterThan(1) // one subscribes, the other asks
})

describe('the Redis store behind sentinels', () => {
  let primary: RedisServer
  let replica: RedisServer
  let sentinel: number
  beforeAll(async () => {
    primary = await startRedis()
    replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
    sentinel = await startSentinel(primary.port)
  })

  it('the Redis store behind sentinels finds the primary, and the new one after a failover', async () => {
    const { store } = await open(`redis+sentinel://127.0.0.1:${sentinel}/quota`)
    const watch = clientOf(sentinel)
    // Known is not enough: until the replica has told how it is, there is none to promote.
    while (!/master-link-status,ok/.test(String(await watch.call('SENTINEL', 'REPLICAS', 'quota')))) await sleep(100)
    expect(await store.settle(batch(1))).toMatchObject([{ accepted: true }])
    let heard = 0
    store.onChange(() => heard++)
    await expect.poll(() => heard, { timeout: 30_000 }).toBe(1)
    await replicated(replica, primary)

    await watch.call('SENTINEL', 'FAILOVER', 'quota')
    await becomesPrimary(replica)
    await primary.kill('SIGKILL')
    expect(await untilSettled(store, batch(2))).toMatchObject([{ accepted: false, personal: [{ used: 6 }] }])
    await expect.poll(() => heard, { timeout: 30_000 }).toBeGreaterThan(1)
    const before = heard
    // A sentinel that hears of the failover late cuts the connection once more.
    const change = () => store.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'ann', why: null }, null)
    await vi.waitFor(change, { timeout: 30_000 })
    await expect.poll(() => heard, { timeout: 30_000 }).toBeGreaterThan(before)
  })
})

interface ClusterNode extends RedisServer {
  readonly busPort: number
  readonly client: Redis
}

async function startNode({ port, more = [] }: { port?: number; more?: string[] } = {}): Promise<ClusterNode> {
  const busPort = await freePort()
  const args = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-announce-ip', '127.0.0.1']
  const options = { args: [...args, '--cluster-port', String(busPort), ...more] }
  const node = await startRedis(port === undefined ? options : { ...options, port })
  return { ...node, busPort, client: clientOf(node.port).on('error', () => {}) }
}

function clientOf(port: number): Redis {
  const client = new Redis(port, '127.0.0.1')
  atEnd(() => client.disconnect())
  return client
}

async function wholeCluster(client: Redis): Promise<void> {
  while (!String(await client.cluster('INFO')).includes('cluster_state:ok')) await sleep(50)
}

/** @returns its port */
async function startSentinel(port: number): Promise<number> {
  const [own, folder] = [await freePort(), tempFolder()]
  const file = join(folder, 'sentinel.conf')
  await writeFile(file, `port ${own}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor quota 127.0.0.1 ${port} 1\n`)
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  atEnd(() => {
    child.kill('SIGKILL')
    return exited
  })
  const probe = new Redis(own, '127.0.0.1', { maxRetriesPerRequest: null }).on('error', () => {})
  await probe.ping()
  probe.disconnect()
  return own
}

async function replicated(to: RedisServer, from: RedisServer): Promise<void> {
  const [a, b] = [clientOf(from.port), clientOf(to.port)]
  while ((await a.dbsize()) !== (await b.dbsize())) await sleep(50)
}

async function becomesPrimary(server: RedisServer): Promise<void> {
  const redis = clientOf(server.port)
  while (!String(await redis.info('replication')).includes('role:master')) await sleep(50)
}
