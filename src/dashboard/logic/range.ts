import type { Fields, Page, Place } from './location.ts'

/** The time that a page looks at, as the address has it: `range=7d`, or the dates `from=2026-11-01&to=2026-12-01`. Pure. */

export const NAMED = ['1h', '6h', '24h', '7d', '30d'] as const
type Named = (typeof NAMED)[number]
/** `all`: as far back as something is kept; `null` of dates. */
export type RangeName = Named | 'all' | null

export interface Range {
  readonly name: RangeName
  /** As the API takes it: a span before now, a day of `usage.zone`, or a moment in ISO 8601. */
  readonly from: string
  /** Behind the last moment: a day or a moment; `null` for now. */
  readonly to: string | null
}

/** Of the pages that look at a time, the range without one in the address. */
const USUAL: Partial<Record<Page, Named | 'all'>> = {
  overview: '24h',
  errors: '24h',
  refusals: '7d',
  routes: '24h',
  users: '24h',
  organisations: '24h',
  alerts: 'all',
  audit: 'all',
}

/** `null` of a page that looks at no time. Lists of users and organisations have a choice of their own. */
export function usualRange({ page, rest }: Place): Named | 'all' | null {
  const isList = (page === 'users' || page === 'organisations') && rest === null
  return isList ? null : (USUAL[page] ?? null)
}

/** What the address has of it, without the rest: it goes along to other pages. */
export function rangeFields(fields: Fields): Fields {
  const { range, from, to, compare } = fields
  const isNamed = NAMED.some((name) => name === range)
  const named: Fields = isNamed && range !== undefined ? { range } : {}
  const dates: Fields = isMoment(from) ? { from, ...(isMoment(to) && { to }) } : named
  return { ...dates, ...(compare === 'true' && { compare }) }
}

/** What the address has; anything else is the usual range of the page. */
export function rangeOf(place: Place): Range {
  const { from, to, range = '' } = rangeFields(place.fields)
  if (from !== undefined) return { name: null, from, to: to ?? null }
  const name = NAMED.find((each) => each === range) ?? usualRange(place) ?? '24h'
  return { name, from: name === 'all' ? '' : name, to: null }
}

const MOMENT = /^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/

function isMoment(text: string | undefined): text is string {
  return text !== undefined && MOMENT.test(text) && !Number.isNaN(Date.parse(text))
}

/** Whether it is a day, and not a moment of one. */
export function isDay(text: string): boolean {
  return text.length === 'YYYY-MM-DD'.length
}

/**
 * What is asked of GET /api/usage. Half hours that begin in the range are read, and of a week as many as are kept; of users and organisations
 * it is the days, which are kept longer and are exact. Runs are counted where they begin, so that half an hour more of a short range is read.
 */
export function timeQuery({ name, from, to }: Range, of: 'series' | 'days' | 'runs' = 'series'): string {
  const isWritten = name === null || name === '30d' || (name === '7d' && of !== 'series')
  const begin = isWritten ? from : `${minutesOf(from) + (of === 'runs' ? 30 : 0)}m`
  return `from=${begin}${to === null ? '' : `&to=${to}`}`
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SPAN_MS = { '1h': HOUR_MS, '6h': 6 * HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS } as const

function minutesOf(span: string): number {
  return (SPAN_MS[span as Named] ?? DAY_MS) / 60_000
}

/** Half hours are kept for so long. */
const KEPT_MS = 7 * DAY_MS

/**
 * Its ends in milliseconds since the epoch, where a day is one of the browser's clock: near enough to choose a step by, and for what is no
 * matter of days.
 */
export function endsOf({ name, from, to }: Range, now: number): { readonly from: number; readonly to: number } {
  if (name === 'all') return { from: 0, to: now }
  const begin = name === null ? momentOf(from) : now - SPAN_MS[name]
  return { from: begin, to: to === null ? now : momentOf(to) }
}

/** A day begins at midnight. */
export function momentOf(text: string): number {
  return Date.parse(isDay(text) ? `${text}T00:00` : text)
}

export type Step = '30m' | '1h' | '1d'

/** The step of a chart, whose bars are never thinner than a pencil, and which is kept that far back. */
export function stepOf(range: Range, now: number): Step {
  const { from, to } = endsOf(range, now)
  const isLong = to - from > 8 * DAY_MS || from < now - KEPT_MS - HOUR_MS
  return isLong ? '1d' : to - from > 2 * DAY_MS ? '1h' : '30m'
}

/**
 * A month as days: from its first to the first of the next.
 * @param before how many months ago
 * @param day with which months begin: the last day of one that is shorter. Default 1
 */
export function monthOf(now: Date, before: number, day = 1): { readonly from: string; readonly to: string } {
  const [year, month] = [now.getFullYear(), now.getMonth()]
  const first = (months: number): number =>
    Math.min(Date.UTC(year, month + months, day), Date.UTC(year, month + months + 1, 0))
  const begun = (first(0) <= Date.UTC(year, month, now.getDate()) ? 0 : -1) - before
  const text = (months: number): string => new Date(first(months)).toISOString().slice(0, 10)
  return { from: text(begun), to: text(begun + 1) }
}

/** The day that lies so many days later. */
export function dayLater(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}
