import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:https'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { createForwarder } from '../../src/forward/forwarder.ts'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { type Certificate, makeCa, makeCertificate } from '../setup/openssl.ts'
import { assertNoSurprises, CLOSE, exchangeRaw, gatewayTo, get, rawClient, rawUpstream, until } from './support.ts'

const folder = tempFolder()
assertNoSurprises()

const authority = makeCa(folder, 'ca')
const ca = authority.cert
const server = certificate('server', authority, 'DNS:backend.test')
const stranger = certificate('stranger', makeCa(folder, 'other-ca'), 'DNS:backend.test')
const client = certificate('client', authority, 'DNS:gateway.test')

function certificate(name: string, issuer: Certificate, altName: string): { cert: string; key: string } {
  const { cert, key } = makeCertificate(folder, name, issuer, altName)
  return { cert, key }
}

interface Upstream {
  readonly url: string
  readonly served: { name: unknown; clientName: unknown; path: unknown }[]
  /** Bytes of requests, decrypted. */
  plain: number
}

async function httpsUpstream(options: ServerOptions): Promise<Upstream> {
  const seen: Upstream['served'] = []
  const https = createServer(options, (req, res) => {
    const socket = req.socket as TLSSocket
    seen.push({ name: socket.servername, clientName: socket.getPeerCertificate()?.subject?.CN, path: req.url })
    res.end('ok')
  })
  const upstream = { url: '', served: seen, plain: 0 }
  https.on('secureConnection', (socket) => {
    socket.on('data', (chunk: Buffer) => {
      upstream.plain += chunk.length
    })
    socket.on('error', () => {})
  })
  const sockets = new WebSocketServer({ server: https })
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)))
  atEnd(() => {
    for (const each of sockets.clients) each.terminate()
  })
  upstream.url = `https://127.0.0.1:${await listening(https)}`
  return upstream
}

const UNTRUSTED = /^[A-Z_]+: [^;:]*certificate: name its authority under upstream\.tls\.ca$/

const UPGRADE = `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

describe('an https backend', () => {
  it('an https backend is verified by an authority of our own, under the name that is configured', async () => {
    const upstream = await httpsUpstream(server)
    const gateway = await gatewayTo(upstream.url, { tls: { ca, serverName: 'backend.test' } })
    for (let i = 0; i < 2; i++) expect((await exchangeRaw(gateway.port, get('/a', CLOSE))).text).toMatch(/ok$/)
    expect(upstream.served[0]).toMatchObject({ name: 'backend.test', path: '/a' })
  })

  it('an https backend gets our certificate', async () => {
    const upstream = await httpsUpstream({ ...server, ca, requestCert: true, rejectUnauthorized: true })
    const gateway = await gatewayTo(upstream.url, { tls: { ca, serverName: 'backend.test', ...client } })
    await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(upstream.served[0]?.clientName).toBe('client')
  })

  it('an https backend that wants a certificate and gets none is an error', async () => {
    const upstream = await httpsUpstream({ ...server, ca, requestCert: true, rejectUnauthorized: true })
    const gateway = await gatewayTo(upstream.url, { tls: { ca, serverName: 'backend.test' } })
    expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/^HTTP\/1\.1 502/)
    expect((await gateway.settled()).outcome).toBe('failed')
    expect(upstream.served).toEqual([])
  })

  it.each([
    ['whose authority is unknown', stranger, 'backend.test', ca, UNTRUSTED],
    ['that is its own authority', authority, 'backend.test', undefined, UNTRUSTED],
    [
      'of another name',
      server,
      'other.test',
      ca,
      /^ERR_TLS_CERT_.*: name what is in it under upstream\.tls\.server_name$/,
    ],
    ['that only our own configuration knows', server, 'backend.test', undefined, UNTRUSTED],
  ])(
    '%s is never sent a byte of a request, and told with the cure',
    async (_what, { cert, key }, serverName, authority, told) => {
      const upstream = await httpsUpstream({ cert, key })
      const gateway = await gatewayTo(upstream.url, { tls: { serverName, ...(authority && { ca: authority }) } })
      for (const request of [get('/', CLOSE), UPGRADE]) {
        expect((await exchangeRaw(gateway.port, request)).text).toMatch(/^HTTP\/1\.1 502/)
      }
      await gateway.settled(2)
      for (const result of gateway.results) {
        expect(result).toMatchObject({ error: 'upstream_unreachable', reached: false, headSent: false })
        expect(result.reason).toMatch(told)
      }
      expect(upstream.plain).toBe(0)
    },
  )

  it('an https backend that does not shake hands in time is unreachable', async () => {
    const silent = createTcpServer((socket) => socket.on('error', () => {}))
    const port = await listening(silent)
    const gateway = await gatewayTo(`https://127.0.0.1:${port}`, { connectTimeoutMs: 150 })
    for (const request of [get('/', CLOSE), UPGRADE]) {
      expect((await exchangeRaw(gateway.port, request)).text).toMatch(/^HTTP\/1\.1 502/)
    }
    await gateway.settled(2)
    for (const result of gateway.results)
      expect(result).toMatchObject({ error: 'upstream_unreachable', reached: false })
  })

  it('an https backend is sent nothing by a client that leaves before the handshake is done', async () => {
    const upstream = await httpsUpstream(server)
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    let dialled = 0
    const relay = createTcpServer(async (socket) => {
      dialled++
      socket.on('error', () => {})
      await opened
      const onward = connect(Number(new URL(upstream.url).port), '127.0.0.1')
      onward.on('error', () => {})
      socket.pipe(onward).pipe(socket)
    })
    const port = await listening(relay)
    const gateway = await gatewayTo(`https://127.0.0.1:${port}`, { tls: { ca, serverName: 'backend.test' } })
    for (const request of [get('/left'), UPGRADE]) {
      const { socket } = rawClient(gateway.port, request)
      const before = dialled
      await until(() => dialled > before)
      socket.resetAndDestroy()
    }
    await gateway.settled(2)
    open()
    for (const result of gateway.results) expect(result).toMatchObject({ outcome: 'aborted', reached: false })
    expect((await exchangeRaw(gateway.port, get('/stayed', CLOSE))).text).toMatch(/ok$/)
    expect(upstream.served.map((request) => request.path)).toEqual(['/stayed'])
  })

  it('an https backend is sent a request again only on a connection that it had used', async () => {
    let requests = 0
    const rude = createServer(server, (req) => {
      requests++
      req.socket.destroy()
    })
    const gateway = await gatewayTo(`https://127.0.0.1:${await listening(rude)}`, {
      tls: { ca, serverName: 'backend.test' },
    })
    await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(requests).toBe(1)
  })

  it('an https backend can open a WebSocket', async () => {
    const upstream = await httpsUpstream({ ...server, ca, requestCert: true, rejectUnauthorized: true })
    const gateway = await gatewayTo(upstream.url, { tls: { ca, serverName: 'backend.test', ...client } })
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/`)
    atEnd(() => socket.terminate())
    await once(socket, 'open')
    socket.send('hello')
    const [echo] = await once(socket, 'message')
    expect(String(echo)).toBe('hello')
  })

  it('an https backend cannot be configured with a certificate that is none', () => {
    const options = {
      connectTimeoutMs: 1,
      connectRetryMs: 0,
      responseTimeoutMs: 1,
      idleTimeoutMs: 1,
      keepAliveMs: 1,
      connectionMaxAgeMs: 1,
      maxConnections: 1,
      queueTimeoutMs: 30_000,
      maxHeaderSize: 1_000,
      buffer: 0,
      bufferTotal: 65_536,
    }
    const more = {
      headers: {},
      passAuthorization: false,
      reuseAfterBody: true,
      tls: { cert: 'nonsense', key: 'nonsense' },
    }
    expect(() => createForwarder({ url: 'https://localhost', ...options, ...more })).toThrow()
  })
})

it('a client with TLS is told to the upstream, and never sees a broken body as a whole one', async () => {
  const heads: string[] = []
  const upstream = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (chunk) => {
      heads.push(String(chunk))
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n')
      setTimeout(() => socket.end(), 20)
    })
  })
  const port = await listening(upstream)
  const gateway = await gatewayTo(`http://127.0.0.1:${port}`, { server: createServer(server) as never })
  const broken = await new Promise<boolean>((resolve) => {
    const request = `https://127.0.0.1:${gateway.port}/`
    import('node:https').then(({ get: httpsGet }) =>
      httpsGet(request, { ca, servername: 'backend.test' }, (res) => {
        res.on('error', () => {}).on('close', () => resolve(!res.complete))
        res.resume()
      }).on('error', () => resolve(true)),
    )
  })
  expect(broken).toBe(true)
  expect(heads[0]).toContain('X-Forwarded-Proto: https')
})

