import { type Charge, type CounterOf, type Decision, type Limits, type Refund, settleBatch } from '../charge.ts'
import { type Counter, running } from '../counter.ts'
import { portion } from '../decimal.ts'
import type { Limit, Usage } from '../window.ts'
import type { OutageDebts } from './outage-debts.ts'

export interface OutageAllowanceOptions {
  /** The share of the limits that a category may use, 0 (none) to 1. */
  readonly share: (category: string) => number
  /** Pairs of user and category, here and among the debts. */
  readonly maxUsers: number
  readonly debts: Pick<OutageDebts, 'size' | 'sweep'>
}

const SWEEP_MS = 1000

/**
 * Counts what one process admits by itself while the store is out.
 *
 * Its counters start empty and have a share of every limit. They live on until their windows end, so that a store that comes
 * and goes does not hand out a new share each time.
 */
export class OutageAllowance {
  readonly #options: OutageAllowanceOptions
  readonly #users = new Map<string, Counter>()
  readonly #everybody = new Map<string, Counter>()
  readonly #shares = new WeakMap<Limits, { of: number; limits: Limits }>()
  #moved = 0
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(options: OutageAllowanceOptions) {
    this.#options = options
  }

  /** How far the counters have been moved by `shift`, in milliseconds. */
  get moved(): number {
    return this.#moved
  }

  /**
   * Decides a charge. `null` if it cannot be decided here. Its category may have no share, some share may be less than
   * its cost, or there may be more users than are kept.
   */
  decide(charge: Charge, at: number): Decision | null {
    const limits = this.#shareOf(charge.limits, this.#options.share(charge.category))
    if (!canHold(limits, charge.cost)) return null
    const own = this.#users.get(userOf(charge)) ?? []
    if (own.length === 0 && this.#isFull(at)) return null
    const [decision] = settleBatch({ refunds: [], charges: [{ ...charge, limits }] }, this.#countersOf(own), at)
    if (decision === undefined) return null
    if (own.length > 0) this.#users.set(userOf(charge), own)
    return { ...decision, limits }
  }

  /**
   * The share is free again, in the runs that the decision names.
   * @param moved as it was when the charge was decided
   */
  giveBack(refund: Refund, moved: number): void {
    const { charge, decision } = refund
    const { limits = charge.limits, personal, global, at } = decision
    const ms = this.#moved - moved
    const now = (usages: readonly Usage[]): Usage[] => usages.map((u) => ({ ...u, startedAt: u.startedAt + ms }))
    const there = { ...decision, personal: now(personal), global: global === null ? null : now(global) }
    const counters = this.#countersOf(this.#users.get(userOf(charge)) ?? [])
    settleBatch({ refunds: [{ ...refund, charge: { ...charge, limits }, decision: there }], charges: [] }, counters, at)
  }

  /** Empties the windows of everybody here, as was done in the store. */
  empty(category: string, seconds: readonly number[]): void {
    const left = this.#globalOf(category).filter((entry) => !seconds.includes(entry.seconds))
    this.#everybody.set(category, left)
  }

  /**
   * Takes note that the times given so far were wrong by this many milliseconds: the counters go on by the right time.
   */
  shift(ms: number): void {
    this.#sweptAt += ms
    this.#moved += ms
    for (const counters of [this.#users, this.#everybody]) {
      for (const counter of counters.values()) for (const entry of counter) entry.startedAt += ms
    }
  }

  #shareOf(limits: Limits, of: number): Limits {
    const known = this.#shares.get(limits)
    if (known?.of === of) return known.limits
    const cut = (list: readonly Limit[]): Limit[] =>
      list.map(({ window, limit }) => ({ window, limit: portion(limit, of) }))
    const cutLimits = {
      personal: cut(limits.personal),
      organisation: null,
      global: limits.global === null ? null : cut(limits.global),
    }
    this.#shares.set(limits, { of, limits: cutLimits })
    return cutLimits
  }

  #countersOf(own: Counter): CounterOf {
    return (user, category) => (user === null ? this.#globalOf(category) : own)
  }

  #globalOf(category: string): Counter {
    const counter = this.#everybody.get(category) ?? []
    this.#everybody.set(category, counter)
    return counter
  }

  /** Ended counters make room, looked for at most once a second: a crowd of new users must not cost a sweep each. */
  #isFull(at: number): boolean {
    const users = this.#users
    const { maxUsers, debts } = this.#options
    if (users.size < maxUsers && debts.size() < maxUsers) return false
    if (at - this.#sweptAt >= SWEEP_MS) {
      this.#sweptAt = at
      for (const [key, counter] of users) if (running(counter, at).length === 0) users.delete(key)
      debts.sweep(at)
    }
    return users.size >= maxUsers || debts.size() >= maxUsers
  }
}

/** Categories hold no colon. */
function userOf({ user, category }: Charge): string {
  return `${category}:${user}`
}

function canHold({ personal, global }: Limits, cost: number): boolean {
  return personal.every(({ limit }) => cost <= limit) && (global === null || global.every(({ limit }) => cost <= limit))
}
