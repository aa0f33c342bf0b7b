import type { IncomingMessage } from 'node:http'
import { isLong } from './read-body.ts'

/** Bodies up to this size are not put together, in bytes. */
const SHORT_BODY = 1024

/** Whether it is worth putting short pieces of this request's body together. It is for every body that `isLong`. */
export function mayBeInPieces(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? 0) > SHORT_BODY || isLong(req)
}
