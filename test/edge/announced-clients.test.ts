import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { silence, statusesIn } from '../e2e/raw.ts'
import { startHaproxy } from '../setup/haproxy.ts'
import type { SystemProxy } from '../setup/system-proxy.ts'
import { BOTH_WAYS, makeCertificates, type Way } from '../setup/ways.ts'

/** Load balancers that pass connections on have 127.0.0.1 here, clients without one 127.0.0.2. */

const certificates = makeCertificates()
const LINE = 'PROXY TCP4 192.0.2.7 10.0.0.1 54321 443\r\n'
const BYTES = Buffer.from(
  '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x12\xc0\0\x02\x08\x0a\0\0\x01\xd4\x31\x01\xbb\x04\0\x03abc',
  'latin1',
)
const LOCAL = Buffer.from('\r\n\r\n\0\r\nQUIT\n\x20\0\0\0', 'latin1')
const GET = 'GET /free HTTP/1.1\r\nHost: a\r\n\r\n'
const NOBODY = 'PROXY UNKNOWN\r\n'

let upstream: Upstream
let app: RunningApp
let haproxy: SystemProxy | null = null
const slow: (() => void)[] = []
beforeAll(async () => {
  upstream = await startUpstream(({ url }, res) => {
    if (url === '/slow') slow.push(() => res.end('ok'))
    else res.end('ok')
  })
})
beforeEach(() => {
  haproxy = null
  upstream.seen.length = 0
})

const ROUTES = `
  - { match: GET /free, public: true }
  - { match: GET /mine, category: read, cost: 1, anonymous: true }
  - { match: GET /slow, public: true }`

/** @param more of `edge` */
function configuration(way: Way, more = ''): string {
  const edge = `edge: { trusted_proxies: [127.0.0.1, 198.51.100.1], proxy_protocol: true, ${more} }`
  const auth = `auth: { anonymous: { by: address }, jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }] }`
  const base = yaml(upstream.url, '').replace(/auth:[\s\S]*?log:/, 'log:')
  const baselines = 'quota: { baselines: { personal: { read: { 1h: 2 } }, global: { read: { 1h: 100 } } } }'
  return `${base}${auth}\n${edge}\n${baselines}\nroutes: ${ROUTES}\n${certificates.listener(way)}`
}

/** Sends pieces one after the other on a connection of TCP, in which TLS begins behind the last preface. */
async function send(way: Way, pieces: readonly (string | Buffer)[], request: string, from = '127.0.0.1') {
  const raw = net.connect({ port: Number(new URL(app.url).port), host: '127.0.0.1', localAddress: from, noDelay: true })
  raw.on('error', () => {})
  await once(raw, 'connect')
  const isWhole = pieces.length === 1 && !way.clients
  for (const piece of isWhole ? [] : pieces) {
    raw.write(piece)
    if (pieces.length > 1) await sleep(5)
  }
  const socket = way.clients ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw
  socket.on('error', () => {})
  let received = ''
  socket.setEncoding('latin1').on('data', (text) => {
    received += text
  })
  const before = isWhole ? Buffer.from(pieces[0] ?? '') : ''
  socket.write(Buffer.concat([Buffer.from(before), Buffer.from(request)]))
  await silence(socket, 150)
  socket.destroy()
  return received
}

const forwardedFor = () => upstream.seen.map(({ headers }) => headers['x-forwarded-for'])
const users = () => app.requests().map(({ user }) => user)
const refusals = () => app.observations.flatMap((o) => (o.type === 'bad_connection' ? [o.refused?.reason] : []))

