import type { IncomingHttpHeaders } from 'node:http'
import { breakOff, endWith, problemOf } from './answer.ts'
import { callerOf } from './caller.ts'
import type { Connections, Control, Handler, Waiter } from './connections.ts'
import type { Exchange, ForwardResult } from './exchange.ts'
import { BadAnswerError, connectionLost, forwardErrorOf, GivenUpError, reasonOf } from './failure.ts'
import {
  answerHeaders,
  answerTrailers,
  type HeaderRules,
  type OutgoingHead,
  outgoingHead,
  type RawFields,
} from './headers.ts'
import { bodyOf, RequestBody } from './request-body.ts'

/** Interim answers: so many Early Hints are passed on, and a backend that sends more than the maximum is given up. */
const MAX_HINTS = 8
const MAX_INTERIM = 1_000
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** One exchange under way: undici calls it with what the backend does, the response with what the client does. */
export class Forwarding implements Handler, Waiter {
  readonly #exchange: Exchange
  readonly #connections: Connections
  readonly #head: OutgoingHead
  readonly #idleTimeoutMs: number
  readonly #resolve: (result: ForwardResult) => void
  readonly #onClose = (): void => this.#clientClosed()
  #body: Buffer | RequestBody | null = null
  #control: Control | null = null
  #reached = false
  #answerBegun = false
  #retried = false
  #interim = 0
  /** The backend's status, once its head is accepted and passed on. */
  #status = 0
  /** Bytes still to come; -1 where the answer does not say. */
  #left = -1
  #bodyBegun = false
  #ended = false
  #stall: NodeJS.Timeout | undefined
  #settled = false

  constructor(
    exchange: Exchange,
    rules: HeaderRules,
    connections: Connections,
    idleTimeoutMs: number,
    resolve: (result: ForwardResult) => void,
  ) {
    this.#exchange = exchange
    this.#connections = connections
    this.#idleTimeoutMs = idleTimeoutMs
    this.#resolve = resolve
    this.#head = outgoingHead(exchange.req.rawHeaders, callerOf(exchange), rules)
  }

