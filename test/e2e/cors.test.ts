import http from 'node:http'
import { describe, expect, test } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange } from './raw.ts'

/** What a page of another origin may read of the gateway's own responses, and what its browser may ask beforehand. */

const APP = 'https://app.example.org'
const FOREIGN = 'https://evil.example.org'
const QUOTA = 'quota: { baselines: { personal: { read: { 1h: 3 } }, global: { read: { 1h: 1000 } } } }'
const ROUTES = `routes:
  - { match: "* /api/*", category: read }
  - { match: GET /items/:id, category: read }
  - { match: GET /slow, public: true }
edge: { max_body: 10B, max_url: 1KiB }`

let app: RunningApp
let upstream: Upstream

type Respond = Parameters<typeof startUpstream>[0]

async function start(
  cors: string,
  { rest = ROUTES, more = '', respond }: { rest?: string; more?: string; respond?: Respond } = {},
) {
  upstream = await startUpstream(respond)
  app = await startApp(yaml(upstream.url, `${QUOTA}\n${rest}\ncors: ${cors}`, undefined, more))
}

function ask(
  method: string,
  path: string,
  headers: http.OutgoingHttpHeaders = {},
  body = '',
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = http.request(app.url + path, { method, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response))
    })
    request.on('error', reject).end(body)
  })
}

const allowed = ({ headers }: http.IncomingMessage) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

const READABLE = {
  'access-control-allow-origin': APP,
  'access-control-expose-headers':
    'RateLimit, RateLimit-Policy, Retry-After, X-Quota-Reset, X-Request-Id, X-Tollgate-Charged, X-Tollgate-Quota-State, X-Tollgate-Replay, X-Tollgate-Shadow, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset',
}

const every = (origin: string) => {
  const page = { origin, ...bearer('alice') }
  return [
    ['a path that is none', 400, () => ask('GET', '/api/%zz', page)],
    ['no credential', 401, () => ask('GET', '/api/a', { origin })],
    ['no route', 404, () => ask('GET', '/nothing', page)],
    ['another method', 405, () => ask('POST', '/items/1', page)],
    ['a body that is too large', 413, () => ask('POST', '/api/a', page, 'x'.repeat(11))],
    ['a target that is too long', 414, () => ask('GET', `/api/${'a'.repeat(2000)}`, page)],
    ['an expectation', 417, () => ask('GET', '/api/a', { ...page, expect: 'more' })],
    [
      'too many fields',
      431,
      () =>
        ask('GET', '/api/a', {
          ...page,
          ...Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`a${i}`, ''])),
        }),
    ],
    ['its quota', 200, () => ask('GET', '/me/quota', page)],
    ['the quota of nobody', 401, () => ask('GET', '/me/quota', { origin })],
  ] as const
}

test('a response of the gateway can be read by a page of an origin that is listed, whatever its status, and by none of another', async () => {
  await start(`{ origins: [${APP}] }`)
  for (const [what, status, send] of every(APP)) {
    const response = await send()
    expect(response.statusCode, what).toBe(status)
    expect(allowed(response), what).toEqual(READABLE)
    expect(response.headers.vary, what).toBe('Origin')
  }
  for (const origin of [
    FOREIGN,
    `${APP}:8443`,
    `${APP}.evil.example.org`,
    APP.toUpperCase(),
    'null',
    `${APP}, ${APP}`,
  ]) {
    for (const [what, status, send] of every(origin)) {
      const response = await send()
      expect(response.statusCode, what).toBe(status)
      expect(allowed(response), `${what} of ${origin}`).toEqual({})
      expect(response.headers.vary, what).toBe('Origin')
    }
  }
})

test('a response of the gateway can be read also if the quota or the upstream fails', async () => {
  await start(`{ origins: [${APP}] }`, {
    more: 'connect_timeout: 1s, response_timeout: 100ms',
    respond: ({ url }, res) => void (url === '/slow' || res.end('ok')),
  })
  const page = { origin: APP, ...bearer('alice') }
  for (let i = 0; i < 3; i++) expect((await ask('GET', '/items/1', page)).statusCode).toBe(200)
  const refused = await ask('GET', '/items/1', page)
  expect([refused.statusCode, allowed(refused)]).toEqual([429, READABLE])
  expect(refused.headers['retry-after']).toMatch(/^\d+$/)
  const slow = await ask('GET', '/slow', page)
  expect([slow.statusCode, allowed(slow)]).toEqual([504, READABLE])
  await upstream.close()
  const gone = await ask('GET', '/slow', page)
  expect([gone.statusCode, allowed(gone)]).toEqual([502, READABLE])
  upstream = await startUpstream()
})

