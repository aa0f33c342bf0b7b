import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { type RunningApp, type Seen, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { isCharged, isGivenBack } from '../observe/settled.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { freePort } from '../setup/redis.ts'
import { startRawUpstream } from './raw-upstream.ts'

/** What one client, or all of them together, can take of the gateway. */

/** Answers wait until `release` is called, those of `/api/now` do not. */
async function waitingUpstream(): Promise<Upstream & { waiting: number; release(): void; hold(): void }> {
  const held: (() => void)[] = []
  let holds = true
  const backend = await startUpstream((seen: Seen, res) => {
    if (seen.url === '/api/now' || !holds) return void res.end('ok')
    held.push(() => res.end('ok'))
    res.once('close', () => held.pop())
  })
  return {
    ...backend,
    get waiting() {
      return held.length
    },
    hold: () => {
      holds = true
    },
    release: () => {
      holds = false
      for (const response of held.splice(0)) response()
    },
  }
}

async function start(upstream: string, edge: string, more = ''): Promise<RunningApp> {
  const app = await startApp(configOf(upstream, edge, more))
  return app
}

function configOf(upstream: string, edge: string, more = ''): string {
  return yaml(upstream, `edge: { ${edge} }\nroutes: [{ match: "* /api/*", category: read, cost: 2 }]`, undefined, more)
}

function open(app: RunningApp, localAddress = '127.0.0.1') {
  const { hostname, port } = new URL(app.url)
  const socket = net.connect({ host: hostname, port: Number(port), localAddress })
  atEnd(() => socket.destroy())
  let received = ''
  let closed = false
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.once('close', () => {
    closed = true
  })
  return { socket, text: () => received, statuses: () => statusesIn(received), closed: () => closed }
}

function request(line: string, user: string, ...fields: string[]): string {
  return [line, 'Host: a', `Authorization: Bearer ${jwtOf(user)}`, ...fields, '', ''].join('\r\n')
}

const poll = <T>(read: () => T) => expect.poll(read, { interval: 20 })
const bodyOf = (response: string): unknown => JSON.parse(response.split('\r\n\r\n')[1] ?? '')
const get = (user: string, path = '/api/now'): string => request(`GET ${path} HTTP/1.1`, user)
/** Of a connection that ends with its response, so that nobody waits for silence. */
const last = (user: string): string => request('GET /api/now HTTP/1.1', user, 'Connection: close')
const upgrade = (user: string): string =>
  request(
    'GET /api/ws HTTP/1.1',
    user,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  )
const charges = (app: RunningApp): number => app.observations.filter(isCharged).length
const troubles = (app: RunningApp): string[] =>
  app.observations.flatMap((o) => (o.type === 'bad_connection' ? [o.code] : []))

it('max_connections_per_address closes what one address opens beyond it while its others are busy, and leaves those and other addresses alone', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_connections_per_address: 2')
  const [first, second] = [open(app), open(app)]
  first.socket.write(get('alice', '/api/slow'))
  second.socket.write(get('alice', '/api/slow'))
  await poll(() => backend.waiting).toBe(2)
  const third = open(app)
  third.socket.write(get('alice'))
  await poll(third.closed).toBe(true)
  expect(third.text()).toBe('')
  const other = open(app, '127.0.0.2')
  other.socket.write(get('bob'))
  await poll(other.statuses).toEqual([200])
  backend.release()
  await poll(() => [first.statuses(), second.statuses()]).toEqual([[200], [200]])
  expect([charges(app), backend.seen.length]).toEqual([3, 3])
  expect(troubles(app)).toEqual(['too_many_of_address'])
})

it('max_connections_per_address has room again when a connection ends, also by a reset', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_connections_per_address: 1')
  for (let i = 0; i < 3; i++) {
    const client = open(app)
    client.socket.write(get('alice'))
    await poll(client.statuses).toEqual([200])
    client.socket.resetAndDestroy()
    await sleep(50)
  }
  expect(troubles(app)).toEqual([])
})

