import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Whether the responses before this one on its connection are not out yet. Such a request is not looked at: it would hold a
 * place, a charge and a connection to the upstream while its response waits, and all of that 32 times for one connection.
 */
export function isBehindOthers(res: ServerResponse): boolean {
  return res.socket === null && !res.destroyed
}

/** Resolves when the responses before it are out, or its connection is gone. */
export async function turnOf(res: ServerResponse): Promise<void> {
  await Promise.race([once(res, 'socket'), once(res, 'close')])
}

const held = new WeakMap<Socket, boolean>()

/**
 * Reads no more of a connection while a request on it waits for its turn: so only what one read has brought waits, whatever
 * the client goes on sending. That its client leaves is noticed when the response before it is written.
 */
export function holdBack(socket: Socket): void {
  if (!held.has(socket)) {
    // Node resumes it by itself whenever it is done with the body of a request.
    socket.on('resume', () => {
      if (held.get(socket)) stopReading(socket)
    })
  }
  held.set(socket, true)
  stopReading(socket)
}

export function readOn(socket: Socket): void {
  if (!held.get(socket)) return
  held.set(socket, false)
  socket.resume()
}

/** Node's server stops the handle by the event. A stream that is paused when it is paused again emits none. */
function stopReading(socket: Socket): void {
  socket.pause()
  socket.emit('pause')
}
