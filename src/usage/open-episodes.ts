import { createHash } from 'node:crypto'
import { bucketStart } from '../failures/histogram.ts'
import type { RefusingLimit, Settled } from '../observe/observation.ts'
import { SCOPE_TITLES } from '../quota/refusal.ts'
import { type EpisodeChange, MOST_EPISODE_ROUTES } from './episodes.ts'

/** The episodes of refusals that this process has recently seen, including those in shadow mode. */
export interface OpenEpisodes {
  /** Counts a refusal by a limit, even in shadow mode, and ignores any other outcome. */
  count(outcome: Settled): void
  /** Removes and returns at most this many changes. @param all whether to include episodes that were sent a moment ago */
  take(most: number, all: boolean): EpisodeChange[]
}

interface Open {
  readonly id: string
  readonly user: string | null
  /** The last refusal with another limit or usage than before. Mere repetitions are not kept, so that they can be freed with their requests. */
  latest: Refused
  readonly startedAt: number | null
  readonly first: number
  readonly routes: string[]
  /** Refusals that were not sent yet. */
  count: number
  /** When the episode was last sent, on our monotonic clock; -Infinity before the first time. */
  sentAt: number
}

type Refused = Settled & { readonly refusedBy: RefusingLimit }

/** An episode is sent at most once in this many milliseconds. */
const REPEATED_MS = 10_000
/** After this many milliseconds without a repetition an episode is forgotten here. In the store it goes on. */
const IDLE_MS = 60_000
/** The most open episodes, of refused requests and of requests in shadow each. Further users are counted with unverified callers. */
const MOST_OPEN = 10_000

/** @param now monotonic milliseconds */
export function createOpenEpisodes(now: () => number): OpenEpisodes {
  /** Separate, so that users in shadow take no place from refused ones. */
  const [refusals, shadows] = [new Map<string, Open>(), new Map<string, Open>()]
  /** Episodes with something to send, because their count is not 0. */
  const changed = new Set<Open>()

  function count(outcome: Settled): void {
    if (!isOfLimit(outcome)) return
    const { refusedBy, route } = outcome
    // A client that goes on requesting is refused with the same `refusedBy` object for a while.
    const episode = (refusedBy.episode as Open | undefined) ?? episodeFor(outcome)
    if (episode.latest.refusedBy !== refusedBy) episode.latest = outcome
    if (episode.count++ === 0) changed.add(episode)
    if (episode.routes.length < MOST_EPISODE_ROUTES && !episode.routes.includes(route)) {
      episode.routes.push(route)
    }
  }

  function episodeFor(refused: Refused): Open {
    const { isVerified, caller, refusedBy } = refused
    // Anybody can make up names of unverified callers.
    const episode = episodeOf(refused, isVerified ? caller.user : null)
    refusedBy.episode = episode
    return episode
  }

  function episodeOf(refused: Refused, user: string | null): Open {
    const { kind, charge, refusedBy } = refused
    const { scope, window, startedAt, at } = refusedBy
    const isShadowed = kind === 'shadowed'
    const run = startedAt ?? bucketStart(at)
    const open = isShadowed ? shadows : refusals
    const key = `${isShadowed ? 'shadow ' : ''}${run} ${scope} ${window} ${charge.category} ${user === null ? '' : `=${user}`}`
    const known = open.get(key)
    if (known !== undefined) return known
    if (open.size >= MOST_OPEN && user !== null) return episodeOf(refused, null)
    const id = createHash('sha256').update(key).digest('base64url').slice(0, 16)
    const made: Open = { id, user, latest: refused, startedAt, first: at, routes: [], count: 0, sentAt: -Infinity }
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

function isOfLimit(outcome: Settled): outcome is Refused {
  return outcome.refusedBy !== null && typeof outcome.refusedBy === 'object'
}

function changeOf({ id, user, latest, startedAt, first, routes, count }: Open): EpisodeChange {
  const { kind, plan, charge, refusedBy, caller } = latest
  const { scope, window, limit, used, source, at, requested } = refusedBy
  return {
    id,
    user,
    plan: user === null ? null : (plan?.name ?? null),
    organisation: user === null ? null : charge.organisation,
    ...(user !== null && caller.periodDay !== undefined && { periodDay: caller.periodDay }),
    category: charge.category,
    scope: SCOPE_TITLES[scope],
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
    ...(kind === 'shadowed' && { shadow: true as const }),
  }
}
