import type { Socket } from 'node:net'

/**
 * The connection of TCP that a request came by: of one by TLS the one below it, which the server's event `connection` gives. Node has no
 * public name for it (26.10).
 */
export function rawSocketOf(socket: Socket): Socket {
  return (socket as Within)._parent ?? socket
}

/**
 * Whether a handshake of TLS failed since the client speaks HTTP in the clear. Such a client can be told by the connection below, which
 * is open until the listener of the error has returned (26.10, OpenSSL 3.5). OpenSSL knows the methods that are used most.
 */
export function isPlainHttp({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_SSL_HTTP_REQUEST' || code === 'ERR_SSL_HTTPS_PROXY_REQUEST'
}

interface Within extends Socket {
  /** `null` on a connection in the clear. */
  readonly _parent?: Socket | null
}
