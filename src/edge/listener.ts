import { randomUUID } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Denial, denial, STATUS_OF } from '../errors.ts'
import { peerOf } from '../lib/peers.ts'
import type { Certificate } from '../lib/tls.ts'
import { holdPausedRecords } from '../node/paused-records.ts'
import type { Observer } from '../observe/observation.ts'
import { closeLater, hangUp, readToNowhere } from '../respond/raw.ts'
import { denialResponse, writeRawResponse, writeResponse } from '../respond/response.ts'
import { joinShortPieces } from './body/coalesce.ts'
import { createUploadWatch, type UploadRule } from './body/slow-upload.ts'
import { cutOff, cutOffBy, isForwarded } from './cut-off.ts'
import { malformedBody, slowBody, targetTooLong, tooManyInFlight } from './denials.ts'
import { isLeftInDoubt, isWebSocketHandshake, versionNotSupported } from './head-rules.ts'
import { holdBack, readOn } from './held-back.ts'
import { requestIdOf } from './request-id.ts'
import type { ShareRules, Shares } from './shares.ts'
import { createUnderway, type Underway } from './underway.ts'

/** Whoever serves the requests that the listener takes. */
export interface RequestHandler {
  /** Serves one request to its end. Never rejects. */
  handle(req: http.IncomingMessage, res: http.ServerResponse, requestId: string): Promise<void>
  /** Serves one WebSocket handshake, and the tunnel to its end. Never rejects. */
  handleUpgrade(req: http.IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** Requests and tunnels under way. */
  inFlight(): number
  /** Whether the connection is to serve no further request: what follows on it is not looked at. */
  distrusts(connection: object): boolean
}

export interface ListenerOptions {
  readonly listen: { readonly host: string; readonly port: number }
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

export interface ConnectionLimits {
  readonly shares: ShareRules
  /** Peers that stand for many clients, so that no share of an address applies to them. */
  readonly isProxy: (address: string) => boolean
  readonly uploads: UploadRule
  /** Longest request target in bytes. */
  readonly maxUrl: number
  /** Whether a client that has ended its side after a request is still answered, and not taken for gone. */
  readonly answersHalfClosed: boolean
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

const DRAIN_POLL_MS = 10
const RECORD_MS = 1000
/** Requests of one connection, all but the first waiting. Browsers and libraries pipeline none, or a few. */
const MAX_PIPELINED = 32
/** Those behind them, refused or ignored, that Node keeps until all before them are answered: 4 KB each (26.10). */
const MAX_EXCESS = 100
/** Silence on a tunnel, in milliseconds, after which TCP asks whether the client is there. */
const KEEP_ALIVE_PROBE_MS = 60_000
/** Event of a connection: all its requests have been answered. */
const IDLE = Symbol('idle')

/** The door: Node's HTTP server, its limits, and its answers to what its parser refuses. */
export function createListener(options: ListenerOptions): Listener {
  const { gateway, observe, limits, shares } = options
  const server = createServer(options.certificate, {
    maxHeaderSize: options.maxHeaderSize,
    headersTimeout: options.headersTimeoutMs,
    // It would bound the whole request, and with it the length of an upload; a stalled one ends by `timeout`.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
    keepAliveTimeout: options.keepAliveTimeoutMs,
    insecureHTTPParser: false,
    // The edge rules ask for it themselves, with an answer and a record of ours.
    requireHostHeader: false,
    // An answer that is still to come would be written into the tunnel: behind one the handshake is a plain request. Behind
    // the last one of a connection it is none at all.
    shouldUpgradeCallback: (req) => isWebSocketHandshake(req) && !isBusy(req.socket) && !last.has(req.socket),
    noDelay: true,
  })
  server.maxConnections = options.maxConnections
  // In a worker process Node would give those above back to the primary, and full workers would pass them round for ever.
  Object.assign(server, { dropMaxConnection: true })
  // Node would drop the fields beyond a count in silence, and with them what the edge rules look for; the size bounds them.
  server.maxHeadersCount = 0
  server.timeout = options.idleTimeoutMs
  /** Also those that Node's server has let go of: tunnels, and what its parser refused. */
  const sockets = new Set<Socket>()
  /** Connections of which the last request has come. */
  const last = new WeakSet<Duplex>()
  /** The request of a connection with which its client asked for the end, as by `Connection: close`. */
  const lastAsked = new WeakMap<Duplex, http.IncomingMessage>()
  const excess = new WeakMap<Duplex, number>()
  const uploads = createUploadWatch(() => limits().uploads)
  const underway = createUnderway()
  let draining = false

  server.on('connection', (socket: Socket) => {
    // Missing in the types; Node asks for it whenever a client ends its side.
    Object.assign(server, { httpAllowHalfOpen: limits().answersHalfClosed })
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    countPeer(socket)
    if (options.certificate === null) endsInOrder(socket)
  })
  server.on('secureConnection', (socket: Socket) => {
    // As connections in the clear are: on others Node ends our side when the client ends its own, whatever `half_close` says.
    Object.assign(socket, { allowHalfOpen: true })
    endsInOrder(socket)
  })
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // One that came and went is a load balancer that looks whether the port is open.
    if (error.code !== 'ECONNRESET') observe({ type: 'bad_connection', code: 'tls', status: 0 })
    socket.destroy()
  })
  server.on('drop', () => observe({ type: 'bad_connection', code: 'too_many', status: 0 }))
  server.on('request', serve)
  // Admission decides about `Expect: 100-continue` first, so that a refused upload never sends its body.
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  server.on('upgrade', (req: http.IncomingMessage, socket: Socket, head: Buffer) => {
    Reflect.deleteProperty(socket, 'destroySoon')
    // A tunnel may be silent for long (http-proxy-3 takes its timeout away): only a client that vanished ends it.
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS)
    void gateway.handleUpgrade(req, socket, head)
  })
  server.on('connect', (req: http.IncomingMessage, socket: Socket, head: Buffer) => {
    const refuse = () => void gateway.handleUpgrade(req, socket, head) // as any method that is not served
    // Node has let go of the connection, with all that it listened to.
    socket.on('error', () => {})
    if (last.has(socket) && !isBusy(socket)) return readToNowhere(socket)
    if (!isBusy(socket)) return refuse()
    // What came on it before is answered first (RFC 9112, 9.3.2).
    servesOn(socket)
    whenIdle(socket, () => last.has(socket) || socket.destroyed || refuse())
  })
  server.on('clientError', (error: ParserError, socket: Duplex) => {
    // What comes behind an answer that ended the connection is read to nowhere. By TLS, where one read brings several records,
    // that answer is not out yet.
    if (socket.writableEnded && !isBroken(error)) return closeLater(socket)
    if (socket.destroyed || !socket.writable || isBroken(error)) return void socket.destroy()
    const refuse = (): void => {
      if (!gateway.distrusts(socket)) refuseRaw(socket, parserRefusal(error, limits().maxUrl))
    }
    const exchanges = underway(socket)
    // Behind the last answer of a connection there is no other (RFC 9112, 9.6): it ends that.
    if (exchanges.length === 0 && last.has(socket)) return
    if (exchanges.length === 0) refuse()
    // The requests before the broken one get their answers first, or ours would be taken for one of them.
    else if (exchanges.every(({ req }) => req.complete)) whenIdle(socket, refuse)
    else breakBody((exchanges.at(-1) as Underway).req, error)
  })

