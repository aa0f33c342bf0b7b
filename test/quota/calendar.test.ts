/// <reference lib="esnext.temporal" />
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  CALENDAR_UNITS,
  type Calendar,
  type CalendarUnit,
  LONGEST_SECONDS,
  periodOf,
} from '../../src/quota/calendar.ts'
import { runs } from '../setup/runs.ts'

const ZONES = Intl.supportedValuesOf('timeZone')
const calendarOf = (zone: string, unit: CalendarUnit): Calendar => ({ unit, zone })
const iso = (moment: number): string => new Date(moment).toISOString()

function shown(zone: string, unit: CalendarUnit, moment: string): readonly string[] {
  const { from, to } = periodOf(calendarOf(zone, unit), Date.parse(moment))
  return [iso(from), iso(to)]
}

/** The same by Temporal, which has its own reading of the database of zones. */
function byTemporal(zone: string, unit: CalendarUnit, moment: number): { from: number; to: number } {
  const date = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(zone).toPlainDate()
  const first =
    unit === 'day' ? date : unit === 'week' ? date.subtract({ days: date.dayOfWeek - 1 }) : date.with({ day: 1 })
  const bounds = [0, 1, 2].map(
    (n) => first.add({ [`${unit}s`]: n }).toZonedDateTime({ timeZone: zone }).epochMilliseconds,
  )
  // A clock that is set back over midnight shows the end of a date once more.
  const at = bounds.findLastIndex((bound) => bound <= moment)
  return { from: bounds[at] as number, to: bounds[at + 1] as number }
}

/** The moments of a zone's clock changes from 2025 to 2028. */
function changesOf(zone: string): number[] {
  const end = Date.UTC(2029, 0, 1)
  const moments: number[] = []
  let at = Temporal.Instant.from('2025-01-01T00:00Z').toZonedDateTimeISO(zone)
  for (;;) {
    const next = at.getTimeZoneTransition('next')
    if (next === null || next.epochMilliseconds >= end) return moments
    moments.push(next.epochMilliseconds)
    at = next
  }
}

it('the period that a moment lies in is a day from midnight to midnight of the zone', () => {
  expect(shown('Asia/Shanghai', 'day', '2026-11-26T15:59:59.999Z')).toEqual([
    '2026-11-25T16:00:00.000Z',
    '2026-11-26T16:00:00.000Z',
  ])
  expect(shown('Asia/Shanghai', 'day', '2026-11-26T16:00:00.000Z')[0]).toBe('2026-11-26T16:00:00.000Z')
})

it('the period that a moment lies in is a week from Monday to Monday', () => {
  for (const moment of ['2026-11-22T16:00:00.000Z', '2026-11-26T12:00:00.000Z', '2026-11-29T15:59:59.999Z']) {
    expect(shown('Asia/Shanghai', 'week', moment)).toEqual(['2026-11-22T16:00:00.000Z', '2026-11-29T16:00:00.000Z'])
  }
})

it('the period that a moment lies in is a month of 28 to 31 days, 29 February included', () => {
  const days = ['2027-02-10', '2028-02-29', '2028-04-30', '2028-12-31'].map((day) => {
    const { from, to } = periodOf(calendarOf('UTC', 'month'), Date.parse(day))
    return (to - from) / 86_400_000
  })
  expect(days).toEqual([28, 29, 30, 31])
  expect(shown('UTC', 'month', '2028-02-29T23:59:59.999Z')[1]).toBe('2028-03-01T00:00:00.000Z')
})

it('the period that a moment lies in lasts 23 or 25 hours where the clock changes in a day, and 22 or 26 at a station in Antarctica', () => {
  const hours = (zone: string, moment: string): number => {
    const { from, to } = periodOf(calendarOf(zone, 'day'), Date.parse(moment))
    return (to - from) / 3_600_000
  }
  expect([hours('Europe/Berlin', '2026-03-29T12:00Z'), hours('Europe/Berlin', '2026-10-25T12:00Z')]).toEqual([23, 25])
  expect([hours('Antarctica/Troll', '2026-03-29T12:00Z'), hours('Antarctica/Troll', '2026-10-25T12:00Z')]).toEqual([
    22, 26,
  ])
})

it('the period that a moment lies in begins with the first moment of a day that has no midnight', () => {
  expect(shown('Africa/Cairo', 'day', '2026-04-24T12:00:00Z')[0]).toBe('2026-04-23T22:00:00.000Z')
  expect(shown('Asia/Beirut', 'day', '2026-03-29T12:00:00Z')[0]).toBe('2026-03-28T22:00:00.000Z')
  expect(shown('America/Sao_Paulo', 'day', '2018-11-04T12:00:00Z')[0]).toBe('2018-11-04T03:00:00.000Z')
})

it('the period that a moment lies in begins with the earlier midnight of a day that has two', () => {
  expect(shown('America/Havana', 'day', '2026-11-01T12:00:00Z')[0]).toBe('2026-11-01T04:00:00.000Z')
})

it('the period that a moment lies in goes over a day that a zone skips, also if a month would begin with it', () => {
  expect(shown('Pacific/Apia', 'day', '2011-12-30T09:59:59.999Z')[1]).toBe('2011-12-30T10:00:00.000Z')
  expect(shown('Pacific/Apia', 'day', '2011-12-30T10:00:00.000Z')).toEqual([
    '2011-12-30T10:00:00.000Z',
    '2011-12-31T10:00:00.000Z',
  ])
})

