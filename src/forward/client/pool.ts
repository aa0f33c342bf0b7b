import { type ConnectionOwner, UpstreamConnection } from './connection.ts'
import type { Destination, UpstreamClient, Waiter } from './contract.ts'
import { ConnectTimeoutError, mayPass, NoConnectionError } from './failure.ts'

/** Times in milliseconds; the ranges and defaults are those of the configuration. */
export interface PoolOptions {
  readonly destination: Destination
  /** The shortest silence for which a connection is ever given up, in milliseconds. The clock ticks at least eight times in it, if it can. */
  readonly shortestMs: number
  readonly keepAliveMs: number
  readonly connectionMaxAgeMs: number
  /** For how long after its first failed connection a waiter gets another one. 0 for not at all. */
  readonly connectRetryMs: number
  readonly maxConnections: number
  readonly queueTimeoutMs: number
}

/** The waiter for whom a connection is being opened. */
interface Opening {
  readonly waiter: Waiter
  /** Whether only this waiter may use the connection. Any other connection serves the next waiter if this one waits no more. */
  isDedicated: boolean
}

/** While the upstream accepts no connections, one is tried after each pause, for the waiter that has waited longest. */
interface Outage {
  /** The next pause, in milliseconds. */
  pauseMs: number
  timer: NodeJS.Timeout
}

/** The first and the longest pause of an outage, in milliseconds. Each pause is twice as long as the one before. */
const FIRST_PAUSE_MS = 25
const LAST_PAUSE_MS = 250
/** A connection is given up this much earlier than the upstream closes it. */
const MARGIN_MS = 1_000
/** For how many milliseconds the pool counts as full after a request has waited for a connection in vain. */
const FULL_MS = 10_000
/** By up to this share connections retire earlier, so that connections which were opened together do not end together. */
const AGE_JITTER = 0.2

/**
 * The connections to the upstream. The connection that was used last is used first, so that spare connections become idle
 * and close after a peak. A busy connection never becomes idle, so it retires by its age. Its successor resolves the
 * upstream's name again, and so gives new replicas their share. One clock serves all connections, instead of a timer for
 * each request.
 */
export class ConnectionPool implements UpstreamClient, ConnectionOwner {
  readonly #options: PoolOptions
  readonly #all = new Set<UpstreamConnection>()
  readonly #free: UpstreamConnection[] = []
  /** Connections whose response has ended in this turn of the event loop. */
  readonly #freed: UpstreamConnection[] = []
  /** In the order of arrival. A waiter for whom no connection is being opened has a timer. */
  readonly #waiting = new Map<Waiter, NodeJS.Timeout | null>()
  readonly #opening = new Map<UpstreamConnection, Opening>()
  /** By the monotonic clock, until when waiters whose connection failed get another one. */
  readonly #retryUntil = new WeakMap<Waiter, number>()
  #outage: Outage | null = null
  readonly #tickMs: number
  #clock = 0
  #ticker: NodeJS.Timeout | null = null
  #closing: PromiseWithResolvers<void> | null = null
  /** Why no further connections are opened. */
  #destroyed: Error | null = null
  /** By the monotonic clock, until when the pool counts as full. */
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
      // Other waiters get the connections that have just become free.
      this.#waiting.set(waiter, null)
      this.#open({ waiter, isDedicated: false })
    } else {
      // If the process was held up, a response may have arrived meanwhile. It is read in this turn of the event loop, and its
      // connection is handed on at the end of the turn.
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
    // In an outage requests wait for the upstream and not for connections.
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

  /** If all connections are still being opened, the upstream is at fault. */
  #giveUp(waiter: Waiter): void {
    if (this.#opening.size === this.#all.size) {
      this.#retryOrExpire(waiter, new ConnectTimeoutError('no connection was opened in time'))
      return
    }
    this.#fullUntil = performance.now() + FULL_MS
    this.#expire(waiter, new NoConnectionError('all connections to the upstream are taken'))
  }

  /** @returns whether the waiter was still waiting */
  #remove(waiter: Waiter): boolean {
    const timer = this.#waiting.get(waiter)
    if (timer) clearTimeout(timer)
    return this.#waiting.delete(waiter)
  }

  /** Whether the waiter for whom a connection was opened still waits. */
  #isWanted({ waiter, isDedicated }: Opening): boolean {
    return isDedicated || this.#waiting.has(waiter)
  }

  /**
   * The upstream accepted no connection, so nothing was sent, and it may be restarting. The waiter keeps its place, and gets any
   * connection that becomes free meanwhile.
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

  /** The clock is only set at each tick, so a tick is added, and nothing is given up too early. */
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
   * A connection serves again only a turn later, even if nobody waits. If the upstream has sent bytes after its response,
   * they end the connection first and are not taken for the next response. With TLS one read brings such bytes record by
   * record, and the code that waited for the response may run between two records.
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
    // The place is not given away at once, because the waiter that has just lost this connection may need it.
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

  /** How long a free connection is kept: for our time, or for the upstream's without the margin if that is shorter. */
  #keptMs({ keptFor }: UpstreamConnection): number {
    const { keepAliveMs } = this.#options
    return keptFor === null ? keepAliveMs : Math.min(keepAliveMs, Math.max(0, keptFor * 1000 - MARGIN_MS))
  }

  #startClock(): void {
    this.#clock = performance.now()
    this.#ticker = setInterval(() => this.#tick(), this.#tickMs).unref()
  }

  /** Gives free places to waiters for whom no connection is being opened. */
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
   * If the process was held up, data may have arrived already. So a connection is only ended in the next immediate, if it still waits
   * for the same data then.
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
