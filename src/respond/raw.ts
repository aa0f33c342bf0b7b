import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** How long a client may go on sending after its last response, in milliseconds. */
const LINGER_MS = 5_000

/**
 * The client must see that the response is not complete. A reset shows it; a clean end would look like the end of a
 * body.
 * @param behind whether other responses came before this one on the connection. A reset would destroy what the client has not read of
 * them. So in HTTP/1.1 the connection is ended instead, which completes no response of ours
 */
export function breakOff({ req, res }: { req: IncomingMessage; res: ServerResponse }, behind: boolean): void {
  const socket: Socket = req.socket
  if (behind && req.httpVersion === '1.1') {
    res.shouldKeepAlive = false // The listener reads this, too.
    hangUp(socket)
  } else if ('encrypted' in socket) res.destroy()
  else reset(socket)
}

/**
 * Closes a connection so that the other end sees that more was to come. While the end of the connection is on its way a reset fails:
 * Node 26.10 reports EINVAL, never reports that the socket is closed, and keeps its descriptor.
 */
export function reset(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if ('encrypted' in socket || isEnding) socket.destroy()
  else socket.resetAndDestroy()
}

/** Lets sent bytes arrive, and drops further ones for a while: closed at once, TCP would reply to them by a reset. */
export function hangUp(socket: Duplex): void {
  socket.end(() => closeLater(socket))
}

/** Drops all further bytes, and closes the connection after a while. */
export function readToNowhere(socket: Duplex): void {
  socket.resume()
  closeLater(socket)
}

const leaving = new WeakSet<Duplex>()

/** Closes later, whatever still comes. The first call counts. */
export function closeLater(socket: Duplex): void {
  if (leaving.has(socket)) return
  leaving.add(socket)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
