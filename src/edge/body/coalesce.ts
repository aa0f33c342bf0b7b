import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import * as node from '../../node/short-pieces.ts'
import { holdBack, readOn } from '../held-back.ts'

/** A body that is no longer than this is not worth it, in bytes. */
const SHORT_BODY = 1024
/** Short pieces of one read, after which the connection rests: 64 KiB of chunks of one byte take 16 ms of work. */
const MANY = 1000
/** How long such a connection is not read then, in milliseconds. */
const REST_MS = 1000

/** Joins short pieces of a request's body, and lets a connection rest that brings too many. */
export function joinShortPieces(req: IncomingMessage): void {
  if (!mayHaveMany(req)) return
  node.joinShortPieces(req, (pieces) => {
    if (pieces === MANY) rest(req.socket)
  })
}

/** What others send comes in its turn meanwhile. */
function rest(socket: Socket): void {
  holdBack(socket, 'pieces')
  setTimeout(() => readOn(socket, 'pieces'), REST_MS).unref()
}

function mayHaveMany({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SHORT_BODY
}
