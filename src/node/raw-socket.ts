import type { Socket } from 'node:net'

/**
 * The connection that TLS is spoken on; a connection in the clear is its own. Node's server reports both, and names the one within the
 * other only inside (26.10, `lib/internal/tls/wrap.js`).
 */
export function rawSocketOf(socket: Socket): Socket {
  return (socket as { _parent?: Socket })._parent ?? socket
}
