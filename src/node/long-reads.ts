import type { Socket } from 'node:net'
import { bodyPiecesOf, MANY } from './body-pieces.ts'
import { startReads, stopReads } from './read-stops.ts'

/** Bytes that a connection brings before it waits for a turn. With 16 KiB, a quarter of one read, large uploads cost a quarter more CPU. */
const LONG = 256 * 1024
/** The same of a new connection. One that opens another as soon as it is closed brings no more with each. */
const FIRST = 16 * 1024
/** Bytes after which it is looked at in how many pieces they were. */
const LOOK = 16 * 1024
const WHY = 'long read'

export interface ReadRules {
  /** Gives the turn in which a connection that has brought so many bytes may be read on. */
  take(bytes: number): Promise<void>
  /** Called where they were a body in too many pieces. */
  onManyPieces(): void
  /**
   * Called within the read as soon as there are so many. Default nobody's body ends there.
   * @returns whether the body ends there, so that the rest of the read costs little. Then the connection must end, too
   */
  endsAtMany?(): boolean
}

interface Timed extends Socket {
  readonly parser?: object | null
  _unrefTimer(): void
}

/**
 * Lets a connection that brings much wait for a turn to be read on: a body, also one that nobody looks at, line ends without a request, or
 * what goes through a tunnel.
 *
 * libuv reads a connection up to 32 times in a turn, 64 KiB at a time (26.10). So 400 connections with bodies without end, which were
 * refused, kept each of fifty users waiting for more than 4 s.
 *
 * Node's parser reads the native socket itself. For each read, when it is through, and for each write, `_unrefTimer` of the socket is called,
 * as in `short-records.ts`. A method of the socket's own hides it.
 *
 * @param socket a new connection of a server of HTTP, or the one within TLS
 */
export function boundReads(socket: Socket, rules: ReadRules): void {
  const timed = socket as Timed
  const refresh = timed._unrefTimer
  const pieces = bodyPiecesOf(socket)
  const { endsAtMany } = rules
  if (pieces !== null && endsAtMany !== undefined) pieces.endsAtMany = endsAtMany
  /** Bytes that were looked at, and those that have had their turn. */
  let [looked, seen] = [0, FIRST - LONG]
  function look(): void {
    looked = timed.bytesRead
    // Once Node has let go of a connection, its parser counts the pieces of another one.
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
