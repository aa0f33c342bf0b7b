import type { Server, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { householdOf, peerOf } from '../lib/peers.ts'
import { rawSocketOf } from './raw-socket.ts'
import { startReads, stopReads } from './read-stops.ts'

/** How long the connections of an address with a flood are not read, in milliseconds: not all come back in the same turn. */
const [SHORTEST_MS, LONGEST_MS] = [1000, 1500]
/** How long at most an address is read behind others that has had a flood, in milliseconds. */
const LATELY_MS = 60_000
/** Addresses with a flood in that time that are many. */
const MANY = 8

export interface FloodRules {
  /** Whether an address stands for many clients, who shall not wait for one of them. */
  readonly isProxy?: (address: string) => boolean
  /** Whether a credential was accepted on a connection: it then waits for no stranger. Default nobody's was. @param raw as the event `connection` gives it */
  readonly isAccepted?: (raw: Socket) => boolean
}

/**
 * Lets connections rest behind a flood: bytes that take far longer to work through than to send, and for which no request can be refused.
 *
 * What one read has brought is worked through in any case, which takes up to 33 ms. So the other connections of the address rest, and those of
 * other strangers wait for the next turn: theirs would follow in the same one. So each turn has one flood, and users are served in between.
 * In that turn addresses that have had no flood lately are read first, or they would wait for 400 others that take turns with their floods.
 * A connection on which a credential was accepted rests only for floods of its own.
 */
export class FloodRests {
  readonly #rules: FloodRules
  readonly #open = new Map<Socket, Connection>()
  /** Households whose connections rest. */
  readonly #resting = new Set<string>()
  /** Those that have had a flood in the last minute. */
  readonly #lately = new Set<string>()

  /** @param server whose connections there are: by TLS each one counts as a stranger's who waits once its hands are shaken */
  constructor(server: Server, rules: FloodRules, isByTls: boolean) {
    this.#rules = rules
    server.on('connection', (raw: Socket) => {
      const connection = new Connection(raw, !isByTls)
      this.#open.set(raw, connection)
      raw.once('close', () => this.#open.delete(raw))
      // Node starts to read it behind this event.
      if (this.#resting.has(connection.household)) setImmediate(() => connection.rest())
    })
    if (isByTls)
      server.on('secureConnection', (socket: TLSSocket) => this.#open.get(rawSocketOf(socket))?.shaken(socket))
  }

  /** Whether many addresses have had a flood lately: then each of others that follow is better ended than let rest. */
  get comeFromMany(): boolean {
    return this.#lately.size >= MANY
  }

  /** A connection has brought one. @param socket the connection, or the one within TLS */
  flooded(socket: Socket): void {
    const { isProxy = () => false } = this.#rules
    const flooding = this.#open.get(rawSocketOf(socket))
    if (flooding === undefined) return
    flooding.hasFlooded = true
    flooding.rest()
    const { address, household } = flooding
    if (isProxy(address) || this.#resting.has(household)) return
    this.#resting.add(household)
    if (this.#lately.size === 0) setTimeout(() => this.#lately.clear(), LATELY_MS).unref()
    this.#lately.add(household)
    // Until the last of them reads again: floods that go on without end would let them rest without end.
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

/** A connection from its first byte on. */
class Connection {
  readonly address: string
  readonly household: string
  hasFlooded = false
  isShaken: boolean
  /** The one within TLS once its hands are shaken. */
  #socket: Socket
  /** Ends its rest. */
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

  /** One that rests begins anew. */
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
