import type { Socket } from 'node:net'

/** `turn`: a request on it waits for its turn. `pieces`: it has brought its body in too many pieces. */
type Why = 'turn' | 'pieces'

/** Why connections are not read, by the connection. */
const reasons = new WeakMap<Socket, Set<Why>>()

/**
 * Reads no more of a connection while there is a reason: so only what one read has brought is looked at, whatever the client goes on
 * sending. That its client leaves is noticed when the response before it is written, or when it is read again.
 */
export function holdBack(socket: Socket, why: Why): void {
  let held = reasons.get(socket)
  if (held === undefined) {
    const own = new Set<Why>()
    held = own
    reasons.set(socket, own)
    // Node resumes it by itself whenever it is done with the body of a request.
    socket.on('resume', () => {
      if (own.size > 0) stopReading(socket)
    })
  }
  held.add(why)
  stopReading(socket)
}

/** Reads on where no other reason is left. */
export function readOn(socket: Socket, why: Why): void {
  const held = reasons.get(socket)
  if (held?.delete(why) && held.size === 0) socket.resume()
}

/** Node's server stops the handle by the event. A stream that is paused when it is paused again emits none. */
function stopReading(socket: Socket): void {
  socket.pause()
  socket.emit('pause')
}
