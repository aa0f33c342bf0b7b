import { Connection, type ConnectionOwner, type Destination } from './connection.ts'
import { ConnectTimeoutError, GivenUpError, NoConnectionError } from './failure.ts'

export interface ConnectionOptions {
  readonly destination: Destination
  readonly responseTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly keepAliveMs: number
  readonly connectionMaxAgeMs: number
  readonly maxConnections: number
  readonly queueTimeoutMs: number
}

/** Somebody who waits for a connection. */
export interface Waiter {
  /** It is yours until its answer has ended or failed. */
  start(connection: Connection): void
  /** There will be none. */
  expire(error: Error): void
}

/** For whom a connection is being opened. */
interface Opening {
  readonly waiter: Waiter
  /** Whether it has to be this one: any other may serve who waits first. */
  readonly dedicated: boolean
}

/** Given up so much earlier than the backend says that it closes it. */
const MARGIN_MS = 1_000
/** How long it is said that all connections are taken, after a request has waited in vain. */
const FULL_MS = 10_000
/** By up to such a share connections retire earlier: those that were opened together do not end together. */
const AGE_JITTER = 0.2

/**
 * The connections to the backend. The one that was used last is used first, so that those that a peak leaves over are idle
 * for long enough to close. A busy one is never idle: it retires by its age, so that its successor finds where the name of
 * the backend leads by then, and gives new replicas their share. One clock that ticks for all of them takes the place of a timer for each request.
 */
