import { fetch } from 'undici'
import { beforeAll, expect, test, vi } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'

const ROUTES = `quota: { baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 99 } } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }, { match: GET /fails, public: true }]`
const CORS = 'cors: { origins: [https://app.example.org], preflight: answer }'
const BOTH = 'public: { failure_rate: true, prices: true }'

const text = () => yaml(upstream.url, `${ROUTES}\n${CORS}\n${BOTH}`)

let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startUpstream((seen, res) => {
    res.statusCode = seen.url === '/fails' ? 500 : 200
    res.end('of the service')
  })
  app = await startApp(text())
})

const PATHS = ['/usage/failure-rate', '/quota/prices']

test.each(PATHS)(
  'what everybody may read is %s, without a credential and a charge, and the service does not see it',
  async (path) => {
    const seen = upstream.seen.length
    const response = await fetch(app.url + path, { headers: { authorization: 'Bearer wrong' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/)
    const etag = response.headers.get('etag') ?? ''
    expect(await response.json()).toBeTypeOf('object')
    expect(upstream.seen).toHaveLength(seen)
    expect(app.observations.some(({ type }) => type === 'credential_checked')).toBe(false)
    expect(app.requests().at(-1)).toMatchObject({ outcome: 'answered', user: null, route: null, cost: 0 })
    if (path === '/quota/prices') {
      expect((await fetch(app.url + path, { headers: { 'if-none-match': etag } })).status).toBe(304)
    }
  },
)

test.each(PATHS)(
  'what everybody may read takes HEAD of %s, and refuses other methods that no route has',
  async (path) => {
    const head = await fetch(app.url + path, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const post = await fetch(app.url + path, { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  },
)

test.each(PATHS)('what everybody may read is read at %s by pages of the origins that are allowed', async (path) => {
  const origin = 'https://app.example.org'
  const response = await fetch(app.url + path, { headers: { origin } })
  expect(response.headers.get('access-control-allow-origin')).toBe(origin)
  const preflight = await fetch(app.url + path, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'GET' },
  })
  expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD'])
})

test('what everybody may read follows the limits that administrators set', async () => {
  const limitsOf = async () => ((await (await fetch(`${app.url}/quota/prices`)).json()) as { limits: object }).limits
  expect(await limitsOf()).toEqual({ read: { '1h': 10 } })
  await fetch(`${app.admin}/api/quota`, {
    method: 'PATCH',
    headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
    body: JSON.stringify({ mode: 'loose', reason: 'test' }),
  })
  await vi.waitFor(async () => expect(await limitsOf()).toEqual({ read: { '1h': 15 } }), 20_000)
})

test('what everybody may read says how many requests failed', async () => {
  expect((await fetch(`${app.url}/fails`)).status).toBe(500)
  await vi.waitFor(
    async () => {
      // It reads the histogram at once, and else every ten seconds.
      await app.reload(text())
      const rate = (await (await fetch(`${app.url}/usage/failure-rate`)).json()) as { summary: object }
      expect(rate.summary).toMatchObject({ calls: 1, serverError: 1, failureRate: 1 })
    },
    { timeout: 40_000, interval: 500 },
  )
}, 60_000)

test('what everybody may read is for the service and its routes unless it is switched on', async () => {
  const other = await startApp(yaml(upstream.url, `${ROUTES}\nunmatched: forward`))
  for (const path of PATHS) {
    const response = await fetch(other.url + path)
    expect([response.status, await response.text()]).toEqual([200, 'of the service'])
  }
})
