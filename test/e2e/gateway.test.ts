import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { isCharged } from '../observe/settled.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

const QUOTA = `
quota:
  baselines:
    personal: { read: { 1h: 10, 5h: 50, 1d: 100 }, write: { 1h: 20, 5h: 200, 1d: 600 } }
    global: { read: { 1h: 1000, 5h: 1000, 1d: 1000 }, write: { 1h: 1000, 5h: 1000, 1d: 1000 } }
routes:
  - { match: GET /items/:id, category: read, cost: 4 }
  - { match: POST /items, category: write, cost: 5 }
  - { match: GET /free, category: read, cost: 0 }
  - { match: GET /open, public: true }
  - match: POST /charge
    category: write
    cost: { body: [chargeId, charge], values: { 2: 10, 3: 15 } }
`

let upstream: Upstream
let app: RunningApp
beforeEach(async () => {
  upstream = await startUpstream()
  app = await startApp(yaml(upstream.url, QUOTA))
})

const CLOSE = 'Connection: close\r\n'
const get = (path: string, headers: Record<string, string> = bearer('alice')) => fetch(app.url + path, { headers })
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(app.url + path, {
    method: 'POST',
    body,
    headers: { ...bearer('alice'), 'content-type': 'application/json', ...headers },
  })
async function used(user = 'alice', category = 'read'): Promise<number> {
  const body = (await (await get('/me/quota', bearer(user))).json()) as { windows: Record<string, { used: number }[]> }
  return body.windows[category]?.[0]?.used ?? -1
}

it('an accepted request reaches the upstream with the verified user and without the credential', async () => {
  const response = await get('/items/7?q=1')
  expect(response.status).toBe(200)
  expect(await response.text()).toBe('ok')
  expect(upstream.seen).toHaveLength(1)
  expect(upstream.seen[0]).toMatchObject({ method: 'GET', url: '/items/7?q=1' })
  expect(upstream.seen[0]?.headers).toMatchObject({
    'x-tollgate-user': 'alice',
    'x-request-id': response.headers.get('x-request-id'),
  })
  expect(upstream.seen[0]?.headers.authorization).toBeUndefined()
})

it('an accepted request is charged once and told what is left', async () => {
  const response = await get('/items/7')
  expect(response.headers.get('ratelimit-policy')).toContain('"personal-read-1h";q=10;w=3600')
  expect(response.headers.get('ratelimit')).toContain('"personal-read-1h";r=6;t=3600')
  expect(await used()).toBe(4)
})

it('an accepted request of cost 0 is authenticated and charged nothing', async () => {
  expect((await get('/free', {})).status).toBe(401)
  expect((await get('/free')).status).toBe(200)
  expect(await used()).toBe(0)
  expect(app.observations.filter(isCharged)).toEqual([])
})

it('an accepted request of a public route needs no credential, and a wrong one does no harm', async () => {
  expect((await get('/open', {})).status).toBe(200)
  expect((await get('/open', { authorization: 'Bearer nonsense' })).status).toBe(200)
  expect(upstream.seen.map((s) => s.headers['x-tollgate-user'])).toEqual([undefined, undefined])
})

it('an accepted request cannot name its user itself', async () => {
  await get('/items/1', { ...bearer('alice'), 'x-tollgate-user': 'bob' })
  expect(upstream.seen[0]?.headers['x-tollgate-user']).toBe('alice')
})

it('an accepted request carries a user id beyond ASCII percent-encoded', async () => {
  await get('/items/1', bearer('用户'))
  expect(upstream.seen[0]?.headers['x-tollgate-user']).toBe('%E7%94%A8%E6%88%B7')
})

