import { setImmediate as nextTurn } from 'node:timers/promises'
import { householdOf } from '../lib/peers.ts'
import { RecentAddresses } from '../lib/recent-addresses.ts'

/** How many requests of one address, and of all strangers together, begin in one turn of the event loop. */
const MAX_REQUESTS = 64
/** After this many bytes of their heads in one turn, no further request of the same address, or of strangers, begins. */
const MAX_BYTES = 64 * 1024
/**
 * After this many bytes of a user's address in one turn, none of its other connections is read on. If each turn read on only one
 * connection, an upload over eight connections would cost a quarter more CPU.
 */
const MAX_READ = 1024 * 1024
/** How many requests of strangers begin in the turn after a new connection, so that the next connection is accepted soon. */
const MAX_BESIDE_CONNECTIONS = 4
/** How many waiting requests begin in one turn from strangers' addresses that are not preferred. With more, connecting users wait longer. */
const MAX_LATE_OF_STRANGERS = 2
/**
 * How many waiting requests begin in one turn from preferred addresses of strangers. If 5,000 addresses come at once, which is how many
 * connections strangers may have by default, the last one waits for 157 turns.
 */
const MAX_FIRST_OF_STRANGERS = 32
/** The shortest times for which an address counts as one that began something recently, and as one with an accepted credential, in milliseconds. */
const [BEGUN_LATELY_MS, ACCEPTED_LATELY_MS] = [5000, 300_000]
/** Up to twice as many addresses of each kind are remembered. */
const MOST_REMEMBERED = 10_000

/** What has begun in this turn. */
class Begun {
  requests = 0
  bytes = 0

  hasRoom(most = MAX_REQUESTS): boolean {
    return this.requests < most && this.bytes < MAX_BYTES
  }

  add(bytes: number): void {
    this.requests++
    this.bytes += bytes
  }

  forget(): void {
    this.requests = 0
    this.bytes = 0
  }
}

interface Waiting {
  readonly bytes: number
  readonly begin: () => void
  next: Waiting | null
}

/**
 * What one address has begun in this turn, and its requests that wait for a later one, in order.
 *
 * | State | A request comes | The turn ends |
 * |---|---|---|
 * | room: fewer requests and bytes than one may have | begins at once | forgotten |
 * | full | waits | room, and those who wait begin in their order until it is full |
 * | others wait | waits behind them | as when full |
 */
class AddressTurn extends Begun {
  first: Waiting | null = null
  #last: Waiting | null = null

  wait(bytes: number): Promise<void> {
    return new Promise((begin) => {
      const waiting = { bytes, begin, next: null }
      if (this.#last === null || this.first === null) this.first = waiting
      else this.#last.next = waiting
      this.#last = waiting
    })
  }
}

/**
 * Addresses that wait, in the order in which they joined. When a request of an address begins and others of it wait, the address joins
 * again at the end.
 */
class Queue {
  readonly addresses = new Map<string, AddressTurn>()
  /** How many requests of the queue begin in one turn. */
  readonly most: number

  constructor(most: number) {
    this.most = most
  }
}

/** Addresses whose requests take turns, each address separately. */
class Turns {
  /** The addresses that begin something in this turn, or wait. */
  readonly #addresses = new Map<string, AddressTurn>()
  /** In the order in which they are served. */
  readonly #queues: readonly Queue[]

  constructor(queues: readonly Queue[]) {
    this.#queues = queues
  }

  take(address: string, bytes: number): Promise<void> | null {
    const turn = this.#of(address)
    if (turn.first !== null || !this.hasRoom(turn)) return this.#wait(address, turn, bytes)
    this.add(address, turn, bytes)
    return null
  }

  takeLater(address: string, bytes: number): Promise<void> {
    return this.#wait(address, this.#of(address), bytes)
  }

  takeBehindOthers(address: string): Promise<void> | null {
    const turn = this.#addresses.get(address)
    return turn === undefined || turn.first === null ? null : this.#wait(address, turn, 0)
  }

  /** Moves an address that waits to the end of the queue that `queueOf` gives, unless it waits there already. */
  protected queueAgain(address: string): void {
    const turn = this.#addresses.get(address)
    if (turn === undefined || turn.first === null) return
    if (this.#queues[this.queueOf(address)]?.addresses.has(address)) return
    for (const { addresses } of this.#queues) addresses.delete(address)
    this.#queue(address, turn)
  }

  /** The index of the queue in which an address is to wait. */
  protected queueOf(_address: string): number {
    return 0
  }

  protected hasRoom(turn: AddressTurn): boolean {
    return turn.hasRoom()
  }

  protected add(_address: string, turn: AddressTurn, bytes: number): void {
    turn.add(bytes)
  }

  protected turnEnded(): void {}

  #of(address: string): AddressTurn {
    const known = this.#addresses.get(address)
    if (known !== undefined) return known
    const turn = new AddressTurn()
    if (this.#addresses.size === 0) setImmediate(this.#end)
    this.#addresses.set(address, turn)
    return turn
  }

  #wait(address: string, turn: AddressTurn, bytes: number): Promise<void> {
    if (turn.first === null) this.#queue(address, turn)
    return turn.wait(bytes)
  }

  #queue(address: string, turn: AddressTurn): void {
    this.#queues[this.queueOf(address)]?.addresses.set(address, turn)
  }

