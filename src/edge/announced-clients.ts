import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { denial } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import type { Presentation } from '../respond/presentation.ts'
import { type Announced, prefaceOf } from './proxy-protocol.ts'
import { refuseConnection } from './refuse-connection.ts'

export interface AnnouncedOptions {
  /** Whether there are peers that begin each of their connections with PROXY protocol. */
  readonly isOn: () => boolean
  /** Whether an address is one of theirs. */
  readonly announces: (address: string) => boolean
  /** Milliseconds that a preface may take. */
  readonly timeoutMs: number
  /** Whether behind the preface comes a handshake of TLS, so that a response in the clear would be none. */
  readonly isEncrypted: boolean
  readonly presentation: () => Presentation | null
  readonly observe: Observer
}

/**
 * Connections of load balancers that pass connections on, until their preface has come. Whoever must send one is known by the address of
 * the connection alone: a preface that is looked for by its first bytes could be sent by any client.
 */
export class AnnouncedClients {
  readonly #options: AnnouncedOptions
  readonly #waiting = new Set<Socket>()

  constructor(options: AnnouncedOptions) {
    this.#options = options
  }

  /** @param go takes a connection whose address is the client's */
  take(socket: Socket, go: (socket: Socket) => void): void {
    const { isOn, announces } = this.#options
    if (!isOn()) {
      go(socket)
      return
    }
    const { remoteAddress } = socket
    // One that is gone already: its preface would be read as a request.
    if (remoteAddress === undefined) socket.destroy()
    else if (announces(remoteAddress)) this.#await(socket, go)
    else go(socket)
  }

  /** Closes those that wait: no request of theirs has come. */
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
    // A load balancer that looks whether the port is open comes and goes without a byte.
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
      // The stream is in the state of a new one again once it has noticed that nobody reads it.
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
 * From here on the connection is one from that address, whoever asks. Of somebody of whom the load balancer says nothing there is none: its
 * own would lend its trust to a client.
 */
function nameClient(socket: Socket, from: Announced): void {
  if (from.kind === 'local') return
  Object.defineProperty(socket, 'remoteAddress', { value: from.kind === 'client' ? from.address : undefined })
}

/** The connection within TLS has the address too. */
export function nameAlike(socket: Socket, raw: Socket): void {
  const named = Object.getOwnPropertyDescriptor(raw, 'remoteAddress')
  if (named !== undefined) Object.defineProperty(socket, 'remoteAddress', named)
}
