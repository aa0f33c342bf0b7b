import type { Socket } from 'node:net'
import { IdleConnections, type MayIdle } from '../lib/idle-connections.ts'
import { householdOf, peerOf } from '../lib/peers.ts'
import type { Observer } from '../observe/observation.ts'
import { ConnectionRush } from './connection-rush.ts'
import type { Holder, ShareRules, Shares } from './shares.ts'

/** A share of `max`. With more connections, idle ones are closed before a new one needs the room. */
const NEARLY_FULL = 0.9
/** A share of `max`. With more connections, idle ones are kept for a shorter time. */
const FILLING = 0.5
/**
 * How many TLS connections may wait for their handshake. As many honest clients may connect within one round trip. If all of them sent
 * their handshakes at once, that turn of the event loop would last for about half a second, with RSA of 2048 bits.
 */
export const MOST_HANDSHAKES = 1000
/** The shortest time for which an idle connection is kept, in milliseconds. */
const SHORTEST_KEEP_ALIVE_MS = 1000

export interface OpenConnectionsOptions {
  readonly shares: Shares
  readonly observe: Observer
  /** The most connections. */
  readonly max: number
  readonly limits: () => { readonly shares: ShareRules; readonly isProxy: (address: string) => boolean }
}

/** Why a new connection is closed. */
type Refused = 'too_many_of_address' | 'too_fast'

/**
 * A connection of a client from its first packet on.
 *
 * | State | `idleSince` | Closed to make room |
 * |---|---|---|
 * | no head has come yet, or all requests have their responses | since then | yes, those of strangers first |
 * | a request is under way, or it is a tunnel | `null` | no |
 */
export class OpenConnection implements MayIdle {
  idleSince: number | null = performance.now()
  readonly socket: Socket
  /** `null` for a peer that stands for many clients. */
  readonly peer: string | null
  /**
   * The group whose connections are counted together to find which of them gives way. So a /48 with one connection for each /64 is not
   * spared. `null` for a peer that stands for many clients.
   */
  readonly household: string | null
  /** Whether no credential was accepted on it yet. */
  isStranger: boolean
  readonly holder: Holder

  constructor(socket: Socket, peer: string | null, household: string | null, holder: Holder) {
    this.socket = socket
    this.peer = peer
    this.household = household
    this.isStranger = peer !== null
    this.holder = holder
  }
}

/**
 * All connections of a listener, and which of them are closed when there is no room. Idle connections go before a new one is refused. Those
 * of strangers go before others, and those of the fullest address first. An IPv6 /48 counts as one address.
 */
export class OpenConnections {
  readonly #options: OpenConnectionsOptions
  readonly #strangers = new IdleConnections<OpenConnection>()
  readonly #others = new IdleConnections<OpenConnection>()
  /** Connections whose TLS handshake has not ended. They are also in one of the two sets above. */
  readonly #shaking = new IdleConnections<OpenConnection>()
  readonly #bySocket = new WeakMap<Socket, OpenConnection>()
  readonly #rush = new ConnectionRush()

  constructor(options: OpenConnectionsOptions) {
    this.#options = options
  }

