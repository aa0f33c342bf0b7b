import type { IncomingMessage } from 'node:http'
import type { Server, TLSSocket } from 'node:tls'
import type { FloodRests } from './flood-rests.ts'
import { startReads, stopReads } from './read-stops.ts'

/** The most short reads of one head, with the line ends before it and the bytes after the last response. */
const MAX_READS = 256
/** A read with so many bytes is not short. Servers that save latency send records of 1.3 KiB. */
const LONG_READ = 1024
/** The most new keys that a client may announce within the time below. A usual client announces one after gigabytes. */
const MAX_KEYS = 8
const KEYS_MS = 1000

/**
 * Ends a connection by TLS whose records bring nearly nothing: a head in records of one byte, line ends without a request, new keys without
 * end.
 *
 * One read of 64 KiB has room for 2800 records of one byte, or for 2400 KeyUpdates of 25 microseconds each, and libuv reads a connection up
 * to 32 times a turn (26.10, OpenSSL 3.5). No request has come by then, so no rule on requests applies. The bytes of one read are processed
 * in any case, which takes up to 33 ms. So others rest after it, see `FloodRests`.
 *
 * Node's parser reads the native socket itself, and calls `_unrefTimer` of the socket for each read. A method on the socket itself hides
 * that. Once the data of the socket has a listener, its stream reads, and makes the same call before it takes the record. A socket that is
 * destroyed within the call ends the process, so it is destroyed a turn later. The bytes of a record are known when the stream has handed
 * it over, and a paused stream keeps it. When many wait there, reading stops until the stream continues.
 *
 * New keys are seen by the event `keylog`, whose secrets are dropped. Bodies and tunnels have rules of their own.
 *
 * @param onFlood called for each connection that is ended
 */
export function boundRecords(server: Server, rests: FloodRests, onFlood: () => void): void {
  server.on('secureConnection', (socket: TLSSocket) => {
    const connection = new Connection(socket as Secure, () => {
      onFlood()
      rests.flooded(socket)
    })
    connection.watch()
  })
}

interface Secure extends TLSSocket {
  /** `_consumed` is true while the parser reads the native socket, and false once the stream reads. */
  readonly parser?: { readonly incoming: IncomingMessage | null; readonly _consumed: boolean } | null
  _unrefTimer(): void
}

/** The reason not to read a connection: many records wait in its stream. */
const FULL = 'full'

/** A connection, from its handshake on. */
class Connection {
  readonly #socket: Secure
  readonly #onFlood: () => void
  #isEnding = false
  #bytes = 0
  #reads = 0
  #isByStream = false
  /** Short records that wait in the stream. */
  #waiting = 0
  /** The last request whose head has come. */
  #request: IncomingMessage | null = null
  #keys = 0
  #keysSince = 0

  constructor(socket: Secure, onFlood: () => void) {
    this.#socket = socket
    this.#onFlood = onFlood
  }

  watch(): void {
    const socket = this.#socket
    const refresh = socket._unrefTimer
    socket._unrefTimer = () => {
      this.#onRead(socket)
      refresh.call(socket)
    }
    socket.on('resume', () => {
      // The waiting records continue after this event, unless the socket is paused again.
      if (this.#waiting > 0) setImmediate(() => socket.isPaused() || this.#goOn())
    })
    socket.on('keylog', (line: Buffer) => {
      if (line.includes('CLIENT_TRAFFIC_SECRET_N')) this.#countKey()
    })
  }

  #goOn(): void {
    this.#waiting = 0
    startReads(this.#socket, FULL)
  }

  /** Also called for each write, which brings no bytes. */
  #onRead(socket: Secure): void {
    const bytes = socket.bytesRead - this.#bytes
    if (bytes === 0) return
    this.#bytes = socket.bytesRead
    if (socket.parser?._consumed !== false) this.#countRead(socket, bytes)
    else if (!this.#isByStream) this.#readByStream(socket)
    else if (socket.readableLength > 0 && bytes < LONG_READ && ++this.#waiting > MAX_READS)
      stopReads(this.#socket, FULL)
  }

  /** Node's own listener comes first, so this one is called after the parser has had the piece. */
  #readByStream(socket: Secure): void {
    this.#isByStream = true
    this.#reads = 0
    socket.on('data', (piece: Buffer) => this.#countRead(socket, piece.length))
  }

  /** @param bytes that the parser has just had */
  #countRead({ parser }: Secure, bytes: number): void {
    const request = parser?.incoming ?? null
    const isWithinHead = request === this.#request && (request === null || request.complete)
    this.#request = request
    if (!isWithinHead || parser == null) this.#reads = 0
    else if (bytes < LONG_READ) this.#reads++
    if (this.#reads > MAX_READS) this.#end()
  }

  #countKey(): void {
    const now = performance.now()
    if (now - this.#keysSince > KEYS_MS) {
      this.#keys = 0
      this.#keysSince = now
    }
    if (++this.#keys > MAX_KEYS) this.#end()
  }

  #end(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    stopReads(this.#socket, 'end')
    setImmediate(() => this.#socket.destroy())
    this.#onFlood()
  }
}
