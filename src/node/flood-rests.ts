import type { Server, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { householdOf, peerOf } from '../lib/peers.ts'
import { RecentAddresses } from '../lib/recent-addresses.ts'
import { rawSocketOf } from './raw-socket.ts'
import { startReads, stopReads } from './read-stops.ts'

/** How long the connections of an address with a flood rest, in milliseconds, varied so that not all return at once. */
const [SHORTEST_MS, LONGEST_MS] = [1000, 1500]
/** The shortest time after a flood for which an address is read after the others, in milliseconds. */
const LATELY_MS = 60_000
/** Up to twice as many households are remembered. */
const MOST_REMEMBERED = 10_000
/** If this many addresses have had a flood in that time, floods come from many. */
const MANY = 8

export interface FloodRules {
  /** Whether an address stands for many clients, who must not wait because of one of them. */
  readonly isProxy?: (address: string) => boolean
  /** Whether a credential was accepted on a connection, which then waits for no stranger. Default no. @param raw its TCP socket */
  readonly isAccepted?: (raw: Socket) => boolean
}

/**
 * Lets connections rest after a flood: bytes that take far longer to process than to send, and for which no request can be refused.
 *
 * The bytes of one read are processed in any case, which takes up to 33 ms. So the other connections of the address rest. Those of other
 * strangers wait for the next turn, because their floods would follow in the same turn. So each turn has one flood, and users are served
 * in between. In the next turn addresses without a recent flood are read first. Otherwise they would wait for hundreds of others whose
 * floods follow each other. A connection with an accepted credential rests only for floods of its own.
 */
export class FloodRests {
  readonly #rules: FloodRules
  readonly #open = new Map<Socket, Connection>()
  /** The households whose connections rest. */
  readonly #resting = new Set<string>()
  /** The households that have had a flood lately. */
  readonly #lately = new RecentAddresses(LATELY_MS, MOST_REMEMBERED)

  /** @param isByTls whether the server's connections are by TLS. Each of them then waits for other floods only after its handshake */
  constructor(server: Server, rules: FloodRules, isByTls: boolean) {
    this.#rules = rules
    server.on('connection', (raw: Socket) => {
      const connection = new Connection(raw, !isByTls)
      this.#open.set(raw, connection)
      raw.once('close', () => this.#open.delete(raw))
      // Node starts to read the connection after this event.
      if (this.#resting.has(connection.household)) setImmediate(() => connection.rest())
    })
    if (isByTls)
      server.on('secureConnection', (socket: TLSSocket) => this.#open.get(rawSocketOf(socket))?.shaken(socket))
  }

  /** Whether many addresses have had a flood lately. It is better then to end further flooding connections at once. */
  get comeFromMany(): boolean {
    return this.#lately.size >= MANY
  }

  /** Reports that a connection has brought a flood. @param socket the connection, or the one within TLS */
  flooded(socket: Socket): void {
    const { isProxy = () => false } = this.#rules
    const flooding = this.#open.get(rawSocketOf(socket))
    if (flooding === undefined) return
    flooding.hasFlooded = true
    flooding.rest()
    const { address, household } = flooding
    if (isProxy(address) || this.#resting.has(household)) return
    this.#resting.add(household)
    this.#lately.add(household)
    // The rest of the household ends when its last connection reads again. A new flood does not prolong it, because floods may go on for ever.
    setTimeout(() => this.#resting.delete(household), LONGEST_MS).unref()
    this.#holdOthers(flooding)
  }

  #holdOthers(flooding: Connection): void {
    const { isAccepted = () => false } = this.#rules
    const [first, last]: [Connection[], Connection[]] = [[], []]
    for (const [raw, other] of this.#open) {
      if (other === flooding || (!other.hasFlooded && isAccepted(raw))) continue
      if (other.household === flooding.household) other.rest()
      else if (other.isShaken && !other.isResting) (this.#lately.has(other.household) ? last : first).push(other)
    }
    const waiting = [...first, ...last]
    for (const other of waiting) other.wait()
    setImmediate(() => {
      for (const other of waiting) other.goOnInTurn()
    })
  }
}

/** A connection, from its first byte on. */
class Connection {
  readonly address: string
  readonly household: string
  hasFlooded = false
  isShaken: boolean
  /** After the handshake this is the socket within TLS. */
  #socket: Socket
  /** The timer that ends the rest. */
  #restTimer: NodeJS.Timeout | undefined

  constructor(raw: Socket, isShaken: boolean) {
    this.#socket = raw
    this.isShaken = isShaken
    this.address = raw.remoteAddress ?? ''
    this.household = householdOf(peerOf(this.address))
  }

  shaken(socket: TLSSocket): void {
    this.#socket = socket
    this.isShaken = true
    if (this.#restTimer !== undefined) stopReads(socket, 'rest')
  }

  get isResting(): boolean {
    return this.#restTimer !== undefined
  }

  wait(): void {
    stopReads(this.#socket, 'turn')
  }

  goOnInTurn(): void {
    startReads(this.#socket, 'turn')
  }

  /** A resting connection begins its rest anew. */
  rest(): void {
    stopReads(this.#socket, 'rest')
    clearTimeout(this.#restTimer)
    const restMs = SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS)
    this.#restTimer = setTimeout(() => {
      this.#restTimer = undefined
      startReads(this.#socket, 'rest')
    }, restMs).unref()
  }
}
