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

/** An address or a user that holds something, or everybody. */
class Party {
  readonly held = Object.fromEntries(THINGS.map((thing) => [thing, 0])) as Record<Thing, number>
  /** Holders that count for it. */
  holders = 0
  /** Who waits until it has fewer upstream connections, in the order of arrival; `null` for nobody. */
  waiting: Set<() => void> | null = null

  wakeNext(): void {
    const next = this.waiting?.values().next().value
    if (next !== undefined) next()
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
    const exhausted = this.take(thing, rules)
    return exhausted === null || exhausted.bound === 'total' ? exhausted : this.#wait(exhausted, rules, ms)
  }

  async #wait(first: Exhausted, rules: ShareRules, ms: number): Promise<Exhausted | null> {
    const until = performance.now() + ms
    let exhausted: Exhausted | null = first
    while (exhausted !== null && exhausted.bound !== 'total') {
      const party = (exhausted.bound === 'address' ? this.#address : this.#user) as Party
      const left = until - performance.now()
      if (left <= 0) return exhausted
      await fewer(party, left)
      exhausted = this.take(exhausted.thing, rules)
      // Whoever is woken and has to wait elsewhere leaves the place to the next.
      if (exhausted !== null) party.wakeNext()
    }
    return exhausted
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

/** Resolves when a party may have fewer of what it has too many of, at the latest after `ms` milliseconds. */
function fewer(party: Party, ms: number): Promise<void> {
  return new Promise((resolve) => {
    party.waiting ??= new Set()
    const done = (): void => {
      clearTimeout(timer)
      party.waiting?.delete(done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    party.waiting.add(done)
  })
}