  function isBusy(socket: Duplex): boolean {
    return underway(socket).length > 0
  }

  /** Does for the responses under way what Node did until it let go: they hear that there is room again, and of the end. */
  function servesOn(socket: Socket): void {
    socket.on('drain', () => underway(socket)[0]?.res.emit('drain'))
    socket.once('close', () => {
      for (const { res } of underway(socket)) if (res.socket === null) res.emit('close')
    })
    // Read to nowhere: a connection that nobody reads never ends.
    readOn(socket, 'turn')
    socket.on('end', () => limits().answersHalfClosed || socket.destroy()).resume()
  }

  /**
   * Node closes a connection behind its last response. Closed on bytes that are not read, TCP resets it, and a client that
   * still sends loses a response that it has not read yet (RFC 9112, 9.6). One that asked for the end sends no more.
   */
  function endsInOrder(socket: Socket): void {
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      if (lastAsked.get(socket)?.complete === true) return destroySoon()
      // Nobody waits for these bodies any more, and behind one that nobody reads Node reads nothing.
      for (const { req } of underway(socket)) req.resume()
      hangUp(socket)
    }
  }

  function serve(req: http.IncomingMessage, res: http.ServerResponse): void {
    const { socket } = req
    if (!res.shouldKeepAlive) lastAsked.set(socket, req)
    if (draining) res.shouldKeepAlive = false
    holdPausedRecords(socket)
    // Nothing behind a request that closes its connection can be answered (RFC 9112, 9.6): nor is it charged.
    if (last.has(socket)) return void bound(res)
    if (!res.shouldKeepAlive) last.add(socket)
    const exchanges = underway(socket)
    if (exchanges.length >= MAX_PIPELINED) {
      if (isLeftInDoubt(req)) closeBehind(res)
      if (bound(res)) tooMany(req, res)
      return
    }
    const exchange = { req, res, requestId: requestIdOf(req, limits().isProxy) }
    if (exchanges.push(exchange) > 1) holdBack(socket, 'turn')
    joinShortPieces(req)
    // What is answered wants its body no more: it may wait behind others, which are not to be broken off for that.
    uploads.watch(req, () => {
      // What the upstream has had of the request stays charged: it may have acted on it.
      if (exchanges.includes(exchange)) tooSlow(req)
    })
    void gateway.handle(req, res, exchange.requestId).then(() => {
      exchanges.splice(exchanges.indexOf(exchange), 1)
      if (!res.shouldKeepAlive) last.add(socket)
      const denial = cutOffBy(req)
      if (denial !== null && !isForwarded(req)) breakOff(req, denial)
      if (exchanges.length <= 1) readOn(socket, 'turn')
      if (exchanges.length === 0) socket.emit(IDLE)
    })
  }

  function closeBehind(res: http.ServerResponse): void {
    res.shouldKeepAlive = false
    last.add(res.req.socket)
  }

  /**
   * Ends a connection with too many requests that wait behind others for no answer or a refusal: one packet has room for
   * thousands, and Node parses it to its end. Their bodies are read to nowhere. @returns whether it goes on
   */
  function bound(res: http.ServerResponse): boolean {
    const { socket } = res.req.resume()
    const waiting = (excess.get(socket) ?? 0) + 1
    excess.set(socket, waiting)
    res.once('close', () => excess.set(socket, (excess.get(socket) ?? 0) - 1))
    if (waiting <= MAX_EXCESS) return true
    if (!socket.destroyed) observe({ type: 'bad_connection', code: 'pipelining', status: 0 })
    last.add(socket)
    socket.destroy()
    return false
  }

  function countPeer(socket: Socket): void {
    const { shares: rules, isProxy } = limits()
    const address = socket.remoteAddress ?? ''
    if (isProxy(address)) return
    const holder = shares.holder(peerOf(address))
    if (holder.take('connections', rules) === null) {
      socket.once('close', () => holder.end())
      return
    }
    holder.end()
    observe({ type: 'bad_connection', code: 'too_many_of_address', status: 0 })
    socket.destroy()
  }

  /** Nothing behind a body that is not complete is a request: the parser's error is one of the last request's body. */
  function breakBody(req: http.IncomingMessage, { code }: NodeJS.ErrnoException): void {
    // A client that ended its side within the body has left, and may still read.
    if (code === 'HPE_INVALID_EOF_STATE') setImmediate(() => breakOff(req, malformedBody()))
    else cut(req, malformedBody())
  }

  function tooSlow(req: http.IncomingMessage): void {
    observe({ type: 'bad_connection', code: 'slow_upload', status: 0 })
    cut(req, slowBody())
  }

  /**
   * Refuses a request whose body is still to come. Until it is forwarded the gateway refuses it in its turn, behind the
   * responses of those before it. One that the gateway has refused for another reason meanwhile gets that response.
   */
  function cut(req: http.IncomingMessage, denial: Denial): void {
    if (cutOffBy(req) !== null) return
    last.add(req.socket)
    cutOff(req, denial)
    setImmediate(() => {
      if (isForwarded(req) || !isUnderway(req)) breakOff(req, denial)
    })
  }

  /** One client that sends a thousand requests in one packet shall not take the place of a thousand others. */
  function tooMany(req: http.IncomingMessage, res: http.ServerResponse): void {
    observe({ type: 'bad_connection', code: 'pipelining', status: STATUS_OF.too_many_in_flight })
    const denial = tooManyInFlight('connection', 'requests', MAX_PIPELINED, req.headers.accept)
    writeResponse(req, res, denialResponse(denial), requestIdOf(req, limits().isProxy))
  }

  /** Once for each connection, however much garbage comes. */
  function whenIdle(socket: Duplex, work: () => void): void {
    if (socket.listenerCount(IDLE) === 0) socket.once(IDLE, work)
  }

  function breakOff(req: http.IncomingMessage, denial: Denial): void {
    const { socket } = req
    const [first, ...others] = underway(socket)
    if (first === undefined) socket.end(() => socket.destroy())
    else if (!isUnderway(req))
      return // its response waits behind those of others, and ends the connection
    else if (others.length > 0 || first.res.headersSent) socket.destroy()
    else {
      if (denial.code === 'bad_request') observe({ type: 'bad_connection', code: denial.code, status: 0 })
      // No more of the request may go on to the upstream.
      socket.once('finish', () => socket.destroy())
      writeRawResponse(socket, denialResponse(denial), first.requestId)
    }
  }

  function isUnderway(req: http.IncomingMessage): boolean {
    return underway(req.socket).some((exchange) => exchange.req === req)
  }

  function refuseRaw(socket: Duplex, refusal: Denial): void {
    // A head that came too slowly may still be finished.
    last.add(socket)
    observe({ type: 'bad_connection', code: refusal.code, status: 0 })
    writeRawResponse(socket, denialResponse(refusal), randomUUID())
  }

  async function start(): Promise<string> {
    const { host, port } = options.listen
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, backlog: 1024 }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    const url = urlOf(server.address() as AddressInfo, options.certificate === null ? 'http' : 'https')
    observe({ type: 'listening', what: 'gateway', url })
    return url
  }

  async function stop(timeoutMs: number): Promise<void> {
    drain(true)
    let open = true
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    }).then(() => {
      open = false
    })
    const deadline = performance.now() + timeoutMs
    while (open && performance.now() < deadline) {
      // Answers that were begun before the drain keep their connection alive; it goes once its last byte is out.
      server.closeIdleConnections()
      await Promise.race([closed, sleep(DRAIN_POLL_MS)])
    }
    const requests = gateway.inFlight()
    if (open && requests > 0) observe({ type: 'cut_off', requests })
    for (const socket of sockets) socket.destroy()
    uploads.stop()
    await closed
    // What was broken off is recorded as well; that takes a moment, not longer.
    const recorded = performance.now() + RECORD_MS
    while (gateway.inFlight() > 0 && performance.now() < recorded) await sleep(DRAIN_POLL_MS)
  }

  function drain(on: boolean): void {
    if (draining === on) return
    draining = on
    observe(on ? { type: 'draining', inFlight: gateway.inFlight() } : { type: 'drain_ended' })
  }

  function setIdleTimeout(ms: number): void {
    server.timeout = ms
  }

  return { start, stop, drain, setIdleTimeout }
}

