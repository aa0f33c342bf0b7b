import type { Socket } from 'node:net'
import { bodyPiecesOf, MANY } from './body-pieces.ts'
import { startReads, stopReads } from './read-stops.ts'

/** Bytes that a connection brings before it waits for a turn. With 16 KiB, a quarter of one read, large uploads cost a quarter more CPU. */
const LONG = 256 * 1024
/** Bytes that a new connection brings before its first turn, so that a client gains nothing by opening connections again and again. */
const FIRST = 16 * 1024
/** After so many bytes the number of their pieces is checked. */
const LOOK = 16 * 1024
const WHY = 'long read'

export interface ReadRules {
  /** Gives the turn in which a connection that has brought so many bytes may be read on. */
  take(bytes: number): Promise<void>
  /** Called if the bytes were a body in too many pieces. */
  onManyPieces(): void
  /**
   * Called within the read as soon as the pieces are too many. Default no body ends there.
   * @returns whether the body ends there, so that the rest of the read costs little. Then the connection must end, too
   */
  endsAtMany?(): boolean
}

interface Timed extends Socket {
  readonly parser?: object | null
  _unrefTimer(): void
}

/**
 * Lets a connection with many bytes wait for a turn before it is read on. The bytes may be a body, also one that nobody reads, line ends
 * without a request, or data of a tunnel.
 *
 * libuv reads a connection up to 32 times in a turn, 64 KiB at a time (26.10). Without this, a few hundred connections with refused, endless
 * bodies would keep every user waiting for seconds.
 *
 * Node's parser reads the native socket itself. Node calls `_unrefTimer` of the socket after each read and for each write, as in
 * `short-records.ts`. A method on the socket itself hides `_unrefTimer`.
 *
 * @param socket a new connection of a server of HTTP, or the one within TLS
 */
export function boundReads(socket: Socket, rules: ReadRules): void {
  const timed = socket as Timed
  const refresh = timed._unrefTimer
  const pieces = bodyPiecesOf(socket)
  const { endsAtMany } = rules
  if (pieces !== null && endsAtMany !== undefined) pieces.endsAtMany = endsAtMany
  /** Bytes that were checked for pieces, and bytes that have had their turn. */
  let [looked, seen] = [0, FIRST - LONG]
  function look(): void {
    looked = timed.bytesRead
    // Once Node has released a connection, its parser counts the pieces of another one.
    if (pieces !== null && timed.parser != null && pieces.ofTurn >= MANY) rules.onManyPieces()
    const bytes = looked - seen
    if (bytes < LONG) return
    seen = looked
    stopReads(socket, WHY)
    void rules.take(bytes).then(readOn)
  }
  function readOn(): void {
    startReads(socket, WHY)
  }
  timed._unrefTimer = () => {
    if (timed.bytesRead - looked >= LOOK) look()
    refresh.call(socket)
  }
}
