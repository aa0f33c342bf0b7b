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
  /** Whom this listener serves: clients, or proxies that ask for decisions and open no tunnels. Default clients. */
  readonly what?: 'gateway' | 'decisions'
  readonly listen: { readonly host: string; readonly port: number } | { readonly socket: string }
  /** `null` for plain connections. */
  readonly certificate: Certificate | null
  readonly gateway: RequestHandler
  readonly observe: Observer
  readonly shares: Shares
  /** Bytes of request line and header fields together. */
  readonly maxHeaderSize: number
  /** Milliseconds to the end of a request's head, from its first byte, or for the first request from the beginning of the connection. */
  readonly headersTimeoutMs: number
  /** How long an idle connection is kept, in milliseconds. A load balancer in front should keep it for a shorter time. */
  readonly keepAliveTimeoutMs: number
  /** After this many milliseconds without a byte in either direction a connection is given up. */
  readonly idleTimeoutMs: number
  readonly maxConnections: number
  /** Limits that may change at run time. They are read again for each connection, request and upload. */
  readonly limits: () => ConnectionLimits
}

export interface Listener {
  /** @returns the URL it listens on */
  start(): Promise<string>
  /** While this is on, every response closes its connection, so that clients come back to another replica. */
  drain(on: boolean): void
  /** Changes `idleTimeoutMs` for connections that come from now on. */
  setIdleTimeout(ms: number): void
  /** Accepts no new connection, waits up to `timeoutMs` for what is under way, and then breaks it off. */
  stop(timeoutMs: number): Promise<void>
}

/**
 * How many connections may wait in the kernel. Each turn of the event loop accepts one. Without TLS the number is the default maximum of
 * Linux. With TLS it is lower, because a turn then includes a handshake and takes longer.
 */
const [BACKLOG, BACKLOG_OF_TLS] = [4096, 1024]
const DRAIN_POLL_MS = 10
/** After this many milliseconds of silence on a connection TCP asks whether the client is still there. */
const KEEP_ALIVE_PROBE_MS = 60_000
/** How long recording what was broken off may take, in milliseconds. */
const RECORD_MS = 1000
/** The mode of a Unix socket: its user and its group may connect. */
const SOCKET_MODE = 0o660

export function createListener(options: ListenerOptions): Listener {
  return new NodeListener(options)
}

/** Node's HTTP server with its limits. Everything that comes on a connection goes to the object of that connection. */
class NodeListener implements Listener {
  readonly #options: ListenerOptions
  readonly #what: 'gateway' | 'decisions'
  readonly #server: http.Server
  /** For TLS these are the inner connections, which exist after the handshake. */
  readonly #connections = new WeakMap<Duplex, ClientConnection>()
  readonly #live = new Set<ClientConnection>()
  /** Includes sockets that Node's server has let go of: tunnels, and refused connections. */
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
    // Connecting needs the right to write, which the usual umask gives only to our own user.
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
      // Responses from before the drain keep their connections alive, so these are closed after their last byte.
      this.#server.closeIdleConnections()
      await Promise.race([closed, sleep(DRAIN_POLL_MS)])
    }
    const requests = gateway.inFlight()
    if (open && requests > 0) observe({ type: 'cut_off', requests })
    for (const socket of this.#sockets) socket.destroy()
    this.#uploads.stop()
    await closed
    // Requests that were broken off are recorded too, which takes a moment at most.
    const recorded = performance.now() + RECORD_MS
    while (gateway.inFlight() > 0 && performance.now() < recorded) await sleep(DRAIN_POLL_MS)
  }

  #watchConnections(): void {
    const { certificate, limits, observe } = this.#options
    this.#server.on('connection', (socket: Socket) => {
      answerHalfClosed(this.#server, limits().answersHalfClosed)
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      // The bounds on connections are checked before the TLS handshake, which costs CPU.
      const open = this.#open.open(socket)
      if (open === null) return
      this.#server.keepAliveTimeout = this.#open.keepAliveMs(this.#options.keepAliveTimeoutMs)
      if (certificate === null) this.#connect(socket)
      else this.#open.shakes(open)
    })
    this.#server.on('secureConnection', (socket: Socket) => {
      // Plain connections have this already. Otherwise Node ends our side when the client ends its own, despite `half_close`.
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
      // A connection that came and went is a load balancer that checks the port.
      if (error.code !== 'ECONNRESET') observe({ type: 'bad_connection', code: 'tls', status: 0 })
      socket.destroy()
    })
    this.#server.on('drop', () => observe({ type: 'bad_connection', code: 'too_many', status: 0 }))
  }

  /** The response is plain, because the client speaks without TLS and could not read anything else. */
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
    // Admission decides before `Expect: 100-continue` is granted, so a refused upload never sends its body.
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

/** A server for plain or TLS connections. A TLS handshake has as much time as a head. */
function createServer(options: ListenerOptions, takesUpgrade: (socket: Socket) => boolean): http.Server {
  const { certificate, headersTimeoutMs } = options
  const connectionsCheckingInterval = Math.min(1000, headersTimeoutMs)
  const ofHttp: http.ServerOptions = {
    maxHeaderSize: options.maxHeaderSize,
    headersTimeout: headersTimeoutMs,
    // This would bound the whole request, and so the length of an upload. `timeout` ends an upload that stalls.
    requestTimeout: 0,
    connectionsCheckingInterval,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    insecureHTTPParser: false,
    // The edge rules check this themselves, with a response and a record of their own.
    requireHostHeader: false,
    shouldUpgradeCallback: (req) => {
      const isTaken = isWebSocketHandshake(req) && takesUpgrade(req.socket)
      if (!isTaken) readBehindUpgrade(req)
      return isTaken
    },
    // Node then reports a request without length and chunks as ended and destroyed, so readers of a body check `hasBody` first. The option
    // saves a twentieth of what a request allocates.
    optimizeEmptyRequests: true,
    noDelay: true,
    // Otherwise a client that vanished silently would hold its request for as long as the upstream is silent.
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
  }
  const server =
    certificate === null ? http.createServer(ofHttp) : createTlsServer(certificate, ofHttp, headersTimeoutMs)
  server.maxConnections = options.maxConnections
  closeAboveMaximum(server)
  lookForLateRequestsTogether(server, connectionsCheckingInterval)
  // Node's parser stops at the first field beyond this number (26.10), and older versions drop further fields silently. The
  // number is one more than allowed, so that the edge rules notice that there are too many.
  server.maxHeadersCount = MAX_FIELDS + 1
  server.timeout = options.idleTimeoutMs
  return server
}

function createTlsServer(certificate: Certificate, ofHttp: http.ServerOptions, handshakeTimeout: number): https.Server {
  // A client without a valid certificate may have another credential, which is checked for each request.
  const clients = { requestCert: certificate.asksClients === true, rejectUnauthorized: false }
  const names = certificate.byName().size === 0 ? {} : { SNICallback: byServerName(certificate) }
  const server = https.createServer({ ...ofHttp, ...certificate.current(), ...clients, ...names, handshakeTimeout })
  certificate.onChange(() => server.setSecureContext(certificate.current()))
  // Otherwise a failed handshake would be a `clientError`, to which we respond, but nobody could read that response.
  server.removeAllListeners('tlsClientError')
  return server
}

/** @param place the path, for a Unix socket */
function urlOf(place: AddressInfo | string, scheme: 'http' | 'https'): string {
  if (typeof place === 'string') return `unix:${place}`
  const { address, family, port } = place
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
