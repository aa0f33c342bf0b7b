import type { Charge, Decision, Limits } from './charge.ts'
import { type Limit, NOT_RUNNING, resetAt, type Usage } from './window.ts'

/** What was refused a moment ago, so that a client that goes on asking costs the store nothing. */
export interface RecentRefusals {
  /** The refusal again, with the time of now; `null` where the store has to be asked. */
  recall(charge: Charge): Decision | null
  /** @param askedAt when the store was asked, on our clock: its answer may have been under way for long */
  note(charge: Charge, decision: Decision, askedAt: number): void
  /** A charge was accepted: what its user was refused may now be refused for longer. */
  forget(charge: Charge): void
  /** Something was given back: any refusal may have become wrong. */
  clear(): void
}

interface Entry {
  readonly limits: Limits
  readonly cost: number
  readonly decision: Decision
  /** On our clock, in milliseconds. */
  readonly notedAt: number
  readonly until: number
}

/** Users in one category each. */
const MAX = 10_000

/**
 * Within a window what is used only grows, but for refunds and resets. So a refusal stays true while its windows run and
 * the limits are the same ones; what other users charge, and what other processes charge and give back, is seen `keepMs` later
 * at most. It never admits anything.
 *
 * @param keepMs how long a refusal is repeated, in milliseconds; 0 for never
 * @param now monotonic milliseconds
 */
export function createRecentRefusals(keepMs: number, now: () => number): RecentRefusals {
  const byCategory = new Map<string, Map<string, Entry>>()
  let size = 0

  function recall({ user, category, cost, limits }: Charge): Decision | null {
    const entry = size === 0 ? undefined : byCategory.get(category)?.get(user)
    if (entry === undefined || cost < entry.cost || limits !== entry.limits) return null
    const time = now()
    if (time >= entry.until) return null
    return { ...entry.decision, at: entry.decision.at + Math.floor(time - entry.notedAt) }
  }

  function note({ user, category, cost, limits }: Charge, decision: Decision, askedAt: number): void {
    if (size >= MAX) clear()
    // The store tells whole milliseconds: it may have been nearly one later.
    const until = askedAt + Math.min(keepMs, firstEnd(limits, decision) - decision.at - 1)
    const users = usersOf(category)
    if (!users.has(user)) size++
    users.set(user, { limits, cost, decision, notedAt: now(), until })
  }

  function forget({ user, category }: Charge): void {
    if (byCategory.get(category)?.delete(user)) size--
  }

  function usersOf(category: string): Map<string, Entry> {
    let users = byCategory.get(category)
    if (users === undefined) {
      users = new Map()
      byCategory.set(category, users)
    }
    return users
  }

  function clear(): void {
    byCategory.clear()
    size = 0
  }

  return { recall, note, forget, clear }
}

/** When the first of the windows ends, in the store's time: the numbers change then. */
function firstEnd({ personal, global }: Limits, decision: Decision): number {
  const own = firstOf(personal, decision.personal)
  return global === null || decision.global === null ? own : Math.min(own, firstOf(global, decision.global))
}

function firstOf(limits: readonly Limit[], usages: readonly Usage[]): number {
  let first = Number.POSITIVE_INFINITY
  for (let i = 0; i < limits.length; i++) {
    const usage = usages[i] ?? NOT_RUNNING
    if (usage.startedAt !== 0) first = Math.min(first, resetAt(usage, (limits[i] as Limit).window.seconds))
  }
  return first
}
