import type { OwnerHistory, RunVisitor } from '../quota/history-store.ts'
import type { SeriesCounts, SeriesRow } from './series.ts'
import { addCounts, noCounts } from './series.ts'
import { runTimes, stepMs, type UsageQuery } from './usage-query.ts'

/** What somebody used in one step. */
export interface UsageRow {
  /** Of the user, organisation, plan, category or route; empty for all together. */
  readonly name: string
  /** `null` for a series. */
  readonly category: string | null
  /** Milliseconds since the epoch. A step is cut at the ends of the range. */
  readonly start: number
  readonly end: number
  /** Orders the rows of one name and category: of a run its first charge, else the start. */
  readonly place: number
  readonly tokens: number
  /** Whether more may still come to it. */
  readonly running: boolean
  /** Of a series. */
  readonly counts: SeriesCounts | null
}

/** The rows of one user or organisation, by category and start. @param at the store's time of the reading */
export function rowsOfRuns(owner: OwnerHistory, query: UsageQuery, at: number): UsageRow[] {
  const { window, from, to, category: wanted, step } = query
  if (window === null) return []
  const length = stepMs(step)
  const isCalendar = window.calendar !== undefined
  // A run is shown from the beginning of its period, which its first charge may lie behind.
  const until = isCalendar ? to + window.seconds * 1000 : to
  const rows: Mutable[] = []
  // Runs come by category and mostly in order: that of the run before is nearly always the row.
  let last: Mutable | null = null
  const visit: RunVisitor = (category, seconds, startedAt, tokens, isCounted) => {
    if (seconds !== window.seconds || (wanted !== null && category !== wanted)) return
    const run = isCalendar ? runTimes(window, startedAt) : { start: startedAt, end: startedAt + seconds * 1000 }
    if (run.start < from || run.start >= to) return
    const place = step === 'run' ? startedAt : stepStart(run.start, query, length)
    if (last === null || last.place !== place || last.category !== category) {
      const times = step === 'run' ? run : stepTimes(place, query, length)
      last = { name: owner.id, category, ...times, place, tokens: 0, running: false, counts: null }
      rows.push(last)
    }
    last.tokens += tokens
    last.running ||= isCounted && run.end > at
  }
  owner.eachRun(from, until, visit, window.seconds)
  return rows.length < 2 ? rows : joined(rows)
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
      ...times,
      place: start,
      tokens: 0,
      running: times.end > at,
      counts: noCounts(),
    }
    rows.set(key, row)
    row.tokens += counts.tokens
    addCounts(row.counts, counts)
  }
  return [...rows.values()].sort((a, b) => a.place - b.place || compare(a.name, b.name))
}

function stepStart(time: number, { from }: UsageQuery, length: number | null): number {
  return length === null ? from : Math.floor(time / length) * length
}

function stepTimes(start: number, { from, to }: UsageQuery, length: number | null) {
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
