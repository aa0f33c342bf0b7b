import { BUCKET_MS, bucketStart } from '../failures/histogram.ts'
import type { Observation, RequestDone, Settled } from '../observe/observation.ts'
import { type Calendar, periodOf } from '../quota/calendar.ts'
import type { Charge, Decision } from '../quota/charge.ts'
import { planLabel } from '../quota/policy.ts'
import { overTokens } from '../quota/quota-state.ts'
import {
  addCounts,
  LATENCY_BOUNDS,
  MOST_ROUTES,
  noCounts,
  OTHER_ROUTES,
  type SeriesEntry,
  type SeriesKind,
  type Sums,
} from './series.ts'

/** Counts of this process since the last flush. */
export interface HalfHours {
  /** Adds an observation if the series count it. */
  count(observation: Observation): void
  /** From now on also adds counts to the days of a calendar; `null` for none. Default none. */
  keepDays(days: Calendar | null): void
  /** Removes and returns everything, as additions to the series. */
  take(): SeriesEntry[]
  /** The longest time in milliseconds from a charge to its counting, among charges that this process counted after their half hour. */
  lateMs(): number
}

/** Sums of one route, category and plan, which are parts of all series. */
interface Cell {
  readonly route: string
  readonly category: string | null
  readonly plan: string | null
  readonly counts: Sums
  /** The next cell of the route. It has another plan, or another category after a reload. */
  next: Cell | null
}

/** A half hour, or a part of one if a day begins within it, as in Kathmandu. */
interface HalfHour {
  /** Start of the half hour. */
  readonly start: number
  /** Charges in [from, until) belong to it. */
  readonly from: number
  readonly until: number
  /** The day that contains it; `null` if no days are kept. */
  readonly day: { readonly zone: string; readonly start: number } | null
  /** The first cell of each route. */
  readonly cells: Map<string, Cell>
}

/** The most cells of all half hours together, which may wait here during an outage. Further routes are counted together. */
const MOST_CELLS = 20_000

/** How many routes are ranked by their recent use, to choose those with a series of their own. */
const MOST_RANKED = 10_000

/** @param storeTime milliseconds since the epoch on the store's clock, as well as it is known */
export function createHalfHours(storeTime: () => number): HalfHours {
  const halves = new Map<string, HalfHour>()
  const ranks = new Map<string, number>()
  let rankedStart = 0
  let cells = 0
  let latest = 0
  let days: Calendar | null = null
  let current = NEVER

  function at(time: number): HalfHour {
    if (time >= current.from && time < current.until) return current
    latest = Math.max(latest, storeTime() - time)
    const half = halfHourOf(time, days)
    const key = `${half.from} ${half.day?.zone}`
    const found = halves.get(key) ?? half
    halves.set(key, found)
    if (half.from >= current.from) current = found
    return found
  }

  /** In the most frequent case one lookup finds the counts. */
  function sumsOf(half: HalfHour, route: string, category: string | null, plan: string | null): Sums {
    const first = half.cells.get(route)
    for (let cell: Cell | null = first ?? null; cell !== null; cell = cell.next) {
      if (cell.category === category && cell.plan === plan) return cell.counts
    }
    if (cells >= MOST_CELLS && isOneRoute(route)) return sumsOf(half, OTHER_ROUTES, category, plan)
    const cell: Cell = { route, category, plan, counts: noCounts(), next: null }
    if (first === undefined) half.cells.set(route, cell)
    else {
      cell.next = first.next
      first.next = cell
    }
    cells++
    return cell.counts
  }

  function count(seen: Observation): void {
    switch (seen.type) {
      case 'request':
        countRequest(sumsOf(at(storeTime()), seen.route ?? NO_ROUTE, seen.category, seen.planLabel), seen)
        return
      case 'settled':
        countCharge(seen)
        return
    }
  }

  /** Counts a charge in the half hour in which it was made, even if its tokens are corrected later. */
  function countCharge({ kind, tokens, charge, isFurther, decision, plan, route, refusedBy }: Settled): void {
    const isOfWindow = typeof refusedBy === 'object' && refusedBy !== null
    // Where no tokens move, the series count only new charges and what a window refused. They do not count repetitions or other refusals.
    if (decision === null || (tokens === 0 && kind !== 'charged' && !isOfWindow)) return
    const { once } = decision
    // If a repetition costs more than its charge, the difference belongs to that charge, whose windows have it.
    const chargedAt = once?.kind === 'replayed' && kind !== 'repeated' ? once.since : decision.at
    const sums = sumsOf(at(chargedAt), route, charge.category, planLabel(plan))
    addTokens(sums, charge, decision, kind, tokens)
    if (isFurther === true) return
    if (kind === 'charged') sums.accepted++
    else if (kind === 'shadowed') sums.shadowed++
    else if (isOfWindow) sums[REFUSED[refusedBy.scope]]++
  }

  function take(): SeriesEntry[] {
    // Nothing is left out here as too old, because the store's clock may have been set back. The store itself leaves it out.
    const taken = [...halves.values()].sort((a, b) => a.start - b.start)
    for (const half of taken) rank(half)
    const busiest = busiestOf(ranks)
    halves.clear()
    cells = 0
    current = NEVER
    return entriesOf(taken, busiest)
  }

  /** When a half hour begins, earlier counts lose half their weight. */
  function rank({ start, cells: routes }: HalfHour): void {
    if (start > rankedStart) {
      rankedStart = start
      for (const [route, requests] of ranks) ranks.set(route, requests / 2)
    }
    for (const route of routes.keys()) {
      if (!isOneRoute(route)) continue
      let requests = 0
      for (let cell: Cell | null = routes.get(route) ?? null; cell !== null; cell = cell.next) {
        requests += cell.counts.requests
      }
      ranks.set(route, (ranks.get(route) ?? 0) + requests)
    }
    if (ranks.size > MOST_RANKED) ranks.clear()
  }

  function keepDays(next: Calendar | null): void {
    days = next
    current = NEVER
  }

  return { count, keepDays, take, lateMs: () => Math.ceil(latest) }
}

