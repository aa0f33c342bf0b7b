import { describe, expect, it } from 'vitest'
import { bookWindow } from '../../../src/quota/books.ts'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
import {
  addRuns,
  isOver,
  noRuns,
  partsOf,
  type Runs,
  refundOf,
  removeRuns,
  runsOf,
} from '../../../src/quota/ledger/debt-runs.ts'
import { MOST_WINDOWS } from '../../../src/quota/window.ts'
import { chargeOf } from '../charge-of.ts'

const AT = Date.UTC(2026, 7, 6)
const limit = (seconds: number) => ({ window: { name: `${seconds}s`, seconds }, limit: 100 })
const LIMITS: Limits = { personal: [limit(60), limit(3600)], organisation: null, global: [limit(60)] }
const charge = (cost: number, limits = LIMITS): Charge => chargeOf({ cost, limits })
/** The windows of a decision began at these moments. */
const decision = (personal: readonly number[], global: readonly number[] | null): Decision => {
  const usages = (starts: readonly number[]) => starts.map((startedAt) => ({ startedAt, used: 1 }))
  return {
    accepted: true,
    at: AT,
    personal: usages(personal),
    organisation: null,
    global: global === null ? null : usages(global),
  }
}
function owedFor(...admitted: readonly (readonly [Charge, Decision])[]): Runs {
  const owed = noRuns()
  for (const each of admitted) addRuns(owed, runsOf(...each))
  return owed
}

it('what is owed is the sum of what was admitted in one run of a window', () => {
  const all = decision([AT, AT], [AT - 5])
  expect(owedFor([charge(3), all], [charge(4), all])).toEqual({
    personal: [
      { seconds: 60, startedAt: AT, used: 7 },
      { seconds: 3600, startedAt: AT, used: 7 },
    ],
    organisation: [],
    global: [{ seconds: 60, startedAt: AT - 5, used: 7 }],
  })
})

it('what is owed is what was admitted in the last run, in whatever order the runs come', () => {
  const early = [charge(3), decision([AT, AT], [AT])] as const
  const late = [charge(4), decision([AT + 60_000, AT], [AT + 60_000])] as const
  for (const admitted of [
    [early, late],
    [late, early],
  ]) {
    const { personal, global } = owedFor(...admitted)
    expect([personal.map(({ used }) => used), global.map(({ used }) => used)]).toEqual([[4, 7], [4]])
  }
})

it('what is owed is over when the last of the windows has ended', () => {
  const owed = owedFor([charge(3), decision([AT, AT], [AT])])
  expect([AT + 60_000, AT + 3_599_999, AT + 3_600_000].map((at) => isOver(owed, at))).toEqual([false, false, true])
})

it('what is owed gets less by a charge that is given back, in the runs that still count', () => {
  const early = [charge(3), decision([AT, AT], [AT])] as const
  const owed = owedFor(early, [charge(4), decision([AT + 60_000, AT], [AT + 60_000])])
  removeRuns(owed, runsOf(...early))
  expect([owed.personal.map(({ used }) => used), owed.global.map(({ used }) => used)]).toEqual([[4, 4], [4]])
})

it('what is owed gets less by a charge that is given back from a run which began before the window was emptied', () => {
  const early = { charge: charge(3), decision: decision([AT, AT], [AT]) }
  const owed = owedFor([early.charge, early.decision], [charge(4), decision([AT + 1000, AT + 1000], [AT + 60_000])])
  const byStore = decision([AT + 2000, AT + 2000], null)
  const [part] = partsOf(owed, charge(1), AT + 2000) as [Charge]
  expect(refundOf(owed, part, byStore, early)).toMatchObject([
    { charge: { cost: 3, limits: { personal: [limitName(60), limitName(3600)], global: null } } },
  ])
  removeRuns(owed, runsOf(early.charge, early.decision))
  expect([owed.personal.map(({ used }) => used), owed.global.map(({ used }) => used)]).toEqual([[4, 4], [4]])
})

