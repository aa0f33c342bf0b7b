import { widerNetworkOf } from '../lib/peers.ts'

/** Requests that begin in one turn of the event loop: of refusals that are cheap, 3 ms. */
const MAX_REQUESTS = 64
/** Bytes of their heads, after which no other one begins in the turn. */
const MAX_BYTES = 64 * 1024
/** Of the requests of strangers that wait. By four the last of fifty users who connect behind 990 such connections waited for 1.04 s, by two for 0.82 s. */
const MAX_LATE_OF_STRANGERS = 2

/** What has begun in this turn. */
class Begun {
  requests = 0
  bytes = 0

  hasRoom(): boolean {
    return this.requests < MAX_REQUESTS && this.bytes < MAX_BYTES
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

/**
 * Addresses whose requests take turns. Those of strangers have a turn together, too: as many as one address may begin at once, and few of
 * those that wait, one address after the other. So turns stay short, however many strangers there are.
 */
class Turns {
  /** Of those that begin something in this turn, or wait. Whose request began last is the last one. */
  readonly #addresses = new Map<string, AddressTurn>()
  /** `null` where each address counts by itself. */
  readonly #together: Begun | null
  readonly #maxLate: number

  constructor(together: Begun | null, maxLate: number) {
    this.#together = together
    this.#maxLate = maxLate
  }

  take(address: string, bytes: number): Promise<void> | null {
    const turn = this.#of(address)
    if (turn.first !== null || !this.#hasRoom(turn)) return turn.wait(bytes)
    this.#add(turn, bytes)
    return null
  }

  takeLater(address: string, bytes: number): Promise<void> {
    return this.#of(address).wait(bytes)
  }

  takeBehindOthers(address: string): Promise<void> | null {
    const turn = this.#addresses.get(address)
    return turn === undefined || turn.first === null ? null : turn.wait(0)
  }

  #of(address: string): AddressTurn {
    const known = this.#addresses.get(address)
    if (known !== undefined) return known
    const turn = new AddressTurn()
    if (this.#addresses.size === 0) setImmediate(this.#end)
    this.#addresses.set(address, turn)
    return turn
  }

  #hasRoom(turn: AddressTurn): boolean {
    return turn.hasRoom() && (this.#together === null || this.#together.hasRoom())
  }

  #add(turn: AddressTurn, bytes: number): void {
    turn.add(bytes)
    this.#together?.add(bytes)
  }

  readonly #end = (): void => {
    this.#together?.forget()
    for (const [address, turn] of this.#addresses) {
      if (turn.first === null) this.#addresses.delete(address)
      else turn.forget()
    }
    this.#beginWaiting()
    if (this.#addresses.size > 0) setImmediate(this.#end)
  }

  /** One of each address, and again for as long as there is room. */
  #beginWaiting(): void {
    let left = this.#maxLate
    for (const [address, turn] of this.#addresses) {
      if (left === 0) break
      const { first } = turn
      if (first === null || !this.#hasRoom(turn)) continue
      turn.first = first.next
      this.#add(turn, first.bytes)
      first.begin()
      left--
      // At the end of the map the loop comes to it once more.
      this.#addresses.delete(address)
      this.#addresses.set(address, turn)
    }
  }
}

const ofStrangers = new Turns(new Begun(), MAX_LATE_OF_STRANGERS)
const ofOthers = new Turns(null, Number.POSITIVE_INFINITY)

/** A household has 65,536 addresses of IPv6: if each had turns of its own, a new user would wait for all that wait of them. */
function strangerAt(address: string): string {
  return widerNetworkOf(address) ?? address
}

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
  return isAccepted ? ofOthers.take(address, bytes) : ofStrangers.take(strangerAt(address), bytes)
}

/** The same for a request that has waited already: it begins in a later turn, so that one connection never fills a turn. */
export function takeLaterTurn(address: string, isAccepted: boolean, bytes: number): Promise<void> {
  return isAccepted ? ofOthers.takeLater(address, bytes) : ofStrangers.takeLater(strangerAt(address), bytes)
}

/**
 * The same for a new connection, which is to be read: if requests of strangers at its address wait, it waits behind them, unread. To read one
 * may bring 32 requests, and each of a thousand connections that come at once takes the turn in which it is accepted.
 *
 * @returns `null` where it may be read at once, as nearly all may
 */
export function takeTurnToRead(address: string): Promise<void> | null {
  return ofStrangers.takeBehindOthers(strangerAt(address))
}