  /**
   * @returns the connection; `null` if it was closed instead, because its address has its share and no idle connection, or because in a
   * rush room was already made for enough connections of its household
   */
  open(socket: Socket): OpenConnection | null {
    const { shares, limits } = this.#options
    const { isProxy } = limits()
    const address = socket.remoteAddress ?? ''
    const peer = isProxy(address) ? null : peerOf(address)
    const household = peer === null ? null : householdOf(peer)
    this.#rush.came()
    // The rush is asked at most once for both bounds.
    const mayMakeRoom = onceFor(() => this.#rush.mayMakeRoom(household))
    if (!this.#makeRoom(mayMakeRoom)) return this.#refuse(socket, 'too_fast')
    const holder = shares.holder(peer)
    const refused = this.#refusedBy(holder, peer, household, mayMakeRoom)
    if (refused !== null) {
      holder.end()
      return this.#refuse(socket, refused)
    }
    const connection = new OpenConnection(socket, peer, household, holder)
    // A peer that stands for many clients is trusted.
    if (!connection.isStranger) holder.identify(null, true, limits().shares)
    this.#groupOf(connection).add(connection, household)
    this.#bySocket.set(socket, connection)
    socket.once('close', () => this.#remove(connection))
    return connection
  }

  of(socket: Socket): OpenConnection | undefined {
    return this.#bySocket.get(socket)
  }

  /**
   * The next data on this TLS connection is a handshake, which cannot be seen before it is processed. An address that opens
   * thousands of silent connections could have as many handshakes made in one turn of the event loop. So if too many connections wait
   * for their handshake, one of them is closed.
   */
  shakes(connection: OpenConnection): void {
    if (this.#shaking.size >= MOST_HANDSHAKES) this.#close(this.#shaking.next())
    this.#shaking.add(connection, connection.household)
  }

  hasShaken(connection: OpenConnection): void {
    this.#shaking.remove(connection)
  }

  /** Notes that a credential of this connection was accepted. */
  accepted(connection: OpenConnection): void {
    if (!connection.isStranger || connection.socket.destroyed) return
    this.#strangers.remove(connection)
    connection.isStranger = false
    connection.holder.identify(null, true, this.#options.limits().shares)
    this.#others.add(connection, connection.household)
  }

  /** How long an idle connection is kept, in milliseconds. This time becomes shorter when more than half of the places are taken. */
  keepAliveMs(usualMs: number): number {
    const { max } = this.#options
    const left = (max - this.#strangers.size - this.#others.size) / (max * (1 - FILLING))
    return left >= 1 ? usualMs : Math.max(Math.min(SHORTEST_KEEP_ALIVE_MS, usualMs), Math.floor(usualMs * left))
  }

  /** Why the bounds of its address refuse a new connection; `null` if they do not. */
  #refusedBy(
    holder: Holder,
    peer: string | null,
    household: string | null,
    mayMakeRoom: () => boolean,
  ): Refused | null {
    const { shares } = this.#options.limits()
    if (peer === null || household === null) return null
    const full = holder.take('connections', shares)
    if (full === null) return null
    if (full.bound !== 'address' && full.bound !== 'network') return 'too_many_of_address'
    if (!mayMakeRoom()) return 'too_fast'
    const isMeant = full.bound === 'network' ? () => true : (other: OpenConnection) => other.peer === peer
    const next = this.#strangers.next(household, isMeant) ?? this.#others.next(household, isMeant)
    return this.#close(next) && holder.take('connections', shares) === null ? null : 'too_many_of_address'
  }

  /**
   * Closes an idle connection if nearly all places, or all of the strangers' share, are taken.
   * @returns whether a new connection may come; `false` only in a rush
   */
  #makeRoom(mayMakeRoom: () => boolean): boolean {
    const { max, shares, limits } = this.#options
    const ofStrangers = limits().shares.connections.strangers
    // If all places are taken, Node itself closes new connections, and none of them comes here.
    const isNearlyFull = this.#strangers.size + this.#others.size >= Math.min(max * NEARLY_FULL, max - 1)
    const areStrangersFull = ofStrangers !== null && shares.heldByStrangers('connections') >= ofStrangers
    if (!isNearlyFull && !areStrangersFull) return true
    if (!mayMakeRoom()) return false
    const next = this.#strangers.next()
    this.#close(isNearlyFull ? (next ?? this.#others.next()) : next)
    return true
  }

  #refuse(socket: Socket, code: Refused): null {
    this.#options.observe({ type: 'bad_connection', code, status: 0 })
    socket.destroy()
    return null
  }

  #close(connection: OpenConnection | null): boolean {
    if (connection === null) return false
    this.#options.observe({ type: 'bad_connection', code: 'made_room', status: 0 })
    this.#remove(connection)
    connection.socket.destroy()
    return true
  }

  #remove(connection: OpenConnection): void {
    this.#groupOf(connection).remove(connection)
    this.#shaking.remove(connection)
    connection.holder.end()
  }

  #groupOf({ isStranger }: OpenConnection): IdleConnections<OpenConnection> {
    return isStranger ? this.#strangers : this.#others
  }
}

/** Asks at most once, because each question to `ConnectionRush` uses up a place. */
export function onceFor(ask: () => boolean): () => boolean {
  let known: boolean | null = null
  return () => {
    known ??= ask()
    return known
  }
}
