import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { IncomingRequest, IncomingUpgrade } from './connection.ts'
import { takeLaterTurn, takeTurn } from './turns.ts'

/** Decides when a request is looked at. */

/**
 * Waits until the earlier responses on the connection are out. Before that nobody looks at the request, because it would hold a place,
 * a charge and a connection to the upstream while its response waits, up to 32 times for one connection. Then the request takes a turn
 * of the event loop, as every request does.
 *
 * @param address whose turn it is, see `takeTurn`
 * @returns whether the client is still there. No promise if nobody has to wait
 */
export function turnOf(
  { req, res, client }: Pick<IncomingRequest, 'req' | 'res' | 'client'>,
  address: string | null,
): boolean | Promise<boolean> {
  if (res.socket === null && !res.destroyed) return turnBehindOthers({ req, res, client }, address ?? client.peer)
  const turn = takeTurn(address, client.isLikelyKnown(address), headBytes(req))
  if (turn === null && req.headers['transfer-encoding'] === undefined) return isHere(res)
  return (turn ?? PARSED).then(() => isHere(res))
}

/** Chunks that came with the head are parsed first, so that an empty body leaves its connection open after a refusal. */
const PARSED = Promise.resolve()

async function turnBehindOthers(
  { req, res, client }: Pick<IncomingRequest, 'req' | 'res' | 'client'>,
  address: string,
): Promise<boolean> {
  await Promise.race([once(res, 'socket'), once(res, 'close')])
  await takeLaterTurn(address, client.isLikelyKnown(address), headBytes(req))
  return isHere(res)
}

function isHere(res: ServerResponse): boolean {
  return res.socket !== null && !res.destroyed
}

/** Does what `turnOf` does, for a WebSocket handshake, which is the last request on its connection. */
export function turnOfUpgrade(
  { req, socket, client }: IncomingUpgrade,
  address: string | null,
): boolean | Promise<boolean> {
  const turn = takeTurn(address, client.isLikelyKnown(address), headBytes(req))
  return turn === null ? !socket.destroyed : turn.then(() => !socket.destroyed)
}

/** How many bytes each name and each value counts besides its own, because 200 short fields take as long as a field of 6 KiB. */
export const TEXT_BYTES = 16

/** Bytes of target, names and values together. */
function headBytes({ url = '', rawHeaders }: IncomingMessage): number {
  let bytes = url.length + rawHeaders.length * TEXT_BYTES
  for (const text of rawHeaders) bytes += text.length
  return bytes
}
