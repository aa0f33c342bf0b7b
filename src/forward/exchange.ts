import type { IncomingMessage } from 'node:http'
import { sendWhole } from '../node/whole-response.ts'
import { breakOff } from '../respond/raw.ts'
import { Backlog, type BufferRules } from './backlog.ts'
import type {
  Connection,
  Leniency,
  ResponseHead,
  ResponseReceiver,
  Silence,
  UpstreamClient,
  Waiter,
} from './client/contract.ts'
import { GivenUpError } from './client/failure.ts'
import { originOf } from './client-info.ts'
import type { Exchange, ForwardReceiver, ForwardResult, Patience } from './contract.ts'
import { forwardErrorOf, reasonOf } from './failure.ts'
import type { HeaderRules } from './field-fates.ts'
import {
  asksForUpgrade,
  headersToClient,
  interimHead,
  isPassedOn,
  type OutgoingHead,
  outgoingHead,
  responseTrailers,
} from './headers.ts'
import { Upload } from './upload.ts'
import type { UpstreamNames } from './upstream-names.ts'

/** What all exchanges with one upstream share. */
export interface Upstream {
  readonly client: UpstreamClient
  /** The path before the target of each request. */
  readonly base: string
  readonly names: UpstreamNames
  readonly rules: HeaderRules
  readonly silences: Silences
  /** Whether a connection is used again after a request with a body. */
  readonly reuseAfterBody: boolean
  readonly buffer: BufferRules
}

interface Silences {
  /** Before a response's head. */
  readonly response: Silence
  /** Within a response's body. */
  readonly idle: Silence
}

export function silencesOf({ responseTimeoutMs, idleTimeoutMs }: Patience): Silences {
  return {
    response: { ms: responseTimeoutMs, late: 'no answer in time' },
    idle: { ms: idleTimeoutMs, late: 'the answer stopped in its middle' },
  }
}

/** Up to how many bytes a body is read at once, if it has arrived completely. */
const MAX_AT_ONCE = 16 * 1024
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Two sides call an exchange: the upstream client reports what the upstream does, and `res` reports what the client does.
 *
 * | State | What it means | The upstream client may call | What the client may do |
 * |---|---|---|---|
 * | waiting | for a connection | `start`: sent · `expire`: over, failed | leave: over, aborted |
 * | sent | the request goes out; no head yet | `onDrain`, `onUnsent`, `onInterim` · `onHead`: head · `onFailure`: waiting again, once, if that is safe; else over, failed | leave: over, aborted |
 * | head | the head is here, and nothing of it has left for the client | `onDrain`, `onUnsent` · `onBody`, `onPause`: body · `onEnd`: end · `onFailure`: over, failed, and whoever called `forward` responds | leave: over, aborted |
 * | body | the client has the head | `onDrain`, `onUnsent`, `onBody`, `onPause` · `onEnd`: end · `onFailure`: over, failed, and the client's connection is broken off | leave, or read nothing for too long: over, aborted |
 * | end | the response is whole, and the connection is somebody else's | nothing | read the rest: over, forwarded · leave, or read nothing for too long: over, aborted |
 * | over | the result is reported | nothing | |
 *
 * In `body` a client may read more slowly than the upstream writes. Then the upstream is read into a backlog while there is room, and is
 * held after that. In `end` the backlog is the rest for the client.
 *
 * If the client ends an exchange before state `end`, the connection to the upstream is given up, and the rest of the request is discarded.
 */
type State = 'waiting' | 'sent' | 'head' | 'body' | 'end' | 'over'

/** One exchange under way. Its methods are in the order of the states. */
export class UpstreamExchange implements ResponseReceiver, Waiter {
  readonly #exchange: Exchange
  readonly #upstream: Upstream
  readonly #head: OutgoingHead
  readonly #silences: Silences
  readonly #receiver: ForwardReceiver
  readonly #onClose = (): void => this.#clientClosed()
  #state: State = 'waiting'
  /** The body if it has arrived completely. */
  #body: Buffer | null
  /** Set from state `sent` to `body`. */
  #connection: Connection | null = null
  #upload: Upload | null = null
  #reached = false
  /** The upstream's status once its head has arrived. */
  #status = 0
  /** Which faults of the upstream's heads were tolerated. */
  #lenient: readonly Leniency[] = NOTHING
  /** The upstream's head until it is written, together with the first piece of its body. */
  #response: ResponseHead | null = null
  /** Whether pieces of the body are held back, so that everything from one read can leave in one write. */
  #corked = false
  /** Whether the connection has earlier responses that the client may not have read yet. */
  #behind = false
  /** Runs while the client reads nothing. */
  #stall: NodeJS.Timeout | undefined
  /** In `body` and `end`, while the client reads more slowly than the upstream writes. */
  #backlog: Backlog | null = null
  /** Whether the upstream waits for the client. */
  #isHeld = false
  /** How many bytes of this response are counted in `held`. */
  #counted = 0
  /** The raw trailers of a response whose end waits behind its backlog. */
  #trailers: readonly string[] = []

