/// <reference lib="esnext.temporal" />
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asOverrides } from '../../src/control/overrides.ts'
import { type ControlState, UNCHANGED } from '../../src/control/state.ts'
import { settleBatch } from '../../src/quota/arithmetic.ts'
import { bookWindow } from '../../src/quota/books.ts'
import { LONGEST_SECONDS } from '../../src/quota/calendar.ts'
import type { Counter } from '../../src/quota/counter.ts'
import { createPolicy, memberOf, type Payer, payerOf, type QuotaSettings } from '../../src/quota/policy.ts'
import { beginOf, endOf, type Window } from '../../src/quota/window.ts'
import { runs } from '../setup/runs.ts'
import { settings as settingsOf, table } from './settings.ts'

/** With clocks that are set at midnight, and over it, and a day that was left out. */
const ZONES = ['Asia/Shanghai', 'Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Asia/Beirut', 'Pacific/Apia', 'UTC']
const DAY_MS = 86_400_000
const [BEGIN, END] = [Date.UTC(2023, 0, 1), Date.UTC(2029, 0, 1)]

const aDay = fc.integer({ min: 1, max: 31 })
const aZone = fc.constantFrom(...ZONES)
/** Every second one within a day of a boundary. */
const aMoment = fc.oneof(
  fc.integer({ min: BEGIN, max: END }),
  fc
    .tuple(fc.integer({ min: 0, max: 71 }), fc.integer({ min: 27, max: 33 }), fc.integer({ min: -DAY_MS, max: DAY_MS }))
    .map(([month, day, off]) => Date.UTC(2023, month, day) + off),
)

const monthIn = (zone: string, day?: number): Window => {
  const calendar = { unit: 'month', zone, ...(day !== undefined && { day }) } as const
  return { name: 'month', seconds: LONGEST_SECONDS.month, calendar }
}
const settings = (zone: string, change: Partial<QuotaSettings> = {}, ofWindow?: number): QuotaSettings =>
  settingsOf({
    windows: [{ name: '1h', seconds: 3600 }, monthIn(zone, ofWindow)],
    baselines: { personal: table({ read: { '1h': 120, month: 900 } }), global: table({ read: { month: 12_000 } }) },
    ...change,
  })
const SETS_NOTHING = { limits: table({}), bypassGlobal: false, shadow: false }
const onDay = (periodDay?: number) => ({
  personal: table({}),
  organisation: table({ read: { month: 5000 } }),
  ...(periodDay !== undefined && { periodDay }),
})

/** By Temporal: from the last moment at which a day begins that is the day of its month, or the last of a shorter one, to the next such moment. */
function byTemporal(zone: string, day: number, moment: number): { from: number; to: number } {
  const month = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(zone).toPlainDate().toPlainYearMonth()
  const starts = [-2, -1, 0, 1, 2].map((months) => {
    const of = month.add({ months })
    const first = of.toPlainDate({ day: Math.min(day, of.daysInMonth) })
    return first.toZonedDateTime({ timeZone: zone }).epochMilliseconds
  })
  const at = starts.findLastIndex((start) => start <= moment)
  return { from: starts[at] as number, to: starts[at + 1] as number }
}

