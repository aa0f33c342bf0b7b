/** Numbers and times in the form that people read. */

export type Language = 'en' | 'zh'
const LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', zh: 'zh-CN' }

export function formatNumber(language: Language, value: number): string {
  return new Intl.NumberFormat(LOCALES[language], { maximumFractionDigits: 2 }).format(value)
}

/** A number with all its digits. */
export function formatExact(language: Language, value: number): string {
  return new Intl.NumberFormat(LOCALES[language], { maximumFractionDigits: 20 }).format(value)
}

/** `1,500`, `12.5K`, `3M`, for an axis with little room. */
export function formatShort(language: Language, value: number): string {
  if (value < 10_000) return formatNumber(language, value)
  // American English if `en`, because in British English a million is "1m".
  return new Intl.NumberFormat(language, { notation: 'compact', maximumSignificantDigits: 3 }).format(value)
}

/** `12.5`, `0.0`, `1,234.5`: always one decimal, so that the width hardly changes. Below 0.05 it is `< 0.1`. */
export function formatRate(language: Language, perSecond: number): string {
  const options = { minimumFractionDigits: 1, maximumFractionDigits: 1 }
  if (perSecond > 0 && perSecond < 0.05) return `< ${new Intl.NumberFormat(LOCALES[language], options).format(0.1)}`
  return new Intl.NumberFormat(LOCALES[language], options).format(perSecond)
}

/** A share in percent with up to three digits, rounded down, so that 100 % means full. @param share 0 to 1 */
export function formatShare(language: Language, share: number): string {
  const options = { style: 'percent', maximumSignificantDigits: 3, roundingMode: 'floor' } as const
  return new Intl.NumberFormat(LOCALES[language], options).format(share)
}

/** A day and the time to the second, in the given time zone, or else in the browser's. */
export function formatTime(language: Language, at: Date | string, timeZone?: string): string {
  const options = { dateStyle: 'medium', timeStyle: 'medium', ...(timeZone !== undefined && { timeZone }) } as const
  return new Intl.DateTimeFormat(LOCALES[language], options).format(new Date(at))
}

/** The end of a window in whole seconds, rounded up like in a 429, so that a client that waits for it is never too early. */
export function wholeSecond(at: string): string {
  return new Date(Math.ceil(Date.parse(at) / 1000) * 1000).toISOString()
}

/** The time of day in the browser's time zone, to the second. */
export function formatClock(language: Language, at: Date): string {
  return new Intl.DateTimeFormat(LOCALES[language], { timeStyle: 'medium' }).format(at)
}

