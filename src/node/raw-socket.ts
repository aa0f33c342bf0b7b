import type { Socket } from 'node:net'

/**
 * The connection of TCP that a request came by: of one by TLS the one below it, which the server's event `connection` gives. Node has no
 * public name for it (26.10).
 */
export function rawSocketOf(socket: Socket): Socket {
  return (socket as Within)._parent ?? socket
}

interface Within extends Socket {
  /** `null` on a connection in the clear. */
  readonly _parent?: Socket | null
}
