import type { StatusResponse } from '../contract/api.ts'
import type { WindowStatus, WindowStatuses } from '../quota/status.ts'
import type { Replica } from '../replicas/presence.ts'
import type { Episode } from '../usage/episodes.ts'
import type { Setup } from './state.ts'

/** Who was refused in the last minutes, and which global window refuses everybody now. The functions get what the store has said. */

/** How old a present refusal may be, in milliseconds. */
export const RECENT_MS = 5 * 60_000

type Full = StatusResponse['full'][number]
type Costs = Pick<Setup, 'cheapest' | 'priced'>

/** By category, the full global window that ends last. @param recent the refusals of the last minutes */
export function fullWindows(windows: WindowStatuses, recent: readonly Episode[], costs: Costs): Full[] {
  return Object.entries(windows).flatMap(([category, list]) => {
    const full = list.flatMap((window) => fullWindow(category, window, recent, costs))
    const [last] = full.toSorted((a, b) => Date.parse(b.until) - Date.parse(a.until))
    return last === undefined ? [] : [last]
  })
}

/**
 * A window with tokens left counts as full for the most expensive route if that route costs more, and the window has refused somebody in this
 * run. Tokens beyond a soft limit count as left too.
 */
function fullWindow(category: string, of: WindowStatus, recent: readonly Episode[], costs: Costs): Full[] {
  const { window, startedAt, resetAt } = of
  if (startedAt === null || resetAt === null) return []
  const remaining = of.over === undefined ? of.remaining : Math.max(0, of.limit + of.over - of.used)
  const full = { category, window, until: resetAt, remaining }
  if (remaining < (costs.cheapest.get(category) ?? 1)) return [{ ...full, tooDear: null }]
  const dearest = dearestOf(category, costs)
  if (dearest === null || dearest.cost <= remaining) return []
  const hasRefused = recent.some(
    (each) =>
      each.scope === 'Global' &&
      each.category === category &&
      each.window === window &&
      each.last >= Date.parse(startedAt),
  )
  return hasRefused ? [{ ...full, tooDear: dearest }] : []
}

/** The most expensive route that the quota may refuse; `null` if there is none. */
function dearestOf(category: string, { priced }: Costs): Full['tooDear'] {
  const all = priced.flatMap((each) =>
    each.category === category ? [{ match: each.match, cost: Math.max(...each.costs) }] : [],
  )
  return all.reduce<Full['tooDear']>((most, each) => (most !== null && most.cost >= each.cost ? most : each), null)
}

/** How many users were refused by their own limits and by global ones, and how many organisations refused members by theirs. */
export function whoIsRefused(recent: readonly Episode[]): Pick<StatusResponse, 'users' | 'organisations' | 'global'> {
  const of = (scope: Episode['scope'], who: 'user' | 'organisation'): number =>
    new Set(recent.filter((each) => each.scope === scope).map((each) => each[who])).size
  return {
    users: of('Personal', 'user'),
    organisations: of('Organisation', 'organisation'),
    global: of('Global', 'user'),
  }
}

/** Of each global window, the latest refusal. @param recent latest first */
export function latestGlobal(recent: readonly Episode[]): readonly Episode[] {
  const global = recent.filter(({ scope }) => scope === 'Global')
  return [...Map.groupBy(global, ({ category, window }) => `${category} ${window}`).values()].flatMap(
    ([one]) => one ?? [],
  )
}

type Beat = Pick<Replica, 'instance' | 'startedAt' | 'counts'>

interface Look {
  readonly at: number
  readonly beats: readonly Beat[]
}

/** The time over which present numbers are counted, in milliseconds. */
const MINUTE_MS = 60_000
/** The least time between two kept looks, in milliseconds. It bounds how many looks are kept, however many pages ask. */
const APART_MS = 1000

/** Counts forwarded and failed requests since the oldest look of the last minute; `null` if there was none. Each call is a look. */
export function lastMinute(): (beats: readonly Beat[], at: number) => StatusResponse['upstream'] {
  let looks: readonly Look[] = []
  return (beats, at) => {
    const within = looks.filter((look) => look.at >= at - MINUTE_MS && look.at <= at)
    const [first, last] = [within[0], within.at(-1)]
    looks = last === undefined || last.at <= at - APART_MS ? [...within, { at, beats }] : within
    return first === undefined ? null : between(first, beats)
  }
}

/** The requests between two looks. A new replica counts from its start, and a replica that is gone does not count. */
function between(before: Look, beats: readonly Beat[]): NonNullable<StatusResponse['upstream']> {
  const known = new Map(before.beats.map(({ instance, counts }) => [instance, counts]))
  const since = (field: 'forwarded' | 'failed'): number =>
    beats.reduce((sum, { instance, startedAt, counts }) => {
      const old = known.get(instance)?.[field] ?? (startedAt >= before.at ? 0 : counts[field])
      return sum + Math.max(0, counts[field] - old)
    }, 0)
  return { requests: since('forwarded'), failed: since('failed') }
}
