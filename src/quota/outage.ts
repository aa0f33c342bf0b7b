import { type Charge, type Decision, type Limits, type Refund, settleBatch } from './charge.ts'
import { type Counter, type Entry, running } from './counter.ts'
import { portion } from './policy.ts'
import { type Limit, MOST_WINDOWS, type Usage } from './window.ts'

/**
 * What one process admits by itself while the store is out, and what it owes the store for it.
 *
 * It decides on counters of its own that start empty and have a share of every limit; they live on until their windows
 * end, so that a store that comes and goes does not hand out a new share each time. What is admitted is a debt, to be
 * added to the store's windows by forced charges. A debt counts in a window as long as the local run of that window
 * lasts: of an outage of three hours, the 1-hour window gets the last run only.
 */
export interface Outage {
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
  /** Whether it was decided here. */
  made(decision: Decision): boolean
  /** The times given so far were wrong by so many milliseconds: the local counters go on by the right one. Only while nothing is owed. */
  shift(ms: number): void
  /** Takes debts until they are `enough` charges, or all; each must come back by `settled` or `returned`. */
  take(enough: number, at: number): Payment
  /** @param decisions those of the payment's charges */
  settled(payment: Payment, decisions: readonly Decision[]): void
  returned(payment: Payment): void
  /** Whether there are debts to take. */
  owes(): boolean
  /** Tokens owed, those that were taken included. */
  owed(): number
}

export interface OutageOptions {
  /** The share of the limits that a category may use, 0 (none) to 1. */
  readonly share: (category: string) => number
  /** Pairs of user and category; 1.2 KB each. Default 50,000. */
  readonly maxUsers?: number
  /** Told whenever tokens change their state. */
  readonly tell: (event: DebtEvent, tokens: number) => void
}

/** `expired`: their windows ended before the store was back, so there is nothing left to count. */
export type DebtEvent = 'owed' | 'settled' | 'given_back' | 'expired'

/** Debts under way to the store. */
export interface Payment {
  readonly charges: readonly Charge[]
  readonly debts: readonly Debt[]
}

/** What a user has been admitted in a category since the last payment. */
interface Debt {
  readonly key: string
  readonly charge: Charge
  tokens: number
  /** What still counts, by window. */
  readonly owed: Counter
  state: 'open' | 'taken' | 'settled'
  /** The forced charges of its payment. */
  parts: readonly Charge[]
  /** The store's decisions for `parts`. */
  paid: readonly Decision[]
  /** The debt that took this one over. */
  joined: Debt | null
}

/** What became of a charge that was accepted here; nothing yet where both are `null`. */
interface Admission {
  debt: Debt | null
  /** The store had accepted it as well. */
  byStore: Decision | null
  /** How far the local counters had been moved when it was accepted, in milliseconds. */
  readonly moved: number
}

const NOTHING: Payment = { charges: [], debts: [] }
const SWEEP_MS = 1000

