import { lookup } from 'node:dns'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls, createSecureContext, createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest'
import { turnOf } from '../../src/edge/request-turn.ts'
import type { Connection, Destination } from '../../src/forward/client/contract.ts'
import { ConnectionPool, type PoolOptions } from '../../src/forward/client/pool.ts'
import {
  createForwarder,
  type Forwarder,
  type ForwardOptions,
  type ForwardResult,
  type Patience,
  type VerifiedCaller,
} from '../../src/forward/forwarder.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { type TestCertificate, testCertificate } from './certificate.ts'

/** The least of a whole response. */
export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const surprises: unknown[] = []

/** Every test also asserts that the process saw no unhandled error and no warning (listener leaks, for one). */
export function assertNoSurprises(): void {
  const note = (surprise: unknown): void => void surprises.push(surprise)
  const events = ['unhandledRejection', 'uncaughtException', 'warning'] as const
  beforeEach(() => {
    for (const event of events) process.on(event, note)
    atEnd(async () => {
      await sleep(5)
      for (const event of events) process.off(event, note)
      // Node warns once that SQLite or another feature is experimental: no concern of these tests.
      expect(surprises.splice(0).filter((s) => (s as Error).name !== 'ExperimentalWarning')).toEqual([])
    })
  })
}

const DEFAULTS: Omit<ForwardOptions, 'url'> = {
  connectTimeoutMs: 2_000,
  connectRetryMs: 0,
  responseTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  keepAliveMs: 4_000,
  connectionMaxAgeMs: 300_000,
  maxConnections: 64,
  queueTimeoutMs: 30_000,
  maxHeaderSize: 32 * 1024,
  headers: {},
  passAuthorization: false,
  reuseAfterBody: true,
  buffer: 256 * 1024,
  bufferTotal: 64 * 1024 * 1024,
}

function forwarderTo(url: string, options: Partial<ForwardOptions> = {}): Forwarder {
  const forwarder = createForwarder({ ...DEFAULTS, url, ...trust(url), ...options })
  atEnd(() => forwarder.destroy())
  return forwarder
}

/** An upstream over TLS has the certificate of the tests. */
function trust(url: string): Pick<ForwardOptions, 'tls'> {
  if (!url.startsWith('https:')) return {}
  const { ca, name } = testCertificate()
  return { tls: { ca, serverName: name } }
}

/** As a forwarder makes it of its URL. */
export function destinationOf(url: string): Destination {
  const { hostname: host, port, protocol } = new URL(url)
  const { ca, name: serverName } = testCertificate()
  const tls = protocol === 'https:' ? { secureContext: createSecureContext({ ca }), serverName } : null
  return {
    host,
    port: Number(port),
    socket: null,
    lookup,
    tls,
    connectTimeoutMs: 2_000,
    maxHeaderSize: 32_768,
    lenient: new Set(),
  }
}

/** The upstream client by itself. `opened` gives a connection as an exchange gets it. */
export function clientOf(destination: Destination, options: Partial<PoolOptions> = {}) {
  const client = new ConnectionPool({ ...DEFAULTS, shortestMs: 60_000, ...options, destination })
  destroyAtEnd(new WeakRef(client))
  const opened = () => new Promise<Connection>((start, expire) => client.acquire({ start, expire }))
  return { client, opened }
}

/** The clean-up keeps nothing: a test looks whether a client is collected. */
function destroyAtEnd(client: WeakRef<ConnectionPool>): void {
  atEnd(() => client.deref()?.destroy(new Error('the test is over')))
}

/** A verified caller of whom nothing but the user is known. */
export function callerNamed(user: string): VerifiedCaller {
  return { user, organisation: null, plan: null, claims: {} }
}

export interface Gateway {
  readonly port: number
  readonly url: string
  readonly forwarder: Forwarder
  readonly results: ForwardResult[]
  /** Places at the upstream that were given back before the exchange was over. */
  readonly given: string[]
  readonly server: Server
  /** Waits until so many exchanges have been settled. */
  settled(count?: number): Promise<ForwardResult>
}

