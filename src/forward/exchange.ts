import type { IncomingMessage } from 'node:http'
import { breakOff } from '../respond/raw.ts'
import type { Connection, Exchanging } from './client/connection.ts'
import {
  BadResponseError,
  connectionLost,
  forwardErrorOf,
  GivenUpError,
  reasonOf,
  StrayBytesError,
} from './client/failure.ts'
import type { Connections, Waiter } from './client/pool.ts'
import { requestHead } from './client/request-head.ts'
import { MAX_INTERIM, type ResponseHead } from './client/response-head.ts'
import { callerOf } from './client-info.ts'
import type { Exchange, ForwardResult } from './contract.ts'
import {
  asksForUpgrade,
  type HeaderRules,
  headersToClient,
  type OutgoingHead,
  outgoingHead,
  responseTrailers,
} from './headers.ts'
import { Upload } from './upload.ts'

/** What all exchanges with one backend share. */
export interface Upstream {
  /** Of the Host field. */
  readonly host: string
  readonly rules: HeaderRules
  readonly connections: Connections
  readonly responseTimeoutMs: number
  readonly idleTimeoutMs: number
  /** Whether a connection serves another request after one with a body. */
  readonly reuseAfterBody: boolean
}

/** Interim answers that are Early Hints: so many are passed on. */
const MAX_HINTS = 8
/** Bytes of a body that leave in one write with their head. */
const MAX_JOINED = 16 * 1024
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** One exchange under way: the connection calls it with what the backend does, the response with what the client does. */
export class Forwarding implements Exchanging, Waiter {
  readonly #exchange: Exchange
  readonly #upstream: Upstream
  readonly #head: OutgoingHead
  readonly #resolve: (result: ForwardResult) => void
  readonly #onClose = (): void => this.#clientClosed()
  /** The body where all of it is here. */
  #body: Buffer | null
  #connection: Connection | null = null
  #upload: Upload | null = null
  #reached = false
  #interim = 0
  /** The backend's status, once its head has come. */
  #status = 0
  /** The backend's head, until it is written together with the first piece of its body. */
  #response: ResponseHead | null = null
  /** Whether pieces of the body are held back until all that one read has brought can leave in one write. */
  #corked = false
  #ended = false
  /** Whether there are responses to earlier requests of the connection, which the client may not have read yet. */
  #behind = false
  #stall: NodeJS.Timeout | undefined
  #settled = false

  constructor(exchange: Exchange, upstream: Upstream, resolve: (result: ForwardResult) => void) {
    this.#exchange = exchange
    this.#upstream = upstream
    this.#resolve = resolve
    this.#head = outgoingHead(exchange.req.rawHeaders, callerOf(exchange), upstream.rules)
    this.#body = exchange.body
  }

