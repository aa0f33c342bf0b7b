import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetch, type Response } from 'undici'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../src/observe/log.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort, type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, type Seen, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Gateways over one Redis that comes and goes, and an upstream that misbehaves. */

/** While Redis is there no request is to miss it, also where the machine holds a process up. */
const PATIENT = '\nstore_options: { deadline: 1s }'

let port: number
let redis: RedisServer | null
let upstream: Upstream
let apps: RunningApp[]
beforeEach(async () => {
  port = await freePort()
  redis = null
  upstream = await startUpstream(responseAsAsked)
  apps = []
})

function responseAsAsked({ url }: Seen, res: Parameters<NonNullable<Parameters<typeof startUpstream>[0]>>[1]): void {
  if (url === '/items/500') res.writeHead(500, { 'x-of': 'backend' }).end('it threw')
  else if (url === '/items/half') res.writeHead(200, { 'content-length': 10 }).write('half', () => res.destroy())
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
      upstream.url,
      `${PATIENT}
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
  await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  return app
}

const get = (
  app: RunningApp,
  path: string,
  headers: Record<string, string> = bearer('alice'),
  method = 'GET',
): Promise<Response> => fetch(app.url + path, { headers, method })
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
async function readiness(app: RunningApp, query = ''): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${app.admin}/readyz${query}`)
  return { status: response.status, body: await response.json() }
}
const NOT_READY = { status: 503, body: { ready: false, reasons: ['the quota store does not answer'] } }
const DEGRADED = { status: 200, body: { ready: true, degraded: ['the quota store does not answer'] } }
const READY = { status: 200, body: { ready: true } }
async function used(app: RunningApp): Promise<number | undefined> {
  const response = await get(app, '/me/quota')
  const { windows } = (await response.json()) as { windows?: { read: { used: number }[] } }
  return windows?.read[0]?.used
}

async function expectRefusedForTheStore(response: Response): Promise<void> {
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('1')
  expect(await response.json()).toMatchObject({ error: 'store_unavailable' })
}

describe('while Redis is away', () => {
  it('what is charged gets 503 and is not forwarded, the rest goes on, and so does everything once Redis is back', async () => {
    await redisUp()
    const app = await startReady()
    expect(await statusOf(app, '/items/1')).toBe(200)

    await redisDown()
    const seen = upstream.seen.length
    for (let i = 0; i < 3; i++) await expectRefusedForTheStore(await get(app, '/items/1'))
    await expectRefusedForTheStore(await get(app, '/me/quota'))
    expect(upstream.seen).toHaveLength(seen)
    expect(app.requests().at(-1)).toMatchObject({ outcome: 'denied', error: 'store_unavailable', httpStatus: null })
    expect([await statusOf(app, '/open', {}), await statusOf(app, '/free')]).toEqual([200, 200])
    await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(DEGRADED)
    expect((await fetch(`${app.admin}/livez`)).status).toBe(200)
    await expectStoreUnavailable(await admin(app, '/api/tokens'))

    await redisUp() // with nothing in it
    await expect.poll(() => statusOf(app, '/free'), { timeout: 30_000 }).toBe(200)
    await expect.poll(() => used(app), { timeout: 30_000 }).toBe(0)

    const degraded = [expect.stringMatching(/^the store has forgotten up to 4 tokens charged since /)]
    await expect
      .poll(() => readiness(app), { timeout: 30_000 })
      .toEqual({ status: 200, body: { ready: true, degraded } })
    expect(await statusOf(app, '/items/1')).toBe(200)
    expect(await used(app)).toBe(4)
    expect(app.observations.filter((o) => o.type === 'store_recovered')).toHaveLength(1)
  })

  it('it shows in the metrics also where no charge opens the circuit', async () => {
    await redisUp()
    const app = await startReady()
    const figures = async (): Promise<(number | undefined)[]> => {
      const { value } = parseMetrics(await (await fetch(`${app.admin}/metrics`)).text())
      return [value('tollgate_store_silent'), value('tollgate_store_circuit_open')]
    }
    expect(await figures()).toEqual([0, 0])
    await redisDown()
    await expect.poll(figures, { timeout: 30_000 }).toEqual([1, 0])
    await redisUp()
    await expect.poll(figures, { timeout: 30_000 }).toEqual([0, 0])
  })

  it('a gateway starts all the same, is not ready, and works once Redis is there', async () => {
    const app = await startGateway()
    expect(await readiness(app)).toEqual(NOT_READY)
    // A new process would not find the store either: what started it is not to end it for that.
    expect(await readiness(app, '?startup=1')).toEqual(DEGRADED)
    await expectRefusedForTheStore(await get(app, '/items/1'))
    expect(await statusOf(app, '/open', {})).toBe(200)
    await redisUp()
    await expect.poll(() => statusOf(app, '/items/1'), { timeout: 30_000 }).toBe(200)
    await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  })
})

