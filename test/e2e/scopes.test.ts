import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, fetch, type Response } from 'undici'
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { usageOf } from '../../src/quota/counter.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { PERSISTENT, type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream } from './harness.ts'
import { jwtOf } from './jwt.ts'

/**
 * Three gateways share one Redis, and sixty users of six organisations ask them, until limits of all three scopes are used
 * up. What the upstream saw is held against the limits, and against what the store counts.
 */
const COST = 3
const ORGANISATIONS = ['north', 'south', 'east', 'west', 'up', 'down']
const USERS = ORGANISATIONS.flatMap((organisation) =>
  Array.from({ length: 10 }, (_, i) => ({ user: `${organisation}-${i}`, organisation })),
)
type User = (typeof USERS)[number]
const PERSONAL = 31
const ORGANISATION = 200
const DAY = { name: '1d', seconds: 86_400 }

let redis: RedisServer
let proxies: FaultProxy[]
let upstream: Upstream
let apps: RunningApp[]
let store: Store
let prefix = 0
const dispatcher = new Agent({ connections: 200 })
const headers = new Map(
  USERS.map(({ user, organisation }) => [user, { authorization: `Bearer ${jwtOf(user, { org: organisation })}` }]),
)

beforeAll(async () => {
  redis = await startRedis({ args: PERSISTENT })
  proxies = await Promise.all([0, 1, 2].map(() => startFaultProxy(redis.port)))
  // What a response costs is what its request says.
  upstream = await startUpstream(({ headers }, res) => {
    res.setHeader('X-Tokens-Used', String(headers['x-worth'] ?? COST)).end('ok')
  })
})
afterAll(async () => {
  await dispatcher.close()
})
beforeEach(() => {
  upstream.seen.length = 0
  prefix++
  store = closedAtEnd(
    openRedisStore({ url: redis.url, prefix: `scopes-${prefix}`, deadlineMs: 5000, observe: () => {} }),
  )
})

async function start(global: number, deadline: string): Promise<void> {
  const text = (port: number): string => `
listen: 127.0.0.1:0
upstream: { url: "${upstream.url}" }
store: "redis://127.0.0.1:${port}"
store_options: { prefix: scopes-${prefix}, deadline: ${deadline} }
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256], organisation_claim: org }] }
log: { level: fatal, requests: none }
edge: { max_in_flight: 5000, max_lag: 1m, shares: { address: none } }
quota:
  baselines: { personal: { read: { 1h: ${PERSONAL}, 1d: 10000 } }, global: { read: { 1h: ${global}, 1d: 100000 } } }
  plans: { team: { organisation: { read: { 1h: ${ORGANISATION}, 1d: 10000 } } } }
  default_plan: team
routes:
  - { match: POST /spend, category: read, cost: ${COST} }
  - { match: POST /work, category: read, cost: ${COST}, settle: { header: X-Tokens-Used, max: ${COST} } }
  - { match: POST /ticket, category: read, cost: ${COST}, idempotency: { header: Idempotency-Key, for: 1h, replays: 50 } }`
  apps = await Promise.all(proxies.map(({ port }) => startApp(text(port))))
}

let turn = 0
function ask({ user }: User, path: string, more: Record<string, string> = {}): Promise<Response> {
  const { url } = apps[turn++ % apps.length] as RunningApp
  return fetch(url + path, { method: 'POST', headers: { ...headers.get(user), ...more }, dispatcher })
}

const organisationOf = (user: string): string => user.split('-')[0] ?? ''
function sumBy<T>(list: readonly T[], keyOf: (one: T) => string, worth: (one: T) => number): Map<string, number> {
  const sums = new Map<string, number>()
  for (const one of list) sums.set(keyOf(one), (sums.get(keyOf(one)) ?? 0) + worth(one))
  return sums
}

