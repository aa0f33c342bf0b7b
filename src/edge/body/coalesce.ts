import type { IncomingMessage } from 'node:http'
import * as node from '../../node/short-pieces.ts'

/** A body that is no longer than this is not worth it, in bytes. */
const SHORT_BODY = 1024
/** Short pieces of one read that are many: 64 KiB of chunks of one byte take 16 ms of work. */
const MANY = 1000

/** Joins short pieces of a request's body. @param onMany called if one read brings too many of them */
export function joinShortPieces(req: IncomingMessage, onMany: () => void): void {
  if (!mayHaveMany(req)) return
  node.joinShortPieces(req, (pieces) => {
    if (pieces === MANY) onMany()
  })
}

function mayHaveMany({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SHORT_BODY
}