describe('a refused request', () => {
  it('a refused request gets the body and the headers of the contract and never reaches the upstream', async () => {
    await get('/items/1')
    await get('/items/2')
    const response = await get('/items/3')
    expect(response.status).toBe(429)
    const body = (await response.json()) as { retryAfterSeconds: number; msg: string; quota: Record<string, unknown> }
    expect(Object.keys(body)).toEqual(['error', 'msg', 'retryAfterSeconds', 'quota'])
    expect(body.quota).toMatchObject({
      scope: 'Personal',
      category: 'read',
      window: '1h',
      limit: 10,
      used: 8,
      requested: 4,
      timeZone: 'Asia/Shanghai',
    })
    expect(body.msg).toMatch(
      /^Personal 1-hour read quota is used up\. Requests may continue after .* Asia\/Shanghai \(UTC\+8\)\.$/,
    )
    expect(response.headers.get('retry-after')).toBe(String(body.retryAfterSeconds))
    expect(response.headers.get('x-quota-reset')).toBe(body.quota.resetAt)
    expect(response.headers.get('ratelimit')).toContain('"personal-read-1h";r=2;')
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(upstream.seen).toHaveLength(2)
    expect(await used()).toBe(8)
  })

  it('a refused request is a problem document for a client that accepts one', async () => {
    await get('/items/1')
    await get('/items/2')
    const response = await get('/items/3', { ...bearer('alice'), accept: 'application/problem+json' })
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toMatchObject({
      status: 429,
      'violated-policies': ['personal-read-1h'],
      error: 'quota_exceeded',
    })
  })

  it('a refused request does not touch another user or category', async () => {
    await get('/items/1')
    await get('/items/2')
    expect((await get('/items/3')).status).toBe(429)
    expect((await get('/items/3', bearer('bob'))).status).toBe(200)
    expect((await post('/items', '{}')).status).toBe(200)
  })
})

it('the quota status lists every window, Personal first, shortest first, and is never charged', async () => {
  await get('/items/1')
  for (const path of ['/me/quota', '/quota']) {
    const response = await get(path)
    const { windows } = (await response.json()) as { windows: Record<string, { scope: string; window: string }[]> }
    expect(Object.keys(windows)).toEqual(['read', 'write'])
    expect(windows.read?.map((w) => `${w.scope} ${w.window}`)).toEqual([
      'Personal 1h',
      'Personal 5h',
      'Personal 1d',
      'Global 1h',
      'Global 5h',
      'Global 1d',
    ])
    expect(windows.read?.[0]).toMatchObject({ limit: 10, used: 4, remaining: 6 })
    expect(windows.write?.[0]).toEqual({
      scope: 'Personal',
      window: '1h',
      limit: 20,
      used: 0,
      remaining: 20,
      startedAt: null,
      resetAt: null,
    })
    expect(response.headers.get('ratelimit-policy')).toContain('"global-write-1d";q=1000;w=86400')
  }
  expect(upstream.seen).toHaveLength(1)
})

it('the quota status may be asked by HEAD', async () => {
  for (const path of ['/me/quota', '/quota']) {
    const response = await fetch(app.url + path, { method: 'HEAD', headers: bearer('alice') })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('content-length')).toBe(String((await (await get(path)).text()).length))
  }
  expect(upstream.seen).toEqual([])
})

