import { once } from 'node:events'
import { statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { runs } from '../setup/runs.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

/** Proxies that forward requests themselves, and ask whether they may. */

const RULES = `
edge: { trusted_proxies: [127.0.0.1] }
quota:
  baselines: { personal: { read: { 1d: 100000 }, dear: { 1h: 10, 1d: 10 } } }
routes:
  - { match: GET /items/:id, category: read, cost: 4, idempotency: { header: Idempotency-Key } }
  - { match: POST /items, category: read, cost: 5 }
  - { match: GET /dear, category: dear, cost: 10 }
  - { match: GET /never, category: dear, cost: 11 }
  - { match: GET /open, public: true }
  - { match: GET /ws, category: read, cost: 2 }
`

let upstream: Upstream
let app: RunningApp

/** @returns where others ask */
async function start(decisions = 'listen: 127.0.0.1:0', more = RULES): Promise<string> {
  upstream = await startUpstream()
  app = await startApp(
    yaml(upstream.url, `decisions: { ${decisions} }\n${more}`, 'sqlite::memory:', 'identity: { X-Team: organisation }'),
  )
  const listening = app.observations.find((o) => o.type === 'listening' && o.what === 'decisions')
  return listening?.type === 'listening' ? listening.url : ''
}

type Fields = Record<string, string>
const asTraefik = (method: string, uri: string): Fields => ({ 'x-forwarded-method': method, 'x-forwarded-uri': uri })
const asNginx = (method: string, uri: string): Fields => ({ 'x-original-method': method, 'x-original-uri': uri })

async function used(user: string, category: string): Promise<number> {
  const response = await fetch(`${app.url}/me/quota`, { headers: bearer(user) })
  const body = (await response.json()) as { windows: Record<string, { used: number }[]> }
  return body.windows[category]?.at(-1)?.used ?? -1
}

describe('a proxy that asks', () => {
  it('a proxy that asks hears of whom the request is, what is left, and the id of the request, and the upstream hears nothing', async () => {
    const url = await start()
    const token = jwtOf('ann', { org: 'acme' })
    const response = await fetch(`${url}/auth?a=b`, {
      headers: {
        authorization: `Bearer ${token}`,
        'x-request-id': 'of-the-proxy',
        ...asTraefik('GET', '/items/7?a=b'),
      },
    })
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-tollgate-user': 'ann',
      'x-request-id': 'of-the-proxy',
      'ratelimit-policy': '"personal-read-1d";q=100000;w=86400',
    })
    expect(response.headers.get('ratelimit')).toContain('"personal-read-1d";r=99996;')
    expect(upstream.seen).toEqual([])
    expect(await used('ann', 'read')).toBe(4)
    expect(app.requests()[0]).toMatchObject({
      ...{ outcome: 'answered', clientStatus: 200, method: 'GET', route: 'GET /items/:id', user: 'ann', cost: 4 },
    })
  })

  it('a proxy that asks hears how the request stands to the quota, for the upstream and for the client', async () => {
    const soft = RULES.replace('dear: { 1h: 10, 1d: 10 }', 'dear: { 1h: { limit: 5, over: 5 }, 1d: 10 }')
    upstream = await startUpstream()
    const told = `decisions: { listen: 127.0.0.1:0 }\n${soft}`
    app = await startApp(yaml(upstream.url, told, 'sqlite::memory:', 'quota_field: X-Tollgate-Quota'))
    const listening = app.observations.find((o) => o.type === 'listening' && o.what === 'decisions')
    const url = listening?.type === 'listening' ? listening.url : ''
    const { headers } = await fetch(`${url}/auth`, { headers: { ...bearer('ann'), ...asNginx('GET', '/dear') } })
    expect(headers.get('x-tollgate-quota')).toMatch(/^state=over, category="dear", remaining=0, reset=86\d\d\d$/)
    expect(headers.get('x-tollgate-quota-state')).toBe('over')
    const open = await fetch(`${url}/auth`, { headers: asNginx('GET', '/open') })
    expect([open.status, open.headers.get('x-tollgate-quota')]).toEqual([200, null])
  })

  it('a proxy that asks gets the refusal as its client would, with body and fields', async () => {
    const url = await start()
    const asked = () => fetch(`${url}/auth`, { headers: { ...bearer('ann'), ...asNginx('GET', '/dear') } })
    expect((await asked()).status).toBe(200)
    const refused = await asked()
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({ error: 'quota_exceeded', quota: { category: 'dear', used: 10 } })
    const nobody = await fetch(`${url}/auth`, { headers: asNginx('GET', '/dear') })
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="tollgate"'])
    expect(app.requests().map(({ outcome }) => outcome)).toEqual(['answered', 'refused', 'denied'])
  })

  it('Envoy asks below a prefix, by the method and the path of the request itself, and with its body', async () => {
    const url = await start(
      'listen: 127.0.0.1:0, sends_body: true',
      `${RULES}  - { match: POST /pay, category: dear, cost: { body: kind, values: { small: 1, big: 9 } } }\n`,
    )
    const asked = (body: string | null) =>
      fetch(`${url}/envoy/pay`, {
        method: 'POST',
        headers: { ...bearer('ann'), 'content-type': 'application/json' },
        ...(body !== null && { body }),
      })
    expect((await asked('{"kind":"big"}')).status).toBe(200)
    expect(await used('ann', 'dear')).toBe(9)
    expect((await asked(null)).status).toBe(400)
    expect(await used('ann', 'dear')).toBe(9)
  })

  it('a price by a body that the proxy keeps back is the dearest, otherwise, or none, and never that of no body', async () => {
    const prices = `
  - { match: PUT /files/:id, category: read, cost: { size: request, per: 1KiB, max: 50 } }
  - { match: POST /search, category: read, cost: { query: n, times: 1, max: 20 } }
  - { match: POST /pay, category: read, cost: { body: kind, values: { small: 1 } } }
  - { match: POST /call, category: read, cost: { body: kind, values: { small: 1 }, otherwise: 7 } }
`
    const url = await start('listen: 127.0.0.1:0, sends_body: true', RULES + prices)
    let before = 0
    const asked = async (method: string, uri: string) => {
      const response = await fetch(`${url}/auth`, { headers: { ...bearer('ann'), ...asNginx(method, uri) } })
      const now = await used('ann', 'read')
      const cost = now - before
      before = now
      return [response.status, cost]
    }
    expect(await asked('PUT', '/files/1')).toEqual([200, 50])
    expect(await asked('POST', '/search?n=2')).toEqual([400, 0])
    expect(await asked('POST', '/pay')).toEqual([400, 0])
    expect(await asked('POST', '/call')).toEqual([200, 7])
  })

  it('a request that a proxy asks about twice is charged once if it has a key', async () => {
    const url = await start()
    const headers = { ...bearer('ann'), ...asTraefik('GET', '/items/7'), 'idempotency-key': 'a1' }
    const responses = [await fetch(`${url}/auth`, { headers }), await fetch(`${url}/auth`, { headers })]
    expect(responses.map((each) => [each.status, each.headers.get('x-tollgate-replay')])).toEqual([
      [200, null],
      [200, '1'],
    ])
    expect(await used('ann', 'read')).toBe(4)
  })

  it('a request for a WebSocket is decided as the GET that it is, whether or not the proxy shows the handshake', async () => {
    const url = await start()
    const handshake =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
    const ask = `GET /auth HTTP/1.1\r\nHost: a\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Uri: /ws\r\nAuthorization: ${bearer('ann').authorization}\r\n`
    expect(statusesIn(await rawExchange(url, `${ask}${handshake}\r\n`))).toEqual([200])
    expect(statusesIn(await rawExchange(url, `${ask}\r\n`))).toEqual([200])
    expect(await used('ann', 'read')).toBe(4)
  })

  it('a WebSocket of a page is decided by the credential in its subprotocols, and by a cookie for pages of the same host only', async () => {
    upstream = await startUpstream()
    const from = '[{ cookie: session }, { websocket_protocol: bearer }]'
    const text = yaml(upstream.url, `decisions: { listen: 127.0.0.1:0 }\n${RULES}`, 'sqlite::memory:')
    app = await startApp(text.replace(/^auth:$/m, `auth:\n  from: ${from}`))
    const listening = app.observations.find((o) => o.type === 'listening' && o.what === 'decisions')
    const url = listening?.type === 'listening' ? listening.url : ''
    // Most proxies drop Upgrade from what they ask.
    const ask = async (fields: Fields) => {
      const shown = { host: 'shop.example.org', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...fields }
      const lines = Object.entries({ ...shown, ...asTraefik('GET', '/ws') }).map(
        ([name, value]) => `${name}: ${value}\r\n`,
      )
      return statusesIn(await rawExchange(url, `GET /auth HTTP/1.1\r\nConnection: close\r\n${lines.join('')}\r\n`))
    }
    const token = jwtOf('ann')
    expect(await ask({ 'sec-websocket-protocol': `bearer, ${token}` })).toEqual([200])
    expect(await ask({ 'sec-websocket-protocol': 'bearer, x' })).toEqual([401])
    expect(await ask({ cookie: `session=${token}`, origin: 'https://shop.example.org' })).toEqual([200])
    expect(await ask({ cookie: `session=${token}`, origin: 'https://evil.example' })).toEqual([401])
    expect(app.requests().map(({ user }) => user)).toEqual(['ann', null, 'ann', null])
  })

  it('a proxy that asks by GET about a HEAD gets a whole response, and goes on on its connection', async () => {
    const url = await start()
    const ask = (more: string) =>
      `GET /auth HTTP/1.1\r\nHost: a\r\nX-Forwarded-Method: HEAD\r\nX-Forwarded-Uri: /nowhere\r\n${more}\r\n`
    const text = await rawExchange(url, ask('') + ask('Connection: close\r\n'))
    expect(statusesIn(text)).toEqual([404, 404])
    expect(text.match(/^Content-Length: 0\r$/gm)).toHaveLength(2)
  })

  it('what the gateway serves itself is not decided by its own response, for the upstream would get it', async () => {
    const url = await start()
    const asked = async (method: string, uri: string) =>
      (await fetch(`${url}/auth`, { headers: { ...bearer('ann'), ...asTraefik(method, uri) } })).status
    expect((await fetch(`${app.url}/me/quota`, { headers: bearer('ann') })).status).toBe(200)
    expect(await asked('GET', '/me/quota')).toBe(404)
    expect(await asked('GET', '/me/usage')).toBe(404)
  })
})

