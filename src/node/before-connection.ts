import type { Server, Socket } from 'node:net'

/**
 * Puts something before all that a server does with a new connection. Node's own listener of the event is one of a server's, and the
 * first, so there is no other place before a handshake of TLS, or before the parser has the first bytes.
 *
 * What was read of the connection, and is for the server, is to be put back by `unshift`: both the parser and TLS begin with what the
 * stream holds (26.10, `lib/_http_server.js`, `connectionListenerInternal`; `lib/internal/tls/wrap.js`, `initRead`).
 *
 * @param first told of each connection; whoever is told passes it on by `go`, at once or later, or never
 */
export function beforeConnection(server: Server, first: (socket: Socket, go: (socket: Socket) => void) => void): void {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  const go = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket)
  }
  server.on('connection', (socket: Socket) => first(socket, go))
}
