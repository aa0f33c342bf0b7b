import type { Socket } from 'node:net'

/** Bytes that are kept before the upstream agrees. A client has nothing to send until then (RFC 6455, 4.1), and may send a little ahead. */
const MAX_EARLY = 16 * 1024

/** What the client of a handshake sends before the upstream agrees. It is read: behind bytes that wait nobody sees that a client leaves. */
export class EarlyBytes {
  readonly #client: Socket
  readonly #onTooMany: () => void
  readonly #onData = (piece: Buffer): void => this.#keep(piece)
  #pieces: Buffer[] = []
  #size = 0

  constructor(client: Socket, onTooMany: () => void) {
    this.#client = client
    this.#onTooMany = onTooMany
    client.on('data', this.#onData)
  }

  /** Leaves them, and all that still comes, to whoever reads the client next. */
  giveBack(): void {
    const pieces = this.#pieces
    this.discard()
    this.#client.pause()
    if (pieces.length > 0 && !this.#client.readableEnded) this.#client.unshift(Buffer.concat(pieces))
  }

  /** They, and all that still comes, are read to nowhere. */
  discard(): void {
    this.#client.off('data', this.#onData)
    this.#pieces = []
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#size += piece.length
    if (this.#size > MAX_EARLY) this.#onTooMany()
  }
}