describe('what is owed in a calendar window', () => {
  const day = { name: 'day', seconds: 115_201, calendar: { unit: 'day', zone: 'UTC' } } as const
  const limits: Limits = { personal: [{ window: day, limit: 9 }], organisation: null, global: null }
  const admitted = (cost: number, at: number) => [charge(cost, limits), decision([at], null)] as const
  const DAY_MS = 86_400_000

  it('what is owed in a calendar window is over with the day, however late in it the run began', () => {
    const owed = owedFor(admitted(3, AT + DAY_MS - 2))
    expect([AT + DAY_MS - 1, AT + DAY_MS].map((at) => isOver(owed, at))).toEqual([false, true])
    expect(partsOf(owed, charge(1, limits), AT + DAY_MS)).toEqual([])
  })

  it('what is owed in a calendar window of two days is that of the later one, and is paid in a window of that calendar', () => {
    for (const days of [
      [admitted(3, AT + DAY_MS - 1), admitted(4, AT + DAY_MS)],
      [admitted(4, AT + DAY_MS), admitted(3, AT + DAY_MS - 1)],
    ]) {
      const parts = partsOf(owedFor(...days), charge(1, limits), AT + DAY_MS)
      expect(parts).toMatchObject([{ cost: 4, limits: { personal: [{ window: { calendar: day.calendar } }] } }])
    }
  })

  it('what is owed in a calendar window of two runs of one day, since it was emptied in between, is both', () => {
    expect(owedFor(admitted(3, AT), admitted(4, AT + DAY_MS - 1)).personal).toMatchObject([{ used: 7 }])
  })
})

it('what is owed to the books lasts until it is paid, also when the day on which it was admitted is over', () => {
  const window = bookWindow('UTC')
  const limits: Limits = { personal: [limit(60)], organisation: null, global: null, books: window }
  const owed = owedFor([charge(3, limits), decision([AT], null)])
  const later = AT + 3 * 86_400_000
  expect(isOver(owed, later)).toBe(false)
  expect(partsOf(owed, charge(1, limits), later)).toMatchObject([
    { cost: 3, limits: { personal: [{ window: { seconds: window.seconds, calendar: window.calendar } }] } },
  ])
})

it('the charges that pay it are one for each different amount, and name the windows that still run', () => {
  const owed = owedFor([charge(3), decision([AT, AT], [AT])], [charge(4), decision([AT + 60_000, AT], [AT])])
  expect(partsOf(owed, charge(1), AT + 60_000)).toMatchObject([
    {
      user: 'alice',
      organisation: null,
      category: 'read',
      cost: 4,
      forced: true,
      limits: { personal: [limitName(60)], organisation: null, global: null },
    },
    { cost: 7, forced: true, limits: { personal: [limitName(3600)], organisation: null, global: null } },
  ])
  expect(partsOf(owed, charge(1), AT + 3_600_000)).toEqual([])
})

it('the charges that pay it hold no more windows than a charge may have', () => {
  const many = Array.from({ length: MOST_WINDOWS + 1 }, (_, i) => limit(60 + i))
  const owed = owedFor([
    charge(3, { personal: many, organisation: null, global: null }),
    decision(
      many.map(() => AT),
      null,
    ),
  ])
  expect(partsOf(owed, charge(1), AT).map(({ limits }) => limits.personal.length)).toEqual([MOST_WINDOWS, 1])
})

it('the charges that pay it are given back in the windows whose runs the charge was part of', () => {
  const early = { charge: charge(3), decision: decision([AT, AT], [AT]) }
  const late = { charge: charge(4), decision: decision([AT + 60_000, AT], [AT + 60_000]) }
  const owed = owedFor([early.charge, early.decision], [late.charge, late.decision])
  const [four, seven] = partsOf(owed, charge(1), AT + 60_000) as [Charge, Charge]
  const byStore = decision([AT + 61_000], [AT + 61_000])
  expect(refundOf(owed, four, byStore, early)).toEqual([])
  expect(refundOf(owed, four, byStore, late)).toEqual([{ amount: 4, charge: four, decision: byStore }])
  expect(refundOf(owed, seven, decision([AT + 61_000], null), early)).toMatchObject([
    { charge: { cost: 3, limits: { personal: [limitName(3600)], organisation: null, global: null } } },
  ])
})

function limitName(seconds: number) {
  return { window: { name: `${seconds}s`, seconds } }
}
