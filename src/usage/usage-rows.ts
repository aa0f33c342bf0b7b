import { type Calendar, periodOf } from '../quota/calendar.ts'
import type { OwnerHistory, RunVisitor } from '../quota/history-store.ts'
import { beginningWith } from '../quota/period-days.ts'
import type { Window } from '../quota/window.ts'
import { beyondOf, NO_TERMS, type OwnerTerms } from './beyond.ts'
import type { SeriesCounts, SeriesRow } from './series.ts'
import { addCounts, noCounts } from './series.ts'
import { ON_THE_WAY_MS } from './silence.ts'
import { stepMs, type UsageQuery } from './usage-query.ts'

/** The usage of an owner in one step. */
export interface UsageRow {
  /** The user, organisation, plan, category or route; empty for all together. */
  readonly name: string
  /** `null` for a series. */
  readonly category: string | null
  /** The window of the runs; `null` for a series. */
  readonly window: Window | null
  /** Milliseconds since the epoch. A step is cut off at the ends of the range. */
  readonly start: number
  readonly end: number
  /** Sorts rows of the same name and category. It is the first charge of a run, else the start of the step. */
  readonly place: number
  readonly tokens: number
  /** The tokens beyond a soft limit; `null` if no such limit is known. */
  readonly over: number | null
  /** Whether more may still be added. */
  readonly running: boolean
  /** Whether none of its runs reaches over an end of the range. */
  readonly isWhole: boolean
  /** The counts of a series; `null` for runs and grants. */
  readonly counts: SeriesCounts | null
  /** In the row of a grant, what was taken from it. `tokens` of other rows include that already. */
  readonly grant: TakenOfGrant | null
}

export interface TakenOfGrant {
  readonly id: string
  readonly taken: number
}

/** Whether a run reaches over an end of the range, so that its usage on either side is unknown. */
export interface Found {
  reachesOver: boolean
}

/**
 * The rows of one owner, by category and start. A run counts where its first charge is.
 * @param at the store's time of the reading @param terms of the owner. Default unknown
 */
export function rowsOfRuns(
  owner: OwnerHistory,
  query: UsageQuery,
  at: number,
  found: Found,
  terms: OwnerTerms = NO_TERMS,
): UsageRow[] {
  const { window, windows, from, to, endsNow, category: wanted, step } = query
  if (window === null) return []
  const stepAt = stepsOf(query)
  const { periodDay, limitsOf } = terms
  const ofOwner = (one: Window): Window => (periodDay === null ? one : beginningWith(one, periodDay))
  const own: Own = { category: null, window: ofOwner(window), timesOf: runTimes(ofOwner(window), query) }
  const rows: Mutable[] = []
  const beyond = terms === NO_TERMS ? null : beyondOf(owner, limitsOf)
  // Runs come by category and mostly in order, so the row is nearly always the last one. Runs that are still in counters come at the end.
  let last: Mutable | undefined
  /** Categories with a run that reaches over an end of the range, even if they have no row. */
  const over = new Set<string>()
  const visit: RunVisitor = (category, seconds, startedAt, tokens, isCounted) => {
    if (windows !== null && category !== own.category)
      takeUp(own, category, ofOwner(windows.get(category) ?? window), query)
    if (seconds !== own.window.seconds || (wanted !== null && category !== wanted)) return
    if (startedAt < from || !endsNow) {
      const { end } = own.timesOf(startedAt)
      if (end > (startedAt < from ? from : to)) over.add(category)
      if (startedAt < from) return
    }
    const times = step === 'run' ? own.timesOf(startedAt) : stepAt(startedAt)
    const place = step === 'run' ? startedAt : times.start
    if (last?.category !== category) last = lastOf(rows, category)
    if (last?.place !== place) {
      last = emptyRow(owner.id, category, own.window, step === 'run' ? times : cut(times, query), place)
      rows.push(last)
    }
    last.tokens += tokens
    const above = beyond === null ? null : beyond(category, own.window, startedAt, tokens)
    if (above !== null) last.over = (last.over ?? 0) + above
    if (isCounted && !last.running) last.running = own.timesOf(startedAt).end > at
  }
  if (windows === null) owner.eachRun(firstStart(own.window, query), to, visit, window.seconds)
  else owner.eachRun(Math.min(...windows.values().map((one) => firstStart(ofOwner(one), query))), to, visit)
  if (over.size > 0) {
    found.reachesOver = true
    for (const row of rows) row.isWhole = !over.has(row.category ?? '')
  }
  return isInOrder(rows) ? rows : joined(rows)
}

/** The earliest start of a run that may reach into the range. */
function firstStart({ seconds, calendar }: Window, query: UsageQuery): number {
  return calendar === undefined ? query.from - seconds * 1000 : periodIn(query, calendar, query.from).start
}

function emptyRow(
  name: string,
  category: string | null,
  window: Window | null,
  { start, end }: Times,
  place: number,
): Mutable {
  return {
    name,
    category,
    window,
    start,
    end,
    place,
    tokens: 0,
    over: null,
    running: false,
    isWhole: true,
    counts: null,
    grant: null,
  }
}

/**
 * A row for each used grant whose time overlaps the range. It reaches from when the grant was given until it ends. Only the amount that was
 * taken is kept, and not when. So the row is whole if the whole time of the grant is in the range.
 * @param at the store's time of the reading
 */
