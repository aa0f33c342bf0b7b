import type { Server, Socket } from 'node:net'

/** For requests under way, in milliseconds: less than a gateway has for its end beside its own requests. */
const CLOSE_MS = 2000

/**
 * How a server closes that is never to keep a process from ending. Once it closes, Node looks at no timeout of a request
 * any more: a client that is gone in the middle of one would hold it for ever.
 * @param close lets requests under way finish
 */
export function patientClose(server: Server, close: () => Promise<void>): () => Promise<void> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return async () => {
    const timer = setTimeout(() => {
      for (const socket of open) socket.destroy()
    }, CLOSE_MS)
    await close().finally(() => clearTimeout(timer))
  }
}
