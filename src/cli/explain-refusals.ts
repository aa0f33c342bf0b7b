import type { Store } from '../store/store.ts'
import { episodePages } from '../usage/episode-pages.ts'
import type { Episode } from '../usage/episodes.ts'

/** How far a refusal may be from the requested moment, in milliseconds. */
const NEAR_MS = 30 * 60_000

/** The refusals of a user within half an hour of a moment, with those in shadow mode, the nearest first. @throws StoreError */
export async function refusalsNear(store: Store, user: string, at: number): Promise<Episode[]> {
  const near = [...(await readNear(store, user, at, false)), ...(await readNear(store, user, at, true))]
  return near.sort((a, b) => distance(a, at) - distance(b, at))
}

async function readNear(store: Store, user: string, at: number, shadow: boolean): Promise<Episode[]> {
  const near: Episode[] = []
  const filter = { user, shadow, since: at - NEAR_MS, until: at + NEAR_MS }
  for await (const episodes of episodePages(store, filter)) near.push(...episodes)
  return near
}

/** How far a moment is from the refusals of an episode, in milliseconds; 0 from the first to the last of them. */
function distance({ first, last }: Episode, at: number): number {
  return Math.max(0, first - at, at - last)
}

/** For somebody who asks why a user was refused. */
export function refusalsAsText(user: string, at: number, episodes: readonly Episode[]): string {
  const moment = new Date(at).toISOString()
  if (episodes.length === 0) return `No limit refused ${user} within half an hour of ${moment}.`
  const isShadow = episodes.every(({ shadow }) => shadow)
  const was = isShadow ? 'was let through in shadow and would have been refused' : 'was refused'
  return [`${user} ${was} within half an hour of ${moment}:`, ...episodes.flatMap(linesOf)].join('\n')
}

function linesOf(episode: Episode): string[] {
  const { scope, category, window, limit, used, source, count, first, last, routes, plan, startedAt, cost } = episode
  const inShadow = episode.shadow === true ? ', let through in shadow' : ''
  const run = startedAt === null ? 'not running' : `running since ${new Date(startedAt).toISOString()}`
  return [
    '',
    `${scope} ${category} ${window}: ${used} of ${limit} used (${source}), ${run}${cost === undefined ? '' : `, the last one costs ${cost}`}`,
    `  ${count === 1 ? 'once' : `${count} times`} from ${new Date(first).toISOString()} to ${new Date(last).toISOString()}${plan === null ? '' : `, plan ${plan}`}${inShadow}`,
    `  on ${routes.join(', ')}`,
  ]
}
