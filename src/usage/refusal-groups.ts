import type { Scope } from '../quota/refusal.ts'
import { episodePages } from './episode-pages.ts'
import type { Episode, Grouping, RefusalFilter } from './episodes.ts'
import type { UsageLogStore } from './usage-log-store.ts'

/** What the quota refused in a range of time: in total, in groups, and over time. */

type Scopes = Readonly<Record<Scope, number>>

export interface RefusalSums {
  /** Refusals. */
  readonly count: number
  readonly scopes: Scopes
  /** How many users; all unverified callers count as one. */
  readonly users: number
}

export interface RefusalGroup extends RefusalSums {
  /** The user, organisation or route; `null` for a limit, and for refusals without such a name. */
  readonly name: string | null
  /** Set with `by: 'limit'`. */
  readonly limit: Pick<Episode, 'scope' | 'category' | 'window'> | null
  /** When the last refusal was, in milliseconds since the epoch. */
  readonly last: number
}

export interface RefusalStep {
  readonly start: number
  readonly end: number
  readonly scopes: Scopes
}

export interface RefusalSummary extends RefusalSums {
  /** Most refusals first. */
  readonly groups: readonly RefusalGroup[]
  readonly steps: readonly RefusalStep[]
}

interface Question {
  readonly filter: RefusalFilter
  readonly by: Grouping
  /** Bounds of the steps in milliseconds since the epoch, rising: one more than there are steps, or empty for none. */
  readonly bounds: readonly number[]
  readonly signal: AbortSignal
}

/**
 * Sums all episodes that fit the filter. An episode counts completely if a part of it is in the range. Its refusals are spread evenly over the
 * steps, from its first refusal to its last.
 * @throws StoreError, or the reason of the signal
 */
export async function summarize(
  store: Pick<UsageLogStore, 'readRefusals'>,
  { filter, by, bounds, signal }: Question,
): Promise<RefusalSummary> {
  const all = new Sums()
  const groups = new Map<string, Sums & { readonly of: Episode; readonly name: string | null }>()
  const steps = bounds.slice(1).map((end, i) => ({ start: bounds[i] ?? end, end, scopes: noScopes() }))
  for await (const episodes of episodePages(store, filter, signal)) {
    for (const episode of episodes) {
      all.add(episode)
      for (const name of namesIn(episode, by)) {
        const key = by === 'limit' ? `${episode.scope} ${episode.category} ${episode.window}` : JSON.stringify(name)
        const group = groups.get(key) ?? Object.assign(new Sums(), { of: episode, name })
        group.add(episode)
        groups.set(key, group)
      }
      spread(episode, steps, bounds)
    }
  }
  const shown = [...groups.values()].map(({ of: { scope, category, window }, name, last, ...rest }) => ({
    ...sumsOf(rest),
    name,
    limit: by === 'limit' ? { scope, category, window } : null,
    last,
  }))
  return { ...sumsOf(all), groups: shown.sort((a, b) => b.count - a.count || b.last - a.last), steps }
}

/** The kinds of names by which refusals are counted. */
export type RefusedBy = 'user' | 'organisation'

/** How many refusals each verified user has, or the verified users of each organisation. @throws as `summarize` */
export async function refusalCounts(
  store: Pick<UsageLogStore, 'readRefusals'>,
  by: RefusedBy,
  { signal, ...filter }: RefusalFilter & Pick<Question, 'signal'>,
): Promise<ReadonlyMap<string, number>> {
  const { groups } = await summarize(store, { filter, by, bounds: [], signal })
  return new Map(groups.flatMap(({ name, count }) => (name === null ? [] : [[name, count]])))
}

function namesIn({ user, organisation, routes }: Episode, by: Grouping): readonly (string | null)[] {
  if (by === 'limit') return [null]
  if (by === 'route') return routes.length === 0 ? [null] : routes
  return [by === 'user' ? user : organisation]
}

class Sums {
  count = 0
  last = 0
  readonly scopes = noScopes()
  readonly known = new Set<string | null>()

  add({ count, last, scope, user }: Episode): void {
    this.count += count
    this.scopes[scope] += count
    this.last = Math.max(this.last, last)
    this.known.add(user)
  }
}

function sumsOf({ count, scopes, known }: Pick<Sums, 'count' | 'scopes' | 'known'>): RefusalSums {
  return { count, scopes, users: known.size }
}

function noScopes(): Record<Scope, number> {
  return { Personal: 0, Organisation: 0, Global: 0 }
}

/** Adds the refusals of an episode to the steps, as whole numbers that together make its count. */
function spread(
  { first, last, count, scope }: Episode,
  steps: readonly { readonly scopes: Record<Scope, number> }[],
  bounds: readonly number[],
): void {
  const [begin = 0, end = 0] = [bounds[0], bounds.at(-1)]
  const from = Math.min(Math.max(first, begin), end - 1)
  // Even a single refusal, which takes no time, must have a length.
  const to = Math.max(Math.min(last + 1, end), from + 1)
  let before = 0
  for (const [i, step] of steps.entries()) {
    const until = Math.min(bounds[i + 1] ?? end, to)
    const upTo = until <= from ? 0 : Math.round((count * (until - from)) / (to - from))
    step.scopes[scope] += upTo - before
    before = upTo
  }
}