it('a client with TLS that asks for a WebSocket has its connection ended where the upstream declines and breaks off', async () => {
  const upstream = await rawUpstream(async (socket) => {
    socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 20\r\n\r\nno')
    await sleep(20)
    socket.end()
  })
  const gateway = await gatewayTo(upstream.url, { server: createServer(server) as never })
  const socket = connectTls({ port: gateway.port, host: '127.0.0.1', ca, servername: 'backend.test' })
  socket.write(UPGRADE)
  expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 403 [\s\S]*no$/)
  expect(await gateway.settled()).toMatchObject({ httpStatus: 403, outcome: 'failed' })
})

it('a connection that was opened for a client who has left asks the upstream nothing for that one, and serves the next', async () => {
  const upstream = await httpsUpstream(server)
  const way = await wayTo(Number(new URL(upstream.url).port))
  const gateway = await gatewayTo(`https://127.0.0.1:${way.port}`, {
    tls: { ca, serverName: 'backend.test' },
    connectTimeoutMs: 20_000,
    maxConnections: 1,
    queueTimeoutMs: 30_000,
  })
  expect((await exchangeRaw(gateway.port, get('/first', CLOSE))).text).toMatch(/ok$/)
  way.isBlocked = true
  const leaving = rawClient(gateway.port, get('/second'))
  await until(() => way.connections === 2)
  leaving.socket.destroy()
  expect((await gateway.settled(2)).outcome).toBe('aborted')
  way.open()
  expect((await exchangeRaw(gateway.port, get('/third', CLOSE))).text).toMatch(/ok$/)
  expect(way.connections).toBe(2)
  expect(upstream.served.map(({ path }) => path)).toEqual(['/first', '/third'])
})

/** Passes bytes on to a port. While it is blocked it lets new connections wait, and breaks those off that it had as soon as they bring something. */
async function wayTo(port: number) {
  const waiting: (() => void)[] = []
  const way = { port: 0, connections: 0, isBlocked: false, open: () => {} }
  way.open = () => {
    way.isBlocked = false
    for (const join of waiting.splice(0)) join()
  }
  const sockets: Socket[] = []
  const relay = createTcpServer((from) => {
    way.connections++
    const to = connect(port, '127.0.0.1')
    sockets.push(from, to)
    for (const socket of [from, to]) socket.on('error', () => {})
    from.once('close', () => to.destroy())
    function join(): void {
      from.on('data', (chunk) => (way.isBlocked ? from.destroy() : to.write(chunk)))
      to.pipe(from)
    }
    if (way.isBlocked) waiting.push(join)
    else join()
  })
  way.port = await listening(relay)
  return way
}
