import { type ConnectionOwner, UpstreamConnection } from './connection.ts'
import type { Destination, UpstreamClient, Waiter } from './contract.ts'
import { ConnectTimeoutError, mayPass, NoConnectionError } from './failure.ts'

/** Times in milliseconds; the ranges and defaults are those of the configuration. */
export interface PoolOptions {
  readonly destination: Destination
  /** The shortest silence that will be asked of a connection: how often the clock ticks. */
  readonly shortestMs: number
  readonly keepAliveMs: number
  readonly connectionMaxAgeMs: number
  /** How long after its first connection failed a waiter is given another one. 0: it is not. */
  readonly connectRetryMs: number
  readonly maxConnections: number
  readonly queueTimeoutMs: number
}

/** For whom a connection is being opened. */
interface Opening {
  readonly waiter: Waiter
  /** Whether it has to be this connection: any other may serve whoever waits first. */
  isDedicated: boolean
}

/** While the upstream takes no connections: after each pause one is tried, for whoever has waited longest. */
interface Outage {
  /** The next pause, in milliseconds. */
  pauseMs: number
  timer: NodeJS.Timeout
}

/** The pauses of an outage, in milliseconds: each is twice as long as the one before, up to the last. */
const FIRST_PAUSE_MS = 25
const LAST_PAUSE_MS = 250
/** A connection is given up so much earlier than the upstream says that it closes it. */
const MARGIN_MS = 1_000
/** How long the pool counts as full after a request has waited in vain. */
const FULL_MS = 10_000
/** Connections retire earlier by up to this share, so that those that were opened together do not end together. */
const AGE_JITTER = 0.2

/**
 * The connections to the upstream. The one that was used last is used first, so that those that a peak leaves over are idle
 * for long enough to close. A busy one is never idle: it retires by its age, so that its successor finds where the name of
 * the upstream leads by then, and gives new replicas their share. One clock that ticks for all of them stands instead of a
 * timer for each request.
 */
export class ConnectionPool implements UpstreamClient, ConnectionOwner {
  readonly #options: PoolOptions
  readonly #all = new Set<UpstreamConnection>()
  readonly #free: UpstreamConnection[] = []
  /** Those whose response has ended in this turn of the event loop. */
  readonly #freed: UpstreamConnection[] = []
  /** In the order of arrival; a timer for those for whom none is being opened. */
  readonly #waiting = new Map<Waiter, NodeJS.Timeout | null>()
  readonly #opening = new Map<UpstreamConnection, Opening>()
  /** Until when those whose connection failed are given another one, by the monotonic clock. */
  readonly #retryUntil = new WeakMap<Waiter, number>()
  #outage: Outage | null = null
  readonly #tickMs: number
  #clock = 0
  #ticker: NodeJS.Timeout | null = null
  #closing: PromiseWithResolvers<void> | null = null
  /** Why nothing is opened any more. */
  #destroyed: Error | null = null
  /** Until when the pool counts as full, by the monotonic clock. */
  #fullUntil = 0

  constructor(options: PoolOptions) {
    this.#options = options
    const shortest = Math.min(options.shortestMs, options.keepAliveMs)
    this.#tickMs = Math.max(1, Math.min(250, Math.floor(shortest / 8)))
  }

