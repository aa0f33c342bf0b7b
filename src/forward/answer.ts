import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The client must see that the answer is not whole: a reset, since a clean end would end a body without a length. */
export function breakOff({ req, res }: { req: IncomingMessage; res: ServerResponse }): void {
  const socket: Socket = req.socket
  if ('encrypted' in socket || res.socket === null) destroyAnswer(res)
  else socket.resetAndDestroy()
}

/** Ends the connection of an answer; behind others that are not out yet once its turn has come, which Node forgets (26.10). */
export function destroyAnswer(res: ServerResponse): void {
  if (res.socket === null && !res.destroyed) res.once('socket', (socket: Socket) => socket.destroy())
  res.destroy()
}
