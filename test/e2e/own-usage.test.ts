import { fetch } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'

const CONFIG = `quota:
  baselines:
    personal: { read: { 1h: 100, 1d: 500 }, write: { 1h: 100, 1d: 500 } }
    global: { read: { 1h: 999, 1d: 999 }, write: { 1h: 999, 1d: 999 } }
  plans: { team: { organisation: { read: { 1h: 300 } } }, alone: {} }
routes: [{ match: GET /items/*, category: read, cost: 4 }, { match: POST /items/*, category: write, cost: 7 }]`

let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startUpstream()
  const text = yaml(upstream.url, CONFIG).replace('secret:', 'plan_claim: plan, organisation_claim: org, secret:')
  app = await startApp(text)
  for (const who of [ANN, BEN]) await fetch(`${app.url}/items/1`, { headers: who })
  await fetch(`${app.url}/items/1`, { method: 'POST', headers: ANN })
})

const of = (user: string, claims: Record<string, unknown>) => ({ authorization: `Bearer ${jwtOf(user, claims)}` })
const ANN = of('ann', { plan: 'team', org: 'acme' })
const BEN = of('ben', { plan: 'team', org: 'acme' })

const get = (query = '', headers: Record<string, string> = ANN) => fetch(`${app.url}/me/usage${query}`, { headers })

interface Usage {
  readonly rows: readonly Record<string, unknown>[]
  readonly next: string | null
}
const rowsOf = async (query = '', headers = ANN) => ((await (await get(query, headers)).json()) as Usage).rows

test('GET /me/usage shows the caller what it used and nobody else, charges nothing, and does not reach the service', async () => {
  const seen = upstream.seen.length
  const response = await get()
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(await response.json()).toMatchObject({
    by: 'user',
    step: 'range',
    window: 'days',
    complete: true,
    next: null,
    rows: [
      { user: 'ann', category: 'read', window: 'days', tokens: 4, running: true },
      { user: 'ann', category: 'write', window: 'days', tokens: 7, running: true },
    ],
  })
  expect(await rowsOf('', BEN)).toMatchObject([{ user: 'ben', tokens: 4 }])
  expect(upstream.seen).toHaveLength(seen)
  expect(app.requests().at(-1)).toMatchObject({ outcome: 'answered', user: 'ben', cost: 0 })
})

test('GET /me/usage shows what the organisation used together, of the categories that its plan limits', async () => {
  expect(await rowsOf('?by=organisation')).toMatchObject([{ organisation: 'acme', category: 'read', tokens: 8 }])
  for (const claims of [{ plan: 'team' }, { plan: 'alone', org: 'acme' }]) {
    const response = await get('?by=organisation', of('carl', claims))
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'bad_request' }])
  }
})

test('GET /me/usage comes page by page, and a cursor of somebody else is of no use', async () => {
  const first = (await (await get('?limit=1')).json()) as Usage
  expect(first).toMatchObject({ rows: [{ category: 'read' }], next: expect.any(String) })
  expect(await rowsOf(`?limit=5&cursor=${first.next}`)).toMatchObject([{ category: 'write' }])
  expect((await get(`?cursor=${first.next}`, BEN)).status).toBe(400)
})

test.each([
  ['?user=ben', 'query: may have from, to, by, category, window, step, limit, cursor, each once'],
  ['?step=run&step=1h', 'query: may have from, to, by, category, window, step, limit, cursor, each once'],
  ['?by=plan', 'by: must be user or organisation'],
  ['?limit=0', 'limit: must be a whole number from 1 to 1000'],
  ['?window=1w', 'window: must be one of 1h, 1d'],
  ['?from=2026-11-02&to=2026-11-01', 'from: must lie before to'],
])('GET /me/usage refuses %s and says why', async (query, msg) => {
  const response = await get(query)
  expect([response.status, await response.json()]).toEqual([400, { error: 'bad_request', msg }])
})

test('GET /me/usage asks for a credential, and takes no other method', async () => {
  expect((await get('', {})).status).toBe(401)
  const posted = await fetch(`${app.url}/me/usage`, { method: 'POST', headers: bearer('ann') })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  expect((await fetch(`${app.url}/me/usage`, { method: 'HEAD', headers: ANN })).status).toBe(200)
})

describe.each(['sqlite', 'redis'])('GET /me/usage beside many others, over %s', (kind) => {
  let server: RedisServer | null = null
  let other: RunningApp
  beforeAll(async () => {
    server = kind === 'redis' ? await startRedis() : null
    other = await startApp(yaml(upstream.url, CONFIG, server?.url))
  })

  const ask = (user: string, path = '/me/usage') => fetch(other.url + path, { headers: bearer(user) })

  test('GET /me/usage beside many others shows each of those who ask at once his own, and takes no place from whoever asks later', async () => {
    const users = Array.from({ length: 8 }, (_, i) => `user ${i}`)
    for (const [i, user] of users.entries()) for (let n = 0; n <= i; n++) await ask(user, '/items/1')
    for (let round = 0; round < 12; round++) {
      const found = await Promise.all(users.map(async (user) => (await ask(user)).json()))
      expect(found).toMatchObject(users.map((user, i) => ({ rows: [{ user, tokens: 4 * (i + 1) }] })))
    }
  })
})

describe('GET /me/usage while the store replies to nobody', () => {
  let server: RedisServer
  let other: RunningApp
  beforeAll(async () => {
    server = await startRedis()
    const text = yaml(upstream.url, `edge: { shares: { usage: { address: 6 } } }\n${CONFIG}`, server.url)
    other = await startApp(text.replace('store:', 'store_options: { deadline: 10s }\nstore:'))
  })

  const ask = (user: string) => fetch(`${other.url}/me/usage`, { headers: bearer(user) })

  test('GET /me/usage while the store replies to nobody refuses a user a fifth one, and his address a seventh, until some of them have ended', async () => {
    process.kill(server.pid, 'SIGSTOP')
    const five = Array.from({ length: 5 }, () => ask('alice'))
    const refused = await Promise.race(five)
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('ratelimit-policy')]).toEqual([
      429,
      '1',
      '"user-usage";q=4;qu="concurrent-requests"',
    ])
    expect(await refused.json()).toMatchObject({
      error: 'too_many_in_flight',
      msg: 'This user has as many requests for its usage under way as one user may have at a time. Try again when one of them has ended.',
    })
    expect(other.requests().at(-1)).toMatchObject({ user: 'alice', share: { thing: 'usage', bound: 'user' } })
    const three = Array.from({ length: 3 }, () => ask('bob'))
    expect((await Promise.race(three)).headers.get('ratelimit-policy')).toBe(
      '"address-usage";q=6;qu="concurrent-requests"',
    )
    process.kill(server.pid, 'SIGCONT')
    const statuses = (await Promise.all([...five, ...three])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([...Array(6).fill(200), 429, 429])
    expect((await ask('alice')).status).toBe(200)
  })
})
