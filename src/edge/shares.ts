/** What is scarce in one process, and of which nobody may have all. */
export const THINGS = [
  'connections',
  'in_flight',
  'requests',
  'bodies',
  'upstream_connections',
  'tunnels',
  'checks',
] as const
export type Thing = (typeof THINGS)[number]

/** Whose bound is reached: of all together, of one address (`peerOf`), of one user. */
export type Bound = 'total' | 'address' | 'user'

/** How many there may be at a time; `null` for any number. */
export type Bounds = Readonly<Record<Bound, number | null>>
export type ShareRules = Readonly<Record<Thing, Bounds>>

/** Why nothing more can be had. */
export interface Exhausted {
  readonly thing: Thing
  readonly bound: Bound
  readonly max: number
}

/**
 * Who holds how much of what is scarce. Everything that one client can hold for a while is taken here and given back
 * here, so that each bound is of one kind: a total, a share of one address, and a share of one user.
 */
export interface Shares {
  /** Somebody who is to hold things. @param address `null` where the peer stands for many clients */
  holder(address: string | null): Holder
  /** How many of a thing are held. */
  held(thing: Thing): number
}

/** What one connection, request or tunnel holds. `end` gives all of it back. */
export interface Holder {
  /** `null` where the peer stands for many clients. */
  readonly address: string | null
  /** Takes one of a thing, unless it has one. @returns why there is none; `null` where it has one now */
  take(thing: Thing, rules: ShareRules): Exhausted | null
  /** The same, but waits for up to `ms` milliseconds where the holder's own address or user has too many. */
  takeWithin(thing: Thing, rules: ShareRules, ms: number): Exhausted | null | Promise<Exhausted | null>
  give(thing: Thing): void
  /** What it holds, and will, counts for this user too. @returns what the user has too many of */
  identify(user: string, rules: ShareRules): Exhausted | null
  end(): void
}

export function createShares(): Shares {
  const all = new Party()
  const addresses = createParties()
  const users = createParties()
  return {
    holder: (address) => new HolderOfShares(all, addresses, users, address),
    held: (thing) => all.held[thing],
  }
}

/** Of most parties, which are made for a request; nothing is added to it. */
const NOBODY: Set<() => void> = new Set()

/** An address or a user that holds something, or everybody. */
class Party {
  /** A literal: one is made for nearly each request, and is looked into some ten times. */
  readonly held: Record<Thing, number> = {
    connections: 0,
    in_flight: 0,
    requests: 0,
    bodies: 0,
    upstream_connections: 0,
    tunnels: 0,
    checks: 0,
  }
  /** Holders that count for it. */
  holders = 0
  /** Who waits until it has fewer upstream connections, in the order of arrival. */
  waiting: Set<() => void> = NOBODY

  queue(retry: () => void): this {
    if (this.waiting === NOBODY) this.waiting = new Set()
    this.waiting.add(retry)
    return this
  }

  wakeNext(): void {
    const [next] = this.waiting
    next?.()
  }
}

/** Remembers nobody who holds nothing. */
interface Parties {
  join(key: string): Party
  leave(key: string, party: Party): void
}

function createParties(): Parties {
  const parties = new Map<string, Party>()
  return {
    join(key) {
      let party = parties.get(key)
      if (party === undefined) {
        party = new Party()
        parties.set(key, party)
      }
      party.holders++
      return party
    },
    leave(key, party) {
      if (--party.holders === 0) parties.delete(key)
    },
  }
}

class HolderOfShares implements Holder {
  readonly #all: Party
  readonly #addresses: Parties
  readonly #users: Parties
  readonly address: string | null
  readonly #address: Party | null
  #userKey = ''
  #user: Party | null = null
  /** In the order in which they were taken; there are three at most. */
  readonly #mine: Thing[] = []

  constructor(all: Party, addresses: Parties, users: Parties, address: string | null) {
    this.#all = all
    this.#addresses = addresses
    this.#users = users
    this.address = address
    this.#address = address === null ? null : addresses.join(address)
  }

  take(thing: Thing, rules: ShareRules): Exhausted | null {
    if (this.#mine.includes(thing)) return null
    const bounds = rules[thing]
    const exhausted =
      excess(thing, 'address', bounds, this.#address) ??
      excess(thing, 'user', bounds, this.#user) ??
      excess(thing, 'total', bounds, this.#all)
    if (exhausted !== null) return exhausted
    this.#mine.push(thing)
    this.#add(thing, 1)
    return null
  }

  takeWithin(thing: Thing, rules: ShareRules, ms: number): Exhausted | null | Promise<Exhausted | null> {
    const party = this.#inFront()
    if (party !== null) return this.#wait(thing, party, rules, ms)
    const exhausted = this.take(thing, rules)
    const full = this.#partyOf(exhausted)
    return full === null ? exhausted : this.#wait(thing, full, rules, ms)
  }

  /** Somebody of its own waits already: nobody overtakes. */
  #inFront(): Party | null {
    if (this.#address !== null && this.#address.waiting.size > 0) return this.#address
    return this.#user !== null && this.#user.waiting.size > 0 ? this.#user : null
  }

  /** Whose bound is reached; `null` for nobody's, and for that of all together, for whom nobody waits here. */
  #partyOf(exhausted: Exhausted | null): Party | null {
    if (exhausted === null || exhausted.bound === 'total') return null
    return exhausted.bound === 'address' ? this.#address : this.#user
  }

  /** Who gives a place back hands it over at once, so that nobody comes between. */
  #wait(thing: Thing, first: Party, rules: ShareRules, ms: number): Promise<Exhausted | null> {
    return new Promise((resolve) => {
      let at = first
      const end = (result: Exhausted | null): void => {
        clearTimeout(timer)
        at.waiting.delete(retry)
        resolve(result)
      }
      const retry = (): void => {
        const before = at
        const exhausted = this.take(thing, rules)
        const full = this.#partyOf(exhausted)
        if (full === before) return
        if (full === null) end(exhausted)
        else {
          before.waiting.delete(retry)
          at = full.queue(retry)
        }
        // What it could not take, for another bound, the next one may.
        if (exhausted !== null) before.wakeNext()
      }
      const timer = setTimeout(() => end(this.take(thing, rules)), ms)
      at.queue(retry)
    })
  }

  give(thing: Thing): void {
    const at = this.#mine.indexOf(thing)
    if (at === -1) return
    this.#mine.splice(at, 1)
    this.#add(thing, -1)
    if (thing !== 'upstream_connections') return
    this.#address?.wakeNext()
    this.#user?.wakeNext()
  }

  identify(user: string, rules: ShareRules): Exhausted | null {
    const party = this.#users.join(user)
    this.#userKey = user
    this.#user = party
    let exhausted: Exhausted | null = null
    for (const thing of this.#mine) {
      exhausted ??= excess(thing, 'user', rules[thing], party)
      party.held[thing]++
    }
    return exhausted
  }

  end(): void {
    for (let last = this.#mine.at(-1); last !== undefined; last = this.#mine.at(-1)) this.give(last)
    if (this.#address !== null) this.#addresses.leave(this.address as string, this.#address)
    if (this.#user !== null) this.#users.leave(this.#userKey, this.#user)
  }

  #add(thing: Thing, one: 1 | -1): void {
    this.#all.held[thing] += one
    if (this.#address !== null) this.#address.held[thing] += one
    if (this.#user !== null) this.#user.held[thing] += one
  }
}

function excess(thing: Thing, bound: Bound, bounds: Bounds, party: Party | null): Exhausted | null {
  const max = bounds[bound]
  return max !== null && party !== null && party.held[thing] >= max ? { thing, bound, max } : null
}
