import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { statusesIn } from '../e2e/raw.ts'
import { isCharged, isGivenBack } from '../observe/settled.ts'
import { BOTH_WAYS, makeCertificates } from '../setup/ways.ts'
import { startRawUpstream } from './raw-upstream.ts'

/** One stranger, or one user, tries to take all there is. Meanwhile fifty other users are served, each from elsewhere. */

const BIG = Buffer.alloc(8_000_000, 'x')
const ATTACKER = '127.0.0.1'
const OTHERS = Array.from({ length: 50 }, (_, i) => `user ${i}`)
/** How long a held request would hold back others, in milliseconds, is far above this: nobody waits for an attacker's end. */
const PATIENCE_MS = 10_000

const certificates = makeCertificates()
let backend: Upstream
let app: RunningApp
const sockets = new Set<net.Socket>()

beforeEach(async () => {
  backend = await startUpstream(({ url }, res) => void res.end(url.includes('big') ? BIG : 'ok'))
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
})

async function start(upstream = backend.url, edge = '', listener = ''): Promise<void> {
  const routes = '[{ match: "* /pub/*", public: true }, { match: "* /api/*", category: read }]'
  const limits = 'baselines: { personal: { read: { 1h: 100000 } }, global: { read: { 1h: 1000000 } } }'
  app = await startApp(yaml(upstream, `edge: { ${edge} }\nquota: { ${limits} }\nroutes: ${routes}\n${listener}`))
}

function connect(localAddress: string): net.Socket {
  const { hostname, port, protocol } = new URL(app.url)
  const place = { host: hostname, port: Number(port), localAddress }
  const socket = protocol === 'https:' ? tls.connect({ ...place, rejectUnauthorized: false }) : net.connect(place)
  socket.on('error', () => {})
  sockets.add(socket)
  return socket
}

/** Sends and reads nothing. */
function hold(text: string, localAddress = ATTACKER): void {
  connect(localAddress).pause().write(text)
}

/** What a client gets that sends one request and waits. */
function ask(text: string, localAddress: string, patienceMs = PATIENCE_MS): Promise<number | undefined> {
  const socket = connect(localAddress)
  let received = ''
  socket.on('data', (piece) => {
    received += piece.toString('latin1')
  })
  socket.write(text)
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), patienceMs)
    socket.once('close', () => {
      clearTimeout(timer)
      sockets.delete(socket)
      resolve(statusesIn(received)[0])
    })
  })
}

function request(line: string, user: string | null, ...fields: string[]): string {
  const credential = user === null ? [] : [`Authorization: Bearer ${jwtOf(user)}`]
  return [line, 'Host: a', ...credential, ...fields, '', ''].join('\r\n')
}

const get = (path: string, user: string | null): string => request(`GET ${path} HTTP/1.1`, user)

/** All others at once, each from an address of its own. */
async function others(patienceMs = PATIENCE_MS): Promise<(number | undefined)[]> {
  const line = 'GET /api/now HTTP/1.1'
  const responses = OTHERS.map((user, i) =>
    ask(request(line, user, 'Connection: close'), `127.0.1.${i + 1}`, patienceMs),
  )
  return [...new Set(await Promise.all(responses))]
}

async function readiness(): Promise<unknown> {
  return (await fetch(`${app.admin}/readyz`)).json()
}

const failures = (): number => app.requests().filter(({ httpStatus }) => httpStatus === 0).length
const seen = (path: string): number => backend.seen.filter(({ url }) => url.includes(path)).length
const poll = <T>(read: () => T) => expect.poll(read, { interval: 20, timeout: 60_000 })

async function expectOthersServed(): Promise<void> {
  expect(await others()).toEqual([200])
  expect(await readiness()).toEqual({ ready: true })
  expect(failures()).toBe(0)
}

