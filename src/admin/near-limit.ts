import { usageOf } from '../quota/counter.ts'
import type { Used, UsedStep } from '../quota/quota-store.ts'
import { type Limit, promised } from '../quota/window.ts'
import type { LimitsOf } from '../usage/beyond.ts'

/** What one of them is held to. */
export interface Entitlement {
  readonly limitsOf: LimitsOf
  /** The plan in force; `null` for none. */
  readonly plan: string | null
  /** Of a user, the one that the last credential named. */
  readonly organisation?: string | null
  /** Whether the quota refuses them now. */
  readonly isBlocked: (used: Used, at: number) => boolean
}

export interface NearestOptions {
  /** A step of the store's scan. */
  readonly scan: (cursor: string | null) => Promise<UsedStep>
  /** The cursor of the step; `null` for the first. */
  readonly from: string | null
  /** Users or organisations looked at, at most, but for the last step. */
  readonly most: number
  /** Default any number. */
  readonly mostSteps?: number
  /** Those that are wanted, at most. */
  readonly limit: number
  /** Whose limits they have, in the order of the ids. */
  readonly entitlementsOf: (ids: readonly string[]) => Promise<readonly Entitlement[]>
  readonly matches: (id: string) => boolean
  /** Which of these are wanted; `null` for all. Default all. */
  readonly fits?: ((used: Used, entitlement: Entitlement, at: number) => boolean) | null
  readonly categories: readonly string[]
  /** Those with the greatest share of one of their limits first, or those with the most tokens. Default `share`. */
  readonly by?: 'share' | 'tokens'
  readonly signal: AbortSignal
}

export interface Nearest {
  readonly found: readonly Used[]
  /** Where the scan goes on; `null` at its end. */
  readonly next: string | null
  /** The store's time of the last step. */
  readonly at: number
}

interface Found {
  readonly used: Used
  /** What they are ordered by. */
  readonly score: number
}

/**
 * The users or organisations nearest to one of their limits, or beyond it, those first; or those who used most. The scan has no order,
 * so it looks at all of them. It remembers no more than twice as many as are wanted.
 * @throws StoreError, or the reason of the signal
 */
export async function nearest(options: NearestOptions): Promise<Nearest> {
  const {
    scan,
    from,
    most,
    mostSteps = Number.POSITIVE_INFINITY,
    limit,
    entitlementsOf,
    matches,
    fits = null,
    categories,
    by = 'share',
    signal,
  } = options
  const scoreOf = by === 'share' ? shareOf : tokensOf
  /** By id: a scan may come by one twice. */
  let found = new Map<string, Found>()
  let next = from
  let [lookedAt, steps] = [0, 0]
  let at: number
  do {
    signal.throwIfAborted()
    const step = await scan(next)
    const wanted = step.owners.filter(({ id }) => matches(id))
    const entitlements = await entitlementsOf(wanted.map(({ id }) => id))
    for (const [i, used] of wanted.entries()) {
      const entitlement = entitlements[i] ?? NO_ENTITLEMENT
      if (fits !== null && !fits(used, entitlement, step.at)) continue
      const score = scoreOf(used, entitlement.limitsOf, categories, step.at)
      if (score > 0) found.set(used.id, { used, score })
    }
    if (found.size > 2 * limit) found = first(found, limit)
    lookedAt += step.owners.length
    steps++
    next = step.next
    at = step.at
  } while (next !== null && lookedAt < most && steps < mostSteps)
  return { found: [...first(found, limit).values()].map(({ used }) => used), next, at }
}

/** Of whom nothing is known. */
export const NO_ENTITLEMENT: Entitlement = { limitsOf: () => null, plan: null, isBlocked: () => false }

function first(found: ReadonlyMap<string, Found>, limit: number): Map<string, Found> {
  const sorted = [...found].sort(([id, a], [other, b]) => b.score - a.score || (id < other ? -1 : 1))
  return new Map(sorted.slice(0, limit))
}

/** The greatest part of a limit that is used; 0 if nothing is, infinite beyond a limit of 0. */
function shareOf({ counters }: Used, limitsOf: LimitsOf, categories: readonly string[], at: number): number {
  let greatest = 0
  for (const [category, counter] of counters) {
    if (!categories.includes(category)) continue
    for (const limit of limitsOf(category) ?? []) {
      const { used } = usageOf(counter, limit.window, at)
      if (used > 0) greatest = Math.max(greatest, used / promised(limit))
    }
  }
  return greatest
}

/** Tokens in the longest window of each category, together. */
function tokensOf({ counters }: Used, limitsOf: LimitsOf, categories: readonly string[], at: number): number {
  let tokens = 0
  for (const [category, counter] of counters) {
    const limits = categories.includes(category) ? (limitsOf(category) ?? []) : []
    const longest = limits.reduce<Limit | null>((one, each) => {
      return one === null || each.window.seconds > one.window.seconds ? each : one
    }, null)
    if (longest !== null) tokens += usageOf(counter, longest.window, at).used
  }
  return tokens
}