  acquire(waiter: Waiter): void {
    const free = this.#free.pop()
    if (free !== undefined) {
      waiter.start(free)
    } else if (this.#destroyed !== null) {
      const reason = this.#destroyed
      this.#waiting.set(waiter, null)
      queueMicrotask(() => this.#expire(waiter, reason))
    } else if (this.#all.size < this.#options.maxConnections && this.#freed.length <= this.#waiting.size) {
      // Others are served by those that have just become free.
      this.#waiting.set(waiter, null)
      this.#open({ waiter, isDedicated: false })
    } else {
      // As with the clock: what frees a connection may be there already. It is read in this turn of the
      // event loop, at whose end the connection is handed on.
      const giveUp = (): void => {
        if (this.#waiting.get(waiter) === timer) this.#giveUp(waiter)
      }
      const tooLong = (): void => void setImmediate(() => setImmediate(giveUp))
      const timer = setTimeout(tooLong, this.#options.queueTimeoutMs)
      this.#waiting.set(waiter, timer)
    }
  }

  isFull(): boolean {
    if (performance.now() < this.#fullUntil) return true
    // Those who wait, wait for an upstream that takes no connections.
    if (this.#outage !== null) return false
    return this.#all.size >= this.#options.maxConnections && [...this.#waiting.values()].some((timer) => timer !== null)
  }

  acquireNew(waiter: Waiter): void {
    this.#open({ waiter, isDedicated: true })
  }

  waitOut(waiter: Waiter, error: Error): void {
    this.#retryOrExpire(waiter, error)
  }

  leave(waiter: Waiter): void {
    this.#remove(waiter)
    for (const opening of this.#opening.values()) if (opening.waiter === waiter) opening.isDedicated = false
  }

  /** If every connection is still being opened, it is the upstream that does not take them. */
  #giveUp(waiter: Waiter): void {
    if (this.#opening.size === this.#all.size) {
      this.#retryOrExpire(waiter, new ConnectTimeoutError('no connection was opened in time'))
      return
    }
    this.#fullUntil = performance.now() + FULL_MS
    this.#expire(waiter, new NoConnectionError('all connections to the upstream are taken'))
  }

  /** @returns whether the waiter has waited until now */
  #remove(waiter: Waiter): boolean {
    const timer = this.#waiting.get(waiter)
    if (timer) clearTimeout(timer)
    return this.#waiting.delete(waiter)
  }

  /** Whether whoever a connection was opened for still waits for it. */
  #isWanted({ waiter, isDedicated }: Opening): boolean {
    return isDedicated || this.#waiting.has(waiter)
  }

  /**
   * The upstream has taken no connection, so nothing was sent: it may restart just now. Whoever waits keeps the place, and is served by
   * any connection that becomes free meanwhile.
   */
  #retryOrExpire(waiter: Waiter, error: Error): void {
    const { connectRetryMs } = this.#options
    const now = performance.now()
    const until = this.#retryUntil.get(waiter) ?? now + connectRetryMs
    if (until <= now || this.#destroyed !== null || !mayPass(error)) {
      this.#remove(waiter)
      waiter.expire(error)
      return
    }
    this.#retryUntil.set(waiter, until)
    clearTimeout(this.#waiting.get(waiter) ?? undefined)
    this.#waiting.set(
      waiter,
      setTimeout(() => this.#expire(waiter, error), until - now),
    )
    this.#outage ??= { pauseMs: FIRST_PAUSE_MS, timer: setTimeout(() => this.#tryAgain(), FIRST_PAUSE_MS) }
  }

  #tryAgain(): void {
    const outage = this.#outage
    if (outage === null) return
    if (this.#waiting.size === 0) {
      this.#outage = null
      return
    }
    this.#openForWaiting(1)
    outage.pauseMs = Math.min(2 * outage.pauseMs, LAST_PAUSE_MS)
    outage.timer = setTimeout(() => this.#tryAgain(), outage.pauseMs)
  }

  #endOutage(): void {
    clearTimeout(this.#outage?.timer)
    this.#outage = null
    this.#refill()
  }

  /** The clock stands still for a tick: nothing is given up too early. */
  deadlineAfter(ms: number): number {
    return this.#clock + this.#tickMs + ms
  }

  onReady(connection: UpstreamConnection): void {
    const opening = this.#opening.get(connection)
    this.#opening.delete(connection)
    if (this.#outage !== null) this.#endOutage()
    if (opening !== undefined && this.#isWanted(opening)) {
      this.#remove(opening.waiter)
      opening.waiter.start(connection)
    } else this.onFree(connection)
  }

  /**
   * A connection serves again a turn later, also if nobody waits: bytes that the upstream has sent behind its response, and
   * that are still to be read, end the connection first and are not taken for the next response. Over TLS one read brings
   * them record by record, and whatever a request has waited for may come between two of them.
   */
  onFree(connection: UpstreamConnection): void {
    if (connection.retireAt <= this.#clock) connection.abandon()
    else if (this.#freed.push(connection) === 1) setImmediate(() => this.#handOnFreed())
  }

  #handOnFreed(): void {
    for (const connection of this.#freed.splice(0)) if (this.#all.has(connection)) this.#handOn(connection)
  }

  #handOn(connection: UpstreamConnection): void {
    if (this.#waiting.size > 0) {
      const next = this.#waiting.keys().next().value as Waiter
      this.#remove(next)
      next.start(connection)
    } else if (this.#closing !== null || this.#destroyed !== null) {
      connection.abandon()
    } else {
      this.#free.push(connection)
      connection.deadline = Math.min(this.#clock + this.#keptMs(connection), connection.retireAt)
    }
  }

  onGone(connection: UpstreamConnection, error: Error | null): void {
    this.#all.delete(connection)
    for (const list of [this.#free, this.#freed]) {
      const at = list.indexOf(connection)
      if (at !== -1) list.splice(at, 1)
    }
    const opening = this.#opening.get(connection)
    this.#opening.delete(connection)
    if (opening !== undefined && error !== null && this.#isWanted(opening)) this.#retryOrExpire(opening.waiter, error)
    // Not at once: whoever has just lost this connection may need its place.
    if (this.#waiting.size > 0) queueMicrotask(() => this.#refill())
    this.#rest()
  }

  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers()
    this.#rest()
    return this.#closing.promise
  }

  destroy(reason: Error): void {
    this.#destroyed = reason
    clearTimeout(this.#outage?.timer)
    for (const waiter of [...this.#waiting.keys()]) this.#expire(waiter, reason)
    for (const connection of [...this.#all]) connection.destroy(reason)
    this.#closing?.resolve()
  }

  #open(opening: Opening): void {
    const connection = new UpstreamConnection(this.#options.destination, this)
    this.#all.add(connection)
    this.#opening.set(connection, opening)
    if (this.#ticker === null) this.#startClock()
    connection.retireAt = this.#clock + this.#options.connectionMaxAgeMs * (1 - AGE_JITTER * Math.random())
  }

  /** A time that the upstream announces counts if it is shorter than ours. */
  #keptMs({ keptFor }: UpstreamConnection): number {
    const { keepAliveMs } = this.#options
    return keptFor === null ? keepAliveMs : Math.min(keepAliveMs, Math.max(0, keptFor * 1000 - MARGIN_MS))
  }

  #startClock(): void {
    this.#clock = performance.now()
    this.#ticker = setInterval(() => this.#tick(), this.#tickMs).unref()
  }

  /** Gives places that have become free to those who wait and for whom none is being opened. */
  #refill(): void {
    if (this.#outage === null) this.#openForWaiting(this.#waiting.size)
  }

  #openForWaiting(count: number): void {
    let left = count
    for (const [waiter, timer] of this.#waiting) {
      if (left === 0 || this.#destroyed !== null || this.#all.size >= this.#options.maxConnections) return
      if (timer === null) continue
      clearTimeout(timer)
      this.#waiting.set(waiter, null)
      this.#open({ waiter, isDedicated: false })
      left--
    }
  }

  /**
   * If this process was held up, what a connection waits for may be there already: it is read before the next immediate, and then the
   * connection waits for something else, until later.
   */
  #tick(): void {
    this.#clock = performance.now()
    for (const { deadline } of this.#all) {
      if (deadline > this.#clock) continue
      setImmediate(() => this.#expireDue())
      return
    }
  }

  #expireDue(): void {
    for (const connection of this.#all) if (connection.deadline <= this.#clock) connection.expire()
  }

  #expire(waiter: Waiter, error: Error): void {
    if (this.#remove(waiter)) waiter.expire(error)
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