describe('everybody else is served within moments while', () => {
  it('eight connections pipeline 32 requests each, of a public route, and read nothing', async () => {
    await start()
    for (let i = 0; i < 8; i++) hold(get('/pub/big', null).repeat(32))
    await poll(() => seen('/pub/big')).toBe(8)
    await expectOthersServed()
    expect(seen('/pub/big')).toBe(8)
  })

  it('a stranger pipelines 32 requests on each of 400 connections: who connects behind those is served before half of the requests', async () => {
    await start()
    for (let i = 0; i < 400; i++) connect(ATTACKER).write(get('/none', null).repeat(32))
    expect(await ask(request('GET /api/now HTTP/1.1', 'late', 'Connection: close'), '127.0.1.1')).toBe(200)
    expect(app.requests().filter(({ clientStatus }) => clientStatus === 404).length).toBeLessThan(400 * 16)
  })

  it('three users pipeline 32 requests on each of nine connections, and read nothing', async () => {
    await start()
    for (let i = 0; i < 9; i++) hold(get('/api/big', `greedy ${i % 3}`).repeat(32))
    await poll(() => seen('/api/big')).toBe(9)
    await expectOthersServed()
    expect(app.observations.filter(isCharged).length).toBe(9 + OTHERS.length)
  })

  it('one address has a thousand connections, each with a large answer that it does not read', async () => {
    await start()
    for (let i = 0; i < 1000; i++) hold(get('/pub/big', null))
    await poll(() => seen('/pub/big')).toBe(128)
    // Half of those at the upstream; of the others half of the requests under way wait for them, then they are refused.
    await expectOthersServed()
    await poll(() => app.requests().filter(({ clientStatus }) => clientStatus === 429).length).toBe(1000 - 128)
    await expectOthersServed()
  })

  it('one user asks for large answers from ten addresses, and reads none', async () => {
    await start()
    for (let i = 0; i < 300; i++) hold(get('/api/big', 'greedy'), `127.0.2.${1 + (i % 10)}`)
    await poll(() => seen('/api/big')).toBe(128)
    await expectOthersServed()
    await poll(() => app.requests().filter(({ reason }) => reason === 'user upstream connections').length).toBe(172)
    const charges = app.observations.filter(isCharged).length
    expect(charges).toBe(128 + OTHERS.length)
  })

  it('two thousand connections of two addresses announce a body that does not come', async () => {
    await start()
    const line = request('GET /pub/health HTTP/1.1', null, 'Content-Length: 10')
    for (let i = 0; i < 2000; i++) hold(line, `127.0.2.${1 + (i % 2)}`)
    await poll(() => app.requests().filter(({ reason }) => reason === "strangers' requests").length).toBe(1500)
    expect(await others()).toEqual([200])
    expect([await readiness(), failures()]).toMatchObject([{ ready: true }, 0])
    expect(seen('/pub/health')).toBe(0)
  })

  it('one user opens a thousand tunnels', async () => {
    const raw = await startRawUpstream()
    await start(raw.url)
    const handshake = request(
      'GET /api/ws HTTP/1.1',
      'greedy',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    )
    for (let i = 0; i < 1000; i++) hold(handshake, `127.0.2.${1 + (i % 10)}`)
    await poll(() => app.requests().filter(({ reason }) => reason === 'user tunnels').length).toBe(900)
    const responses = OTHERS.map((user, i) =>
      ask(request('GET /api/now HTTP/1.1', user, 'Connection: close'), `127.0.1.${i + 1}`),
    )
    expect([...new Set(await Promise.all(responses))]).toEqual([200])
  })
})

describe('where strangers withhold bodies on all places that they may have', () => {
  it('requests of users are served, and the gateway says for a while that strangers are refused', async () => {
    await start(backend.url, 'max_in_flight: 20')
    const line = request('GET /pub/health HTTP/1.1', null, 'Content-Length: 10')
    for (let i = 0; i < 20; i++) hold(line, `127.0.2.${1 + (i % 10)}`)
    const next = () => ask(line.replace('Host', 'Connection: close\r\nHost'), '127.0.1.1')
    await expect.poll(next, { timeout: 20_000 }).toBe(503)
    expect(app.requests()[0]).toMatchObject({ share: { thing: 'requests', bound: 'strangers' } })
    const strangers =
      'clients without an accepted credential have as much as they may (edge.shares.strangers): others of them are refused'
    expect(await readiness()).toEqual({ ready: true, degraded: [strangers] })
    expect(await ask(request('GET /api/now HTTP/1.1', 'bob', 'Connection: close'), '127.0.1.2')).toBe(200)
  })
})