  readonly #end = (): void => {
    this.turnEnded()
    for (const [address, turn] of this.#addresses) {
      if (turn.first === null) this.#addresses.delete(address)
      else turn.forget()
    }
    for (const queue of this.#queues) this.#beginWaiting(queue)
    if (this.#addresses.size > 0) setImmediate(this.#end)
  }

  /** Begins up to `most` requests: one of each address, and then one of each again, while the addresses have room. */
  #beginWaiting({ addresses, most }: Queue): void {
    let left = most
    for (const [address, turn] of addresses) {
      const { first } = turn
      if (left === 0) break
      if (first === null || !this.hasRoom(turn)) continue
      turn.first = first.next
      this.add(address, turn, first.bytes)
      first.begin()
      left--
      // If the address waits in the same queue again, the loop comes to it once more.
      addresses.delete(address)
      if (turn.first !== null) this.#queue(address, turn)
    }
  }
}

/**
 * Strangers also share one turn: together they may begin as much as one address, and of the requests that wait only a few begin in each
 * turn. So turns stay short, however many strangers there are.
 *
 * An address that has begun nothing recently goes before others, and so does one with an accepted credential. For example, 4,000 addresses
 * that ask again after each response wait for each other, and none of their requests comes before a user who connects.
 */
class TurnsOfStrangers extends Turns {
  readonly #together = new Begun()
  readonly #begunLately = new RecentAddresses(BEGUN_LATELY_MS, MOST_REMEMBERED)
  readonly #acceptedLately = new RecentAddresses(ACCEPTED_LATELY_MS, MOST_REMEMBERED)

  #hasConnected = false
  #most = MAX_REQUESTS

  constructor() {
    super([new Queue(MAX_FIRST_OF_STRANGERS), new Queue(MAX_LATE_OF_STRANGERS)])
  }

  connected(): void {
    this.#hasConnected = true
  }

  accepted(address: string): void {
    this.#acceptedLately.add(address)
    this.queueAgain(address)
  }

  wasAccepted(address: string): boolean {
    return this.#acceptedLately.has(address)
  }

  protected override queueOf(address: string): number {
    return this.#begunLately.has(address) && !this.#acceptedLately.has(address) ? 1 : 0
  }

  protected override hasRoom(turn: AddressTurn): boolean {
    return turn.hasRoom() && this.#together.hasRoom(this.#most)
  }

  protected override add(address: string, turn: AddressTurn, bytes: number): void {
    turn.add(bytes)
    this.#together.add(bytes)
    this.#begunLately.add(address)
  }

  protected override turnEnded(): void {
    this.#together.forget()
    this.#most = this.#hasConnected ? MAX_BESIDE_CONNECTIONS : MAX_REQUESTS
    this.#hasConnected = false
  }
}

/** Connections with an accepted credential that are read on, each address separately. */
class ReadsOfUsers extends Turns {
  protected override hasRoom(turn: AddressTurn): boolean {
    return turn.bytes < MAX_READ
  }
}

const ofStrangers = new TurnsOfStrangers()
const ofOthers = new Turns([new Queue(Number.POSITIVE_INFINITY)])
const readsOfStrangers = new Turns([new Queue(1)])
const readsBesideUsers = new Turns([new Queue(Number.POSITIVE_INFINITY)])
const readsOfUsers = new ReadsOfUsers([new Queue(Number.POSITIVE_INFINITY)])

/**
 * Takes a turn of the event loop in which the address may begin one more request.
 *
 * libuv accepts one connection in each turn (Node 26.10), and nobody else is served while a turn lasts. If a thousand connections of one
 * address were all served in the turn in which they are read, everybody else would wait for them. And a client that connects behind a
 * thousand others waits for a thousand turns, so each turn has to be short.
 *
 * @param address whose turn it is; `null` for a peer that stands for many clients, which has no bound
 * @param isAccepted whether a credential was accepted on the connection before. Otherwise it may be a stranger's
 * @param bytes of the request's head
 * @returns `null` if the request may begin at once, as nearly all may; otherwise a promise that resolves when it may begin
 */
export function takeTurn(address: string | null, isAccepted: boolean, bytes: number): Promise<void> | null {
  if (address === null) return null
  return isAccepted ? ofOthers.take(address, bytes) : ofStrangers.take(householdOf(address), bytes)
}

/** Takes a turn for a request that has waited already. It begins in a later turn, so that one connection never fills a turn. */
export function takeLaterTurn(address: string, isAccepted: boolean, bytes: number): Promise<void> {
  return isAccepted ? ofOthers.takeLater(address, bytes) : ofStrangers.takeLater(householdOf(address), bytes)
}

/**
 * Takes a turn for a connection that has brought many bytes and wants to be read on. Reads have turns of their own, so that no request
 * waits behind an upload. Each turn reads on one connection of all strangers and four of each address with accepted credentials. It reads
 * one more of an address where such a credential came recently on another connection. So behind one NAT, clients with a credential do not
 * wait for those without.
 */
export function takeTurnToReadOn(address: string | null, isAccepted: boolean, bytes: number): Promise<void> {
  if (address === null) return nextTurn()
  if (isAccepted) return readsOfUsers.takeLater(address, bytes)
  if (wasAcceptedFrom(address)) return readsBesideUsers.takeLater(address, bytes)
  return readsOfStrangers.takeLater(householdOf(address), bytes)
}

/**
 * Takes a turn for a new connection that is to be read. If requests of strangers at its address wait, it waits behind them, unread,
 * because reading it may bring 32 requests, and a thousand connections may come at once.
 *
 * @returns `null` if it may be read at once, as nearly all may
 */
export function takeTurnToRead(address: string): Promise<void> | null {
  ofStrangers.connected()
  return ofStrangers.takeBehindOthers(householdOf(address))
}

/** Notes that a credential from this address was accepted. New connections of the address then go before those of strangers. */
export function acceptedFrom(address: string): void {
  ofStrangers.accepted(householdOf(address))
}

/** Whether a credential from this address was accepted recently, as a rule within the last 5 to 10 minutes. */
export function wasAcceptedFrom(address: string): boolean {
  return ofStrangers.wasAccepted(householdOf(address))
}
