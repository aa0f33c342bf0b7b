import type { Socket } from 'node:net'

/**
 * The TCP connection of a request. By TLS it is the connection below, which the server's event `connection` gives. Node has no public
 * name for it (26.10).
 */
export function rawSocketOf(socket: Socket): Socket {
  return (socket as Within)._parent ?? socket
}

/**
 * Whether a handshake of TLS failed because the client speaks plain HTTP. Such a client can get a response on the connection below, which
 * is open until the listener of the error has returned (26.10, OpenSSL 3.5). OpenSSL recognises only the most common methods.
 */
export function isPlainHttp({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_SSL_HTTP_REQUEST' || code === 'ERR_SSL_HTTPS_PROXY_REQUEST'
}

interface Within extends Socket {
  /** `null` on a connection without TLS. */
  readonly _parent?: Socket | null
}
