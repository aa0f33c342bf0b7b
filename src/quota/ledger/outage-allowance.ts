import { type CounterOf, settleBatch } from '../arithmetic.ts'
import { type Charge, type Decision, type Limits, type Meter, metersOf, type Refund } from '../charge.ts'
import { SCOPE_NAMES } from '../charged-scopes.ts'
import { type Counter, running } from '../counter.ts'
import { portion } from '../decimal.ts'
import { type Limit, promised, type Usage } from '../window.ts'
import type { OutageDebts } from './outage-debts.ts'

export interface OutageAllowanceOptions {
  /** The share of the limits that a category may use, 0 (none) to 1. */
  readonly share: (category: string) => number
  /** The most pairs of user and category that are kept, and also the most pairs of organisation and category, and the most debts. */
  readonly maxUsers: number
  readonly debts: Pick<OutageDebts, 'size' | 'sweep'>
}

const SWEEP_MS = 1000

/** A meter with its share of the limits, and its counters without the global one. */
interface Share {
  readonly meter: Meter
  readonly own: Counter
  readonly theirs: Counter
}

/**
 * Counts what one process admits by itself while the store is out.
 *
 * Its counters start empty and have a share of every limit. They stay until their windows end, so that a store that comes
 * and goes does not hand out a new share each time.
 */
export class OutageAllowance {
  readonly #options: OutageAllowanceOptions
  readonly #users = new Map<string, Counter>()
  readonly #organisations = new Map<string, Counter>()
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
   * Decides a charge. `null` if it cannot be decided here: because its category has no share, because a share is less
   * than its cost, or because no further user can be kept.
   */
  decide(charge: Charge, at: number): Decision | null {
    const shares = metersOf(charge).map((meter) => this.#shareIn(meter))
    if (!shares.every(({ meter }) => canHold(meter.limits, meter.cost))) return null
    if (shares.some(isNew) && this.#isFull(at)) return null
    const [limits, ...otherLimits] = shares.map(({ meter }) => meter.limits) as [Limits, ...Limits[]]
    const others = shares.slice(1).map(({ meter }) => meter)
    const shared = { ...charge, limits, ...(others.length > 0 && { others }) }
    const [decision] = settleBatch({ refunds: [], charges: [shared] }, this.#finding(shares), at)
    if (decision === undefined) return null
    for (const { meter, own, theirs } of shares) {
      if (own.length > 0) this.#users.set(userOf(meter), own)
      if (theirs.length > 0) this.#organisations.set(organisationOf(meter), theirs)
    }
    if (decision.others === undefined) return { ...decision, limits }
    const decidedOthers = decision.others.map((each, i) => ({ ...each, limits: otherLimits[i] as Limits }))
    return { ...decision, limits, others: decidedOthers }
  }

  /**
   * Frees the share in the runs that the decision names. The refund is of the charge itself, not of a further meter.
   * @param moved the value of `moved` when the charge was decided
   */
  giveBack(refund: Refund, moved: number): void {
    const { charge, decision } = refund
    const { limits = charge.limits, personal, organisation, global, at } = decision
    const ms = this.#moved - moved
    const now = (usages: readonly Usage[]): Usage[] => usages.map((u) => ({ ...u, startedAt: u.startedAt + ms }))
    const nowIfAny = (usages: readonly Usage[] | null): Usage[] | null => (usages === null ? null : now(usages))
    const there = {
      ...decision,
      personal: now(personal),
      organisation: nowIfAny(organisation),
      global: nowIfAny(global),
    }
    const counters = this.#countersOf(charge)
    const back = { ...refund, charge: { ...charge, limits }, decision: there }
    settleBatch({ refunds: [back], charges: [] }, this.#finding([{ meter: charge, ...counters }]), at)
  }

  /** Empties the windows of an organisation, or of everybody (`null`), as they were emptied in the store. */
  empty(category: string, seconds: readonly number[], organisation: string | null): void {
    const counters = organisation === null ? this.#everybody : this.#organisations
    const key = organisation === null ? category : organisationOf({ organisation, category })
    const left = (counters.get(key) ?? []).filter((entry) => !seconds.includes(entry.seconds))
    counters.set(key, left)
  }

  /** Moves all counters by this many milliseconds, because the times that they were given were wrong by that. */
  shift(ms: number): void {
    this.#sweptAt += ms
    this.#moved += ms
    for (const counters of [this.#users, this.#organisations, this.#everybody]) {
      for (const counter of counters.values()) for (const entry of counter) entry.startedAt += ms
    }
  }

  #shareOf(limits: Limits, of: number): Limits {
    const known = this.#shares.get(limits)
    if (known?.of === of) return known.limits
    const cut = (list: readonly Limit[]): Limit[] =>
      list.map((limit) => ({ window: limit.window, limit: portion(promised(limit), of) }))
    const cutLimits = {
      personal: cut(limits.personal),
      organisation: limits.organisation === null ? null : cut(limits.organisation),
      global: limits.global === null ? null : cut(limits.global),
    }
    this.#shares.set(limits, { of, limits: cutLimits })
    return cutLimits
  }

  #shareIn(meter: Meter): Share {
    const limits = this.#shareOf(meter.limits, this.#options.share(meter.category))
    return { meter: { ...meter, limits }, ...this.#countersOf(meter) }
  }

  /** The counters of the user and of the organisation, if there is one. A counter that is not kept yet is empty. */
  #countersOf(charge: Meter): { own: Counter; theirs: Counter } {
    return {
      own: this.#users.get(userOf(charge)) ?? [],
      theirs: this.#organisations.get(organisationOf(charge)) ?? [],
    }
  }

  /** @param shares of different categories */
  #finding(shares: readonly Share[]): CounterOf {
    return (scope, _, category) => {
      if (scope === 'global') return this.#globalOf(category)
      const share = shares.find(({ meter }) => meter.category === category) as Share
      return scope === 'personal' ? share.own : share.theirs
    }
  }

  #globalOf(category: string): Counter {
    const counter = this.#everybody.get(category) ?? []
    this.#everybody.set(category, counter)
    return counter
  }

  /** Whether no further user can be kept. To make room it removes ended counters, but once a second at most, whatever crowd of users comes. */
  #isFull(at: number): boolean {
    const { maxUsers, debts } = this.#options
    const kept = [this.#users, this.#organisations]
    const isFull = (): boolean => kept.some(({ size }) => size >= maxUsers) || debts.size() >= maxUsers
    if (!isFull() || at - this.#sweptAt < SWEEP_MS) return isFull()
    this.#sweptAt = at
    for (const counters of kept) {
      for (const [key, counter] of counters) if (running(counter, at).length === 0) counters.delete(key)
    }
    debts.sweep(at)
    return isFull()
  }
}

function isNew({ meter, own, theirs }: Share): boolean {
  return own.length === 0 || (meter.limits.organisation !== null && theirs.length === 0)
}

/** A category contains no colon, so the key is unique. */
function userOf({ user, category }: Meter): string {
  return `${category}:${user}`
}

function organisationOf({ organisation, category }: Pick<Meter, 'organisation' | 'category'>): string {
  return `${category}:${organisation ?? ''}`
}

function canHold(limits: Limits, cost: number): boolean {
  return SCOPE_NAMES.every((scope) => limits[scope]?.every(({ limit }) => cost <= limit) ?? true)
}
