import type { IncomingMessage } from 'node:http'
import * as node from '../../node/short-pieces.ts'
import { isLong } from './read-body.ts'

/** A body that is no longer than this is not worth it, in bytes. */
const SHORT_BODY = 1024
/** Short pieces of one read that are many: 64 KiB of chunks of one byte take 16 ms of work. */
const MANY = 1000

/** Whether the body of this request is worth it. Every body that `isLong` is. */
export function mayBeInPieces(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? 0) > SHORT_BODY || isLong(req)
}

/**
 * Joins short pieces of a request's body.
 * @param onMany called if one read brings too many of them
 * @returns how much of the body has come, kept up to date
 */
export function joinShortPieces(req: IncomingMessage, onMany: () => void): node.Arrived {
  return node.joinShortPieces(req, (pieces) => {
    if (pieces === MANY) onMany()
  })
}
