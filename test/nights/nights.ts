import { renameSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { commonConfig, type Gateway, untilReady } from '../faults/gateway.ts'
import { configOf, type Night, type World } from './night.ts'

/** Long enough that a pod would be taken out of its Service. */
const FAULT_MS = 8000

/** Rewrites the file of a gateway as an editor does, and waits until it is read. */
function rewrite({ file, url, admin }: Gateway, text: string): void {
  const [listen, adminListen] = [url, admin].map((each) => each.slice('http://'.length)) as [string, string]
  writeFileSync(`${file}.new`, commonConfig(listen, adminListen) + text)
  renameSync(`${file}.new`, file)
}

const askRedis = async <T>({ redis }: World, ask: (client: Redis) => Promise<T>): Promise<T> => {
  const client = new Redis(redis.url)
  try {
    return await ask(client)
  } finally {
    client.disconnect()
  }
}

export const NIGHTS: readonly Night[] = [
  {
    name: 'Redis is frozen for eight seconds',
    runbook: 'tollgatestoredegraded',
    told: /the store is out/,
    may: [503],
    async run(world) {
      process.kill(world.redis.pid, 'SIGSTOP')
      await sleep(FAULT_MS)
      await world.look('frozen')
      process.kill(world.redis.pid, 'SIGCONT')
      await sleep(2000)
    },
  },
  {
    name: 'Redis is killed, and started again after eight seconds',
    runbook: 'tollgatestoredegraded',
    told: /the store is out/,
    may: [503],
    async run(world) {
      await world.redis.kill('SIGKILL')
      await sleep(FAULT_MS)
      await world.look('killed')
      await world.redis.restart()
      await sleep(3000)
    },
  },
  {
    name: 'Redis comes back without its last writes',
    runbook: 'tollgatechargeslost',
    told: /the store has forgotten charges/,
    may: [503],
    off: Number.POSITIVE_INFINITY,
    async run(world) {
      await askRedis(world, async (client) => {
        await client.config('SET', 'appendonly', 'no')
        await client.save()
      })
      await sleep(2000)
      await world.redis.kill('SIGKILL')
      await world.redis.restart(['--appendonly', 'no'])
      await sleep(4000)
      await world.look('back')
    },
  },
  {
    name: 'Redis is 300 ms away',
    runbook: 'tollgatestoredegraded',
    told: /the store is out|more than half of store_options.deadline/,
    may: [503],
    async run(world) {
      world.proxy.delay(150)
      await sleep(FAULT_MS)
      await world.look('far')
    },
  },
  {
    name: 'Redis is full and takes no writes',
    runbook: 'tollgatestoredegraded',
    told: /OOM|out of memory|maxmemory/i,
    may: [503],
    async run(world) {
      await askRedis(world, (client) => client.config('SET', 'maxmemory', '1'))
      await sleep(FAULT_MS)
      await world.look('full')
      await askRedis(world, (client) => client.config('SET', 'maxmemory', '0'))
      await sleep(2000)
    },
  },
  {
    name: 'Redis evicts counters',
    runbook: 'tollgatestorewarning',
    told: /evict/,
    off: Number.POSITIVE_INFINITY,
    async run(world) {
      await askRedis(world, async (client) => {
        await client.config('SET', 'maxmemory-policy', 'allkeys-random')
        await client.config('SET', 'maxmemory', '1')
      })
      await sleep(4000)
      await askRedis(world, (client) => client.config('SET', 'maxmemory', '0'))
      await sleep(6000)
      await world.look('evicted')
    },
  },
  {
    name: 'A faulty configuration is rolled out',
    runbook: 'tollgateconfigreloadfailed',
    told: /configuration refused/,
    async run(world) {
      rewrite(world.gateway, 'upstream: { url: "http://127.0.0.1:1" }\nroutes: [{ match: GET, category: read }]\n')
      await sleep(3000)
      await world.look('refused')
    },
  },
  {
    name: 'A configuration of 9,900 rules is rolled out',
    runbook: 'tollgateconfigreloadfailed',
    told: /configuration loaded/,
    async run(world) {
      const rules = Array.from({ length: 9900 }, (_, i) => `  - { match: "GET /v1/thing-${i}/{id}", public: true }`)
      rewrite(world.gateway, `${configOf(world)}${rules.join('\n')}\n`)
      await sleep(6000)
      await world.look('loaded')
    },
  },
  {
    name: 'Two replicas are replaced one by one under traffic',
    runbook: 'tollgateabsent',
    told: /draining|drain/,
    async run(world) {
      const [second, third] = [await world.replica(), await world.replica()]
      await Promise.all([second, third].map(untilReady))
      world.ask(second, third)
      await sleep(1000)
      await world.gateway.process.end('SIGTERM')
      await sleep(1000)
    },
  },
]
