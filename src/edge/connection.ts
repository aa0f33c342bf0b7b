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

/** What a connection reveals about its client. */
export interface ClientPeer {
  /** The address of the socket; empty if the socket is gone already. */
  readonly address: string
  /** The party to which the address belongs, see `peerOf`. */
  readonly peer: string
  /**
   * Whether a request probably comes from a user, because a credential was accepted on the connection before. A proxy's connection has
   * many clients, so there a credential counts that was recently accepted from the client's address.
   * @param address of the client; `null` if its proxy names nobody
   */
  isLikelyKnown(address: string | null): boolean
  /** Notes that a credential of this connection was accepted. @param address of the client; `null` if its proxy names nobody */
  accepted(address: string | null): void
  /** Notes that a request of this connection has ended. */
  served(request: IncomingRequest): void
}

interface Incoming {
  readonly req: IncomingMessage
  readonly client: ClientPeer
  /** The id of the request in its response and in its log line. */
  readonly requestId: string
  /** Why the request is denied before anything else; `null` if it is unambiguous. */
  readonly ambiguity: Denial | null
}

/** A request that is served on a connection, and its response. */
export interface IncomingRequest extends Incoming {
  readonly res: ServerResponse
}

/** A WebSocket handshake, or a request that is denied as one. It is the last on its connection. */
export interface IncomingUpgrade extends Incoming {
  readonly socket: Duplex
  /** The bytes that came after the head of the request. */
  readonly head: Buffer
}

export interface RequestHandler {
  /** Serves one request, and calls `served` of its `client` at the end, perhaps before this returns. Never throws. */
  handle(request: IncomingRequest): void
  /** Serves one WebSocket handshake and its tunnel. Never throws. */
  handleUpgrade(upgrade: IncomingUpgrade): void
  /** Requests and tunnels under way. */
  inFlight(): number
}

/** Limits that may change while a connection lives. They are read again for each request and upload. */
export interface ConnectionLimits {
  readonly shares: ShareRules
  /** Whether an address is a peer that stands for many clients, so that shares of one address do not apply to it. */
  readonly isProxy: (address: string) => boolean
  /** Whether those peers begin each connection with PROXY protocol, so that the connection's address is the client's. */
  readonly readsProxyProtocol: boolean
  readonly uploads: UploadRule
  /** Longest request target in bytes. */
  readonly maxUrl: number
  /** Whether a client that ends its side after a request still gets the response, instead of counting as gone. */
  readonly answersHalfClosed: boolean
  readonly names: NameRules
  /** How the gateway's own responses are presented; `null` for unchanged. */
  readonly presentation: Presentation | null
}

/** What all connections of a listener share. */
export interface ConnectionContext {
  readonly gateway: RequestHandler
  readonly observe: Observer
  readonly limits: () => ConnectionLimits
  /** The most bytes of a head, as the server was started. */
  readonly maxHeaderSize: number
  readonly uploads: UploadWatch
  /** Is called if a body has come in so many pieces that other clients would wait for them. */
  readonly onFlood: (socket: Socket) => void
  /** Whether many addresses have sent such bodies recently. */
  readonly isFlooded: () => boolean
  /** Whether every response closes its connection. */
  readonly isDraining: () => boolean
}

/** How many requests of one connection may be under way; all but the first wait. Browsers and libraries pipeline few. */
const MAX_PIPELINED = 32
/** How long a connection on which requests wait stays unread while its first response has no head, in milliseconds. */
const TURN_MS = 1000
/** How long a connection is not read after it has sent too much that is ignored, in milliseconds. */
const REST_MS = 1000

/** How often the address of a client's own connection is noted again, in milliseconds. This is far less than what `turns.ts` remembers. */
const NOTE_AGAIN_MS = 60_000

/** Why a connection is not read: requests of its address wait, a request of its own waits for its turn, or too much was ignored. */
type Hold = 'others' | 'turn' | 'rest'

/**
 * One client connection. Its state is whether requests are under way, and whether the last request has come.
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
 * A connection that is held back is read again after a second, because otherwise nobody would notice that its client leaves, and its
 * request would keep its place. Its last request is then the last complete one.
 *
 * The last request is one that asks for the end, that is ambiguous, refused or cut off, or whose response closes the connection. Bytes
 * after it may be a part of it, and cannot get a response (RFC 9112, 9.6), so they are neither looked at nor charged. The first ignored
 * request stops the parser.
 */
