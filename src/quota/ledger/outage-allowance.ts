import { type Charge, type CounterOf, type Decision, type Limits, type Refund, settleBatch } from '../charge.ts'
import { type Counter, running } from '../counter.ts'
import { portion } from '../decimal.ts'
import type { Limit, Usage } from '../window.ts'
import { createDebts, type Debt, type DebtEvent, type Debts } from './outage-debts.ts'

/**
 * What one process admits by itself while the store is out, and what it owes the store for it.
 *
 * It decides on counters of its own that start empty and have a share of every limit; they live on until their windows
 * end, so that a store that comes and goes does not hand out a new share each time. What is admitted is a debt.
 */
export interface Outage extends Pick<Debts, 'take' | 'settled' | 'returned'> {
  /**
   * Decides a charge on the local counters. `null`: it cannot be decided here, since its category has no share, the
   * share of some limit is less than its cost, or there are more users than are kept.
   */
  decide(charge: Charge, at: number): Decision | null
  /** The store certainly did not count a charge that was accepted here: it is owed. */
  owe(charge: Charge, decision: Decision): void
  /** The store had decided the charge as well, before it fell silent: what it accepted is counted and not owed. */
  learn(charge: Charge, decision: Decision, byStore: Decision): void
  /**
   * Gives a charge back that was accepted here.
   * @returns what the store is to give back for it, or `null` while it is not known whether the store has counted it
   */
  giveBack(refund: Refund): readonly Refund[] | null
  /** Windows of everybody were emptied in the store: their local counters are too. What is owed stays owed. */
  empty(category: string, seconds: readonly number[]): void
  /** Whether it was decided here. */
  made(decision: Decision): boolean
  /** The times given so far were wrong by so many milliseconds: the local counters go on by the right one. Only while nothing is owed. */
  shift(ms: number): void
  /** Whether there are debts to take. */
  owes(): boolean
  /** Tokens owed, those that were taken included. */
  owed(): number
}

export interface OutageOptions {
  /** The share of the limits that a category may use, 0 (none) to 1. */
  readonly share: (category: string) => number
  /** Pairs of user and category; 1.5 KB each. Default 50,000. */
  readonly maxUsers?: number | undefined
  /** Told whenever tokens change their state. */
  readonly tell: (event: DebtEvent, tokens: number) => void
}

/** What became of a charge that was accepted here; nothing yet where both are `null`. */
interface Admission {
  debt: Debt | null
  /** The store had accepted it as well. */
  byStore: Decision | null
  /** How far the local counters had been moved when it was accepted, in milliseconds. */
  readonly moved: number
}

const SWEEP_MS = 1000

export function createOutage({ share, maxUsers = 50_000, tell }: OutageOptions): Outage {
  const users = new Map<string, Counter>()
  const everybody = new Map<string, Counter>()
  const debts = createDebts(tell)
  const admissions = new WeakMap<Decision, Admission>()
  const shares = new WeakMap<Limits, { of: number; limits: Limits }>()
  let moved = 0
  let sweptAt = Number.NEGATIVE_INFINITY

  function decide(charge: Charge, at: number): Decision | null {
    const limits = shareOf(charge.limits, share(charge.category))
    if (!canHold(limits, charge.cost)) return null
    const own = users.get(userOf(charge)) ?? []
    if (own.length === 0 && isFull(at)) return null
    const [plain] = settleBatch({ refunds: [], charges: [{ ...charge, limits }] }, countersOf(own), at)
    if (plain === undefined) return null
    const decision = { ...plain, limits }
    if (own.length > 0) users.set(userOf(charge), own)
    admissions.set(decision, { debt: null, byStore: null, moved })
    return decision
  }

  function shareOf(limits: Limits, of: number): Limits {
    const known = shares.get(limits)
    if (known?.of === of) return known.limits
    const cut = (list: readonly Limit[]): Limit[] =>
      list.map(({ window, limit }) => ({ window, limit: portion(limit, of) }))
    const cutLimits = { personal: cut(limits.personal), global: limits.global === null ? null : cut(limits.global) }
    shares.set(limits, { of, limits: cutLimits })
    return cutLimits
  }

  function countersOf(own: Counter): CounterOf {
    return (user, category) => (user === null ? globalOf(category) : own)
  }

  function globalOf(category: string): Counter {
    const counter = everybody.get(category) ?? []
    everybody.set(category, counter)
    return counter
  }

  /** Ended counters make room, looked for at most once a second: a crowd of new users must not cost a sweep each. */
  function isFull(at: number): boolean {
    if (users.size < maxUsers && debts.size() < maxUsers) return false
    if (at - sweptAt >= SWEEP_MS) {
      sweptAt = at
      for (const [key, counter] of users) if (running(counter, at).length === 0) users.delete(key)
      debts.sweep(at)
    }
    return users.size >= maxUsers || debts.size() >= maxUsers
  }

  function owe(charge: Charge, decision: Decision): void {
    const admission = admissions.get(decision)
    if (admission !== undefined) admission.debt = debts.owe(charge, decision)
  }

  function learn(charge: Charge, decision: Decision, byStore: Decision): void {
    const admission = admissions.get(decision)
    if (admission === undefined) return
    if (byStore.accepted) admission.byStore = byStore
    else owe(charge, decision)
  }

  function giveBack(refund: Refund): readonly Refund[] | null {
    const admission = admissions.get(refund.decision)
    if (admission === undefined) return []
    const inStore = inStoreOf(admission, refund)
    if (inStore === null) return null
    admissions.delete(refund.decision)
    giveBackHere(refund, moved - admission.moved)
    return inStore
  }

  function inStoreOf({ debt, byStore }: Admission, refund: Refund): readonly Refund[] | null {
    if (byStore !== null) return [{ charge: refund.charge, decision: byStore }]
    return debt === null ? null : debts.giveBack(debt, refund)
  }

  /** The local share is free again, in the runs that the decision names, which have been moved by so many milliseconds since. */
  function giveBackHere({ charge, decision }: Refund, ms: number): void {
    const { limits = charge.limits, personal, global, at } = decision
    const now = (usages: readonly Usage[]): Usage[] => usages.map((u) => ({ ...u, startedAt: u.startedAt + ms }))
    const there = { ...decision, personal: now(personal), global: global === null ? null : now(global) }
    const own = users.get(userOf(charge)) ?? []
    settleBatch({ refunds: [{ charge: { ...charge, limits }, decision: there }], charges: [] }, countersOf(own), at)
  }

  function shift(ms: number): void {
    sweptAt += ms
    moved += ms
    for (const counters of [users, everybody]) {
      for (const counter of counters.values()) for (const entry of counter) entry.startedAt += ms
    }
  }

  function empty(category: string, seconds: readonly number[]): void {
    everybody.set(
      category,
      globalOf(category).filter((entry) => !seconds.includes(entry.seconds)),
    )
  }

  return {
    decide,
    empty,
    owe,
    learn,
    giveBack,
    made: (decision) => admissions.has(decision),
    shift,
    take: debts.take,
    settled: debts.settled,
    returned: debts.returned,
    owes: () => debts.size() > 0,
    owed: debts.tokens,
  }
}

/** Categories hold no colon. */
function userOf({ user, category }: Charge): string {
  return `${category}:${user}`
}

function canHold({ personal, global }: Limits, cost: number): boolean {
  return personal.every(({ limit }) => cost <= limit) && (global === null || global.every(({ limit }) => cost <= limit))
}
