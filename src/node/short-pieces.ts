import type { IncomingMessage } from 'node:http'

/** A piece with so many bytes is passed on as it is. */
const LONG = 1024
/** The most pieces that are held at a time. */
const MAX_HELD = 256
/** How long pieces are held if nobody has read the ones before them, in milliseconds. */
const HELD_MS = 20

/** How much of a body has come: bytes of the body, without the sizes and extensions of its chunks. */
export interface Arrived {
  readonly bytes: number
}

/**
 * Joins short pieces of a request's body: chunks that come in one packet, and packets or TLS records of one byte.
 *
 * Node's parser makes a Buffer of each piece, which is 400 bytes for a piece of one byte. A request that waits for its keys, its charge, a
 * connection or a slow upstream holds up to 64 KiB of such pieces, which then take 27 MB (26.10).
 *
 * The parser hands pieces over by `push`, and reads on if that returns true (26.10, `lib/_http_common.js`, `parserOnBody`). A method on the
 * request itself hides `push`.
 *
 * @returns how much of the body has come, kept up to date
 */
export function joinShortPieces(req: IncomingMessage): Arrived {
  const arrived = { bytes: 0 }
  const push = req.push.bind(req)
  let held: Buffer[] = []
  let size = 0

  function flush(): void {
    if (held.length === 0 || req.destroyed) return
    const joined = Buffer.concat(held, size)
    held = []
    size = 0
    push(joined)
  }

  function flushSoon(): void {
    if (req.readableLength === 0) flush()
    // Nobody waits for these pieces yet, and more may come.
    else if (held.length > 0) setTimeout(flush, HELD_MS)
  }

  req.push = (piece: Buffer | null): boolean => {
    arrived.bytes += piece?.length ?? 0
    if (piece === null || piece.length >= LONG) {
      flush()
      return push(piece)
    }
    if (held.length === 0) setImmediate(flushSoon)
    held.push(piece)
    size += piece.length
    if (held.length === MAX_HELD) flush()
    return req.readableLength + size < req.readableHighWaterMark
  }
  return arrived
}