  begin(): void {
    const { req, res } = this.#exchange
    if (res.destroyed) {
      this.#settle('aborted', CLIENT_LEFT)
      return
    }
    this.#behind = req.socket.bytesWritten > 0
    // What is short and has arrived whole needs no stream. A long one does: an upload of 100 KB takes 113 µs, and 240 µs
    // where its pieces are put together (Node 26.10).
    const isHere = req.complete && req.readableLength <= MAX_JOINED
    if (this.#body === null && this.#head.hasBody && isHere) this.#body = allOf(req)
    res.on('close', this.#onClose)
    this.#upstream.connections.acquire(this)
  }

  start(connection: Connection): void {
    if (this.#settled) {
      this.#upstream.connections.onFree(connection)
      return
    }
    this.#connection = connection
    this.#reached = true
    this.#send(connection)
    this.#awaitResponse()
  }

  expire(error: Error): void {
    if (!this.#settled) this.#fail(error)
  }

  onDrain(): void {
    this.#upload?.onDrain()
  }

  onInterim({ status, names, values }: ResponseHead): void {
    const { req, res } = this.#exchange
    if (++this.#interim > MAX_INTERIM) throw new BadResponseError('too many interim answers')
    // RFC 9110 section 15.2: HTTP/1.0 knows no interim answers.
    if (status !== 103 || this.#interim > MAX_HINTS || req.httpVersion === '1.0') return
    const link = values.filter((_, i) => names[i]?.lower === 'link')
    try {
      res.writeEarlyHints({ link })
    } catch {
      // Node refuses Link values that it cannot parse; a hint is only a hint.
    }
  }

  onHead(head: ResponseHead): void {
    this.#response = head
    this.#status = head.status
    this.#awaitBody()
  }

  onBody(piece: Buffer | string, last: boolean): void {
    const { res } = this.#exchange
    if (res.destroyed) return
    this.#writeHead()
    if (last) {
      res.end(piece, 'latin1')
      return
    }
    if (!this.#corked) res.cork()
    this.#corked = true
    res.write(piece, 'latin1')
  }

  onEnd(trailers: readonly string[]): void {
    const { res } = this.#exchange
    this.#ended = true
    this.#writeHead()
    if (this.#head.takesTrailers && trailers.length > 0 && !res.writableEnded) {
      res.addTrailers(responseTrailers(trailers))
    }
    if (!res.writableEnded) res.end()
    this.#awaitReader()
    if (this.#upload?.done === false) this.#leave()
    // From now on it is free, or somebody else's: neither its deadline nor its reading is ours to change.
    this.#connection = null
  }

  onFailure(error: Error): void {
    if (this.#mayRetry(error)) {
      this.#connection = null
      this.#upstream.connections.acquireNew(this)
    } else this.#fail(error)
  }

  /** A head does not wait for its body: events may follow much later. */
  onPause(): boolean {
    const { res } = this.#exchange
    if (this.#writeHead()) res.flushHeaders()
    if (!this.#corked) return true
    this.#corked = false
    res.uncork()
    if (res.destroyed) return true
    this.#awaitBody()
    // Full or not is asked after the write: mostly the kernel has taken all, and there is nothing to wait for.
    return !res.writableNeedDrain || !this.sending || this.#waitForClient()
  }

  get sending(): boolean {
    return this.#exchange.res.writableLength > 0
  }

  /** @returns whether there was a head that had not been written */
  #writeHead(): boolean {
    const { res } = this.#exchange
    if (this.#response === null || res.destroyed) return false
    res.writeHead(this.#status, this.#headersOf(this.#response))
    this.#response = null
    return true
  }

  #headersOf(response: ResponseHead): string[] {
    const { res, responseHeaders } = this.#exchange
    const headers = headersToClient(response, responseHeaders)
    if (asksForUpgrade(response.status, headers)) {
      headers.push('Connection', res.shouldKeepAlive ? 'Upgrade' : 'close, Upgrade')
    }
    return headers
  }

  #send(connection: Connection): void {
    const { req, target } = this.#exchange
    const method = req.method ?? 'GET'
    const { headers, contentLength, hasBody } = this.#head
    const { host } = this.#upstream
    const streams = this.#body === null && hasBody
    const framing = streams ? streamFraming(contentLength) : this.#body === null ? 'none' : this.#body
    const last = framing !== 'none' && !this.#upstream.reuseAfterBody
    const head = requestHead({ method, target, host, headers, framing, last })
    const joined = this.#body !== null && this.#body.length <= MAX_JOINED
    connection.send(this, joined ? head + this.#body?.toString('latin1') : head, method === 'HEAD', last)
    if (this.#body !== null && !joined) connection.write(this.#body)
    if (streams) this.#upload = new Upload(req, connection, framing === 'chunked', () => this.#awaitResponse())
  }

  /**
   * From the last byte of the request on that the backend has taken. A client that keeps it waiting for more is not its
   * fault: whoever reads uploads ends those that are too slow.
   */
  #awaitResponse(): void {
    if (this.#status !== 0 || this.#connection === null) return
    if (this.#upload?.starved) this.#upstream.connections.unwatch(this.#connection)
    else this.#upstream.connections.watch(this.#connection, this.#upstream.responseTimeoutMs, 'no answer in time')
  }

  #awaitBody(): void {
    if (this.#connection === null) return
    this.#upstream.connections.watch(this.#connection, this.#upstream.idleTimeoutMs, 'the answer stopped in its middle')
  }

  /**
   * A connection that was idle may be closed by the backend just when a request is on its way. That request was almost
   * certainly not seen, but only a safe one is sent again (RFC 9110 section 9.2.2), and only once: by a connection that
   * has served nobody before. The same goes for one that is met by bytes that are no answer: they are late ones of an answer
   * before it, as of a body to HEAD.
   */
  #mayRetry(error: Error): boolean {
    const connection = this.#connection
    if (connection === null || connection.served < 2) return false
    const isLost = !connection.responseBegun && connectionLost(error)
    const isStray = error instanceof StrayBytesError && this.#interim === 0
    if (!isLost && !isStray) return false
    if (this.#body !== null || this.#upload !== null) return false
    return SAFE_METHODS.has(this.#exchange.req.method ?? '')
  }

  /** The client reads slower than the backend writes: the backend waits, but not for ever. */
  #waitForClient(): boolean {
    const connection = this.#connection
    if (connection === null) return false
    this.#upstream.connections.unwatch(connection)
    if (this.#stall !== undefined) return false
    this.#stall = setTimeout(() => this.#abandon(CLIENT_STALLED), this.#upstream.idleTimeoutMs)
    this.#exchange.res.once('drain', () => this.#clientReads())
    return false
  }

  /** What drains once the answer has ended is its rest: `#awaitReader` has its time, and others have the connection. */
  #clientReads(): void {
    if (this.#ended) return
    clearTimeout(this.#stall)
    this.#stall = undefined
    this.#awaitBody()
    this.#connection?.resume(this)
  }

  /**
   * The rest is read in time as well: no drain comes after the end, and the listener's idle timeout is put off by whatever
   * the client sends.
   */
  #awaitReader(): void {
    clearTimeout(this.#stall)
    if (!this.#settled && this.sending)
      this.#stall = setTimeout(() => this.#abandon(CLIENT_STALLED), this.#upstream.idleTimeoutMs)
  }

  /** The response is closed: sent to its end, or cut off by the client. */
  #clientClosed(): void {
    if (this.#ended && this.#exchange.res.writableFinished) this.#settle('forwarded', null)
    else this.#abandon(CLIENT_LEFT)
  }

  #abandon(why: Error): void {
    this.#settle('aborted', why)
    this.#exchange.res.destroy()
    this.#upstream.connections.leave(this)
    if (!this.#ended) this.#leave()
  }

  #fail(error: Error): void {
    // The head came together with what is wrong behind it, and nothing has left for the client: the caller answers.
    if (this.#response !== null) this.#status = 0
    this.#settle('failed', error)
    this.#exchange.res.off('close', this.#onClose)
    if (this.#status !== 0) breakOff(this.#exchange, this.#behind)
    this.#upload?.stop()
  }

  /** Gives the connection up with what is left on it, in either direction. */
  #leave(): void {
    this.#upload?.stop()
    this.#connection?.abandon()
    this.#connection = null
  }

  #settle(outcome: ForwardResult['outcome'], error: Error | null): void {
    if (this.#settled) return
    this.#settled = true
    clearTimeout(this.#stall)
    this.#resolve({
      httpStatus: this.#status,
      outcome,
      // A request that went out once may have been seen, and its second connection have been refused.
      error: outcome === 'failed' && error !== null ? forwardErrorOf(error, this.#connection !== null) : null,
      reached: this.#reached,
      headSent: this.#status !== 0,
      reason: error === null ? null : reasonOf(error),
    })
  }
}

const CLIENT_LEFT = new GivenUpError('the client left')
const CLIENT_STALLED = new GivenUpError('the client stopped reading')

/**
 * `read()` gives the first piece only, of as many as the parser has found (26.10). Where there is none it ends the
 * request, so that nobody would hear of the end of an empty body who waits for it from now on.
 */
function allOf(req: IncomingMessage): Buffer {
  const pieces: Buffer[] = []
  for (let piece = req.read(); piece !== null; piece = req.read()) pieces.push(piece)
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

function streamFraming(contentLength: string | null): { length: string } | 'chunked' {
  return contentLength === null ? 'chunked' : { length: contentLength }
}
