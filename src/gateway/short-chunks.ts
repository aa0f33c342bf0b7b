import type { IncomingMessage } from 'node:http'

/** Bytes of a chunk that is passed on as it is. */
const LONG = 1024
/** Chunks that are held at a time. */
const MAX_HELD = 256

/**
 * Puts short chunks of a request's body together that came in one packet. Node's parser makes a Buffer of each, 400 bytes
 * for a chunk of one byte (26.10), and holds up to 64 KiB of them for a request that nobody reads yet, because it waits for
 * its keys, its charge or a connection: 27 MB.
 *
 * `push` is how the parser hands pieces over. It reads on where that returns true, and again once the stream asks for more.
 */
export function joinShortChunks(req: IncomingMessage): void {
  if (req.headers['transfer-encoding'] === undefined) return
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

  req.push = (piece: Buffer | null): boolean => {
    if (piece === null || piece.length >= LONG) {
      flush()
      return push(piece)
    }
    if (held.length === 0) setImmediate(flush)
    held.push(piece)
    size += piece.length
    if (held.length === MAX_HELD) flush()
    return req.readableLength + size < req.readableHighWaterMark
  }
}