const full = ['--maxmemory', '1']
const reasons = ['the quota store takes no charges: out_of_memory']
const FULL = { status: 503, body: { ready: false, reasons } }
const FULL_LATER = { status: 200, body: { ready: true, degraded: reasons } }

it('a Redis that answers and takes no charges keeps a gateway from being ready from its start on, before any client finds that out', async () => {
  redis = await startRedis({ port, args: full })
  const app = await startGateway()
  expect(await readiness(app)).toEqual(FULL)
  const why = { type: 'store_failed', operation: 'settle', reason: 'out_of_memory' }
  expect(app.observations).toContainEqual(expect.objectContaining(why))
  await redis.kill()
  await redis.restart(['--maxmemory', '0'])
  await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  expect(await statusOf(app, '/items/1')).toBe(200)
})

it('a Redis that answers and takes no charges is told by a gateway without traffic to which it comes back like that, and that stays ready', async () => {
  await redisUp()
  const app = await startReady()
  await redis?.kill()
  await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(DEGRADED)
  await redis?.restart(full)
  await expect.poll(() => app.observations.some((o) => o.type === 'store_out'), { timeout: 30_000 }).toBe(true)
  expect(await readiness(app)).toEqual(FULL_LATER)
})

const SHARED = `${PATIENT}
quota:
  baselines: { personal: { read: { 1h: 200, 1d: 300 }, write: { 1h: 200, 1d: 300 } }, global: { read: { 1h: 250, 1d: 2500 }, write: { 1h: 250, 1d: 2500 } } }
  store_outage: { read: { allow: 10% }, write: refuse }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
  - { match: POST /items/*, category: write, cost: 4 }
  - { match: GET /free, category: read, cost: 0 }`

async function startShared(storePort: number): Promise<RunningApp> {
  const app = await startApp(yaml(upstream.url, SHARED, `redis://127.0.0.1:${storePort}`))
  apps.push(app)
  await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  return app
}
const statuses = (app: RunningApp, count: number, user = 'alice'): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => statusOf(app, '/items/1', bearer(user))))
const count = (list: readonly number[], status: number): number => list.filter((each) => each === status).length
const spent = (): number => 4 * upstream.seen.length
const inStore = async (app: RunningApp): Promise<number | undefined> => {
  const response = await get(app, '/me/quota')
  const { windows } = (await response.json()) as { windows?: { read: { scope: string; used: number }[] } }
  return windows?.read.find(({ scope }) => scope === 'Global')?.used
}
it('a category with a share for outages goes on in every gateway up to that share while Redis hangs, and Redis has counted it all in the end', async () => {
  await redisUp()
  const gateways = [await startShared(port), await startShared(port)] as const
  for (const app of gateways) expect(await statusOf(app, '/items/1')).toBe(200)

  process.kill(redis?.pid ?? 0, 'SIGSTOP')
  try {
    for (const app of gateways) {
      const answered = await statuses(app, 30)
      // A tenth of 200 tokens is 20: five requests of 4.
      expect([count(answered, 200), count(answered, 429)]).toEqual([5, 25])
      // A tenth of 250 for all users is 25: one more.
      expect(count(await statuses(app, 5, 'bob'), 200)).toBe(1)
      await expectRefusedForTheStore(await get(app, '/items/1', bearer('alice'), 'POST'))
      await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(DEGRADED)
    }
    const refused = await get(gateways[0], '/items/1')
    expect(refused.headers.get('ratelimit-policy')).toContain('"personal-read-1h";q=20;w=3600')
    expect(refused.headers.get('ratelimit')).toContain('"personal-read-1h";r=0;t=3')
    expect(await refused.json()).toMatchObject({
      error: 'quota_exceeded',
      quota: { scope: 'Personal', window: '1h', limit: 20, used: 20, requested: 4 },
    })
    expect(upstream.seen).toHaveLength(14)
  } finally {
    process.kill(redis?.pid ?? 0, 'SIGCONT')
  }
  for (const app of gateways) await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  await expect.poll(() => inStore(gateways[0]), { timeout: 30_000 }).toBe(spent())
  expect(await statusOf(gateways[1], '/items/1')).toBe(200)
  expect(await inStore(gateways[0])).toBe(spent())
  for (const app of gateways) expect(app.observations.filter((o) => o.type === 'store_out')).toHaveLength(1)
})

