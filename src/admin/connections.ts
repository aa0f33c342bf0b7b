import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { IdleConnections, type MayIdle } from '../lib/idle-connections.ts'
import { peerOf } from '../lib/peers.ts'
import { rawSocketOf } from '../node/raw-socket.ts'

/** The most connections of all clients together. Each takes a file of the process, and the gateway needs most files. */
export const MAX_CONNECTIONS = 200
/** How many of them are kept for clients who come when all others have a request under way. */
const MAX_LATE = 16
/** The most connections of one address, besides late ones. */
const MAX_OF_ADDRESS = 50
/** How many requests of one connection may wait. Browsers pipeline none, and libraries a few. */
const MAX_PIPELINED = 8

/** Bounds what clients hold of a server. */
export interface Connections {
  /** Whether a request's connection is a late one. Such a request is served only if it is urgent, and is the last of its connection. */
  isLate(request: IncomingMessage): boolean
}

/**
 * Bounds what clients may hold of a server that already has its listener for requests. If there is no room, a new connection replaces an
 * idle one: one of its own address if that address has its share already, or else one of the address with most connections. If no such
 * connection is idle, the new one is late, and takes one of the places for late ones. If these are full too, it replaces an idle late one or
 * is closed.
 */
export function boundConnections(server: Server): Connections {
  const bounds = new ConnectionBounds()
  server.on('connection', (socket: Socket) => bounds.open(socket))
  for (const serve of server.listeners('request') as RequestListener[]) {
    server.off('request', serve)
    server.on('request', (req, res) => bounds.begin(req, res) && serve(req, res))
  }
  return bounds
}

/** A connection from the moment at which it is accepted, even before a TLS handshake or a head. */
class Connection implements MayIdle {
  readonly socket: Socket
  readonly isLate: boolean
  idleSince: number | null = performance.now()
  #underway = 0

  constructor(socket: Socket, isLate: boolean) {
    this.socket = socket
    this.isLate = isLate
  }

  /** @returns how many requests are under way now */
  begin(): number {
    this.idleSince = null
    return ++this.#underway
  }

  end(): void {
    if (--this.#underway === 0) this.idleSince = performance.now()
  }
}

type Room = IdleConnections<Connection>

class ConnectionBounds implements Connections {
  readonly #usual: Room = new IdleConnections()
  readonly #late: Room = new IdleConnections()
  readonly #bySocket = new WeakMap<Socket, Connection>()

  isLate({ socket }: IncomingMessage): boolean {
    return this.#of(socket)?.isLate === true
  }

  open(socket: Socket): void {
    const address = peerOf(socket.remoteAddress ?? '')
    if (this.#hasPlace(address)) this.#add(this.#usual, socket, address)
    else if (this.#late.size < MAX_LATE || makeRoom(this.#late)) this.#add(this.#late, socket, address)
    else socket.destroy()
  }

  /** Node parses a whole packet, with any number of requests, and starts them all. @returns whether to serve this one */
  begin({ socket }: IncomingMessage, res: ServerResponse): boolean {
    const connection = this.#of(socket)
    if (connection === undefined || socket.destroyed) return false
    if (connection.begin() > MAX_PIPELINED) {
      socket.destroy()
      return false
    }
    if (connection.isLate) res.shouldKeepAlive = false
    res.once('close', () => connection.end())
    return true
  }

  #of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(rawSocketOf(socket))
  }

  /** Whether there is a place, or one can be made. */
  #hasPlace(address: string): boolean {
    if (this.#usual.of(address) >= MAX_OF_ADDRESS) return makeRoom(this.#usual, address)
    return this.#usual.size < MAX_CONNECTIONS - MAX_LATE || makeRoom(this.#usual)
  }

  #add(room: Room, socket: Socket, address: string): void {
    const connection = new Connection(socket, room === this.#late)
    room.add(connection, address)
    this.#bySocket.set(socket, connection)
    socket.once('close', () => room.remove(connection))
  }
}

/** Closes an idle connection. @param address of the connection; default any */
function makeRoom(room: Room, address?: string): boolean {
  const next = room.next(address)
  if (next === null) return false
  room.remove(next)
  next.socket.destroy()
  return true
}