describe('where all connections to the upstream are taken', () => {
  it('a request is refused after queue_timeout, uncharged, and the refusal is not one of the upstream', async () => {
    const held: (() => void)[] = []
    await backend.close()
    backend = await startUpstream(({ url }, res) => {
      if (url.includes('slow')) held.push(() => res.end('ok'))
      else res.end('ok')
    })
    app = await startApp(
      yaml(
        backend.url,
        'routes: [{ match: "* /api/*", category: read }]\nquota: { refund: never }',
        undefined,
        'max_connections: 2, queue_timeout: 200ms',
      ),
    )
    hold(get('/api/slow', 'one'), '127.0.2.1')
    hold(get('/api/slow', 'two'), '127.0.2.2')
    await poll(() => held.length).toBe(2)
    expect(await readiness()).toEqual({ ready: true })
    expect(await ask(request('GET /api/now HTTP/1.1', 'bob', 'Connection: close'), '127.0.1.1')).toBe(503)
    expect(app.requests()[0]).toMatchObject({
      outcome: 'denied',
      error: 'overloaded',
      reason: 'upstream connections',
      share: { thing: 'upstream_connections', bound: 'total' },
      httpStatus: null,
      clientStatus: 503,
    })
    const refunds = app.observations.filter(isGivenBack)
    expect(refunds).toMatchObject([{ kind: 'given_back', tokens: -1, charge: { category: 'read' }, plan: null }])
    const all = 'all connections to the upstream are taken: requests wait for one, or have waited in vain'
    expect(await readiness()).toEqual({ ready: true, degraded: [all] })
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    expect(metrics).toContain('tollgate_share_refusals_total{thing="upstream_connections",bound="total"} 1\n')
    const waits = ask(request('GET /api/now HTTP/1.1', 'carol', 'Connection: close'), '127.0.1.1')
    for (const response of held.splice(0)) response()
    expect(await waits).toBe(200)
  })
})

it('ten connections that send chunks of one byte without end take a small part of the time, also behind a refusal', async () => {
  await start()
  const chunks = '1\r\nx\r\n'.repeat(20_000)
  let sent = 0
  for (let i = 0; i < 10; i++) {
    const socket = connect(ATTACKER)
    socket.write(request(`POST /${i < 5 ? 'pub/up' : 'none'} HTTP/1.1`, null, 'Transfer-Encoding: chunked'))
    const more = (): void => {
      sent++
      if (!socket.destroyed) socket.write(chunks, more)
    }
    more()
  }
  await expectOthersServed()
  const before = sent
  for (let i = 0; i < 3; i++) await expectOthersServed()
  // What is read in a second of a connection is one read: 64 KiB of the 120 KB that each of these writes has.
  expect(sent - before).toBeLessThan(100)
})

/** On an event loop of its own: each accepts one connection a turn. */
const UPSTREAM = `
  const server = require('node:http').createServer((_, res) => res.end('ok'))
  server.listen(0, '127.0.0.1', () => {
    require('node:worker_threads').parentPort.postMessage('http://127.0.0.1:' + server.address().port)
  })`

describe.each(BOTH_WAYS)('two addresses that pipeline on 300 connections, by $name', (way) => {
  // Both sides of a handshake are in this process.
  const patienceMs = way.clients ? PATIENCE_MS : PATIENCE_MS / 2

  it.each([
    ['20 requests every 20 milliseconds, without end', 20, 20],
    ['2000 requests every 20 milliseconds, without end', 2000, 20],
    ['32 requests again and again, each when the ones before have their responses', 32, 0],
  ])(
    'two addresses that pipeline on 300 connections take nothing from fifty others by %s',
    async (_what, requests, interval) => {
      const upstream = new Worker(UPSTREAM, { eval: true })
      const [url] = await once(upstream, 'message')
      await start(url, '', certificates.listener(way))
      const file = new URL('pipelining-flood.ts', import.meta.url)
      const flood = spawn(process.execPath, [fileURLToPath(file), app.url, String(requests), String(interval)])
      try {
        await poll(() => app.requests().length).toBeGreaterThan(200)
        for (let i = 0; i < 3; i++) expect(await others(patienceMs)).toEqual([200])
      } finally {
        flood.kill()
        await upstream.terminate()
      }
    },
  )
})
