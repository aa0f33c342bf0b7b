import type { Socket } from 'node:net'
import { startReads, stopReads } from './read-stops.ts'

/** A piece with so many bytes is not short. */
const LONG = 1024
/** Short pieces that one turn of the event loop may bring. */
const MANY = 256
/** How long a connection with more pieces rests, in milliseconds. It varies, so that not all come back in the same turn. */
const [SHORTEST_MS, LONGEST_MS] = [1000, 1500]
const WHY = 'short pieces'

/**
 * Lets the client of a tunnel rest after many short pieces in one turn of the event loop. One read by TLS brings up to 2800 records of one
 * byte, each a Buffer and a write: ten connections would take 400 ms of each turn from all others (26.10).
 *
 * A paused stream still reads up to 64 KiB, each byte a piece. So the handle is stopped, too. It starts again a turn after the stream, and
 * only if the pieces that waited in the stream were not too many themselves.
 *
 * @param source the client's socket, which is piped to `reader`
 */
export function restBehindShortPieces(source: Socket, reader: Socket): void {
  let pieces = 0
  let isResting = false

  function stop(): void {
    source.pause()
    stopReads(source, WHY)
  }

  function goOn(): void {
    isResting = false
    // Without room the pipe resumes the source itself, as soon as the reader has room again.
    if (!reader.writableNeedDrain) source.resume()
    setImmediate(() => {
      if (!isResting) startReads(source, WHY)
    })
  }

  source.on('resume', () => isResting && stop())
  source.on('data', (piece: Buffer) => {
    if (piece.length >= LONG) return
    if (pieces++ === 0)
      setImmediate(() => {
        pieces = 0
      })
    if (pieces < MANY || isResting) return
    isResting = true
    stop()
    setTimeout(goOn, SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS)).unref()
  })
}
