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

/** At least what Node keeps for a piece beside its bytes, 115 to 150 (26.10): else short pieces would take many times their bound. */
const PIECE = 256
/** Bytes from which on a piece may lie in a larger buffer that it keeps alive. */
const LARGE = 16 * 1024

/** The part of a response that its client's connection does not take yet. Made only for a client that reads slowly. */
export class Backlog {
  readonly #res: ServerResponse
  readonly #pieces: (Buffer | string)[] = []
  #bytes = 0

  constructor(res: ServerResponse) {
    this.#res = res
  }

  /** What it holds, in bytes, without what the client's connection has taken over. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0
  }

  add(piece: Buffer | string): void {
    this.#pieces.push(typeof piece === 'string' ? piece : compact(piece))
    this.#bytes += piece.length + PIECE
  }

  /** Hands on as much as the client's connection takes. */
  flush(): void {
    let count = 0
    for (const piece of this.#pieces) {
      if (this.#res.writableNeedDrain) break
      this.#res.write(piece, 'latin1')
      this.#bytes -= piece.length + PIECE
      count++
    }
    this.#pieces.splice(0, count)
  }
}

/** A piece that keeps more than twice its bytes alive is copied. Those of a long body mostly fill the buffer in which they came. */
function compact(piece: Buffer): Buffer {
  return piece.length > LARGE && piece.buffer.byteLength > 2 * piece.length ? Buffer.from(piece) : piece
}