/** What the store counts for the day, by user, by organisation, and for everybody. */
async function counted() {
  const usages = await Promise.all(USERS.map(({ user, organisation }) => store.readUsage(user, ['read'], organisation)))
  const used = (counter = usages[0]?.global[0]): number => usageOf(counter ?? [], DAY, usages[0]?.at ?? 0).used
  return {
    users: new Map(USERS.map(({ user }, i) => [user, used(usages[i]?.personal[0] ?? [])])),
    organisations: new Map(
      USERS.map(({ organisation }, i) => [organisation, used(usages[i]?.organisation?.[0] ?? [])]),
    ),
    everybody: used(),
  }
}

const userOf = ({ headers }: Upstream['seen'][number]): string => String(headers['x-tollgate-user'])

it('a burst over three gateways passes exactly what the limits of all three scopes allow', async () => {
  // Half the users of one organisation cannot use it up; four organisations are used up; the last one finds 61 tokens left.
  const alone = USERS.slice(0, 5)
  const crowd = USERS.slice(10, 50)
  const [byUser, byOrganisation] = [Math.floor(PERSONAL / COST), Math.floor(ORGANISATION / COST)]
  const before = (5 * byUser + 4 * byOrganisation) * COST
  await start(before + 61, '5s')
  const often = (users: readonly User[]): User[] => Array.from({ length: 15 }, () => users).flat()
  const asking = often([...alone, ...crowd])
  const first = await Promise.all(asking.map((user) => ask(user, '/spend')))
  expect(upstream.seen).toHaveLength(before / COST)
  const last = await Promise.all(often(USERS.slice(50)).map((user) => ask(user, '/spend')))
  const seen = sumBy(upstream.seen, userOf, () => 1)
  expect(alone.map(({ user }) => seen.get(user))).toEqual(alone.map(() => byUser))
  expect(
    sumBy(
      [...seen],
      ([user]) => organisationOf(user),
      ([, count]) => count,
    ),
  ).toEqual(
    new Map([
      ['north', 5 * byUser],
      ...ORGANISATIONS.slice(1, 5).map((name): [string, number] => [name, byOrganisation]),
      ['down', 20],
    ]),
  )
  expect(Math.max(...seen.values())).toBeLessThanOrEqual(byUser)
  const refusals = await Promise.all(first.map(refusalOf))
  const scopesOf = (all: readonly (Refusal | null)[]) => new Set(all.flatMap((refusal) => refusal?.scope ?? []))
  expect(scopesOf(refusals.filter((_, i) => alone.includes(asking[i] as User)))).toEqual(new Set(['Personal']))
  expect(scopesOf(refusals)).toContain('Organisation')
  const late = (await Promise.all(last.map(refusalOf))).filter((refusal) => refusal !== null)
  expect(scopesOf(late)).toEqual(new Set(['Global']))
  expect(new Set(late.map(({ limit }) => limit))).toEqual(new Set([before + 61]))
  // A window has one end, whichever gateway tells of it.
  const resets = new Map<string, Set<string>>()
  for (const [i, refusal] of refusals.entries()) {
    const { user, organisation } = asking[i] as User
    if (refusal === null) continue
    const of = refusal.scope === 'Personal' ? user : organisation
    resets.set(of, (resets.get(of) ?? new Set()).add(refusal.resetAt))
  }
  expect([...resets.values()].map(({ size }) => size)).toEqual([...resets].map(() => 1))
  expect(new Set(late.map(({ resetAt }) => resetAt)).size).toBe(1)
  expect((await counted()).everybody).toBe(upstream.seen.length * COST)
})

interface Refusal {
  readonly scope: string
  readonly limit: number
  readonly used: number
  readonly resetAt: string
}

