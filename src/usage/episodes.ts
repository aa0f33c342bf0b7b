import type { Scope } from '../quota/refusal.ts'

/** Refusals as episodes: one for each user, category, scope, window and run. Pure. The order here is that of both stores. */

/** How many episodes a store keeps, and for how many milliseconds after the last refusal. */
export const MOST_EPISODES = 20_000
export const KEEP_EPISODES_MS = 7 * 24 * 60 * 60_000

/** How many routes an episode names. */
export const MOST_EPISODE_ROUTES = 8

export interface Episode {
  /** 16 letters or digits, `-` or `_`: the same for the same user, category, scope, window, run and shadow. */
  readonly id: string
  /**
   * `null` for all unverified callers together (by address, or by an unverified key), so that made-up names do not displace
   * other episodes.
   */
  readonly user: string | null
  readonly plan: string | null
  /** The first day of months in the credential of the last refusal; absent if it named none. */
  readonly periodDay?: number
  /** The organisation of the user; `null` for none. */
  readonly organisation: string | null
  readonly category: string
  readonly scope: Scope
  /** Name of the window. */
  readonly window: string
  /** Start of the run; `null` if the window was not running, because the request costs more than the limit. */
  readonly startedAt: number | null
  /** When the first and the last refusal were, on the store's clock. */
  readonly first: number
  readonly last: number
  /** How many refusals. */
  readonly count: number
  /** Rules of the routes as in the configuration, at most `MOST_EPISODE_ROUTES`. */
  readonly routes: readonly string[]
  /** At the last refusal: the limit, its usage, and the layers that made it. */
  readonly limit: number
  readonly used: number
  readonly source: string
  /** The cost of the last refused request in tokens; absent if an earlier version has stored the episode. */
  readonly cost?: number
  /** Set if shadow mode let the requests through, and absent for real refusals. */
  readonly shadow?: true
}

/** An addition to an episode, in which `count` is the number of refusals since the addition before. */
export type EpisodeChange = Episode

export interface RefusalFilter {
  /** A part of the user's or the organisation's id, in any letter case. */
  readonly part?: string | undefined
  readonly user?: string | undefined
  /** Refusals of all users of this organisation. */
  readonly organisation?: string | undefined
  readonly scope?: Scope | undefined
  readonly category?: string | undefined
  readonly route?: string | undefined
  /** Only episodes whose last refusal was at this moment or later. */
  readonly since?: number | undefined
  /** Only episodes whose first refusal was at this moment or earlier. */
  readonly until?: number | undefined
  /** Whether to show what shadow mode let through instead. Default no. */
  readonly shadow?: boolean | undefined
}

/** How refusals can be grouped. */
export const GROUPINGS = ['user', 'organisation', 'limit', 'route'] as const
/** A `limit` is a category, a scope and a window. An episode with several routes counts for each of them. */
export type Grouping = (typeof GROUPINGS)[number]

/** The end of a page: its last episode. */
export interface Place {
  readonly last: number
  readonly id: string
}

/** @param known the stored episode; `null` for none */
export function withChange(known: Episode | null, change: EpisodeChange): Episode {
  if (known === null) return change
  const latest = change.last >= known.last ? change : known
  return {
    ...latest,
    first: Math.min(known.first, change.first),
    count: known.count + change.count,
    routes: [...new Set([...known.routes, ...change.routes])].slice(0, MOST_EPISODE_ROUTES),
  }
}

export function fits(episode: Episode, filter: RefusalFilter): boolean {
  const { part, user, organisation, scope, category, route, since, until, shadow = false } = filter
  return (
    (part === undefined || hasPart(episode, part.toLowerCase())) &&
    (episode.shadow === true) === shadow &&
    (user === undefined || episode.user === user) &&
    (organisation === undefined || episode.organisation === organisation) &&
    (scope === undefined || episode.scope === scope) &&
    (category === undefined || episode.category === category) &&
    (route === undefined || episode.routes.includes(route)) &&
    (since === undefined || episode.last >= since) &&
    (until === undefined || episode.first <= until)
  )
}

function hasPart({ user, organisation }: Episode, part: string): boolean {
  return [user, organisation].some((id) => id?.toLowerCase().includes(part))
}

/** Whether an episode comes after a place in the list, which has the latest first. */
export function isBehind({ last, id }: Place, place: Place): boolean {
  return last < place.last || (last === place.last && id < place.id)
}

/** A cursor in the form for clients. */
export function cursorOf({ last, id }: Place): string {
  return `${last}.${id}`
}

const CURSOR = /^(\d{1,15})\.([A-Za-z0-9_-]{16})$/

/** `null` if the text is no cursor. */
export function placeOf(cursor: string): Place | null {
  const [, last, id] = CURSOR.exec(cursor) ?? []
  return last === undefined || id === undefined ? null : { last: Number(last), id }
}

/** Episodes after a place, latest first. A step may return fewer episodes than there are. It returns none only at the end. */
export type EpisodeSteps = (behind: Place | null) => Promise<readonly Episode[]>

/** Looks through the episodes step by step until a page is full. */
export async function pageOf(
  steps: EpisodeSteps,
  filter: RefusalFilter,
  { cursor, limit }: { readonly cursor: Place | null; readonly limit: number },
): Promise<{ readonly episodes: readonly Episode[]; readonly next: Place | null }> {
  const found: Episode[] = []
  for (let behind = cursor; ; ) {
    const some = await steps(behind)
    for (const episode of some) {
      if (filter.since !== undefined && episode.last < filter.since) return { episodes: found, next: null }
      if (!fits(episode, filter)) continue
      // One more episode shows that there is a next page.
      if (found.length === limit) return { episodes: found, next: found.at(-1) ?? null }
      found.push(episode)
    }
    const last = some.at(-1)
    if (last === undefined) return { episodes: found, next: null }
    behind = last
  }
}
