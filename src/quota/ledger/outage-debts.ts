import type { Charge, Decision, Refund } from '../charge.ts'
import { type Counter, type Entry, running } from '../counter.ts'
import { type Limit, MOST_WINDOWS, type Usage } from '../window.ts'

/**
 * What one process owes the store: tokens that it admitted while the store was out, to be added to the store's windows by
 * forced charges. A debt counts in a window as long as the local run of that window lasts: of an outage of three hours, the
 * 1-hour window gets the last run only. The runs of all users together are other ones than those of each.
 */
export interface Debts {
  /** Adds an admitted charge. @returns the debt that it is a part of, for `giveBack` */
  owe(charge: Charge, decision: Decision): Debt
  /**
   * Takes a charge out of its debt.
   * @returns what the store is to give back for it, or `null` while it is not known whether the store has counted it
   */
  giveBack(debt: Debt, refund: Refund): readonly Refund[] | null
  /** Takes debts until they are `enough` charges, or all; each must come back by `settled` or `returned`. */
  take(enough: number, at: number): Payment
  /** @param decisions those of the payment's charges */
  settled(payment: Payment, decisions: readonly Decision[]): void
  returned(payment: Payment): void
  /** Drops debts whose windows have all ended. */
  sweep(at: number): void
  /** Debts to take. */
  size(): number
  /** Tokens owed, those that were taken included. */
  tokens(): number
}

/** Debts under way to the store. */
export interface Payment {
  readonly charges: readonly Charge[]
  readonly debts: readonly Debt[]
}

/** `expired`: their windows ended before the store was back, so there is nothing left to count. */
export type DebtEvent = 'owed' | 'settled' | 'given_back' | 'expired'

/** Something for each scope; of a user who bypasses the global one nothing there. */
interface Scoped<T> {
  readonly personal: T
  readonly global: T
}

/** What a user has been admitted in a category since the last payment. */
export interface Debt {
  readonly key: string
  readonly charge: Charge
  tokens: number
  /** What still counts, by window. */
  readonly owed: Scoped<Counter>
  state: 'open' | 'taken' | 'settled'
  /** The forced charges of its payment. */
  parts: readonly Charge[]
  /** The store's decisions for `parts`. */
  paid: readonly Decision[]
  /** The debt that took this one over. */
  joined: Debt | null
}

const SCOPES = ['personal', 'global'] as const
const NOTHING: Payment = { charges: [], debts: [] }