/** Counts tokens, and those beyond a soft limit. @param tokens the change of the charge's cost */
function addTokens(sums: Sums, charge: Charge, decision: Decision, kind: Settled['kind'], tokens: number): void {
  sums.tokens += tokens
  if (tokens === 0) return
  // Before a charge none of its tokens were beyond a limit.
  if (kind === 'charged') sums.over += overTokens(charge, decision, tokens)
  else sums.over += overTokens(charge, decision, charge.cost + tokens) - overTokens(charge, decision, charge.cost)
}

const NEVER: HalfHour = { start: 0, from: 0, until: 0, day: null, cells: new Map() }

function halfHourOf(time: number, days: Calendar | null): HalfHour {
  const start = bucketStart(time)
  const half = { start, from: start, until: start + BUCKET_MS, day: null, cells: new Map() }
  if (days === null) return half
  const { from, to } = periodOf(days, time)
  const day = { zone: days.zone, start: from }
  return { ...half, from: Math.max(start, from), until: Math.min(half.until, to), day }
}

const NO_ROUTE = ''

const isOneRoute = (route: string): boolean => route !== NO_ROUTE && route !== OTHER_ROUTES

const REFUSED = {
  personal: 'refusedPersonal',
  organisation: 'refusedOrganisation',
  global: 'refusedGlobal',
} as const

function countRequest(sums: Sums, { httpStatus, outcome, durationMs, clientStatus }: RequestDone): void {
  sums.requests++
  if (httpStatus === null) {
    if (clientStatus >= 500) sums.gateway5xx++
    return
  }
  // A client that left says nothing about the upstream.
  if (outcome !== 'aborted') {
    if (httpStatus === 0) sums.status0++
    else if (httpStatus >= 500) sums.status5xx++
    else if (httpStatus >= 400) sums.status4xx++
  }
  if (clientStatus === 101) return
  let i = 0
  while (i < LATENCY_BOUNDS.length && durationMs > (LATENCY_BOUNDS[i] as number)) i++
  sums.latency[i] = (sums.latency[i] as number) + 1
}

/** The routes with a series of their own; `null` if every route has one. */
function busiestOf(ranks: ReadonlyMap<string, number>): ReadonlySet<string> | null {
  if (ranks.size <= MOST_ROUTES) return null
  const first = [...ranks].sort((a, b) => b[1] - a[1]).slice(0, MOST_ROUTES)
  return new Set(first.map(([route]) => route))
}

/** The additions to each half hour and each day. */
function entriesOf(halves: readonly HalfHour[], busiest: ReadonlySet<string> | null): SeriesEntry[] {
  const sums = new Map<string, SeriesEntry & { readonly counts: Sums }>()
  const addTo = (place: Pick<SeriesEntry, 'start' | 'zone'>, by: SeriesKind, name: string, { counts }: Cell): void => {
    const key = `${place.start} ${place.zone} ${by} ${name}`
    const sum = sums.get(key) ?? { by, ...place, name, counts: noCounts() }
    sums.set(key, sum)
    addCounts(sum.counts, counts)
  }
  for (const { start, day, cells } of halves) {
    const places = [{ start, zone: null }, ...(day === null ? [] : [day])]
    const add = (by: SeriesKind, name: string, cell: Cell): void => {
      for (const place of places) addTo(place, by, name, cell)
    }
    for (const first of cells.values()) {
      for (let cell: Cell | null = first; cell !== null; cell = cell.next) {
        const { route, category, plan } = cell
        add('all', '', cell)
        if (category !== null) add('category', category, cell)
        if (plan !== null) add('plan', plan, cell)
        if (route !== NO_ROUTE) add('route', busiest === null || busiest.has(route) ? route : OTHER_ROUTES, cell)
      }
    }
  }
  return [...sums.values()]
}