export class ClientConnection implements ClientPeer {
  readonly address: string
  readonly peer: string
  #isAccepted = false
  /** From when on an accepted credential lets the address be noted again. */
  #noteAgainAt = 0
  readonly #context: ConnectionContext
  readonly #socket: Socket
  readonly #open: Pick<OpenConnection, 'idleSince'>
  readonly #onAccepted: () => void
  /** Requests under way, in the order of arrival. */
  #requests: IncomingRequest[] = []
  readonly #holds = new Set<Hold>()
  /** Runs out when requests have waited for the same response for `TURN_MS`. */
  #turnTimer: NodeJS.Timeout | undefined
  /** Whether the last request of the connection has come. */
  #isLast = false
  /** The request with which the client asked for the end, for example by `Connection: close`. */
  #lastAsked: IncomingMessage | null = null
  /** The last request that got its response before its body was complete. */
  #cutShort: IncomingMessage | null = null
  /** How many bytes of the connection had been read when ignored bytes were counted last. */
  #bytesSeen = 0
  /** What to do as soon as the connection is idle. It is done once, however much garbage comes. */
  #atIdle: (() => void) | null = null

  /** @param onAccepted is called when the first credential of the connection is accepted */
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
    // Node resumes the socket by itself whenever the body of a request has ended.
    socket.on('resume', () => {
      if (this.#holds.size > 0) this.#stopReading()
    })
    this.#holdBehindOthers()
  }

  /**
   * Whether an upgrade is possible. An earlier response would be written into the tunnel, so behind a request under way a handshake is a
   * plain request, and after the last request it is ignored.
   */
  get takesUpgrade(): boolean {
    return !this.#isLast && this.#requests.length === 0
  }

  isLikelyKnown(address: string | null): boolean {
    return address === null || address === this.peer ? this.#isAccepted : wasAcceptedFrom(address)
  }

