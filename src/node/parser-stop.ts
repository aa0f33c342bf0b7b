import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** What llhttp calls `HPE_PAUSED`. */
const PAUSED = 21
export const STOPPED = 'HPE_PAUSED'

/** Whether a `clientError` says that something has come to a parser that is stopped. */
export function isStopped({ code }: NodeJS.ErrnoException): boolean {
  return code === STOPPED
}

interface Parsed {
  readonly parser: { onIncoming(req: IncomingMessage): number } | null
}

/**
 * Stops Node's parser at the next head of a connection. What comes behind is read to nowhere.
 *
 * One read of 64 KiB has room for 1900 requests. The parser works through all of them, each with two objects and its events, even when the
 * connection is destroyed, and no `pause` ends that. The value that a method of the parser's own returns to it does
 * (26.10, `lib/_http_common.js`, `parserOnHeadersComplete`). Each read that brings more is a `clientError` of the code `HPE_PAUSED`, but
 * behind a CONNECT and an upgrade, of which Node would let go of the connection otherwise.
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
