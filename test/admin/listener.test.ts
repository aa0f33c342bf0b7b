import { once } from 'node:events'
import http from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import type { Observation } from '../../src/observe/observation.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { NOW, startAdmin as start, TOKEN, VIEWER } from './running.ts'

const wrong = { authorization: 'Bearer wrong' }
const none = { authorization: '' }
/** What begins a drain from this machine. */
const said = { ...none, 'x-tollgate-drain': 'yes' }

describe('the admin token', () => {
  test.each([
    ['missing', {}],
    ['empty', { authorization: '' }],
    ['wrong', wrong],
    ['a part of the right one', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['more than the right one', { authorization: `Bearer ${TOKEN}x` }],
    ['of another scheme', { authorization: `Basic ${TOKEN}` }],
  ])('%s is answered 401 with what to send', async (_what, headers) => {
    const { call } = await start()
    const reply = await call('GET', '/api/tokens', { headers: { ...none, ...headers } })
    expect(reply.status).toBe(401)
    expect(reply.headers['www-authenticate']).toMatch(/^Bearer /)
    expect(reply.json).toEqual({ error: 'unauthorized', msg: expect.stringContaining('Authorization: Bearer') })
  })

  test('the admin token is demanded by every route of the API but those of signing in and of a link that hands a key over', async () => {
    const { call } = await start()
    const { paths } = (await call('GET', '/openapi.json')).json
    const routes = Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const open: string[] = []
    for (const route of routes) {
      const [method = '', path = ''] = route.split(' ')
      const { status } = await call(method, path.replace(/\{.*?\}/g, 'x'), { headers: none })
      if (status !== 401) open.push(route)
    }
    expect(open.filter((route) => route.includes('/api/'))).toEqual([
      'POST /api/session/provider',
      'GET /api/session',
      'POST /api/session',
      'DELETE /api/session',
      'POST /api/handover',
    ])
  })

  test('the admin token opens the API, whatever the case of its scheme', async () => {
    const { call } = await start()
    expect((await call('GET', '/api/tokens')).status).toBe(200)
    expect((await call('GET', '/api/tokens', { headers: { authorization: `bearer ${TOKEN}` } })).status).toBe(200)
  })

  test('the admin token that is not configured closes the API with the cure, and leaves the probes open', async () => {
    const { call } = await start({ credentials: () => [] })
    const reply = await call('GET', '/api/tokens')
    expect(reply.status).toBe(403)
    expect(reply.json).toEqual({ error: 'no_admin_token', msg: expect.stringContaining('admin.token') })
    expect((await call('GET', '/livez')).status).toBe(200)
  })

  test('the admin token is demanded before a body is read', async () => {
    const { raw } = await start()
    const reply = await raw(
      'POST /api/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n',
    )
    expect(reply).toMatch(/^HTTP\/1.1 401 /)
  })

  test('the admin token may be guessed ten times a minute, and is then told to wait, which is not called a quota', async () => {
    let now = NOW
    const { call } = await start({ now: () => now })
    for (let i = 0; i < 10; i++) expect((await call('GET', '/api/tokens', { headers: wrong })).status).toBe(401)
    now += 20_500
    const reply = await call('GET', '/api/tokens', { headers: wrong })
    expect(reply.status).toBe(429)
    expect(reply.headers['retry-after']).toBe('40')
    expect(reply.json).toEqual({ error: 'too_many_attempts', msg: expect.stringContaining('40 seconds') })
    now += 40_000
    expect((await call('GET', '/api/tokens', { headers: wrong })).status).toBe(401)
  })

  test('the admin token that is right is let in whatever others of its address have sent', async () => {
    const { call } = await start({ drain: drain() })
    for (let i = 0; i < 20; i++) await call('GET', '/api/tokens', { headers: wrong })
    expect((await call('GET', '/api/tokens')).status).toBe(200)
    expect((await call('POST', '/drain')).status).toBe(200)
    // Nor does a page that has no token yet learn of them.
    expect((await call('GET', '/api/session', { headers: none })).status).toBe(200)
  })

  test('the admin token forgotten in a request is no guess', async () => {
    const { call } = await start()
    for (let i = 0; i < 20; i++) await call('GET', '/api/tokens', { headers: none })
    expect((await call('GET', '/api/tokens')).status).toBe(200)
  })
})

describe('probes', () => {
  test('probes tell whether the process lives', async () => {
    let alive = true
    const { call } = await start({ live: () => alive })
    expect(await call('GET', '/livez', { headers: none })).toMatchObject({ status: 200, json: { live: true } })
    alive = false
    expect(await call('GET', '/livez')).toMatchObject({ status: 503, json: { live: false } })
  })

  test('probes tell whether traffic should come, and why not', async () => {
    const { call } = await start({
      ready: (startup) =>
        startup ? { ready: true, reasons: [] } : { ready: false, reasons: ['the store does not answer'] },
    })
    const reply = await call('GET', '/readyz', { headers: none })
    expect(reply).toMatchObject({ status: 503, json: { ready: false, reasons: ['the store does not answer'] } })
    const startup = await call('GET', '/readyz?startup=1')
    expect([startup.status, startup.json]).toEqual([200, { ready: true }])
  })

  test('probes report what a process that is ready must do without', async () => {
    const { call } = await start({ ready: () => ({ ready: true, reasons: ['the store does not answer'] }) })
    const json = { ready: true, degraded: ['the store does not answer'] }
    expect(await call('GET', '/readyz')).toMatchObject({ status: 200, json })
  })

  test('probes are answered whatever the host name, as the kubelet and Prometheus use it', async () => {
    const { call } = await start()
    for (const path of ['/livez', '/readyz', '/metrics'])
      expect((await call('GET', path, { headers: { host: 'tollgate-admin.ns.svc:9090' } })).status).toBe(200)
  })

  test('probes may be asked by HEAD', async () => {
    const { call } = await start()
    expect(await call('HEAD', '/readyz')).toMatchObject({ status: 200, text: '' })
  })

  test('metrics come as the text that was rendered', async () => {
    const { call } = await start()
    const reply = await call('GET', '/metrics', { headers: none })
    expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(reply.text).toBe('tollgate_up 1\n')
  })
})

/** A gateway that only knows whether it drains. */
function drain() {
  const turns: boolean[] = []
  return { turns, isOn: () => turns.at(-1) === true, turn: (on: boolean) => void turns.push(on) }
}

describe('drain', () => {
  test('drain begins with one call and ends with the next, and each says so', async () => {
    const { call } = await start({ drain: drain() })
    for (const draining of [true, false, true]) {
      const { status, json } = await call('POST', '/drain', { headers: said })
      expect([status, json.draining]).toEqual([200, draining])
      expect(json.msg).toMatch(draining ? /POST .drain.state=off/ : /^In service again/)
    }
  })

  test('drain comes to the state that is asked for, however often it is', async () => {
    const { call } = await start({ drain: drain() })
    for (const [state, draining] of [
      ['on', true],
      ['on', true],
      ['off', false],
      ['off', false],
    ])
      expect((await call('POST', `/drain?state=${state}`, { headers: said })).json).toMatchObject({ draining })
    expect((await call('POST', '/drain?state=of', { headers: said })).status).toBe(400)
    expect((await call('POST', '/drain?stat=on', { headers: said })).status).toBe(400)
  })

  test('drain does not end while the gateway is being stopped, which the response says', async () => {
    const { call } = await start({ drain: { isOn: () => true, turn: () => {} } })
    const { json } = await call('POST', '/drain', { headers: said })
    expect(json).toEqual({ draining: true, msg: expect.stringContaining('being stopped') })
  })

  test.each(['GET', 'HEAD', 'PUT', 'DELETE'])('drain is not begun by %s, and everybody is told so', async (method) => {
    const { turns, ...rest } = drain()
    const { call } = await start({ drain: rest })
    for (const headers of [said, { ...said, via: '1.1 proxy' }]) {
      const reply = await call(method, '/drain', { headers })
      expect([reply.status, reply.headers.allow]).toEqual([405, 'POST'])
    }
    expect(turns).toEqual([])
  })

  test.each([
    ['says nothing of it', {}],
    ['says something else', { 'x-tollgate-drain': 'on' }],
  ])(
    'drain is not begun by a request from this machine that %s: somebody may make a server send it',
    async (_what, field) => {
      const gateway = drain()
      const { call } = await start({ drain: gateway })
      const { status, json } = await call('POST', '/drain', {
        headers: { ...none, ...field } as Record<string, string>,
      })
      expect([status, json]).toEqual([
        401,
        { error: 'unauthorized', msg: expect.stringContaining('X-Tollgate-Drain: yes') },
      ])
      expect(gateway.turns).toEqual([])
    },
  )

  test('drain may be begun by a script in Node', async () => {
    const { url } = await start({ drain: drain() })
    expect((await fetch(`${url}/drain`, { method: 'POST', headers: { 'x-tollgate-drain': 'yes' } })).status).toBe(200)
  })

  test.each([
    ['without one', said, 401],
    ['with a wrong one', wrong, 401],
    ['of a viewer', { authorization: `Bearer ${VIEWER}` }, 403],
    ['of an admin', { authorization: `Bearer ${TOKEN}` }, 200],
  ])('drain needs the admin token from behind a proxy on this machine: %s', async (_, headers, status) => {
    const gateway = drain()
    const { call } = await start({ drain: gateway })
    const fields = ['X-Forwarded-For', 'X-Forwarded-Client-Cert', 'Forwarded', 'Via', 'X-Real-IP']
    fields.push('l5d-client-id', 'X-Envoy-Internal')
    for (const field of fields)
      expect((await call('POST', '/drain', { headers: { ...headers, [field]: 'a' } })).status).toBe(status)
    expect(gateway.turns.length).toBe(status === 200 ? fields.length : 0)
  })

  test('drain needs the admin token from another loopback address, from which a service mesh hands on what others send', async () => {
    const gateway = drain()
    const { url } = await start({ drain: gateway })
    const statusFrom = async (localAddress: string) => {
      const request = http
        .request(`${url}/drain`, { method: 'POST', headers: { 'x-tollgate-drain': 'yes' }, localAddress })
        .end()
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      response.resume()
      return response.statusCode
    }
    expect(await statusFrom('127.0.0.6')).toBe(401)
    expect(gateway.turns).toEqual([])
    expect(await statusFrom('127.0.0.1')).toBe(200)
  })

  test('drain judges a token that is sent, also from this machine', async () => {
    const { call } = await start({ drain: drain() })
    expect((await call('POST', '/drain', { headers: wrong })).status).toBe(401)
    expect((await call('POST', '/drain', { headers: { authorization: `Bearer ${VIEWER}` } })).status).toBe(403)
    expect((await call('POST', '/drain')).status).toBe(200)
  })

  test.each([
    ['an image in a page', { 'sec-fetch-site': 'cross-site' }],
    ['a page that names itself', { referer: 'http://evil.example/' }],
    ['a script of a page', { origin: 'http://evil.example' }],
    ['a form that tells nothing of its page', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)', accept: 'text/html' }],
    ['the same of a browser with another name', { 'accept-language': 'en' }],
    ['a page behind a rebound name', { host: 'evil.example' }],
  ])('drain is not begun by %s', async (_what, headers) => {
    const gateway = drain()
    const { call } = await start({ drain: gateway })
    for (const more of [said, {}])
      expect(
        (await call('POST', '/drain', { headers: { ...headers, ...more } as Record<string, string> })).status,
      ).toBe(403)
    expect(gateway.turns).toEqual([])
  })

  test('drain is not there when nothing can be drained', async () => {
    const { call } = await start()
    expect((await call('POST', '/drain')).status).toBe(404)
  })
})

describe('the host name', () => {
  test.each(['localhost', 'LOCALHOST:9090', '127.0.0.1:1', '[::1]:9090', '10.1.2.3'])('%s is ours', async (host) => {
    const { call } = await start()
    expect((await call('GET', '/api/tokens', { headers: { host } })).status).toBe(200)
  })

  test('the host name of another is refused even with the right token', async () => {
    const { call } = await start()
    const reply = await call('GET', '/api/tokens', { headers: { host: 'rebound.example:9090' } })
    expect(reply).toMatchObject({ status: 403, json: { error: 'host_not_allowed' } })
  })

  test('the host name that is configured is ours too', async () => {
    const { call } = await start({ hosts: ['ops.example'] })
    expect((await call('GET', '/api/tokens', { headers: { host: 'ops.example:9090' } })).status).toBe(200)
  })
})

test('the failure histogram has all 336 buckets of the contract', async () => {
  const start1030 = Date.parse('2026-11-20T09:30:00Z')
  const bucket = { start: start1030, total: 1200, status0: 1, status5xx: 3, status4xx: 0, aside: 0, asideFailed: 0 }
  const { call } = await start({ broken: { readTallies: async () => ({ at: NOW, buckets: [bucket] }) } })
  const { status, json } = await call('GET', '/api/failures')
  expect(status).toBe(200)
  expect(Object.keys(json)).toEqual(['since', 'until', 'bucketMinutes', 'buckets'])
  expect(json).toMatchObject({
    since: '2026-11-13T10:30:00.000Z',
    until: '2026-11-20T10:10:00.000Z',
    bucketMinutes: 30,
  })
  expect(json.buckets).toHaveLength(336)
  expect(json.buckets.at(-2)).toEqual({ start: '2026-11-20T09:30:00.000Z', total: 1200, status0: 1, status5xx: 3 })
  expect(json.buckets.at(-1)).toEqual({ start: '2026-11-20T10:00:00.000Z', total: 0, status0: 0, status5xx: 0 })
})

describe('errors', () => {
  test('a store that does not answer is 503, and not a word of why', async () => {
    const fails = () => Promise.reject(new StoreError('connect redis://u:secret@h', 'connection', 'no'))
    const calls = ['readTallies', 'listTokens', 'findTokens', 'controlVersion', 'change', 'readUsage'] as const
    const more = ['scanUsers', 'readAudit', 'listReplicas', 'changesSince', 'readControl', 'ping'] as const
    const { call } = await start({ broken: Object.fromEntries([...calls, ...more].map((name) => [name, fails])) })
    for (const [method, path, body] of [
      ['GET', '/api/failures'],
      ['GET', '/api/tokens'],
      ['DELETE', '/api/tokens/x'],
      ['POST', '/api/tokens', { user: 'u', name: 'n' }],
      ['GET', '/api/quota'],
      ['PATCH', '/api/quota', { mode: 'loose' }],
      ['POST', '/api/quota/preview', { mode: 'loose' }],
      ['POST', '/api/quota/reset', { scope: 'global', category: 'read', reason: 'r' }],
      ['GET', '/api/users'],
      ['GET', '/api/users/alice'],
      ['PUT', '/api/users/alice/override', { shadow: true, reason: 'r' }],
      ['DELETE', '/api/users/alice/override'],
      ['POST', '/api/users/alice/reset', { reason: 'r' }],
      ['GET', '/api/explain?user=alice&method=POST&path=/v1/user/music'],
      ['GET', '/api/routes'],
      ['GET', '/api/audit'],
    ] as const) {
      const reply = await call(method, path, { body })
      expect(reply).toMatchObject({ status: 503, json: { error: 'store_unavailable' } })
      expect(reply.text).not.toContain('secret')
    }
  })

  test.each([
    ['timeout', 'The store does not answer. Try again later.'],
    ['connection', 'The store does not answer. Try again later.'],
    ['out_of_memory', 'The store does not do this: out_of_memory. Try again later.'],
    ['readonly', 'The store does not do this: readonly. Try again later.'],
  ] as const)('a store that fails by %s is reported as that', async (reason, msg) => {
    const { call } = await start({ broken: { change: () => Promise.reject(new StoreError('secret', reason, 'no')) } })
    const { json } = await call('PATCH', '/api/quota', { body: { mode: 'loose' } })
    expect(json).toEqual({ error: 'store_unavailable', msg })
  })

  test('a bug is 500 without its message, and is observed', async () => {
    const observed: Observation[] = []
    const bug = new TypeError('secret detail')
    const { call } = await start({
      broken: { readTallies: () => Promise.reject(bug) },
      observe: (o) => observed.push(o),
    })
    const reply = await call('GET', '/api/failures')
    expect(reply).toMatchObject({ status: 500, json: { error: 'internal' } })
    expect(reply.text).not.toContain('secret')
    expect(observed).toEqual([{ type: 'internal_error', where: 'admin', error: bug }])
  })

  test.each([
    '/nothing',
    '/api',
    '/api/nothing',
    '/livez/',
    '/api/tokens/a/b',
    '/%E0%A4%A',
    `/api/tokens/${'x'.repeat(500)}`,
  ])('an unknown path is a JSON error: %s', async (path) => {
    const { call } = await start()
    const reply = await call('GET', path)
    expect([400, 404, 405]).toContain(reply.status)
    expect(reply.json).toEqual({ error: expect.any(String), msg: expect.any(String) })
  })

  test.each([
    ['POST', '/livez', 'GET, HEAD'],
    ['PUT', '/api/tokens', 'GET, HEAD, POST, DELETE'],
    ['GET', '/api/tokens/x', 'DELETE'],
    ['PROPFIND', '/metrics', 'GET, HEAD'],
    ['QUERY', '/api/failures', 'GET, HEAD'],
  ])('a wrong method is 405 and says the right ones: %s %s', async (method, path, allow) => {
    const { call } = await start()
    const reply = await call(method, path)
    expect(reply).toMatchObject({ status: 405, json: { error: 'method_not_allowed' } })
    expect(reply.headers.allow).toBe(allow)
  })

  test.each(['POST', 'QUERY', 'PROPFIND'])('there is nothing at an unknown path for any method: %s', async (method) => {
    const { call } = await start()
    const reply = await call(method, '/api/nothing')
    expect(reply).toMatchObject({ status: 404, json: { error: 'not_found' } })
  })

  test('a wrong method is 405 also for who may only read, at a path where things are only changed', async () => {
    const { call } = await start()
    const reply = await call('GET', '/api/users/alice/reset', { headers: { authorization: `Bearer ${VIEWER}` } })
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST'])
  })

  test('a change may come as what it is, a JSON merge patch', async () => {
    const { call } = await start()
    const headers = { 'content-type': 'application/merge-patch+json' }
    expect((await call('PATCH', '/api/quota', { body: { mode: 'loose' }, headers })).json).toMatchObject({
      mode: 'loose',
    })
  })

  test.each([
    ['that is too long', { name: 'x'.repeat(70_000) }, {}, 413, 'payload_too_large'],
    ['that is no JSON', '{', {}, 400, 'bad_request'],
    ['that poisons the prototype', '{"__proto__":{"user":"x"},"user":"u","name":"n"}', {}, 400, 'bad_request'],
    ['of a form', 'user=u', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    [
      'of plain text, as a form of any page can send',
      '{"user":"u","name":"n"}',
      { 'content-type': 'text/plain' },
      415,
      'unsupported_media_type',
    ],
  ])('a body %s is refused', async (_what, body, headers, status, error) => {
    const { call, store } = await start()
    expect(await call('POST', '/api/tokens', { body, headers })).toMatchObject({
      status,
      json: { error, msg: expect.any(String) },
    })
    expect(await store.listTokens()).toEqual([])
  })

  test.each([
    ['/api/users/%FF', 'The path must be UTF-8, percent-encoded.'],
    ['/api/users/%zz/override', 'The path must be UTF-8, percent-encoded.'],
    [`/api/users/${'x'.repeat(769)}`, 'A part of the path is too long: a user id has at most 256 bytes.'],
  ])('a path that cannot be read is refused with the cure: %s', async (path, msg) => {
    const { call } = await start()
    expect(await call('GET', path)).toMatchObject({ status: 400, json: { error: 'bad_request', msg } })
  })

  test('a compressed body is refused, and the response says what is taken', async () => {
    const { call, store } = await start()
    const body = '{"user":"u","name":"n","reason":"r"}'
    const coded = (coding: string) => call('POST', '/api/tokens', { body, headers: { 'content-encoding': coding } })
    const reply = await coded('gzip')
    expect(reply).toMatchObject({ status: 415, json: { error: 'unsupported_media_type' } })
    expect(reply.json.msg).toContain('Content-Encoding')
    expect(reply.headers['accept-encoding']).toBe('identity')
    expect(await store.listTokens()).toEqual([])
    expect((await coded('Identity')).status).toBe(201)
  })

  test.each([
    ['{"user":"u",\n"name":"n",}', 'line 2, column 12: is not valid JSON: check commas, quotes and brackets there'],
    ['{"user":x}', 'line 1, column 9: is not valid JSON: check commas, quotes and brackets there'],
    ['{"user":"u"', 'line 1, column 11: is not valid JSON: it ends too early: close what is open'],
  ])('a body that is no JSON is refused with its place and the cure: %j', async (body, msg) => {
    const { call } = await start()
    const { status, json } = await call('POST', '/api/tokens', { body })
    expect([status, json.problems]).toEqual([400, [{ path: '', msg }]])
  })

  test.each([
    ['{"mode":"loose","mode":"normal"}', 'mode'],
    ['{"baselines":{"personal":{"read":{"1h":1},"r\\u0065ad":{"1h":2}}}}', 'baselines.personal.read'],
    ['\uFEFF{"reason":"a \\"{\\" in it","global":{"enabled":true},"reason":"b"}', 'reason'],
  ])('a body that names a member twice is refused with its name, and changes nothing: %j', async (body, path) => {
    const { call } = await start()
    const { status, json } = await call('PATCH', '/api/quota', { body })
    expect([status, json.problems]).toEqual([400, [{ path, msg: 'is here twice: keep one' }]])
    expect((await call('GET', '/api/quota')).json).toMatchObject({ version: 0, changed: [] })
  })

  test('a body may have the same name in two objects, and as a value', async () => {
    const { call } = await start()
    const baselines = { personal: { read: { '1h': 1 } }, global: { read: { '1h': 2 } } }
    const { status, text } = await call('PATCH', '/api/quota', { body: { baselines, reason: 'reason' } })
    expect(status, text).toBe(200)
  })

  test.each([
    ['GET', '/api/failures?user=alice'],
    ['POST', '/api/quota/preview?user=alice'],
    ['DELETE', '/api/users/alice/override?user=alice'],
    ['GET', '/api/session?user=alice'],
  ])('a query parameter that a route does not have is named: %s %s', async (method, path) => {
    const { call } = await start()
    const { status, json } = await call(method, path, { body: method === 'POST' ? {} : undefined })
    expect([status, json.problems]).toEqual([400, [{ path: 'user', msg: expect.stringContaining('unknown') }]])
  })

  test('a probe may be asked with any query', async () => {
    const { call } = await start()
    expect((await call('GET', '/livez?from=balancer')).status).toBe(200)
  })

  test('a body may begin with a byte order mark', async () => {
    const { call } = await start()
    expect((await call('POST', '/api/tokens', { body: '\uFEFF{"user":"u","name":"n"}' })).status).toBe(201)
  })

  test.each([
    ['nonsense', 'NONSENSE\r\n\r\n', 400],
    ['header fields without end', `GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  ])('a connection that sends %s gets a JSON error and is closed', async (_what, bytes, status) => {
    const { raw } = await start()
    const reply = await raw(bytes)
    expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(reply).toContain('content-security-policy')
    expect(JSON.parse(reply.split('\r\n\r\n')[1] ?? '')).toEqual({ error: expect.any(String), msg: expect.any(String) })
  })
})

test.each([
  ['GET', '/livez'],
  ['GET', '/metrics'],
  ['GET', '/api/tokens'],
  ['DELETE', '/api/tokens/x'],
  ['PUT', '/livez'],
  ['PATCH', '/api/quota'],
  ['GET', '/openapi.json'],
  ['GET', '/nothing'],
  ['GET', '/%E0%A4%A'],
])(
  'the security headers are on every response, and the one by which the dashboard knows it: %s %s',
  async (method, path) => {
    const { call } = await start()
    const { headers } = await call(method, path)
    expect(headers).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-tollgate-listener': 'admin',
    })
  },
)

test('an address of the admin listener that is taken is an error', async () => {
  const { url } = await start()
  await expect(start({ listen: { host: '127.0.0.1', port: Number(new URL(url).port) } })).rejects.toThrow('EADDRINUSE')
})

test('closing ends idle connections and lets a request under way finish', async () => {
  const gate = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const { admin, call } = await start({
    broken: {
      readTallies: async () => {
        asked.resolve()
        await gate.promise
        return { at: NOW, buckets: [] }
      },
    },
  })
  await call('GET', '/livez')
  const reply = call('GET', '/api/failures')
  await asked.promise
  const closed = admin.close()
  gate.resolve()
  expect((await reply).status).toBe(200)
  await closed
})

test('a request that asks for an upgrade is a plain one, and the last of its connection', async () => {
  const { raw } = await start()
  const upgrade = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'
  const get = (more: string) => `GET /livez HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
  const replies = (await raw(get('') + get(upgrade) + get(''))).split(/(?=HTTP\/1\.1 )/)
  expect(replies).toHaveLength(2)
  expect(replies[0]).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: keep-alive/i)
  expect(replies[1]).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i)
})

const ASKING = 'POST /api/quota/preview HTTP/1.1\r\nHost: localhost\r\n'
const BEGUN: [string, string][] = [
  ['half a head', ASKING],
  [
    'half a body',
    `${ASKING}Authorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  ],
]
test('a client that does not go on with what it sends is ended after ten seconds', { timeout: 40_000 }, async () => {
  const { url } = await start()
  const begun = [...BEGUN, ['nothing', ''], ['an empty line', '\r\n']] as const
  const responses = begun.map(async ([what, bytes]) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(bytes)
    return [what, (await text(socket)).split('\r\n', 1)[0]]
  })
  expect(await Promise.all(responses)).toEqual(begun.map(([what]) => [what, 'HTTP/1.1 408 Request Timeout']))
})

test.each(BEGUN)('closing does not wait for a client that has sent %s and is gone', async (_what, begun) => {
  const { admin, url } = await start()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(begun)
  // Until it has been read, the connection is an idle one.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const ended = once(socket.resume(), 'close')
  await Promise.all([admin.close(), ended])
})

const METRICS = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'

test('a connection with more than 8 requests that wait is ended, and metrics are made once for those that wait', async () => {
  const rendered: PromiseWithResolvers<string> = Promise.withResolvers()
  let renders = 0
  const render = () => {
    renders++
    return rendered.promise
  }
  const { url, call } = await start({ metrics: { render, contentType: 'text/plain' } })
  const open = (count: number) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
    socket.write(METRICS.repeat(count))
    return socket
  }
  const few = open(8)
  await expect.poll(() => renders).toBe(1)
  await once(open(1200).resume(), 'close')
  rendered.resolve('tollgate_up 1\n')
  let answered = ''
  for await (const bytes of few) {
    answered += bytes
    if (answered.split('HTTP/1.1 200').length === 9) break
  }
  expect(answered.split('HTTP/1.1 200')).toHaveLength(9)
  expect(renders).toBe(1)
  expect((await call('GET', '/metrics')).status).toBe(200)
  expect(renders).toBe(2)
})
