import { createHash } from 'node:crypto'
import type { ClientRequest, IncomingMessage, InformationEvent, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { restBehindShortPieces } from '../node/rest.ts'
import { reset } from '../respond/raw.ts'
import { type Connection, type Destination, MAX_INTERIM, type UpstreamClient, type Waiter } from './client/contract.ts'
import { BadResponseError, ConnectTimeoutError, GivenUpError, UpstreamTimeoutError } from './client/failure.ts'
import { originOf } from './client-info.ts'
import type { ForwardResult, Patience, ResponseFields, UpgradeExchange } from './contract.ts'
import { EarlyBytes } from './early-bytes.ts'
import { forwardErrorOf, reasonOf } from './failure.ts'
import type { HeaderRules } from './field-fates.ts'
import {
  asksForUpgrade,
  fieldsOf,
  headersToClient,
  interimHead,
  isPassedOn,
  type OutgoingHead,
  outgoingHead,
  statusLine,
} from './headers.ts'
import type { UpstreamNames } from './upstream-names.ts'

/** How long the other end may take to read the rest after one end has closed, in milliseconds. */
const LINGER_MS = 2_000

export interface TunnelOptions extends Patience {
  readonly origin: URL
  /** The path before the target of each request. */
  readonly base: string
  readonly names: UpstreamNames
  readonly destination: Destination
  readonly connectTimeoutMs: number
  /** Knows when the upstream accepts connections again. */
  readonly client: UpstreamClient
  readonly maxHeaderSize: number
  readonly rules: HeaderRules
}

/** `ws` of http-proxy-3: makes the handshake with the upstream and joins the sockets when it agrees. */
export type Join = (req: IncomingMessage, client: Socket, head: Buffer, options: { ssl: object }) => void

/** What http-proxy-3 reads of a request. We build it, because http-proxy-3 would copy the client's headers unchanged. */
export interface Handshake {
  readonly method: 'GET'
  readonly url: string
  readonly httpVersion: '1.1'
  readonly httpVersionMajor: 1
  readonly headers: OutgoingHttpHeaders
  readonly tunnel: Tunnel
}

/** One upgrade, from the handshake to the end of the tunnel. */
export class Tunnel implements Waiter {
  readonly #exchange: UpgradeExchange
  readonly #options: TunnelOptions
  readonly #client: Socket
  readonly #patience: Patience
  readonly #result = Promise.withResolvers<ForwardResult>()
  readonly #onClientClose = (): void => this.#clientGone(CLIENT_LEFT)
  readonly #onAbort = (): void => this.#end(new GivenUpError(String(this.#exchange.signal?.reason)))
  #head: OutgoingHead | null = null
  /** Set until the result is settled. */
  #join: Join | null = null
  /** Whether a connection has failed, so that the upstream client knows this tunnel. */
  #hasWaited = false
  #outgoing: ClientRequest | null = null
  /** What the client sends before there is a response; `null` before the first handshake. */
  #early: EarlyBytes | null = null
  #upstream: Socket | null = null
  #timer: NodeJS.Timeout | undefined
  #reached = false
  #interim = 0
  #status = 0

  constructor(exchange: UpgradeExchange, options: TunnelOptions) {
    this.#exchange = exchange
    this.#options = options
    this.#client = exchange.socket as Socket
    this.#patience = exchange.patience ?? options
  }

  run(join: Join): Promise<ForwardResult> {
    const client = this.#client
    client.on('error', ignore)
    this.#exchange.signal?.addEventListener('abort', this.#onAbort)
    if (client.destroyed || client.readableEnded) this.#clientGone(CLIENT_LEFT)
    else {
      client.on('close', this.#onClientClose).on('end', this.#onClientClose)
      this.#join = join
      this.#handshake(join)
    }
    return this.#result.promise
  }

  destroy(): void {
    this.#outgoing?.destroy(new GivenUpError('the gateway stops'))
    if (this.#status !== 0) this.#client.destroySoon()
  }

  /**
   * http-proxy-3 calls this before it listens to the request, so our listener for the upgrade comes first. The path is
   * set again, because joining the URLs drops an empty query.
   */
  prepare(outgoing: ClientRequest): void {
    this.#outgoing = outgoing
    outgoing.path = this.#options.base + this.#exchange.target
    this.#within(this.#options.connectTimeoutMs, new ConnectTimeoutError('no connection in time'))
    outgoing.once('socket', (socket) => {
      socket.once(this.#options.destination.tls === null ? 'connect' : 'secureConnect', () => {
        this.#reached = true
        this.#within(this.#patience.responseTimeoutMs, new UpstreamTimeoutError('no answer in time'))
      })
    })
    outgoing.on('information', (head) => this.#passInterim(head))
    outgoing.once('upgrade', (response, upstream) => this.#opened(response, upstream as Socket))
  }

  #handshake(join: Join): void {
    const { maxHeaderSize, destination } = this.#options
    const { lookup, tls } = destination
    // Without a server name Node takes the name in Host.
    const secure = tls && { secureContext: tls.secureContext, servername: tls.serverName ?? '' }
    // A new object each time, because http-proxy-3 writes into it.
    const ssl = { maxHeaderSize, lookup, ...secure }
    try {
      // http-proxy-3 puts back the bytes that came with the client's head, so that they are read later. Only the first handshake gets them.
      join(this.#request(), this.#client, this.#early === null ? this.#exchange.head : NO_BYTES, { ssl })
      this.#takeOver()
      this.#early ??= new EarlyBytes(this.#client, () => this.#clientGone(CLIENT_TOO_EARLY))
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  /** http-proxy-3 would close the client's socket on any failure, and forward hop-by-hop fields of a refusal. */
  #takeOver(): void {
    this.#outgoing
      ?.removeAllListeners('error')
      .on('error', (error) => this.#broken(error))
      .removeAllListeners('response')
      .on('response', (response) => this.#refused(response))
    const join = this.#outgoing?.listeners('upgrade') ?? []
    this.#outgoing?.removeAllListeners('upgrade').once('upgrade', (response, upstream, head) => {
      if (isHandshakeOf(response, this.#exchange.req)) for (const open of join) open(response, upstream, head)
      else {
        upstream.destroy()
        this.#fail(new BadResponseError('a 101 that accepts no WebSocket'))
      }
    })
  }

  /** Without a connection nothing was sent, so the handshake is repeated as soon as the upstream accepts one. */
  #broken(error: Error): void {
    if (this.#join === null) return
    if (this.#reached) {
      this.#fail(error)
      return
    }
    clearTimeout(this.#timer)
    this.#hasWaited = true
    this.#options.client.waitOut(this, error)
  }

  /** The connection only shows that the upstream accepts connections again. http-proxy-3 opens its own. */
  start(connection: Connection): void {
    connection.abandon()
    if (this.#join !== null) this.#handshake(this.#join)
  }

  expire(error: Error): void {
    this.#fail(error)
  }

  #request(): IncomingMessage {
    const { req, target } = this.#exchange
    const { rules, names } = this.#options
    this.#head = outgoingHead(req.rawHeaders, originOf(this.#exchange), rules)
    const raw = [...this.#head.headers, 'Host', names.hostFor(this.#head.host)]
    raw.push('Connection', 'Upgrade', 'Upgrade', 'websocket')
    const handshake: Handshake = {
      method: 'GET',
      url: target,
      httpVersion: '1.1',
      httpVersionMajor: 1,
      // A client may send a list, which the upstream need not accept, so it is replaced by the version that both support.
      headers: { ...collected(raw), 'sec-websocket-version': '13' },
      tunnel: this,
    }
    return handshake as unknown as IncomingMessage
  }

  /** The upstream has responded with 101. http-proxy-3 writes the head from `response.headers` and joins the sockets. */
  #opened(response: IncomingMessage, upstream: Socket): void {
    clearTimeout(this.#timer)
    this.#status = 101
    this.#upstream = upstream
    this.#early?.giveBack()
    restBehindShortPieces(this.#client, upstream)
    const fields = fieldsOf(101, response.rawHeaders)
    const headers = withSubprotocol(this.#headersOf(fields), this.#exchange.subprotocol ?? null)
    response.headers = collected([
      ...headers,
      'Connection',
      'Upgrade',
      'Upgrade',
      'websocket',
    ]) as typeof response.headers
    this.#client.off('close', this.#onClientClose)
    this.#ignoreEnd()
    // The pipe forwards the end. An upstream that ignores it must not keep both ends open.
    this.#client.once('end', () => destroyLater(upstream))
    this.#client.once('close', () => end(upstream))
    // A socket that waits for the other end is not read, so neither its end nor a reset would be noticed.
    const { idleTimeoutMs } = this.#patience
    whenStalled(upstream, this.#client, idleTimeoutMs, () => this.#clientStalled())
    whenStalled(this.#client, upstream, idleTimeoutMs, () => this.#upstreamStalled())
    upstream.once('close', () => {
      end(this.#client)
      if (this.#client.closed) this.#settle('forwarded', null)
      else this.#client.once('close', () => this.#settle('forwarded', null))
    })
  }

  /** Forwards any other response as a plain one, which ends the connection. */
  #refused(response: IncomingMessage): void {
    clearTimeout(this.#timer)
    const status = response.statusCode ?? 0
    if (status < 200 || status > 599) {
      this.#outgoing?.destroy(new BadResponseError(`status ${status}`))
      return
    }
    this.#status = status
    this.#early?.discard()
    this.#ignoreEnd()
    const fields = fieldsOf(status, response.rawHeaders, response.statusMessage)
    this.#client.write(plainHead(fields, this.#headersOf(fields)), 'latin1')
    response.pipe(this.#client, { end: false })
    response.setTimeout(this.#patience.idleTimeoutMs, () => {
      if (this.#client.writableLength > 0) this.#clientStalled()
      else response.destroy(new UpstreamTimeoutError('the answer stalled'))
    })
    response.on('error', (error) => this.#fail(error))
    response.on('end', () => this.#awaitReader())
  }

  #headersOf(fields: ResponseFields): string[] {
    const { responseHeaders, exposed } = this.#exchange
    const headers = headersToClient(fields, responseHeaders, exposed)
    if (this.#head !== null) this.#options.names.rewrite(fields.status, headers, this.#head)
    return headers
  }

  /** Gives the client the idle timeout to read the rest. Then the connection ends, as the response has announced. */
  #awaitReader(): void {
    const client = this.#client
    this.#timer = setTimeout(() => this.#clientStalled(), this.#patience.idleTimeoutMs)
    client.end((error?: Error | null) => {
      if (error) return
      this.#settle('forwarded', null)
      client.destroy()
    })
  }

  /** Data on its way arrives as far as possible, and then both ends are closed. */
  #end(why: GivenUpError): void {
    this.#settle('aborted', why)
    if (this.#upstream === null) this.#outgoing?.destroy()
    else end(this.#upstream)
    end(this.#client)
  }

  #clientStalled(): void {
    this.#settle('aborted', CLIENT_STALLED)
    this.#outgoing?.destroy()
    reset(this.#client)
  }

  #upstreamStalled(): void {
    this.#fail(new UpstreamTimeoutError('the upstream stopped reading'))
    this.#outgoing?.destroy()
  }

  /** The client closed its connection, or ended its side before the response. Half a WebSocket is useless. */
  #clientGone(why: GivenUpError): void {
    this.#settle('aborted', why)
    this.#outgoing?.destroy()
    this.#client.destroy()
  }

  #ignoreEnd(): void {
    this.#client.off('end', this.#onClientClose)
  }

  #fail(error: Error): void {
    this.#settle('failed', error)
    if (this.#status !== 0) reset(this.#client)
  }

  #passInterim({ statusCode, statusMessage, rawHeaders }: InformationEvent): void {
    if (++this.#interim > MAX_INTERIM) this.#outgoing?.destroy(new BadResponseError('too many interim answers'))
    else if (isPassedOn(statusCode, '1.1') && !this.#client.writableNeedDrain)
      this.#client.write(interimHead(fieldsOf(statusCode, rawHeaders, statusMessage)), 'latin1')
  }

  #within(ms: number, error: Error): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#outgoing?.destroy(error), ms)
  }

  /** Only the first call counts. */
  #settle(outcome: ForwardResult['outcome'], error: Error | null): void {
    clearTimeout(this.#timer)
    this.#join = null
    if (this.#hasWaited) this.#options.client.leave(this)
    if (this.#status === 0) this.#early?.discard()
    this.#client.off('close', this.#onClientClose)
    this.#exchange.signal?.removeEventListener('abort', this.#onAbort)
    this.#ignoreEnd()
    this.#result.resolve({
      httpStatus: this.#status,
      outcome,
      error: outcome === 'failed' && error !== null ? this.#errorOf(error) : null,
      reached: this.#reached,
      headSent: this.#status !== 0,
      reason: error === null ? null : reasonOf(error),
      lenient: [],
    })
  }

  /** Without a connection the upstream is unreachable, however long that took. */
  #errorOf(error: Error) {
    return this.#reached ? forwardErrorOf(error, true) : 'upstream_unreachable'
  }
}

const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Whether a 101 accepts this WebSocket (RFC 6455, 4.1). If it does not, it may come from a server that misunderstood the
 * request or from a shared cache, and must not be joined to the client. Node does not report a 101 as an upgrade if its
 * Connection does not name Upgrade.
 */
function isHandshakeOf({ headers }: IncomingMessage, { headers: asked }: IncomingMessage): boolean {
  const accept = createHash('sha1').update(`${asked['sec-websocket-key']}${WEBSOCKET_GUID}`).digest('base64')
  return headers.upgrade?.toLowerCase() === 'websocket' && headers['sec-websocket-accept'] === accept
}

const NO_BYTES = Buffer.alloc(0)
const CLIENT_LEFT = new GivenUpError('the client left')
const CLIENT_TOO_EARLY = new GivenUpError('the client sent too much before the upstream agreed')
const CLIENT_STALLED = new GivenUpError('the client stopped reading')

function ignore(): void {}

/** @param chosen by the gateway, if the upstream got no offer. Any choice of the upstream is then dropped */
function withSubprotocol(headers: string[], chosen: string | null): string[] {
  if (chosen === null) return headers
  const others = headers.filter((_, i) => headers[i - (i % 2)]?.toLowerCase() !== 'sec-websocket-protocol')
  return [...others, 'Sec-WebSocket-Protocol', chosen]
}

/** Raw fields as an object. Repeated fields become a list, and no name can reach a prototype. */
function collected(raw: readonly string[]): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    const value = raw[i + 1] as string
    const before = headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  return headers
}

function plainHead(fields: ResponseFields, headers: readonly string[]): string {
  let text = statusLine(fields)
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}Connection: ${asksForUpgrade(fields.status, headers) ? 'close, Upgrade' : 'close'}\r\n\r\n`
}

/** Calls `stalled` if data waits for the reader and its connection has accepted nothing more for `ms` milliseconds. */
function whenStalled(source: Socket, reader: Socket, ms: number, stalled: () => void): void {
  let timer: NodeJS.Timeout | undefined
  function look(): void {
    clearTimeout(timer)
    if (reader.writableNeedDrain) timer = setTimeout(stalled, ms)
  }
  source.on('pause', look)
  reader.on('drain', look).once('close', () => clearTimeout(timer))
}

/** Sends the rest, and closes both directions, because half a WebSocket is useless. */
function end(socket: Socket): void {
  socket.destroySoon()
  destroyLater(socket)
}

function destroyLater(socket: Socket): void {
  if (socket.destroyed) return
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
