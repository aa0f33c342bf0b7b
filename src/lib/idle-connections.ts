/** A connection that may be closed to make room. */
export interface MayIdle {
  /** Since when the connection is without a request, in monotonic milliseconds; `null` while it has one. */
  readonly idleSince: number | null
}

/** An address that has connections. */
interface Crowd<C> {
  /** `null` where the peer stands for many clients. */
  readonly address: string | null
  readonly connections: Set<C>
}

/**
 * The connections of a server. To make room an idle one is closed: one of the address that has most connections, and
 * there the one that is idle longest. So an address that holds many idle connections loses one of its own first. For
 * example 203.0.113.7 has 3 connections, one of which is idle for 1 s, and 203.0.113.8 has 2, both idle for 60 s. Then
 * the idle one of 203.0.113.7 goes first, because 3 are more than 2.
 *
 * A connection has a plain field for whether it is idle, so a request costs nothing here. Instead each search for the
 * next one visits the connections of the addresses that have most of them.
 */
export class IdleConnections<C extends MayIdle> {
  readonly #crowdOf = new Map<C, Crowd<C>>()
  readonly #crowds = new Set<Crowd<C>>()
  readonly #byAddress = new Map<string, Crowd<C>>()

  /** All connections, idle or not. */
  get size(): number {
    return this.#crowdOf.size
  }

  /** The connections of one address, idle or not. */
  of(address: string): number {
    return this.#byAddress.get(address)?.connections.size ?? 0
  }

  /**
   * @param connection that is not yet here
   * @param address `null` where the peer stands for many clients. The connection then counts as the only one of its address
   */
  add(connection: C, address: string | null): void {
    const crowd = this.#crowdAt(address)
    crowd.connections.add(connection)
    this.#crowdOf.set(connection, crowd)
  }

  /** Forgets a connection that is closed, or is about to be. An unknown connection is no error. */
  remove(connection: C): void {
    const crowd = this.#crowdOf.get(connection)
    if (crowd === undefined) return
    this.#crowdOf.delete(connection)
    crowd.connections.delete(connection)
    if (crowd.connections.size > 0) return
    this.#crowds.delete(crowd)
    if (crowd.address !== null) this.#byAddress.delete(crowd.address)
  }

  /**
   * The connection to close next. It stays here until it is removed.
   * @param only searches among the connections of this address; by default among all
   * @param isMeant which of those may go; by default all of them
   * @returns `null` if none is idle
   */
  next(only?: string, isMeant?: (connection: C) => boolean): C | null {
    if (only !== undefined) return longestIdle(this.#byAddress.get(only)?.connections ?? [], isMeant)
    let best: C | null = null
    let most = 0
    for (const { connections } of this.#crowds) {
      if (connections.size < most) continue
      const idle = longestIdle(connections)
      if (idle === null || (connections.size === most && !isIdleLonger(idle, best))) continue
      best = idle
      most = connections.size
    }
    return best
  }

  #crowdAt(address: string | null): Crowd<C> {
    const known = address === null ? undefined : this.#byAddress.get(address)
    if (known !== undefined) return known
    const crowd = { address, connections: new Set<C>() }
    this.#crowds.add(crowd)
    if (address !== null) this.#byAddress.set(address, crowd)
    return crowd
  }
}

function longestIdle<C extends MayIdle>(connections: Iterable<C>, isMeant?: (connection: C) => boolean): C | null {
  let best: C | null = null
  for (const connection of connections) {
    if (connection.idleSince === null || !isIdleLonger(connection, best)) continue
    if (isMeant === undefined || isMeant(connection)) best = connection
  }
  return best
}

function isIdleLonger({ idleSince }: MayIdle, other: MayIdle | null): boolean {
  return (idleSince ?? Number.POSITIVE_INFINITY) < (other?.idleSince ?? Number.POSITIVE_INFINITY)
}
