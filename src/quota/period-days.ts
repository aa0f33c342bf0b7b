import { madeOnce } from '../lib/memo.ts'
import type { Calendar } from './calendar.ts'
import type { Limits } from './charge.ts'
import type { ScopeName } from './charged-scopes.ts'
import type { Plans, QuotaSettings } from './limit-layers.ts'
import type { Payer } from './payer.ts'
import type { Limit, Window } from './window.ts'

/**
 * The day with which the months of one user or organisation begin, where it is another one than that of the window: pure. The day makes another
 * calendar, and nothing else: a run of a month ends with the first such day after its first charge, whichever day was in force then. So no run
 * lasts longer than a month, and one whose end by a new day is over already is over with the change.
 */

/** The first and the last day that a month can begin with. */
export const PERIOD_DAY = { min: 1, max: 31 } as const

/** Who has said with which day the months of somebody begin. */
export interface PeriodDay {
  /** In `PERIOD_DAY`. */
  readonly day: number
  readonly from: 'plan'
}

/** Of the months that count for a caller; `null` for a scope whose months begin with the day of the window. */
export type PeriodDays = Readonly<Record<Exclude<ScopeName, 'global'>, PeriodDay | null>>

/** By day: what a calendar remembers goes by its object. */
const datedWindow = madeOnce<Window, number>()

export function isMonth({ calendar }: Pick<Window, 'calendar'>): boolean {
  return calendar?.unit === 'month'
}

/** The same window with months that begin with this day; the very window if it has them, or counts by no months. */
export function beginningWith(window: Window, day: number): Window {
  const { calendar } = window
  if (calendar?.unit !== 'month' || (calendar.day ?? 1) === day) return window
  return datedWindow(window, day, () => ({ ...window, calendar: startingWith(calendar, day) }))
}

function startingWith({ unit, zone }: Calendar, day: number): Calendar {
  return day === 1 ? { unit, zone } : { unit, zone, day }
}

/** What is told of the months of a policy. */
export interface MonthsShown {
  /** The windows of the settings as long as they are for anybody, by which it is looked who has used something. */
  readonly windowsOfAnybody: readonly Window[]
  /** Whether the months of anybody begin with a day of the own. */
  readonly hasPeriodDays: boolean
  /** With which day the months of a caller begin, and who says so; `null` where all months are those of the windows. */
  periodDaysOf(payer: Payer): PeriodDays | null
  /** The windows of the settings, with the months of a caller. */
  windowsOf(payer: Payer, scope: ScopeName): readonly Window[]
}

/** Gives limits the months that somebody has: the very limits where no month is another one, and else always the same object. */
export interface Months {
  ofPayer(limits: Limits, payer: Payer): Limits
  /** @param plan `null` for none */
  ofPlan(limits: Limits, plan: string | null): Limits
  readonly shown: MonthsShown
}

/** @param planOf the name of a payer's plan; `null` for none */
export function createMonths(
  { windows, plans }: Pick<QuotaSettings, 'windows' | 'plans'>,
  planOf: (payer: Payer) => string | null,
): Months {
  const byPlan = windows.some(isMonth) ? daysOf(plans) : NO_DAYS
  const hasPeriodDays = byPlan.size > 0
  const dated = createDating()
  const daysIn = (plan: string | null): PeriodDays => byPlan.get(plan) ?? OF_WINDOWS
  const periodDaysOf = (payer: Payer): PeriodDays | null => (hasPeriodDays ? daysIn(planOf(payer)) : null)

  function windowsOf(payer: Payer, scope: ScopeName): readonly Window[] {
    const day = scope === 'global' ? undefined : periodDaysOf(payer)?.[scope]?.day
    return day === undefined ? windows : windows.map((window) => beginningWith(window, day))
  }

  return {
    ofPayer: (limits, payer) => (hasPeriodDays ? dated(limits, daysIn(planOf(payer))) : limits),
    ofPlan: (limits, plan) => (hasPeriodDays ? dated(limits, daysIn(plan)) : limits),
    shown: { windowsOfAnybody: hasPeriodDays ? asLongAsAny(windows) : windows, hasPeriodDays, periodDaysOf, windowsOf },
  }
}

type ByPlan = ReadonlyMap<string | null, PeriodDays>

const NO_DAYS: ByPlan = new Map()
const OF_WINDOWS: PeriodDays = { personal: null, organisation: null }

function daysOf(plans: Plans = new Map()): ByPlan {
  const days = [...plans].flatMap(([plan, { periodDay }]): [string, PeriodDays][] => {
    if (periodDay === undefined) return []
    const day = { day: periodDay, from: 'plan' } as const
    return [[plan, { personal: day, organisation: day }]]
  })
  return new Map(days)
}

function createDating(): (limits: Limits, days: PeriodDays) => Limits {
  const datedLimits = madeOnce<Limits, number>()
  return (limits, { personal, organisation }) => {
    const key = (personal?.day ?? 0) * 32 + (organisation?.day ?? 0)
    return key === 0 ? limits : datedLimits(limits, key, () => dated(limits, personal?.day, organisation?.day))
  }
}

function dated(limits: Limits, own: number | undefined, theirs: number | undefined): Limits {
  const personal = withDay(limits.personal, own)
  const organisation = limits.organisation === null ? null : withDay(limits.organisation, theirs)
  const isSame = personal === limits.personal && organisation === limits.organisation
  return isSame ? limits : { ...limits, personal, organisation }
}

function withDay(limits: readonly Limit[], day: number | undefined): readonly Limit[] {
  if (day === undefined) return limits
  const all = limits.map((limit) => {
    const window = beginningWith(limit.window, day)
    return window === limit.window ? limit : { ...limit, window }
  })
  return all.some((limit, i) => limit !== limits[i]) ? all : limits
}

/**
 * The windows by which it is looked who has used something. When a month ends depends on whose it is, so it counts here for as long as any month
 * lasts.
 */
function asLongAsAny(windows: readonly Window[]): readonly Window[] {
  return windows.map((window) => (isMonth(window) ? { name: window.name, seconds: window.seconds } : window))
}
