import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** How long a client that gets no more may go on sending, in milliseconds. */
const LINGER_MS = 5_000

/**
 * The client must see that the response is not whole: a reset, since a clean end would end a body without a length.
 * @param behind whether it came behind others, of which a reset would throw away what the client has not read yet: then
 * the end of the connection has to do, which in HTTP/1.1 ends no response of ours
 */
export function breakOff({ req, res }: { req: IncomingMessage; res: ServerResponse }, behind: boolean): void {
  const socket: Socket = req.socket
  if (behind && req.httpVersion === '1.1') {
    res.shouldKeepAlive = false // which the listener asks, too
    hangUp(socket)
  } else if ('encrypted' in socket) res.destroy()
  else reset(socket)
}

/**
 * Closes a connection so that the other end sees that more was to come. While the end of the connection is on its way a reset fails:
 * Node 26.10 reports EINVAL, never says that the socket is closed, and keeps its descriptor.
 */
export function reset(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if ('encrypted' in socket || isEnding) socket.destroy()
  else socket.resetAndDestroy()
}

/** What is on its way still arrives. What still comes is read to nowhere for a while: closed at once, TCP would reply by a reset. */
export function hangUp(socket: Duplex): void {
  socket.end(() => closeLater(socket))
}

/** Nothing that comes is looked at any more, and the connection is closed after a while. */
export function readToNowhere(socket: Duplex): void {
  socket.resume()
  closeLater(socket)
}

const leaving = new WeakSet<Duplex>()

/** Whatever still comes: the first call counts. */
export function closeLater(socket: Duplex): void {
  if (leaving.has(socket)) return
  leaving.add(socket)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
