import { inSlices } from '../lib/slices.ts'
import type { Scope } from '../quota/refusal.ts'
import { MOST_EPISODES, type Place } from './episodes.ts'
import type { UsageLogStore } from './usage-log-store.ts'

/** Whose requests the quota refused most, from the episodes of the store. */

/** One user, or with `null` all callers together of whom nobody knows who they are. */
export interface RefusedUser {
  readonly user: string | null
  readonly count: number
  /** The same by scope. */
  readonly scopes: Readonly<Record<Scope, number>>
  /** Of the last refusal, in milliseconds since the epoch. */
  readonly last: number
}

interface RefusedQuestion {
  /** In milliseconds since the epoch. */
  readonly since: number
  /** Whose requests would have been refused, instead of those that were. */
  readonly shadow: boolean
  readonly limit: number
  readonly signal: AbortSignal
}

/** Episodes that are read at once. */
const PAGE = 1000

/**
 * Those with the most refusals first. An episode whose last refusal is in the range counts whole. It reads at most as many episodes as a
 * store keeps, a page at a time, with others between.
 * @throws StoreError, or the reason of the signal
 */
export async function mostRefused(
  store: Pick<UsageLogStore, 'readRefusals'>,
  { since, shadow, limit, signal }: RefusedQuestion,
): Promise<RefusedUser[]> {
  const users = new Map<string | null, Mutable>()
  const slices = inSlices(0)
  let cursor: Place | null = null
  for (let read = 0; read < MOST_EPISODES; read += PAGE) {
    signal.throwIfAborted()
    const { episodes, next } = await store.readRefusals({ since, shadow }, { cursor, limit: PAGE })
    for (const { user, scope, count, last } of episodes) {
      const sums = users.get(user) ?? { user, count: 0, scopes: { Personal: 0, Organisation: 0, Global: 0 }, last }
      sums.count += count
      sums.scopes[scope] += count
      users.set(user, sums)
    }
    cursor = next
    if (next === null) break
    await slices.next()
  }
  return [...users.values()].sort((a, b) => b.count - a.count || b.last - a.last).slice(0, limit)
}

type Mutable = { user: string | null; count: number; scopes: Record<Scope, number>; last: number }
