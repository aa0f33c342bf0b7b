import { Agent, fetch } from 'undici'
import { beforeAll, expect, it, vi } from 'vitest'
import { usageOf } from '../../src/quota/counter.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { PERSISTENT, startRedis } from '../setup/redis.ts'
import { createRandom } from '../simulate/random.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** Clients that repeat their requests at random pay for each that succeeded, once, whatever is lost on the way to the store. */

const COST = 10
const USERS = Array.from({ length: 12 }, (_, i) => ({ user: `user-${i}`, org: `org-${i % 3}` }))
const REQUESTS = 240
const HOUR = { name: '1h', seconds: 3600 }

let redis: Awaited<ReturnType<typeof startRedis>>
let proxies: FaultProxy[]
let store: Store
let upstream: Upstream
/** How often each request succeeded by the upstream's log, by its path. */
let succeeded: Map<string, number>
beforeAll(async () => {
  redis = await startRedis({ args: PERSISTENT })
  proxies = await Promise.all([1, 2, 3].map(() => startFaultProxy(redis.port)))
  store = closedAtEnd(openRedisStore({ url: redis.url, prefix: 'repeat', deadlineMs: 5000, observe: () => {} }))
  await vi.waitFor(() => store.ping(), { timeout: 30_000 })
  succeeded = new Map()
  const random = createRandom(33)
  upstream = await startUpstream(({ url }, res) => {
    if (random.chance(0.4)) res.writeHead(500).end()
    else {
      succeeded.set(url, (succeeded.get(url) ?? 0) + 1)
      setTimeout(() => res.end(), random.integer(0, 20))
    }
  })
})

function start(proxy: FaultProxy): Promise<RunningApp> {
  const limits = '{ c: { 1h: 160 } }'
  const text = yaml(
    upstream.url,
    `
store_options: { prefix: repeat, deadline: 5s }
quota:
  baselines: { personal: ${limits}, global: { c: { 1h: 1450 } } }
  plans: { team: { personal: ${limits}, organisation: { c: { 1h: 560 } } } }
  default_plan: team
edge: { max_in_flight: 5000, max_lag: 1m }
routes: [{ match: POST /*, category: c, cost: ${COST}, settle: { status: { 5xx: 0 } }, idempotency: {} }]`,
    `redis://127.0.0.1:${proxy.port}`,
  ).replace(`secret: ${SECRET},`, `secret: ${SECRET}, organisation_claim: org,`)
  return startApp(text)
}

it('each request over 3 gateways that lose replies of one Redis, which is killed, is charged once if any of its repetitions succeeded', async () => {
  const apps = await Promise.all(proxies.map(start))
  const dispatcher = new Agent({ connections: 60 })
  const random = createRandom(34)
  const credentials = USERS.map(({ user, org }) => ({ authorization: `Bearer ${jwtOf(user, { org })}` }))
  const statuses = new Map<number, number>()
  const payers = new Map<string, (typeof USERS)[number]>()
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
    await response.text()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    if (response.headers.has('x-tollgate-replay')) replays++
  }
  async function client(): Promise<void> {
    for (let i = next++; i < REQUESTS; i = next++) {
      payers.set(`/r${i}`, USERS[i % USERS.length] as (typeof USERS)[number])
      await Promise.all(Array.from({ length: random.integer(1, 3) }, () => attempt(i)))
      for (let n = random.integer(0, 2); n > 0; n--) await attempt(i)
      if (i === REQUESTS / 2) {
        await redis.kill('SIGKILL')
        await redis.restart()
      }
      if (i % 20 === 0) proxies[random.integer(0, 2)]?.dropReply({ containing: '"plans":' })
    }
  }
  await Promise.all(Array.from({ length: 30 }, client))
  await dispatcher.close()
  await Promise.all(apps.map((app) => app.stop()))

  // There is something to see: refusals, failures, repetitions, and replies that were lost.
  for (const status of [200, 429, 500]) expect(statuses.get(status), `${status}`).toBeGreaterThan(0)
  expect(replays).toBeGreaterThan(50)
  expect(apps.flatMap(({ observations }) => observations).some(({ type }) => type === 'outcome_unknown')).toBe(true)
  const sum = (of: (each: (typeof USERS)[number]) => boolean): number =>
    COST * [...succeeded.keys()].filter((path) => of(payers.get(path) as (typeof USERS)[number])).length
  for (const { user, org } of USERS) {
    const { at, personal, organisation, global } = await store.readUsage(user, ['c'], org)
    const used = [personal, organisation, global].map((of) => usageOf(of?.[0] ?? [], HOUR, at).used)
    expect(used, user).toEqual([sum((each) => each.user === user), sum((each) => each.org === org), sum(() => true)])
  }
})
