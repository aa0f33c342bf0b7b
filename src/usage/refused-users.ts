import { inSlices } from '../lib/slices.ts'
import type { Scope } from '../quota/refusal.ts'
import { type Episode, MOST_EPISODES, type Place } from './episodes.ts'
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
  readonly signal: AbortSignal
}

type Refusals = Pick<UsageLogStore, 'readRefusals'>

/** Episodes that are read at once. */
const PAGE = 1000

/**
 * Those with the most refusals first. An episode whose last refusal is in the range counts whole.
 * @throws StoreError, or the reason of the signal
 */
export async function mostRefused(
  store: Refusals,
  { limit, ...question }: RefusedQuestion & { readonly limit: number },
): Promise<RefusedUser[]> {
  const users = new Map<string | null, Mutable>()
  for await (const { user, scope, count, last } of episodesSince(store, question)) {
    const sums = users.get(user) ?? { user, count: 0, scopes: { Personal: 0, Organisation: 0, Global: 0 }, last }
    sums.count += count
    sums.scopes[scope] += count
    users.set(user, sums)
  }
  return [...users.values()].sort((a, b) => b.count - a.count || b.last - a.last).slice(0, limit)
}

type Mutable = { user: string | null; count: number; scopes: Record<Scope, number>; last: number }

export type RefusedBy = 'user' | 'organisation'

/** The refusals of each user, or of the users of each organisation, of whom is known who they are. @throws as `mostRefused` */
export async function refusalCounts(
  store: Refusals,
  by: RefusedBy,
  question: RefusedQuestion,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for await (const episode of episodesSince(store, question)) {
    const id = episode[by]
    if (id !== null) counts.set(id, (counts.get(id) ?? 0) + episode.count)
  }
  return counts
}

/** At most as many as a store keeps, a page at a time, with others between. */
async function* episodesSince(store: Refusals, { since, shadow, signal }: RefusedQuestion): AsyncGenerator<Episode> {
  const slices = inSlices(0)
  let cursor: Place | null = null
  for (let read = 0; read < MOST_EPISODES; read += PAGE) {
    signal.throwIfAborted()
    const { episodes, next } = await store.readRefusals({ since, shadow }, { cursor, limit: PAGE })
    yield* episodes
    cursor = next
    if (next === null) return
    await slices.next()
  }
}