  constructor(exchange: Exchange, upstream: Upstream, receiver: ForwardReceiver) {
    this.#exchange = exchange
    this.#upstream = upstream
    this.#receiver = receiver
    this.#head = outgoingHead(exchange.req.rawHeaders, originOf(exchange), upstream.rules)
    this.#body = exchange.body
    this.#silences = exchange.patience === null ? upstream.silences : silencesOf(exchange.patience)
  }

  // State waiting.

  begin(): void {
    const { req, res } = this.#exchange
    if (res.destroyed) {
      this.#receiver.forwarded(this.#end('aborted', CLIENT_LEFT))
      return
    }
    this.#behind = req.socket.bytesWritten > 0
    // A short body that has arrived completely needs no stream. A long body is streamed, because putting its pieces together
    // would take twice as long.
    const { hasBody, contentLength } = this.#head
    const isHere = contentLength !== null && req.complete && req.readableLength <= MAX_AT_ONCE
    if (this.#body === null && hasBody && isHere) this.#body = allOf(req)
    res.on('close', this.#onClose)
    this.#upstream.client.acquire(this)
  }

  start(connection: Connection): void {
    this.#state = 'sent'
    this.#connection = connection
    this.#reached = true
    this.#send(connection)
    this.#awaitResponse()
  }

  expire(error: Error): void {
    this.#fail(error)
  }

  // State sent.

  #send(connection: Connection): void {
    const { req } = this.#exchange
    const target = this.#upstream.base + this.#exchange.target
    const { headers, contentLength, hasBody, destinationAt: at } = this.#head
    if (at !== -1) headers[at] = this.#upstream.names.destinationFor(headers[at] as string, this.#head)
    const host = this.#upstream.names.hostFor(this.#head.host)
    const isStreamed = this.#body === null && hasBody
    const body = isStreamed ? framingOf(contentLength) : this.#body
    const last = this.#head.logsIn || (body !== null && !this.#upstream.reuseAfterBody)
    connection.send({ method: req.method ?? 'GET', target, host, headers, body, last }, this)
    if (isStreamed) this.#upload = new Upload(req, connection, () => this.#awaitResponse())
  }

  /**
   * The upstream's time begins with the last byte of the request that it has accepted. It is not at fault while a client
   * keeps it waiting; uploads that are too slow are ended elsewhere.
   */
  #awaitResponse(): void {
    if (this.#state !== 'sent') return
    this.#connection?.allow(this.#upload?.starved ? null : this.#silences.response)
  }

  onDrain(): void {
    this.#upload?.onDrain()
  }

  /** The rest of the upload is discarded. A response is still awaited, because it may say why the upstream refuses the upload. */
  onUnsent(): void {
    this.#upload?.stop()
    this.#upload = null
    this.#awaitResponse()
  }

  onInterim(head: ResponseHead): void {
    this.#noteLenient(head.needed)
    const { req, res } = this.#exchange
    const { socket } = res
    // Interim responses must not pile up for a client that reads too slowly. Each only announces the response that follows.
    if (socket === null || socket.writableNeedDrain || !isPassedOn(head.status, req.httpVersion)) return
    socket.write(interimHead(head), 'latin1')
  }

  onHead(head: ResponseHead): void {
    this.#state = 'head'
    this.#response = head
    this.#status = head.status
    this.#noteLenient(head.needed)
    this.#exchange.tap?.onHead(head)
    this.#awaitBody()
  }

  #noteLenient(needed: readonly Leniency[]): void {
    if (needed.length > 0) this.#lenient = [...new Set([...this.#lenient, ...needed])]
  }

  // State head.

