import { join } from 'node:path'
import { fetch, type Response } from 'undici'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Changes, UserOverride } from '../../src/control/state.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { tokensIn } from '../observe/settled.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** What the quota would have refused is let through, told, and never charged: held against what the upstream saw. */

const AUTHOR = { who: 'alice', why: null }
const SOON = { timeout: 30_000, interval: 10 }
const COST = 4
const LIMIT = 10

let folder: string
let url: string
let upstream: Upstream
let app: RunningApp
let store: Store | null
beforeEach(async () => {
  folder = tempFolder()
  url = `sqlite:${join(folder, 'quota.db')}`
  upstream = await startUpstream((_seen, res) =>
    res.writeHead(200, { 'X-Tollgate-Shadow': 'of the upstream' }).end('ok'),
  )
  store = null
})

async function start({ quota = '', route = '', global = 100, at = url } = {}): Promise<void> {
  const limits = `personal: { read: { 1h: ${LIMIT} } }, global: { read: { 1h: ${global} } }`
  app = await startApp(
    yaml(
      upstream.url,
      `
quota: { baselines: { ${limits} }, ${quota} }
routes:
  - { match: GET /items/*, category: read, cost: ${COST}, ${route} }
  - { match: GET /others/*, category: read, cost: ${COST} }`,
      at,
    ),
  )
}

/** What an administrator does. */
function hand(): Store {
  store ??= closedAtEnd(openSqliteStore({ file: join(folder, 'quota.db') }))
  return store
}
const set = (to: Changes) => hand().change({ kind: 'settings', to }, AUTHOR, null)
const override = (user: string, to: Partial<UserOverride>) => {
  const whole = { limits: {}, bypassGlobal: false, shadow: false, reason: 'why', expiresAt: null, ...to }
  return hand().change({ kind: 'override', user, to: whole }, AUTHOR, null)
}

const get = (user = 'alice', path = '/items/1'): Promise<Response> => fetch(app.url + path, { headers: bearer(user) })
async function statuses(count: number, user?: string, path?: string): Promise<number[]> {
  const responses: number[] = []
  for (let i = 0; i < count; i++) responses.push((await get(user, path)).status)
  return responses
}
async function used(user = 'alice'): Promise<number | undefined> {
  const body = (await (await get(user, '/me/quota')).json()) as { windows: { read: { used: number }[] } }
  return body.windows.read[0]?.used
}
it.each([
  ['A value without a price', '/p', '{"k":"zzz"}', 'body_price: zzz'],
  ['A body that is no JSON', '/p', 'nothing', 'body_price'],
  ['A query with the priced field', '/p?k=b', '{"k":"b"}', 'body_price'],
])('%s is forwarded in shadow, uncharged, and named', async (_what, path, body, reason) => {
  const priced = 'routes: [{ match: POST /p, category: read, cost: { body: k, values: { b: 1 } }, shadow: true }]'
  app = await startApp(yaml(upstream.url, priced))
  const headers = { ...bearer('alice'), 'content-type': 'application/json' }
  const response = await fetch(app.url + path, { method: 'POST', headers, body })
  expect([response.status, response.headers.get('x-tollgate-shadow')]).toEqual([200, 'would-refuse'])
  expect(upstream.seen.at(-1)?.body).toBe(body)
  expect(app.requests()).toMatchObject([{ cost: 0, charged: null, shadowed: true, reason, refusedBy: null }])
  const outcomes = app.observations.filter(({ type }) => type === 'settled')
  expect(outcomes).toMatchObject([{ kind: 'shadowed', tokens: 0, refusedBy: 'price' }])
  expect(await metric('category="read",scope="price"')).toBe(1)
})

const charged = (): number => tokensIn(app.observations)
const seenOf = (user: string): number =>
  upstream.seen.filter(({ headers }) => headers['x-tollgate-user'] === user).length
async function metric(labels: string): Promise<number> {
  const { samples } = parseMetrics(await (await fetch(`${app.admin}/metrics`)).text())
  return samples.get(`tollgate_shadow_refusals_total{${labels}}`) ?? 0
}

/** Of seven requests of 4 tokens two fit into 10; the others are let through. */
async function expectShadow(user = 'alice'): Promise<void> {
  const before = charged()
  const responses: Response[] = []
  for (let i = 0; i < 7; i++) responses.push(await get(user))
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200])
  expect(seenOf(user)).toBe(7)
  expect(responses.map(({ headers }) => headers.get('x-tollgate-shadow') === 'would-refuse')).toEqual([
    false,
    false,
    ...Array<boolean>(5).fill(true),
  ])
  expect([charged() - before, await used(user)]).toEqual([2 * COST, 2 * COST])
  const told = app.requests().filter((done) => done.user === user && done.route === 'GET /items/*')
  expect(told.map(({ outcome, shadowed, cost, error }) => [outcome, shadowed, cost, error])).toEqual(
    responses.map((_, i) => ['forwarded', i >= 2, COST, null]),
  )
  const by = { scope: 'personal', window: '1h', limit: LIMIT, used: 2 * COST, requested: COST, source: 'baseline' }
  expect(told.map(({ refusedBy }) => refusedBy)).toMatchObject(responses.map((_, i) => (i >= 2 ? by : null)))
}

