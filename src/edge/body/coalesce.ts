import type { IncomingMessage } from 'node:http'
import { isLong } from './read-body.ts'

/** A body that is no longer than this is not worth it, in bytes. */
const SHORT_BODY = 1024

/** Whether short pieces of the body of this request are worth being put together. Every body that `isLong` is. */
export function mayBeInPieces(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? 0) > SHORT_BODY || isLong(req)
}
