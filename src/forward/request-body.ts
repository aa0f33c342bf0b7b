import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** How long a client may go on sending a body that nobody wants any more, in milliseconds. */
const LINGER_MS = 5_000

/**
 * A client's body on its way to the backend. undici destroys the body that it is given; with the request itself that would
 * close the client's connection before the answer is out (it would also take `req.socket` away).
 */
export class RequestBody extends Readable {
  readonly #req: IncomingMessage
  readonly #onData = (chunk: Buffer): void => {
    if (!this.push(chunk)) this.#req.pause()
  }
  readonly #onEnd = (): void => {
    this.push(null)
  }

  constructor(req: IncomingMessage) {
    super({ highWaterMark: 64 * 1024 })
    this.#req = req
    req.on('data', this.#onData).on('end', this.#onEnd).pause()
    this.on('error', ignore)
  }

  override _read(): void {
    this.#req.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#req.off('data', this.#onData).off('end', this.#onEnd)
    discardRest(this.#req)
    callback(error)
  }
}

/** undici listens while it needs to; an error after that has no reader. */
function ignore(): void {}

/**
 * Reads the rest of a body to nowhere, so that the answer arrives and the connection can serve the next request: closing
 * it over unread bytes would send a reset, which may destroy the answer on its way (RFC 9112 section 9.6).
 */
function discardRest(req: IncomingMessage): void {
  req.resume()
  if (req.complete || req.destroyed) return
  const timer = setTimeout(() => req.socket.destroy(), LINGER_MS).unref()
  req.once('close', () => clearTimeout(timer))
}

/** What `req` still holds: a Buffer where all has arrived, which needs no stream; a stream otherwise. */
export function bodyOf(req: IncomingMessage): Buffer | RequestBody | null {
  return req.complete ? (req.read() as Buffer | null) : new RequestBody(req)
}