it('max_connections_per_address does not hold for trusted_proxies, behind which everybody is, nor where it is none; a reload changes it', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_connections_per_address: 1, trusted_proxies: [127.0.0.0/8]')
  const served = async (): Promise<number> => {
    const clients = [open(app), open(app), open(app)]
    for (const { socket } of clients) socket.write(get('alice'))
    await poll(() => clients.every((client) => client.closed() || client.text() !== '')).toBe(true)
    for (const { socket } of clients) socket.destroy()
    await sleep(50)
    return clients.filter((client) => client.text() !== '').length
  }
  expect(await served()).toBe(3)
  await app.reload(configOf(backend.url, ''))
  expect(await served()).toBe(3)
  await app.reload(configOf(backend.url, 'max_connections_per_address: 1'))
  expect(await served()).toBe(1)
})

it('max_connections closes what is opened beyond it, and those within go on', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_connections: 1')
  const first = open(app)
  first.socket.write(get('alice'))
  await poll(first.statuses).toEqual([200])
  const second = open(app)
  await poll(second.closed).toBe(true)
  first.socket.write(get('alice'))
  await poll(first.statuses).toEqual([200, 200])
  expect(troubles(app)).toEqual(['too_many'])
})

describe('requests on one connection', () => {
  it('requests on one connection are charged one after the other; one beyond 32 is answered 429, and what comes behind is not looked at', async () => {
    const backend = await waitingUpstream()
    const app = await start(backend.url, '')
    const client = open(app)
    client.socket.write(get('alice', '/api/slow').repeat(500))
    await poll(() => backend.waiting).toBe(1)
    await rawExchange(app.url, last('bob'))
    expect([charges(app), backend.waiting]).toEqual([2, 1])
    backend.release()
    await poll(client.closed).toBe(true)
    expect(client.statuses()).toEqual([...new Array(32).fill(200), 429])
    const denied = client.text().slice(client.text().lastIndexOf('HTTP/1.1 429'))
    expect(denied).toContain('\r\nRateLimit-Policy: "connection-in-flight";q=32;qu="concurrent-requests"\r\n')
    expect(denied).toContain('\r\nConnection: close\r\n')
    expect(bodyOf(denied)).toMatchObject({
      error: 'too_many_in_flight',
      msg: expect.stringMatching(/^This connection has as many requests/),
    })
    expect(charges(app)).toBe(33)
    expect(troubles(app)).toEqual(['pipelining'])
  })

  it('requests on one connection are given up when their client leaves, also behind hundreds that nobody looks at', async () => {
    const backend = await waitingUpstream()
    const app = await start(backend.url, '')
    const client = open(app)
    client.socket.write(get('alice', '/api/slow').repeat(500))
    await poll(() => backend.waiting).toBe(1)
    client.socket.end()
    await poll(() => app.requests().length).toBe(32)
    expect(charges(app)).toBe(1)
    expect(statusesIn(await rawExchange(app.url, last('alice')))).toEqual([200])
  })

  it.each([
    ['two servers could read differently', request('GET /api/now HTTP/1.1', 'bob', 'Host: b')],
    [
      'asks for an upgrade, behind which Node loses the head of the next',
      request('GET /api/now HTTP/1.1', 'bob', 'Connection: Upgrade', 'Upgrade: h2c') +
        request('POST /api/lost HTTP/1.1', 'bob', 'Content-Length: 1000'),
    ],
  ])('requests on one connection beyond 32 are the last of it where one %s', async (_what, beyond) => {
    const backend = await waitingUpstream()
    const app = await start(backend.url, '')
    const client = open(app)
    client.socket.write(get('alice', '/api/slow').repeat(32) + beyond)
    await poll(() => backend.waiting).toBe(1)
    client.socket.write(get('alice'))
    backend.release()
    await poll(client.closed).toBe(true)
    expect(client.statuses()).toEqual([...new Array(32).fill(200), 429])
    expect([charges(app), backend.seen.length]).toEqual([32, 32])
  })

  const post = (path: string, body: string): string =>
    request(`POST ${path} HTTP/1.1`, 'bob', `Content-Length: ${body.length}`) + body
  const chunked = (path: string): string =>
    `${request(`POST ${path} HTTP/1.1`, 'bob', 'Transfer-Encoding: chunked')}1\r\nx\r\n0\r\n\r\n`
  it.each([
    ['refused', '', '/nothing'],
    ['served', '', '/api/now'],
    ['ignored behind a refusal that closes the connection', chunked('/nothing'), '/api/now'],
    ['ignored behind something ambiguous', request('GET /api/now HTTP/1.1', 'bob', 'Host: b'), '/api/now'],
  ])(
    'requests on one connection are not read while the first of them waits for its answer, where they are %s',
    async (_what, before, path) => {
      const bodies: IncomingMessage[] = []
      const note = (seen: unknown): void => {
        const { request } = seen as { request: IncomingMessage }
        if (request.headers['content-length'] === '60000') bodies.push(request)
      }
      const backend = await waitingUpstream()
      const app = await start(backend.url, '')
      const client = open(app)
      client.socket.write(get('alice', '/api/slow') + before)
      await poll(() => backend.waiting).toBeGreaterThan(0)
      subscribe('http.server.request.start', note)
      atEnd(() => unsubscribe('http.server.request.start', note))
      client.socket.write(post(path, 'x'.repeat(60_000)).repeat(50))
      await poll(() => bodies.length + app.observations.length).toBeGreaterThan(0)
      for (let i = 0; i < 20; i++) await rawExchange(app.url, last('carol'))
      expect(bodies.length).toBeLessThanOrEqual(3)
      backend.release()
      await poll(() => backend.seen.length).toBe(charges(app))
    },
  )
})

