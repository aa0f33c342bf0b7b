import { noGrowth } from '../figures.ts'
import { sampleTable } from '../report.ts'
import { jwtOf, userName } from '../requests.ts'
import { measureRounds, type Row, rowOf } from '../rows.ts'
import { ISSUERS, type Running } from '../servers.ts'
import { ratios } from '../statistics.ts'
import { chargeEach, LIMITS, withStore } from './charged-store.ts'
import type { Bench, Group } from './group.ts'
import { shuffled } from './shuffle.ts'

const FEW = 1000
const MANY = 1_000_000
/** The number of users whose verified credentials the gateway remembers, by default 10,000, less some room. */
const REMEMBERED = 9000
/** Three times as many, in turn: each credential is forgotten when it comes again, and has to be verified anew. */
const FORGOTTEN = 30_000
/** Credentials are remembered for longer than the group takes, so that none is verified anew in the middle of a round. */
const change = { auth: { jwt: ISSUERS, credential_cache: { ttl: '1h' } } }

/** The same charge with few and with many users in the store. */
export const users: Group = async (bench) => {
  const few = await usersRow(bench, FEW, FEW)
  const many = await usersRow(bench, bench.quick ? MANY / 10 : MANY, REMEMBERED)
  const forgotten = await usersRow(bench, bench.quick ? MANY / 10 : MANY, FORGOTTEN, many.redis)
  const samples = await measureRounds([few, many, forgotten], bench)
  const [a, b] = [samples.get(many) ?? [], samples.get(few) ?? []]
  return {
    title: 'Number of users in the store',
    intro: 'An accepted charge, access log off; CPU for one request, in microseconds:',
    lines: sampleTable(samples),
    figures: [
      noGrowth(
        `an accepted request with Redis, ${many.name} against ${few.name}`,
        ratios(a, b, (s) => s.total),
      ),
    ],
  }
}

async function usersRow(bench: Bench, inStore: number, sending: number, filled?: Running): Promise<Row> {
  const { stage, requests } = bench
  const [redis, upstream] = [filled ?? (await stage.redis()), await stage.upstream()]
  if (filled === undefined) await fill(redis, inStore)
  const server = await stage.gateway({ upstream, store: redis, change })
  // Users from all over the store, in a random order.
  const step = inStore / sending
  const senders = Array.from({ length: sending }, (_, i) => userName(Math.floor(i * step)))
  const list = shuffled(senders.map((user) => ({ path: '/read', credential: jwtOf(user) })))
  const name = `${inStore.toLocaleString('en')} users, ${sending.toLocaleString('en')} of them sending`
  return rowOf(name, server, requests.of(list), { redis })
}

async function fill(redis: Running, users: number): Promise<void> {
  const limits = { personal: LIMITS, organisation: null, global: LIMITS }
  const charge = { organisation: null, category: 'read', cost: 1, limits }
  await withStore(redis, (store) => chargeEach(store, users, (index) => [{ user: userName(index), ...charge }]))
}
