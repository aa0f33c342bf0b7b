import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { failByWrites, outliveFailedWrites } from '../../node/failed-writes.ts'
import type { Connection, Destination, OutgoingRequest, ResponseReceiver, Silence } from './contract.ts'
import {
  ConnectionLostError,
  ConnectTimeoutError,
  GivenUpError,
  isConnectionLost,
  StrayBytesError,
  UpstreamTimeoutError,
} from './failure.ts'
import { requestHead } from './request-head.ts'
import { ResponseReader } from './response-parser.ts'

/** Keeps the connections, and is notified of their changes. */
export interface ConnectionOwner {
  onReady(connection: UpstreamConnection): void
  /** The response is complete, and the connection is free for another request. */
  onFree(connection: UpstreamConnection): void
  /** The connection is gone. @param error why, if it was never ready */
  onGone(connection: UpstreamConnection, error: Error | null): void
  /** When `ms` milliseconds of silence that begins now have passed, by the owner's clock. */
  deadlineAfter(ms: number): number
}

/**
 * | State | What it means | What happens | Next |
 * |---|---|---|---|
 * | opening | on the way to the upstream, TLS included | connected: `onReady` | free |
 * | | | refused, connect timeout, `abandon` | gone |
 * | free | nobody has it; the socket is read | `send` | reading |
 * | | | any byte, end, error, deadline, `abandon` | gone |
 * | reading | a receiver has it; the socket is read | `onPause` returns false | held |
 * | | | response whole: `onEnd`, `onFree` | free |
 * | | | response whole and the last one, or request not all sent: `onEnd` | gone |
 * | | | bad response, end, error, deadline: `onFailure` | gone |
 * | | | the upstream takes no more of the request: `onUnsent` | reading |
 * | | | `abandon` | gone |
 * | held | as reading, but the socket is stopped; TLS may still bring records | `resume` | reading |
 * | | | all that ends reading | as there |
 * | gone | the socket is destroyed, and `onGone` was called | | |
 */
type State = 'opening' | 'free' | 'reading' | 'held' | 'gone'

/** After how many milliseconds of silence TCP asks whether the upstream is there. Some load balancers forget a silent connection after 240 s. */
const KEEP_ALIVE_PROBE_MS = 60_000
/** How many bytes one read takes from the socket. */
const READ_SIZE = 64 * 1024
/** Up to this size a body leaves in one write with its head, in bytes. */
const MAX_JOINED = 16 * 1024
/** From this size on a piece is not copied to leave together with the lines around it, in bytes. */
const LARGE = 16 * 1024

/**
 * One connection to the upstream, with one request at a time. What it reads goes from its own buffer straight to the
 * reader, without a stream in between.
 */
export class UpstreamConnection implements Connection {
  /** When an idle or silent connection is given up, by its owner's clock. */
  deadline = Number.POSITIVE_INFINITY
  /** When the connection stops accepting requests, by its owner's clock. */
  retireAt = Number.POSITIVE_INFINITY
  readonly #destination: Destination
  readonly #owner: ConnectionOwner
  readonly #reader: ResponseReader
  readonly #socket: Socket
  #state: State = 'opening'
  #buffer = Buffer.allocUnsafeSlow(READ_SIZE)
  #receiver: ResponseReceiver | null = null
  /** How many requests it has been given. */
  #served = 0
  /** Whether the body of the request is framed as chunks. */
  #chunked = false
  /** Whether the connection ends after this request. */
  #last = false
  /** Whether the body of the request comes in pieces. The upstream may then respond before it has all of them. */
  #streamed = false
  /** Why the upstream has not accepted the whole request. It may still have responded. */
  #unsent: Error | null = null
  /** The message of the error if the deadline passes while a receiver waits. */
  #late = ''

  constructor(destination: Destination, owner: ConnectionOwner) {
    this.#destination = destination
    this.#owner = owner
    this.#reader = new ResponseReader(destination.maxHeaderSize, destination.lenient)
    this.#socket = this.#open()
  }

  // State opening.

  #open(): Socket {
    const { connectTimeoutMs, tls } = this.#destination
    const socket = this.#connect()
    const tooLong = (): void => this.#close(new ConnectTimeoutError('no connection in time'))
    const timer = setTimeout(tooLong, connectTimeoutMs)
    socket.once(tls === null ? 'connect' : 'secureConnect', () => {
      clearTimeout(timer)
      this.#state = 'free'
      this.#owner.onReady(this)
    })
    socket.on('drain', () => this.#receiver?.onDrain())
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => this.#close(error))
    socket.on('close', () => {
      clearTimeout(timer)
      this.#close(new ConnectionLostError('the connection was closed'))
    })
    return socket
  }

  #connect(): Socket {
    const { host, port, socket, lookup, tls } = this.#destination
    const callback = (length: number): boolean => this.#read(this.#buffer.subarray(0, length))
    const onread = { buffer: () => this.#buffer, callback }
    const place = socket === null ? { host, port, lookup } : { host, path: socket }
    const options = { ...place, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS, onread }
    if (tls === null) return connectTcp(options)
    const { secureContext, serverName } = tls
    const named = serverName === undefined ? {} : { servername: serverName }
    return connectTls({ ...options, ...named, secureContext, ALPNProtocols: ['http/1.1'] })
  }

  // State free.

  /** For how many seconds the upstream keeps the connection; `null` if it does not say. */
  get keptFor(): number | null {
    return this.#reader.keptFor
  }

