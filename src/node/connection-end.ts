import type { Socket } from 'node:net'

/**
 * Ends a connection in a way of our own after its last response.
 *
 * At that point Node's HTTP server calls `socket.destroySoon()`. This closes the connection although bytes of the client are not read yet,
 * and TCP responds to them by a reset (26.10, `lib/_http_server.js`, `resOnFinish`). No event comes before that call, so a method on the
 * socket itself hides `destroySoon`.
 *
 * @param end is called instead; `asNode` does what Node does
 */
export function endInstead(socket: Socket, end: (asNode: () => void) => void): void {
  const asNode = socket.destroySoon.bind(socket)
  socket.destroySoon = () => end(asNode)
}

/** Undoes `endInstead`. */
export function endAsNode(socket: Socket): void {
  Reflect.deleteProperty(socket, 'destroySoon')
}
