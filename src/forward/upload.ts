import type { IncomingMessage } from 'node:http'
import type { Connection } from './connection.ts'

/** How long a client may go on sending a body that nobody wants any more, in milliseconds. */
const LINGER_MS = 5_000

/** A client's body on its way to the backend, as fast as the backend takes it. */
export class Upload {
  readonly #req: IncomingMessage
  readonly #connection: Connection
  readonly #chunked: boolean
  readonly #onProgress: () => void
  readonly #onData = (piece: Buffer): void => this.#add(piece)
  readonly #onEnd = (): void => this.#finish()
  #pieces: Buffer[] = []
  #done = false

  /** @param onProgress called whenever the backend has taken something */
  constructor(req: IncomingMessage, connection: Connection, chunked: boolean, onProgress: () => void) {
    this.#req = req
    this.#connection = connection
    this.#chunked = chunked
    this.#onProgress = onProgress
    req.on('data', this.#onData).on('end', this.#onEnd)
    req.resume()
  }

  /** Whether the backend has been sent all of it. */
  get done(): boolean {
    return this.#done
  }

  onDrain(): void {
    if (this.#done) return
    this.#onProgress()
    this.#req.resume()
  }

  /**
   * The rest is read to nowhere, so that the answer arrives and the connection can serve the next request: closing it over
   * unread bytes would send a reset, which may destroy the answer on its way (RFC 9112 section 9.6).
   */
  stop(): void {
    const req = this.#req
    this.#pieces = []
    req.off('data', this.#onData).off('end', this.#onEnd).resume()
    if (req.complete || req.destroyed) return
    const timer = setTimeout(() => req.socket.destroy(), LINGER_MS).unref()
    req.once('close', () => clearTimeout(timer))
  }

  /** Pieces that came in one packet leave in one: a client that sends chunks of one byte shall not cost a write for each. */
  #add(piece: Buffer): void {
    this.#pieces.push(piece)
    // Not a tick: Node lets the ticks run between any two chunks that its parser finds in one packet.
    if (this.#pieces.length === 1) setImmediate(() => this.#send())
  }

  #send(): void {
    const [first] = this.#pieces
    if (first === undefined) return
    const body = this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces)
    this.#pieces = []
    if (this.#connection.write(this.#chunked ? chunkOf(body) : body)) this.#onProgress()
    else this.#req.pause()
  }

  #finish(): void {
    this.#send()
    this.#done = true
    if (this.#chunked) this.#connection.write('0\r\n\r\n')
    this.#onProgress()
  }
}

/** RFC 9112 section 7.1. Copied together: one write costs less than three. */
function chunkOf(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF])
}

const CRLF = Buffer.from('\r\n')
