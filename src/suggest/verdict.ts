import type { Listener, Refusing } from '../replay/decide.ts'
import type { Entry } from '../replay/entry.ts'
import type { Tariff, UnchargedReason } from '../replay/tariffs.ts'

/** Requests, and the users who sent them. */
export interface Share {
  readonly requests: number
  readonly users: number
}

/** The refusals of the suggested file, as a replay under it decides. */
export class Verdict implements Listener {
  readonly #charged = new Map<string, Count>()
  readonly #refused = new Map<string, Count>()
  readonly #uncharged = new Map<UnchargedReason, number>()

  charged(_entry: Entry, tariff: Tariff): void {
    this.#see(tariff)
  }

  refused(_entry: Entry, tariff: Tariff, { scope, category, window }: Refusing): void {
    const { payer } = tariff
    this.#see(tariff)
    countIn(this.#refused, '', payer.user)
    countIn(this.#refused, limitName(scope, category, window), payer.user)
  }

  /** The suggested file begins in shadow. */
  shadowed(entry: Entry, tariff: Tariff, by: Refusing): void {
    this.refused(entry, tariff, by)
  }

  uncharged(_entry: Entry, why: UnchargedReason): void {
    this.#uncharged.set(why, (this.#uncharged.get(why) ?? 0) + 1)
  }

  get total(): { readonly refused: Share; readonly charged: Share } {
    return { refused: shareIn(this.#refused, ''), charged: shareIn(this.#charged, '') }
  }

  get notCharged(): ReadonlyMap<UnchargedReason, number> {
    return this.#uncharged
  }

  /**
   * What one limit refused, and what had a cost in its category. A request that several limits refuse counts for the limit with the
   * longest wait.
   */
  of(scope: Refusing['scope'], category: string, window: string): { readonly refused: Share; readonly charged: Share } {
    const name = limitName(scope, category, window)
    return { refused: shareIn(this.#refused, name), charged: shareIn(this.#charged, category) }
  }

  #see({ meters, payer: { user } }: Tariff): void {
    countIn(this.#charged, '', user)
    for (const { category } of meters) countIn(this.#charged, category, user)
  }
}

interface Count {
  requests: number
  readonly users: Set<string>
}

function limitName(scope: string, category: string, window: string): string {
  return `${scope} ${category} ${window}`
}

function countIn(counts: Map<string, Count>, name: string, user: string): void {
  const count = counts.get(name) ?? { requests: 0, users: new Set<string>() }
  counts.set(name, count)
  count.requests++
  count.users.add(user)
}

function shareIn(counts: ReadonlyMap<string, Count>, name: string): Share {
  const count = counts.get(name)
  return { requests: count?.requests ?? 0, users: count?.users.size ?? 0 }
}
