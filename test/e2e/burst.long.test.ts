import { Agent, fetch, type Response } from 'undici'
import { beforeAll, expect, it, vi } from 'vitest'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { countByUser, type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/**
 * Limits that bind, and that the cost does not divide, so that what is used and what is allowed are two numbers: of each
 * user 100 requests ask for 3 tokens each.
 */
const COST = 3
const PERSONAL = 76
const GLOBAL = 1201
const PLENTY = 100_000
const USERS = Array.from({ length: 20 }, (_, i) => `user-${i}`)
const REQUESTS = 2000
const HOUR_MS = 3_600_000

let redis: Awaited<ReturnType<typeof sharedRedis>>
let clock: Store
let upstream: Upstream
let apps: RunningApp[]
beforeAll(async () => {
  redis = await sharedRedis()
  clock = closedAtEnd(openRedisStore({ ...redis, deadlineMs: 5000, observe: () => {} }))
  await vi.waitFor(() => clock.ping(), { timeout: 30_000 })
  upstream = await startUpstream()
})

/** The store's own clock, by which windows start and end. */
const storeTime = async (): Promise<number> => (await clock.readUsage('nobody', ['read'])).at

/** A request of a user, decided between two moments of the store's clock. */
interface Asked {
  readonly user: string
  readonly response: Response
  readonly from: number
  readonly to: number
}

/** All requests at once, and after them one of each user alone, whose moment is known more exactly. */
async function burst(personal: number, global: number): Promise<{ crowd: Asked[]; late: Asked[] }> {
  const limits = (limit: number): string => `{ read: { 1h: ${limit}, 5h: ${PLENTY}, 1d: ${PLENTY} } }`
  const text = yaml(
    upstream.url,
    `
store_options: { prefix: ${redis.prefix}-${global}, deadline: 5s }
quota: { baselines: { personal: ${limits(personal)}, global: ${limits(global)} } }
edge: { max_in_flight: 5000, max_lag: 1m }
routes: [{ match: POST /spend, category: read, cost: ${COST} }]`,
    redis.url,
  )
  apps = await Promise.all([startApp(text), startApp(text), startApp(text)])
  const dispatcher = new Agent({ connections: 200 })
  const headers = new Map(USERS.map((user) => [user, bearer(user)]))
  async function ask(users: readonly string[]): Promise<Asked[]> {
    const from = await storeTime()
    const responses = await Promise.all(
      users.map((user, i) =>
        fetch(`${apps[i % 3]?.url}/spend`, { method: 'POST', headers: headers.get(user) ?? {}, dispatcher }),
      ),
    )
    const to = await storeTime()
    return responses.map((response, i) => ({ user: users[i] ?? '', response, from, to }))
  }
  try {
    const crowd = await ask(Array.from({ length: REQUESTS }, (_, i) => USERS[i % USERS.length] ?? ''))
    const late: Asked[] = []
    for (const user of USERS) late.push(...(await ask([user])))
    return { crowd, late }
  } finally {
    await dispatcher.close()
    await Promise.all(apps.map((app) => app.stop()))
  }
}

it('2,000 requests at once over 3 gateways and one Redis pass exactly what the personal limit allows', async () => {
  upstream.seen.length = 0
  const each = Math.floor(PERSONAL / COST)
  const { crowd, late } = await burst(PERSONAL, PLENTY)
  expect(countByUser(upstream)).toEqual(new Map(USERS.map((user) => [user, each])))
  const refused = refusedOf(crowd, each * USERS.length)
  const resets = new Map<string, Set<string>>(USERS.map((user) => [user, new Set()]))
  for (const asked of [...refused, ...late]) {
    resets.get(asked.user)?.add(await expectRefusal(asked, 'Personal', PERSONAL, startOf(crowd)))
  }
  expect([...resets.values()].map((ofUser) => ofUser.size)).toEqual(USERS.map(() => 1))
  for (const [reset = ''] of resets.values()) expectStartedSince(crowd, reset)
})

it('a burst is admitted exactly as far as the global limit allows', async () => {
  upstream.seen.length = 0
  const accepted = Math.floor(GLOBAL / COST)
  const { crowd, late } = await burst(PLENTY, GLOBAL)
  expect(upstream.seen).toHaveLength(accepted)
  const resets = new Set<string>()
  for (const asked of [...refusedOf(crowd, accepted), ...late]) {
    resets.add(await expectRefusal(asked, 'Global', GLOBAL, startOf(crowd)))
  }
  expect(resets.size).toBe(1)
  for (const reset of resets) expectStartedSince(crowd, reset)
})

const startOf = ([first]: readonly Asked[]): number => first?.from ?? Number.NaN

function expectStartedSince(crowd: readonly Asked[], reset: string): void {
  expect(Date.parse(reset)).toBeGreaterThanOrEqual(startOf(crowd) + HOUR_MS)
}

function refusedOf(crowd: readonly Asked[], accepted: number): Asked[] {
  const refused = crowd.filter(({ response }) => response.status !== 200)
  expect(refused).toHaveLength(REQUESTS - accepted)
  return refused
}

interface Refusal {
  readonly retryAfterSeconds: number
  readonly quota: { readonly resetAt: string }
}

/** @returns the end of the window, as it was told */
async function expectRefusal({ response, to }: Asked, scope: string, limit: number, since: number): Promise<string> {
  expect(response.status).toBe(429)
  const { retryAfterSeconds, quota } = (await response.json()) as Refusal
  // A refusal comes only when no further request fits, and then all that fit are in.
  const used = limit - (limit % COST)
  expect(quota).toMatchObject({ scope, category: 'read', window: '1h', limit, used, requested: COST })
  // The seconds are those from the decision, rounded up. A refusal that is repeated counts from the reply of the store, which
  // came after the burst began.
  const reset = Date.parse(quota.resetAt)
  expect(reset).toBeLessThanOrEqual(to + HOUR_MS)
  expect(retryAfterSeconds).toBeGreaterThanOrEqual(Math.ceil((reset - to) / 1000))
  expect(retryAfterSeconds).toBeLessThanOrEqual(Math.ceil((reset - since) / 1000))
  expect(response.headers.get('retry-after')).toBe(String(retryAfterSeconds))
  expect(response.headers.get('x-quota-reset')).toBe(quota.resetAt)
  const field = `"${scope.toLowerCase()}-read-1h";r=${limit - used};t=${retryAfterSeconds}`
  expect(response.headers.get('ratelimit')?.split(', ')).toContain(field)
  return quota.resetAt
}
