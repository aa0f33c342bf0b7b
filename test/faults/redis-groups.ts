import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { freePort, PERSISTENT, type RedisServer, startRedis } from '../setup/redis.ts'

/** A primary, a replica in step with it, and three sentinels of which two decide, as soon as they may. */
export interface Watched {
  readonly url: string
  readonly primary: RedisServer
  readonly replica: RedisServer
  /** From now on a primary that is silent for so many milliseconds, by default half a second, is replaced. A replica may have lost it ten times as long before. */
  letDecide(ms?: number): Promise<void>
  /** Port of the primary that the sentinels name. */
  named(): Promise<number>
  stop(): Promise<void>
}

/** @param args of the primary */
export async function startWatched(args: readonly string[] = []): Promise<Watched> {
  const primary = await startRedis({ args })
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
  const sentinels = await Promise.all([0, 1, 2].map(() => startSentinel(primary.port)))
  const asked = new Redis(sentinels[0]?.port ?? 0, '127.0.0.1').on('error', () => {})
  const seesAll = async (port: number): Promise<boolean> => {
    const sentinel = new Redis(port, '127.0.0.1').on('error', () => {})
    const state = String(await sentinel.call('SENTINEL', 'MASTER', 'quota'))
    const slaves = String(await sentinel.call('SENTINEL', 'REPLICAS', 'quota'))
    sentinel.disconnect()
    return state.includes('num-other-sentinels,2') && /master-link-status,ok/.test(slaves)
  }
  for (const { port } of sentinels) while (!(await seesAll(port))) await sleep(100)
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/quota`,
    primary,
    replica,
    letDecide: async (ms = 500) => {
      for (const { port } of sentinels) {
        const sentinel = new Redis(port, '127.0.0.1').on('error', () => {})
        await sentinel.call('SENTINEL', 'SET', 'quota', 'down-after-milliseconds', String(ms))
        sentinel.disconnect()
      }
    },
    named: async () => Number(((await asked.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'quota')) as string[])[1]),
    stop: atEnd(async () => {
      asked.disconnect()
      for (const sentinel of sentinels) await sentinel.stop()
      await replica.stop()
      await primary.stop()
    }),
  }
}

/** One that watches a primary as `quota`. */
export async function startSentinel(primary: number): Promise<{ port: number; stop(): Promise<void> }> {
  const [port, folder] = [await freePort(), tempFolder()]
  const file = join(folder, 'sentinel.conf')
  const watch = [
    `monitor quota 127.0.0.1 ${primary} 2`,
    'down-after-milliseconds quota 3600000',
    'failover-timeout quota 3000',
  ]
  const lines = [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...watch.map((line) => `sentinel ${line}`)]
  await writeFile(file, `${lines.join('\n')}\n`)
  const child: ChildProcess = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const probe = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null }).on('error', () => {})
  await probe.ping()
  probe.disconnect()
  return {
    port,
    stop: atEnd(async () => {
      child.kill('SIGKILL')
      await exited
    }),
  }
}

interface Node {
  readonly server: RedisServer
  readonly client: Redis
  readonly busPort: number
  readonly id: string
}

/** A cluster of three primaries without replicas. */
export interface Cluster {
  readonly url: string
  /** The node that has the slot of a key. */
  ownerOf(key: string): Promise<Node>
  /** Moves the slot of a key to another node, key by key, as a resharding does. */
  moveSlotOf(key: string): Promise<void>
  stop(): Promise<void>
}

const SLOTS = 16_384

export async function startCluster(): Promise<Cluster> {
  const nodes = await Promise.all([0, 1, 2].map(startNode))
  const [first] = nodes as [Node, Node, Node]
  for (const [i, { client }] of nodes.entries()) {
    await client.cluster('ADDSLOTSRANGE', Math.ceil((i * SLOTS) / 3), Math.ceil(((i + 1) * SLOTS) / 3) - 1)
  }
  for (const { server, busPort } of nodes.slice(1)) {
    await first.client.call('CLUSTER', 'MEET', '127.0.0.1', String(server.port), String(busPort))
  }
  for (const { client } of nodes) {
    const isWhole = async (): Promise<boolean> => {
      const info = String(await client.cluster('INFO'))
      return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3')
    }
    while (!(await isWhole())) await sleep(50)
  }

  async function ownerOf(key: string): Promise<Node> {
    const slot = await first.client.cluster('KEYSLOT', key)
    const ranges = (await first.client.call('CLUSTER', 'SLOTS')) as [number, number, [string, number, string]][]
    const range = ranges.find(([from, to]) => slot >= from && slot <= to)
    return nodes.find(({ id }) => id === range?.[2][2]) as Node
  }

  async function moveSlotOf(key: string): Promise<void> {
    const slot = await first.client.cluster('KEYSLOT', key)
    const from = await ownerOf(key)
    const to = nodes.find((node) => node !== from) as Node
    await to.client.cluster('SETSLOT', slot, 'IMPORTING', from.id)
    await from.client.cluster('SETSLOT', slot, 'MIGRATING', to.id)
    for (;;) {
      const keys = await from.client.cluster('GETKEYSINSLOT', slot, 3)
      if (keys.length === 0) break
      await from.client.call('MIGRATE', '127.0.0.1', String(to.server.port), '', '0', '5000', 'KEYS', ...keys)
      await sleep(20) // so that clients come upon a slot of which one half is here and the other there
    }
    for (const { client } of [to, from, ...nodes]) await client.cluster('SETSLOT', slot, 'NODE', to.id)
  }

  return {
    url: `redis+cluster://${nodes.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}`,
    ownerOf,
    moveSlotOf,
    stop: atEnd(async () => {
      for (const { client, server } of nodes) {
        client.disconnect()
        await server.stop()
      }
    }),
  }
}

async function startNode(): Promise<Node> {
  const busPort = await freePort()
  const cluster = { enabled: 'yes', 'config-file': 'nodes.conf', 'announce-ip': '127.0.0.1', 'node-timeout': '1000' }
  const args = Object.entries(cluster).flatMap(([key, value]) => [`--cluster-${key}`, value])
  const server = await startRedis({ args: [...args, '--cluster-port', String(busPort), ...PERSISTENT] })
  const client = new Redis(server.url, { maxRetriesPerRequest: null }).on('error', () => {})
  return { server, client, busPort, id: String(await client.cluster('MYID')) }
}
