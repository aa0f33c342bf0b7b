import { beforeEach, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { call as callRaw } from './running.ts'

/** The admin API and the gateway as one app: what is changed here shows there. */
const RULES = `
quota:
  baselines:
    personal: { read: { 1h: 20, 5h: 400 }, write: { 1h: 30, 5h: 200 } }
    global: { read: { 1h: 1200, 5h: 4000 }, write: { 1h: 600, 5h: 2000 } }
routes:
  - { match: GET /v1/items/:id, category: read, cost: 2 }
  - { match: GET /v1/items/special, category: write, cost: 7 }
  - { match: POST /v1/charge, category: write, cost: { body: chargeId, values: { 2: 10, 3: 15 } } }
  - { match: GET /v1/open/*, public: true }
  - { match: GET /v1/trial, category: read, cost: 5, shadow: true }
  - { match: GET /v1/free, category: read, cost: 0 }
`
const ADMIN = { authorization: 'Bearer test-admin-token-0001' }

let upstream: Upstream
let app: RunningApp
let credential: string
beforeEach(async () => {
  upstream = await startUpstream()
  app = await startApp(yaml(upstream.url, RULES))
  credential = (await admin('POST', '/api/tokens', { user: 'alice', name: 'test' })).json.token
})

const admin = (method: string, path: string, body?: unknown) =>
  callRaw(app.admin, method, path, { headers: ADMIN, body })
const send = (method: string, path: string, body?: unknown) =>
  callRaw(app.url, method, path, { headers: { authorization: `Bearer ${credential}` }, body })

/** Waits until something holds: a change is in force within 2 seconds. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('it never held')
}

describe('a change at run time', () => {
  test('a change at run time of the mode puts the new limit into the next 429', async () => {
    for (let i = 0; i < 8; i++) expect((await send('GET', '/v1/items/1')).status).toBe(200)
    await admin('PATCH', '/api/quota', { mode: 'conservative' })
    await eventually(async () => (await send('GET', '/me/quota')).json.windows.read[0].limit === 15)
    expect((await send('GET', '/v1/items/1')).json.quota).toMatchObject({ scope: 'Personal', limit: 15, used: 16 })
    await admin('POST', '/api/users/alice/reset', { reason: 'r' })
    await eventually(async () => (await send('GET', '/v1/items/1')).status === 200)
  })

  test('a change at run time that empties the global windows lets those through whom they refused', async () => {
    await admin('PATCH', '/api/quota', { baselines: { global: { read: { '1h': 4 } } } })
    await eventually(async () => (await send('GET', '/v1/items/1')).json?.quota?.scope === 'Global')
    const { json } = await admin('POST', '/api/quota/reset', { scope: 'global', category: 'read', reason: 'r' })
    expect(json).toEqual({ from: { '1h': 4, '5h': 4 } })
    await eventually(async () => (await send('GET', '/v1/items/1')).status === 200)
  })

  test('a change at run time blocks whom its preview names: whoever has no room for any request of a category, though some of the window is left', async () => {
    for (let i = 0; i < 8; i++) expect((await send('GET', '/v1/items/1')).status).toBe(200)
    for (const [limit, blocked, status] of [
      [17, 1, 429],
      [18, 0, 200],
    ] as const) {
      const body = { baselines: { personal: { read: { '1h': limit } } } }
      expect((await admin('POST', '/api/quota/preview', body)).json.blockedCount).toBe(blocked)
      await admin('PATCH', '/api/quota', body)
      expect((await admin('GET', '/api/users')).json.users[0]).toMatchObject({ user: 'alice', blocked: blocked === 1 })
      await eventually(async () => (await send('GET', '/me/quota')).json.windows.read[0].limit === limit)
      expect((await send('GET', '/v1/items/1')).status).toBe(status)
    }
    expect((await admin('GET', '/api/quota')).json.cheapest).toEqual({ read: 2, write: 7 })
  })

  test('a change at run time by an override replaces the limit of one user, until the override ends', async () => {
    // A change may take 2 seconds to be in force, and must be seen before it ends.
    const expiresAt = new Date(Date.now() + 8000).toISOString()
    expect(
      (await admin('PUT', '/api/users/alice/override', { read: { '1h': 0 }, reason: 'r', expiresAt })).status,
    ).toBe(200)
    await eventually(async () => (await send('GET', '/v1/items/1')).status === 429)
    await eventually(async () => (await send('GET', '/v1/items/1')).status === 200)
    expect((await admin('GET', '/api/users/alice')).json.override).toBeNull()
  })

  test('to shadow mode refuses nothing any more, and reports what would have been refused', async () => {
    await admin('PUT', '/api/users/alice/override', { read: { '1h': 1 }, reason: 'r' })
    await eventually(async () => (await send('GET', '/v1/items/1')).status === 429)
    await admin('PATCH', '/api/quota', { shadow: true })
    await eventually(async () => (await send('GET', '/v1/items/1')).headers['x-tollgate-shadow'] === 'would-refuse')
    await eventually(async () => (await admin('GET', '/api/now')).json.counts.shadowed > 0)
  })
})

test('an explanation says what then happens, for hundreds of requests', async () => {
  const paths = [
    ['GET', '/v1/items/1'],
    ['GET', '/v1/items/special'],
    ['GET', '/v1/%69tems/special?x=1'],
    ['GET', '/v1/items/'],
    ['GET', '/v1/items/a%2Fb'],
    ['GET', '/v1/items/a;b'],
    ['GET', '/v1//items/1'],
    ['GET', '/v1/open/a/b'],
    ['GET', '/v1/open'],
    ['GET', '/v1/trial'],
    ['GET', '/v1/free'],
    ['GET', '/nothing'],
    ['PUT', '/v1/items/1'],
    ['HEAD', '/v1/items/1'],
    ['POST', '/me/quota'],
    ['GET', '/me/quota'],
    ['POST', '/v1/charge', '2'],
    ['POST', '/v1/charge', '3'],
    ['POST', '/v1/charge', '9'],
    ['POST', '/v1/charge', '2.0'],
    ['POST', '/v1/charge', '"2"'],
  ] as const
  const decisions = new Set<string>()
  for (let round = 0; round < 10; round++) {
    if (round === 5) await admin('POST', '/api/users/alice/reset', { reason: 'r' })
    // A refusal is remembered for a quarter of a second.
    if (round === 5) await eventually(async () => (await send('GET', '/v1/items/1')).status === 200)
    for (const [method, path, value] of paths) {
      const question = new URLSearchParams({ user: 'alice', method, path, ...(value !== undefined && { value }) })
      const { decision, why } = (await admin('GET', `/api/explain?${question}`)).json
      const response = await send(method, path, value === undefined ? undefined : { chargeId: JSON.parse(value) })
      decisions.add(decision)
      expect(outcome(response.status, response.headers), `${method} ${path}: ${decision}, ${why}`).toBe(
        expected(decision, why),
      )
      if (decision === 'refuse' && method !== 'HEAD') expect(why).toContain(response.json.msg)
    }
  }
  expect([...decisions].sort()).toEqual(['accept', 'bad_request', 'no_route', 'not_charged', 'refuse', 'shadow'])
})

function outcome(status: number, headers: Record<string, unknown>): string {
  return headers['x-tollgate-shadow'] === undefined ? `${status}` : `${status} shadow`
}

function expected(decision: string, why: string): string {
  if (decision === 'shadow') return '200 shadow'
  if (decision === 'accept' || decision === 'not_charged') return '200'
  return why.slice(0, 3)
}

test('the route map shows its hits and what matched nothing', async () => {
  await send('GET', '/v1/items/1')
  await send('GET', '/nothing?secret=1')
  await eventually(async () => (await admin('GET', '/api/routes')).json.unmatched.hits === 1)
  const { json } = await admin('GET', '/api/routes')
  expect(json.routes.find(({ match }: { match: string }) => match === 'GET /v1/items/:id').hits).toBe(1)
  expect(json.unmatched).toEqual({ kind: 'refuse', hits: 1, latest: ['GET /nothing'] })
})

test('a reload of the file shows at once: its values, its routes, its hash', async () => {
  const before = (await admin('GET', '/api/now')).json.config.hash
  await admin('PATCH', '/api/quota', { baselines: { personal: { write: { '1h': 5 } } } })
  await app.reload(yaml(upstream.url, `${RULES.replace('1h: 20', '1h: 25')}  - { match: GET /more, public: true }\n`))
  const quota = (await admin('GET', '/api/quota')).json
  expect(quota).toMatchObject({
    effective: { personal: { read: { '1h': 25 }, write: { '1h': 5 } } },
    changed: ['baselines.personal.write.1h'],
  })
  expect((await admin('GET', '/api/routes')).json.routes).toHaveLength(7)
  expect((await admin('GET', '/api/now')).json.config.hash).not.toBe(before)
})

test('/api/now names the store in use while another one waits for a restart', async () => {
  await app.reload(yaml(upstream.url, `${RULES.replace('1h: 20', '1h: 25')}`, 'redis://127.0.0.1:1'))
  expect((await admin('GET', '/api/quota')).json.effective.personal.read['1h']).toBe(25)
  expect((await admin('GET', '/api/now')).json.store).toEqual({ kind: 'sqlite', answers: true })
})