it('a category with a share for outages has its share of the global windows anew when they were emptied, and what is owed is charged', async () => {
  await redisUp()
  const app = await startShared(port)
  const hanging = async (act: () => Promise<void>): Promise<void> => {
    process.kill(redis?.pid ?? 0, 'SIGSTOP')
    try {
      await act()
    } finally {
      process.kill(redis?.pid ?? 0, 'SIGCONT')
    }
    await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  }
  // A tenth of 250 for all users is 25: five requests of alice, one of bob, and none of carol.
  await hanging(async () => {
    expect(count(await statuses(app, 6), 200)).toBe(5)
    expect(count(await statuses(app, 2, 'bob'), 200)).toBe(1)
    expect(count(await statuses(app, 2, 'carol'), 200)).toBe(0)
  })
  await expect.poll(() => inStore(app), { timeout: 30_000 }).toBe(24)
  const reset = await fetch(`${app.admin}/api/quota/reset`, {
    method: 'POST',
    headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
    body: JSON.stringify({ scope: 'global', category: 'read', window: '1h', reason: 'the outage used it up' }),
  })
  expect([reset.status, await reset.json()]).toEqual([200, { from: { '1h': 24 } }])
  await expect
    .poll(() => app.observations.some(({ type }) => type === 'control_followed'), { timeout: 30_000 })
    .toBe(true)
  await hanging(async () => {
    expect(count(await statuses(app, 6, 'carol'), 200)).toBe(5)
    // What alice was admitted by herself stays so.
    expect(count(await statuses(app, 2), 200)).toBe(0)
  })
  await expect.poll(() => inStore(app), { timeout: 30_000 }).toBe(20)
})

it('a category with a share for outages has the share that the configuration in force gives it, also when that changes meanwhile', async () => {
  await redisUp()
  const app = await startShared(port)
  await redisDown()
  await expectRefusedForTheStore(await get(app, '/items/1', bearer('alice'), 'POST'))
  await app.reload(
    yaml(upstream.url, SHARED.replace('write: refuse', 'write: { allow: 2% }'), `redis://127.0.0.1:${port}`),
  )
  const posted = [
    await get(app, '/items/1', bearer('alice'), 'POST'),
    await get(app, '/items/1', bearer('alice'), 'POST'),
  ]
  expect(posted.map(({ status }) => status)).toEqual([200, 429])
})

it('a category with a share for outages is divided among the workers of a gateway', async () => {
  await redisUp()
  const text = yaml(upstream.url, SHARED, `redis://127.0.0.1:${port}`)
  apps.push(await startApp(text, 2), await startApp(text, 2))
  for (const app of apps) await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  await redisDown()
  for (const app of apps) {
    expect(count(await statuses(app, 10), 200)).toBe(2)
    expect(app.observations.find(({ type }) => type === 'config_loaded')).toMatchObject({
      storeOutage: new Map([
        ['read', 0.05],
        ['write', 0],
      ]),
    })
  }
})

