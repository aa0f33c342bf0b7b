import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { GivenUpError, UpstreamTimeoutError } from './failure.ts'

export type Outgoing = Dispatcher.DispatchOptions
export type Handler = Dispatcher.DispatchHandler
export type Control = Dispatcher.DispatchController

export interface ConnectionOptions {
  readonly origin: string
  readonly connectTimeoutMs: number
  readonly responseTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly maxConnections: number
  readonly maxHeaderSize: number
  readonly secureContext: SecureContext | undefined
  readonly serverName: string | undefined
}

/** Somebody who waits for a connection. */
export interface Waiter {
  /** A connection may be used now: answer with `dispatch`, and with `release` when done. */
  start(): void
  /** There will be none. */
  expire(error: Error): void
}

/**
 * The connections to the backend. Waiting is done here and not in undici's own queue, because there a request cannot be
 * taken out again, and giving it up later costs a good connection.
 */
export class Connections {
  /** `true` while undici handles a reset: it takes the end of a body without a length for its proper end. */
  resetting = false

  readonly #options: ConnectionOptions
  readonly #waiting = new Map<Waiter, NodeJS.Timeout>()
  readonly #usedBefore = new WeakSet<Error>()
  #pool: Pool
  #active = 0
  #closing: PromiseWithResolvers<void> | null = null

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#pool = this.#openPool()
  }

  acquire(waiter: Waiter): void {
    if (this.#active < this.#options.maxConnections) {
      this.#active++
      waiter.start()
      return
    }
    const tooLong = (): void => this.#expire(waiter, new UpstreamTimeoutError('no connection became free in time'))
    this.#waiting.set(waiter, setTimeout(tooLong, this.#options.responseTimeoutMs))
  }

  /** Gives up waiting. `false` where the waiter does not wait, or not any more. */
  leave(waiter: Waiter): boolean {
    clearTimeout(this.#waiting.get(waiter))
    return this.#waiting.delete(waiter)
  }

  release(): void {
    const next = this.#waiting.keys().next()
    if (next.done) {
      this.#active--
      this.#closeIfIdle()
      return
    }
    this.leave(next.value)
    // Not at once: release() is called from inside undici's parser, which cannot be entered twice.
    queueMicrotask(() => next.value.start())
  }

  dispatch(request: Outgoing, handler: Handler): void {
    this.#pool.dispatch(request, handler)
  }

  /** Whether the connection that failed with this error had served an exchange before. */
  wasUsedBefore(error: Error): boolean {
    return this.#usedBefore.has(error)
  }

  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers()
    if (this.#pool.destroyed) this.#closing.resolve()
    this.#closeIfIdle()
    return this.#closing.promise
  }

  async destroy(): Promise<void> {
    await this.#pool.destroy()
    for (const waiter of [...this.#waiting.keys()]) this.#expire(waiter, new GivenUpError('the gateway stops'))
    this.#closing?.resolve()
  }

  #expire(waiter: Waiter, error: Error): void {
    if (this.leave(waiter)) waiter.expire(error)
  }

  /** A new pool takes the place of the one that closes; it has no connection until a straggler needs one. */
  #closeIfIdle(): void {
    if (this.#closing === null || this.#active > 0 || this.#pool.destroyed) return
    const { resolve } = this.#closing
    const closed = this.#pool.close()
    this.#pool = this.#openPool()
    closed.then(resolve, resolve)
  }

  #openPool(): Pool {
    const { origin, maxConnections, maxHeaderSize, responseTimeoutMs, idleTimeoutMs } = this.#options
    return new Pool(origin, {
      connections: maxConnections,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize,
      headersTimeout: responseTimeoutMs,
      bodyTimeout: idleTimeoutMs,
      connect: this.#connector(),
    })
  }

  /** undici's connector, with ears of our own on each socket: the first to hear of an error and the last. */
  #connector(): buildConnector.connector {
    const { connectTimeoutMs, secureContext, serverName } = this.#options
    const connect = buildConnector({
      timeout: connectTimeoutMs,
      allowH2: false,
      ...(secureContext && { secureContext }),
      ...(serverName !== undefined && { servername: serverName }),
    })
    return (target, callback) => {
      const socket = connect(target, (...outcome: [null, Socket] | [Error, null]) => {
        callback(...(outcome as [null, Socket]))
        outcome[1]?.on('error', () => {
          this.resetting = false
        })
      }) as unknown as Socket
      socket.prependListener('error', (error: NodeJS.ErrnoException) => {
        if (socket.bytesRead > 0) this.#usedBefore.add(error)
        this.resetting = error.code === 'ECONNRESET'
      })
    }
  }
}
