import type { Socket } from 'node:net'

/** How many bytes to keep until the upstream agrees. A client should send nothing before that (RFC 6455, 4.1), but it can. */
const MAX_EARLY = 16 * 1024

/** What the client of a handshake sends early. It is read, because otherwise nobody would notice that the client leaves. */
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

  /** Leaves these bytes, and all that follow, to the next reader of the client. */
  giveBack(): void {
    const pieces = this.#pieces
    this.discard()
    this.#client.pause()
    if (pieces.length > 0 && !this.#client.readableEnded) this.#client.unshift(Buffer.concat(pieces))
  }

  /** Discards these bytes and all that follow. */
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
