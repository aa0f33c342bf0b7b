import { BUCKET_MS, BUCKETS, bucketStart } from '../failures/histogram.ts'
import { BOOK_SECONDS } from '../quota/books.ts'
import { type Calendar, periodOf } from '../quota/calendar.ts'
import type { Retention } from '../quota/history.ts'

/**
 * Requests and charges, shared by all replicas: by half hours in UTC for 7 days, and by days of `usage.zone` for as long as the days of
 * users are kept. Pure.
 */

export const SERIES_MS = BUCKETS * BUCKET_MS

/** Upper bounds of the latency buckets in milliseconds. One more bucket counts longer requests. */
export const LATENCY_BOUNDS = [25, 50, 100, 250, 500, 1000, 2500, 10_000] as const

/** Counts of one half hour or one day: whole numbers from 0 on, except in the rare case of `tokens` below. */
export interface SeriesCounts {
  /** Requests that have ended, whether they succeeded or not. */
  readonly requests: number
  /** Accepted charges of requests and tunnels. A tunnel counts each time it is charged. */
  readonly accepted: number
  /**
   * Tokens charged, less those given back. They count in the half hour of the charge, even if the response says the cost
   * hours later. The number is below 0 only if the charge was lost with a killed process.
   */
  readonly tokens: number
  /** Requests that the quota refused, by the scope of the window in the response. */
  readonly refusedPersonal: number
  readonly refusedOrganisation: number
  readonly refusedGlobal: number
  /** Requests that the quota refused and shadow mode let through. */
  readonly shadowed: number
  /** Requests to which the upstream responded with 4xx. */
  readonly status4xx: number
  readonly status5xx: number
  /** Requests whose forwarding failed. */
  readonly status0: number
  /** Requests that were not forwarded, and to which the gateway itself responded with 5xx. */
  readonly gateway5xx: number
  /** The part of `tokens` beyond a soft limit. */
  readonly over: number
  /**
   * Forwarded requests by their duration: one number for each of `LATENCY_BOUNDS`, and one for longer ones. Tunnels are
   * left out.
   */
  readonly latency: readonly number[]
}

/** What a series counts by. `all` has one series with an empty name. */
export const SERIES_KINDS = ['all', 'category', 'plan', 'route'] as const
export type SeriesKind = (typeof SERIES_KINDS)[number]

/** The most routes that one process counts in a series of their own. It counts the others together in `OTHER_ROUTES`. */
export const MOST_ROUTES = 200
export const OTHER_ROUTES = 'other'

/** An addition to one half hour or one day of a series. */
export interface SeriesEntry {
  readonly by: SeriesKind
  /** Start of the half hour or day, in milliseconds on the store's clock. */
  readonly start: number
  /** IANA name of the day's zone; `null` for a half hour. */
  readonly zone: string | null
  /** The category, the plan (`none` for callers without one), or the rule of the route as in the configuration. */
  readonly name: string
  readonly counts: SeriesCounts
}

export type SeriesRow = Omit<SeriesEntry, 'by' | 'zone'>

export interface SeriesQuestion {
  readonly by: SeriesKind
  /** Milliseconds since the epoch, for half hours that begin in [from, to). Older ones than 7 days are not kept. */
  readonly from: number
  readonly to: number
  /** Returns days of this zone that begin in the range, instead of half hours. Older ones than `usage.keep` are not kept. */
  readonly days?: Calendar | undefined
  /** Only the series with this name. Default all of the kind. */
  readonly name?: string | undefined
  /** Length of a step in milliseconds, a multiple of half an hour. Steps are aligned to the epoch. Default half an hour. */
  readonly step?: number
}

/** The counts before the latencies, in the order of the stores. */
export const COUNT_FIELDS = [
  'requests',
  'accepted',
  'tokens',
  'refusedPersonal',
  'refusedOrganisation',
  'refusedGlobal',
  'shadowed',
  'status4xx',
  'status5xx',
  'status0',
] as const

/** The counts after the latencies. A store that an older version has filled lacks them. */
export const LATER_FIELDS = ['gateway5xx', 'over'] as const

const SINGLE_FIELDS = [...COUNT_FIELDS, ...LATER_FIELDS]

type Mutable = { -readonly [K in Exclude<keyof SeriesCounts, 'latency'>]: SeriesCounts[K] } & { latency: number[] }
/** Counts to which more is added. */
export type Sums = Mutable

