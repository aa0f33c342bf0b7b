import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RawFields } from './headers.ts'

/** Fields in the head of an answer; Node as a server has the same limit for requests. */
const MAX_FIELDS = 2_000
/** Bytes of a body that is joined to its head. */
const MAX_JOINED = 16 * 1024

/** Why an answer cannot be passed on; `null` where it can. */
export function problemOf(status: number, raw: RawFields, headers: IncomingHttpHeaders): string | null {
  if (status > 599) return `status ${status}`
  if (raw.length > 2 * MAX_FIELDS) return 'too many header fields'
  // Any other coding would be passed on without its name: only chunked is undone on the way.
  const coding = String(headers['transfer-encoding'] ?? 'chunked')
  return coding.toLowerCase() === 'chunked' ? null : `transfer coding ${coding}`
}

/** The client must see that the answer is not whole: a reset, since a clean end would end a body without a length. */
export function breakOff({ req, res }: { req: IncomingMessage; res: ServerResponse }): void {
  const socket: Socket = req.socket
  if ('encrypted' in socket || res.socket === null) res.destroy()
  else socket.resetAndDestroy()
}

/**
 * The last byte that was announced: head, body and end leave in one write. As text a short body is joined to the head,
 * which costs 5 percent less than a vector of two.
 */
export function endWith(res: ServerResponse, chunk: Buffer): void {
  if (chunk.length <= MAX_JOINED) res.end(chunk.toString('latin1'), 'latin1')
  else res.end(chunk)
}
