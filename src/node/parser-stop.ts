import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** What llhttp calls `HPE_PAUSED`. */
const PAUSED = 21
export const STOPPED = 'HPE_PAUSED'

/** Whether a `clientError` reports that bytes have come to a stopped parser. */
export function isStopped({ code }: NodeJS.ErrnoException): boolean {
  return code === STOPPED
}

interface Parsed {
  readonly parser: { onIncoming(req: IncomingMessage): number } | null
}

/**
 * Stops Node's parser at the next head of a connection. The bytes after it are read and dropped.
 *
 * One read of 64 KiB has room for 1900 requests. The parser processes all of them, each with two objects and its events, even when the
 * connection is destroyed, and no `pause` stops it. The value that its method `onIncoming` returns does stop it (26.10,
 * `lib/_http_common.js`, `parserOnHeadersComplete`). Each later read is a `clientError` of the code `HPE_PAUSED`. A CONNECT or an upgrade
 * is not treated as one, because Node would otherwise release the connection.
 */
export function stopAtNextHead(socket: Socket): void {
  const { parser } = socket as unknown as Parsed
  if (parser !== null) parser.onIncoming = takeNone
}

/** Whether a parser stops at its next head. */
export function isStopping(parser: object): boolean {
  return (parser as NonNullable<Parsed['parser']>).onIncoming === takeNone
}

function takeNone(req: IncomingMessage & { upgrade?: boolean | null }): number {
  req.upgrade = false
  return PAUSED
}
