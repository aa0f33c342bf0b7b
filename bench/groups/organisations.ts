import { setTimeout as sleep } from 'node:timers/promises'
import type { Charge } from '../../src/quota/charge.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Figure } from '../figures.ts'
import { sampleTable } from '../report.ts'
import { jwtOf, userName } from '../requests.ts'
import { measureRounds, type Row } from '../rows.ts'
import { askRedis, ISSUERS, PLENTY, type Running } from '../servers.ts'
import { ratios } from '../statistics.ts'
import { until } from '../until.ts'
import { type Bench, type Group, inShortTurns } from './group.ts'

/** As many users as in the rows of the other groups. */
const USERS = 1000
/** Few organisations share the charges of one batch. With many, nearly each charge of a batch has its own. */
const FEW = 6
const MANY = 100
/** The organisations from which the memory of one is computed, as many as the users of the group `memory`. */
const IDLE = 100_000
const ID_LENGTH = 36
const BATCH = 250
const SETTLE_MS = 3000

const windows = ['1h', '5h', '1d']
const plenty = Object.fromEntries(windows.map((name) => [name, PLENTY]))
const scoped = { read: plenty, write: plenty }
const change = {
  auth: { jwt: ISSUERS.map((issuer) => ({ ...issuer, organisation_claim: 'org' })) },
  quota: {
    baselines: { personal: scoped, global: scoped },
    plans: { team: { organisation: { read: plenty } } },
    default_plan: 'team',
  },
  routes: [{ match: 'GET /read', category: 'read', cost: 1 }],
}

/** The same charge by users in an organisation with three windows, and by users without one. */
export const organisations: Group = async (bench) => {
  const [redis, upstream] = [await bench.stage.redis(), await bench.stage.upstream()]
  const server = await bench.stage.gateway({ upstream, store: redis, log: false, change })
  const two = rowOf(bench, server, redis, 'two scopes', () => ({}))
  const few = rowOf(bench, server, redis, `${FEW} organisations`, (user) => ({ org: `o${user % FEW}` }))
  const many = rowOf(bench, server, redis, `${MANY} organisations`, (user) => ({ org: `o${user % MANY}` }))
  const turns = inShortTurns(bench)
  const samples = await measureRounds([two, few, many], turns)
  const [a, b] = [samples.get(few) ?? [], samples.get(two) ?? []]
  return {
    title: 'Organisations',
    lines: [
      `An accepted charge, access log off, ${USERS} users; CPU for one request, in microseconds, ${turns.rounds} rounds of ${turns.seconds} s:`,
      '',
      ...sampleTable(samples),
    ],
    figures: [
      {
        name: `a charge with one of ${FEW} organisations against one of two scopes, CPU of Redis`,
        unit: 'x',
        values: ratios(a, b, ({ redis }) => redis),
        target: { atMost: 1.3 },
      },
      {
        name: `a charge with one of ${FEW} organisations against one of two scopes, CPU of the gateway`,
        unit: 'x',
        values: ratios(a, b, ({ proxy }) => proxy),
        target: { atMost: 1.1 },
      },
      await memoryOf(redis, bench.quick ? IDLE / 10 : IDLE),
    ],
  }
}

function rowOf(
  { requests }: Bench,
  server: Running,
  redis: Running,
  name: string,
  claims: (user: number) => object,
): Row {
  const list = Array.from({ length: USERS }, (_, user) => {
    return { path: '/read', credential: jwtOf(userName(user), claims(user)) }
  })
  return { name, server, redis, load: { port: server.port, requests: requests.of(list) } }
}

/** The memory of organisations that were charged once in each of two categories of three windows. */
async function memoryOf(redis: Running, count: number): Promise<Figure> {
  askRedis(redis.port, 'FLUSHALL')
  const empty = await usedMemory(redis)
  const store = openRedisStore({ url: `redis://127.0.0.1:${redis.port}`, deadlineMs: 10_000, observe: () => {} })
  try {
    await until(() => store.ping())
    for (let from = 0, sequence = 1; from < count; from += BATCH, sequence++) {
      const charges = Array.from({ length: BATCH }, (_, i) =>
        chargesOf(String(from + i).padStart(ID_LENGTH, '0')),
      ).flat()
      await store.settle({ instance: 'bench', sequence, refunds: [], charges })
    }
  } finally {
    await store.close()
  }
  return {
    name: 'memory of Redis for one idle organisation, two categories',
    unit: 'bytes',
    values: [((await usedMemory(redis)) - empty) / count],
    target: { atMost: 300 },
  }
}

async function usedMemory(redis: Running): Promise<number> {
  await sleep(SETTLE_MS)
  return Number(/^used_memory:(\d+)/m.exec(askRedis(redis.port, 'INFO', 'memory'))?.[1])
}

const LENGTHS = [3600, 18_000, 86_400]

function chargesOf(organisation: string): Charge[] {
  const theirs = LENGTHS.map((seconds) => ({ window: { name: `${seconds}s`, seconds }, limit: PLENTY }))
  const limits = { personal: [], organisation: theirs, global: null }
  return ['read', 'write'].map((category) => ({
    user: 'bench',
    organisation,
    category,
    cost: 1,
    limits,
    forced: true,
  }))
}
