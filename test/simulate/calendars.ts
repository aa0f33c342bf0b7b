/// <reference lib="esnext.temporal" />
import { CALENDAR_UNITS, type Calendar, type CalendarUnit, LONGEST_SECONDS } from '../../src/quota/calendar.ts'
import type { Window } from '../../src/quota/window.ts'
import type { Random } from './random.ts'

/** With offsets of parts of an hour, and clocks that are set at midnight, over midnight, and by parts of an hour. */
export const ZONES = [
  'Asia/Kathmandu',
  'America/St_Johns',
  'Europe/Berlin',
  'America/New_York',
  'Africa/Cairo',
  'America/Havana',
  'America/Santiago',
  'Asia/Beirut',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'UTC',
]
/** The wall clock when a world without a calendar begins. */
const EPOCH = Date.UTC(2026, 7, 6)
const DAYS = 1000

/** When a world begins, in milliseconds since the epoch, and which windows of a calendar it has. */
export interface WorldTime {
  readonly epoch: number
  readonly windows: readonly Window[]
}

/** Three worlds of ten have windows of a calendar, and begin some seconds before a period of one of them ends. */
export function worldTimeOf(random: Random): WorldTime {
  if (!random.chance(0.3)) return { epoch: EPOCH, windows: [] }
  const zone = random.pick(ZONES)
  const units = CALENDAR_UNITS.filter(() => random.chance(0.5))
  const ending = random.pick(CALENDAR_UNITS)
  const day = random.pick([1, 17, 30, 31])
  const windows = CALENDAR_UNITS.filter((unit) => unit === ending || units.includes(unit)).map((unit) => ({
    name: unit,
    seconds: LONGEST_SECONDS[unit],
    calendar: { unit, zone, ...(unit === 'month' && day !== 1 && { day }) },
  }))
  return { epoch: firstMoment(someDate(zone, random), ending, 1, zone, day) - random.integer(1000, 8000), windows }
}

/** Each third one is the day of a change of the zone's clock, or the day before it. */
function someDate(zone: string, random: Random): Temporal.PlainDate {
  const day = Temporal.PlainDate.from('2025-01-01').add({ days: random.integer(0, DAYS) })
  if (random.chance(2 / 3)) return day
  const change = day.toZonedDateTime(zone).getTimeZoneTransition('next')
  return change === null ? day : change.toPlainDate().subtract({ days: random.integer(0, 1) })
}

/** The first moment of the period that is so many behind that of a date, in milliseconds since the epoch. */
function firstMoment(date: Temporal.PlainDate, unit: CalendarUnit, behind: number, zone: string, day = 1): number {
  if (unit === 'month') return firstOfMonth(date, behind, day).toZonedDateTime({ timeZone: zone }).epochMilliseconds
  const first = unit === 'day' ? date : date.subtract({ days: date.dayOfWeek - 1 })
  return first.add({ [`${unit}s`]: behind }).toZonedDateTime({ timeZone: zone }).epochMilliseconds
}

/** A month of which this day has not come yet is the one before. */
function firstOfMonth(date: Temporal.PlainDate, behind: number, day: number): Temporal.PlainDate {
  const of = (month: Temporal.PlainYearMonth) => month.toPlainDate({ day: Math.min(day, month.daysInMonth) })
  const month = date.toPlainYearMonth()
  const isEarlier = Temporal.PlainDate.compare(date, of(month)) < 0
  return of(month.add({ months: behind - (isEarlier ? 1 : 0) }))
}

/** When a run of a window that started then ends, in milliseconds since the epoch. @param day with which months begin. Default that of the window */
export type EndOf = (seconds: number, startedAt: number, day?: number) => number

/** By Temporal, which has a reading of the zones of its own. */
export function endsBy(windows: readonly Window[]): EndOf {
  const calendars = new Map(windows.map(({ seconds, calendar }) => [seconds, calendar]))
  const known = new Map<string, number>()
  return (seconds, startedAt, day) => {
    const calendar = calendars.get(seconds)
    if (calendar === undefined) return startedAt + seconds * 1000
    const key = `${seconds} ${startedAt} ${day}`
    const own = calendar.unit === 'month' && day !== undefined ? { ...calendar, day } : calendar
    const end = known.get(key) ?? endOfPeriod(own, startedAt)
    known.set(key, end)
    return end
  }
}

/** A clock that is set back over midnight shows the end of a date once more: its period is over. */
function endOfPeriod({ unit, zone, day }: Calendar, moment: number): number {
  const date = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(zone).toPlainDate()
  const end = firstMoment(date, unit, 1, zone, day)
  return moment < end ? end : firstMoment(date, unit, 2, zone, day)
}

/** From the first of these days to the last but one. */
export interface Days {
  readonly from: Temporal.PlainDate
  readonly to: Temporal.PlainDate
}

/** The date of the day that a moment lies in. */
export function dateOf(moment: number, zone: string): Temporal.PlainDate {
  const date = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(zone).toPlainDate()
  const next = date.add({ days: 1 })
  return moment < dayBegins(next, zone) ? date : next
}

/** The first moment of a date, in milliseconds since the epoch. */
export function dayBegins(date: Temporal.PlainDate, zone: string): number {
  return firstMoment(date, 'day', 0, zone)
}

/** These dates and those beside them, each once. */
export function daysOf(dates: readonly Temporal.PlainDate[]): Days[] {
  const all = dates.flatMap((date) => [-1, 0, 1].map((days) => date.add({ days })))
  return eachOnce(all).map((from) => ({ from, to: from.add({ days: 1 }) }))
}

/** The months that these dates lie in, each once. */
export function monthsOf(dates: readonly Temporal.PlainDate[]): Days[] {
  return eachOnce(dates.map((date) => date.with({ day: 1 }))).map((from) => ({ from, to: from.add({ months: 1 }) }))
}

function eachOnce(dates: readonly Temporal.PlainDate[]): Temporal.PlainDate[] {
  return [...new Set(dates.map(String))].sort().map((text) => Temporal.PlainDate.from(text))
}