/** A server for clients in the clear, or by TLS, where the handshake has as long as a head. */
function createServer(certificate: Certificate | null, options: http.ServerOptions): http.Server {
  if (certificate === null) return http.createServer(options)
  const server = https.createServer({
    ...options,
    ...certificate.current(),
    ...(options.headersTimeout !== undefined && { handshakeTimeout: options.headersTimeout }),
  })
  certificate.onChange((next) => server.setSecureContext(next))
  // By default it would be a `clientError`, which we answer; here nobody could read the answer.
  server.removeAllListeners('tlsClientError')
  return server
}

/** Nothing can be said on it any more. */
function isBroken({ code = '' }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code.startsWith('ERR_SSL')
}

interface ParserError extends NodeJS.ErrnoException {
  /** What the parser says beside the code. */
  readonly reason?: string
  /** The piece in which it found the fault. */
  readonly rawPacket?: Buffer
}

/** Node's parser and limits, in the contract's words. */
function parserRefusal({ code, reason, rawPacket }: ParserError, maxUrl: number): Denial {
  // As in the plan of a request the length counts first, before what the target consists of.
  const isOfTarget = code === 'HPE_HEADER_OVERFLOW' || code === 'HPE_INVALID_URL'
  if (isOfTarget && beginsTooLong(rawPacket, maxUrl)) return targetTooLong(maxUrl)
  if (code === 'HPE_HEADER_OVERFLOW') {
    return denial('headers_too_large', 'The header fields of this request are too large.')
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return denial('request_timeout', 'The head of this request came too slowly.')
  // In the form of a version, and none that the parser knows, HTTP/1.2 too; anything else in its place is malformed.
  if (reason === 'Invalid HTTP version') return versionNotSupported()
  return denial('bad_request', 'This request is not valid HTTP/1.1.')
}

/** Whether a piece begins with a request line whose target alone is longer than targets may be. */
function beginsTooLong(piece: Buffer | undefined, maxUrl: number): boolean {
  const target = /^[A-Z-]+ (\/[^ \r\n]*)/.exec(piece?.toString('latin1') ?? '')?.[1]
  return target !== undefined && target.length > maxUrl
}

function urlOf({ address, family, port }: AddressInfo, scheme: 'http' | 'https'): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