describe.each(BOTH_WAYS)('a connection that a load balancer passes on, $name', (way) => {
  it.each([
    ['version 1', LINE, '192.0.2.7'],
    ['version 2, with facts behind its addresses', BYTES, '192.0.2.8'],
  ])(
    'a connection that a load balancer passes on has the address that its preface says, whole and byte by byte: %s',
    async (_what, preface, address) => {
      app = await startApp(configuration(way))
      const bytes = [...Buffer.from(preface)].map((byte) => Buffer.from([byte]))
      expect(statusesIn(await send(way, [preface], GET))).toEqual([200])
      expect(statusesIn(await send(way, bytes, GET.repeat(3)))).toEqual([200, 200, 200])
      expect(forwardedFor()).toEqual(Array(4).fill(address))
    },
  )

  it('a connection that a load balancer passes on counts for its own client: by address for who has no credential, and in the shares', async () => {
    app = await startApp(configuration(way, 'max_connections_per_address: 1'))
    const mine = GET.replace('free', 'mine')
    expect(statusesIn(await send(way, [LINE], mine.repeat(3)))).toEqual([200, 200, 429])
    expect(statusesIn(await send(way, [BYTES], mine))).toEqual([200])
    expect([...new Set(users())]).toEqual(['address:192.0.2.7', 'address:192.0.2.8'])
    const busy = send(way, [LINE], GET.replace('free', 'slow'))
    await expect.poll(() => slow.length).toBe(1)
    expect(statusesIn(await send(way, [LINE], GET))).toEqual([])
    expect(statusesIn(await send(way, [BYTES], GET))).toEqual([200])
    slow.pop()?.()
    expect(statusesIn(await busy)).toEqual([200])
  })

  it('a connection that a load balancer passes on brings fields of trust only from a client that is trusted itself', async () => {
    app = await startApp(configuration(way))
    const said = GET.replace('\r\n\r\n', '\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n')
    for (const preface of [LINE, NOBODY, LINE.replace('192.0.2.7', '198.51.100.1'), LOCAL]) {
      expect(statusesIn(await send(way, [preface], said))).toEqual([200])
    }
    const [ofClient, ofNobody, ofTrusted, ofBalancer] = forwardedFor()
    expect([ofClient, ofNobody]).toEqual(['192.0.2.7', 'unknown'])
    expect(ofTrusted).toBe('203.0.113.9, 198.51.100.1')
    expect(ofBalancer).toBe('203.0.113.9, 127.0.0.1')
  })

  it('a connection that a load balancer passes on is refused, and named in the log, if it does not begin with a preface, and read no further', async () => {
    app = await startApp(configuration(way))
    const answer = await send(way, [], GET + GET)
    expect(statusesIn(answer)).toEqual(way.clients ? [] : [400])
    if (!way.clients) expect(answer).toContain('must begin with PROXY protocol')
    expect(refusals()).toEqual(['no PROXY protocol'])
    expect(upstream.seen).toEqual([])
  })

  it('a connection that a load balancer passes on is closed if its preface does not come in time', async () => {
    app = await startApp(configuration(way, 'headers_timeout: 300ms'))
    const raw = net.connect(Number(new URL(app.url).port), '127.0.0.1')
    raw.write(LINE.slice(0, -1))
    await once(raw.resume(), 'close')
    expect(refusals()).toEqual(['no PROXY protocol in time'])
  })

  it('a connection that a load balancer passes on leaves no trace if it comes and goes without a byte, and ends with the gateway while it waits', async () => {
    app = await startApp(configuration(way))
    const port = Number(new URL(app.url).port)
    await once(net.connect(port, '127.0.0.1').end().resume(), 'close')
    const waiting = net.connect(port, '127.0.0.1').resume()
    await once(waiting, 'connect')
    await Promise.all([app.stop(), once(waiting, 'close')])
    expect(refusals()).toEqual([])
  })

  it('a connection that a load balancer passes on is looked into for none of those who may send no preface', async () => {
    app = await startApp(configuration(way))
    expect(statusesIn(await send(way, [], GET, '127.0.0.2'))).toEqual([200])
    expect(forwardedFor()).toEqual(['127.0.0.2'])
    if (way.clients) return
    expect(await send(way, [LINE], GET, '127.0.0.2')).toContain('not taken from this address')
    expect(refusals()).toEqual(['it begins with PROXY protocol (edge.proxy_protocol)'])
  })

  it('a connection that a load balancer passes on needs a preface, or may have none, from the reload on that says so', async () => {
    app = await startApp(configuration(way).replace('proxy_protocol: true', 'proxy_protocol: false'))
    expect(statusesIn(await send(way, [], GET))).toEqual([200])
    await app.reload(configuration(way))
    expect(statusesIn(await send(way, [LINE], GET))).toEqual([200])
    expect(forwardedFor()).toEqual(['127.0.0.1', '192.0.2.7'])
  })

  it.each(['send-proxy', 'send-proxy-v2', 'send-proxy-v2 proxy-v2-options crc32c,unique-id,ssl'])(
    'a connection that a load balancer passes on comes from HAProxy, whose checks hold the gateway for alive: %s',
    async (how) => {
      app = await startApp(configuration(way))
      const { port } = new URL(app.url)
      const check = `check inter 100ms fall 2 ${way.clients ? 'check-ssl verify none' : ''}`
      const lines = ['timeout check 20s', 'option httpchk GET /free', 'http-check send hdr Host a']
      haproxy = await startHaproxy(...lines, `server one 127.0.0.1:${port} ${how} ${check}`)
      await expect.poll(() => app.requests().length, { timeout: 20_000 }).toBeGreaterThan(2)
      const place = { port: haproxy.port, host: '127.0.0.1', localAddress: '127.0.0.3', rejectUnauthorized: false }
      const socket = way.clients ? tls.connect(place) : net.connect(place)
      let received = ''
      socket.setEncoding('latin1').on('data', (text) => {
        received += text
      })
      socket.write(GET)
      await silence(socket, 150)
      socket.destroy()
      expect(statusesIn(received)).toEqual([200])
      expect(forwardedFor()).toContain('127.0.0.3')
      expect(refusals()).toEqual([])
    },
  )
})