  send(request: OutgoingRequest, receiver: ResponseReceiver): void {
    if (this.#state !== 'free') throw new Error(`a connection that is ${this.#state} was taken for a request`)
    const { body } = request
    this.#state = 'reading'
    this.#receiver = receiver
    this.#chunked = body === 'chunked'
    this.#streamed = body !== null && !Buffer.isBuffer(body)
    if (this.#streamed) outliveFailedWrites(this.#socket, (error) => this.#notTaken(error))
    this.#last = request.last
    this.#served++
    this.#reader.expect(receiver, request.method === 'HEAD')
    const head = requestHead(request)
    if (!Buffer.isBuffer(body)) this.#socket.write(head, 'latin1')
    else if (body.length <= MAX_JOINED) this.#socket.write(head + body.toString('latin1'), 'latin1')
    else {
      this.#socket.write(head, 'latin1')
      this.#socket.write(body)
    }
  }

  // States reading and held.

  write(piece: Buffer, onTaken: (error?: Error | null) => void): boolean {
    const socket = this.#socket
    if (!this.#chunked) return socket.write(piece, onTaken) || this.flushed
    // RFC 9112 section 7.1. A short piece is joined with its lines, because one write costs less than three.
    const size = Buffer.from(`${piece.length.toString(16)}\r\n`)
    if (piece.length < LARGE) return socket.write(Buffer.concat([size, piece, CRLF]), onTaken) || this.flushed
    socket.cork()
    socket.write(size)
    socket.write(piece)
    const wanted = socket.write(CRLF, onTaken)
    socket.uncork()
    return wanted || this.flushed
  }

  /** The upstream accepts nothing more. What it has sent is still read. */
  #notTaken(error: Error): void {
    const receiver = this.#receiver
    this.#unsent = error
    process.nextTick(() => {
      if (receiver !== null && receiver === this.#receiver) receiver.onUnsent()
    })
  }

  end(): void {
    if (this.#chunked) this.#socket.write('0\r\n\r\n')
  }

  get flushed(): boolean {
    return this.#socket.writableLength === 0
  }

  allow(silence: Silence | null): void {
    this.deadline = silence === null ? Number.POSITIVE_INFINITY : this.#owner.deadlineAfter(silence.ms)
    this.#late = silence?.late ?? ''
  }

  /** Only this class stops and resumes reading the socket. */
  resume(receiver: ResponseReceiver): void {
    if (receiver !== this.#receiver || this.#state !== 'held') return
    this.#state = 'reading'
    this.#socket.resume()
  }

  #read(bytes: Buffer): boolean {
    const receiver = this.#receiver
    if (receiver === null) {
      this.#close(null)
      return true
    }
    try {
      this.#reader.read(bytes)
      if (this.#receiver === null) return true
      const wanted = this.#reader.idle || receiver.onPause()
      // Data that the client's kernel has not accepted is sent from this buffer, so a new one is needed. Mostly one buffer
      // serves a whole download, which then takes about a third of the CPU that copying each piece would take.
      if (this.#reader.lent && receiver.sending) this.#buffer = Buffer.allocUnsafeSlow(READ_SIZE)
      if (this.#reader.idle) this.#freed()
      else if (!wanted && this.#state === 'reading') this.#state = 'held'
      return this.#state !== 'held'
    } catch (error) {
      this.#close(error as Error)
      return true
    }
  }

  #freed(): void {
    this.#receiver = null
    // The rest of a request would stand before the next one, even if nobody needs it any more (CVE-2025-4366).
    if (this.#last || !this.#reader.persistent || !this.flushed || this.#unsent !== null) {
      this.#close(null)
      return
    }
    if (this.#streamed) failByWrites(this.#socket)
    // With TLS one read brings several records, so a response may end after its receiver has stopped reading. If a free
    // connection was not read, the next request would wait, and neither the upstream's end nor unexpected bytes would be
    // noticed.
    if (this.#state === 'held') this.#socket.resume()
    this.#state = 'free'
    this.#owner.onFree(this)
  }

  #ended(): void {
    if (this.#receiver === null) {
      this.#close(
        this.#state === 'opening' ? new ConnectionLostError('the connection was closed before it was open') : null,
      )
      return
    }
    try {
      // This may be the end of a reset whose error the write has received, so it does not end a body without a length.
      if (this.#unsent !== null) throw this.#unsent
      this.#reader.end()
      this.#receiver = null
      this.#close(null)
    } catch (error) {
      this.#close(error as Error)
    }
  }

  // To state gone, from each of the others.

  abandon(): void {
    this.#receiver = null
    this.#close(null)
  }

  /** Breaks off, and reports the reason to the receiver. */
  destroy(error: Error): void {
    this.#close(error)
  }

  /** Handles a deadline that has passed: closes an idle connection, or fails the exchange. */
  expire(): void {
    this.#close(this.#receiver === null ? null : new UpstreamTimeoutError(this.#late))
  }

  #close(error: Error | null): void {
    if (this.#state === 'gone') return
    const wasOpening = this.#state === 'opening'
    const receiver = this.#receiver
    this.#state = 'gone'
    this.#receiver = null
    this.#reader.abandon()
    this.#socket.destroy()
    this.#owner.onGone(this, wasOpening ? (error ?? new GivenUpError('given up before it was open')) : null)
    if (receiver !== null && error !== null) receiver.onFailure(error, this.#isUnseen(error))
  }

  /** An upstream may close an idle connection just when a request is on its way. */
  #isUnseen(error: Error): boolean {
    if (this.#served < 2) return false
    // Late bytes of an earlier response, for example the body of a response to HEAD.
    if (error instanceof StrayBytesError) return this.#reader.interim === 0
    return !this.#reader.begun && isConnectionLost(error)
  }
}

const CRLF = Buffer.from('\r\n')
