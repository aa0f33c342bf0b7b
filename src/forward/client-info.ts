import type { IncomingMessage } from 'node:http'

/** Where a request came from and for whom it is sent. */
export interface Caller {
  /** Address of the TCP peer. */
  readonly peer: string
  readonly encrypted: boolean
  /** `1.0` or `1.1`. */
  readonly httpVersion: string
  readonly user: string | null
  readonly requestId: string
  readonly method: string
}

interface Call {
  readonly req: IncomingMessage
  readonly user: string | null
  readonly requestId: string
}

export function callerOf({ req, user, requestId }: Call): Caller {
  const { httpVersion, method = '', socket } = req
  return { peer: addressOfPeer(req), encrypted: 'encrypted' in socket, httpVersion, user, requestId, method }
}

/** IPv4 in its usual form also where the listener is an IPv6 one. */
function addressOfPeer(req: IncomingMessage): string {
  const address = req.socket.remoteAddress ?? 'unknown'
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

const PLAIN_USER = /^[!-$&-~]+$/

/**
 * The user id as a field value: UTF-8 bytes outside visible ASCII, and `%` itself, are percent-encoded,
 * so that decoding always gives the very id back.
 */
export function encodeUser(user: string): string {
  if (PLAIN_USER.test(user)) return user
  let text = ''
  for (const byte of Buffer.from(user, 'utf8')) {
    const plain = byte > 0x20 && byte < 0x7f && byte !== 0x25
    text += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return text
}
