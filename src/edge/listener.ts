import { chmod } from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { denial } from '../errors.ts'
import type { Certificate } from '../lib/tls.ts'
import { beforeConnection } from '../node/before-connection.ts'
import { FloodRests } from '../node/flood-rests.ts'
import { closeAboveMaximum } from '../node/full-workers.ts'
import { answerHalfClosed } from '../node/half-closed-clients.ts'
import { readBehindUpgrade } from '../node/ignored-upgrade.ts'
import { lookForLateRequestsTogether } from '../node/late-requests.ts'
import { isPlainHttp, rawSocketOf } from '../node/raw-socket.ts'
import { boundRecords } from '../node/short-records.ts'
import type { Observer } from '../observe/observation.ts'
import { AnnouncedClients, nameAlike } from './announced-clients.ts'
import { createUploadWatch, type UploadWatch } from './body/slow-upload.ts'
import { ClientConnection, type ConnectionContext, type ConnectionLimits, type RequestHandler } from './connection.ts'
import { isWebSocketHandshake } from './head-rules.ts'
import { MAX_FIELDS } from './header-rules.ts'
import { OpenConnections } from './open-connections.ts'
import type { ParserError } from './parser-error.ts'
import { refuseConnection } from './refuse-connection.ts'
import { byServerName } from './server-names.ts'
import type { Shares } from './shares.ts'

export interface ListenerOptions {
  /** Whom it serves: clients, or proxies that ask for decisions and open no tunnels. Default clients. */
  readonly what?: 'gateway' | 'decisions'
  readonly listen: { readonly host: string; readonly port: number } | { readonly socket: string }
  /** `null` for connections in the clear. */
  readonly certificate: Certificate | null
  readonly gateway: RequestHandler
  readonly observe: Observer
  readonly shares: Shares
  /** Bytes of the request line and header fields together. */
  readonly maxHeaderSize: number
  /** Milliseconds from the first byte of a request to the end of its head. */
  readonly headersTimeoutMs: number
  /** Milliseconds that an idle connection is kept. Longer than a load balancer keeps its own, which then closes first. */
  readonly keepAliveTimeoutMs: number
  /** Milliseconds without a byte in either direction, after which a connection is given up. */
  readonly idleTimeoutMs: number
  readonly maxConnections: number
  /** What may change while it runs; asked for each connection and upload. */
  readonly limits: () => ConnectionLimits
}

export interface Listener {
  /** @returns the URL it listens on */
  start(): Promise<string>
  /** While it is on every response closes its connection, so that clients come back through another replica. */
  drain(on: boolean): void
  /** Changes `idleTimeoutMs` for connections that come from now on. */
  setIdleTimeout(ms: number): void
  /** Takes no new connection, lets what is under way finish for up to `timeoutMs` and then breaks it off. */
  stop(timeoutMs: number): Promise<void>
}

/**
 * Connections that wait to be accepted, of which each turn of the event loop accepts one. In the clear as many as Linux allows by default, which
 * takes 0.8 s at most beside 4,000 busy strangers; by TLS, where a turn has a handshake of 0.5 ms, fewer.
 */
const [BACKLOG, BACKLOG_OF_TLS] = [4096, 1024]
const DRAIN_POLL_MS = 10
/** Silence on a connection, in milliseconds, after which TCP asks whether the client is there. */
const KEEP_ALIVE_PROBE_MS = 60_000
/** How long what was broken off may take to be recorded, in milliseconds. */
const RECORD_MS = 1000
/** The mode of a Unix socket: its user and its group may connect. */
const SOCKET_MODE = 0o660

export function createListener(options: ListenerOptions): Listener {
  return new NodeListener(options)
}

/** The door: Node's HTTP server and its limits. What comes on a connection goes to the object of that connection. */
class NodeListener implements Listener {
  readonly #options: ListenerOptions
  readonly #what: 'gateway' | 'decisions'
  readonly #server: http.Server
  /** Of TLS the connection within: it is there once the hands are shaken. */
  readonly #connections = new WeakMap<Duplex, ClientConnection>()
  readonly #live = new Set<ClientConnection>()
  /** Also those that Node's server has let go of: tunnels, and what its parser refused. */
  readonly #sockets = new Set<Socket>()
  readonly #open: OpenConnections
  readonly #uploads: UploadWatch
  readonly #announced: AnnouncedClients
  readonly #rests: FloodRests
  readonly #context: ConnectionContext
  #isDraining = false

