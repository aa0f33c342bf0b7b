import type { IncomingMessage } from 'node:http'
import { isLong } from './read-body.ts'

/** A body of at most this many bytes is read as it comes, unless its client waits for `100 Continue`. */
const SHORT_BODY = 1024

/** Whether short pieces of this request's body are joined: if its announced length is above `SHORT_BODY`, or if the body `isLong`. */
export function mayBeInPieces(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? 0) > SHORT_BODY || isLong(req)
}