export class Connections implements ConnectionOwner {
  readonly #options: ConnectionOptions
  readonly #all = new Set<Connection>()
  readonly #free: Connection[] = []
  /** Those whose answer has ended in this turn of the event loop. */
  readonly #freed: Connection[] = []
  /** In the order of arrival; a timer for those for whom none is being opened. */
  readonly #waiting = new Map<Waiter, NodeJS.Timeout | null>()
  readonly #opening = new Map<Connection, Opening>()
  readonly #tickMs: number
  #clock = 0
  #ticker: NodeJS.Timeout | null = null
  #closing: PromiseWithResolvers<void> | null = null
  #destroyed = false
  /** Until when somebody remembers that one has waited in vain, by the monotonic clock. */
  #fullUntil = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
    const shortest = Math.min(options.responseTimeoutMs, options.idleTimeoutMs, options.keepAliveMs)
    this.#tickMs = Math.max(1, Math.min(250, Math.floor(shortest / 8)))
  }

  acquire(waiter: Waiter): void {
    const free = this.#free.pop()
    if (free !== undefined) {
      waiter.start(free)
    } else if (this.#destroyed) {
      queueMicrotask(() => waiter.expire(STOPPED))
    } else if (this.#all.size < this.#options.maxConnections && this.#freed.length <= this.#waiting.size) {
      // Others are served by those that have just become free.
      this.#waiting.set(waiter, null)
      this.#open({ waiter, dedicated: false })
    } else {
      const tooLong = (): void => this.#giveUp(waiter)
      this.#waiting.set(waiter, setTimeout(tooLong, this.#options.queueTimeoutMs))
    }
  }

  isFull(): boolean {
    if (performance.now() < this.#fullUntil) return true
    return this.#all.size >= this.#options.maxConnections && [...this.#waiting.values()].some((timer) => timer !== null)
  }

  /** Where every connection is still being opened, the backend is what does not answer. */
  #giveUp(waiter: Waiter): void {
    if (this.#opening.size === this.#all.size) {
      this.#expire(waiter, new ConnectTimeoutError('no connection was opened in time'))
      return
    }
    this.#fullUntil = performance.now() + FULL_MS
    this.#expire(waiter, new NoConnectionError('all connections to the backend are taken'))
  }

  /** One that nobody has used, in the place of one that has just gone. Who does not want it any more gives it back. */
  acquireNew(waiter: Waiter): void {
    this.#open({ waiter, dedicated: true })
  }

  /** Gives up waiting. `false` where the waiter does not wait, or not any more. */
  leave(waiter: Waiter): boolean {
    const timer = this.#waiting.get(waiter)
    if (timer) clearTimeout(timer)
    return this.#waiting.delete(waiter)
  }

  /** From now on the exchange on it may be silent for `ms` milliseconds; a tick or two more are not noticed. */
  watch(connection: Connection, ms: number, late: string): void {
    connection.deadline = this.#clock + this.#tickMs + ms
    connection.late = late
  }

  /** It may be silent for as long as it likes. */
  unwatch(connection: Connection): void {
    connection.deadline = Number.POSITIVE_INFINITY
  }

  onReady(connection: Connection): void {
    const opening = this.#opening.get(connection)
    this.#opening.delete(connection)
    if (opening?.dedicated || (opening && this.leave(opening.waiter))) opening.waiter.start(connection)
    else this.onFree(connection)
  }

  /**
   * It serves again a turn later, also where nobody waits: bytes that the backend has sent behind its answer, and that are
   * still to be read, end the connection first and are not taken for the next answer. Over TLS one read brings them record by
   * record, and whatever a request has waited for may come between two of them.
   */
  onFree(connection: Connection): void {
    if (connection.retireAt <= this.#clock) connection.abandon()
    else if (this.#freed.push(connection) === 1) setImmediate(() => this.#handOnFreed())
  }

  #handOnFreed(): void {
    for (const connection of this.#freed.splice(0)) if (this.#all.has(connection)) this.#handOn(connection)
  }

  #handOn(connection: Connection): void {
    const next = this.#waiting.keys().next()
    if (!next.done) {
      this.leave(next.value)
      next.value.start(connection)
    } else if (this.#closing !== null || this.#destroyed) {
      connection.abandon()
    } else {
      this.#free.push(connection)
      connection.deadline = Math.min(this.#clock + this.#keptMs(connection), connection.retireAt)
    }
  }

  onGone(connection: Connection, error: Error | null): void {
    this.#all.delete(connection)
    for (const list of [this.#free, this.#freed]) {
      const at = list.indexOf(connection)
      if (at !== -1) list.splice(at, 1)
    }
    const opening = this.#opening.get(connection)
    this.#opening.delete(connection)
    if (opening !== undefined && error !== null && (opening.dedicated || this.leave(opening.waiter))) {
      opening.waiter.expire(error)
    }
    // Not at once: whoever has just lost this connection may need its place.
    if (this.#waiting.size > 0) queueMicrotask(() => this.#refill())
    this.#rest()
  }

  /** Resolves when nothing is in flight and no connection is open. Who still comes is served all the same. */
  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers()
    this.#rest()
    return this.#closing.promise
  }

  destroy(): void {
    this.#destroyed = true
    for (const waiter of [...this.#waiting.keys()]) this.#expire(waiter, STOPPED)
    for (const connection of [...this.#all]) connection.destroy(STOPPED)
    this.#closing?.resolve()
  }

  #open(opening: Opening): void {
    const connection = new Connection(this.#options.destination, this)
    this.#all.add(connection)
    this.#opening.set(connection, opening)
    if (this.#ticker === null) this.#startClock()
    connection.retireAt = this.#clock + this.#options.connectionMaxAgeMs * (1 - AGE_JITTER * Math.random())
  }

  /** A time that the backend announces counts where it is shorter than ours. */
  #keptMs({ keptFor }: Connection): number {
    const { keepAliveMs } = this.#options
    return keptFor === null ? keepAliveMs : Math.min(keepAliveMs, Math.max(0, keptFor * 1000 - MARGIN_MS))
  }

  #startClock(): void {
    this.#clock = performance.now()
    this.#ticker = setInterval(() => this.#tick(), this.#tickMs).unref()
  }

  /** Places that have become free, to those who wait and for whom none is being opened. */
  #refill(): void {
    for (const [waiter, timer] of this.#waiting) {
      if (this.#destroyed || this.#all.size >= this.#options.maxConnections) return
      if (timer === null) continue
      clearTimeout(timer)
      this.#waiting.set(waiter, null)
      this.#open({ waiter, dedicated: false })
    }
  }

  #tick(): void {
    this.#clock = performance.now()
    for (const connection of this.#all) if (connection.deadline <= this.#clock) connection.expire()
  }

  #expire(waiter: Waiter, error: Error): void {
    if (this.leave(waiter)) waiter.expire(error)
  }

  #rest(): void {
    if (this.#closing !== null && this.#waiting.size === 0 && this.#all.size === this.#free.length) {
      for (const connection of this.#free.splice(0)) connection.abandon()
      this.#closing.resolve()
    }
    if (this.#all.size > 0 || this.#ticker === null) return
    clearInterval(this.#ticker)
    this.#ticker = null
  }
}

const STOPPED = new GivenUpError('the gateway stops')
