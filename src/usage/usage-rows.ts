import { type Calendar, periodOf } from '../quota/calendar.ts'
import type { OwnerHistory, RunVisitor } from '../quota/history-store.ts'
import type { Window } from '../quota/window.ts'
import type { SeriesCounts, SeriesRow } from './series.ts'
import { addCounts, noCounts } from './series.ts'
import { ON_THE_WAY_MS } from './silence.ts'
import { stepMs, type UsageQuery } from './usage-query.ts'

/** What somebody used in one step. */
export interface UsageRow {
  /** Of the user, organisation, plan, category or route; empty for all together. */
  readonly name: string
  /** `null` for a series. */
  readonly category: string | null
  /** Whose runs they are; `null` for a series. */
  readonly window: Window | null
  /** Milliseconds since the epoch. A step is cut at the ends of the range. */
  readonly start: number
  readonly end: number
  /** Orders the rows of one name and category: of a run its first charge, else the start. */
  readonly place: number
  readonly tokens: number
  /** Whether more may still come to it. */
  readonly running: boolean
  /** Whether no run of it reaches over an end of the range. */
  readonly isWhole: boolean
  /** Of a series. */
  readonly counts: SeriesCounts | null
}

/** Whether a run was found that reaches over an end of the range: what was used in it on either side is not known. */
export interface Found {
  reachesOver: boolean
}

/**
 * The rows of one user or organisation, by category and start. A run counts where its first charge lies.
 * @param at the store's time of the reading
 */
export function rowsOfRuns(owner: OwnerHistory, query: UsageQuery, at: number, found: Found): UsageRow[] {
  const { window, windows, from, to, endsNow, category: wanted, step } = query
  if (window === null) return []
  const length = stepMs(step)
  const own: Own = { category: null, window, timesOf: runTimes(window, query) }
  const rows: Mutable[] = []
  // Runs come by category and mostly in order: that of the run before is nearly always the row.
  let last: Mutable | null = null
  /** Categories with a run that reaches over an end of the range, of which there may be no row. */
  const over = new Set<string>()
  const visit: RunVisitor = (category, seconds, startedAt, tokens, isCounted) => {
    if (windows !== null && category !== own.category) takeUp(own, category, windows.get(category) ?? window, query)
    if (seconds !== own.window.seconds || (wanted !== null && category !== wanted)) return
    const run = own.timesOf(startedAt)
    if (startedAt < from ? run.end > from : run.end > to && !endsNow) over.add(category)
    if (startedAt < from) return
    const place = step === 'run' ? startedAt : stepStart(startedAt, query, length)
    if (last === null || last.place !== place || last.category !== category) {
      const times = step === 'run' ? run : stepTimes(place, query, length)
      const whose = { name: owner.id, category, window: own.window }
      last = { ...whose, ...times, place, tokens: 0, running: false, isWhole: true, counts: null }
      rows.push(last)
    }
    last.tokens += tokens
    last.running ||= isCounted && run.end > at
  }
  const longest = windows === null ? window.seconds : Math.max(...windows.values().map((one) => one.seconds))
  owner.eachRun(from - longest * 1000, to, visit, windows === null ? window.seconds : undefined)
  if (over.size > 0) {
    found.reachesOver = true
    for (const row of rows) row.isWhole = !over.has(row.category ?? '')
  }
  return rows.length < 2 ? rows : joined(rows)
}

/** The window by which the category is read whose runs come. */
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

/** When a run that was charged first then begins and ends, as it is shown: one of a calendar with its period. */
function runTimes({ seconds, calendar }: Window, query: UsageQuery): (startedAt: number) => Times {
  if (calendar === undefined) return (startedAt) => ({ start: startedAt, end: startedAt + seconds * 1000 })
  return (startedAt) => periodIn(query, calendar, startedAt)
}

interface Times {
  readonly start: number
  readonly end: number
}

const periods = new WeakMap<UsageQuery, Map<Calendar, readonly number[]>>()

/**
 * The period of a calendar around a moment of the range, or of the period before it. Their starts are worked out once for each question: to
 * find a period that no calendar remembers takes a tenth of a millisecond, and a scan asks for each day of each user.
 */
function periodIn(query: UsageQuery, calendar: Calendar, moment: number): Times {
  const known = periods.get(query) ?? new Map<Calendar, readonly number[]>()
  periods.set(query, known)
  const starts = known.get(calendar) ?? startsOf(calendar, periodOf(calendar, query.from).from - 1, query.to)
  known.set(calendar, starts)
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

/** The starts of the periods from that of a moment on, and of the first behind another. */
function startsOf(calendar: Calendar, first: number, last: number): number[] {
  const starts: number[] = []
  for (let moment = first; ; ) {
    const { from, to } = periodOf(calendar, moment)
    starts.push(from)
    if (from > last) return starts
    moment = to
  }
}

/** In order, and those of one category and place as one. */
function joined(rows: readonly Mutable[]): Mutable[] {
  const all: Mutable[] = []
  for (const row of rows.toSorted((a, b) => compare(a.category ?? '', b.category ?? '') || a.place - b.place)) {
    const before = all.at(-1)
    if (before === undefined || before.place !== row.place || before.category !== row.category) all.push(row)
    else {
      before.tokens += row.tokens
      before.running ||= row.running
    }
  }
  return all
}

type Mutable = { -readonly [K in keyof UsageRow]: UsageRow[K] }

/** The rows of series, by start and name. @param series half hours that begin in the range */
export function rowsOfSeries(series: readonly SeriesRow[], query: UsageQuery, at: number): UsageRow[] {
  const length = stepMs(query.step)
  const rows = new Map<string, Mutable & { readonly counts: ReturnType<typeof noCounts> }>()
  for (const { start: begin, name, counts } of series) {
    if (query.name !== null && name !== query.name) continue
    const start = stepStart(begin, query, length)
    const key = `${start} ${name}`
    const times = stepTimes(start, query, length)
    const row = rows.get(key) ?? {
      name,
      category: null,
      window: null,
      ...times,
      place: start,
      tokens: 0,
      running: times.end + ON_THE_WAY_MS > at,
      isWhole: true,
      counts: noCounts(),
    }
    rows.set(key, row)
    row.tokens += counts.tokens
    addCounts(row.counts, counts)
  }
  return [...rows.values()].sort((a, b) => a.place - b.place || compare(a.name, b.name))
}

function stepStart(time: number, query: UsageQuery, length: number | null): number {
  const { from, step, days } = query
  if (step === '1d') return periodIn(query, days, time).start
  return length === null ? from : Math.floor(time / length) * length
}

function stepTimes(start: number, query: UsageQuery, length: number | null): Times {
  const { from, to, step, days } = query
  if (step === '1d') return { start: Math.max(start, from), end: Math.min(periodIn(query, days, start).end, to) }
  return { start: Math.max(start, from), end: length === null ? to : Math.min(start + length, to) }
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The most tokens first. */
export function byTokens(a: UsageRow, b: UsageRow): number {
  return (
    b.tokens - a.tokens || compare(a.name, b.name) || compare(a.category ?? '', b.category ?? '') || a.place - b.place
  )
}
