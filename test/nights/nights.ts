import { renameSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { ecKey, jwt, keySet, serveJson, type TestKey } from '../auth/support.ts'
import { commonConfig, type Gateway, untilReady } from '../faults/gateway.ts'
import { configOf, ISSUER, type Night, type World } from './night.ts'

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

const [KEY, NEXT] = [ecKey('night'), ecKey('next')]

/** One request by a token of the provider. Any other status is a problem of the night. */
async function expectStatus(
  { problems }: World,
  { url }: Gateway,
  key: TestKey,
  wanted: readonly number[],
): Promise<number> {
  const exp = Math.floor(Date.now() / 1000) + 3600
  const token = jwt({ key, payload: { iss: ISSUER, aud: 'tollgate', sub: 'alice', exp } })
  const { status } = await fetch(`${url}/read/token`, { headers: { authorization: `Bearer ${token}` } })
  if (!wanted.includes(status)) problems.push(`a token got ${status} in place of ${wanted.join(' or ')}`)
  return status
}

/** It may say why it is not as it should be. */
async function untilServing(gateway: Gateway): Promise<void> {
  for (let tries = 0; !(await gateway.readiness()).startsWith('200'); tries++) {
    if (tries > 200) throw new Error(`not ready: ${await gateway.readiness()}`)
    await sleep(50)
  }
}

export const NIGHTS: readonly Night[] = [
  {
    name: 'Redis is frozen for eight seconds',
    runbook: 'tollgatestoredegraded',
    told: /the store is out/,
    may: ['store_unavailable'],
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
    may: ['store_unavailable'],
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
    may: ['store_unavailable'],
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
    name: 'Redis is 600 ms away',
    runbook: 'tollgatestorewarning',
    told: /the store is out|more than half of store_options.deadline/,
    may: ['store_unavailable'],
    async run(world) {
      world.proxy.delay(300)
      await sleep(FAULT_MS)
      await world.look('far')
    },
  },
  {
    name: 'Redis is full and takes no writes',
    runbook: 'tollgatestoredegraded',
    told: /OOM|out of memory|maxmemory/i,
    may: ['store_unavailable'],
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
    runbook: 'tollgatekeysevicted',
    told: /evict/i,
    may: ['store_unavailable'],
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
    name: 'The identity provider is away while a replica starts',
    runbook: 'tollgatejwksstale',
    key: KEY,
    told: /keys of an issuer|key set|signing keys/,
    async run(world) {
      await expectStatus(world, world.gateway, KEY, [200])
      await world.provider.close()
      const replica = await world.replica()
      await untilServing(replica)
      await expectStatus(world, replica, KEY, [200])
      world.ask(world.gateway, replica)
      await sleep(3000)
      await world.look('two replicas, no provider')
    },
  },
  {
    name: 'The identity provider takes a new key while somebody forges others',
    runbook: 'tollgatejwksstale',
    key: KEY,
    told: null,
    async run(world) {
      for (let i = 0; i < 6; i++) await expectStatus(world, world.gateway, ecKey(`forged-${i}`), [401, 503])
      world.provider.answer = serveJson(keySet(NEXT))
      const until = performance.now() + 15_000
      let status = 0
      // Whoever gets 401 throws the session away; a 503 says when to come again.
      while (status !== 200 && performance.now() < until) {
        status = await expectStatus(world, world.gateway, NEXT, [200, 503])
        await sleep(500)
      }
      if (status !== 200) world.problems.push('a new key of the issuer is not taken within 15 seconds')
      await world.look('rotated')
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
      world.breaks()
      await world.gateway.process.end('SIGTERM')
      await sleep(1000)
    },
  },
]
