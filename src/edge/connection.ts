import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Denial, STATUS_OF } from '../errors.ts'
import type { NameRules } from '../inputs/inputs.ts'
import { peerOf } from '../lib/peers.ts'
import { endAsNode, endInstead } from '../node/connection-end.ts'
import { prepareParser } from '../node/ignored-upgrade.ts'
import { boundReads } from '../node/long-reads.ts'
import { isStopped, stopAtNextHead } from '../node/parser-stop.ts'
import { holdPausedRecords, readOn, readReleased } from '../node/paused-records.ts'
import { joinShortPieces } from '../node/short-pieces.ts'
import type { Observer } from '../observe/observation.ts'
import { type Asked, askedBy, type Presentation, presented } from '../respond/presentation.ts'
import { closeLater, hangUp, readToNowhere } from '../respond/raw.ts'
import { denialResponse, type OwnResponse, writeRawResponse, writeResponse } from '../respond/response.ts'
import { mayBeInPieces } from './body/coalesce.ts'
import type { UploadRule, UploadWatch } from './body/slow-upload.ts'
import { cutOff, cutOffBy, isForwarded } from './cut-off.ts'
import { blankInChunkLine, malformedBody, slowBody, tooManyInFlight, tooManyPieces } from './denials.ts'
import { checkEdge, checkUpgrade } from './head-rules.ts'
import type { OpenConnection } from './open-connections.ts'
import { isBlankInChunkLine, isBroken, methodIn, originIn, type ParserError, parserDenial } from './parser-error.ts'
import { requestIdOf } from './request-id.ts'
import type { ShareRules } from './shares.ts'
import { acceptedFrom, takeTurnToRead, takeTurnToReadOn, wasAcceptedFrom } from './turns.ts'
import { isReadAtOnce } from './unseen.ts'

/** What is known of a client by its connection. */
export interface ClientPeer {
  /** Its address as the socket has it; empty if it is gone already. */
  readonly address: string
  /** What the address counts as, see `peerOf`. */
  readonly peer: string
  /**
   * Whether a request is likely to be a user's: a credential was accepted on the connection before. A proxy brings many clients on one, so
   * behind it a credential of the client's address was accepted lately.
   * @param address whose request it is; `null` where its proxy names nobody
   */
  isLikelyKnown(address: string | null): boolean
  /** A credential was accepted that came on the connection. @param address whose request it was; `null` where its proxy names nobody */
  accepted(address: string | null): void
  /** A request that came on the connection is served to its end. */
  served(request: IncomingRequest): void
}

interface Incoming {
  readonly req: IncomingMessage
  readonly client: ClientPeer
  /** Of its response and of its line in the log, whoever writes them. */
  readonly requestId: string
  /** Why it is denied before anything else is looked at; `null` if it is unambiguous. */
  readonly ambiguity: Denial | null
}

/** A request that is served on a connection, and its response. */
export interface IncomingRequest extends Incoming {
  readonly res: ServerResponse
}

/** A WebSocket handshake, or what is denied as one. Nothing else comes on its connection. */
export interface IncomingUpgrade extends Incoming {
  readonly socket: Duplex
  /** What came behind its head. */
  readonly head: Buffer
}

/** Whoever serves the requests that come. */
export interface RequestHandler {
  /** Serves one request. At its end, which may be before this returns, its client hears that it is served. Never throws. */
  handle(request: IncomingRequest): void
  /** Serves one WebSocket handshake, and the tunnel to its end. Never throws. */
  handleUpgrade(upgrade: IncomingUpgrade): void
  /** Requests and tunnels under way. */
  inFlight(): number
}

/** What may change while a connection lives; asked for each request and upload. */
export interface ConnectionLimits {
  readonly shares: ShareRules
  /** Peers that stand for many clients, so that no share of an address applies to them. */
  readonly isProxy: (address: string) => boolean
  /** Whether those peers begin each connection with PROXY protocol, by which the address of the connection is the client's. */
  readonly readsProxyProtocol: boolean
  readonly uploads: UploadRule
  /** Longest request target in bytes. */
  readonly maxUrl: number
  /** Whether a client that has ended its side after a request still gets the response, and is not taken for gone. */
  readonly answersHalfClosed: boolean
  readonly names: NameRules
  /** How the gateway's own responses go out; `null` as they are. */
  readonly presentation: Presentation | null
}