test('a response of the gateway can be read although it never came to the gateway as a request, if its bytes show the origin', async () => {
  await start(`{ origins: [${APP}] }`)
  const head = (origin: string, more: string) =>
    rawExchange(app.url, `GET /api/a HTTP/1.1\r\nHost: a\r\nOrigin: ${origin}\r\n${more}\r\n\r\n`)
  for (const [status, more] of [
    [431, `X-A: ${'a'.repeat(20_000)}`],
    [400, 'no field'],
  ] as const) {
    const response = await head(APP, more)
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(response).toContain(`\r\nAccess-Control-Allow-Origin: ${APP}\r\n`)
    expect(await head(FOREIGN, more)).not.toContain('Access-Control')
    expect(await head(APP, `Origin: ${FOREIGN}\r\n${more}`)).not.toContain('Access-Control')
  }
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
  const denied = await head(APP, upgrade)
  expect(denied).toMatch(/^HTTP\/1\.1 401 /)
  expect(denied).toContain(`\r\nAccess-Control-Allow-Origin: ${APP}\r\n`)
})

test('a response of the gateway says that cookies may come along only if that is configured, and names no origin if any may read', async () => {
  await start(`{ origins: [${APP}], credentials: true, expose: [] }`)
  expect(allowed(await ask('GET', '/api/a', { origin: APP }))).toEqual({
    'access-control-allow-origin': APP,
    'access-control-allow-credentials': 'true',
  })
  await app.reload(yaml(upstream.url, `${QUOTA}\n${ROUTES}\ncors: { origins: ["*"] }`))
  const response = await ask('GET', '/api/a', { origin: FOREIGN })
  expect(allowed(response)).toEqual({ ...READABLE, 'access-control-allow-origin': '*' })
  expect(response.headers.vary).toBeUndefined()
  await app.reload(yaml(upstream.url, `${QUOTA}\n${ROUTES}`))
  const before = await ask('GET', '/api/a', { origin: APP })
  expect([allowed(before), before.headers.vary]).toEqual([{}, undefined])
})