  /** @returns whether this wrote the head */
  #writeHead(): boolean {
    const { res } = this.#exchange
    if (this.#response === null || res.destroyed) return false
    res.writeHead(this.#status, this.#response.phrase ?? undefined, this.#headersOf(this.#response))
    this.#response = null
    this.#state = 'body'
    return true
  }

  #headersOf(response: ResponseHead): string[] {
    const { res, responseHeaders, exposed, tap } = this.#exchange
    const ours = tap == null ? responseHeaders : [...responseHeaders, ...tap.fields()]
    const headers = headersToClient(response, ours, exposed)
    this.#upstream.names.rewrite(response.status, headers, this.#head)
    if (asksForUpgrade(response.status, headers)) {
      headers.push('Connection', res.shouldKeepAlive ? 'Upgrade' : 'close, Upgrade')
    }
    return headers
  }

  #awaitBody(): void {
    this.#connection?.allow(this.#silences.idle)
  }

  // State body.

  onBody(piece: Buffer | string, last: boolean): void {
    const { res, tap } = this.#exchange
    if (res.destroyed) return
    tap?.onBody(piece)
    if (last) tap?.onEnd()
    if (this.#backlog !== null) {
      this.#backlog.add(piece)
      return
    }
    if (last && this.#response !== null && typeof piece === 'string') {
      sendWhole(res, this.#response, this.#headersOf(this.#response), piece)
      this.#response = null
      this.#state = 'body'
      return
    }
    this.#writeHead()
    if (last) {
      res.end(piece, 'latin1')
      return
    }
    if (!this.#corked) res.cork()
    this.#corked = true
    res.write(piece, 'latin1')
  }

  /** Writes the head without waiting for the body, because events may follow much later. */
  onPause(): boolean {
    const { res } = this.#exchange
    if (this.#writeHead()) res.flushHeaders()
    if (this.#backlog !== null) return this.#readOn()
    if (!this.#corked) return true
    this.#corked = false
    res.uncork()
    if (res.destroyed) return true
    this.#awaitBody()
    // Whether there is room is asked after the write, because mostly the kernel has accepted everything. The socket is asked, because
    // the state of the response is wrong after a CONNECT, when Node has let go of the connection.
    if (res.socket?.writableNeedDrain !== true || !this.sending) return true
    this.#backlog = new Backlog(res)
    this.#waitForReader()
    return this.#readOn()
  }

  get sending(): boolean {
    return this.#backlog !== null || this.#exchange.res.writableLength > 0
  }

  /** The client reads more slowly than the upstream writes. It has a limited time for each part that its connection accepts. */
  #waitForReader(): void {
    this.#limitStall()
    this.#exchange.res.once('drain', () => this.#readerDrained())
  }

  /** @returns whether there is room for more of the response. If not, the upstream waits */
  #readOn(): boolean {
    const { perResponse, total, held } = this.#upstream.buffer
    this.#count()
    const hasRoom = this.#counted < perResponse && held.bytes < total
    if (hasRoom) {
      this.#awaitBody()
      // There is room again. This may have been called for a TLS record, which can arrive even on a connection that is held.
      if (this.#isHeld) this.#connection?.resume(this)
    } else this.#connection?.allow(null)
    this.#isHeld = !hasRoom
    return hasRoom
  }

  /** @param bytes of this response that wait for its client */
  #count(bytes = this.#exchange.res.writableLength + (this.#backlog?.bytes ?? 0)): void {
    this.#upstream.buffer.held.bytes += bytes - this.#counted
    this.#counted = bytes
  }

  /** The client's connection has accepted everything so far. */
  #readerDrained(): void {
    const backlog = this.#backlog
    if (backlog === null) return
    clearTimeout(this.#stall)
    const hasRoom = backlog.flush()
    if (!backlog.isEmpty || (this.#state === 'body' && !hasRoom)) {
      this.#waitForReader()
      if (this.#isHeld) this.#readOn()
      else this.#count()
    } else if (this.#state === 'end') this.#endResponse()
    else this.#release()
  }

  /** The client keeps up again. The rest that its connection has not accepted is no more than any response may have. */
  #release(): void {
    this.#backlog = null
    this.#count(0)
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#awaitBody()
    this.#connection?.resume(this)
  }

  #limitStall(): void {
    this.#stall = setTimeout(() => this.#abandon(CLIENT_STALLED), this.#silences.idle.ms)
  }

  // State end.

  onEnd(trailers: readonly string[]): void {
    this.#exchange.tap?.onEnd()
    this.#writeHead()
    this.#state = 'end'
    this.#trailers = trailers
    clearTimeout(this.#stall)
    if (this.#backlog === null || this.#backlog.isEmpty) this.#endResponse()
    else this.#limitRest()
    if (this.#upload?.done === false) this.#leave()
    // From now on the connection is free or used by another exchange, so it must not be changed here.
    this.#connection = null
    if (this.sending) this.#exchange.places?.give('upstream_connections')
  }

  #endResponse(): void {
    const { res } = this.#exchange
    this.#backlog = null
    if (this.#head.takesTrailers && this.#trailers.length > 0 && !res.writableEnded) {
      res.addTrailers(responseTrailers(this.#trailers))
    }
    if (!res.writableEnded) res.end()
    if (this.sending) this.#limitRest()
  }

  /**
   * The rest must be read in time too. After the end no drain comes, and a client can put off the listener's idle timeout
   * by sending anything.
   */
  #limitRest(): void {
    this.#limitStall()
    this.#count()
  }

  /** Handles the close of the response: it was sent to its end, or the client cut it off. */
  #clientClosed(): void {
    if (this.#state === 'end' && this.#exchange.res.writableFinished)
      this.#receiver.forwarded(this.#end('forwarded', null))
    else this.#abandon(CLIENT_LEFT)
  }

  // State over.

  onFailure(error: Error, unseen: boolean): void {
    if (!unseen || !this.#isRepeatable()) {
      this.#fail(error)
      return
    }
    this.#state = 'waiting'
    this.#connection = null
    this.#upstream.client.acquireNew(this)
  }

  /**
   * A request that almost certainly was not seen is repeated only if it is safe (RFC 9110 section 9.2.2), and only once,
   * on a connection that was never used.
   */
  #isRepeatable(): boolean {
    return this.#body === null && !this.#head.hasBody && SAFE_METHODS.has(this.#exchange.req.method ?? '')
  }

  #fail(error: Error): void {
    // The head came together with a fault in what follows, and nothing was sent to the client, so the caller responds.
    if (this.#state === 'head') this.#status = 0
    const result = this.#end('failed', error)
    this.#exchange.res.off('close', this.#onClose)
    if (this.#status !== 0) breakOff(this.#exchange, this.#behind)
    this.#upload?.stop()
    this.#receiver.forwarded(result)
  }

  #abandon(why: Error): void {
    const isEnded = this.#state === 'end'
    if (this.#state === 'over') return
    const result = this.#end('aborted', why)
    this.#exchange.res.destroy()
    this.#upstream.client.leave(this)
    if (!isEnded) this.#leave()
    this.#receiver.forwarded(result)
  }

  /** Gives up the connection with everything that is left in either direction. */
  #leave(): void {
    this.#upload?.stop()
    this.#connection?.abandon()
    this.#connection = null
  }

  /** @returns the result for the receiver, to be reported after everything else */
  #end(outcome: ForwardResult['outcome'], error: Error | null): ForwardResult {
    this.#state = 'over'
    clearTimeout(this.#stall)
    this.#backlog = null
    this.#count(0)
    return {
      httpStatus: this.#status,
      outcome,
      error: outcome === 'failed' && error !== null ? forwardErrorOf(error, this.#connection !== null) : null,
      // The first attempt may have reached the upstream, even if the second connection was refused.
      reached: this.#reached,
      headSent: this.#status !== 0,
      reason: error === null ? null : reasonOf(error),
      lenient: this.#lenient,
    }
  }
}

const NOTHING: readonly Leniency[] = []
const CLIENT_LEFT = new GivenUpError('the client left')
const CLIENT_STALLED = new GivenUpError('the client stopped reading')

/**
 * Each `read()` returns only one of the pieces that the parser has found (26.10), so it is called until none is left. The
 * last call ends the request, and a later listener for the end of the body would wait for ever.
 */
function allOf(req: IncomingMessage): Buffer {
  const pieces: Buffer[] = []
  for (let piece = req.read(); piece !== null; piece = req.read()) pieces.push(piece)
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

function framingOf(contentLength: string | null): { length: string } | 'chunked' {
  return contentLength === null ? 'chunked' : { length: contentLength }
}
