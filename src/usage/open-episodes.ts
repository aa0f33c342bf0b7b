import { createHash } from 'node:crypto'
import { bucketStart } from '../failures/histogram.ts'
import type { RefusingLimit, Settled } from '../observe/observation.ts'
import { SCOPE_TITLES } from '../quota/refusal.ts'
import { type EpisodeChange, MOST_EPISODE_ROUTES } from './episodes.ts'

/** The refusals that this process has seen lately, also those in shadow, by their episodes. */
export interface OpenEpisodes {
  /** Counts what a limit refused, or would have refused if it was not in shadow; any other outcome is passed over. */
  count(outcome: Settled): void
  /** Takes at most this many that are to be sent. @param all also those that were sent a moment ago */
  take(most: number, all: boolean): EpisodeChange[]
}

interface Open {
  readonly id: string
  readonly user: string | null
  /** The last refusal by another limit or usage than before. Those that only repeat it are not held, so that none of them outlives its request. */
  latest: Refused
  readonly startedAt: number | null
  readonly first: number
  readonly routes: string[]
  /** Refusals that were not sent. */
  count: number
  /** On our clock; -Infinity before the first time. */
  sentAt: number
}

type Refused = Settled & { readonly refusedBy: RefusingLimit }

/** An episode that is only repeated is sent this often. */
const REPEATED_MS = 10_000
/** One that was not repeated for this long is forgotten here; the store goes on with it. */
const IDLE_MS = 60_000
/** Users beyond these, refused ones and those in shadow, are counted with callers of whom nobody knows who they are. */
const MOST_OPEN = 10_000

/** @param now monotonic milliseconds */
export function createOpenEpisodes(now: () => number): OpenEpisodes {
  /** Whoever is in shadow takes no place of who is refused. */
  const [refusals, shadows] = [new Map<string, Open>(), new Map<string, Open>()]
  /** Those that have something to send: their count is not 0. */
  const changed = new Set<Open>()

  function count(outcome: Settled): void {
    if (!isOfLimit(outcome)) return
    const { refusedBy, route } = outcome
    // Whoever goes on asking is refused by the same object.
    const episode = (refusedBy.episode as Open | undefined) ?? episodeFor(outcome)
    if (episode.latest.refusedBy !== refusedBy) episode.latest = outcome
    if (episode.count++ === 0) changed.add(episode)
    if (episode.routes.length < MOST_EPISODE_ROUTES && !episode.routes.includes(route)) {
      episode.routes.push(route)
    }
  }

  function episodeFor(refused: Refused): Open {
    const { isVerified, caller, refusedBy } = refused
    // Anybody can make up the names of the others.
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
