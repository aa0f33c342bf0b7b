import type { ServerResponse } from 'node:http'

/** How many bytes of responses may wait for clients that read more slowly than the upstream writes. */
export interface BufferRules {
  /** For one response. The upstream is read on while fewer bytes wait; with 0, only while nothing waits. */
  readonly perResponse: number
  /** For all responses together, in the same way. */
  readonly total: number
  readonly held: Held
}

/** How many bytes of all responses wait. */
export interface Held {
  bytes: number
}

/** The size of a block in which short pieces are put together, in bytes. */
const BLOCK = 16 * 1024

/**
 * The part of a response that its client's connection does not accept yet. It is created only for a client that reads slowly.
 *
 * A backlog counts the memory that it keeps alive. A short piece lies in memory that Node shares among many pieces, and would keep
 * 64 KiB of it alive (26.10). A piece that is a part of a read would keep the whole read. So a piece that fills less than half of its
 * memory is copied.
 */
export class Backlog {
  readonly #res: ServerResponse
  readonly #pieces: Buffer[] = []
  /** The last block, which is not full yet; `null` if there is none. */
  #block: Buffer | null = null
  #used = 0
  #bytes = 0

  constructor(res: ServerResponse) {
    this.#res = res
  }

  /** The memory that it keeps alive, in bytes, without what the client's connection has accepted. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0 && this.#block === null
  }

  add(piece: Buffer | string): void {
    if (typeof piece !== 'string' && fillsItsMemory(piece)) {
      this.#closeBlock()
      this.#pieces.push(piece)
      this.#bytes += piece.buffer.byteLength
      return
    }
    const block = this.#blockFor(piece.length)
    this.#used += typeof piece === 'string' ? block.write(piece, this.#used, 'latin1') : piece.copy(block, this.#used)
  }

  #blockFor(length: number): Buffer {
    if (this.#block !== null && this.#block.length - this.#used >= length) return this.#block
    this.#closeBlock()
    const block = Buffer.allocUnsafeSlow(Math.max(BLOCK, length))
    this.#block = block
    this.#bytes += block.length
    return block
  }

  #closeBlock(): void {
    if (this.#block !== null) this.#pieces.push(this.#block.subarray(0, this.#used))
    this.#block = null
    this.#used = 0
  }

  /**
   * Hands on as much as the client's connection accepts. Call it when the connection has room.
   *
   * @returns whether the connection still has room
   */
  flush(): boolean {
    let count = 0
    let hasRoom = true
    this.#closeBlock()
    while (hasRoom && count < this.#pieces.length) {
      const piece = this.#pieces[count++] as Buffer
      hasRoom = this.#res.write(piece)
      this.#bytes -= piece.buffer.byteLength
    }
    this.#pieces.splice(0, count)
    return hasRoom
  }
}

function fillsItsMemory(piece: Buffer): boolean {
  return piece.buffer.byteLength <= 2 * piece.length
}
