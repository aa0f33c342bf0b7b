import type { Server, Socket } from 'node:net'

/**
 * Runs a function before a server does anything with a new connection. Node's own listener of `connection` is the first one of a server.
 * There is no other place before a handshake of TLS, or before the parser gets the first bytes, so the function replaces that listener.
 *
 * Bytes that were read for the server must be put back by `unshift`: the parser and TLS both begin with the bytes that the stream
 * holds (26.10, `lib/_http_server.js`, `connectionListenerInternal`; `lib/internal/tls/wrap.js`, `initRead`).
 *
 * @param first gets each connection and passes it on by `go`, at once or later, or never
 */
export function beforeConnection(server: Server, first: (socket: Socket, go: (socket: Socket) => void) => void): void {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  const go = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket)
  }
  server.on('connection', (socket: Socket) => first(socket, go))
}