it.each([
  ['that was asked for by 100 Continue before the upstream was found to be away', '/api/a', [100, 502]],
  ['whose client does not wait for 100 Continue', '/nothing', [404]],
])('a refused body %s is read for a moment: no reset throws the answer away', async (_what, path, statuses) => {
  const app = await start(`http://127.0.0.1:${await freePort()}`, '')
  const client = open(app)
  client.socket.write(request(`POST ${path} HTTP/1.1`, 'bob', 'Expect: 100-continue', 'Content-Length: 1000000'))
  await poll(client.statuses).toEqual(statuses)
  const failed = await new Promise((resolve) => client.socket.write(Buffer.alloc(1_000_000), resolve))
  expect(failed ?? null).toBe(null)
  await poll(client.closed).toBe(true)
})

it.each([
  ['that its client holds back until it is wanted', 'Expect: 100-continue\r\n', ''],
  ['that stops in its middle', '', 'x'],
])('a refused body %s does not break off the answer before it', async (_what, field, begun) => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'upload_grace: 200ms')
  const post = (path: string): string =>
    request(`POST ${path} HTTP/1.1`, 'bob', `${field}Content-Length: 100000`) + begun
  const client = open(app)
  client.socket.write(get('alice', '/api/slow') + post('/nothing'))
  await poll(() => backend.waiting).toBe(1)
  // One that is wanted: when it has been waited for in vain, so might have been the other.
  const wanted = open(app)
  wanted.socket.write(post('/api/slow'))
  await poll(wanted.closed).toBe(true)
  backend.release()
  await poll(client.closed).toBe(true)
  expect(client.statuses()).toEqual([200, 404])
  expect(troubles(app)).toEqual(['slow_upload'])
})

it.each([
  ['the quota', 'POST /api/dear HTTP/1.1', 429],
  ['the route map', 'POST /nothing HTTP/1.1', 404],
])(
  'a short body that its client holds back is not asked for where %s refuses it, nor is what follows taken for it',
  async (_what, line, status) => {
    const backend = await waitingUpstream()
    const routes =
      '[{ match: "* /api/*", category: read, cost: 2 }, { match: "* /api/dear", category: read, cost: 1000 }]'
    const app = await startApp(yaml(backend.url, `routes: ${routes}`))
    const client = open(app)
    client.socket.write(request(line, 'bob', 'Expect: 100-continue', 'Content-Length: 10'))
    await poll(client.statuses).toEqual([status])
    client.socket.write(get('bob'))
    await poll(client.closed).toBe(true)
    expect(client.statuses()).toEqual([status])
    expect([charges(app), backend.seen]).toEqual([0, []])
  },
)

it('every connection asks by TCP after a minute of silence whether its client is there', async () => {
  const backend = await startRawUpstream()
  const app = await start(backend.url, '')
  const [tunnel, other] = [open(app), open(app)]
  tunnel.socket.write(upgrade('alice'))
  other.socket.write(get('alice'))
  await poll(() => [tunnel.statuses(), other.statuses()]).toEqual([[101], [200]])
  expect(keepAliveIn(tunnel.socket)).toBeLessThanOrEqual(60)
  expect(keepAliveIn(other.socket)).toBeLessThanOrEqual(60)
})

