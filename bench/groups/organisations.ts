import type { Charge } from '../../src/quota/charge.ts'
import type { Figure } from '../figures.ts'
import { sampleTable } from '../report.ts'
import { jwtOf, userName } from '../requests.ts'
import { measureRounds, rowOf } from '../rows.ts'
import { askRedis, ISSUERS, PLENTY, type Running, usedMemory, windows } from '../servers.ts'
import { ratios } from '../statistics.ts'
import { chargeEach, LIMITS, withStore } from './charged-store.ts'
import { type Group, inShortTurns } from './group.ts'

/** As many users as in the rows of the other groups. */
const USERS = 1000
/** Few organisations share the charges of one batch. With many, nearly each charge of a batch has its own. */
const FEW = 6
const MANY = 100
/** The organisations from which the memory of one is computed, as many as the users of the group `memory`. */
const IDLE = 100_000
const ID_LENGTH = 36

const plenty = windows(PLENTY)
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
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const server = await stage.gateway({ upstream, store: redis, change })
  const row = (name: string, claims: (user: number) => object) => {
    const credentials = Array.from({ length: USERS }, (_, user) => jwtOf(userName(user), claims(user)))
    const list = credentials.map((credential) => ({ path: '/read', credential }))
    return rowOf(name, server, requests.of(list), { redis })
  }
  const two = row('two scopes', () => ({}))
  const few = row(`${FEW} organisations`, (user) => ({ org: `o${user % FEW}` }))
  const many = row(`${MANY} organisations`, (user) => ({ org: `o${user % MANY}` }))
  const turns = inShortTurns(bench)
  const samples = await measureRounds([two, few, many], turns)
  const [a, b] = [samples.get(few) ?? [], samples.get(two) ?? []]
  return {
    title: 'Organisations',
    intro: `An accepted charge, access log off, ${USERS} users; CPU for one request, in microseconds, ${turns.rounds} rounds of ${turns.seconds} s:`,
    lines: sampleTable(samples),
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

/** The memory of organisations that were charged once in each of two categories of three windows. */
async function memoryOf(redis: Running, count: number): Promise<Figure> {
  askRedis(redis.port, 'FLUSHALL')
  const empty = await usedMemory(redis)
  await withStore(redis, (store) =>
    chargeEach(store, count, (index) => chargesOf(String(index).padStart(ID_LENGTH, '0'))),
  )
  return {
    name: 'memory of Redis for one idle organisation, two categories',
    unit: 'bytes',
    values: [((await usedMemory(redis)) - empty) / count],
    target: { atMost: 300 },
  }
}

function chargesOf(organisation: string): Charge[] {
  const limits = { personal: [], organisation: LIMITS, global: null }
  const charge = { user: 'bench', organisation, cost: 1, limits }
  return ['read', 'write'].map((category) => ({ ...charge, category, forced: true }))
}
