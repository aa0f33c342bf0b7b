import { setTimeout as sleep } from 'node:timers/promises'
import { fetch, type Response } from 'undici'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort, type RedisServer, startRedis } from '../setup/redis.ts'
import { type Backend, type RunningApp, type Seen, startApp, startBackend, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Gateways over one Redis that comes and goes, and a backend that misbehaves. */

let port: number
let redis: RedisServer | null
let backend: Backend
let apps: RunningApp[]
beforeEach(async () => {
  port = await freePort()
  redis = null
  backend = await startBackend(answerAsAsked)
  apps = []
})
afterEach(async () => {
  await Promise.all(apps.map((app) => app.stop()))
  await backend.close()
  await redis?.stop()
  for (const app of apps) expect(app.observations.filter((o) => o.type === 'internal_error')).toEqual([])
})

function answerAsAsked({ url }: Seen, res: Parameters<NonNullable<Parameters<typeof startBackend>[0]>>[1]): void {
  if (url === '/items/500') res.writeHead(500, { 'x-of': 'backend' }).end('it threw')
  else if (url === '/items/broken') res.destroy()
  else res.end('ok')
}

const redisUp = async (): Promise<void> => {
  redis = await startRedis({ port })
}
const redisDown = async (): Promise<void> => {
  await redis?.stop()
  redis = null
}

async function startGateway(): Promise<RunningApp> {
  const app = await startApp(
    yaml(
      backend.url,
      `
quota: { baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } } } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
  - { match: GET /free, category: read, cost: 0 }
  - { match: GET /open, public: true }`,
      `redis://127.0.0.1:${port}`,
    ),
  )
  apps.push(app)
  return app
}

/** The connection to Redis is made in the background: the first requests may come before it. */
async function startReady(): Promise<RunningApp> {
  const app = await startGateway()
  await expect.poll(() => readiness(app), { timeout: 5000 }).toEqual(READY)
  return app
}

const get = (app: RunningApp, path: string, headers: Record<string, string> = bearer('alice')): Promise<Response> =>
  fetch(app.url + path, { headers })
const statusOf = async (app: RunningApp, path: string, headers?: Record<string, string>): Promise<number> =>
  (await get(app, path, headers)).status
const admin = (app: RunningApp, path: string, method = 'GET', body?: unknown): Promise<Response> =>
  fetch(app.admin + path, {
    method,
    headers: {
      authorization: 'Bearer test-admin-token-0001',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
async function readiness(app: RunningApp): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${app.admin}/readyz`)
  return { status: answer.status, body: await answer.json() }
}
const NOT_READY = { status: 503, body: { ready: false, reasons: ['the quota store does not answer'] } }
const READY = { status: 200, body: { ready: true } }
async function used(app: RunningApp): Promise<number | undefined> {
  const answer = await get(app, '/me/quota')
  const { windows } = (await answer.json()) as { windows?: { read: { used: number }[] } }
  return windows?.read[0]?.used
}

async function expectRefusedForTheStore(answer: Response): Promise<void> {
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(await answer.json()).toMatchObject({ error: 'store_unavailable' })
}

describe('while Redis is away', () => {
  it('what is charged gets 503 and is not forwarded, the rest goes on, and so does everything once Redis is back', async () => {
    await redisUp()
    const app = await startReady()
    expect(await statusOf(app, '/items/1')).toBe(200)

    await redisDown()
    const seen = backend.seen.length
    for (let i = 0; i < 3; i++) await expectRefusedForTheStore(await get(app, '/items/1'))
    await expectRefusedForTheStore(await get(app, '/me/quota'))
    expect(backend.seen).toHaveLength(seen)
    expect(app.requests().at(-1)).toMatchObject({ outcome: 'denied', error: 'store_unavailable', httpStatus: null })
    expect([await statusOf(app, '/open', {}), await statusOf(app, '/free')]).toEqual([200, 200])
    await expect.poll(() => readiness(app), { timeout: 5000 }).toEqual(NOT_READY)
    expect((await fetch(`${app.admin}/livez`)).status).toBe(200)
    await expectStoreUnavailable(await admin(app, '/api/tokens'))

    await redisUp() // with nothing in it
    await expect.poll(() => statusOf(app, '/free'), { timeout: 5000 }).toBe(200)
    await expect.poll(() => used(app), { timeout: 10_000 }).toBe(0)
    expect(await statusOf(app, '/items/1')).toBe(200)
    expect(await used(app)).toBe(4)
    await expect.poll(() => readiness(app), { timeout: 5000 }).toEqual(READY)
    expect(app.observations.filter((o) => o.type === 'store_recovered')).toHaveLength(1)
  })

  it('a gateway starts all the same, is not ready, and works once Redis is there', async () => {
    const app = await startGateway()
    expect(await readiness(app)).toEqual(NOT_READY)
    await expectRefusedForTheStore(await get(app, '/items/1'))
    expect(await statusOf(app, '/open', {})).toBe(200)
    await redisUp()
    await expect.poll(() => statusOf(app, '/items/1'), { timeout: 10_000 }).toBe(200)
    await expect.poll(() => readiness(app), { timeout: 5000 }).toEqual(READY)
  })
})

async function expectStoreUnavailable(answer: Response): Promise<void> {
  expect(answer.status).toBe(503)
  expect(await answer.json()).toMatchObject({ error: 'store_unavailable' })
}

describe('a gateway token', () => {
  it('made at one gateway is good at another, and revoked there is refused everywhere within 2 seconds', async () => {
    await redisUp()
    const [one, other] = [await startReady(), await startReady()]
    const made = await admin(one, '/api/tokens', 'POST', { user: 'alice', name: 'laptop' })
    const { id, token } = (await made.json()) as { id: string; token: string }
    const credential = { authorization: `Bearer ${token}` }
    for (const app of [one, other]) expect(await statusOf(app, '/free', credential)).toBe(200)

    expect((await admin(one, `/api/tokens/${id}`, 'DELETE')).status).toBe(204)
    const revokedAt = performance.now()
    // Used all the time, so that a memory which lives on by being used would show.
    while (performance.now() < revokedAt + 1900) {
      for (const app of [one, other]) await get(app, '/free', credential)
      await sleep(50)
    }
    await sleep(revokedAt + 2000 - performance.now())
    for (const app of [one, other]) expect(await statusOf(app, '/free', credential)).toBe(401)
  })
})

describe('a backend that fails', () => {
  const newest = async (app: RunningApp): Promise<unknown> => {
    const { buckets } = (await (await admin(app, '/api/failures')).json()) as { buckets: unknown[] }
    return buckets.at(-1)
  }

  it('with 500 has its answer passed on, the charge kept, and the failure counted as 5xx for all gateways', async () => {
    await redisUp()
    const [one, other] = [await startReady(), await startReady()]
    const answer = await get(one, '/items/500')
    expect([answer.status, answer.headers.get('x-of'), await answer.text()]).toEqual([500, 'backend', 'it threw'])
    expect(one.requests()[0]).toMatchObject({ outcome: 'forwarded', httpStatus: 500, clientStatus: 500 })
    expect(await statusOf(one, '/items/1')).toBe(200)
    expect(await used(other)).toBe(8)
    await expect.poll(() => newest(other), { timeout: 5000 }).toMatchObject({ total: 2, status0: 0, status5xx: 1 })
  })

  it('by breaking off is 502 with the charge kept, since it may have done its work', async () => {
    await redisUp()
    const app = await startReady()
    expect(await statusOf(app, '/items/broken')).toBe(502)
    expect(app.requests()[0]).toMatchObject({ outcome: 'failed', httpStatus: 0, clientStatus: 502 })
    expect(await used(app)).toBe(4)
    await expect.poll(() => newest(app), { timeout: 5000 }).toMatchObject({ total: 1, status0: 1, status5xx: 0 })
  })
})