/** What all connections of a listener share. */
export interface ConnectionContext {
  readonly gateway: RequestHandler
  readonly observe: Observer
  readonly limits: () => ConnectionLimits
  /** Bytes of a head, which the server was started with. */
  readonly maxHeaderSize: number
  readonly uploads: UploadWatch
  /** A body has come in so many pieces that others would wait for them. */
  readonly onFlood: (socket: Socket) => void
  /** Whether such bodies have come from many addresses lately. */
  readonly isFlooded: () => boolean
  /** Whether every response closes its connection. */
  readonly isDraining: () => boolean
}

/** Requests of one connection, all but the first waiting. Browsers and libraries pipeline none, or a few. */
const MAX_PIPELINED = 32
/** How long requests wait unread behind a response without a head, in milliseconds. */
const TURN_MS = 1000
/** How long a connection is not read that has brought too much that nobody looks at, in milliseconds. */
const REST_MS = 1000

/** Why a connection is not read: a request waits for its turn, or it has brought too much for a while. */
type Hold = 'others' | 'turn' | 'rest'

/**
 * One client connection. Two things say where it stands: whether requests are under way, and whether the last one has come.
 *
 * | State | A request comes | A head that is none comes | The body under way breaks | Next |
 * |---|---|---|---|---|
 * | idle: no request is under way | served | denied, and the last | | busy by a request, tunnel by an upgrade, last |
 * | busy: 1 to 32 are under way, the first is looked at | waits; above 32 refused, and the last | denied when idle | cut off, and the last | idle when all have their responses, last |
 * | held back: busy, others wait, not read | | | | as busy; last, busy after 1 s behind a response without a head |
 * | last, busy: the last one has come | ignored | ignored | cut off | last, idle |
 * | last, idle | ignored | ignored | | closed by its last response |
 * | tunnel: Node has let go of it | none comes | none comes | | closed |
 *
 * A held back connection is read on after that second: nobody else would notice that its client leaves, and its request would keep its
 * place. Its last request is then the last one that is complete.
 *
 * The last request is one that asks for the end, that is ambiguous, refused or cut off, or whose response closes the connection. What
 * comes behind it may be a part of it, and cannot get a response (RFC 9112, 9.6): it is neither looked at nor charged. The first request
 * that is ignored stops the parser.
 */
export class ClientConnection implements ClientPeer {
  readonly address: string
  readonly peer: string
  #isAccepted = false
  readonly #context: ConnectionContext
  readonly #socket: Socket
  readonly #open: Pick<OpenConnection, 'idleSince'>
  readonly #onAccepted: () => void
  /** Under way, in the order of their arrival. */
  #requests: IncomingRequest[] = []
  readonly #holds = new Set<Hold>()
  /** Runs while requests wait behind the same response. */
  #turnTimer: NodeJS.Timeout | undefined
  /** The last request of the connection has come. */
  #isLast = false
  /** The request with which the client asked for the end, as by `Connection: close`. */
  #lastAsked: IncomingMessage | null = null
  /** The last request that had its response before its body was complete. */
  #cutShort: IncomingMessage | null = null
  /** Bytes that had come with the last read behind the stop. */
  #bytesSeen = 0
  /** What is done as soon as it is idle: once, however much garbage comes. */
  #atIdle: (() => void) | null = null

