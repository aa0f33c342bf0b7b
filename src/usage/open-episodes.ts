import { createHash } from 'node:crypto'
import { bucketStart } from '../failures/histogram.ts'
import type { RequestDone } from '../observe/observation.ts'
import { type EpisodeChange, MOST_EPISODE_ROUTES } from './episodes.ts'

/** The refusals that this process has seen lately, also those in shadow, by their episodes. */
export interface OpenEpisodes {
  /** Counts a request that was refused, or would have been if it was not in shadow; any other is passed over. */
  count(done: RequestDone): void
  /** Takes at most this many that are to be sent. @param all also those that were sent a moment ago */
  take(most: number, all: boolean): EpisodeChange[]
}

interface Open {
  readonly id: string
  readonly user: string | null
  /** As the last refusal was. */
  latest: Refused
  readonly startedAt: number | null
  readonly first: number
  readonly routes: string[]
  /** Refusals that were not sent. */
  count: number
  /** On our clock; -Infinity before the first time. */
  sentAt: number
}

type Refused = RequestDone & { readonly refusedBy: NonNullable<RequestDone['refusedBy']> }

/** An episode that is only repeated is sent this often. */
const REPEATED_MS = 10_000
/** One that was not repeated for this long is forgotten here; the store goes on with it. */
const IDLE_MS = 60_000
/** Users beyond these, refused ones and those in shadow, are counted with callers of whom nobody knows who they are. */
const MOST_OPEN = 10_000

/** Kinds of callers that anybody can make up (auth/verdict.ts). */
const MADE_UP: ReadonlySet<string | null> = new Set(['address', 'unverified_key'])

/** @param now monotonic milliseconds */
export function createOpenEpisodes(now: () => number): OpenEpisodes {
  /** Whoever is in shadow takes no place of who is refused. */
  const [refusals, shadows] = [new Map<string, Open>(), new Map<string, Open>()]
  /** Those that have something to send. */
  const changed = new Set<Open>()

  function count(done: RequestDone): void {
    if (done.refusedBy === null) return
    const refused = done as Refused
    const user = MADE_UP.has(done.kind) ? null : done.user
    const episode = episodeOf(refused, user)
    episode.latest = refused
    episode.count++
    const { route } = done
    if (route !== null && episode.routes.length < MOST_EPISODE_ROUTES && !episode.routes.includes(route)) {
      episode.routes.push(route)
    }
    changed.add(episode)
  }

  function episodeOf(done: Refused, user: string | null): Open {
    const { scope, window, startedAt, at } = done.refusedBy
    const run = startedAt ?? bucketStart(at)
    const open = done.shadowed ? shadows : refusals
    const key = `${done.shadowed ? 'shadow ' : ''}${run} ${scope} ${window} ${done.category} ${user === null ? '' : `=${user}`}`
    const known = open.get(key)
    if (known !== undefined) return known
    if (open.size >= MOST_OPEN && user !== null) return episodeOf(done, null)
    const id = createHash('sha256').update(key).digest('base64url').slice(0, 16)
    const made: Open = { id, user, latest: done, startedAt, first: at, routes: [], count: 0, sentAt: -Infinity }
    open.set(key, made)
    return made
  }

  function take(most: number, all: boolean): EpisodeChange[] {
    const time = now()
    const taken: EpisodeChange[] = []
    for (const episode of changed) {
      if (taken.length === most) break
      if (!all && time - episode.sentAt < REPEATED_MS) continue
      taken.push(changeOf(episode))
      changed.delete(episode)
      episode.count = 0
      episode.sentAt = time
    }
    for (const open of [refusals, shadows]) {
      for (const [key, episode] of open) {
        if (!changed.has(episode) && time - episode.sentAt > IDLE_MS) open.delete(key)
      }
    }
    return taken
  }

  return { count, take }
}

function changeOf({ id, user, latest, startedAt, first, routes, count }: Open): EpisodeChange {
  const { plan, organisation, category, refusedBy, shadowed } = latest
  const { scope, window, limit, used, source, at, requested } = refusedBy
  return {
    id,
    user,
    plan: user === null ? null : plan,
    organisation: user === null ? null : organisation,
    category: category ?? '',
    scope,
    window,
    startedAt,
    first,
    last: at,
    count,
    routes: [...routes],
    limit,
    used,
    source,
    cost: requested,
    ...(shadowed && { shadow: true as const }),
  }
}
