import type { Scope } from '../quota/refusal.ts'

/**
 * Refusals as episodes: one for each user, category, scope, window and run of the window. Pure, with the order in which both
 * stores show them.
 */

/** How many a store keeps, and for how long after the last refusal. */
export const MOST_EPISODES = 20_000
export const KEEP_EPISODES_MS = 7 * 24 * 60 * 60_000

/** Routes that an episode names. */
export const MOST_EPISODE_ROUTES = 8

export interface Episode {
  /** 16 letters or digits, `-` or `_`: the same for the same user, category, scope, window, run and shadow. */
  readonly id: string
  /**
   * `null` for all callers together of whom nobody knows who they are (by address, by an unverified key): made-up names do not
   * wash the others out.
   */
  readonly user: string | null
  readonly plan: string | null
  /** The day with which months begin by the credential of the last refusal; missing if it named none. */
  readonly periodDay?: number
  /** That of the user whose limit it was; `null` without one. */
  readonly organisation: string | null
  readonly category: string
  readonly scope: Scope
  /** Name of the window. */
  readonly window: string
  /** Start of the run; `null` if the window was not running, since the request costs more than the limit ever allows. */
  readonly startedAt: number | null
  /** Of the first and the last refusal, on the store's clock. */
  readonly first: number
  readonly last: number
  /** How many refusals. */
  readonly count: number
  /** Rules of the routes, as the configuration has them, at most `MOST_EPISODE_ROUTES`. */
  readonly routes: readonly string[]
  /** Of the last refusal: the limit, what was used of it, and which layers made the limit. */
  readonly limit: number
  readonly used: number
  readonly source: string
  /** What the last refused request was to cost, in tokens; absent in one that an earlier version has stored. */
  readonly cost?: number
  /** What would have been refused, and was let through in shadow; absent in refusals. */
  readonly shadow?: true
}

/** What of an episode is to be added: `count` counts the refusals since it was sent last. */
export type EpisodeChange = Episode

export interface RefusalFilter {
  /** A part of the id of the user or of the organisation, in any letter case. */
  readonly part?: string | undefined
  readonly user?: string | undefined
  /** Refusals of all its users. */
  readonly organisation?: string | undefined
  readonly scope?: Scope | undefined
  readonly category?: string | undefined
  readonly route?: string | undefined
  /** Only episodes whose last refusal was at this moment or later. */
  readonly since?: number | undefined
  /** Only episodes whose first refusal was at this moment or earlier. */
  readonly until?: number | undefined
  /** What would have been refused, instead of refusals. Default no. */
  readonly shadow?: boolean | undefined
}

/** By whom or by what refusals are counted. */
export const GROUPINGS = ['user', 'organisation', 'limit', 'route'] as const
/** A `limit` is a category, a scope and a window. An entry with several routes counts for each of them. */
export type Grouping = (typeof GROUPINGS)[number]

/** Where a page ends: the episode that was shown last. */
export interface Place {
  readonly last: number
  readonly id: string
}

/** @param known what is stored of it; `null` for nothing */
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

/** Whether one comes behind a place in the list, which has the latest first. */
export function isBehind({ last, id }: Place, place: Place): boolean {
  return last < place.last || (last === place.last && id < place.id)
}

/** A cursor as clients have it. */
export function cursorOf({ last, id }: Place): string {
  return `${last}.${id}`
}

const CURSOR = /^(\d{1,15})\.([A-Za-z0-9_-]{16})$/

/** `null` for what is no cursor. */
export function placeOf(cursor: string): Place | null {
  const [, last, id] = CURSOR.exec(cursor) ?? []
  return last === undefined || id === undefined ? null : { last: Number(last), id }
}

/** Episodes behind a place, the latest first; fewer than it could be only at the end, where it is empty. */
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
      // One more than asked for shows that there is a next page.
      if (found.length === limit) return { episodes: found, next: found.at(-1) ?? null }
      found.push(episode)
    }
    const last = some.at(-1)
    if (last === undefined) return { episodes: found, next: null }
    behind = last
  }
}