  constructor(options: ListenerOptions) {
    const { gateway, observe, limits, maxHeaderSize, shares, maxConnections } = options
    this.#options = options
    this.#open = new OpenConnections({ shares, observe, limits, max: maxConnections })
    this.#uploads = createUploadWatch(() => limits().uploads)
    const isDraining = () => this.#isDraining
    this.#what = options.what ?? 'gateway'
    const mayUpgrade = this.#what === 'gateway'
    this.#server = createServer(options, (socket) => mayUpgrade && this.#connections.get(socket)?.takesUpgrade === true)
    const isProxy = (address: string) => limits().isProxy(address)
    const isAccepted = (raw: Socket) => this.#open.of(raw)?.isStranger === false
    this.#rests = new FloodRests(this.#server, { isProxy, isAccepted }, options.certificate !== null)
    const onFlood = (socket: Socket) => {
      this.#rests.flooded(socket)
      observe({ type: 'bad_connection', code: 'short_pieces', status: 0 })
    }
    const isFlooded = () => this.#rests.comeFromMany
    this.#context = { gateway, observe, limits, maxHeaderSize, uploads: this.#uploads, onFlood, isFlooded, isDraining }
    this.#watchConnections()
    this.#routeRequests()
    this.#announced = new AnnouncedClients({
      isOn: () => limits().readsProxyProtocol,
      announces: (address) => limits().isProxy(address),
      timeoutMs: options.headersTimeoutMs,
      isEncrypted: options.certificate !== null,
      presentation: () => limits().presentation,
      observe,
    })
    beforeConnection(this.#server, (socket, go) => this.#announced.take(socket, go))
  }

  async start(): Promise<string> {
    const { listen, certificate, observe } = this.#options
    const place = 'socket' in listen ? { path: listen.socket } : listen
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ ...place, backlog: certificate === null ? BACKLOG : BACKLOG_OF_TLS }, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    // To connect needs the right to write, which the usual umask gives to nobody but us.
    if ('socket' in listen) await chmod(listen.socket, SOCKET_MODE)
    const url = urlOf(this.#server.address() as AddressInfo | string, certificate === null ? 'http' : 'https')
    observe({ type: 'listening', what: this.#what, url })
    return url
  }

  drain(on: boolean): void {
    const { gateway, observe } = this.#options
    if (this.#isDraining === on) return
    this.#isDraining = on
    if (on) for (const connection of this.#live) connection.announceEnd()
    // All listeners drain together, so only that of the clients reports it.
    if (this.#what !== 'gateway') return
    observe(on ? { type: 'draining', inFlight: gateway.inFlight() } : { type: 'drain_ended' })
  }

  setIdleTimeout(ms: number): void {
    this.#server.timeout = ms
  }

  async stop(timeoutMs: number): Promise<void> {
    const { gateway, observe } = this.#options
    this.drain(true)
    let open = true
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    }).then(() => {
      open = false
    })
    this.#announced.close()
    const deadline = performance.now() + timeoutMs
    while (open && performance.now() < deadline) {
      // Responses that were begun before the drain keep their connection alive; it goes once its last byte is out.
      this.#server.closeIdleConnections()
      await Promise.race([closed, sleep(DRAIN_POLL_MS)])
    }
    const requests = gateway.inFlight()
    if (open && requests > 0) observe({ type: 'cut_off', requests })
    for (const socket of this.#sockets) socket.destroy()
    this.#uploads.stop()
    await closed
    // What was broken off is recorded as well; that takes a moment, not longer.
    const recorded = performance.now() + RECORD_MS
    while (gateway.inFlight() > 0 && performance.now() < recorded) await sleep(DRAIN_POLL_MS)
  }

  #watchConnections(): void {
    const { certificate, limits, observe } = this.#options
    this.#server.on('connection', (socket: Socket) => {
      answerHalfClosed(this.#server, limits().answersHalfClosed)
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      // Before a handshake of TLS, which costs something.
      const open = this.#open.open(socket)
      if (open === null) return
      this.#server.keepAliveTimeout = this.#open.keepAliveMs(this.#options.keepAliveTimeoutMs)
      if (certificate === null) this.#connect(socket)
      else this.#open.shakes(open)
    })
    this.#server.on('secureConnection', (socket: Socket) => {
      // As connections in the clear are: on others Node ends our side when the client ends its own, whatever `half_close` says.
      Object.assign(socket, { allowHalfOpen: true })
      this.#connect(socket)
    })
    if (this.#server instanceof https.Server) {
      const onFlood = () => observe({ type: 'bad_connection', code: 'short_records', status: 0 })
      boundRecords(this.#server, this.#rests, onFlood)
    }
    this.#server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (isPlainHttp(error)) {
        this.#refusePlain(rawSocketOf(socket))
        return
      }
      // One that came and went is a load balancer that looks whether the port is open.
      if (error.code !== 'ECONNRESET') observe({ type: 'bad_connection', code: 'tls', status: 0 })
      socket.destroy()
    })
    this.#server.on('drop', () => observe({ type: 'bad_connection', code: 'too_many', status: 0 }))
  }

  /** In the clear, as the client speaks: by TLS it could read nothing. */
  #refusePlain(socket: Socket): void {
    const { limits, observe } = this.#options
    const msg = 'This port speaks TLS only: write https:// in place of http://.'
    const denied = denial('bad_request', msg, { reason: 'plain HTTP on a port of TLS' })
    const refused = refuseConnection(socket, denied, limits().presentation)
    observe({ type: 'bad_connection', code: 'tls', status: 400, refused })
  }

  #connect(socket: Socket): void {
    const raw = rawSocketOf(socket)
    const open = this.#open.of(raw)
    if (open === undefined) return
    if (raw !== socket) nameAlike(socket, raw)
    this.#open.hasShaken(open)
    const onAccepted = () => this.#open.accepted(open)
    const connection = new ClientConnection(socket, this.#context, open, onAccepted)
    this.#connections.set(socket, connection)
    this.#live.add(connection)
    socket.once('close', () => this.#live.delete(connection))
  }

  #routeRequests(): void {
    const of = (socket: Duplex): ClientConnection | undefined => this.#connections.get(socket)
    // Admission decides about `Expect: 100-continue` first, so that a refused upload never sends its body.
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      this.#server.on(event, (req: http.IncomingMessage, res: http.ServerResponse) => of(req.socket)?.serve(req, res))
    }
    this.#server.on('upgrade', (req: http.IncomingMessage, socket: Socket, head: Buffer) =>
      of(socket)?.upgrade(req, head),
    )
    this.#server.on('connect', (req: http.IncomingMessage, socket: Socket, head: Buffer) =>
      of(socket)?.connect(req, head),
    )
    this.#server.on('clientError', (error: ParserError, socket: Duplex) => of(socket)?.fail(error))
  }
}

