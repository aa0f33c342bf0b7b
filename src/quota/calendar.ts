import { offsetOf, QUARTER_MS } from './zone-offset.ts'

/** The periods of a zone's calendar. A period begins with the first moment of its first day, and a week begins on Monday. */
export interface Calendar {
  readonly unit: CalendarUnit
  /** IANA name that `Intl` knows. */
  readonly zone: string
  /** The day with which a month begins, 1 to 31, or the last day of a shorter month. Default 1. */
  readonly day?: number
}

export const CALENDAR_UNITS = ['day', 'week', 'month'] as const
export type CalendarUnit = (typeof CALENDAR_UNITS)[number]

/** From the first millisecond of a period to the first millisecond of the next one, since the epoch. */
export interface Period {
  readonly from: number
  readonly to: number
}

const HOUR_S = 3600
const DAY_S = 24 * HOUR_S
const DAY_MS = DAY_S * 1000

/**
 * For each unit, a number of seconds that is longer than any of its periods. Stores know the unit's windows by this
 * length, and keep a run for this long. Since 1970 no zone has set its clock back by more than seven hours;
 * Antarctica/Troll sets it back by two each autumn.
 */
export const LONGEST_SECONDS: Readonly<Record<CalendarUnit, number>> = {
  day: DAY_S + 8 * HOUR_S + 1,
  week: 7 * DAY_S + 8 * HOUR_S + 1,
  month: 31 * DAY_S + 8 * HOUR_S + 1,
}

/** How many periods a calendar remembers: the present one, and some that are over. */
const REMEMBERED = 4
const known = new WeakMap<Calendar, Period[]>()

/** The period that contains a moment. Periods are remembered, because finding one takes a thousand times as long. */
export function periodOf(calendar: Calendar, moment: number): Period {
  let periods = known.get(calendar)
  if (periods === undefined) {
    periods = []
    known.set(calendar, periods)
  }
  for (const period of periods) if (period.from <= moment && moment < period.to) return period
  const period = findPeriod(calendar, moment)
  periods.unshift(period)
  if (periods.length > REMEMBERED) periods.pop()
  return period
}

/**
 * Dates are milliseconds of UTC midnights. If a clock is set back over midnight, one date appears twice, and its period
 * is over with the first moment of the next date.
 */
function findPeriod(calendar: Calendar, moment: number): Period {
  const { unit, zone, day = 1 } = calendar
  const local = moment + offsetOf(moment, zone).ms
  let first = FIRST_DATE[unit](Math.floor(local / DAY_MS) * DAY_MS, day)
  let from = firstMomentOf(first, zone)
  for (;;) {
    first = NEXT_DATE[unit](first, day)
    const to = firstMomentOf(first, zone)
    if (moment < to) return { from, to }
    from = to
  }
}

/** The first date of the period that contains a date. */
const FIRST_DATE: Readonly<Record<CalendarUnit, (date: number, day: number) => number>> = {
  day: (date) => date,
  week: (date) => date - ((new Date(date).getUTCDay() + 6) % 7) * DAY_MS,
  month(date, day) {
    const begun = dayOfMonth(date, 0, day)
    return begun <= date ? begun : dayOfMonth(date, -1, day)
  },
}

/** The first date of the next period. */
const NEXT_DATE: typeof FIRST_DATE = {
  day: (first) => first + DAY_MS,
  week: (first) => first + 7 * DAY_MS,
  month: (first, day) => dayOfMonth(first, 1, day),
}

/** The given day of a month, or the last day of a shorter month. @param behind how many months that month is after the month of `date` */
function dayOfMonth(date: number, behind: number, day: number): number {
  const [year, month] = [new Date(date).getUTCFullYear(), new Date(date).getUTCMonth() + behind]
  return Math.min(Date.UTC(year, month, day), Date.UTC(year, month + 1, 0))
}

/**
 * When the clock of a zone first shows midnight of a date, or the first moment after it. A clock that is set forward may skip midnight, or
 * even a whole date.
 * @param date the date's midnight in UTC, in milliseconds since the epoch
 */
export function firstMomentOf(date: number, zone: string): number {
  const before = offsetOf(date - DAY_MS, zone).ms
  const after = offsetOf(date + DAY_MS, zone).ms
  const bySameClock = date - before
  if (before === after) return bySameClock
  const change = changeBetween(date - DAY_MS, date + DAY_MS, zone)
  return bySameClock < change ? bySameClock : Math.max(change, date - after)
}

/** When the offset of a zone changes between two moments that have different offsets. */
function changeBetween(from: number, to: number, zone: string): number {
  const before = offsetOf(from, zone).ms
  let last = Math.floor(from / QUARTER_MS)
  let next = Math.floor(to / QUARTER_MS)
  while (next - last > 1) {
    const middle = Math.floor((last + next) / 2)
    if (offsetOf(middle * QUARTER_MS, zone).ms === before) last = middle
    else next = middle
  }
  return next * QUARTER_MS
}
