import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { atEnd } from './at-end.ts'

/**
 * Has a server of a test listen on the loopback. Behind the tests for which it is made, it ends together with its connections.
 * @returns its port
 */
export async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}