/** A server for clients in the clear, or by TLS, where the handshake has as long as a head. */
function createServer(options: ListenerOptions, takesUpgrade: (socket: Socket) => boolean): http.Server {
  const { certificate, headersTimeoutMs } = options
  const connectionsCheckingInterval = Math.min(1000, headersTimeoutMs)
  const ofHttp: http.ServerOptions = {
    maxHeaderSize: options.maxHeaderSize,
    headersTimeout: headersTimeoutMs,
    // It would bound the whole request, and with it the length of an upload; a stalled one ends by `timeout`.
    requestTimeout: 0,
    connectionsCheckingInterval,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    insecureHTTPParser: false,
    // The edge rules ask for it themselves, with a response and a record of ours.
    requireHostHeader: false,
    shouldUpgradeCallback: (req) => {
      const isTaken = isWebSocketHandshake(req) && takesUpgrade(req.socket)
      if (!isTaken) readBehindUpgrade(req)
      return isTaken
    },
    // Node hands a request without a length and without chunks over as one that has ended and is destroyed: whoever reads a body asks `hasBody`
    // first. It saves a twentieth of what a request allocates.
    optimizeEmptyRequests: true,
    noDelay: true,
    // A client that vanished without a word would hold its request for as long as the upstream may be silent.
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
  }
  const server =
    certificate === null ? http.createServer(ofHttp) : createTlsServer(certificate, ofHttp, headersTimeoutMs)
  server.maxConnections = options.maxConnections
  closeAboveMaximum(server)
  lookForLateRequestsTogether(server, connectionsCheckingInterval)
  // Node's parser stops at the first field beyond this (26.10). Older ones drop those beyond it in silence: by one more than there
  // may be the edge rules see that there are too many.
  server.maxHeadersCount = MAX_FIELDS + 1
  server.timeout = options.idleTimeoutMs
  return server
}

function createTlsServer(certificate: Certificate, ofHttp: http.ServerOptions, handshakeTimeout: number): https.Server {
  // Who has no certificate, or none that is good, may have another credential: that is judged with each request.
  const clients = { requestCert: certificate.asksClients === true, rejectUnauthorized: false }
  const names = certificate.byName().size === 0 ? {} : { SNICallback: byServerName(certificate) }
  const server = https.createServer({ ...ofHttp, ...certificate.current(), ...clients, ...names, handshakeTimeout })
  certificate.onChange(() => server.setSecureContext(certificate.current()))
  // By default it would be a `clientError`, which we respond to; here nobody could read the response.
  server.removeAllListeners('tlsClientError')
  return server
}

/** @param place of a Unix socket its path */
function urlOf(place: AddressInfo | string, scheme: 'http' | 'https'): string {
  if (typeof place === 'string') return `unix:${place}`
  const { address, family, port } = place
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
