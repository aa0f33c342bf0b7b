import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { BlockList, isIPv4, type Socket } from 'node:net'
import { peerOf } from '../lib/peers.ts'

/** Connections of all clients together: each takes a file of the process, of which the gateway needs most. */
export const MAX_CONNECTIONS = 200
/** Of one address that is not of this machine. */
const MAX_OF_ADDRESS = 50
/** Requests of one connection that wait for their response. Browsers pipeline none, libraries a few. */
const MAX_PIPELINED = 8

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Bounds what clients may hold of a server, which has its listener for requests already. Above a bound a connection is ended without a word. */
export function boundConnections(server: Server): void {
  server.maxConnections = MAX_CONNECTIONS
  const held = new Map<string, number>()
  server.on('connection', (socket: Socket) => holdOne(held, socket))
  for (const serve of server.listeners('request') as RequestListener[]) {
    server.off('request', serve)
    server.on('request', withoutCrowd(serve))
  }
}

function holdOne(held: Map<string, number>, socket: Socket): void {
  const { remoteAddress = '' } = socket
  if (isLoopback(remoteAddress)) return
  const peer = peerOf(remoteAddress)
  const count = (held.get(peer) ?? 0) + 1
  held.set(peer, count)
  socket.once('close', () => {
    const left = (held.get(peer) ?? 0) - 1
    if (left > 0) held.set(peer, left)
    else held.delete(peer)
  })
  if (count > MAX_OF_ADDRESS) socket.destroy()
}

function isLoopback(address: string): boolean {
  return address === '' || LOOPBACK.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** Node parses one packet to its end, with however many requests, and starts them all. */
function withoutCrowd(serve: RequestListener): RequestListener {
  const underway = new WeakMap<Socket, number>()
  return (req: IncomingMessage, res: ServerResponse) => {
    const { socket } = req
    if (socket.destroyed) return
    const count = (underway.get(socket) ?? 0) + 1
    underway.set(socket, count)
    if (count > MAX_PIPELINED) {
      socket.destroy()
      return
    }
    res.once('close', () => underway.set(socket, (underway.get(socket) ?? 0) - 1))
    serve(req, res)
  }
}