describe('refuse_with: 403', () => {
  it('nginx gets 403 in place of each status that it does not know, and which it stands for', async () => {
    const url = await start('listen: 127.0.0.1:0, refuse_with: 403')
    const asked = async (uri: string, headers: Fields = bearer('ann')) => {
      const { status, headers: fields } = await fetch(`${url}/auth`, {
        headers: { ...headers, ...asNginx('GET', uri) },
      })
      return [status, fields.get('x-tollgate-status')]
    }
    expect(await asked('/items/1')).toEqual([200, null])
    expect(await asked('/items/1', {})).toEqual([401, null])
    expect(await asked('/never')).toEqual([403, '429'])
    expect(await asked('/nowhere')).toEqual([403, '404'])
    expect(await asked('/items/%2e%2e')).toEqual([403, '400'])
    // What is no request to anybody is refused before it is looked at.
    expect(await rawExchange(url, 'GET /auth HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 403 (?:.|\r\n)*X-Tollgate-Status: 400\r\n/,
    )
    expect(app.requests().map(({ clientStatus }) => clientStatus)).toEqual([200, 401, 429, 404, 400, 400])
  })
})

describe('the original request', () => {
  const ask = (fields: string) =>
    `GET /auth HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${bearer('ann').authorization}\r\n${fields}\r\n`
  it.each([
    ['no fields', ''],
    ['a target without a method', 'X-Forwarded-Uri: /open\r\n'],
    ['a method without a target', 'X-Original-Method: GET\r\n'],
    ['a target in two lines', 'X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /open\r\nX-Forwarded-Uri: /never\r\n'],
    ['a method in two lines', 'X-Original-Method: GET\r\nX-Original-Method: GET\r\nX-Original-URI: /open\r\n'],
    [
      'fields of two proxies, one of which a client may have written',
      'X-Original-Method: GET\r\nX-Original-URI: /never\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Uri: /open\r\n',
    ],
    ['a half of a second pair', 'X-Original-Method: GET\r\nX-Original-URI: /open\r\nX-Forwarded-Method: GET\r\n'],
    ['a method that is none', 'X-Forwarded-Method: GET /\r\nX-Forwarded-Uri: /open\r\n'],
    ['an empty method', 'X-Forwarded-Method:\r\nX-Forwarded-Uri: /open\r\n'],
    ['an empty target', 'X-Forwarded-Method: GET\r\nX-Forwarded-Uri:\r\n'],
    ['an absolute target', 'X-Forwarded-Method: GET\r\nX-Forwarded-Uri: http://a/open\r\n'],
    ['a target without a slash', 'X-Forwarded-Method: GET\r\nX-Forwarded-Uri: open\r\n'],
    ['a target with a blank', 'X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /open /x\r\n'],
    ['a target in octets', 'X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /caf\xc3\xa9\r\n'],
    ['a target that is an asterisk', 'X-Forwarded-Method: OPTIONS\r\nX-Forwarded-Uri: *\r\n'],
  ])('a proxy that names the original request by %s gets 400', async (_what, fields) => {
    const url = await start()
    expect(statusesIn(await rawExchange(url, Buffer.from(ask(fields), 'latin1')))).toEqual([400])
    expect(await used('ann', 'read')).toBe(0)
  })

  it('a method that Node does not know is 501, as by the gateway', async () => {
    const url = await start()
    const unknown = { ...bearer('ann'), ...asTraefik('STEAL', '/items/1') }
    expect((await fetch(`${url}/auth`, { headers: unknown })).status).toBe(501)
    expect(statusesIn(await rawExchange(app.url, 'STEAL /items/1 HTTP/1.1\r\nHost: a\r\n\r\n'))).toEqual([501])
  })

  it('a target that is longer than edge.max_url is 414, and one that fits only into a larger head is decided', async () => {
    const url = await start()
    const asked = async (uri: string) =>
      (await fetch(`${url}/auth`, { headers: { ...bearer('ann'), ...asNginx('GET', uri) } })).status
    expect(await asked(`/items/1?${'a'.repeat(9000)}`)).toBe(414)
    expect(await asked(`/items/1?${'a'.repeat(8000)}`)).toBe(200)
    const elsewhere = (path: string) => fetch(url + path, { headers: { ...bearer('ann'), ...asNginx('GET', '/open') } })
    expect((await elsewhere('/')).status).toBe(404)
    expect((await elsewhere('/auth/')).status).toBe(404)
    expect((await elsewhere('/envoy')).status).toBe(400)
  })
})

describe('who may ask', () => {
  it('whoever asks without the token of decisions is refused, and the credential of the client stays where it is', async () => {
    const token = 'token-of-the-proxy-0123456789abcdef'
    const url = await start(`listen: 127.0.0.1:0, token: ${token}`)
    const asked = async (headers: Fields) =>
      (await fetch(`${url}/auth`, { headers: { ...bearer('ann'), ...asTraefik('GET', '/items/1'), ...headers } }))
        .status
    expect(await asked({})).toBe(401)
    expect(await asked({ 'x-tollgate-token': `${token}0` })).toBe(401)
    expect(await used('ann', 'read')).toBe(0)
    expect(await asked({ 'x-tollgate-token': token })).toBe(200)
  })

  it('a proxy on a Unix socket is answered as one on a port, and a socket that a killed process left is taken', async () => {
    const path = join(tempFolder(), 'decide.sock')
    await leaveSocket(path)
    expect(await start(`listen: "unix:${path}"`)).toBe(`unix:${path}`)
    // The proxy is another user, of the same group.
    expect(statSync(path).mode & 0o777).toBe(0o660)
    const ask = (headers: Fields) => askSocket(path, { ...bearer('ann'), ...asTraefik('GET', '/items/1'), ...headers })
    expect(await ask({ 'x-forwarded-for': '192.0.2.7' })).toBe(200)
    expect(await used('ann', 'read')).toBe(4)
  })

  it('clients share nothing by the address of the proxy, but by the one that it names', async () => {
    const url = await start(
      'listen: 127.0.0.1:0',
      `
quota: { baselines: { personal: { read: { 1h: 3, 1d: 3 } } } }
routes: [{ match: GET /a, category: read, anonymous: true }]
`,
    )
    const asked = async (hops: string) =>
      (await fetch(`${url}/auth`, { headers: { 'x-forwarded-for': hops, ...asTraefik('GET', '/a') } })).status
    for (let i = 0; i < 3; i++) expect(await asked('192.0.2.1')).toBe(200)
    // What a client writes stands before what the proxy adds.
    expect(await asked('192.0.2.9, 192.0.2.1')).toBe(429)
    expect(await asked('192.0.2.2')).toBe(200)
    // Envoy adds its own address.
    expect(await asked('192.0.2.1, 127.0.0.1')).toBe(429)
  })
})

/** Listens in a process that is killed. */
async function leaveSocket(path: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function askSocket(socketPath: string, headers: Fields): Promise<number> {
  const request = http.get({ socketPath, path: '/auth', headers, agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response.statusCode ?? 0
}

const METHODS = ['GET', 'GET', 'GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'PURGE', 'TRACE', 'CONNECT']
const SPELLINGS = [
  '/items/7',
  '/items/7?a=%2e',
  '/items/%37',
  '/items/7/',
  '/items//7',
  '/items/a%2Fb',
  '/items/../open',
  '/items/%2e%2e/open',
  '/items;x/7',
  '/ITEMS/7',
  '/items/7#open',
  '/items/%zz',
  '/items/a\\b',
  '/items',
  '/open',
  '/open?x',
  '/never',
  '/nowhere',
  '/',
  'http://other/open',
  `/open?${'a'.repeat(9000)}`,
]

it('each form gives the status that the gateway gives for the same request, and charges the same', async () => {
  const url = await start()
  const credential = fc.constantFrom('good', 'none', 'bad', 'twice', 'other scheme')
  const request = fc.record({ method: fc.constantFrom(...METHODS), target: fc.constantFrom(...SPELLINGS), credential })
  const forms = {
    gateway: (method: string, target: string) => [app.url, `${method} ${target} HTTP/1.1\r\n`],
    traefik: (method: string, target: string) => [
      url,
      `GET /auth HTTP/1.1\r\nX-Forwarded-Method: ${method}\r\nX-Forwarded-Uri: ${target}\r\n`,
    ],
    nginx: (method: string, target: string) => [
      url,
      `GET /auth HTTP/1.1\r\nX-Original-Method: ${method}\r\nX-Original-URI: ${target}\r\n`,
    ],
    envoy: (method: string, target: string) => [url, `${method} /envoy${target} HTTP/1.1\r\n`],
  }
  const fields = (user: string, credential: string) => {
    const good = `Authorization: ${bearer(user).authorization}\r\n`
    const of: Fields = {
      good,
      none: '',
      bad: 'Authorization: Bearer x\r\n',
      twice: good + good,
      'other scheme': 'Authorization: Basic eDp5\r\n',
    }
    return of[credential]
  }
  const run = async (
    name: keyof typeof forms,
    { method, target, credential }: { method: string; target: string; credential: string },
  ) => {
    const [place = '', line] = forms[name](method, target)
    const head = `${line}Host: a\r\nConnection: close\r\nX-Forwarded-For: 192.0.2.7\r\n${fields(`of-${name}`, credential)}\r\n`
    return statusesIn(await rawExchange(place, head))
  }
  await fc.assert(
    fc.asyncProperty(request, async (each) => {
      const [gateway, ...others] = await Promise.all(
        (['gateway', 'traefik', 'nginx', 'envoy'] as const).map((name) => run(name, each)),
      )
      for (const other of others) expect(other).toEqual(gateway)
    }),
    { numRuns: runs(150), examples: [[{ method: 'GET', target: '/items/7', credential: 'good' }]] },
  )
  const sums = await Promise.all(Object.keys(forms).map((name) => used(`of-${name}`, 'read')))
  expect(new Set(sums).size).toBe(1)
  expect(sums[0]).toBeGreaterThan(0)
})
