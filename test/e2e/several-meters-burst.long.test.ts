import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { usageOf } from '../../src/quota/counter.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { PERSISTENT, startRedis } from '../setup/redis.ts'
import { createRandom } from '../simulate/random.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/**
 * Clients that repeat their requests at random pay in each meter of several for what succeeded, once: whatever is refused by one meter, settled
 * by another, or lost on the way to the store.
 */

const RESERVE = 10
const MAX = 30
const USERS = Array.from({ length: 12 }, (_, i) => ({ user: `user-${i}`, org: `org-${i % 3}` }))
const REQUESTS = 240
const HOUR = { name: '1h', seconds: 3600 }
/** The requests of every second user are cheap, so that the meter of requests refuses him first, and that of tokens the others. */
const LIMITS = '{ requests: { 1h: 12 }, tokens: { 1h: 170 } }'

const random = createRandom(35)
/** What each request costs, by its path, once the upstream has served it. */
const said = new Map<string, number>()
let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream(({ url }, res) => {
    if (random.chance(0.4)) return void res.writeHead(500).end()
    const [least, most] = Number(url.slice('/r'.length)) % 2 === 0 ? [0, 10] : [15, MAX]
    const tokens = said.get(url) ?? random.integer(least, most)
    said.set(url, tokens)
    res.setHeader('X-Tokens', tokens)
    setTimeout(() => res.end(), random.integer(0, 20))
  })
})

interface World {
  /** Where each of three gateways finds the store. */
  readonly places: readonly string[]
  readonly store: Store
  /** Something goes wrong. */
  disturb(i: number): Promise<void>
  /** How many replies of the store were lost. */
  lost(): number
}

async function overRedis(): Promise<World> {
  const redis = await startRedis({ args: PERSISTENT })
  const proxies = await Promise.all([1, 2, 3].map(() => startFaultProxy(redis.port)))
  const store = closedAtEnd(openRedisStore({ url: redis.url, prefix: 'meters', deadlineMs: 5000, observe: () => {} }))
  await vi.waitFor(() => store.ping(), { timeout: 30_000 })
  return {
    places: proxies.map(({ port }) => `redis://127.0.0.1:${port}`),
    store,
    async disturb(i) {
      if (i === REQUESTS / 2) {
        await redis.kill('SIGKILL')
        await redis.restart()
      }
      if (i % 20 === 0) (random.pick(proxies) as FaultProxy).dropReply({ containing: '"plans":' })
    },
    lost: () => proxies.reduce((sum, { dropped }) => sum + dropped, 0),
  }
}

async function overAFile(): Promise<World> {
  const file = join(tempFolder(), 'quota.db')
  const store = closedAtEnd(openSqliteStore({ file }))
  return { places: Array.from({ length: 3 }, () => `sqlite:${file}`), store, disturb: async () => {}, lost: () => 0 }
}

function start(place: string): Promise<RunningApp> {
  const options = place.startsWith('redis') ? 'store_options: { prefix: meters, deadline: 5s }' : ''
  const text = yaml(
    upstream.url,
    `
${options}
quota:
  baselines: { personal: ${LIMITS}, global: { tokens: { 1h: 2600 } } }
  plans: { team: { personal: ${LIMITS}, organisation: { requests: { 1h: 36 } } } }
  default_plan: team
edge: { max_in_flight: 5000, max_lag: 1m }
routes:
  - match: POST /*
    charges:
      requests: { cost: 1, settle: { status: { 5xx: 0 } } }
      tokens: { cost: ${RESERVE}, settle: { status: { 5xx: 0 }, header: X-Tokens, max: ${MAX} } }
    idempotency: {}`,
    place,
  ).replace(`secret: ${SECRET},`, `secret: ${SECRET}, organisation_claim: org,`)
  return startApp(text)
}

describe.each<[string, () => Promise<World>]>([
  ['one Redis, which loses replies and is killed', overRedis],
  ['one file of the embedded store', overAFile],
])('several meters over three gateways and %s', (_name, open) => {
  it('what is charged in each of several meters is what the upstream said of each request that succeeded, once', async () => {
    said.clear()
    const world = await open()
    const apps = await Promise.all(world.places.map(start))
    const dispatcher = new Agent({ connections: 60 })
    const credentials = USERS.map(({ user, org }) => ({ authorization: `Bearer ${jwtOf(user, { org })}` }))
    const refusedBy = new Map<string, number>()
    const statuses = new Map<number, number>()
    const payers = new Map<string, (typeof USERS)[number]>()
    const count = <K>(map: Map<K, number>, key: K) => map.set(key, (map.get(key) ?? 0) + 1)
    let replays = 0
    let next = 0
    async function attempt(i: number): Promise<void> {
      const headers = { ...credentials[i % USERS.length], 'idempotency-key': `key ${i}` }
      const response = await fetch(`${random.pick(apps).url}/r${i}`, {
        method: 'POST',
        headers,
        dispatcher,
        body: 'a body',
      })
      const text = await response.text()
      count(statuses, response.status)
      if (response.status === 429)
        count(refusedBy, (JSON.parse(text) as { quota: { category: string } }).quota.category)
      if (response.headers.has('x-tollgate-replay')) replays++
    }
    async function client(): Promise<void> {
      for (let i = next++; i < REQUESTS; i = next++) {
        payers.set(`/r${i}`, USERS[i % USERS.length] as (typeof USERS)[number])
        await Promise.all(Array.from({ length: random.integer(1, 3) }, () => attempt(i)))
        for (let n = random.integer(0, 2); n > 0; n--) await attempt(i)
        await world.disturb(i)
      }
    }
    await Promise.all(Array.from({ length: 30 }, client))
    await dispatcher.close()
    await Promise.all(apps.map((app) => app.stop()))

    // There is something to see: refusals by each meter, failures and repetitions.
    for (const status of [200, 429, 500]) expect(statuses.get(status), `${status}`).toBeGreaterThan(0)
    for (const category of ['requests', 'tokens']) expect(refusedBy.get(category), category).toBeGreaterThan(0)
    expect(replays).toBeGreaterThan(50)
    if (open === overRedis) expect(world.lost()).toBeGreaterThan(3)
    const sums = (of: (each: (typeof USERS)[number]) => boolean): number[] => {
      const paid = [...said].filter(([path]) => of(payers.get(path) as (typeof USERS)[number]))
      return [paid.length, paid.reduce((sum, [, tokens]) => sum + tokens, 0)]
    }
    for (const { user, org } of USERS) {
      const { at, personal, organisation, global } = await world.store.readUsage(user, ['requests', 'tokens'], org)
      const usedIn = (counters: typeof personal | null) =>
        [0, 1].map((i) => usageOf(counters?.[i] ?? [], HOUR, at).used)
      expect(usedIn(personal), user).toEqual(sums((each) => each.user === user))
      expect(usedIn(organisation)[0], org).toBe(sums((each) => each.org === org)[0])
      expect(usedIn(global)[1]).toBe(sums(() => true)[1])
    }
  })
})
