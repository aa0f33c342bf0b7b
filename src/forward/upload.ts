import type { IncomingMessage } from 'node:http'
import { giveBack } from '../node/own-memory.ts'
import type { Connection } from './client/contract.ts'

/** How long a client may go on sending a body that is no longer needed, in milliseconds. */
const LINGER_MS = 5_000
/** In bytes. A piece of this size is sent alone, without being copied. */
const LARGE = 16 * 1024
/** How many pieces may wait to be put together. */
const MAX_LOOSE = 256

/** The part of a connection that an upload needs. */
type BodyConnection = Pick<Connection, 'write' | 'end' | 'flushed'>

/** A client's body on its way to the upstream, as fast as the upstream accepts it. */
export class Upload {
  readonly #req: IncomingMessage
  readonly #connection: BodyConnection
  readonly #onProgress: () => void
  readonly #onData = (piece: Buffer): void => this.#add(piece)
  readonly #onEnd = (): void => this.#finish()
  readonly #onTaken = (error?: Error | null): void => {
    this.#untaken--
    if (!error) this.#sendSome()
  }
  #pieces: Buffer[] = []
  /** The size of these pieces together, in bytes. */
  #size = 0
  /** Large pieces that were given to the connection, and which the kernel may not have accepted yet. */
  #sent: Buffer[] = []
  /** How many writes the kernel has not accepted yet. */
  #untaken = 0
  #done = false

  /**
   * @param req nobody else may keep the data of its `data` events, because its memory is freed
   * @param onProgress is called whenever something was sent to the upstream or accepted by it
   */
  constructor(req: IncomingMessage, connection: BodyConnection, onProgress: () => void) {
    this.#req = req
    this.#connection = connection
    this.#onProgress = onProgress
    req.on('data', this.#onData).on('end', this.#onEnd)
    req.resume()
  }

  /** Whether everything was sent to the upstream. */
  get done(): boolean {
    return this.#done
  }

  /** Whether the upstream waits for the client, because everything that has arrived was sent. */
  get starved(): boolean {
    return !this.#done && !this.#req.isPaused()
  }

  onDrain(): void {
    this.#empty()
    if (this.#done) return
    this.#req.resume()
    this.#onProgress()
  }

  /**
   * Discards the rest, so that the response arrives and the connection can serve the next request. Closing over unread bytes
   * would send a reset, which may destroy the response on its way (RFC 9112 section 9.6).
   */
  stop(): void {
    const req = this.#req
    this.#pieces = []
    req.off('data', this.#onData).off('end', this.#onEnd).resume()
    if (req.complete || req.destroyed) return
    const timer = setTimeout(() => req.socket.destroy(), LINGER_MS).unref()
    req.once('close', () => clearTimeout(timer))
  }

  /** Short pieces from one packet leave in one write, because a client must not cost a write for each byte. */
  #add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#size += piece.length
    if (this.#size >= LARGE) this.#send()
    // A tick would be too early, because Node runs ticks between two chunks that its parser finds in one packet.
    else if (this.#pieces.length === 1) setImmediate(() => this.#sendSome())
    else if (this.#pieces.length === MAX_LOOSE) this.#pieces = [Buffer.concat(this.#pieces)]
  }

  /**
   * Short pieces wait until the kernel has accepted those before. If the upstream does not read, 64 KiB in writes of one
   * byte would take 27 MB (Node 26.10).
   */
  #sendSome(): void {
    if (this.#untaken === 0) this.#send()
  }

  #send(): void {
    const [first] = this.#pieces
    if (first === undefined) return
    const body = this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#size = 0
    this.#empty()
    if (body.length >= LARGE) this.#sent.push(body)
    this.#untaken++
    if (!this.#connection.write(body, this.#onTaken)) this.#req.pause()
    this.#onProgress()
  }

  #finish(): void {
    this.#send()
    this.#done = true
    this.#connection.end()
    this.#empty()
    this.#onProgress()
  }

  /** Frees the memory of pieces that the kernel has accepted, at the latest with the next piece. */
  #empty(): void {
    if (this.#sent.length === 0 || !this.#connection.flushed) return
    giveBack(this.#sent)
    this.#sent = []
  }
}