it('the quota status is only read: another method is 405, before any credential', async () => {
  for (const path of ['/me/quota', '/quota']) {
    const response = await fetch(app.url + path, { method: 'DELETE' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

it('the quota status is recorded under its user, without a route', async () => {
  await get('/me/quota')
  expect(app.requests()[0]).toMatchObject({ user: 'alice', route: null, outcome: 'answered', clientStatus: 200 })
})

it('the quota status needs a credential', async () => {
  const response = await get('/me/quota', {})
  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /)
  expect(await response.json()).toMatchObject({ error: 'unauthorized' })
})

it('a price in the body is charged by the value, and the body is forwarded unchanged', async () => {
  const body = '{ "chargeId" : 3 }'
  expect((await post('/charge', body)).status).toBe(200)
  expect(upstream.seen[0]?.body).toBe(body)
  expect(await used('alice', 'write')).toBe(15)
})

it('a price in the body is asked for once where the client waits to be told to go on', async () => {
  const fields = `Host: a\r\nAuthorization: ${bearer('alice').authorization}\r\nContent-Type: application/json\r\n`
  const text = await rawExchange(
    app.url,
    `POST /charge HTTP/1.1\r\n${fields}${CLOSE}Expect: 100-continue\r\nContent-Length: 15\r\n\r\n{"chargeId": 2}`,
  )
  expect(statusesIn(text)).toEqual([100, 200])
  expect(upstream.seen[0]?.body).toBe('{"chargeId": 2}')
})

it('a request that matches nothing is 404 for an unknown path and 405 for an unknown method, before any credential', async () => {
  expect((await get('/nothing', {})).status).toBe(404)
  const response = await fetch(`${app.url}/items`, { method: 'PUT' })
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('POST')
  expect(upstream.seen).toEqual([])
})

it('an upstream that cannot be reached is answered 502, recorded with httpStatus 0, and the charge is given back', async () => {
  await upstream.close()
  const response = await get('/items/1')
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ error: 'upstream_unreachable' })
  expect(await used()).toBe(0)
  expect(app.requests()[0]).toMatchObject({
    httpStatus: 0,
    clientStatus: 502,
    outcome: 'failed',
    cost: 4,
    route: 'GET /items/:id',
  })
  upstream = await startUpstream()
})

it('an upstream that cannot be reached shows in the failure histogram', async () => {
  await upstream.close()
  await get('/items/1')
  await get('/open', {})
  await expect
    .poll(
      async () => {
        const response = await fetch(`${app.admin}/api/failures`, {
          headers: { authorization: 'Bearer test-admin-token-0001' },
        })
        const { buckets } = (await response.json()) as {
          buckets: { total: number; status0: number; status5xx: number }[]
        }
        expect(buckets).toHaveLength(336)
        return buckets.at(-1)
      },
      { timeout: 30_000 },
    )
    .toMatchObject({ total: 2, status0: 2, status5xx: 0 })
  upstream = await startUpstream()
})

it('a gateway that is taken out of service closes each connection with its next response, until it is back', async () => {
  const turn = () => fetch(`${app.admin}/drain`, { method: 'POST', headers: { 'x-tollgate-drain': 'yes' } })
  expect((await turn()).status).toBe(200)
  const get = 'GET /open HTTP/1.1\r\nHost: a\r\n\r\n'
  const text = await rawExchange(app.url, get.repeat(2))
  expect(statusesIn(text)).toEqual([200])
  expect(text).toMatch(/\r\nConnection: close\r\n/)
  expect((await turn()).status).toBe(200)
  const back = await rawExchange(app.url, get + get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  expect(statusesIn(back)).toEqual([200, 200])
})

it('a request whose client left in the middle of the answer is recorded with the status that it got', async () => {
  await app.stop()
  await upstream.close()
  upstream = await startUpstream((_seen, res) => void res.write('the beginning'))
  app = await startApp(yaml(upstream.url, QUOTA))
  const { hostname, port } = new URL(app.url)
  const client = connect(Number(port), hostname)
  client.write('GET /open HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(client, 'data')
  client.destroy()
  await expect.poll(() => app.requests()).toMatchObject([{ outcome: 'aborted', httpStatus: 200, clientStatus: 200 }])
})

it('the request line in the log says who, what, how much and how it ended', async () => {
  await get('/items/1?secret=1')
  expect(app.requests()[0]).toMatchObject({
    user: 'alice',
    method: 'GET',
    route: 'GET /items/:id',
    category: 'read',
    cost: 4,
    outcome: 'forwarded',
    httpStatus: 200,
    clientStatus: 200,
  })
  expect(JSON.stringify(app.requests())).not.toContain('secret')
})
