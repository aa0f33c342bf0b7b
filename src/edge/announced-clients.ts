import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { denial } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import type { Presentation } from '../respond/presentation.ts'
import { type Announced, prefaceOf } from './proxy-protocol.ts'
import { refuseConnection } from './refuse-connection.ts'

export interface AnnouncedOptions {
  /** Whether there are peers whose connections all begin with PROXY protocol. */
  readonly isOn: () => boolean
  /** Whether an address belongs to such a peer. */
  readonly announces: (address: string) => boolean
  /** How long a preface may take, in milliseconds. */
  readonly timeoutMs: number
  /** Whether a TLS handshake follows the preface, so that a plain response could not be read. */
  readonly isEncrypted: boolean
  readonly presentation: () => Presentation | null
  readonly observe: Observer
}

/**
 * Holds the connections of load balancers until their preface has come. The address of the peer alone decides who must send a preface,
 * because any client could begin with the same bytes.
 */
export class AnnouncedClients {
  readonly #options: AnnouncedOptions
  readonly #waiting = new Set<Socket>()

  constructor(options: AnnouncedOptions) {
    this.#options = options
  }

  /** @param go is called with a connection that may be served, as soon as the connection has the client's address */
  take(socket: Socket, go: (socket: Socket) => void): void {
    const { isOn, announces } = this.#options
    if (!isOn()) {
      go(socket)
      return
    }
    const { remoteAddress } = socket
    // The connection is gone already. If a load balancer opened it, its preface would be read as a request.
    if (remoteAddress === undefined) socket.destroy()
    else if (announces(remoteAddress)) this.#await(socket, go)
    else go(socket)
  }

  /** Closes waiting connections. None of them has sent a request. */
  close(): void {
    for (const socket of this.#waiting) socket.destroy()
  }

  #await(socket: Socket, go: (socket: Socket) => void): void {
    let bytes = Buffer.alloc(0)
    this.#waiting.add(socket)
    const timer = setTimeout(() => {
      stopReading()
      this.#refuse(socket, bytes, 'no PROXY protocol in time')
    }, this.#options.timeoutMs)
    const end = (): void => {
      clearTimeout(timer)
      this.#waiting.delete(socket)
    }
    const stopReading = (): void => {
      end()
      socket.off('readable', read).off('end', leave).off('error', leave).off('close', end)
    }
    // A load balancer that checks the port opens a connection and sends nothing, so its leaving is not reported.
    const leave = (): void => void socket.destroy()
    const read = (): void => {
      const piece: Buffer | null = socket.read()
      if (piece === null) return
      bytes = Buffer.concat([bytes, piece])
      const preface = prefaceOf(bytes)
      if (preface === 'more') return
      stopReading()
      if (preface === 'none') {
        this.#refuse(socket, bytes, 'no PROXY protocol')
        return
      }
      nameClient(socket, preface.from)
      if (bytes.length > preface.length) socket.unshift(bytes.subarray(preface.length))
      // After a tick the stream has noticed that nobody reads it, and is like a new stream.
      process.nextTick(go, socket)
    }
    socket.on('readable', read).on('end', leave).on('error', leave).on('close', end)
  }

  #refuse(socket: Socket, bytes: Buffer, reason: string): void {
    const { observe, isEncrypted, presentation } = this.#options
    const code = 'proxy_protocol'
    if (isEncrypted || bytes.length === 0) {
      const refused = { requestId: randomUUID(), method: null, error: 'bad_request', reason } as const
      observe({ type: 'bad_connection', code, status: 0, refused })
      socket.destroy()
      return
    }
    const msg = 'A connection from this address must begin with PROXY protocol.'
    const refused = refuseConnection(socket, denial('bad_request', msg, { reason }), presentation())
    observe({ type: 'bad_connection', code, status: 400, refused })
  }
}

/**
 * Gives the connection the address that the load balancer announces. For a client without a name the connection then has no address,
 * because with the load balancer's own address the client would be trusted. A connection of the load balancer itself keeps its address.
 */
function nameClient(socket: Socket, from: Announced): void {
  if (from.kind === 'local') return
  Object.defineProperty(socket, 'remoteAddress', { value: from.kind === 'client' ? from.address : undefined })
}

/** Gives the connection within TLS the announced address of the connection below it, if there is one. */
export function nameAlike(socket: Socket, raw: Socket): void {
  const named = Object.getOwnPropertyDescriptor(raw, 'remoteAddress')
  if (named !== undefined) Object.defineProperty(socket, 'remoteAddress', named)
}
