import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { noGrowth } from '../figures.ts'
import { sampleTable } from '../report.ts'
import { jwtOf, userName } from '../requests.ts'
import { measureRounds, type Row } from '../rows.ts'
import { ISSUERS, PLENTY, type Running } from '../servers.ts'
import { ratios } from '../statistics.ts'
import { until } from '../until.ts'
import type { Bench, Group } from './group.ts'
import { shuffled } from './shuffle.ts'

const FEW = 1000
const MANY = 1_000_000
/** The number of users whose verified credentials the gateway remembers, by default 10,000, less some room. */
const REMEMBERED = 9000
/** Three times as many, in turn: each credential is forgotten when it comes again, and has to be verified anew. */
const FORGOTTEN = 30_000
const BATCH = 500
/** Credentials are remembered for longer than the group takes, so that none is verified anew in the middle of a round. */
const change = { auth: { jwt: ISSUERS, credential_cache: { ttl: '1h' } } }

/** The same charge with few and with many users in the store. */
export const users: Group = async (bench) => {
  const few = await rowOf(bench, FEW, FEW)
  const many = await rowOf(bench, bench.quick ? MANY / 10 : MANY, REMEMBERED)
  const forgotten = await rowOf(bench, bench.quick ? MANY / 10 : MANY, FORGOTTEN, many.redis)
  const samples = await measureRounds([few, many, forgotten], bench)
  const [a, b] = [samples.get(many) ?? [], samples.get(few) ?? []]
  return {
    title: 'Number of users in the store',
    lines: ['An accepted charge, access log off; CPU for one request, in microseconds:', '', ...sampleTable(samples)],
    figures: [
      noGrowth(
        `an accepted request with Redis, ${many.name} against ${few.name}`,
        ratios(a, b, (s) => s.total),
      ),
    ],
  }
}

async function rowOf(bench: Bench, inStore: number, sending: number, filled?: Running): Promise<Row> {
  const { stage, requests } = bench
  const [redis, upstream] = [filled ?? (await stage.redis()), await stage.upstream()]
  if (filled === undefined) await fill(redis, inStore)
  const server = await stage.gateway({ upstream, store: redis, log: false, change })
  // Users from all over the store, in a random order.
  const step = inStore / sending
  const senders = Array.from({ length: sending }, (_, i) => userName(Math.floor(i * step)))
  const list = shuffled(senders.map((user) => ({ path: '/read', credential: jwtOf(user) })))
  const name = `${inStore.toLocaleString('en')} users, ${sending.toLocaleString('en')} of them sending`
  return { name, server, redis, load: { port: server.port, requests: requests.of(list) } }
}

/** The gateway's own store fills Redis, so that Redis holds exactly what it writes. */
async function fill(redis: Running, users: number): Promise<void> {
  const problems: string[] = []
  const store = openRedisStore({
    url: `redis://127.0.0.1:${redis.port}`,
    deadlineMs: 10_000,
    observe: (seen) => {
      if (seen.type === 'store_failed') problems.push(seen.message)
    },
  })
  const windows = [
    { name: '1h', seconds: 3600 },
    { name: '5h', seconds: 18_000 },
    { name: '1d', seconds: 86_400 },
  ]
  const limits = windows.map((window) => ({ window, limit: PLENTY }))
  try {
    await until(() => store.ping())
    for (let from = 0, sequence = 1; from < users; from += BATCH, sequence++) {
      const charges = Array.from({ length: Math.min(BATCH, users - from) }, (_, i) => ({
        user: userName(from + i),
        organisation: null,
        category: 'read',
        cost: 1,
        limits: { personal: limits, organisation: null, global: limits },
      }))
      await store.settle({ instance: 'bench', sequence, refunds: [], charges })
    }
  } catch (error) {
    throw new Error(`the store could not be filled: ${problems.at(-1) ?? String(error)}`, { cause: error })
  } finally {
    await store.close()
  }
}
