import type { IncomingMessage } from 'node:http'

/** Reads what the head of a request says about its body. */

/** The largest small body, in bytes. A body of this size or less is usually read whole before anything is charged and before it is forwarded. */
export const SMALL = 64 * 1024

/** Whether the request announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length']
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/**
 * Whether the client may hold its body back until it is asked to send it. A client of HTTP/1.0 may not, because it knows no
 * interim responses: it would take a 100 for the response (RFC 9110, 10.1.1 and 15.2).
 */
export function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion !== '1.0'
}