export function noCounts(): Sums {
  return {
    requests: 0,
    accepted: 0,
    tokens: 0,
    refusedPersonal: 0,
    refusedOrganisation: 0,
    refusedGlobal: 0,
    shadowed: 0,
    status4xx: 0,
    status5xx: 0,
    status0: 0,
    gateway5xx: 0,
    over: 0,
    latency: new Array<number>(LATENCY_BOUNDS.length + 1).fill(0),
  }
}

export function addCounts(sums: Sums, more: SeriesCounts): void {
  for (const field of SINGLE_FIELDS) sums[field] += more[field]
  for (let i = 0; i < sums.latency.length; i++) sums.latency[i] = (sums.latency[i] ?? 0) + (more.latency[i] ?? 0)
}

/** The form in the stores: numbers with spaces between, without zeros at the end. A later version may have more numbers. */
export function packCounts(counts: SeriesCounts): string {
  const before = COUNT_FIELDS.map((field) => counts[field])
  const numbers = [...before, ...counts.latency, ...LATER_FIELDS.map((field) => counts[field])]
  while (numbers.at(-1) === 0) numbers.pop()
  return numbers.join(' ')
}

export function unpackCounts(text: string): Sums {
  const numbers = (text.match(/-?\d+/g) ?? []).map(Number)
  const counts = noCounts()
  COUNT_FIELDS.forEach((field, i) => {
    counts[field] = numbers[i] ?? 0
  })
  const later = COUNT_FIELDS.length + counts.latency.length
  counts.latency = counts.latency.map((_, i) => numbers[COUNT_FIELDS.length + i] ?? 0)
  LATER_FIELDS.forEach((field, i) => {
    counts[field] = numbers[later + i] ?? 0
  })
  return counts
}

/**
 * Starts of the half hours or days in a question, as far as they are kept.
 * @param at the store's time @param kept how long days are kept
 */
export function startsOf(
  { from, to, days }: Pick<SeriesQuestion, 'from' | 'to' | 'days'>,
  at: number,
  kept: Retention,
): number[] {
  if (days !== undefined) return dayStarts(days, Math.max(from, oldestDay(at, kept)), Math.min(to, at + BUCKET_MS))
  const first = Math.max(bucketStart(Math.max(from, 0) + BUCKET_MS - 1), oldestStart(at))
  const last = Math.min(to, at + BUCKET_MS)
  const starts: number[] = []
  for (let start = first; start < last; start += BUCKET_MS) starts.push(start)
  return starts
}

/** The start of the oldest half hour that is kept, in milliseconds since the epoch. @param at the store's time */
export function oldestStart(at: number): number {
  return bucketStart(at) - (BUCKETS - 1) * BUCKET_MS
}

function dayStarts(days: Calendar, from: number, to: number): number[] {
  const starts: number[] = []
  for (let moment = periodOf(days, from - 1).to; moment < to; moment = periodOf(days, moment).to) starts.push(moment)
  return starts
}

/** The earliest start of a day that is kept. */
export function oldestDay(at: number, kept: Retention): number {
  return Math.max(at - keepDaysMs(kept), 0)
}

/** The longest time for which a day may be kept from its start, in milliseconds, because `usage.keep` is at most 400 days. */
export const MOST_DAY_MS = 400 * 24 * 60 * 60_000 + 1000 * BOOK_SECONDS

/** How long a day is kept from its start, in milliseconds: until `usage.keep` after its end. 0 if no days are kept. */
export function keepDaysMs({ longestSeconds }: Retention): number {
  return longestSeconds === 0 ? 0 : 1000 * (longestSeconds + BOOK_SECONDS)
}

/** Adds half hours up to steps. @returns by start, then name */
export function inSteps(rows: readonly SeriesRow[], step: number = BUCKET_MS): SeriesRow[] {
  const sums = new Map<string, { start: number; name: string; counts: Sums }>()
  for (const { start, name, counts } of rows) {
    const from = Math.floor(start / step) * step
    const key = `${from} ${name}`
    const sum = sums.get(key) ?? { start: from, name, counts: noCounts() }
    addCounts(sum.counts, counts)
    sums.set(key, sum)
  }
  return inOrder([...sums.values()])
}

/** By start, then name. */
export function inOrder(rows: readonly SeriesRow[]): SeriesRow[] {
  return rows
    .map(({ start, name, counts }) => ({ start, name, counts }))
    .sort((a, b) => a.start - b.start || (a.name < b.name ? -1 : 1))
}