describe('the day with which months begin', () => {
  it('the day of a plan makes months of each of its users and organisations, in any zone, also where clocks are set and in leap years, and of nobody else', () => {
    fc.assert(
      fc.property(aZone, aDay, fc.option(aDay, { nil: undefined }), aMoment, (zone, day, ofWindow, moment) => {
        const plans = new Map([
          ['own', onDay(day)],
          ['plain', onDay()],
        ])
        const policy = createPolicy(
          settings(zone, { plans, books: { window: bookWindow(zone), isKept: () => true } }, ofWindow),
        )
        const own = policy.limitsFor('read', { user: 'alice', organisation: 'acme', plan: 'own' })
        const plain = policy.limitsFor('read', { user: 'bob', organisation: 'acme', plan: 'plain' })
        const periodIn = (limits: readonly { window: Window }[] | null) => {
          const window = limits?.at(-1)?.window as Window
          return { from: beginOf(window, moment), to: endOf(window, moment) }
        }
        const [ofDay, usual] = [day, ofWindow ?? 1].map((one) => byTemporal(zone, one, moment))
        expect([own.personal, own.organisation].map(periodIn)).toEqual([ofDay, ofDay])
        expect([own.global, plain.personal, plain.organisation].map(periodIn)).toEqual([usual, usual, usual])
        expect([own.personal[0]?.window, own.books]).toEqual([{ name: '1h', seconds: 3600 }, bookWindow(zone)])
      }),
      { numRuns: runs(2000) },
    )
  }, 30_000)

  it('the day that a credential names counts before that of the plan, in any zone, for the user and the organisation, and for nobody else', () => {
    const plans = new Map([
      ['own', onDay(5)],
      ['plain', onDay()],
    ])
    fc.assert(
      fc.property(aZone, aDay, fc.constantFrom('own', 'plain', null), aMoment, (zone, periodDay, plan, moment) => {
        const policy = createPolicy(settings(zone, { plans, hasNamedDays: true, defaultPlan: 'plain' }))
        const limits = policy.limitsFor('read', { user: 'alice', organisation: 'acme', plan, periodDay })
        const last = (of: readonly { window: Window }[] | null) => of?.at(-1)?.window as Window
        const periodIn = (of: readonly { window: Window }[] | null) => ({
          from: beginOf(last(of), moment),
          to: endOf(last(of), moment),
        })
        const named = byTemporal(zone, periodDay, moment)
        expect([limits.personal, limits.organisation].map(periodIn)).toEqual([named, named])
        expect(periodIn(limits.global)).toEqual(byTemporal(zone, 1, moment))
        expect(policy.periodDayOf({ user: 'bob', organisation: null, plan }, 'personal')?.day).toBe(
          plan === 'own' ? 5 : undefined,
        )
      }),
      { numRuns: runs(1000) },
    )
  }, 30_000)

  it('the day of an override counts before all others, of the user and of the organisation each for itself, and its trace says why', () => {
    const plans = new Map([['own', onDay(5)]])
    const users = new Map([['alice', { ...SETS_NOTHING, periodDay: 17, reason: 'a contract' }]])
    const organisations = new Map([['acme', { limits: table({}), periodDay: 28, reason: 'another' }]])
    const overrides = Object.assign(users, { organisations, hasPeriodDays: true })
    const policy = createPolicy(settings('UTC', { plans, hasNamedDays: true }), 1, overrides)
    const days = (payer: Payer) =>
      (['personal', 'organisation', 'global'] as const).map((scope) => policy.periodDayOf(payer, scope)?.day)
    const alice = { user: 'alice', organisation: 'acme', plan: 'own', periodDay: 9 }
    expect(days(alice)).toEqual([17, 28, undefined])
    expect(days({ ...alice, organisation: 'other' })).toEqual([17, 9, undefined])
    expect(days({ ...alice, user: 'bob' })).toEqual([9, 28, undefined])
    expect(days({ user: 'bob', organisation: null, plan: 'own' })).toEqual([5, 5, undefined])
    expect(days(payerOf('bob'))).toEqual([undefined, undefined, undefined])
    const { personal, organisation } = policy.trace('read', alice)
    expect(personal.at(-1)?.steps).toContain('months begin with day 17: override (a contract)')
    expect(organisation?.at(-1)?.steps).toContain('months begin with day 28: override of the organisation (another)')
    expect(policy.limitsFor('read', alice)).toBe(policy.limitsFor('read', alice))
    expect(policy.windowsOfAnybody[1]).toEqual({ name: 'month', seconds: LONGEST_SECONDS.month })
    expect(policy.limitsFor('read', alice).personal.at(-1)?.window).toEqual(monthIn('UTC', 17))
    expect(policy.windowsOf(alice, 'organisation')[1]).toEqual(monthIn('UTC', 28))
  })

  it('whether any override sets a day is looked up in those of users and of organisations', () => {
    const none = { ...UNCHANGED }
    const set = new Map([['a', { version: 1, value: { limits: {}, periodDay: 17, reason: 'r', expiresAt: null } }]])
    const user = new Map([['a', { version: 1, value: { ...set.get('a')?.value, bypassGlobal: false, shadow: false } }]])
    expect(asOverrides(none).hasPeriodDays).toBe(false)
    expect(asOverrides({ ...none, organisationOverrides: set }).hasPeriodDays).toBe(true)
    expect(asOverrides({ ...none, overrides: user as ControlState['overrides'] }).hasPeriodDays).toBe(true)
  })

  it('a day that was named is nothing where no claim of the configuration holds one, and makes months no other ones where it is that of the window', () => {
    const alice = { user: 'alice', organisation: null, plan: null, periodDay: 17 }
    const without = createPolicy(settings('UTC'))
    expect(without.limitsFor('read', alice)).toBe(without.limitsFor('read', payerOf('alice')))
    expect([without.periodDayOf(alice, 'personal'), without.namesMatter]).toEqual([null, false])
    const named = createPolicy(settings('UTC', { hasNamedDays: true }, 17))
    expect(named.limitsFor('read', alice)).toBe(named.limitsFor('read', payerOf('alice')))
    expect([named.periodDayOf(alice, 'personal'), named.namesMatter]).toEqual([{ day: 17, from: 'credential' }, true])
    expect(named.trace('read', alice).personal.at(-1)?.steps).toContain('months begin with day 17: the credential')
  })

  it('the windows by which it is looked who has used something last as long as any month as soon as a credential may name a day', () => {
    const month = { name: 'month', seconds: LONGEST_SECONDS.month }
    expect(createPolicy(settings('UTC', { hasNamedDays: true })).windowsOfAnybody[1]).toEqual(month)
    expect(createPolicy(settings('UTC')).windowsOfAnybody[1]).toEqual(monthIn('UTC'))
    const hours = { windows: [{ name: '1h', seconds: 3600 }], hasNamedDays: true }
    expect(createPolicy(settings('UTC', hours)).windowsOfAnybody).toBe(hours.windows)
  })

  it('limits are the same object for the same day of the same limits, and the very ones where no month is another one', () => {
    const plans = new Map([
      ['late', onDay(17)],
      ['first', onDay(1)],
      ['plain', onDay()],
    ])
    const policy = createPolicy(settings('UTC', { plans }))
    const of = (user: string, plan: string) => policy.limitsFor('read', { user, organisation: null, plan })
    expect(of('alice', 'late')).toBe(of('bob', 'late'))
    expect(of('alice', 'late')).toBe(policy.limitsFor('read', { user: 'carol', organisation: null, plan: 'late' }))
    expect(of('alice', 'first')).toBe(of('bob', 'plain'))
    expect(of('alice', 'late').global).toBe(of('alice', 'plain').global)
    const without = createPolicy(settings('UTC'))
    expect([without.hasPeriodDays, without.windowsOf(payerOf('alice'), 'personal')]).toEqual([
      false,
      without.windowsOfAnybody,
    ])
    expect(without.limitsFor('read', payerOf('alice'))).toBe(without.limitsOf('read'))
  })

  it('the limits of a plan that is asked for by its name have its months, and so have those of the default plan', () => {
    const policy = createPolicy(settings('UTC', { plans: new Map([['late', onDay(17)]]), defaultPlan: 'late' }))
    const dayOf = (limits: readonly { window: Window }[] | null) => limits?.at(-1)?.window.calendar?.day
    expect(dayOf(policy.limitsOf('read', 'late').organisation)).toBe(17)
    expect(dayOf(policy.limitsOf('read').personal)).toBe(17)
    expect(dayOf(policy.limitsFor('read', memberOf('acme')).organisation)).toBe(17)
    expect(policy.windowsOf(payerOf('alice'), 'personal')[1]).toEqual(monthIn('UTC', 17))
    expect(policy.windowsOf(payerOf('alice'), 'global')[1]).toEqual(monthIn('UTC'))
  })

  it('the trace of a limit says which day its months begin with, and by which plan, and says nothing of windows that are no months', () => {
    const policy = createPolicy(settings('UTC', { plans: new Map([['late', onDay(17)]]) }))
    const { personal, organisation, global } = policy.trace('read', { user: 'a', organisation: 'acme', plan: 'late' })
    const says = 'months begin with day 17: plan late'
    expect(personal.map(({ steps }) => steps.includes(says))).toEqual([false, true])
    expect(organisation?.map(({ steps }) => steps.includes(says))).toEqual([true])
    expect(global?.map(({ steps }) => steps.includes(says))).toEqual([false])
  })
})

