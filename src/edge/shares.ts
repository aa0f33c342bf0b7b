import { widerNetworkOf } from '../lib/peers.ts'

/** What is scarce in one process, and of which nobody may have all. */
export const THINGS = [
  'connections',
  'in_flight',
  'credentials',
  'requests',
  'bodies',
  'upstream_connections',
  'tunnels',
  'checks',
  'usage',
] as const
export type Thing = (typeof THINGS)[number]
/** What may be waited for: who gives one back hands it to the next who waits. */
export type Queued = 'upstream_connections'

/**
 * Whose bound is reached: of one address (`peerOf`), of the IPv6 /48 that it is in, of one user, of all who have no accepted credential,
 * or of all together.
 */
export type Bound = 'address' | 'network' | 'user' | 'strangers' | 'total'

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
 * Who holds how much of what is scarce. Everything that one client can hold for a while is taken here and given back here, so that each
 * bound is of one kind: a number for a party. A holder counts for each party that it belongs to: its address, its network, its user,
 * the strangers, and all.
 *
 * Whoever holds something is a stranger until a credential was accepted. Only then is it certain who is one: so the bound of the strangers
 * refuses nobody before, and a user finds his place however many strangers there are.
 */
export interface Shares {
  /**
   * Somebody who is to hold things.
   * @param address `null` where the peer stands for many clients
   * @param isLikelyKnown whether its connection has brought an accepted credential before
   */
  holder(address: string | null, isLikelyKnown?: boolean): Holder
  /** How many of a thing are held. */
  held(thing: Thing): number
  /** How many of a thing strangers hold. */
  heldByStrangers(thing: Thing): number
}

/** What one connection, request or tunnel holds. `end` gives all of it back. */
export interface Holder {
  /** `null` where the peer stands for many clients. */
  readonly address: string | null
  /** Takes one of a thing, unless it has one. @returns why there is none; `null` where it has one now */
  take(thing: Thing, rules: ShareRules): Exhausted | null
  /** The same, but waits for up to `ms` milliseconds where a party of the holder's, other than all together, has too many. */
  takeWithin(thing: Queued, rules: ShareRules, ms: number): Exhausted | null | Promise<Exhausted | null>
  give(thing: Thing): void
  /**
   * What it holds, and will, counts for this user too. Whose credential was accepted is no stranger any more.
   * @param user `null` for nobody by name, as on a public route, and for a connection
   * @returns what the user, or the strangers, have too many of
   */
  identify(user: string | null, isAccepted: boolean, rules: ShareRules): Exhausted | null
  end(): void
}

export function createShares(): Shares {
  const all = new Party('total')
  const strangers = new Party('strangers')
  const groups = {
    all,
    strangers,
    address: new Parties('address'),
    network: new Parties('network'),
    user: new Parties('user'),
  }
  return {
    holder: (address, isLikelyKnown = false) => new HolderOfShares(groups, address, isLikelyKnown),
    held: (thing) => all.held[thing],
    heldByStrangers: (thing) => strangers.held[thing],
  }
}

/** Of most parties, which are made for a request; nothing is added to it. */
const NOBODY: Set<() => void> = new Set()

/** Whoever has a bound of its own. */
class Party {
  readonly bound: Bound
  /** A literal: one is made for nearly each request, and is looked into some ten times. */
  readonly held: Record<Thing, number> = {
    connections: 0,
    in_flight: 0,
    credentials: 0,
    requests: 0,
    bodies: 0,
    upstream_connections: 0,
    tunnels: 0,
    checks: 0,
    usage: 0,
  }
  /** Holders that count for it. */
  holders = 0
  /** Who waits until it has fewer upstream connections, in the order of arrival. */
  waiting: Set<() => void> = NOBODY

  constructor(bound: Bound) {
    this.bound = bound
  }

  /** Whether it has too many of a thing. @param more 1 to ask for one more, 0 where that one is counted already */
  excess(thing: Thing, rules: ShareRules, more: 0 | 1): Exhausted | null {
    const max = rules[thing][this.bound]
    return max !== null && this.held[thing] + more > max ? { thing, bound: this.bound, max } : null
  }

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
class Parties {
  readonly #bound: Bound
  readonly #byKey = new Map<string, Party>()

  constructor(bound: Bound) {
    this.#bound = bound
  }

  join(key: string): Party {
    let party = this.#byKey.get(key)
    if (party === undefined) {
      party = new Party(this.#bound)
      this.#byKey.set(key, party)
    }
    party.holders++
    return party
  }

  leave(key: string, party: Party): void {
    if (--party.holders === 0) this.#byKey.delete(key)
  }
}

interface Groups {
  readonly all: Party
  readonly strangers: Party
  readonly address: Parties
  readonly network: Parties
  readonly user: Parties
}

/** A bit for each thing. */
const BIT = Object.fromEntries(THINGS.map((thing, i) => [thing, 1 << i])) as Record<Thing, number>

class HolderOfShares implements Holder {
  readonly #groups: Groups
  readonly address: string | null
  readonly #isLikelyKnown: boolean
  readonly #network: string | null
  /** The key of its user, where it has one. */
  #user: string | null = null
  /** Those that it counts for, in the order in which their bounds are looked at. */
  readonly #parties: Party[]
  /** Whether it is known if it is a stranger: only then does their bound hold for it. */
  #isJudged = false
  /** The bits of what it holds. */
  #mine = 0

