import type { IncomingMessage } from 'node:http'
import { giveBack } from '../node/own-memory.ts'
import type { Connection } from './client/contract.ts'

/** How long a client may go on sending a body that nobody wants any more, in milliseconds. */
const LINGER_MS = 5_000
/** Bytes that wait for no more to leave with, and are not copied on the way. */
const LARGE = 16 * 1024
/** Pieces that wait to be put together. */
const MAX_LOOSE = 256

/** What an upload needs of a connection. */
type BodyConnection = Pick<Connection, 'write' | 'end' | 'flushed'>

/** A client's body on its way to the upstream, as fast as the upstream takes it. */
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
  /** Bytes of them. */
  #size = 0
  /** Given to the connection, and perhaps not yet taken by the kernel. */
  #sent: Buffer[] = []
  /** Writes that the kernel has not taken yet. */
  #untaken = 0
  #done = false

  /**
   * @param req nobody else may keep what its `data` events bring: it is emptied
   * @param onProgress called whenever the upstream has been sent or has taken something
   */
  constructor(req: IncomingMessage, connection: BodyConnection, onProgress: () => void) {
    this.#req = req
    this.#connection = connection
    this.#onProgress = onProgress
    req.on('data', this.#onData).on('end', this.#onEnd)
    req.resume()
  }

  /** Whether the upstream has been sent all of it. */
  get done(): boolean {
    return this.#done
  }

  /** Whether it is the client that keeps the upstream waiting: all that has come is sent. */
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
   * The rest is read to nowhere, so that the response arrives and the connection can serve the next request: closing it over
   * unread bytes would send a reset, which may destroy the response on its way (RFC 9112 section 9.6).
   */
  stop(): void {
    const req = this.#req
    this.#pieces = []
    req.off('data', this.#onData).off('end', this.#onEnd).resume()
    if (req.complete || req.destroyed) return
    const timer = setTimeout(() => req.socket.destroy(), LINGER_MS).unref()
    req.once('close', () => clearTimeout(timer))
  }

  /** Short pieces that came in one packet leave in one: a client that sends chunks of one byte shall not cost a write for each. */
  #add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#size += piece.length
    if (this.#size >= LARGE) this.#send()
    // Not a tick: Node lets the ticks run between any two chunks that its parser finds in one packet.
    else if (this.#pieces.length === 1) setImmediate(() => this.#sendSome())
    else if (this.#pieces.length === MAX_LOOSE) this.#pieces = [Buffer.concat(this.#pieces)]
  }

  /**
   * Short pieces wait until the kernel has taken those before them: if the upstream does not read, 64 KiB of writes of a
   * byte each would take 27 MB (Node 26.10).
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

  /** Gives back the memory of what the kernel has taken, a piece later at the latest. */
  #empty(): void {
    if (this.#sent.length === 0 || !this.#connection.flushed) return
    giveBack(this.#sent)
    this.#sent = []
  }
}