  accepted(address: string | null): void {
    // The address is noted each minute for a client's own connection, and every time for a proxy's, which has other clients too.
    if (address === this.peer) this.#noteAgain()
    else if (address !== null) acceptedFrom(address)
    if (this.#isAccepted) return
    this.#isAccepted = true
    this.#onAccepted()
  }

  #noteAgain(): void {
    const now = performance.now()
    if (now < this.#noteAgainAt) return
    this.#noteAgainAt = now + NOTE_AGAIN_MS
    acceptedFrom(this.peer)
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
    // A list that grows by `push` has room for 17, and a new one is made whenever the last request has left.
    if (this.#requests.length === 0) this.#requests = [request]
    else if (this.#requests.push(request) === 2) this.#holdForTurn()
    if (mayBeInPieces(req)) this.#watchBody(request)
    gateway.handle(request)
  }

  /** Lets the response to the latest request announce the end of the connection, unless its head is already sent. */
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

  /** A CONNECT is denied like any other method that is not served. */
  connect(req: IncomingMessage, head: Buffer): void {
    const socket = this.#socket
    this.#detach()
    if (this.#requests.length === 0) {
      if (this.#isLast) readToNowhere(socket)
      else this.#handOver(req, head)
      return
    }
    // Earlier requests get their responses first (RFC 9112, 9.3.2).
    this.#serveOn()
    this.#whenIdle(() => {
      if (!this.#isLast && !socket.destroyed) this.#handOver(req, head)
    })
  }

  /** Node's parser, or one of its limits, refuses what has come. */
  fail(error: ParserError): void {
    const socket = this.#socket
    if (isStopped(error) && !socket.destroyed) this.#restBehindStop()
    const last = this.#requests.at(-1)
    // Bytes after a response that ended the connection are ignored. With TLS, one read brings several records, so that response may
    // not be out yet.
    if (socket.writableEnded && !isBroken(error)) closeLater(socket)
    else if (socket.destroyed || !socket.writable || isBroken(error)) socket.destroy()
    // The body that breaks belongs to a request that has its response, so there is nothing to refuse or to report.
    else if (last === undefined && this.#cutShort?.complete === false) hangUp(socket)
    // After an incomplete body no request can follow, so the error belongs to the body of the last request.
    else if (last !== undefined && !last.req.complete) this.#breakBody(last, error)
    // Earlier requests get their responses first, because otherwise the denial would be taken for one of these.
    else this.#whenIdle(() => this.#denyUnread(error))
  }

  #handOver(req: IncomingMessage, head: Buffer): void {
    const { gateway, limits } = this.#context
    const requestId = requestIdOf(req, limits().isProxy)
    const ambiguity = checkUpgrade(req, limits().names)
    gateway.handleUpgrade({ req, client: this, requestId, ambiguity, socket: this.#socket, head })
  }

  /** Node has removed its listeners, and an error without a listener would end the process. The close event does the rest. */
  #detach(): void {
    this.#socket.on('error', () => {})
  }

  #isUnderway(request: IncomingRequest): boolean {
    return this.#requests.includes(request)
  }

  /** @param work is done at once if the connection is idle */
  #whenIdle(work: () => void): void {
    if (this.#requests.length === 0) work()
    else this.#atIdle ??= work
  }

  served(request: IncomingRequest): void {
    const { req, res } = request
    // The request is nearly always the first one, and `splice` would create a list of what it removes.
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

  /** Ignores this request and all that follow. Their bodies are discarded. */
  #ignore(req: IncomingMessage): void {
    req.resume()
    this.#bytesSeen = this.#socket.bytesRead
    stopAtNextHead(this.#socket)
  }

  /** A client that sends a thousand requests in one packet must not take the places of a thousand others. */
  #refuse(req: IncomingMessage, res: ServerResponse): void {
    this.#isLast = true
    res.shouldKeepAlive = false
    this.#ignore(req)
    const denial = tooManyInFlight('connection', 'requests', MAX_PIPELINED, req.headers.accept)
    const requestId = requestIdOf(req, this.#context.limits().isProxy)
    this.#reportRefused('pipelining', denial, requestId, req.method ?? null)
    writeResponse(req, res, this.#own(denial, askedBy(req, requestId, null)), requestId)
  }

  /** Only the connection knows of this denial. A client that has sent nothing has no request to report. */
  #reportRefused(code: string, { code: error, reason }: Denial, requestId: string, method: string | null): void {
    const refused =
      this.#socket.bytesRead === 0 ? {} : { refused: { requestId, method, error, reason: reason ?? null } }
    this.#context.observe({ type: 'bad_connection', code, status: STATUS_OF[error], ...refused })
  }

  /** A response to something that never became a request of the gateway. */
  #own(denial: Denial, asked: Asked): OwnResponse {
    return presented(this.#context.limits().presentation, denialResponse(denial), asked)
  }

  #denyUnread(error: ParserError): void {
    const { limits, maxHeaderSize } = this.#context
    this.#denyHead(parserDenial(error, { maxUrl: limits().maxUrl, maxHeaderSize }), originIn(error), methodIn(error))
  }

  #denyHead(denial: Denial, origin: string | undefined, method: string | null): void {
    // After the last response of a connection there is no other (RFC 9112, 9.6).
    if (this.#isLast) return
    // A head that came too slowly may still be completed, and is then ignored.
    this.#isLast = true
    const requestId = randomUUID()
    this.#reportRefused(denial.code, denial, requestId, null)
    // A browser that connects ahead, or a probe, has sent nothing. The browser would take this for the response to its first request.
    if (this.#socket.bytesRead === 0) {
      this.#socket.destroy()
      return
    }
    const asked = { origin, requestId, method: null, path: null, user: null }
    writeRawResponse(this.#socket, this.#own(denial, asked), { requestId, method })
  }

  #breakBody(request: IncomingRequest, error: ParserError): void {
    // A client that ended its side within the body has left, but may still read.
    if (error.code === 'HPE_INVALID_EOF_STATE') setImmediate(() => this.#breakOff(request, malformedBody()))
    else this.#cut(request, isBlankInChunkLine(error) ? blankInChunkLine() : malformedBody())
  }

  #watchBody(request: IncomingRequest): void {
    const body = joinShortPieces(request.req)
    // A request that has its response no longer needs its body. The response may wait behind others, which must not be broken off.
    this.#context.uploads.watch(request.req, body, () => {
      if (this.#isUnderway(request)) this.#tooSlow(request)
    })
  }

  /**
   * While bodies in many pieces come from many addresses, those of strangers are refused, because reading them would delay others.
   * @returns whether the body ends here
   */
  #endFlood(): boolean {
    const { limits, isFlooded } = this.#context
    const isStranger = !this.#isAccepted && !wasAcceptedFrom(this.peer) && !limits().isProxy(this.address)
    if (!isStranger || !isFlooded()) return false
    this.#isLast = true
    stopAtNextHead(this.#socket)
    const last = this.#requests.at(-1)
    if (last === undefined) setImmediate(() => hangUp(this.#socket))
    // If the last request is complete, the body belongs to an ignored request.
    else if (!last.req.complete) this.#cut(last, tooManyPieces())
    return true
  }

  /** A request stays charged if the upstream has received a part of it, because the upstream may have acted on it. */
  #tooSlow(request: IncomingRequest): void {
    this.#context.observe({ type: 'bad_connection', code: 'slow_upload', status: 0 })
    this.#cut(request, slowBody())
  }

  /**
   * Refuses a request whose body is incomplete. Until the request is forwarded, it is refused in its turn, after
   * earlier responses. If the gateway has chosen another response meanwhile, that response stands.
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
      return // Its response waits for earlier ones, and ends the connection.
    else if (others.length > 0 || first.res.headersSent) socket.destroy()
    else {
      if (denial.code === 'bad_request') {
        this.#context.observe({ type: 'bad_connection', code: denial.code, status: 0 })
      }
      // No more of the request may reach the upstream.
      socket.once('finish', () => socket.destroy())
      const { req, requestId } = first
      writeRawResponse(socket, this.#own(denial, askedBy(req, requestId, null)), {
        requestId,
        method: req.method ?? null,
      })
    }
  }

  /**
   * Node closes a connection after its last response. If unread bytes are left, TCP resets it, and a client that is still
   * sending may lose the response (RFC 9112, 9.6). A client that asked for the end sends no more.
   */
  #endInOrder(asNode: () => void): void {
    if (this.#lastAsked?.complete === true) {
      asNode()
      return
    }
    // Nobody needs these bodies any more, and Node reads nothing behind an unread body.
    for (const { req } of this.#requests) req.resume()
    hangUp(this.#socket)
  }

  /** Notifies the responses under way of free room and of the end, as Node did until it let go of the connection. */
  #serveOn(): void {
    const socket = this.#socket
    socket.on('drain', () => this.#requests[0]?.res.emit('drain'))
    socket.once('close', () => {
      for (const { res } of this.#requests) if (res.socket === null) res.emit('close')
    })
    // Data is read and discarded, because a connection that nobody reads never ends.
    this.#readOn('turn')
    socket.on('end', () => this.#context.limits().answersHalfClosed || socket.destroy())
    readReleased(socket)
  }

  /**
   * Stops reading the connection, so that only what one read has brought is handled, whatever the client goes on sending. If the
   * client leaves, this is noticed when the earlier response is written, or when reading goes on.
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

  /** Reads the connection on although requests wait, unless the first response has its head: then writing it shows whether the client is gone. */
  #letWaitingGo(): void {
    if (!this.#holds.has('turn') || this.#socket.destroyed) return
    if (this.#requests[0]?.res.headersSent) {
      this.#turnTimer?.refresh()
      return
    }
    this.#isLast = true
    const last = this.#requests.findLast(({ req }) => req.complete)
    if (last !== undefined) last.res.shouldKeepAlive = false
    // An unread body behind the last request is discarded, because the end of the connection comes after it.
    for (const { req } of this.#requests) if (!req.complete) req.resume()
    this.#readOn('turn')
  }

  /** Goes on reading if there is no other reason to wait. */
  #readOn(why: Hold): void {
    if (this.#holds.delete(why) && this.#holds.size === 0) readOn(this.#socket)
  }

  /** Ignored data is read once in a turn. If an address sends too much of it, each of its connections is read once in a second. */
  #restBehindStop(): void {
    const bytes = this.#socket.bytesRead - this.#bytesSeen
    this.#bytesSeen += bytes
    this.#hold('rest')
    if (isReadAtOnce(this.peer, bytes)) setImmediate(() => this.#readOn('rest'))
    else setTimeout(() => this.#readOn('rest'), REST_MS).unref()
  }

  /** Node's server stops the handle on the event `pause`, which a stream that is already paused does not emit. */
  #stopReading(): void {
    this.#socket.pause()
    this.#socket.emit('pause')
  }
}