describe('a day that is changed', () => {
  it('a run goes on to the first such day behind its first charge, whichever day was in force then, and no token is lost or counted twice', () => {
    const step = fc.record({
      passes: fc.oneof(fc.integer({ min: 0, max: 40 * DAY_MS }), fc.integer({ min: 0, max: DAY_MS })),
      day: fc.constantFrom(1, 2, 17, 28, 29, 30, 31),
      cost: fc.integer({ min: 1, max: 400 }),
    })
    fc.assert(
      fc.property(aZone, aMoment, fc.array(step, { minLength: 1, maxLength: 40 }), (zone, begin, steps) => {
        const plans = new Map([1, 2, 17, 28, 29, 30, 31].map((day) => [String(day), onDay(day)]))
        const policy = createPolicy(settings(zone, { plans, global: { enabled: false, multiplier: 1 } }))
        const counter: Counter = []
        // The model: when the run began, and what was charged in it.
        let run = { startedAt: 0, used: 0 }
        let [now, accepted, ended] = [begin, 0, 0]
        for (const { passes, day, cost } of steps) {
          now += passes
          const limits = policy.limitsFor('read', { user: 'alice', organisation: null, plan: String(day) })
          const month = { ...limits, personal: limits.personal.slice(1) }
          const charge = { user: 'alice', organisation: null, category: 'read', cost, limits: month }
          const [decision] = settleBatch({ refunds: [], charges: [charge] }, () => counter, now)
          if (run.startedAt !== 0 && now >= byTemporal(zone, day, run.startedAt).to) {
            ended += run.used
            run = { startedAt: 0, used: 0 }
          }
          const fits = run.used + cost <= 900
          if (fits) {
            run = { startedAt: run.startedAt || now, used: run.used + cost }
            accepted += cost
          }
          expect(decision).toMatchObject({ accepted: fits, personal: [run] })
          expect(run.startedAt === 0 || now - run.startedAt < LONGEST_SECONDS.month * 1000).toBe(true)
        }
        expect(ended + run.used).toBe(accepted)
      }),
      { numRuns: runs(1000) },
    )
  }, 30_000)
})