export interface GatewayOptions extends Partial<ForwardOptions> {
  readonly user?: string | null
  readonly responseHeaders?: readonly string[]
  readonly patience?: Patience
  /** Reads the body before forwarding, as pricing by a body field does. */
  readonly readBody?: boolean
  /** Runs before forwarding, as authentication and charging do. */
  readonly admit?: () => Promise<unknown>
  readonly server?: Server
}

/** A small HTTP server in front of an upstream, which forwards one request of a connection at a time and does nothing else. */
export async function gatewayTo(upstream: string, options: GatewayOptions = {}): Promise<Gateway> {
  const forwarder = forwarderTo(upstream, options)
  const results: ForwardResult[] = []
  const given: string[] = []
  const places = { give: (thing: string) => void given.push(thing) }
  const server = options.server ?? frontServer()
  const admitted = (req: IncomingMessage) => ({
    req,
    target: req.url ?? '/',
    caller: options.user === null ? null : callerNamed(options.user ?? 'alice'),
    passCredentials: false,
    requestId: 'req-1',
    trace: null,
    exposed: null,
    patience: options.patience ?? null,
    responseHeaders: options.responseHeaders ?? ['X-Request-Id', 'req-1'],
  })
  server.on('request', async (req: IncomingMessage, res: ServerResponse) => {
    await turnOf(
      { req, res, client: { address: '', peer: '', isLikelyKnown: () => false, accepted: () => {}, served: () => {} } },
      null,
    )
    await options.admit?.()
    const body = options.readBody ? Buffer.concat(await req.toArray()) : null
    const result = await new Promise<ForwardResult>((forwarded) => {
      forwarder.forward({ ...admitted(req), res, body, places }, { forwarded })
    })
    results.push(result)
    if (result.headSent || res.destroyed) return
    const status = result.error === 'upstream_timeout' ? 504 : 502
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: result.error }))
  })
  server.on('upgrade', async (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    const result = await forwarder.upgrade({ ...admitted(req), socket, head })
    results.push(result)
    if (!result.headSent && !socket.destroyed) socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n')
  })
  const port = await listening(server)
  const settled = async (count = 1): Promise<ForwardResult> => {
    await until(() => results.length >= count)
    return results[count - 1] as ForwardResult
  }
  return { port, url: `http://127.0.0.1:${port}`, forwarder, results, given, server, settled }
}

/** Whether clients come over TLS, as the suite that runs wants it. */
let clientsOverTls = false

function frontServer(): Server {
  return clientsOverTls ? (createHttpsServer(testCertificate()) as unknown as Server) : createServer()
}

/** Makes upstreams that are reached in one way. */
export interface UpstreamTransport {
  readonly name: string
  readonly scheme: 'http' | 'https'
  readonly httpUpstream: typeof httpUpstream
  readonly rawUpstream: typeof rawUpstream
  /** A server of connections, for tests that need more than `rawBackend`. */
  readonly tcpServer: typeof tcpServer
}

const OVER_TCP: UpstreamTransport = {
  name: 'to an upstream over TCP',
  scheme: 'http',
  httpUpstream,
  rawUpstream,
  tcpServer,
}

const OVER_TLS: UpstreamTransport = {
  name: 'to an upstream over TLS',
  scheme: 'https',
  httpUpstream: (listener) => httpUpstream(listener, testCertificate()),
  rawUpstream: (response, allowHalfOpen) => rawUpstream(response, allowHalfOpen, testCertificate()),
  tcpServer: (onSocket, allowHalfOpen) => tcpServer(onSocket, allowHalfOpen, testCertificate()),
}

/**
 * The same tests over TCP and over TLS to the upstream. One read of a TLS connection brings several records, each of them
 * told by itself, also after reading was stopped; over TCP nothing comes then.
 */
export function overEachTransport(suite: (transport: UpstreamTransport) => void): void {
  describe.each([OVER_TCP, OVER_TLS])('$name', suite)
}

/** Everything over TCP, and everything over TLS: for tests whose clients are all of `rawClient`. */
export function overEachWay(suite: (transport: UpstreamTransport) => void): void {
  describe(OVER_TCP.name, () => suite(OVER_TCP))
  describe('from clients over TLS to an upstream over TLS', () => {
    beforeAll(() => {
      clientsOverTls = true
    })
    afterAll(() => {
      clientsOverTls = false
    })
    suite(OVER_TLS)
  })
}

