import type { ServerResponse } from 'node:http'

/** How much of responses may wait for clients that read slower than the upstream writes. In bytes. */
export interface BufferRules {
  /** Of one response: while less of it waits, the upstream is read on. 0: it is not, as soon as anything waits. */
  readonly perResponse: number
  /** Of all responses together, in the same sense. */
  readonly total: number
  readonly held: Held
}

/** What waits of all responses, in bytes. */
export interface Held {
  bytes: number
}

/** Bytes of the memory into which short pieces are put together. */
const BLOCK = 16 * 1024

/**
 * The part of a response that its client's connection does not take yet. Made only for a client that reads slowly.
 *
 * What counts is the memory that it keeps. A short piece lies in memory that Node shares out among many, and would keep 64 KiB of it
 * for as long as it waits (26.10); one that fills a part of a read would keep the whole read. Both are copied.
 */
export class Backlog {
  readonly #res: ServerResponse
  readonly #pieces: Buffer[] = []
  /** The last piece, which is not full; `null` if there is none. */
  #block: Buffer | null = null
  #used = 0
  #bytes = 0

  constructor(res: ServerResponse) {
    this.#res = res
  }

  /** The memory that it keeps, in bytes, without what the client's connection has taken over. */
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
   * Hands on as much as the client's connection takes. To be called when it has room.
   *
   * @returns whether it has room still
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
