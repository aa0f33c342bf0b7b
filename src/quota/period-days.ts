import { madeOnce } from '../lib/memo.ts'
import type { Calendar } from './calendar.ts'
import type { Limits } from './charge.ts'
import type { ScopeName } from './charged-scopes.ts'
import type { Plans, QuotaSettings } from './limit-layers.ts'
import type { OrganisationOverride, Overrides } from './override-limits.ts'
import type { NamedDays, Payer } from './payer.ts'
import type { Limit, Window } from './window.ts'

/**
 * The day with which the months of one user or organisation begin, where it is another one than that of the window: pure. The day makes another
 * calendar, and nothing else: a run of a month ends with the first such day after its first charge, whichever day was in force then. So no run
 * lasts longer than a month, and one whose end by a new day is over already is over with the change.
 */

/** The first and the last day that a month can begin with. */
export const PERIOD_DAY = { min: 1, max: 31 } as const

export function isPeriodDay(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= PERIOD_DAY.min && Number(value) <= PERIOD_DAY.max
}

/** Who has said with which day the months of somebody begin. */
export interface PeriodDay {
  /** In `PERIOD_DAY`. */
  readonly day: number
  readonly from: 'override' | 'credential' | 'plan'
}

/** Whose months may begin with another day than those of the window. */
export type OwnScope = Exclude<ScopeName, 'global'>

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
  /** With which day the months of a caller begin in a scope, and who says so; `null` for the day of the window. */
  periodDayOf(payer: Payer, scope: ScopeName): PeriodDay | null
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

/**
 * Where the day of an owner is decided: by the override, the credential, the plan, and else by the window.
 * @param planOf the name of a payer's plan; `null` for none
 */
export function createMonths(
  { windows, plans, hasNamedDays = false }: Pick<QuotaSettings, 'windows' | 'plans' | 'hasNamedDays'>,
  overrides: Overrides,
  planOf: (payer: Payer) => string | null,
): Months {
  const byPlan = daysOf(plans)
  const areSet = overrides.hasPeriodDays === true
  const hasPeriodDays = windows.some(isMonth) && (areSet || hasNamedDays || byPlan.size > 0)
  const dated = createDating()

  function periodDayOf(payer: Payer, scope: ScopeName): PeriodDay | null {
    if (!hasPeriodDays || scope === 'global') return null
    const set = areSet ? setFor(overrides, payer, scope)?.periodDay : undefined
    if (set !== undefined) return SET[set] ?? null
    const named = hasNamedDays ? namedDay(payer, scope) : null
    if (named !== null) return NAMED[named] ?? null
    return byPlan.size === 0 ? null : (byPlan.get(planOf(payer)) ?? null)
  }

  function windowsOf(payer: Payer, scope: ScopeName): readonly Window[] {
    const day = periodDayOf(payer, scope)?.day
    return day === undefined ? windows : windows.map((window) => beginningWith(window, day))
  }

  function ofPlan(limits: Limits, plan: string | null): Limits {
    const day = hasPeriodDays ? byPlan.get(plan)?.day : undefined
    return dated(limits, day, day)
  }

  function ofPayer(limits: Limits, payer: Payer): Limits {
    if (!hasPeriodDays) return limits
    return dated(limits, periodDayOf(payer, 'personal')?.day, periodDayOf(payer, 'organisation')?.day)
  }

  return {
    ofPayer,
    ofPlan,
    shown: { windowsOfAnybody: hasPeriodDays ? asLongAsAny(windows) : windows, hasPeriodDays, periodDayOf, windowsOf },
  }
}

function setFor(overrides: Overrides, payer: Payer, scope: OwnScope): OrganisationOverride | undefined {
  return scope === 'personal' ? overrides.get(payer.user) : overrides.organisations?.get(payer.organisation ?? '')
}

function namedDay({ periodDay, organisationDay = periodDay }: NamedDays, scope: OwnScope): number | null {
  return (scope === 'personal' ? periodDay : organisationDay) ?? null
}

/**
 * The days of somebody which no configuration says, as a payer names them: by the credential, or an override; `undefined` for none. What a
 * log has of them makes the same months again.
 */
export function daysNamedFor(months: Pick<MonthsShown, 'hasPeriodDays' | 'periodDayOf'>, payer: Payer) {
  if (!months.hasPeriodDays) return undefined
  const own = dayBesidesPlan(months.periodDayOf(payer, 'personal'))
  const theirs = payer.organisation === null ? own : dayBesidesPlan(months.periodDayOf(payer, 'organisation'))
  if (own === null && theirs === null) return undefined
  return {
    ...(own !== null && { periodDay: own }),
    ...(theirs !== own && { organisationDay: theirs }),
  } satisfies NamedDays
}

function dayBesidesPlan(period: PeriodDay | null): number | null {
  return period === null || period.from === 'plan' ? null : period.day
}

/** Each day once, so that nothing is made for a charge. */
function daysFrom(from: PeriodDay['from']): readonly PeriodDay[] {
  return Array.from({ length: PERIOD_DAY.max + 1 }, (_, day) => ({ day, from }))
}

const SET = daysFrom('override')
const NAMED = daysFrom('credential')

function daysOf(plans: Plans = new Map()): ReadonlyMap<string | null, PeriodDay> {
  const days = [...plans].flatMap(([plan, { periodDay }]): [string, PeriodDay][] =>
    periodDay === undefined ? [] : [[plan, { day: periodDay, from: 'plan' }]],
  )
  return new Map(days)
}

type Day = number | undefined

function createDating(): (limits: Limits, own: Day, theirs: Day) => Limits {
  const datedLimits = madeOnce<Limits, number>()
  return (limits, own, theirs) => {
    const key = (own ?? 0) * (PERIOD_DAY.max + 1) + (theirs ?? 0)
    return key === 0 ? limits : datedLimits(limits, key, () => dated(limits, own, theirs))
  }
}

function dated(limits: Limits, own: Day, theirs: Day): Limits {
  const personal = withDay(limits.personal, own)
  const organisation = limits.organisation === null ? null : withDay(limits.organisation, theirs)
  const isSame = personal === limits.personal && organisation === limits.organisation
  return isSame ? limits : { ...limits, personal, organisation }
}

function withDay(limits: readonly Limit[], day: Day): readonly Limit[] {
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
