import type { Server, Socket } from 'node:net'

/** How long requests under way may take after the close began, in milliseconds. A gateway has longer to end after its own requests. */
const CLOSE_MS = 2000

/**
 * Gives a function that closes a server, which must never keep a process from ending. Once a server closes, Node checks no
 * timeout of a request, so a client that is gone in the middle of a request would hold the server for ever.
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
