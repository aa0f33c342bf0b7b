import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** A server that does not listen yet. */
export interface Prepared {
  readonly server: Server
  close(): Promise<void>
}

export interface ListenerOnDemand {
  /** @throws Error if the address cannot be used */
  listen(address: { readonly host: string; readonly port: number }): Promise<AddressInfo>
  /** Lets the server close, and waits for the connections that it took over. */
  close(): Promise<void>
}

export interface OnDemandOptions {
  /** Called when somebody connects for the first time, and again with the next connection if it has failed. */
  readonly prepare: () => Promise<Prepared>
  /** Connections that may wait for the server. */
  readonly maxConnections: number
  /** Hears why the server could not be made. The waiting connections are then ended. */
  readonly onFailure: (error: unknown) => void
}

/** Listens at its address from the start, and makes the server when somebody connects. */
export function listenerOnDemand(options: OnDemandOptions): ListenerOnDemand {
  return new OnDemand(options)
}

/**
 * | State     | Event                    | Next                                                     |
 * |-----------|--------------------------|----------------------------------------------------------|
 * | waiting   | a connection             | preparing: connections wait, and nothing is read of them |
 * | preparing | the server is made       | served: it has the address and the connections           |
 * | preparing | it cannot be made        | waiting, without the connections                         |
 */
class OnDemand implements ListenerOnDemand {
  readonly #options: OnDemandOptions
  readonly #first: Server
  /** Connections that were accepted here. Node counts them for this server. */
  readonly #accepted = new Set<Socket>()
  #prepared: Promise<Prepared | null> | null = null

  constructor(options: OnDemandOptions) {
    this.#options = options
    this.#first = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket))
    this.#first.maxConnections = options.maxConnections
  }

  async listen(address: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    this.#first.listen(address)
    await once(this.#first, 'listening')
    return this.#first.address() as AddressInfo
  }

  async close(): Promise<void> {
    const prepared = await this.#prepared
    if (prepared == null) return void this.#first.close()
    await prepared.close()
    // Node does not count them for the server that closes, so that server does not wait for them.
    const patience = setTimeout(() => this.#endAccepted(), PATIENCE_MS)
    await Promise.all([...this.#accepted].map((socket) => socket.closed || once(socket, 'close')))
    clearTimeout(patience)
  }

  #endAccepted(): void {
    for (const socket of this.#accepted) socket.destroy()
  }

  #accept(socket: Socket): void {
    this.#accepted.add(socket)
    socket.on('error', ignore)
    socket.once('close', () => this.#accepted.delete(socket))
    this.#prepared ??= this.#prepare()
  }

  async #prepare(): Promise<Prepared | null> {
    try {
      const prepared = await this.#options.prepare()
      await this.#handOver(prepared.server)
      return prepared
    } catch (error) {
      this.#prepared = null
      this.#endAccepted()
      this.#options.onFailure(error)
      return null
    }
  }

  /**
   * Both servers share one handle, and the last one that listens gets its events. A server of Node's http keeps no list of
   * connections before it listens, so it would not close idle connections or end late requests (26.10).
   */
  async #handOver(server: Server): Promise<void> {
    server.listen(this.#first)
    await once(server, 'listening')
    for (const socket of this.#accepted) {
      server.emit('connection', socket)
      socket.resume()
    }
  }
}

/** How long a request may take to end after the server has closed, in milliseconds. */
const PATIENCE_MS = 2000

function ignore(): void {}