/** The time of day to the minute, with the weekday if it is not the day of `now`. In the browser's time zone. */
export function formatMinute(language: Language, at: Date, now: Date): string {
  const isToday = at.toDateString() === now.toDateString()
  const day = isToday ? {} : ({ weekday: 'short' } as const)
  const options = { ...day, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return new Intl.DateTimeFormat(LOCALES[language], options).format(at)
}

/** A future day with its weekday: `Sat 28 Nov`. In the browser's time zone. */
export function formatDay(language: Language, at: Date): string {
  const options = { weekday: 'short', day: 'numeric', month: 'short' } as const
  return new Intl.DateTimeFormat(LOCALES[language], options).format(at)
}

/** `November 2026`, or `15 Nov – 14 Dec 2026` for a month that begins on another day. @param to the day after it */
export function formatMonth(language: Language, { from, to }: { readonly from: string; readonly to: string }): string {
  const isCalendars = from.endsWith('-01')
  const options = isCalendars ? ({ month: 'long' } as const) : ({ day: 'numeric', month: 'short' } as const)
  const format = new Intl.DateTimeFormat(LOCALES[language], { ...options, year: 'numeric', timeZone: 'UTC' })
  const [first, last] = [Date.parse(from), Date.parse(to) - 86_400_000]
  return isCalendars ? format.format(first) : format.formatRange(first, last)
}

/** `1 Nov 2026`, or `1 Nov, 14:30` without the year if `withTime`. In the browser's time zone. @param at milliseconds since the epoch */
export function formatDate(language: Language, at: number, withTime: boolean): string {
  const time = withTime ? ({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const) : {}
  const options = { day: 'numeric', month: 'short', ...(!withTime && { year: 'numeric' as const }), ...time } as const
  return new Intl.DateTimeFormat(LOCALES[language], options).format(at)
}

/** A step of a chart: its day once, and both ends. A whole day, which may have 23 hours, is only its day. */
export function formatSpan(language: Language, from: Date, to: Date, timeZone?: string): string {
  const zone = timeZone === undefined ? {} : { timeZone }
  const day = new Intl.DateTimeFormat(LOCALES[language], { weekday: 'short', month: 'short', day: 'numeric', ...zone })
  if (to.getTime() - from.getTime() >= 23 * 3_600_000) return day.format(from)
  const time = new Intl.DateTimeFormat(LOCALES[language], {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    ...zone,
  })
  return `${day.format(from)} ${time.format(from)}–${time.format(to)}`
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** `2 hours 5 minutes`, `5 minutes`, `12 seconds`: the two largest units, rounded up, so that whoever waits so long is never too early. */
export function formatDuration(language: Language, ms: number): string {
  const unitOf = (seconds: number): number => UNITS.findIndex(([, size]) => seconds >= size)
  const exact = Math.max(0, Math.ceil(ms / 1000))
  const [, step] = UNITS[unitOf(exact) + 1] ?? UNITS[3]
  const seconds = Math.ceil(exact / step) * step
  const first = unitOf(seconds)
  const [large, small] = first === -1 ? [UNITS[3]] : UNITS.slice(first, first + 2)
  if (large === undefined) return ''
  const parts = [unit(language, large[0], Math.floor(seconds / large[1]))]
  const rest = small === undefined ? 0 : Math.floor((seconds % large[1]) / small[1])
  if (small !== undefined && rest > 0) parts.push(unit(language, small[0], rest))
  return parts.join(' ')
}

/** In Chinese a figure has spaces around it, as in the other texts of the page; `Intl` writes none. */
function apart(language: Language, text: string): string {
  return language === 'zh' ? text.replace(/(?<=\d)(?=\p{Script=Han})/gu, ' ') : text
}

function unit(language: Language, name: string, count: number): string {
  const options = { style: 'unit', unit: name, unitDisplay: 'long' } as const
  return apart(language, new Intl.NumberFormat(LOCALES[language], options).format(count))
}

/** This part of a unit is left out, so that an hour and a second are `in 1 hour`. */
const SLACK = 1 / 50
/** A moment that is at most so many milliseconds ahead counts as now, because the gateway's clock is known to the second. */
const NOW_MS = 1500

/**
 * `in 44 minutes`, `3 minutes ago`, `tomorrow`, `now`. A future time is rounded up, so it is too early by at most a fiftieth of the unit.
 * Between one and two units the smaller unit is used: `in 70 minutes`, not `in 2 hours`. Days are calendar days in the browser's time zone,
 * because people mean that: 02:00 on the day before yesterday is not yesterday.
 * @param ms from now
 * @param now milliseconds since the epoch
 */
export function formatRelative(language: Language, ms: number, now = Date.now()): string {
  const relative = new Intl.RelativeTimeFormat(LOCALES[language], { numeric: 'auto' })
  const seconds = ms > 0 && ms < NOW_MS ? 0 : Math.ceil(ms / 1000)
  if (seconds >= (2 - SLACK) * DAY_SECONDS || seconds <= -DAY_SECONDS) {
    return apart(language, relative.format(calendarDays(now, now + ms), 'day'))
  }
  const fits = (count: number): boolean => count <= -1 || (count >= 1 && count <= 1 + SLACK) || count >= 2 - SLACK
  const [name, size] = UNITS.slice(1).find(([, size]) => fits(seconds / size)) ?? UNITS[3]
  const count = seconds < 0 ? Math.ceil(seconds / size) : Math.ceil(seconds / size - SLACK)
  return apart(language, relative.format(count, name))
}

const DAY_SECONDS = 86_400

/** Midnights between two moments, by the browser's clock. */
function calendarDays(from: number, to: number): number {
  const dayOf = (at: number): number => {
    const date = new Date(at)
    return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 1000 / DAY_SECONDS
  }
  return dayOf(to) - dayOf(from)
}

const WINDOW_UNITS: Readonly<Record<string, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' }

/** The name of a window in words: `1 hour` for `1h`. Other names stay unchanged. */
export function windowWords(language: Language, name: string): string {
  const [, count, letter = ''] = /^(\d+)([smhdw])$/.exec(name) ?? []
  const of = WINDOW_UNITS[letter]
  if (count === undefined || of === undefined) return name
  return unit(language, of, Number(count))
}

/** The name of a window in a table. English readers know `1h` from the configuration, but in Chinese it would look foreign. */
export function windowName(language: Language, name: string): string {
  return language === 'zh' ? windowWords(language, name) : name
}
