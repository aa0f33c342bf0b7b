import { widerNetworkOf } from '../lib/peers.ts'

/** Resources of one process that nobody may take completely. */
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
/** Resources for which requests can wait. A resource that is given back goes to the next one who waits. */
export type Queued = 'upstream_connections'

/**
 * Whose bound is reached: that of one address (`peerOf`), its IPv6 /48, one user, all callers without an accepted credential, or all
 * together.
 */
export type Bound = 'address' | 'network' | 'user' | 'strangers' | 'total'

/** How much of one thing each kind of party may hold at a time; `null` for any amount. */
export type Bounds = Readonly<Record<Bound, number | null>>
export type ShareRules = Readonly<Record<Thing, Bounds>>

/** The bound that is reached. */
export interface Exhausted {
  readonly thing: Thing
  readonly bound: Bound
  readonly max: number
}

/**
 * Counts who holds how much of each resource. Whatever one client can hold for a while is taken and given back here, so that every bound
 * is a number for a party. A holder counts for each of its parties: its address, its network, its user, the strangers, and all.
 *
 * A holder counts as a stranger until a credential is accepted. Before its credential is checked, nobody knows whether it is a stranger.
 * Until then the bound of the strangers refuses nobody, except for `checks`, so users find a place however many strangers there are.
 */
export interface Shares {
  /**
   * A new holder.
   * @param address `null` if the peer stands for many clients
   * @param isLikelyKnown whether an accepted credential came on its connection before
   */
  holder(address: string | null, isLikelyKnown?: boolean): Holder
  /** How many of a thing are held. */
  held(thing: Thing): number
  /** How many of a thing strangers hold. */
  heldByStrangers(thing: Thing): number
}

/** One connection, request or tunnel with what it holds. `end` gives everything back. */
export interface Holder {
  /** `null` if the peer stands for many clients. */
  readonly address: string | null
  /** Takes one of a resource, unless the holder has one. @returns why there is none; `null` if it has one now */
  take(thing: Thing, rules: ShareRules): Exhausted | null
  /** Does what `take` does, but waits up to `ms` milliseconds if a bound is reached, except for the bound of all together. */
  takeWithin(thing: Queued, rules: ShareRules, ms: number): Exhausted | null | Promise<Exhausted | null>
  give(thing: Thing): void
  /**
   * From now on everything that the holder holds counts for this user too. With an accepted credential it counts for the strangers no more.
   * @param user `null` if none is named, as on a public route or for a connection
   * @returns the bound of the user or the strangers that is exceeded; `null` if none is
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

/** Tries again to take what its holder waits for. @returns whether the next one who waits for the same party may try too */
type Retry = () => boolean

/** The waiting set of most parties, to which nothing is ever added. */
const NOBODY: Set<Retry> = new Set()

/** An address, a network or a user, the strangers, or all together: each has a bound of its own. */
class Party {
  readonly bound: Bound
  /** A literal, because nearly each request creates one and reads it about ten times. */
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
  /** How many holders count for this party. */
  holders = 0
  /** Those who wait until this party has fewer upstream connections, in the order of arrival. */
  waiting: Set<Retry> = NOBODY

  constructor(bound: Bound) {
    this.bound = bound
  }

  /** Whether the party has too many of a resource. @param more 1 to ask for one more, 0 if the latest one is counted already */
  excess(thing: Thing, rules: ShareRules, more: 0 | 1): Exhausted | null {
    const max = rules[thing][this.bound]
    return max !== null && this.held[thing] + more > max ? { thing, bound: this.bound, max } : null
  }

  queue(retry: Retry): this {
    if (this.waiting === NOBODY) this.waiting = new Set()
    this.waiting.add(retry)
    return this
  }

  wakeNext(): void {
    for (const retry of this.waiting) if (!retry()) return
  }
}

/** The parties of one kind, by key. A party is forgotten when its last holder leaves. */
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

/** A bit for each resource. */
const BIT = Object.fromEntries(THINGS.map((thing, i) => [thing, 1 << i])) as Record<Thing, number>

class HolderOfShares implements Holder {
  readonly #groups: Groups
  readonly address: string | null
  readonly #isLikelyKnown: boolean
  readonly #network: string | null
  /** The key of its user, if it has one. */
  #user: string | null = null
  /** The parties for which it counts, in the order in which their bounds are checked. */
  readonly #parties: Party[]
  /** Whether it is decided if this is a stranger. Before that the bound of strangers applies to checks only. */
  #isJudged = false
  /** The bits of the resources that it holds. */
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

  /** A check happens before its caller is known, so the bound of strangers applies to it, unless its caller is likely known. */
  #isBoundBy({ bound }: Party, thing: Thing): boolean {
    return bound !== 'strangers' || this.#isJudged || (thing === 'checks' && !this.#isLikelyKnown)
  }

  takeWithin(thing: Queued, rules: ShareRules, ms: number): Exhausted | null | Promise<Exhausted | null> {
    // Somebody of the same party waits already, and nobody may overtake.
    const inFront = this.#partyInFront()
    if (inFront !== null) return this.#wait(thing, inFront, rules, ms)
    const exhausted = this.take(thing, rules)
    const full = this.#partyOf(exhausted)
    return full === null ? exhausted : this.#wait(thing, full, rules, ms)
  }

  /** A loop, because a closure would take memory for each request. */
  #partyInFront(): Party | null {
    for (const party of this.#parties) if (party.waiting.size > 0) return party
    return null
  }

  /** The party whose bound is reached; `null` for none, and for that of all together, for which nobody waits here. */
  #partyOf(exhausted: Exhausted | null): Party | null {
    if (exhausted === null || exhausted.bound === 'total') return null
    for (const party of this.#parties) if (party.bound === exhausted.bound) return party
    return null
  }

  /** A place that is given back is handed over at once, so that nobody comes between. */
  #wait(thing: Queued, first: Party, rules: ShareRules, ms: number): Promise<Exhausted | null> {
    return new Promise((resolve) => {
      let at = first
      const end = (result: Exhausted | null): void => {
        clearTimeout(timer)
        at.waiting.delete(retry)
        resolve(result)
      }
      const retry = (): boolean => {
        const before = at
        const exhausted = this.take(thing, rules)
        const full = this.#partyOf(exhausted)
        if (full === before) return false
        if (full === null) end(exhausted)
        else {
          before.waiting.delete(retry)
          at = full.queue(retry)
        }
        // If another bound keeps this holder from taking the place, the next holder may take it.
        return exhausted !== null
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

  /** No user is named, but it is known whether a credential was accepted. */
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