it('the period that a moment lies in does not come back with a date that shows twice, since the clock is set back over midnight', () => {
  // One minute past midnight it was a minute past 23 hours again.
  const midnight = Date.parse('2010-11-07T02:30:00Z')
  for (const minutes of [0, 1, 30, 60, 61]) {
    const moment = midnight + minutes * 60_000
    expect(periodOf(calendarOf('America/St_Johns', 'day'), moment).from, `${minutes} minutes`).toBe(midnight)
  }
})

/** The same of months that begin with a day, by months of Temporal. */
function monthByTemporal(zone: string, day: number, moment: number): { from: number; to: number } {
  const date = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(zone).toPlainDate()
  const starts = [-1, 0, 1, 2].map((behind) => {
    const month = date.toPlainYearMonth().add({ months: behind })
    const first = month.toPlainDate({ day: Math.min(day, month.daysInMonth) })
    return first.toZonedDateTime({ timeZone: zone }).epochMilliseconds
  })
  const at = starts.findLastIndex((start) => start <= moment)
  return { from: starts[at] as number, to: starts[at + 1] as number }
}

const months = (day: number, moment: string) => {
  const { from, to } = periodOf({ unit: 'month', zone: 'Europe/Berlin', day }, Date.parse(moment))
  return [iso(from), iso(to)]
}

it('a month with a day of its own begins with that day of the zone, and ends with it', () => {
  expect(months(17, '2026-11-16T22:59:59.999Z')).toEqual(['2026-10-16T22:00:00.000Z', '2026-11-16T23:00:00.000Z'])
  expect(months(17, '2026-11-16T23:00:00Z')).toEqual(['2026-11-16T23:00:00.000Z', '2026-12-16T23:00:00.000Z'])
})

it('a month with a day of its own begins with the last day of a month that is shorter', () => {
  expect(months(31, '2027-02-15T12:00:00Z')).toEqual(['2027-01-30T23:00:00.000Z', '2027-02-27T23:00:00.000Z'])
  expect(months(30, '2028-02-29T12:00:00Z')).toEqual(['2028-02-28T23:00:00.000Z', '2028-03-29T22:00:00.000Z'])
  expect(months(31, '2026-04-30T12:00:00Z')).toEqual(['2026-04-29T22:00:00.000Z', '2026-05-30T22:00:00.000Z'])
})

it('a month with a day of its own agrees with Temporal in every zone, and lasts no longer than its identity says', () => {
  const someMoment = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2035, 0, 1) })
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), fc.integer({ min: 1, max: 31 }), someMoment, (zone, day, moment) => {
      const period = periodOf({ unit: 'month', zone, day }, moment)
      expect(period).toEqual(monthByTemporal(zone, day, moment))
      expect(period.to - period.from).toBeLessThan(LONGEST_SECONDS.month * 1000)
      expect(periodOf({ unit: 'month', zone, day }, period.to).from).toBe(period.to)
    }),
    { numRuns: runs(1000) },
  )
})

it('a month with a day of its own agrees with Temporal at each clock change of every zone', () => {
  for (const zone of ZONES) {
    for (const change of changesOf(zone)) {
      const day = new Date(change).getUTCDate()
      for (const moment of [change - 1, change])
        expect(periodOf({ unit: 'month', zone, day }, moment)).toEqual(monthByTemporal(zone, day, moment))
    }
  }
})

it('periods and Temporal agree at each clock change of every zone from 2025 to 2028', () => {
  let changes = 0
  for (const zone of ZONES) {
    for (const change of changesOf(zone)) {
      changes++
      for (const unit of CALENDAR_UNITS) {
        const calendar = calendarOf(zone, unit)
        for (const moment of [change - 1, change])
          expect(periodOf(calendar, moment)).toEqual(byTemporal(zone, unit, moment))
      }
    }
  }
  expect(changes).toBeGreaterThan(1000)
}, 60_000)

it('periods and Temporal agree in every zone around 29 February', () => {
  const days = ['2028-02-28', '2028-02-29', '2028-03-01']
  for (const zone of ZONES) {
    for (const unit of CALENDAR_UNITS) {
      const calendar = calendarOf(zone, unit)
      for (const day of days) {
        const moment = Date.parse(day)
        expect(periodOf(calendar, moment), `${zone} ${unit} ${day}`).toEqual(byTemporal(zone, unit, moment))
      }
    }
  }
}, 60_000)

it('periods and Temporal agree at any moment of any zone, and follow each other without a gap', () => {
  const moments = fc.integer({ min: Date.UTC(1973, 0, 1), max: Date.UTC(2037, 0, 1) })
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), fc.constantFrom(...CALENDAR_UNITS), moments, (zone, unit, moment) => {
      const calendar = calendarOf(zone, unit)
      const period = periodOf(calendar, moment)
      expect(period).toEqual(byTemporal(zone, unit, moment))
      expect(period.from <= moment && moment < period.to).toBe(true)
      expect(period.to - period.from).toBeLessThan(LONGEST_SECONDS[unit] * 1000)
      expect(periodOf(calendar, period.to).from).toBe(period.to)
      expect(periodOf(calendar, period.from - 1).to).toBe(period.from)
    }),
    { numRuns: runs(2000) },
  )
}, 60_000)
