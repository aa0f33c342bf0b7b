import { madeOnce } from '../lib/memo.ts'
import type { Calendar } from './calendar.ts'
import type { Limits } from './charge.ts'
import type { ScopeName } from './charged-scopes.ts'
import type { Plans, QuotaSettings } from './limit-layers.ts'
import type { OrganisationOverride, Overrides } from './override-limits.ts'
import type { NamedDays, Payer } from './payer.ts'
import type { Limit, Window } from './window.ts'

/**
 * The day with which the months of one user or organisation begin, if it differs from that of the window. Pure. Such a day only makes
 * another calendar. The run of a month ends with the first such day after its first charge, whichever day was in force then. So no run
 * lasts longer than a month. If a new day ends a run in the past, the run is over with the change.
 */

/** The first and the last day that a month can begin with. */
export const PERIOD_DAY = { min: 1, max: 31 } as const

export function isPeriodDay(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= PERIOD_DAY.min && Number(value) <= PERIOD_DAY.max
}

/** With which day somebody's months begin, and what has set that. */
export interface PeriodDay {
  /** In the range `PERIOD_DAY`. */
  readonly day: number
  readonly from: 'override' | 'credential' | 'plan'
}

/** The scopes whose months may begin with another day than the window's. */
export type OwnScope = Exclude<ScopeName, 'global'>

/** Keyed by the day. Each calendar remembers its periods, so it must be the same object each time. */
const datedWindow = madeOnce<Window, number>()

export function isMonth({ calendar }: Pick<Window, 'calendar'>): boolean {
  return calendar?.unit === 'month'
}

/**
 * The same window with months that begin on this day. It is the same object if they already do, or if the window has no
 * months.
 */
export function beginningWith(window: Window, day: number): Window {
  const { calendar } = window
  if (calendar?.unit !== 'month' || (calendar.day ?? 1) === day) return window
  return datedWindow(window, day, () => ({ ...window, calendar: startingWith(calendar, day) }))
}

function startingWith({ unit, zone }: Calendar, day: number): Calendar {
  return day === 1 ? { unit, zone } : { unit, zone, day }
}

/** What a policy says about months. */
export interface MonthsShown {
  /** The windows of the settings, in which each month counts as the longest month. They show whether anybody has used something. */
  readonly windowsOfAnybody: readonly Window[]
  /** Whether anybody's months may begin with another day than the window's. */
  readonly hasPeriodDays: boolean
  /** With which day the months of a caller begin in a scope, and who says so; `null` for the day of the window. */
  periodDayOf(payer: Payer, scope: ScopeName): PeriodDay | null
  /** The windows of the settings, with the months of a caller. */
  windowsOf(payer: Payer, scope: ScopeName): readonly Window[]
}

/** Gives limits the months of their owner. Limits that do not change keep their object. Otherwise the same limits and days give one new object. */
export interface Months {
  ofPayer(limits: Limits, payer: Payer): Limits
  /** @param plan `null` for none */
  ofPlan(limits: Limits, plan: string | null): Limits
  readonly shown: MonthsShown
}

/**
 * Decides the first day of months: by the override, then the credential, then the plan, and last the window.
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
 * The days of a payer that come from a credential or an override, and not from the configuration; `undefined` for none. With these days a
 * log can make the same months again.
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

/** An object for each day of a month, made once, so that two users with the same day share it. */
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
 * The windows with which to find out who has used something. The end of a month depends on its owner, so months count here as the longest
 * month.
 */
function asLongAsAny(windows: readonly Window[]): readonly Window[] {
  return windows.map((window) => (isMonth(window) ? { name: window.name, seconds: window.seconds } : window))
}