/** In how many seconds the gateway's end of a connection asks whether the other one is there, by proc(5). */
function keepAliveIn({ localPort = 0, remotePort = 0 }: net.Socket): number {
  const [gateway, client] = [remotePort, localPort].map(
    (port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`,
  )
  const rows = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map((row) => row.trim().split(/\s+/))
  const row = rows.find(([, local, remote]) => local?.endsWith(gateway ?? '') && remote?.endsWith(client ?? ''))
  const [timer, ticks = ''] = row?.[5]?.split(':') ?? []
  return timer === '02' ? Number.parseInt(ticks, 16) / 100 : Number.POSITIVE_INFINITY
}

/** A WebSocket handshake whose credential waits for the keys of its issuer. */
async function waitingForKeys() {
  let asked: ServerResponse | undefined
  const keys = createServer((_req, res) => {
    asked = res
  })
  await listening(keys)
  const jwks = `jwks: "http://127.0.0.1:${(keys.address() as net.AddressInfo).port}/", algorithms: [ES256]`
  const app = await startApp(configOf('http://127.0.0.1:1', '').replace(/secret: .*, algorithms: \[HS256\]/, jwks))
  const client = open(app)
  // Of an algorithm that needs the keys.
  client.socket.write(upgrade('alice').replace(/Bearer [^.]*/, `Bearer ${btoa('{"alg":"ES256"}').replace(/=+$/, '')}`))
  const underWay = async () => (await fetch(`${app.admin}/metrics`)).text()
  await poll(underWay).toContain('\ntollgate_inflight_requests 1\n')
  return { app, client, responseKeys: () => asked?.writeHead(503).end() }
}

it('a WebSocket handshake whose client resets the connection while its credential is looked at does no harm', async () => {
  const { app, client, responseKeys } = await waitingForKeys()
  client.socket.resetAndDestroy()
  await sleep(100)
  responseKeys()
  await poll(() => app.requests()).toMatchObject([{ outcome: 'denied' }])
})

it('a gateway that stops tells of nothing cut off where the last client has left by itself', async () => {
  const { app, client } = await waitingForKeys()
  client.socket.resetAndDestroy()
  await sleep(100)
  await app.stop()
  expect(app.observations.filter(({ type }) => type === 'cut_off')).toEqual([])
})

it('what comes behind the last answer of a connection is no request, whatever its method', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, '')
  expect((await fetch(`${app.admin}/drain`, { method: 'POST', headers: { 'x-tollgate-drain': 'yes' } })).status).toBe(
    200,
  )
  const client = open(app)
  client.socket.write(`${get('alice', '/api/slow')}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`)
  await poll(() => backend.waiting).toBe(1)
  backend.release()
  await poll(client.closed).toBe(true)
  expect(client.statuses()).toEqual([200])
  expect(app.requests().map(({ clientStatus }) => clientStatus)).toEqual([200])
})

it('a connection that has ended is remembered by nobody', async () => {
  const sockets = (): number => queryObjects(net.Socket, { format: 'count' })
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_in_flight_per_user: 9')
  expect(statusesIn(await rawExchange(app.url, last('alice')))).toEqual([200])
  const before = sockets()
  for (let i = 0; i < 50; i++) await rawExchange(app.url, last('alice'))
  await poll(sockets).toBeLessThan(before + 25)
})

it('max_in_flight_per_user answers 429 before any charge, to that user only, and only for so long', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_in_flight_per_user: 2')
  const slow = [open(app), open(app)]
  for (const { socket } of slow) socket.write(get('alice', '/api/slow'))
  await poll(() => backend.waiting).toBe(2)
  const response = await rawExchange(app.url, last('alice'))
  expect(response).toMatch(/^HTTP\/1\.1 429 .*\r\nRetry-After: 1\r\n/is)
  expect(response).toContain('\r\nRateLimit-Policy: "user-in-flight";q=2;qu="concurrent-requests"\r\n')
  expect(response).toContain('\r\nRateLimit: "user-in-flight";r=0\r\n')
  const msg =
    'This user has as many requests under way as one user may have at a time. Try again when one of them has ended.'
  expect(bodyOf(response)).toEqual({ error: 'too_many_in_flight', msg })
  const problem = await rawExchange(
    app.url,
    request('GET /api/now HTTP/1.1', 'alice', 'Accept: application/problem+json', 'Connection: close'),
  )
  expect(problem).toMatch(/^HTTP\/1\.1 429 .*\r\nContent-Type: application\/problem\+json\r\n/is)
  expect(bodyOf(problem)).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: msg,
    'violated-policies': ['user-in-flight'],
    error: 'too_many_in_flight',
    msg,
  })
  expect(statusesIn(await rawExchange(app.url, last('bob')))).toEqual([200])
  expect(charges(app)).toBe(3)
  backend.release()
  await poll(() => slow.map((client) => client.statuses())).toEqual([[200], [200]])
  expect(statusesIn(await rawExchange(app.url, last('alice')))).toEqual([200])
  expect([charges(app), backend.seen.length]).toEqual([4, 4])
  const denied = app.requests().filter(({ reason }) => reason === 'user')
  const ending = { outcome: 'denied', error: 'too_many_in_flight', httpStatus: null, clientStatus: 429, cost: 0 }
  expect(denied).toEqual([expect.objectContaining(ending), expect.objectContaining(ending)])
})

it('max_in_flight_per_user forgets a request whose client left', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_in_flight_per_user: 1')
  const gone = open(app)
  gone.socket.write(get('alice', '/api/slow'))
  await poll(() => backend.waiting).toBe(1)
  gone.socket.destroy()
  await poll(() => app.requests().length).toBe(1)
  // Nothing failed at the upstream, which a status of 0 would say.
  expect(app.requests()[0]).toMatchObject({ outcome: 'aborted', httpStatus: null, clientStatus: 499 })
  expect(statusesIn(await rawExchange(app.url, last('alice')))).toEqual([200])
})

it('max_in_flight_per_user is none by default', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, '')
  const clients = Array.from({ length: 50 }, () => open(app))
  for (const { socket } of clients) socket.write(get('alice', '/api/slow'))
  await poll(() => backend.waiting).toBe(50)
})

describe('max_tunnels', () => {
  it('max_tunnels answers 503 to the handshakes beyond it before any charge, and tunnels take no place of requests', async () => {
    const backend = await startRawUpstream()
    const app = await start(backend.url, 'max_tunnels: 2, max_in_flight: 1, shares: { address: none, user: none }')
    const tunnels = [open(app), open(app)]
    for (const { socket } of tunnels) socket.write(upgrade('alice'))
    await poll(() => tunnels.map((tunnel) => tunnel.statuses())).toEqual([[101], [101]])
    const third = await rawExchange(app.url, upgrade('bob'))
    expect(third).toMatch(/^HTTP\/1\.1 503 .*\r\nRetry-After: 1\r\n/is)
    expect(statusesIn(await rawExchange(app.url, last('bob')))).toEqual([200])
    expect([charges(app), backend.lines.length]).toEqual([3, 3])
    tunnels[0]?.socket.destroy()
    await poll(async () => statusesIn(await rawExchange(app.url, upgrade('bob'), 50))[0]).toBe(101)
  })

  it('a tunnel counts for its user', async () => {
    const backend = await startRawUpstream()
    const app = await start(backend.url, 'max_in_flight_per_user: 1')
    const tunnel = open(app)
    tunnel.socket.write(upgrade('alice'))
    await poll(tunnel.statuses).toEqual([101])
    expect(statusesIn(await rawExchange(app.url, last('alice')))).toEqual([429])
    expect(statusesIn(await rawExchange(app.url, upgrade('alice')))).toEqual([429])
    expect(statusesIn(await rawExchange(app.url, last('bob')))).toEqual([200])
    expect(charges(app)).toBe(2)
  })
})

it('max_lag answers 503 before any charge while the event loop is lastingly late, and the admin listener goes on', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_lag: 20ms')
  let busy = true
  atEnd(() => {
    busy = false
  })
  function burn(): void {
    const until = performance.now() + 100
    while (performance.now() < until);
    if (busy) setImmediate(burn)
  }
  burn()
  await poll(async () => statusesIn(await rawExchange(app.url, last('alice'), 500))[0]).toBe(503)
  const { ok } = await fetch(`${app.admin}/livez`)
  expect(ok).toBe(true)
  const response = await rawExchange(app.url, last('alice'), 500)
  expect(response).toMatch(/^HTTP\/1\.1 503 .*\r\nRetry-After: 1\r\n/is)
  busy = false
  await poll(async () => statusesIn(await rawExchange(app.url, last('alice'), 50))[0]).toBe(200)
  const shed = app.requests().filter(({ reason }) => reason === 'event loop')
  expect(shed.length).toBeGreaterThan(0)
  for (const { cost, error } of shed) expect([cost, error]).toEqual([0, 'overloaded'])
  expect(charges(app)).toBe(backend.seen.length)
})

it('max_lag takes no notice of one long pause', async () => {
  const backend = await waitingUpstream()
  const app = await start(backend.url, 'max_lag: 250ms')
  const until = performance.now() + 1500
  while (performance.now() < until);
  expect(statusesIn(await rawExchange(app.url, last('alice'), 50))).toEqual([200])
})

const upload = (user: string, ...fields: string[]): string => request('POST /api/up HTTP/1.1', user, ...fields)
const CHUNKED = 'Transfer-Encoding: chunked'
const rule = 'min_upload_rate: 1KB, upload_grace: 300ms'

/** Sends a piece every 100 ms until told to stop. */
function drip(socket: net.Socket, piece: string): void {
  const timer = setInterval(() => socket.writable && socket.write(piece), 100)
  atEnd(() => clearInterval(timer))
  socket.once('close', () => clearInterval(timer))
}

it.each([
  ['in chunks', CHUNKED, '1\r\nx\r\n'],
  ['of announced length', 'Content-Length: 100000', 'x'],
])(
  'min_upload_rate ends an upload %s that comes too slowly, so that others get its connection to the upstream',
  async (_how, framing, piece) => {
    const backend = await startRawUpstream()
    const app = await start(backend.url, rule, 'max_connections: 1, unchunk: 0')
    const slow = open(app)
    slow.socket.write(upload('alice', framing))
    drip(slow.socket, piece)
    await poll(() => charges(app)).toBe(1)
    expect(statusesIn(await rawExchange(app.url, last('bob'), 3000))).toEqual([200])
    await poll(slow.closed).toBe(true)
    expect(slow.statuses()).toEqual([408])
    const [, id] = /^X-Request-Id: (.*)$/im.exec(slow.text()) ?? []
    await poll(() => app.requests().find(({ outcome }) => outcome === 'denied')?.requestId).toBe(id)
    expect(troubles(app)).toEqual(['slow_upload'])
    // The upstream had its head, and may have acted on it.
    await expect
      .poll(() =>
        app
          .requests()
          .map(({ outcome }) => outcome)
          .sort(),
      )
      .toEqual(['denied', 'forwarded'])
    expect(app.observations.filter(isGivenBack)).toEqual([])
    expect(charges(app)).toBe(2)
  },
)

it('min_upload_rate ends one that is read before the charge, which is never made', async () => {
  const backend = await startRawUpstream()
  const app = await start(backend.url, `${rule}, max_body: 1MiB`)
  const slow = open(app)
  slow.socket.write(upload('alice', CHUNKED))
  drip(slow.socket, '1\r\nx\r\n')
  await poll(slow.closed).toBe(true)
  expect(slow.statuses()).toEqual([408])
  expect([charges(app), backend.lines]).toEqual([0, []])
})

it.each([
  ['a short body after 100 Continue', 'Content-Length: 10\r\nExpect: 100-continue'],
  ['a long body', 'Content-Length: 100000'],
])('min_upload_rate blames no backend for a client that sends nothing of %s', async (_what, framing) => {
  const backend = await startRawUpstream()
  const app = await start(backend.url, 'upload_grace: 1s', 'response_timeout: 200ms')
  const silent = open(app)
  silent.socket.write(upload('alice', framing))
  await poll(silent.closed).toBe(true)
  expect(silent.statuses().at(-1)).toBe(408)
  await poll(() => app.requests()).toMatchObject([{ outcome: 'denied', error: 'request_timeout', httpStatus: null }])
})

it('min_upload_rate is not what ends one whose request was refused: after a second nobody reads on', async () => {
  const backend = await startRawUpstream()
  const app = await start(backend.url, 'upload_grace: 10m')
  const client = open(app)
  client.socket.write('POST /api/up HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n')
  drip(client.socket, 'x')
  await poll(client.closed).toBe(true)
  expect(client.statuses()).toEqual([401])
  expect([troubles(app), backend.lines]).toEqual([[], []])
})

it('min_upload_rate lets one go on that is fast enough, however long it takes', async () => {
  const backend = await startRawUpstream()
  const app = await start(backend.url, rule)
  const client = open(app)
  client.socket.write(upload('alice', CHUNKED))
  for (let i = 0; i < 15; i++) {
    // Ten times as fast as it must be, so that a pause of this process is none of its own.
    client.socket.write(`3e8\r\n${'x'.repeat(1000)}\r\n`)
    await sleep(100)
  }
  client.socket.write('0\r\n\r\n')
  await poll(client.statuses).toEqual([200])
  expect(troubles(app)).toEqual([])
})

it('min_upload_rate does not blame the client while so much of earlier answers waits that nobody reads on', async () => {
  const backend = await startUpstream(
    ({ url }, res) => void res.end(url === '/api/big' ? Buffer.alloc(20_000_000) : 'ok'),
  )
  const app = await start(backend.url, rule)
  const client = open(app)
  client.socket.pause()
  client.socket.write(get('alice', '/api/big'))
  await poll(() => backend.seen.length).toBe(1)
  await sleep(200)
  client.socket.write(upload('alice', 'Content-Length: 100000') + 'x'.repeat(1000))
  await sleep(200)
  client.socket.write('x'.repeat(99_000))
  await sleep(1000)
  client.socket.resume()
  await poll(client.statuses).toEqual([200, 200])
  expect(troubles(app)).toEqual([])
})

it('min_upload_rate does not blame the client for an upstream that reads slowly', async () => {
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.pause()
    setTimeout(() => socket.resume(), 1500)
    let size = 0
    socket.on('data', (chunk) => {
      size += chunk.length
      if (size > 20_000_000) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
    socket.pause()
  })
  await listening(server)
  const app = await start(`http://127.0.0.1:${(server.address() as net.AddressInfo).port}`, rule)
  const client = open(app)
  client.socket.write(upload('alice', 'Content-Length: 20000000'))
  client.socket.write(Buffer.alloc(20_000_000))
  await poll(client.statuses).toEqual([200])
  expect(troubles(app)).toEqual([])
})

describe('half_close', () => {
  it('abort: a client that ends its side is gone, and its request to the upstream is broken off', async () => {
    const backend = await waitingUpstream()
    const app = await start(backend.url, '')
    const client = open(app)
    client.socket.write(get('alice', '/api/slow'))
    await poll(() => backend.waiting).toBe(1)
    client.socket.end()
    await poll(() => backend.waiting).toBe(0)
    await poll(() => app.requests().map(({ outcome }) => outcome)).toEqual(['aborted'])
    await poll(client.closed).toBe(true)
    expect(client.text()).toBe('')
    expect([charges(app), backend.seen.length]).toEqual([1, 1])
  })

  it('answer: it gets the answers to all that it asked, and then the connection ends', async () => {
    const backend = await waitingUpstream()
    const app = await start(backend.url, 'half_close: answer')
    const client = open(app)
    client.socket.end(get('alice', '/api/slow') + get('alice'))
    await poll(() => backend.waiting).toBe(1)
    backend.release()
    await poll(client.closed).toBe(true)
    expect(client.statuses()).toEqual([200, 200])
    expect([charges(app), backend.seen.length]).toEqual([2, 2])
  })

  it('answer: half a request is still no request', async () => {
    const backend = await waitingUpstream()
    const app = await start(backend.url, 'half_close: answer')
    for (const half of [
      'GET /api/now HTTP/1.1\r\nHost: a\r\n',
      `${request('POST /api/now HTTP/1.1', 'alice', 'Content-Length: 2')}x`,
    ]) {
      const client = open(app)
      client.socket.end(half)
      await poll(client.closed).toBe(true)
      expect(client.statuses().filter((status) => status !== 400)).toEqual([])
    }
    expect([charges(app), backend.seen]).toEqual([0, []])
  })
})
