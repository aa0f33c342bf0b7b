import type net from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Chunks, Cutting } from './plan.ts'

/** Bytes as they go out: framing of bodies, and the places where the bytes are cut. */

/** @param name number of the request, which trailers say */
export function chunked(body: Buffer, { size, extension, trailers }: Chunks, name: number): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const piece = body.subarray(at, at + size)
    pieces.push(Buffer.from(`${piece.length.toString(16)}${extension}\r\n`), piece, CRLF)
  }
  pieces.push(Buffer.from(trailers ? `0\r\nX-Trailer-Of: ${name}\r\n\r\n` : '0\r\n\r\n'))
  return Buffer.concat(pieces)
}

const CRLF = Buffer.from('\r\n')
/** No more writes than that, however long the message is. By TLS a head in more than 256 records is ended by design. */
const MAX_BYTES = 250

/** @param headLength bytes of the head, behind which one way of cutting cuts */
export function cut(message: Buffer, headLength: number, { how, pieces }: Cutting): Buffer[] {
  if (how === 'whole') return [message]
  if (how === 'head and body') return slices(message, [headLength])
  const step = how === 'pieces' || message.length > MAX_BYTES ? Math.ceil(message.length / pieces) : 1
  return slices(
    message,
    Array.from({ length: Math.ceil(message.length / step) }, (_, i) => i * step),
  )
}

function slices(message: Buffer, places: readonly number[]): Buffer[] {
  return [0, ...places].map((at, i) => message.subarray(at, places[i])).filter(({ length }) => length > 0)
}

/** Between two writes. */
export function pause({ pauseMs }: Cutting): Promise<unknown> {
  return pauseMs === 0 ? turn() : sleep(pauseMs)
}

export function isGone(socket: net.Socket): boolean {
  return socket.destroyed || !socket.writable
}