it('a category with a share for outages costs the log a few lines, however many requests an outage meets', async () => {
  await redisUp()
  const app = await startShared(port)
  await redisDown()
  for (let i = 0; i < 20; i++) await statuses(app, 50)
  await redisUp()
  await expect.poll(() => readiness(app), { timeout: 30_000 }).toEqual(READY)
  expect(app.requests().length).toBeGreaterThanOrEqual(1000)
  const destination = join(tempFolder(), 'log')
  const log = createLog({ requests: 'none', destination })
  for (const observation of app.observations) log.observer(observation)
  await log.close()
  const lines = (await readFile(destination, 'utf8')).trim().split('\n')
  expect(lines.filter((line) => line.includes('the store is out'))).toHaveLength(1)
  expect(lines.length).toBeLessThan(30)
})

it('a category with a share for outages is charged at shutdown where the store comes back in time, and told as lost or unknown where it does not', async () => {
  await redisUp()
  const [first, second] = [await startShared(port), await startShared(port)]
  process.kill(redis?.pid ?? 0, 'SIGSTOP')
  try {
    expect(count(await statuses(first, 3), 200)).toBe(3)
    expect(count(await statuses(second, 2), 200)).toBe(2)
    await second.stop()
  } finally {
    process.kill(redis?.pid ?? 0, 'SIGCONT')
  }
  const sum = (app: RunningApp, of: (seen: Observation) => number): number =>
    app.observations.reduce((total, seen) => total + of(seen), 0)
  const lost = (app: RunningApp): number =>
    sum(app, (o) => (o.type === 'outage_tokens' && o.event === 'lost' ? o.tokens : 0))
  // What was under way to the store when it fell silent.
  const unknown = sum(second, (o) => (o.type === 'outcome_unknown' && !o.settled ? o.charges * 4 : 0))
  expect(lost(second) + unknown).toBe(8)
  await first.stop()
  expect(lost(first)).toBe(0)
  const third = await startShared(port)
  expect([12, 16, 20].filter((tokens) => tokens <= 12 + unknown)).toContain(await inStore(third))
})

async function expectStoreUnavailable(response: Response): Promise<void> {
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ error: 'store_unavailable' })
}

it('an access key made at one gateway is good at another, and revoked there is refused everywhere within 2 seconds', async () => {
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

type Bucket = Record<'total' | 'status0' | 'status5xx', number>
/** Of all half hours: one may end in the middle of the test. */
const counted = async (app: RunningApp): Promise<Bucket> => {
  const { buckets } = (await (await admin(app, '/api/failures')).json()) as { buckets: Bucket[] }
  const sum = (of: keyof Bucket): number => buckets.reduce((all, bucket) => all + bucket[of], 0)
  return { total: sum('total'), status0: sum('status0'), status5xx: sum('status5xx') }
}

it('an upstream that fails with 500 has its answer passed on, the charge kept, and the failure counted as 5xx for all gateways', async () => {
  await redisUp()
  const [one, other] = [await startReady(), await startReady()]
  const response = await get(one, '/items/500')
  expect([response.status, response.headers.get('x-of'), await response.text()]).toEqual([500, 'backend', 'it threw'])
  expect(one.requests()[0]).toMatchObject({ outcome: 'forwarded', httpStatus: 500, clientStatus: 500 })
  expect(await statusOf(one, '/items/1')).toBe(200)
  expect(await used(other)).toBe(8)
  await expect.poll(() => counted(other), { timeout: 30_000 }).toEqual({ total: 2, status0: 0, status5xx: 1 })
})

it('an upstream that fails by breaking off within its answer counts as one that is bad, whatever status the client had got', async () => {
  await redisUp()
  const app = await startReady()
  await expect(get(app, '/items/half').then((response) => response.text())).rejects.toThrow()
  await expect.poll(() => app.requests()[0]).toMatchObject({ outcome: 'failed', error: 'bad_upstream_answer' })
  const { value } = parseMetrics(await (await fetch(`${app.admin}/metrics`)).text())
  expect(value('tollgate_upstream_errors_total{reason="bad_upstream_answer"}')).toBe(1)
})
