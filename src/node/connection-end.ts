import type { Socket } from 'node:net'

/**
 * Ends a connection in a way of our own when its last response is out.
 *
 * Node's HTTP server then calls `socket.destroySoon()`, which closes the connection although bytes of the client are not read yet: TCP
 * answers them by a reset (26.10, `lib/_http_server.js`, `resOnFinish`). There is no event before that call, so a method of the socket's
 * own hides it.
 *
 * @param end what is done instead; `asNode` does what Node does
 */
export function endInstead(socket: Socket, end: (asNode: () => void) => void): void {
  const asNode = socket.destroySoon.bind(socket)
  socket.destroySoon = () => end(asNode)
}

/** Undoes `endInstead`. */
export function endAsNode(socket: Socket): void {
  Reflect.deleteProperty(socket, 'destroySoon')
}
