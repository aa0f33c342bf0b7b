import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The client must see that the answer is not whole: a reset, since a clean end would end a body without a length. */
export function breakOff({ req, res }: { req: IncomingMessage; res: ServerResponse }): void {
  const socket: Socket = req.socket
  if ('encrypted' in socket || res.socket === null) res.destroy()
  else socket.resetAndDestroy()
}