  constructor(groups: Groups, address: string | null, isLikelyKnown: boolean) {
    this.#groups = groups
    this.address = address
    this.#isLikelyKnown = isLikelyKnown
    this.#network = address === null ? null : widerNetworkOf(address)
    const { all, strangers } = groups
    if (address === null) this.#parties = [strangers, all]
    else if (this.#network === null) this.#parties = [groups.address.join(address), strangers, all]
    else this.#parties = [groups.address.join(address), groups.network.join(this.#network), strangers, all]
  }

  take(thing: Thing, rules: ShareRules): Exhausted | null {
    const bit = BIT[thing]
    if ((this.#mine & bit) !== 0) return null
    for (const party of this.#parties) {
      const exhausted = this.#isBoundBy(party, thing) ? party.excess(thing, rules, 1) : null
      if (exhausted !== null) return exhausted
    }
    this.#mine |= bit
    for (const { held } of this.#parties) held[thing]++
    return null
  }

  /** A check comes before anybody knows whose it is. */
  #isBoundBy({ bound }: Party, thing: Thing): boolean {
    return bound !== 'strangers' || this.#isJudged || (thing === 'checks' && !this.#isLikelyKnown)
  }

  takeWithin(thing: Queued, rules: ShareRules, ms: number): Exhausted | null | Promise<Exhausted | null> {
    // Somebody of its own waits already: nobody overtakes.
    const inFront = this.#partyInFront()
    if (inFront !== null) return this.#wait(thing, inFront, rules, ms)
    const exhausted = this.take(thing, rules)
    const full = this.#partyOf(exhausted)
    return full === null ? exhausted : this.#wait(thing, full, rules, ms)
  }

  /** A loop, as below: a closure would take memory of each request. */
  #partyInFront(): Party | null {
    for (const party of this.#parties) if (party.waiting.size > 0) return party
    return null
  }

  /** Whose bound is reached; `null` for nobody's, and for that of all together, for whom nobody waits here. */
  #partyOf(exhausted: Exhausted | null): Party | null {
    if (exhausted === null || exhausted.bound === 'total') return null
    for (const party of this.#parties) if (party.bound === exhausted.bound) return party
    return null
  }

  /** Who gives a place back hands it over at once, so that nobody comes between. */
  #wait(thing: Queued, first: Party, rules: ShareRules, ms: number): Promise<Exhausted | null> {
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
    const bit = BIT[thing]
    if ((this.#mine & bit) === 0) return
    this.#mine &= ~bit
    for (const { held } of this.#parties) held[thing]--
    if (thing !== 'upstream_connections') return
    for (const party of this.#parties) party.wakeNext()
  }

  identify(user: string | null, isAccepted: boolean, rules: ShareRules): Exhausted | null {
    const { strangers, user: users } = this.#groups
    const at = this.#parties.indexOf(strangers)
    this.#isJudged = true
    if (user === null) return this.#judge(isAccepted, at, rules)
    const party = users.join(user)
    this.#user = user
    const ofUser = this.#excessOf(party, rules, 1)
    if (isAccepted) this.#parties[at] = party
    else this.#parties.splice(at, 0, party)
    this.#count(party, 1)
    if (isAccepted) this.#count(strangers, -1)
    return ofUser ?? (isAccepted ? null : this.#excessOf(strangers, rules, 0))
  }

  /** Nobody by name, of whom it is known all the same whether a credential was accepted. */
  #judge(isAccepted: boolean, at: number, rules: ShareRules): Exhausted | null {
    const { strangers } = this.#groups
    if (!isAccepted) return this.#excessOf(strangers, rules, 0)
    this.#parties.splice(at, 1)
    this.#count(strangers, -1)
    return null
  }

  #excessOf(party: Party, rules: ShareRules, more: 0 | 1): Exhausted | null {
    for (const thing of THINGS) {
      const exhausted = (this.#mine & BIT[thing]) === 0 ? null : party.excess(thing, rules, more)
      if (exhausted !== null) return exhausted
    }
    return null
  }

  #count({ held }: Party, one: 1 | -1): void {
    for (const thing of THINGS) if ((this.#mine & BIT[thing]) !== 0) held[thing] += one
  }

  end(): void {
    for (const thing of THINGS) this.give(thing)
    for (const party of this.#parties) {
      if (party.bound === 'address') this.#groups.address.leave(this.address as string, party)
      else if (party.bound === 'network') this.#groups.network.leave(this.#network as string, party)
      else if (party.bound === 'user') this.#groups.user.leave(this.#user as string, party)
    }
    this.#parties.length = 0
  }
}