/** A refusal comes only when no further request fits, and says the same in body and fields. */
async function refusalOf(response: Response): Promise<Refusal | null> {
  if (response.status !== 429) return null
  const body = (await response.json()) as { retryAfterSeconds: number; quota: Refusal }
  const { scope, limit, used, resetAt } = body.quota
  if (scope !== 'Global') expect(limit).toBe(scope === 'Personal' ? PERSONAL : ORGANISATION)
  expect(body.quota).toMatchObject({ category: 'read', window: '1h', used: limit - (limit % COST), requested: COST })
  expect(response.headers.get('retry-after')).toBe(String(body.retryAfterSeconds))
  expect(response.headers.get('x-quota-reset')).toBe(resetAt)
  const field = `"${scope.toLowerCase()}-read-1h";r=${limit - used};t=${body.retryAfterSeconds}`
  expect(response.headers.get('ratelimit')?.split(', ')).toContain(field)
  return body.quota
}

it('what the upstream saw is what the store counts in every scope, with Redis killed, replies cut, costs settled and requests repeated', async () => {
  await start(1200, '500ms')
  const ended = { is: false }
  const trouble = (async () => {
    for (let i = 0; !ended.is; i++) {
      const proxy = proxies[i % proxies.length] as FaultProxy
      if (i === 8) {
        await redis.kill('SIGKILL')
        await sleep(200)
        await redis.restart()
      } else if (i % 5 === 4) proxy.reset()
      else proxy.dropReply()
      await sleep(150)
    }
  })()
  const random = (below: number): number => Math.floor(Math.random() * below)
  /** Repeats until the quota has decided; a ticket goes out once more then, elsewhere. */
  async function task(user: User, i: number): Promise<void> {
    const isTicket = i % 2 === 0
    const more: Record<string, string> = isTicket
      ? { 'idempotency-key': `${user.user}-${i}` }
      : { 'x-worth': String(random(COST + 1)) }
    let last = ''
    for (let tries = 0; tries < 400; tries++) {
      const response = await ask(user, isTicket ? '/ticket' : '/work', more)
      const { status } = response
      last = status === 200 ? '' : await response.text()
      if (status === 503) await sleep(20 + random(80))
      else if (status !== 200 || !isTicket) return
      else return void (await ask(user, '/ticket', more))
    }
    throw new Error(`the quota never decided for ${user.user}: ${JSON.stringify(last)}`)
  }
  const dropped = (): number => proxies.reduce((sum, proxy) => sum + proxy.dropped, 0)
  // On a fast machine 14 tasks are done before trouble has come often.
  const hasMore = (i: number): boolean => i < 14 || (dropped() <= 5 && i < 1000)
  await Promise.all(
    USERS.map(async (user) => {
      for (let i = 0; hasMore(i); i++) await task(user, i)
    }),
  ).finally(() => {
    ended.is = true
  })
  await trouble
  await Promise.all(proxies.map((proxy) => proxy.heal()))
  const tickets = new Map(
    upstream.seen.filter(({ url }) => url === '/ticket').map((seen) => [seen.headers['idempotency-key'], userOf(seen)]),
  )
  const paid = [
    ...upstream.seen
      .filter(({ url }) => url === '/work')
      .map((seen): [string, number] => [userOf(seen), Number(seen.headers['x-worth'])]),
    ...[...tickets.values()].map((user): [string, number] => [user, COST]),
  ]
  const users = sumBy(
    paid,
    ([user]) => user,
    ([, worth]) => worth,
  )
  const organisations = sumBy(
    paid,
    ([user]) => organisationOf(user),
    ([, worth]) => worth,
  )
  const everybody = paid.reduce((sum, [, worth]) => sum + worth, 0)
  await vi.waitFor(async () => expect(await counted()).toEqual({ users, organisations, everybody }), {
    timeout: 30_000,
    interval: 200,
  })
  expect(Math.max(...users.values())).toBeLessThanOrEqual(PERSONAL)
  expect(Math.max(...organisations.values())).toBeLessThanOrEqual(ORGANISATION)
  expect(everybody).toBeLessThanOrEqual(1200)
  expect(dropped()).toBeGreaterThan(5)
})
