import type { Socket } from 'node:net'
import { rawSocketOf } from './raw-socket.ts'

interface Handle {
  /** Whether the stream wants to be read. */
  readonly reading?: boolean
  readStart(): number
  readStop(): number
}

interface Handled extends Socket {
  /** `null` once the connection is closed. */
  readonly _handle: Handle | null
}

/** The reasons why a connection is not read, by the connection below TLS. */
const stopsOf = new WeakMap<Socket, Set<string>>()
/** Handles whose `readStart` first looks for reasons not to read. */
const guarded = new WeakSet<Handle>()

/**
 * Stops reading a connection at once. libuv, which would read it up to 32 times in a turn, asks before each read (26.10).
 *
 * The stream notices nothing. If the stream is paused and resumed meanwhile, as Node does around each body that is read slowly, reading
 * does not start, because a method on the handle itself hides `readStart`. The handle's `reading` still says what the stream wants.
 *
 * @param socket the connection, or the one within TLS after its handshake
 * @param why names the reason. The connection is read on when its last reason has gone
 */
export function stopReads(socket: Socket, why: string): void {
  const raw = rawSocketOf(socket)
  const handle = (socket as Handled)._handle
  if (handle === null) return
  let stops = stopsOf.get(raw)
  if (stops === undefined) {
    stops = new Set()
    stopsOf.set(raw, stops)
  }
  stops.add(why)
  guard(handle, stops)
  handle.readStop()
}

/** Reads the connection on if no other reason is left and its stream wants to be read. */
export function startReads(socket: Socket, why: string): void {
  const stops = stopsOf.get(rawSocketOf(socket))
  if (stops === undefined || !stops.delete(why) || stops.size > 0) return
  const handle = (socket as Handled)._handle
  if (handle !== null && handle.reading !== false) handle.readStart()
}

function guard(handle: Handle, stops: ReadonlySet<string>): void {
  if (guarded.has(handle)) return
  guarded.add(handle)
  const { readStart } = handle
  handle.readStart = () => (stops.size > 0 ? 0 : readStart.call(handle))
}