  begin(): void {
    const { req, res, body } = this.#exchange
    if (res.destroyed) {
      this.#settle('aborted', CLIENT_LEFT)
      return
    }
    this.#body = body ?? (this.#head.hasBody ? bodyOf(req) : null)
    res.on('close', this.#onClose)
    this.#connections.acquire(this)
  }

  start(): void {
    const { req, target } = this.#exchange
    const headers = this.#head.headers
    if (this.#body instanceof RequestBody && this.#head.contentLength !== null) {
      headers.push('Content-Length', this.#head.contentLength)
    }
    this.#connections.dispatch({ method: req.method ?? 'GET', path: target, headers, body: this.#body }, this)
  }

  expire(error: Error): void {
    this.#fail(error)
  }

  /** The last moment before the first byte is written: a request that was given up until now never reaches the backend. */
  onRequestStart(control: Control): void {
    this.#control = control
    if (this.#settled) control.abort(new GivenUpError('given up before it was sent'))
    else this.#reached = true
  }

  onResponseStarted(): void {
    this.#answerBegun = true
  }

  onResponseStart(control: Control, status: number, headers: IncomingHttpHeaders): void {
    const problem = problemOf(status, control.rawHeaders as RawFields, headers)
    if (problem !== null) control.abort(new BadAnswerError(problem))
    else if (status < 200) this.#interimAnswer(control, status, headers)
    else this.#begin(control, status, headers)
  }

  onResponseData(control: Control, chunk: Buffer): void {
    const { res } = this.#exchange
    if (this.#settled || res.destroyed) return
    this.#bodyBegun = true
    this.#left -= chunk.length
    if (this.#left === 0) endWith(res, chunk)
    else if (!res.write(chunk) && !control.paused) this.#waitForClient(control)
  }

  onResponseEnd(control: Control): void {
    this.#connections.release()
    if (this.#settled) return
    if (this.#connections.resetting) this.#fail(new BadAnswerError('connection reset within the body'))
    else this.#end(control)
  }

  onResponseError(_control: Control | null, error: Error): void {
    if (this.#mayRetry(error)) {
      this.#retried = true
      queueMicrotask(() => this.start())
      return
    }
    this.#connections.release()
    if (!this.#settled) this.#fail(error)
  }

  /** Sends a head without waiting for its body: events may follow much later. */
  flushHead(): void {
    const { res } = this.#exchange
    if (!this.#bodyBegun && !this.#ended && !res.destroyed) res.flushHeaders()
  }

  #begin(control: Control, status: number, headers: IncomingHttpHeaders): void {
    const { res, responseHeaders } = this.#exchange
    res.writeHead(status, answerHeaders(control.rawHeaders as RawFields, status, responseHeaders, headers))
    this.#status = status
    this.#left = Number(headers['content-length'] ?? -1)
    process.nextTick(flushHead, this)
  }

  #end(control: Control): void {
    this.#ended = true
    const { res, responseHeaders } = this.#exchange
    const trailers = control.rawTrailers as RawFields
    if (this.#head.takesTrailers && trailers.length > 0 && !res.writableEnded) {
      res.addTrailers(answerTrailers(trailers, responseHeaders))
    }
    if (!res.writableEnded) res.end()
    this.#dropBody()
  }

  /**
   * A connection that was idle may be closed by the backend just when a request is on its way. That request was almost
   * certainly not seen, but only a safe one is sent again, and only once (RFC 9110 section 9.2.2).
   */
  #mayRetry(error: Error): boolean {
    const { req } = this.#exchange
    if (this.#settled || this.#retried || this.#answerBegun || this.#body !== null || !this.#reached) return false
    return SAFE_METHODS.has(req.method ?? '') && connectionLost(error) && this.#connections.wasUsedBefore(error)
  }

  #interimAnswer(control: Control, status: number, headers: IncomingHttpHeaders): void {
    const { req, res } = this.#exchange
    if (++this.#interim > MAX_INTERIM) control.abort(new BadAnswerError('too many interim answers'))
    const { link } = headers
    // RFC 9110 section 15.2: HTTP/1.0 knows no interim answers.
    if (status !== 103 || link === undefined || this.#interim > MAX_HINTS || req.httpVersion === '1.0') return
    try {
      res.writeEarlyHints({ link })
    } catch {
      // Node refuses Link values that it cannot parse; a hint is only a hint.
    }
  }

  /** The client reads slower than the backend writes: the backend waits, but not for ever. */
  #waitForClient(control: Control): void {
    control.pause()
    this.#stall = setTimeout(() => this.#abandon(CLIENT_STALLED), this.#idleTimeoutMs)
    this.#exchange.res.once('drain', () => {
      clearTimeout(this.#stall)
      control.resume()
    })
  }

  /** The response is closed: sent to its end, or cut off by the client. */
  #clientClosed(): void {
    if (this.#ended && this.#exchange.res.writableFinished) this.#settle('forwarded', null)
    else this.#abandon(CLIENT_LEFT)
  }

  /** What has not been sent to the backend yet is stopped by `onRequestStart`. */
  #abandon(why: Error): void {
    this.#settle('aborted', why)
    this.#exchange.res.destroy()
    this.#connections.leave(this)
    this.#control?.abort(why)
    this.#dropBody()
  }

  #fail(error: Error): void {
    this.#settle('failed', error)
    this.#exchange.res.off('close', this.#onClose)
    if (this.#status !== 0) breakOff(this.#exchange)
    this.#dropBody()
  }

  #dropBody(): void {
    if (this.#body instanceof RequestBody) this.#body.destroy()
  }

  #settle(outcome: ForwardResult['outcome'], error: Error | null): void {
    if (this.#settled) return
    this.#settled = true
    clearTimeout(this.#stall)
    this.#resolve({
      httpStatus: this.#status,
      outcome,
      error: outcome === 'failed' && error !== null ? forwardErrorOf(error, this.#reached) : null,
      reached: this.#reached,
      headSent: this.#status !== 0,
      reason: error === null ? null : reasonOf(error),
    })
  }
}

const CLIENT_LEFT = new GivenUpError('the client left')
const CLIENT_STALLED = new GivenUpError('the client stopped reading')

function flushHead(forwarding: Forwarding): void {
  forwarding.flushHead()
}
