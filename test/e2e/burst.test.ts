import { Agent, fetch, type Response } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sharedRedis } from '../setup/redis.ts'
import { type Backend, type RunningApp, startApp, startBackend, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Limits that bind: of each user 100 requests ask for 3 tokens each, for 75 in all; of everybody together for 1,200. */
const PERSONAL = 75
const GLOBAL = 1200
const COST = 3
const USERS = Array.from({ length: 20 }, (_, i) => `user-${i}`)
const REQUESTS = 2000

let redis: Awaited<ReturnType<typeof sharedRedis>>
let backend: Backend
let apps: RunningApp[]
beforeAll(async () => {
  redis = await sharedRedis()
  backend = await startBackend()
})
afterAll(async () => {
  await backend.close()
  await redis.stop()
})

async function burst(global: number): Promise<Response[]> {
  const limits = (limit: number): string => `{ read: { 1h: ${limit}, 5h: 100000, 1d: 100000 } }`
  const text = yaml(
    backend.url,
    `
store_options: { prefix: ${redis.prefix}-${global}, deadline: 5s }
quota: { baselines: { personal: ${limits(PERSONAL)}, global: ${limits(global)} } }
edge: { max_in_flight: 5000 }
routes: [{ match: POST /spend, category: read, cost: ${COST} }]`,
    redis.url,
  )
  apps = await Promise.all([startApp(text), startApp(text), startApp(text)])
  const dispatcher = new Agent({ connections: 200 })
  try {
    const headers = USERS.map(bearer)
    return await Promise.all(
      Array.from({ length: REQUESTS }, (_, i) =>
        fetch(`${apps[i % 3]?.url}/spend`, {
          method: 'POST',
          headers: headers[i % USERS.length] ?? {},
          dispatcher,
        }),
      ),
    )
  } finally {
    await dispatcher.close()
    await Promise.all(apps.map((app) => app.stop()))
  }
}

function countByUser(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { headers } of backend.seen) {
    const user = String(headers['x-tollgate-user'])
    counts.set(user, (counts.get(user) ?? 0) + 1)
  }
  return counts
}

it('2,000 requests at once over 3 gateways and one Redis pass exactly what the personal limit allows', async () => {
  backend.seen.length = 0
  const answers = await burst(100_000)
  expect(countByUser()).toEqual(new Map(USERS.map((user) => [user, PERSONAL / COST])))
  expect(backend.seen).toHaveLength((USERS.length * PERSONAL) / COST)
  await expectOnly(answers, (USERS.length * PERSONAL) / COST, { scope: 'Personal', limit: PERSONAL, used: PERSONAL })
})

it('and exactly what the global limit allows', async () => {
  backend.seen.length = 0
  const answers = await burst(GLOBAL)
  expect(backend.seen).toHaveLength(GLOBAL / COST)
  await expectOnly(answers, GLOBAL / COST, null)
})

async function expectOnly(answers: Response[], accepted: number, quota: object | null): Promise<void> {
  const refused = answers.filter((a) => a.status === 429)
  expect(answers.filter((a) => a.status === 200)).toHaveLength(accepted)
  expect(refused).toHaveLength(REQUESTS - accepted)
  for (const answer of refused) {
    const body = (await answer.json()) as {
      retryAfterSeconds: number
      quota: { scope: string; limit: number; used: number; requested: number; resetAt: string }
    }
    expect(body.quota.used + body.quota.requested).toBeGreaterThan(body.quota.limit)
    expect(body.quota.used).toBeLessThanOrEqual(body.quota.limit)
    if (quota !== null) expect(body.quota).toMatchObject(quota)
    expect(answer.headers.get('retry-after')).toBe(String(body.retryAfterSeconds))
    expect(answer.headers.get('x-quota-reset')).toBe(body.quota.resetAt)
    const seconds = (Date.parse(body.quota.resetAt) - Date.now()) / 1000
    expect(Math.abs(body.retryAfterSeconds - seconds)).toBeLessThan(60)
  }
}
