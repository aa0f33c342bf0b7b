import { setImmediate as nextTurn } from 'node:timers/promises'
import { householdOf } from '../lib/peers.ts'
import { RecentAddresses } from './recent-addresses.ts'

/** Requests that begin in one turn of the event loop: of refusals that are cheap, 3 ms. */
const MAX_REQUESTS = 64
/** Bytes of their heads, after which no other one begins in the turn. */
const MAX_BYTES = 64 * 1024
/**
 * Bytes of a user's address in one turn, after which no other one of its connections is read on. With one connection in a turn an upload over
 * eight of them costs a quarter more CPU than without turns.
 */
const MAX_READ = 1024 * 1024
/** Of those of strangers in the turn behind one in which a connection came: the next one is accepted in the turn that follows. */
const MAX_BESIDE_CONNECTIONS = 4
/** Of the requests of strangers that wait. By four the last of fifty users who connect behind 990 such connections waited for 1.04 s, by two for 0.82 s. */
const MAX_LATE_OF_STRANGERS = 2
/** Of those of strangers that go first. If 5,000 addresses, as many as strangers have connections, come at once, the last one waits for 157 turns. */
const MAX_FIRST_OF_STRANGERS = 32
/** How long an address at least counts as one that has begun something lately, and one that has brought an accepted credential, in milliseconds. */
const [BEGUN_LATELY_MS, ACCEPTED_LATELY_MS] = [5000, 300_000]
/** Twice as many addresses are remembered of each kind at most. */
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
 * What one address has begun in this turn, and who waits for a later one, the first one first.
 *
 * | State | A request comes | The turn ends |
 * |---|---|---|
 * | room: fewer requests and bytes than one may have | begins at once | forgotten |
 * | full | waits | room, and those who wait begin in their order until it is full |
 * | others wait | waits behind them | the same |
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

/** Addresses that wait, in their order: whose request began last is the last one. */
class Queue {
  readonly addresses = new Map<string, AddressTurn>()
  /** Requests that begin of it in one turn. */
  readonly most: number

  constructor(most: number) {
    this.most = most
  }
}

/** Addresses whose requests take turns, each for itself. */
class Turns {
  /** Of those that begin something in this turn, or wait. */
  readonly #addresses = new Map<string, AddressTurn>()
  /** The first one goes first. */
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

  /** Puts an address that waits where it belongs now. */
  protected queueAgain(address: string): void {
    const turn = this.#addresses.get(address)
    if (turn === undefined || turn.first === null) return
    for (const { addresses } of this.#queues) addresses.delete(address)
    this.#queue(address, turn)
  }

  /** Which queue an address waits in. */
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

  /** One of each address, and again for as long as there is room. */
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
      // Where it waits again in the same queue, the loop comes to it once more.
      addresses.delete(address)
      if (turn.first !== null) this.#queue(address, turn)
    }
  }
}

/**
 * Those of strangers have a turn together, too: as many as one address may begin at once, and few of those that wait. So turns stay short,
 * however many strangers there are.
 *
 * An address that has begun nothing lately goes before those that have, and so does one from which an accepted credential came. For
 * example, 4,000 addresses that ask again as soon as they have their response wait for each other, and none of their requests is in
 * front of a user who connects.
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

/** Connections on which a credential was accepted are read on, each address for itself. */
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
 * libuv accepts one connection a turn (Node 26.10), and nobody is served while a turn lasts: a thousand connections of one address whose
 * requests were all served in the turn in which they are read would make everybody else wait for all of them. And whoever connects behind
 * a thousand others waits for a thousand turns, so that each of them has to be short.
 *
 * @param address whose turn it is; `null` for a peer that stands for many clients, which has no bound
 * @param isAccepted whether a credential was accepted on the connection before; otherwise it may be a stranger's
 * @param bytes of the request's head
 * @returns `null` where the request may begin at once, as nearly all may; otherwise when it may
 */
export function takeTurn(address: string | null, isAccepted: boolean, bytes: number): Promise<void> | null {
  if (address === null) return null
  return isAccepted ? ofOthers.take(address, bytes) : ofStrangers.take(householdOf(address), bytes)
}

/** The same for a request that has waited already: it begins in a later turn, so that one connection never fills a turn. */
export function takeLaterTurn(address: string, isAccepted: boolean, bytes: number): Promise<void> {
  return isAccepted ? ofOthers.takeLater(address, bytes) : ofStrangers.takeLater(householdOf(address), bytes)
}

/**
 * The same for a connection that has brought many bytes, which is to be read on. Reads have turns of their own, so that no request waits behind
 * an upload. In each turn one connection of all strangers is read on, four of each address on which a credential was accepted, and one more of
 * an address from which such a credential came lately on another connection. So of the clients behind one NAT who have brought a credential
 * none waits for those who have not.
 */
export function takeTurnToReadOn(address: string | null, isAccepted: boolean, bytes: number): Promise<void> {
  if (address === null) return nextTurn()
  if (isAccepted) return readsOfUsers.takeLater(address, bytes)
  if (wasAcceptedFrom(address)) return readsBesideUsers.takeLater(address, bytes)
  return readsOfStrangers.takeLater(householdOf(address), bytes)
}

/**
 * The same for a new connection, which is to be read: if requests of strangers at its address wait, it waits behind them, unread. To read one
 * may bring 32 requests, and each of a thousand connections that come at once takes the turn in which it is accepted.
 *
 * @returns `null` where it may be read at once, as nearly all may
 */
export function takeTurnToRead(address: string): Promise<void> | null {
  ofStrangers.connected()
  return ofStrangers.takeBehindOthers(householdOf(address))
}

/** A credential was accepted that came from the address: its new connections go before those of strangers who keep coming. */
export function acceptedFrom(address: string): void {
  ofStrangers.accepted(householdOf(address))
}

/** Whether that was so lately, in the last 5 minutes at least. */
export function wasAcceptedFrom(address: string): boolean {
  return ofStrangers.wasAccepted(householdOf(address))
}