test('a response of the upstream exposes the fields of the gateway if it allows an origin, and is left alone if not', async () => {
  const cases: Readonly<Record<string, http.OutgoingHttpHeaders>> = {
    '/none': {},
    '/plain': { 'Access-Control-Allow-Origin': FOREIGN },
    '/named': { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'X-Own, retry-after' },
    '/any': { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*' },
    '/cookies': {
      'Access-Control-Allow-Origin': APP,
      'Access-Control-Allow-Credentials': 'true',
      'Access-Control-Expose-Headers': '*',
    },
  }
  await start(`{ origins: [${APP}], expose: [RateLimit, Retry-After] }`, {
    rest: 'routes: [{ match: "GET /*", public: true }]',
    respond: ({ url }, res) => res.writeHead(200, cases[url] ?? {}).end('ok'),
  })
  const exposed = async (path: string) =>
    (await ask('GET', path, { origin: APP })).headers['access-control-expose-headers']
  expect(await exposed('/none')).toBeUndefined()
  expect(await exposed('/plain')).toBe('RateLimit, Retry-After')
  expect(await exposed('/named')).toBe('X-Own, retry-after, RateLimit')
  expect(await exposed('/any')).toBe('*')
  expect(await exposed('/cookies')).toBe('*, RateLimit, Retry-After')
  expect(allowed(await ask('GET', '/plain', { origin: APP }))['access-control-allow-origin']).toBe(FOREIGN)
})

const preflight = (path: string, method = 'GET', more: http.OutgoingHttpHeaders = {}) =>
  ask('OPTIONS', path, { origin: APP, 'access-control-request-method': method, ...more })

describe('a preflight that is forwarded', () => {
  const respond: Respond = ({ method }, res) =>
    res.writeHead(method === 'OPTIONS' ? 204 : 200, { 'X-Of': 'upstream' }).end()

  test('a preflight that is forwarded reaches the upstream for every path that has a route, without a credential or a charge', async () => {
    await start(`{ origins: [${APP}] }`, { respond })
    for (const path of ['/api/a', '/items/1']) {
      const response = await preflight(path)
      expect([response.statusCode, response.headers['x-of'], response.headers.ratelimit]).toEqual([
        204,
        'upstream',
        undefined,
      ])
    }
    expect((await preflight('/nothing')).statusCode).toBe(404)
    expect(upstream.seen.map(({ url }) => url)).toEqual(['/api/a', '/items/1'])
    for (const { headers } of upstream.seen) expect(headers).not.toHaveProperty('x-tollgate-user')
    expect(app.requests().map(({ route, category, cost, user }) => [route, category, cost, user])).toEqual([
      ['* /api/*', null, 0, null],
      ['GET /items/:id', null, 0, null],
      [null, null, 0, null],
    ])
    await app.reload(
      yaml(upstream.url, `${QUOTA}\n${ROUTES}\nunmatched: { category: read, cost: 1 }\ncors: { origins: [${APP}] }`),
    )
    expect((await preflight('/nothing')).statusCode).toBe(204)
    await app.reload(yaml(upstream.url, `${QUOTA}\n${ROUTES}`))
    expect((await preflight('/api/a')).statusCode).toBe(401)
    expect((await preflight('/items/1')).statusCode).toBe(405)
  })

  test('a preflight that is forwarded is a request as any other if it has a cookie or a credential, which no browser sends with it', async () => {
    await start(`{ origins: [${APP}] }`, { respond })
    expect((await preflight('/api/a', 'GET', { cookie: 'session=x' })).statusCode).toBe(401)
    expect((await preflight('/api/a', 'GET', { authorization: 'Basic YTpi' })).statusCode).toBe(401)
    expect(upstream.seen).toEqual([])
    expect((await preflight('/api/a', 'GET', bearer('alice'))).statusCode).toBe(204)
    expect(app.requests().at(-1)).toMatchObject({ user: 'alice', category: 'read' })
  })

  test('a preflight that is forwarded is a request as any other if it has a key in a field of its own, which the upstream would get', async () => {
    await start(`{ origins: [${APP}] }`, { respond })
    const auth = 'auth: { gateway_tokens: true, from: [{ header: X-Token }], unverified_keys: { header: X-API-Key } }'
    const rest = `${QUOTA}\n${ROUTES}\ncors: { origins: [${APP}] }`
    await app.reload(yaml(upstream.url, rest).replace(/^auth:\n(?: .*\n)+/m, `${auth}\n`))
    expect((await preflight('/api/a', 'GET', { 'x-token': 'gw_wrong' })).statusCode).toBe(401)
    expect((await preflight('/api/a', 'GET', { 'x-api-key': 'made-up' })).headers.ratelimit).toBeDefined()
    expect(app.requests().at(-1)).toMatchObject({ category: 'read', cost: 1 })
    expect((await preflight('/api/a', 'GET')).headers.ratelimit).toBeUndefined()
  })

  test('a preflight that is forwarded is a request as any other if it has a body, or does not say what it is for', async () => {
    await start(`{ origins: [${APP}] }`, { respond })
    const asked = { origin: APP, 'access-control-request-method': 'GET' }
    expect((await ask('OPTIONS', '/api/a', { ...asked, 'content-length': '1' }, 'x')).statusCode).toBe(401)
    expect((await ask('OPTIONS', '/api/a', { ...asked, 'transfer-encoding': 'chunked' }, 'x')).statusCode).toBe(401)
    expect((await ask('OPTIONS', '/api/a', { origin: APP })).statusCode).toBe(401)
    expect((await ask('OPTIONS', '/api/a', { 'access-control-request-method': 'GET' })).statusCode).toBe(401)
    expect((await ask('POST', '/api/a', asked)).statusCode).toBe(401)
    expect(upstream.seen).toEqual([])
  })

  test('a preflight that is forwarded takes a place among the requests of its address: a flood of them is 429 and leaves room for others', async () => {
    const held: http.ServerResponse[] = []
    await start(`{ origins: [${APP}] }`, {
      rest: `${ROUTES.split('\n').slice(0, -1).join('\n')}\nedge: { max_in_flight: 4, shares: { address: 50% } }`,
      respond: (_seen, res) => void held.push(res),
    })
    const two = [preflight('/api/a'), preflight('/api/a')]
    await expect.poll(() => held.length).toBe(2)
    expect((await preflight('/api/a')).statusCode).toBe(429)
    for (const res of held) res.writeHead(204).end()
    await Promise.all(two)
  })
})

test('a preflight that the gateway answers gets the methods of the route map and the fields that it asks for, and never reaches the upstream', async () => {
  await start(`{ origins: [${APP}], preflight: answer, max_age: 90s, credentials: true }`)
  const response = await preflight('/items/1', 'GET', {
    'access-control-request-headers': 'authorization,x-a, b c,*',
  })
  expect(response.statusCode).toBe(204)
  expect(allowed(response)).toEqual({
    ...READABLE,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-allow-headers': 'authorization, x-a',
    'access-control-max-age': '90',
  })
  expect(response.headers.vary).toBe('Access-Control-Request-Method, Access-Control-Request-Headers, Origin')
  expect(allowed(await preflight('/api/a', 'DELETE'))['access-control-allow-methods']).toBe('DELETE')
  // What no request may have is no method of a path either.
  expect(allowed(await preflight('/api/a', 'TRACE'))['access-control-allow-methods']).toBe('')
  expect(allowed(await preflight('/items/1', 'POST'))['access-control-allow-methods']).toBe('GET, HEAD')
  expect((await preflight('/nothing')).statusCode).toBe(404)
  const foreign = await preflight('/items/1', 'GET', { origin: FOREIGN })
  expect([foreign.statusCode, allowed(foreign)]).toEqual([204, {}])
  expect(upstream.seen).toEqual([])
  expect(app.requests().every(({ cost, user }) => cost === 0 && user === null)).toBe(true)
})

test('a preflight that the gateway answers is also one for a path of the gateway itself, whoever answers the others', async () => {
  await start(`{ origins: [${APP}], allow_headers: [Authorization] }`)
  const response = await preflight('/me/quota', 'GET', { 'access-control-request-headers': 'x-a' })
  expect([response.statusCode, allowed(response)['access-control-allow-methods']]).toEqual([204, 'GET, HEAD'])
  expect(allowed(response)['access-control-allow-headers']).toBe('Authorization')
  expect(upstream.seen).toEqual([])
})
