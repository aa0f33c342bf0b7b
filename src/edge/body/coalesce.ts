import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { holdBack, readOn } from '../held-back.ts'

/** Bytes of a piece that is passed on as it is. */
const LONG = 1024
/** Pieces that are held at a time. */
const MAX_HELD = 256
/** Short pieces that one read brings where its sender is after the work that they make: 64 KiB of chunks of one byte take 16 ms. */
const MANY = 1000
/** How long such a connection is not read then, in milliseconds. */
const REST_MS = 1000
/** How long they are held where nobody has read what came before them, in milliseconds. */
const HELD_MS = 20

/**
 * Puts short pieces of a request's body together: chunks that came in one packet, and packets or TLS records of a byte
 * that come while nobody reads. Node's parser makes a Buffer of each, 400 bytes for a piece of one byte (26.10), and holds
 * up to 64 KiB of them for a request that waits for its keys, its charge, a connection or a slow backend: 27 MB.
 *
 * `push` is how the parser hands pieces over. It reads on where that returns true, and again once the stream asks for more.
 */
export function joinShortPieces(req: IncomingMessage): void {
  if (!mayHaveMany(req)) return
  const { socket } = req
  /** Short pieces of this turn of the event loop. */
  let pieces = 0
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
    pieces = 0
    if (req.readableLength === 0) flush()
    // Nobody waits for them yet, and more may come.
    else if (held.length > 0) setTimeout(flush, HELD_MS)
  }

  req.push = (piece: Buffer | null): boolean => {
    if (piece === null || piece.length >= LONG) {
      flush()
      return push(piece)
    }
    if (held.length === 0) setImmediate(flushSoon)
    if (++pieces === MANY) rest(socket)
    held.push(piece)
    size += piece.length
    if (held.length === MAX_HELD) flush()
    return req.readableLength + size < req.readableHighWaterMark
  }
}

/** What others send comes in its turn meanwhile. */
function rest(socket: Socket): void {
  holdBack(socket, 'pieces')
  setTimeout(() => readOn(socket, 'pieces'), REST_MS).unref()
}

/** A body that is shorter than one long piece is not worth it. */
function mayHaveMany({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LONG
}
