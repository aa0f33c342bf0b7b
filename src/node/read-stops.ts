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

/** Why a connection is not read, by the connection below TLS. */
const stopsOf = new WeakMap<Socket, Set<string>>()
/** Handles that ask before they start. */
const guarded = new WeakSet<Handle>()

/**
 * Reads no more of a connection, at once: libuv, which would read it up to 32 times in a turn, asks before each time (26.10).
 *
 * The stream notices nothing of it. Whoever pauses and resumes the stream meanwhile, as Node does around each body that is read slowly, starts
 * nothing: a method of the handle's own hides `readStart`, and what the stream wants is in `reading`.
 *
 * @param socket the connection, or the one within TLS once its hands are shaken
 * @param why reasons are counted by name, and the last one that goes lets the connection be read on
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

/** Reads it on if no other reason is left, and its stream wants it to be read. */
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
