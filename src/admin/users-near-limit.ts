import { usageOf } from '../quota/counter.ts'
import { type Payer, type Policy, payerOf } from '../quota/policy.ts'
import type { UsageStore, UserUsage } from '../quota/quota-store.ts'

export interface NearestOptions {
  /** A step of the store's scan. */
  readonly scan: UsageStore['scanUsers']
  /** The cursor of the step; `null` for the first. */
  readonly from: string | null
  /** Users looked at, at most, but for the last step. */
  readonly most: number
  /** Users that are wanted, at most. */
  readonly limit: number
  /** Whose limits users have. */
  readonly payersOf: (users: readonly string[]) => Promise<readonly Payer[]>
  readonly matches: (user: string) => boolean
  readonly policy: Policy
  readonly signal: AbortSignal
}

export interface Nearest {
  readonly users: readonly UserUsage[]
  /** Where the scan goes on; `null` at its end. */
  readonly next: string | null
  /** The store's time of the last step. */
  readonly at: number
}

interface Found {
  readonly usage: UserUsage
  readonly share: number
}

/**
 * The users nearest to one of their personal limits, or beyond it, those first. The scan has no order, so it looks at
 * everybody. It remembers no more than twice as many as are wanted.
 * @throws StoreError, or the reason of the signal
 */
export async function nearest(options: NearestOptions): Promise<Nearest> {
  const { scan, from, most, limit, payersOf, matches, policy, signal } = options
  /** By user: a scan may come by one twice. */
  let found = new Map<string, Found>()
  let next = from
  let lookedAt = 0
  let at: number
  do {
    signal.throwIfAborted()
    const step = await scan(next)
    const wanted = step.users.filter(({ user }) => matches(user))
    const payers = await payersOf(wanted.map(({ user }) => user))
    for (const [i, usage] of wanted.entries()) {
      const share = shareOf(usage, payers[i] ?? payerOf(usage.user), policy, step.at)
      if (share > 0) found.set(usage.user, { usage, share })
    }
    if (found.size > 2 * limit) found = first(found, limit)
    lookedAt += step.users.length
    next = step.next
    at = step.at
  } while (next !== null && lookedAt < most)
  return { users: [...first(found, limit).values()].map(({ usage }) => usage), next, at }
}

function first(found: ReadonlyMap<string, Found>, limit: number): Map<string, Found> {
  const sorted = [...found].sort(([user, a], [other, b]) => b.share - a.share || (user < other ? -1 : 1))
  return new Map(sorted.slice(0, limit))
}

/** The greatest part of a personal limit that is used; 0 if nothing is, infinite beyond a limit of 0. */
function shareOf({ counters }: UserUsage, payer: Payer, policy: Policy, at: number): number {
  let greatest = 0
  for (const [category, counter] of counters) {
    if (!policy.categories.includes(category)) continue
    for (const { window, limit } of policy.limitsFor(category, payer).personal) {
      const { used } = usageOf(counter, window, at)
      if (used > 0) greatest = Math.max(greatest, used / limit)
    }
  }
  return greatest
}
