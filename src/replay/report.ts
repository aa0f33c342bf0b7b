import type { Listener, Refusing } from './decide.ts'
import type { Entry } from './entry.ts'
import type { Tariff, UnchargedReason } from './tariffs.ts'

/** The result for one user, one route or all. Moments are milliseconds since the epoch. */
export interface Tally {
  /** Requests with a price. */
  requests: number
  refused: number
  /** Requests that are refused here, and that the log let through. */
  newlyRefused: number
  /** Requests that are let through here, and that the log refused. */
  spared: number
  /** Requests that would be refused, but shadow lets them through; not among `refused`. */
  shadowed: number
  /** Tokens that are charged in the end. */
  tokens: number
  /** The first refusal, also in shadow; `null` without one. */
  first: FirstRefusal | null
}

export interface FirstRefusal extends Refusing {
  readonly at: number
}

export interface Report {
  readonly total: Tally
  readonly users: ReadonlyMap<string, Tally>
  readonly routes: ReadonlyMap<string, Tally>
  /** Refusals, also in shadow, by scope, category and window: `personal read 1h`. */
  readonly windows: ReadonlyMap<string, number>
  readonly uncharged: ReadonlyMap<UnchargedReason, number>
  /** The time of the first and of the last request; `null` without any. */
  readonly from: number | null
  readonly to: number | null
}

/** Adds up the results of a replay. */
export class Reporter implements Listener {
  readonly #total = nothing()
  readonly #users = new Map<string, Tally>()
  readonly #routes = new Map<string, Tally>()
  readonly #windows = new Map<string, number>()
  readonly #uncharged = new Map<UnchargedReason, number>()
  #from: number | null = null
  #to: number | null = null

  charged(entry: Entry, tariff: Tariff): void {
    for (const tally of this.#tallies(entry, tariff)) {
      for (const { finalCost } of tariff.meters) tally.tokens += finalCost
      if (entry.fate === 'refused') tally.spared++
    }
  }

  refused(entry: Entry, tariff: Tariff, by: Refusing): void {
    addTo(this.#windows, `${by.scope} ${by.category} ${by.window}`)
    for (const tally of this.#tallies(entry, tariff)) {
      tally.refused++
      if (entry.fate !== 'refused') tally.newlyRefused++
      tally.first ??= { ...by, at: entry.at }
    }
  }

  shadowed(entry: Entry, tariff: Tariff, by: Refusing): void {
    addTo(this.#windows, `${by.scope} ${by.category} ${by.window}`)
    for (const tally of this.#tallies(entry, tariff)) {
      tally.shadowed++
      if (entry.fate === 'refused') tally.spared++
      tally.first ??= { ...by, at: entry.at }
    }
  }

  uncharged(entry: Entry, why: UnchargedReason): void {
    this.#see(entry)
    addTo(this.#uncharged, why)
  }

  report(): Report {
    return {
      total: this.#total,
      users: this.#users,
      routes: this.#routes,
      windows: this.#windows,
      uncharged: this.#uncharged,
      from: this.#from,
      to: this.#to,
    }
  }

  #tallies(entry: Entry, { route, payer }: Tariff): readonly Tally[] {
    this.#see(entry)
    const all = [this.#total, tallyIn(this.#users, payer.user), tallyIn(this.#routes, route)]
    for (const tally of all) tally.requests++
    return all
  }

  #see({ at }: Entry): void {
    this.#from ??= at
    this.#to = at
  }
}

function nothing(): Tally {
  return { requests: 0, refused: 0, newlyRefused: 0, spared: 0, shadowed: 0, tokens: 0, first: null }
}

function tallyIn(tallies: Map<string, Tally>, name: string): Tally {
  let tally = tallies.get(name)
  if (tally === undefined) {
    tally = nothing()
    tallies.set(name, tally)
  }
  return tally
}

function addTo<T>(counts: Map<T, number>, key: T): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** The tallies with refusals, also in shadow, most refusals first, then by name. */
export function mostRefused(tallies: ReadonlyMap<string, Tally>): [string, Tally][] {
  const of = ({ refused, shadowed }: Tally): number => refused + shadowed
  const refused = [...tallies].filter(([, tally]) => of(tally) > 0)
  return refused.sort(([a, x], [b, y]) => of(y) - of(x) || (a < b ? -1 : 1))
}