/** @param tell told whenever tokens change their state */
export function createDebts(tell: (event: DebtEvent, tokens: number) => void): Debts {
  const debts = new Map<string, Debt>()
  let tokensOwed = 0

  function count(event: DebtEvent, tokens: number): void {
    tokensOwed += event === 'owed' ? tokens : -tokens
    tell(event, tokens)
  }

  function owe(charge: Charge, decision: Decision): Debt {
    const debt = debtOf(charge)
    debt.tokens += charge.cost
    addRuns(debt.owed, runsOf(charge, decision))
    count('owed', charge.cost)
    return debt
  }

  function debtOf(charge: Charge): Debt {
    const key = keyOf(charge)
    let debt = debts.get(key)
    if (debt === undefined) {
      const owed = { personal: [], global: [] }
      debt = { key, charge, tokens: 0, owed, state: 'open', parts: [], paid: [], joined: null }
      debts.set(key, debt)
    }
    return debt
  }

  function giveBack(first: Debt, refund: Refund): readonly Refund[] | null {
    const debt = final(first)
    if (debt.state === 'taken') return null
    if (debt.state === 'settled') return debt.parts.flatMap((part, i) => partOf(part, debt.paid[i], debt, refund))
    forgive(debt, refund.charge.cost, runsOf(refund.charge, refund.decision))
    return []
  }

  function forgive(debt: Debt, cost: number, runs: Scoped<Counter>): void {
    debt.tokens -= cost
    for (const scope of SCOPES) {
      for (const run of runs[scope]) {
        const entry = sameRun(debt.owed[scope], run)
        if (entry !== undefined) entry.used = Math.max(0, entry.used - cost)
      }
    }
    if (debt.tokens === 0) debts.delete(debt.key)
    count('given_back', cost)
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

  function sweep(at: number): void {
    for (const debt of debts.values()) if (isOver(debt.owed, at)) expire(debt)
  }

  return { owe, giveBack, take, settled, returned, sweep, size: () => debts.size, tokens: () => tokensOwed }
}

/** Categories hold no colon. */
function keyOf({ user, category }: Charge): string {
  return `${category}:${user}`
}

/** The local runs that a charge was admitted in, each with its cost. */
function runsOf({ cost, limits }: Charge, { personal, global }: Decision): Scoped<Counter> {
  const runs = (windows: readonly Limit[], usages: readonly Usage[]): Counter =>
    windows.map(({ window: { seconds } }, i) => ({ seconds, startedAt: usages[i]?.startedAt ?? 0, used: cost }))
  return { personal: runs(limits.personal, personal), global: runs(limits.global ?? [], global ?? []) }
}

function addRuns(owed: Scoped<Counter>, runs: Scoped<Counter>): void {
  for (const scope of SCOPES) for (const run of runs[scope]) addRun(owed[scope], run)
}

/**
 * A run takes the place of an earlier one of its window, which has ended; one that comes late for its run counts nowhere. Two that
 * overlap, since the window was emptied in between, are owed both, as long as the later one lasts.
 */
function addRun(owed: Counter, run: Entry): void {
  const known = owed.find(({ seconds }) => seconds === run.seconds)
  if (known === undefined) owed.push({ ...run })
  else if (Math.abs(known.startedAt - run.startedAt) < 1000 * run.seconds) {
    known.startedAt = Math.max(known.startedAt, run.startedAt)
    known.used += run.used
  } else if (known.startedAt < run.startedAt) Object.assign(known, run)
}

function sameRun(owed: Counter, run: Entry): Entry | undefined {
  return owed.find(({ seconds, startedAt }) => seconds === run.seconds && startedAt === run.startedAt)
}

function isOver(owed: Scoped<Counter>, at: number): boolean {
  return SCOPES.every((scope) => running(owed[scope], at).length === 0)
}

/**
 * Forced charges that leave in each window what is owed there: one for each different amount, and more where the windows
 * have become others meanwhile, by a reload, and are too many for one.
 */
function partsOf({ charge: { user, category }, owed }: Debt, at: number): Charge[] {
  const personal = running(owed.personal, at)
  const global = running(owed.global, at)
  const amounts = new Set([...personal, ...global].map((run) => run.used).filter((used) => used > 0))
  return [...amounts].flatMap((cost) => {
    const own = inSteps(windowsOwed(personal, cost))
    const all = inSteps(windowsOwed(global, cost))
    return Array.from({ length: Math.max(own.length, all.length) }, (_, i): Charge => {
      const limits = { personal: own[i] ?? [], global: all[i] ?? null }
      return { user, category, cost, forced: true, limits }
    })
  })
}

function windowsOwed(runs: Counter, cost: number): Limit[] {
  return runs
    .filter((run) => run.used === cost)
    .map(({ seconds }) => ({ window: { name: `${seconds}s`, seconds }, limit: 0 }))
}

function inSteps(windows: readonly Limit[]): (readonly Limit[])[] {
  return Array.from({ length: Math.ceil(windows.length / MOST_WINDOWS) }, (_, i) =>
    windows.slice(i * MOST_WINDOWS, (i + 1) * MOST_WINDOWS),
  )
}

/** What a payment is to give back for a charge: in the windows whose runs the charge was part of. */
function partOf(part: Charge, paid: Decision | undefined, debt: Debt, { charge, decision }: Refund): Refund[] {
  if (paid === undefined) return []
  const runs = runsOf(charge, decision)
  const own = countedIn(part.limits.personal, paid.personal, debt.owed.personal, runs.personal)
  const all = countedIn(part.limits.global ?? [], paid.global ?? [], debt.owed.global, runs.global)
  if (own.limits.length + all.limits.length === 0) return []
  const isGlobal = all.limits.length > 0
  const limits = { personal: own.limits, global: isGlobal ? all.limits : null }
  const usages = { personal: own.usages, global: isGlobal ? all.usages : null }
  return [{ charge: { ...part, cost: charge.cost, limits }, decision: { ...paid, ...usages } }]
}

/** Of windows that were paid, those whose local run is among `runs`, with what the store told of them. */
function countedIn(limits: readonly Limit[], usages: readonly Usage[], owed: Counter, runs: Counter) {
  const counts = limits.map(({ window }) =>
    runs.some((run) => run.seconds === window.seconds && sameRun(owed, run) !== undefined),
  )
  return { limits: limits.filter((_, i) => counts[i]), usages: usages.filter((_, i) => counts[i]) }
}

/** Takes the newer debt over. */
function join(debt: Debt, newer: Debt): void {
  debt.tokens += newer.tokens
  newer.joined = debt
  addRuns(debt.owed, newer.owed)
}

function final(debt: Debt): Debt {
  return debt.joined === null ? debt : final(debt.joined)
}