  /** @param onAccepted called when the first credential of the connection was accepted */
  constructor(
    socket: Socket,
    context: ConnectionContext,
    open: Pick<OpenConnection, 'idleSince'>,
    onAccepted: () => void,
  ) {
    this.#socket = socket
    this.#context = context
    this.#open = open
    this.#onAccepted = onAccepted
    this.address = socket.remoteAddress ?? ''
    this.peer = peerOf(this.address)
    prepareParser(socket)
    boundReads(socket, {
      take: (bytes) => this.#turnToReadOn(bytes),
      onManyPieces: () => context.onFlood(socket),
      endsAtMany: () => this.#endFlood(),
    })
    endInstead(socket, (asNode) => this.#endInOrder(asNode))
    // Node resumes it by itself whenever it is done with the body of a request.
    socket.on('resume', () => {
      if (this.#holds.size > 0) this.#stopReading()
    })
    this.#holdBehindOthers()
  }

  /**
   * Whether an upgrade can be taken up. A response that is still to come would be written into the tunnel. So behind a request under way
   * the handshake is a plain request, and behind the last one it is none.
   */
  get takesUpgrade(): boolean {
    return !this.#isLast && this.#requests.length === 0
  }

  isLikelyKnown(address: string | null): boolean {
    return address === null || address === this.peer ? this.#isAccepted : wasAcceptedFrom(address)
  }

  accepted(address: string | null): void {
    // Of a client of its own its connection says it from then on. One of a proxy brings others, too.
    if (address !== null && (!this.#isAccepted || address !== this.peer)) acceptedFrom(address)
    if (this.#isAccepted) return
    this.#isAccepted = true
    this.#onAccepted()
  }

  serve(req: IncomingMessage, res: ServerResponse): void {
    const { gateway, limits, isDraining } = this.#context
    if (!res.shouldKeepAlive) this.#lastAsked = req
    holdPausedRecords(this.#socket)
    if (this.#isLast) {
      this.#ignore(req)
      return
    }
    const ambiguity = checkEdge(req, limits().names)
    if (ambiguity !== null || isDraining()) res.shouldKeepAlive = false
    if (!res.shouldKeepAlive) this.#isLast = true
    if (this.#requests.length >= MAX_PIPELINED) {
      this.#refuse(req, res)
      return
    }
    const request = { req, res, client: this, requestId: requestIdOf(req, limits().isProxy), ambiguity }
    this.#open.idleSince = null
    // A list of one by itself: one that is pushed into has room for 17, and is made anew whenever the last one has left.
    if (this.#requests.length === 0) this.#requests = [request]
    else if (this.#requests.push(request) === 2) this.#holdForTurn()
    if (mayBeInPieces(req)) this.#watchBody(request)
    gateway.handle(request)
  }

  /** The response to the last request that has come says that the connection ends behind it, if it has not said otherwise yet. */
  announceEnd(): void {
    const last = this.#requests.at(-1)
    if (last === undefined || last.res.headersSent) return
    last.res.shouldKeepAlive = false
    this.#isLast = true
  }

  upgrade(req: IncomingMessage, head: Buffer): void {
    this.#detach()
    this.#open.idleSince = null
    endAsNode(this.#socket)
    this.#handOver(req, head)
  }

  /** A CONNECT. It is denied as any method that is not served. */
  connect(req: IncomingMessage, head: Buffer): void {
    const socket = this.#socket
    this.#detach()
    if (this.#requests.length === 0) {
      if (this.#isLast) readToNowhere(socket)
      else this.#handOver(req, head)
      return
    }
    // What came before it gets its responses first (RFC 9112, 9.3.2).
    this.#serveOn()
    this.#whenIdle(() => {
      if (!this.#isLast && !socket.destroyed) this.#handOver(req, head)
    })
  }

  /** Node's parser, or one of its limits, takes no more. */
  fail(error: ParserError): void {
    const socket = this.#socket
    if (isStopped(error) && !socket.destroyed) this.#restBehindStop()
    const last = this.#requests.at(-1)
    // What comes behind a response that ended the connection is read to nowhere. By TLS, where one read brings several records, that
    // response is not out yet.
    if (socket.writableEnded && !isBroken(error)) closeLater(socket)
    else if (socket.destroyed || !socket.writable || isBroken(error)) socket.destroy()
    // The client has left within a body that nobody waits for: there is nothing to refuse, and nothing to report again.
    else if (last === undefined && this.#cutShort?.complete === false) hangUp(socket)
    // Nothing behind a body that is not complete is a request: the error is one of the last request's body.
    else if (last !== undefined && !last.req.complete) this.#breakBody(last, error)
    // The requests before the broken one get their responses first, or the denial would be taken for one of those.
    else this.#whenIdle(() => this.#denyUnread(error))
  }

  #handOver(req: IncomingMessage, head: Buffer): void {
    const { gateway, limits } = this.#context
    const requestId = requestIdOf(req, limits().isProxy)
    const ambiguity = checkUpgrade(req, limits().names)
    gateway.handleUpgrade({ req, client: this, requestId, ambiguity, socket: this.#socket, head })
  }

  /** Node has let go of the connection, with all that it listened to. Of a reset the close event says the rest. */
  #detach(): void {
    this.#socket.on('error', () => {})
  }

  #isUnderway(request: IncomingRequest): boolean {
    return this.#requests.includes(request)
  }

  /** @param work done at once if the connection is idle */
  #whenIdle(work: () => void): void {
    if (this.#requests.length === 0) work()
    else this.#atIdle ??= work
  }

  served(request: IncomingRequest): void {
    const { req, res } = request
    // Nearly always it is the first, and `splice` makes a list of it.
    if (this.#requests[0] === request) this.#requests.shift()
    else this.#requests.splice(this.#requests.indexOf(request), 1)
    if (!res.shouldKeepAlive) this.#isLast = true
    if (!req.complete) this.#cutShort = req
    const denial = cutOffBy(req)
    if (denial !== null && !isForwarded(req)) this.#breakOff(request, denial)
    if (this.#requests.length > 1) this.#turnTimer?.refresh()
    else this.#readOn('turn')
    if (this.#requests.length > 0) return
    this.#open.idleSince = performance.now()
    const work = this.#atIdle
    this.#atIdle = null
    work?.()
  }

  /** Neither it nor what comes behind it is looked at. Its body is read to nowhere. */
  #ignore(req: IncomingMessage): void {
    req.resume()
    this.#bytesSeen = this.#socket.bytesRead
    stopAtNextHead(this.#socket)
  }

  /** One client that sends a thousand requests in one packet shall not take the place of a thousand others. */
  #refuse(req: IncomingMessage, res: ServerResponse): void {
    this.#isLast = true
    res.shouldKeepAlive = false
    this.#ignore(req)
    const denial = tooManyInFlight('connection', 'requests', MAX_PIPELINED, req.headers.accept)
    const requestId = requestIdOf(req, this.#context.limits().isProxy)
    this.#reportRefused('pipelining', denial, requestId, req.method ?? null)
    writeResponse(req, res, this.#own(denial, askedBy(req, requestId, null)), requestId)
  }

  /** Nobody but the connection knows of it. A client that has sent nothing yet has no request that it could ask about. */
  #reportRefused(code: string, { code: error, reason }: Denial, requestId: string, method: string | null): void {
    const refused =
      this.#socket.bytesRead === 0 ? {} : { refused: { requestId, method, error, reason: reason ?? null } }
    this.#context.observe({ type: 'bad_connection', code, status: STATUS_OF[error], ...refused })
  }

  /** A response of the gateway's own to what never came as far as the gateway. */
  #own(denial: Denial, asked: Asked): OwnResponse {
    return presented(this.#context.limits().presentation, denialResponse(denial), asked)
  }

  #denyUnread(error: ParserError): void {
    const { limits, maxHeaderSize } = this.#context
    this.#denyHead(parserDenial(error, { maxUrl: limits().maxUrl, maxHeaderSize }), originIn(error), methodIn(error))
  }

  #denyHead(denial: Denial, origin: string | undefined, method: string | null): void {
    // Behind the last response of a connection there is no other (RFC 9112, 9.6): that ends it.
    if (this.#isLast) return
    // A head that came too slowly may still be finished.
    this.#isLast = true
    const requestId = randomUUID()
    this.#reportRefused(denial.code, denial, requestId, null)
    // A browser that connects ahead, or a probe, has asked for nothing: it would take a response for that to its first request.
    if (this.#socket.bytesRead === 0) {
      this.#socket.destroy()
      return
    }
    const asked = { origin, requestId, method: null, path: null, user: null }
    writeRawResponse(this.#socket, this.#own(denial, asked), { requestId, method })
  }

  #breakBody(request: IncomingRequest, error: ParserError): void {
    // A client that ended its side within the body has left, and may still read.
    if (error.code === 'HPE_INVALID_EOF_STATE') setImmediate(() => this.#breakOff(request, malformedBody()))
    else this.#cut(request, isBlankInChunkLine(error) ? blankInChunkLine() : malformedBody())
  }

  #watchBody(request: IncomingRequest): void {
    const body = joinShortPieces(request.req)
    // A request that has its response wants its body no more: it may wait behind others, which are not to be broken off for that.
    this.#context.uploads.watch(request.req, body, () => {
      if (this.#isUnderway(request)) this.#tooSlow(request)
    })
  }

  /** While such floods come from many addresses, those of strangers are refused: a read of each of them would hold up all others. */
  #endFlood(): boolean {
    const { limits, isFlooded } = this.#context
    const isStranger = !this.#isAccepted && !wasAcceptedFrom(this.peer) && !limits().isProxy(this.address)
    if (!isStranger || !isFlooded()) return false
    this.#isLast = true
    stopAtNextHead(this.#socket)
    const last = this.#requests.at(-1)
    if (last === undefined) setImmediate(() => hangUp(this.#socket))
    // Else it is the body of one that is ignored.
    else if (!last.req.complete) this.#cut(last, tooManyPieces())
    return true
  }

  /** What the upstream has had of the request stays charged: it may have acted on it. */
  #tooSlow(request: IncomingRequest): void {
    this.#context.observe({ type: 'bad_connection', code: 'slow_upload', status: 0 })
    this.#cut(request, slowBody())
  }

  /**
   * Refuses a request whose body is still to come. Until it is forwarded the gateway refuses it in its turn, behind the
   * responses of those before it. One that the gateway has refused for another reason meanwhile gets that response.
   */
  #cut(request: IncomingRequest, denial: Denial): void {
    const { req } = request
    if (cutOffBy(req) !== null) return
    this.#isLast = true
    cutOff(req, denial)
    setImmediate(() => {
      if (isForwarded(req) || !this.#isUnderway(request)) this.#breakOff(request, denial)
    })
  }

  #breakOff(request: IncomingRequest, denial: Denial): void {
    const socket = this.#socket
    const [first, ...others] = this.#requests
    if (first === undefined) socket.end(() => socket.destroy())
    else if (!this.#isUnderway(request))
      return // its response waits behind those of others, and ends the connection
    else if (others.length > 0 || first.res.headersSent) socket.destroy()
    else {
      if (denial.code === 'bad_request') {
        this.#context.observe({ type: 'bad_connection', code: denial.code, status: 0 })
      }
      // No more of the request may go on to the upstream.
      socket.once('finish', () => socket.destroy())
      const { req, requestId } = first
      writeRawResponse(socket, this.#own(denial, askedBy(req, requestId, null)), {
        requestId,
        method: req.method ?? null,
      })
    }
  }

  /**
   * Node closes a connection behind its last response. Closed on bytes that are not read, TCP resets it, and a client that
   * still sends loses a response that it has not read yet (RFC 9112, 9.6). One that asked for the end sends no more.
   */
  #endInOrder(asNode: () => void): void {
    if (this.#lastAsked?.complete === true) {
      asNode()
      return
    }
    // Nobody waits for these bodies any more, and behind one that nobody reads Node reads nothing.
    for (const { req } of this.#requests) req.resume()
    hangUp(this.#socket)
  }

  /** Does for the responses under way what Node did until it let go: they hear that there is room again, and of the end. */
  #serveOn(): void {
    const socket = this.#socket
    socket.on('drain', () => this.#requests[0]?.res.emit('drain'))
    socket.once('close', () => {
      for (const { res } of this.#requests) if (res.socket === null) res.emit('close')
    })
    // Read to nowhere: a connection that nobody reads never ends.
    this.#readOn('turn')
    socket.on('end', () => this.#context.limits().answersHalfClosed || socket.destroy())
    readReleased(socket)
  }

  /**
   * Reads no more of the connection: so only what one read has brought is looked at, whatever the client goes on sending. That its
   * client leaves is noticed when the response before it is written, or when it is read again.
   */
  #hold(why: Hold): void {
    this.#holds.add(why)
    this.#stopReading()
  }

  #holdBehindOthers(): void {
    const turn = takeTurnToRead(this.peer)
    if (turn === null) return
    this.#hold('others')
    void turn.then(() => this.#readOn('others'))
  }

  #turnToReadOn(bytes: number): Promise<void> {
    const isOfProxy = this.#context.limits().isProxy(this.address)
    return takeTurnToReadOn(isOfProxy ? null : this.peer, this.#isAccepted, bytes)
  }

  #holdForTurn(): void {
    this.#hold('turn')
    clearTimeout(this.#turnTimer)
    this.#turnTimer = setTimeout(() => this.#letWaitingGo(), TURN_MS).unref()
  }

  /** A response that has its head is written, and by that the end of the client is noticed. */
  #letWaitingGo(): void {
    if (!this.#holds.has('turn') || this.#socket.destroyed) return
    if (this.#requests[0]?.res.headersSent) {
      this.#turnTimer?.refresh()
      return
    }
    this.#isLast = true
    const last = this.#requests.findLast(({ req }) => req.complete)
    if (last !== undefined) last.res.shouldKeepAlive = false
    // The body of one behind the last is read to nowhere: the end of the connection comes behind it.
    for (const { req } of this.#requests) if (!req.complete) req.resume()
    this.#readOn('turn')
  }

  /** Reads on if no other reason is left. */
  #readOn(why: Hold): void {
    if (this.#holds.delete(why) && this.#holds.size === 0) readOn(this.#socket)
  }

  /** What nobody looks at is read once a turn, and of an address that sends too much of it once a second. */
  #restBehindStop(): void {
    const bytes = this.#socket.bytesRead - this.#bytesSeen
    this.#bytesSeen += bytes
    this.#hold('rest')
    if (isReadAtOnce(this.peer, bytes)) setImmediate(() => this.#readOn('rest'))
    else setTimeout(() => this.#readOn('rest'), REST_MS).unref()
  }

  /** Node's server stops the handle by the event. A stream that is paused when it is paused again emits none. */
  #stopReading(): void {
    this.#socket.pause()
    this.#socket.emit('pause')
  }
}