/** A real HTTP backend. */
export async function httpUpstream(
  listener: RequestListener,
  certificate?: TestCertificate,
): Promise<{ url: string; server: Server }> {
  const server = certificate ? createHttpsServer(certificate, listener) : createServer(listener)
  const port = await listening(server as Server)
  return { url: `${schemeOf(certificate)}://127.0.0.1:${port}`, server: server as Server }
}

export interface RawUpstream {
  readonly url: string
  readonly port: number
  readonly sockets: Socket[]
  /** All bytes that arrived, one entry for each connection. */
  readonly received: string[]
}

/**
 * An upstream written by hand: `answer` is called with the socket once a whole request head has arrived, for each one. A body of
 * announced length is skipped.
 */
export async function rawUpstream(
  response: (socket: Socket, head: string, nth: number) => unknown,
  allowHalfOpen = false,
  certificate?: TestCertificate,
): Promise<RawUpstream> {
  const sockets: Socket[] = []
  const received: string[] = []
  let count = 0
  function serve(socket: Socket): void {
    const index = sockets.push(socket) - 1
    received[index] = ''
    let pending = ''
    /** Bytes of a body that are still to come. */
    let body = 0
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1')
      pending += chunk.toString('latin1').slice(body)
      body = Math.max(0, body - chunk.length)
      const end = pending.indexOf('\r\n\r\n')
      if (end === -1 || !/^[A-Z]+ \//.test(pending)) return
      const head = pending.slice(0, end)
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
      const behind = pending.slice(end + 4)
      body = Math.max(0, length - behind.length)
      pending = behind.slice(length)
      response(socket, head, ++count)
    })
  }
  const port = await listening(tcpServer(serve, allowHalfOpen, certificate))
  return { url: `${schemeOf(certificate)}://127.0.0.1:${port}`, port, sockets, received }
}

/** A server of connections, which can be reset also where they are encrypted. */
export function tcpServer(
  onSocket: (socket: Socket) => void,
  allowHalfOpen = false,
  certificate?: TestCertificate,
): ReturnType<typeof createTcpServer> {
  if (certificate === undefined) return createTcpServer({ allowHalfOpen }, onSocket)
  const carriers = new Map<number | undefined, Socket>()
  const server = createTlsServer({ ...certificate, allowHalfOpen }, (socket) => {
    const carrier = carriers.get(socket.remotePort)
    socket.resetAndDestroy = () => {
      carrier?.resetAndDestroy()
      return socket
    }
    onSocket(socket)
  })
  server.on('tlsClientError', () => {})
  return server.on('connection', (carrier: Socket) => void carriers.set(carrier.remotePort, carrier))
}

function schemeOf(certificate: TestCertificate | undefined): 'http' | 'https' {
  return certificate === undefined ? 'http' : 'https'
}

export interface RawResponse {
  readonly text: string
  /** `end`: the other side finished cleanly; otherwise the error code. */
  readonly ending: string
}

/** Opens a connection, sends text, and gives all that comes back until the connection ends. */
export async function exchangeRaw(port: number, text: string | Buffer): Promise<RawResponse> {
  const client = rawClient(port, text)
  await new Promise((resolve) => client.socket.once('close', resolve))
  return { text: client.text(), ending: client.ending() }
}

export function rawClient(port: number, text: string | Buffer = '', allowHalfOpen = false) {
  const place = { port, host: '127.0.0.1', allowHalfOpen }
  const socket: Socket = clientsOverTls ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place)
  atEnd(() => socket.destroy())
  let received = ''
  let ending = 'closed'
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.on('end', () => {
    ending = 'end'
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    ending = error.code ?? error.message
  })
  socket.write(text)
  return {
    socket,
    text: () => received,
    ending: () => ending,
    until: (part: string) => until(() => received.includes(part)),
  }
}

export function get(path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: gateway.test\r\n${more}\r\n`
}

export const CLOSE = 'Connection: close\r\n'

/** Waits for something that is about to happen; the test's own timeout is the limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}
