import { expect, it } from 'vitest'
import { type Calendar, LONGEST_SECONDS } from '../../src/quota/calendar.ts'
import type { Charge, Decision, Refund } from '../../src/quota/charge.ts'
import type { Window } from '../../src/quota/window.ts'
import type { ClockedStore } from './model.suite.ts'

const dayIn = (zone: string): Window => {
  const calendar: Calendar = { unit: 'day', zone }
  return { name: 'day', seconds: 115_201, calendar }
}
const DAY = dayIn('Europe/Berlin')

/** Midnights of Berlin. Far ahead, as in the model's histories; the day between them has 23 hours. */
const MIDNIGHT = Date.UTC(2150, 2, 28, 23)
const NEXT = Date.UTC(2150, 2, 29, 22)

/** What every store does with windows of a calendar, to the millisecond of a clock that the test holds. */
export function calendarSuite(open: () => Promise<ClockedStore>): void {
  /** Charges one token of three, at each moment in turn. */
  async function charging(window: Window = DAY) {
    const store = await open()
    let sequence = 0
    return async (now: number, refunds: readonly Refund[] = [], of = window) => {
      const personal = [{ window: of, limit: 3 }]
      const limits = { personal, organisation: null, global: personal }
      const charge: Charge = { user: 'alice', organisation: null, category: 'read', cost: 1, limits }
      const batch = { instance: 'test', sequence: ++sequence, charges: [charge], refunds }
      const [decision] = await store.settle(batch, now)
      const { accepted, personal: usages, global } = decision as Decision
      expect(global).toEqual(usages)
      return { store, charge, decision: decision as Decision, accepted, used: usages[0]?.used }
    }
  }

  it('a run of a calendar window lasts from the first to the last millisecond of its period', async () => {
    const at = await charging()
    const seen = []
    for (const now of [MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 1, NEXT - 1, NEXT, NEXT + 1]) seen.push((await at(now)).used)
    expect(seen).toEqual([1, 1, 2, 3, 1, 2])
  })

  it('a full calendar window refuses until its period ends, however late it was charged first', async () => {
    const at = await charging()
    const seen = []
    for (const now of [NEXT - 4, NEXT - 3, NEXT - 2, NEXT - 1, NEXT]) seen.push((await at(now)).accepted)
    expect(seen).toEqual([true, true, true, false, true])
  })

  it('a charge is given back in its own period, and not in the next', async () => {
    const at = await charging()
    const first = await at(MIDNIGHT)
    expect((await at(MIDNIGHT + 1, [first])).used).toBe(1)
    const last = await at(NEXT - 1)
    await at(NEXT)
    expect((await at(NEXT, [last])).used).toBe(2)
  })

  it('what was charged before a reset is not given back after it, in the same period', async () => {
    const at = await charging()
    const { store, ...before } = await at(MIDNIGHT + 1)
    const change = { kind: 'quota_reset', category: 'read', windows: [DAY], all: false } as const
    expect(await store.reset(change, MIDNIGHT + 2)).toEqual({ day: 1 })
    expect((await store.reset(change, MIDNIGHT + 3)).day).toBe(0)
    const of = (now: number, refunds: readonly Refund[]) => {
      const charge = { ...before.charge, limits: { ...before.charge.limits, personal: [] }, forced: true as const }
      return store.settle({ instance: 'other', sequence: now, charges: [charge], refunds }, now)
    }
    await of(MIDNIGHT + 4, [])
    expect((await of(MIDNIGHT + 5, [before]))[0]?.global?.[0]?.used).toBe(2)
  })

  it('a reset tells nothing of a period that has ended', async () => {
    const at = await charging()
    const { store } = await at(NEXT - 1)
    const change = { kind: 'quota_reset', category: 'read', windows: [DAY], all: true } as const
    expect(await store.reset(change, NEXT)).toEqual({ day: 0 })
  })

  it('another zone keeps what was used since the beginning of its own period', async () => {
    const there = dayIn('Asia/Tokyo')
    const at = await charging()
    // In Tokyo it is 7 in the morning, and 2 in the afternoon.
    const seen = [await at(MIDNIGHT), await at(MIDNIGHT + 7 * 3_600_000, [], there)]
    // There midnight is at 15 hours UTC.
    for (const hour of [15.999, 16]) seen.push(await at(MIDNIGHT + hour * 3_600_000, [], there))
    expect(seen.map(({ used }) => used)).toEqual([1, 2, 3, 1])
  })

  it('months that begin with another day keep what was used since that day, and are over where they began before it', async () => {
    const on = (day?: number): Window => {
      const calendar: Calendar = { unit: 'month', zone: 'Europe/Berlin', ...(day !== undefined && { day }) }
      return { name: 'month', seconds: LONGEST_SECONDS.month, calendar }
    }
    const at = await charging(on())
    const noon = (month: number, day: number): number => Date.UTC(2151, month, day, 11)
    const seen = [await at(noon(0, 2)), await at(noon(0, 10), [], on(17)), await at(noon(0, 16), [], on(17))]
    for (const [month, day, of] of [
      [0, 17, on(17)],
      [0, 18, on()],
      [0, 31, on(31)],
      [1, 27, on(31)],
      [1, 28, on(31)],
      [2, 1, on()],
    ] as const) {
      seen.push(await at(noon(month, day), [], of))
    }
    expect(seen.map(({ accepted, used }) => [accepted, used])).toEqual([
      [true, 1],
      [true, 2],
      [true, 3],
      [true, 1],
      [true, 2],
      [true, 1],
      [true, 2],
      [true, 1],
      [true, 1],
    ])
  })

  it('charges of one batch may have the zones of two configurations, since one is reloaded', async () => {
    const store = await open()
    const charges = [dayIn('Asia/Tokyo'), DAY].map((window) => {
      const limits = { personal: [{ window, limit: 3 }], organisation: null, global: null }
      return { user: 'alice', organisation: null, category: 'read', cost: 1, limits }
    })
    const settle = (sequence: number, now: number) =>
      store.settle({ instance: 'test', sequence, charges, refunds: [] }, now)
    await settle(1, MIDNIGHT - 1)
    // In Tokyo the day has begun before, and in Berlin just now.
    expect((await settle(2, MIDNIGHT)).map(({ accepted, personal: [usage] }) => [accepted, usage])).toEqual([
      [true, { startedAt: MIDNIGHT - 1, used: 3 }],
      [true, { startedAt: MIDNIGHT, used: 1 }],
    ])
  })

  it('a period does not end twice for a clock that is set back over its end', async () => {
    const at = await charging()
    const seen = []
    for (const now of [NEXT + 1, NEXT - 1, NEXT - 1, NEXT - 1]) seen.push((await at(now)).accepted)
    expect(seen).toEqual([true, true, true, false])
  })
}