async function expectRefusals(user = 'alice'): Promise<void> {
  expect(await statuses(4, user)).toEqual([200, 200, 429, 429])
  expect([seenOf(user), await used(user)]).toEqual([2, 2 * COST])
}

describe('shadow', () => {
  it('shadow of the whole gateway by the file refuses nothing, charges only what fits, and tells the rest', async () => {
    await start({ quota: 'shadow: true' })
    await expectShadow()
    expect(await metric('category="read",scope="personal"')).toBe(5)
    const { headers } = await get()
    expect(headers.get('ratelimit')).toMatch(/^"personal-read-1h";r=2;t=\d+, "global-read-1h";r=92;t=\d+$/)
    expect(headers.get('ratelimit-policy')).toContain('"personal-read-1h";q=10')
  })

  it('shadow of the whole gateway is switched on and off at run time, and the file may be overruled', async () => {
    await start()
    await expectRefusals()
    await set({ shadow: true })
    await expect.poll(async () => (await get()).status, SOON).toBe(200)
    await expectShadow('bob')
    await set({ shadow: false })
    await expect.poll(async () => (await get()).status, SOON).toBe(429)
    await expectRefusals('carol')
    await app.reload(
      `${yaml(
        upstream.url,
        `quota: { shadow: true, baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`,
        url,
      )}`,
    )
    expect((await get()).status).toBe(429)
    await set({})
    await expect.poll(async () => (await get()).status, SOON).toBe(200)
  })

  it('shadow of a route lets nothing else through', async () => {
    await start({ route: 'shadow: true' })
    await expectShadow()
    expect(await statuses(2, 'alice', '/others/1')).toEqual([429, 429])
    expect(await statuses(4, 'bob', '/others/1')).toEqual([200, 200, 429, 429])
    expect(seenOf('alice')).toBe(7)
  })

  it('shadow of a user lets nobody else through', async () => {
    await start()
    await override('alice', { shadow: true })
    await expectRefusals('bob')
    await expect.poll(async () => (await hand().listReplicas())[0]?.controlVersion, SOON).toBe(1)
    await expectShadow('alice')
    await expectRefusals('carol')
  })

  it('shadow tells a refusal by the global limits apart', async () => {
    await start({ quota: 'shadow: true', global: 6 })
    expect(await statuses(3)).toEqual([200, 200, 200])
    expect([charged(), upstream.seen.length]).toEqual([COST, 3])
    expect(await metric('category="read",scope="global"')).toBe(2)
    expect(await metric('category="read",scope="personal"')).toBe(0)
  })

  it('shadow takes nothing from others: a user who is let through leaves the global limit to them', async () => {
    await start({ route: 'shadow: true', global: 12 })
    expect(await statuses(20)).toEqual(Array(20).fill(200))
    expect(await statuses(2, 'bob', '/others/1')).toEqual([200, 429])
    expect(charged()).toBe(3 * COST)
  })

  it('ratelimit_headers: false takes the RateLimit fields and leaves its own', async () => {
    await start({ quota: 'shadow: true, ratelimit_headers: false' })
    await statuses(2)
    const { headers } = await get()
    expect([headers.get('ratelimit'), headers.get('x-tollgate-shadow')]).toEqual([null, 'would-refuse'])
  })
})

describe('while the store is out', () => {
  it('shadow lets through what could not be charged, and other routes answer 503', async () => {
    const redis = await startRedis()
    await start({ route: 'shadow: true', at: redis.url })
    await expect.poll(async () => (await get()).status, SOON).toBe(200)
    await redis.kill()
    const responses = [await get(), await get()]
    expect(responses.map(({ status, headers }) => [status, headers.get('x-tollgate-shadow')])).toEqual([
      [200, 'would-refuse'],
      [200, 'would-refuse'],
    ])
    expect(responses[0]?.headers.get('ratelimit')).toBeNull()
    expect(app.requests().at(-1)?.refusedBy).toBeNull()
    expect(await statuses(1, 'alice', '/others/1')).toEqual([503])
    expect(await metric('category="read",scope="store"')).toBe(2)
    expect(app.requests().at(-1)).toMatchObject({ error: 'store_unavailable', shadowed: false })
    await redis.restart()
  })
})
