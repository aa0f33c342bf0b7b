import type { Scope } from '../quota/refusal.ts'
import { episodePages } from './episode-pages.ts'
import { summarize } from './refusal-groups.ts'
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

/**
 * Those with the most refusals first. An episode whose last refusal is in the range counts whole.
 * @throws StoreError, or the reason of the signal
 */
export async function mostRefused(
  store: Refusals,
  { limit, signal, ...filter }: RefusedQuestion & { readonly limit: number },
): Promise<RefusedUser[]> {
  const { groups } = await summarize(store, { filter, by: 'user', bounds: [], signal })
  return groups.slice(0, limit).map(({ name: user, count, scopes, last }) => ({ user, count, scopes, last }))
}

export type RefusedBy = 'user' | 'organisation'

/** The refusals of each user, or of the users of each organisation, of whom is known who they are. @throws as `mostRefused` */
export async function refusalCounts(
  store: Refusals,
  by: RefusedBy,
  { signal, ...filter }: RefusedQuestion,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for await (const episodes of episodePages(store, filter, signal)) {
    for (const { [by]: id, count } of episodes) if (id !== null) counts.set(id, (counts.get(id) ?? 0) + count)
  }
  return counts
}