export function rowsOfGrants(owner: OwnerHistory, query: UsageQuery, at: number, { grantOf }: OwnerTerms): UsageRow[] {
  if (grantOf === NO_TERMS.grantOf) return []
  const rows: UsageRow[] = []
  for (const [id, taken] of owner.takenOf()) {
    const grant = grantOf(id)
    if (grant === null || (query.category !== null && query.category !== grant.category)) continue
    const { category, from: start, until: end } = grant
    if (start >= query.to || end <= query.from) continue
    const isWhole = start >= query.from && (query.endsNow || end <= query.to)
    const row = emptyRow(owner.id, category, null, { start, end }, start)
    rows.push({ ...row, running: end > at, isWhole, grant: { id, taken } })
  }
  return rows.sort(byPlace)
}

function lastOf(rows: readonly Mutable[], category: string): Mutable | undefined {
  for (let i = rows.length - 1; i >= 0; i--) if (rows[i]?.category === category) return rows[i]
  return undefined
}

/** Whether each row comes after the one before. */
function isInOrder(rows: readonly UsageRow[]): boolean {
  for (let i = 1; i < rows.length; i++) if (byPlace(rows[i - 1] as UsageRow, rows[i] as UsageRow) >= 0) return false
  return true
}

function byPlace(a: UsageRow, b: UsageRow): number {
  return compare(a.category ?? '', b.category ?? '') || a.place - b.place
}

/** The window with which the present category is read. */
interface Own {
  category: string | null
  window: Window
  timesOf: (startedAt: number) => Times
}

function takeUp(own: Own, category: string, window: Window, query: UsageQuery): void {
  own.category = category
  own.window = window
  own.timesOf = runTimes(window, query)
}

/** When a run with this first charge begins and ends as it is shown. A run of a calendar window has its period. */
function runTimes({ seconds, calendar }: Window, query: UsageQuery): (startedAt: number) => Times {
  if (calendar === undefined) return (startedAt) => ({ start: startedAt, end: startedAt + seconds * 1000 })
  return (startedAt) => periodIn(query, calendar, startedAt)
}

interface Times {
  readonly start: number
  readonly end: number
}

/** The starts of periods from the last question, because the next one mostly needs the same. */
const known = new WeakMap<Calendar, readonly number[]>()

/**
 * The period of a calendar around a moment in the range, or in the period before. Starts are remembered, because finding a period is slow,
 * and a scan needs one for each day of each user.
 */
function periodIn(query: UsageQuery, calendar: Calendar, moment: number): Times {
  const starts = startsAround(calendar, query)
  let [low, high] = [0, starts.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((starts[middle] as number) <= moment) low = middle
    else high = middle
  }
  const [start = 0, end = 0] = [starts[low], starts[high]]
  if (start <= moment && moment < end) return { start, end }
  const { from, to } = periodOf(calendar, moment)
  return { start: from, end: to }
}

/** The starts of the periods in the range, before it and after it. There may be more on either side. */
function startsAround(calendar: Calendar, { from, to }: UsageQuery): readonly number[] {
  const starts = known.get(calendar)
  const isKnown = starts !== undefined && (starts[1] ?? from + 1) <= from && (starts.at(-1) ?? to) > to
  if (isKnown) return starts
  const made = startsOf(calendar, periodOf(calendar, from).from - 1, to)
  known.set(calendar, made)
  return made
}

/** The starts of the periods, from the one that contains `first` to the first one that begins after `last`. */
function startsOf(calendar: Calendar, first: number, last: number): number[] {
  const starts: number[] = []
  for (let moment = first; ; ) {
    const { from, to } = periodOf(calendar, moment)
    starts.push(from)
    if (from > last) return starts
    moment = to
  }
}

/** Sorts rows, and joins those of one category and place. */
function joined(rows: readonly Mutable[]): Mutable[] {
  const all: Mutable[] = []
  for (const row of rows.toSorted(byPlace)) {
    const before = all.at(-1)
    if (before === undefined || before.place !== row.place || before.category !== row.category) all.push(row)
    else {
      before.tokens += row.tokens
      if (row.over !== null) before.over = (before.over ?? 0) + row.over
      before.running ||= row.running
    }
  }
  return all
}

type Mutable = { -readonly [K in keyof UsageRow]: UsageRow[K] }

/** The rows of series, by start and name. @param series half hours that begin in the range */
export function rowsOfSeries(series: readonly SeriesRow[], query: UsageQuery, at: number): UsageRow[] {
  const stepAt = stepsOf(query)
  const rows = new Map<string, Mutable & { readonly counts: ReturnType<typeof noCounts> }>()
  for (const { start: begin, name, counts } of series) {
    if (query.name !== null && name !== query.name) continue
    const step = stepAt(begin)
    const { start } = step
    const key = `${start} ${name}`
    const times = cut(step, query)
    const row = rows.get(key) ?? {
      ...emptyRow(name, null, null, times, start),
      running: times.end + ON_THE_WAY_MS > at,
      counts: noCounts(),
    }
    rows.set(key, row)
    row.tokens += counts.tokens
    addCounts(row.counts, counts)
  }
  return [...rows.values()].sort((a, b) => a.place - b.place || compare(a.name, b.name))
}

/** The step around a moment in the range, which may reach over its ends. */
function stepsOf(query: UsageQuery): (moment: number) => Times {
  const { from, to, step, days } = query
  if (step === '1d') return (moment) => periodIn(query, days, moment)
  const length = stepMs(step)
  const range = { start: from, end: to }
  if (length === null) return () => range
  return (moment) => {
    const start = Math.floor(moment / length) * length
    return { start, end: start + length }
  }
}

function cut({ start, end }: Times, { from, to }: UsageQuery): Times {
  return { start: Math.max(start, from), end: Math.min(end, to) }
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Most tokens first. */
export function byTokens(a: UsageRow, b: UsageRow): number {
  return (
    b.tokens - a.tokens || compare(a.name, b.name) || compare(a.category ?? '', b.category ?? '') || a.place - b.place
  )
}