export function createOutage({ share, maxUsers = 50_000, tell }: OutageOptions): Outage {
  const users = new Map<string, Counter>()
  const everybody = new Map<string, Counter>()
  const debts = new Map<string, Debt>()
  const admissions = new WeakMap<Decision, Admission>()
  const shares = new WeakMap<Limits, { of: number; limits: Limits }>()
  let tokensOwed = 0
  let moved = 0
  let sweptAt = Number.NEGATIVE_INFINITY

  function count(event: DebtEvent, tokens: number): void {
    tokensOwed += event === 'owed' ? tokens : -tokens
    tell(event, tokens)
  }

  function decide(charge: Charge, at: number): Decision | null {
    const limits = shareOf(charge.limits, share(charge.category))
    if (!canHold(limits, charge.cost)) return null
    const own = users.get(userOf(charge)) ?? []
    if (own.length === 0 && isFull(at)) return null
    const counterOf = (user: string | null): Counter => (user === null ? globalOf(charge.category) : own)
    const [plain] = settleBatch({ refunds: [], charges: [{ ...charge, limits }] }, counterOf, at)
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

  function globalOf(category: string): Counter {
    const counter = everybody.get(category) ?? []
    everybody.set(category, counter)
    return counter
  }

  /** Ended counters make room, looked for at most once a second: a crowd of new users must not cost a sweep each. */
  function isFull(at: number): boolean {
    if (users.size < maxUsers && debts.size < maxUsers) return false
    if (at - sweptAt >= SWEEP_MS) {
      sweptAt = at
      for (const [key, counter] of users) if (running(counter, at).length === 0) users.delete(key)
      for (const debt of debts.values()) if (running(debt.owed, at).length === 0) expire(debt)
    }
    return users.size >= maxUsers || debts.size >= maxUsers
  }

  function owe(charge: Charge, decision: Decision): void {
    const admission = admissions.get(decision)
    if (admission === undefined) return
    admission.debt = debtOf(charge)
    admission.debt.tokens += charge.cost
    for (const run of runsOf(charge, decision)) addRun(admission.debt.owed, run)
    count('owed', charge.cost)
  }

  function debtOf(charge: Charge): Debt {
    const key = debtKeyOf(charge)
    let debt = debts.get(key)
    if (debt === undefined) {
      debt = { key, charge, tokens: 0, owed: [], state: 'open', parts: [], paid: [], joined: null }
      debts.set(key, debt)
    }
    return debt
  }

  function learn(charge: Charge, decision: Decision, byStore: Decision): void {
    const admission = admissions.get(decision)
    if (admission === undefined) return
    if (byStore.accepted) admission.byStore = byStore
    else owe(charge, decision)
  }

  function giveBack({ charge, decision }: Refund): readonly Refund[] | null {
    const admission = admissions.get(decision)
    if (admission === undefined) return []
    const { byStore } = admission
    const debt = admission.debt === null ? null : final(admission.debt)
    if (byStore === null && (debt === null || debt.state === 'taken')) return null
    admissions.delete(decision)
    giveBackHere(charge, decision, moved - admission.moved)
    if (byStore !== null) return [{ charge, decision: byStore }]
    if (debt === null) return []
    if (debt.state === 'settled')
      return debt.parts.flatMap((part, i) => partOf(part, debt.paid[i], debt.owed, runsOf(charge, decision)))
    forgive(debt, charge, decision)
    return []
  }

  function shift(ms: number): void {
    sweptAt += ms
    moved += ms
    for (const counters of [users, everybody]) {
      for (const counter of counters.values()) for (const entry of counter) entry.startedAt += ms
    }
  }

  /** The local share is free again, in the runs that the decision names, which have been moved by so many milliseconds since. */
  function giveBackHere(charge: Charge, { limits = charge.limits, ...made }: Decision, ms: number): void {
    const now = (usages: readonly Usage[]): Usage[] => usages.map((u) => ({ ...u, startedAt: u.startedAt + ms }))
    const decision = { ...made, personal: now(made.personal), global: made.global === null ? null : now(made.global) }
    const own = users.get(userOf(charge)) ?? []
    const counterOf = (user: string | null): Counter => (user === null ? globalOf(charge.category) : own)
    settleBatch({ refunds: [{ charge: { ...charge, limits }, decision }], charges: [] }, counterOf, made.at)
  }

  function forgive(debt: Debt, charge: Charge, decision: Decision): void {
    debt.tokens -= charge.cost
    for (const run of runsOf(charge, decision)) {
      const entry = sameRun(debt.owed, run)
      if (entry !== undefined) entry.used = Math.max(0, entry.used - charge.cost)
    }
    if (debt.tokens === 0) debts.delete(debt.key)
    count('given_back', charge.cost)
  }

  function take(enough: number, at: number): Payment {
    if (debts.size === 0) return NOTHING
    const taken: Debt[] = []
    const charges: Charge[] = []
    for (const debt of debts.values()) {
      if (charges.length >= enough) break
      debt.parts = partsOf(debt, at)
      if (debt.parts.length === 0) {
        expire(debt)
        continue
      }
      debts.delete(debt.key)
      debt.state = 'taken'
      taken.push(debt)
      charges.push(...debt.parts)
    }
    return { charges, debts: taken }
  }

  function expire(debt: Debt): void {
    debts.delete(debt.key)
    debt.state = 'settled'
    count('expired', debt.tokens)
  }

  function settled(payment: Payment, decisions: readonly Decision[]): void {
    let at = 0
    for (const debt of payment.debts) {
      debt.paid = decisions.slice(at, at + debt.parts.length)
      at += debt.parts.length
      debt.state = 'settled'
      count('settled', debt.tokens)
    }
  }

  function returned({ debts: taken }: Payment): void {
    for (const debt of taken) {
      debt.state = 'open'
      const newer = debts.get(debt.key)
      if (newer !== undefined) join(debt, newer)
      debts.set(debt.key, debt)
    }
  }

  return {
    decide,
    owe,
    learn,
    giveBack,
    made: (decision) => admissions.has(decision),
    shift,
    take,
    settled,
    returned,
    owes: () => debts.size > 0,
    owed: () => tokensOwed,
  }
}

/** Categories hold no colon. */
function userOf({ user, category }: Charge): string {
  return `${category}:${user}`
}

/** A user who comes to bypass the global scope has two debts. */
function debtKeyOf({ user, category, limits }: Charge): string {
  return `${category}:${limits.global === null ? 0 : 1}:${user}`
}

function canHold({ personal, global }: Limits, cost: number): boolean {
  return personal.every(({ limit }) => cost <= limit) && (global === null || global.every(({ limit }) => cost <= limit))
}

/** The local runs that a charge was admitted in, each with its cost. */
function runsOf({ cost, limits }: Charge, { personal }: Decision): Entry[] {
  return limits.personal.map(({ window }, i) => ({
    seconds: window.seconds,
    startedAt: personal[i]?.startedAt ?? 0,
    used: cost,
  }))
}

/** A run takes the place of an earlier one of its window, which has ended; one that comes late for its run counts nowhere. */
function addRun(owed: Counter, run: Entry): void {
  const known = owed.find(({ seconds }) => seconds === run.seconds)
  if (known === undefined) owed.push({ ...run })
  else if (known.startedAt === run.startedAt) known.used += run.used
  else if (known.startedAt < run.startedAt) Object.assign(known, run)
}

function sameRun(owed: Counter, run: Entry): Entry | undefined {
  return owed.find(({ seconds, startedAt }) => seconds === run.seconds && startedAt === run.startedAt)
}

/**
 * Forced charges that leave in each window what is owed there: one for each different amount, and more where the windows
 * have become others meanwhile, by a reload, and are too many for one.
 */
function partsOf({ charge: { user, category, limits }, owed }: Debt, at: number): Charge[] {
  const runs = running(owed, at)
  const amounts = new Set(runs.map((run) => run.used).filter((used) => used > 0))
  return [...amounts].flatMap((cost) => {
    const windows = runs
      .filter((run) => run.used === cost)
      .map(({ seconds }) => ({ window: { name: `${seconds}s`, seconds }, limit: 0 }))
    return inSteps(windows).map((some): Charge => {
      const global = limits.global === null ? null : some
      return { user, category, cost, forced: true, limits: { personal: some, global } }
    })
  })
}

function inSteps(windows: readonly Limit[]): (readonly Limit[])[] {
  return Array.from({ length: Math.ceil(windows.length / MOST_WINDOWS) }, (_, i) =>
    windows.slice(i * MOST_WINDOWS, (i + 1) * MOST_WINDOWS),
  )
}

/** What a payment is to give back for a charge: in the windows whose runs the charge was part of. */
function partOf(part: Charge, paid: Decision | undefined, owed: Counter, runs: readonly Entry[]): Refund[] {
  if (paid === undefined) return []
  const { personal, global } = part.limits
  const counts = personal.map(({ window }) => runs.find((run) => run.seconds === window.seconds && sameRun(owed, run)))
  const only = <T>(list: readonly T[]): T[] => list.filter((_, i) => counts[i] !== undefined)
  const cost = counts.find((run) => run !== undefined)?.used
  if (cost === undefined) return []
  return [
    {
      charge: { ...part, cost, limits: { personal: only(personal), global: global === null ? null : only(global) } },
      decision: { ...paid, personal: only(paid.personal), global: paid.global === null ? null : only(paid.global) },
    },
  ]
}

/** Takes the newer debt over. */
function join(debt: Debt, newer: Debt): void {
  debt.tokens += newer.tokens
  newer.joined = debt
  for (const run of newer.owed) addRun(debt.owed, run)
}

function final(debt: Debt): Debt {
  return debt.joined === null ? debt : final(debt.joined)
}
