import { DAY_MS } from './half-hour.ts'
import type { Fields, Page, Place } from './location.ts'

/** The range of time of a page, from the address: `range=7d`, or the dates `from=2026-11-01&to=2026-12-01`. Pure. */

export const NAMED = ['1h', '6h', '24h', '7d', '30d'] as const
type Named = (typeof NAMED)[number]
/** `all`: as far back as anything is kept. `null` for dates. */
export type RangeName = Named | 'all' | null

export interface Range {
  readonly name: RangeName
  /** In the form of the API: a span before now, a day of `usage.zone`, or a moment in ISO 8601. */
  readonly from: string
  /** The day or moment after the range; `null` for now. */
  readonly to: string | null
}

/** The range of each page that has one, if the address names none. */
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

/** The range if the address names none; `null` for a page without a range of time. Lists of users and organisations have their own choice. */
export function usualRange({ page, rest }: Place): Named | 'all' | null {
  const isList = (page === 'users' || page === 'organisations') && rest === null
  return isList ? null : (USUAL[page] ?? null)
}

/** The fields of the range, which go along to other pages. */
export function rangeFields(fields: Fields): Fields {
  const { range, from, to, compare } = fields
  const isNamed = NAMED.some((name) => name === range)
  const named: Fields = isNamed && range !== undefined ? { range } : {}
  const dates: Fields = isMoment(from) ? { from, ...(isMoment(to) && { to }) } : named
  return { ...dates, ...(compare === 'true' && { compare }) }
}

/** The range in the address; the usual range of the page for any other text. */
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

/** Whether a text is a day, and not a moment. */
export function isDay(text: string): boolean {
  return text.length === 'YYYY-MM-DD'.length
}

/**
 * The parameters of GET /api/usage for a range. A `series` has the half hours that begin in it, which are kept for a week. `days` and `runs`
 * read a week as whole days, which are kept longer. A run counts where it begins, so a range of up to a day gets half an hour more.
 */
export function timeQuery({ name, from, to }: Range, of: 'series' | 'days' | 'runs' = 'series'): string {
  const isWritten = name === null || name === '30d' || (name === '7d' && of !== 'series')
  const begin = isWritten ? from : `${minutesOf(from) + (of === 'runs' ? 30 : 0)}m`
  return `from=${begin}${to === null ? '' : `&to=${to}`}`
}

const HOUR_MS = 3_600_000
const SPAN_MS = { '1h': HOUR_MS, '6h': 6 * HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS } as const

function minutesOf(span: string): number {
  return (SPAN_MS[span as Named] ?? DAY_MS) / 60_000
}

/** How long half hours are kept. */
const KEPT_MS = 7 * DAY_MS

/** The ends in milliseconds since the epoch. A day is one of the browser's clock, which is near enough to choose a step. */
export function endsOf({ name, from, to }: Range, now: number): { readonly from: number; readonly to: number } {
  if (name === 'all') return { from: 0, to: now }
  const begin = name === null ? momentOf(from) : now - SPAN_MS[name]
  return { from: begin, to: to === null ? now : momentOf(to) }
}

/** In milliseconds since the epoch. A day begins at midnight by the browser's clock. */
export function momentOf(text: string): number {
  return Date.parse(isDay(text) ? `${text}T00:00` : text)
}

export type Step = '30m' | '1h' | '1d'

/** The step of a chart: so long that the bars are not too thin, and that the steps are kept as far back as the range begins. */
export function stepOf(range: Range, now: number): Step {
  const { from, to } = endsOf(range, now)
  const isLong = to - from > 8 * DAY_MS || from < now - KEPT_MS - HOUR_MS
  return isLong ? '1d' : to - from > 2 * DAY_MS ? '1h' : '30m'
}

/**
 * A month as days: from its first day to the first day of the next month.
 * @param before how many months ago
 * @param day first day of months, or the last day of a shorter month. Default 1
 */
export function monthOf(now: Date, before: number, day = 1): { readonly from: string; readonly to: string } {
  const [year, month] = [now.getFullYear(), now.getMonth()]
  const first = (months: number): number =>
    Math.min(Date.UTC(year, month + months, day), Date.UTC(year, month + months + 1, 0))
  const begun = (first(0) <= Date.UTC(year, month, now.getDate()) ? 0 : -1) - before
  const text = (months: number): string => new Date(first(months)).toISOString().slice(0, 10)
  return { from: text(begun), to: text(begun + 1) }
}

/**
 * A moment by the browser's clock, for fields of a form: `2026-11-28T14:30:00.000Z`. It ends in `Z` in every zone.
 * @param at milliseconds since the epoch
 */
export function localIso(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString()
}

/** The day this many days later. */
export function dayLater(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}
