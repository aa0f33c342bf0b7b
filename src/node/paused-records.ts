import type { Socket } from 'node:net'

/**
 * Keeps the bytes that a client sends by TLS while Node does not read its connection, because responses there are not taken.
 *
 * Node then pauses the socket and the parser (26.10). One read of the socket brings several records, though. Those after the
 * pause still go to the parser, which fails with `HPE_PAUSED`: a valid request would be refused as malformed, and the
 * responses before it lost. Once a connection has a listener of its own, Node hands records over by the stream, which holds
 * them back while it is paused. That stream still waits for the first bytes of the connection, which the parser has had, and
 * would not ask for more when it continues. An empty piece ends its wait.
 *
 * @param socket of a request that has just come, when Node has decided whether it reads on
 */
export function holdPausedRecords(socket: Socket): void {
  if (!socket.isPaused() || !('encrypted' in socket) || held.has(socket)) return
  held.add(socket)
  socket.on('data', () => {})
  socket.push(EMPTY)
}

/**
 * Reads a connection on, unless Node itself does not read it because responses there are not taken: Node then continues by itself.
 *
 * Node would pause a connection again that is resumed meanwhile, but not one that has a listener of its own. The next record of such a
 * connection would end the process (26.10, `lib/_http_server.js`, `socketOnData`).
 */
export function readOn(socket: Socket): void {
  if ((socket as { _paused?: boolean })._paused !== true) socket.resume()
}

/**
 * Reads and drops the bytes of a connection that Node's server has released, as after a CONNECT.
 *
 * By TLS the stream still waits for the bytes that the parser has had, and asks for no more when it is resumed (26.10). So nobody would
 * notice the end of the connection. An empty piece ends the wait of the stream here, too.
 */
export function readReleased(socket: Socket): void {
  socket.resume()
  if (!('encrypted' in socket)) return
  socket.on('data', () => {})
  socket.push(EMPTY)
}

const EMPTY = Buffer.alloc(0)

const held = new WeakSet<Socket>()
