import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MOST_PENDING, type TakenEvent } from '../../src/alerts/alert-store.ts'
import {
  AT_ONCE,
  type Courier,
  createCourier,
  type Delivery,
  GIVE_UP_MS,
  pauseAfter,
} from '../../src/alerts/courier.ts'
import { createRaiser } from '../../src/alerts/raiser.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { eventOf, reachedBy } from './happenings.ts'

let now: number
let store: Store
let observed: Observation[]
let couriers: Courier[]
beforeEach(() => {
  now = Date.UTC(2026, 7, 6, 15)
  store = openSqliteStore({ file: ':memory:', clock: () => now })
  observed = []
  couriers = []
})
afterEach(async () => {
  await Promise.all(couriers.map((courier) => courier.close(1000)))
  await store.close()
})

const raise = (user: string, alert = 'near') => store.raiseAlerts([eventOf(reachedBy(user, { alert, startedAt: now }))])
const userOf = ({ happening }: TakenEvent): string => ('subject' in happening ? (happening.subject ?? '') : '')

function deliverBy(deliver: (event: TakenEvent, signal: AbortSignal) => Promise<Delivery>, alerts = ['near', 'far']) {
  const courier = createCourier({
    store,
    alerts: () => alerts,
    deliver,
    observe: (seen) => observed.push(seen),
    everyMs: 20,
    random: () => 0.5,
  })
  couriers.push(courier)
  courier.start()
  return courier
}

async function recordsOf(alert = 'near') {
  const [read] = await store.readAlerts([alert], 1000)
  return read?.events ?? []
}

describe('an event', () => {
  it('an event is delivered once by one of two couriers', async () => {
    const delivered: string[] = []
    const deliver = async (event: TakenEvent): Promise<Delivery> => {
      delivered.push(userOf(event))
      return { kind: 'delivered' }
    }
    for (let i = 0; i < 30; i++) await raise(`user ${i}`)
    deliverBy(deliver)
    deliverBy(deliver)
    await expect.poll(async () => (await recordsOf()).every(({ state }) => state === 'delivered')).toBe(true)
    expect(delivered).toHaveLength(30)
    expect(new Set(delivered).size).toBe(30)
    expect(observed.filter(({ type }) => type === 'alert_event')).toHaveLength(30)
  })

  it('an event that fails is tried again after growing pauses, and given up after a day', async () => {
    await raise('alice')
    const pauses: number[] = []
    deliverBy(async () => ({ kind: 'failed', error: 'status 500' }))
    for (;;) {
      const attempts = pauses.length
      await expect.poll(async () => (await recordsOf())[0]?.attempts).toBe(attempts + 1)
      await expect
        .poll(async () => observed.filter(({ type }) => type === 'alert_failed').length, { interval: 5 })
        .toBe(attempts + 1)
      await vi.waitFor(async () => {
        const [record] = await recordsOf()
        expect(record?.state === 'given_up' || record?.lastError !== null).toBe(true)
        expect(record?.dueAt === null || (record?.dueAt ?? 0) - now !== 20_000).toBe(true)
      }, 30_000)
      const [record] = await recordsOf()
      if (record?.dueAt == null) break
      pauses.push(record.dueAt - now)
      now = record.dueAt
    }
    expect(pauses.slice(0, 4)).toEqual([5000, 15_000, 45_000, 135_000])
    expect(pauses.toSorted((a, b) => a - b)).toEqual(pauses)
    expect(Math.max(...pauses)).toBe(7_200_000)
    const total = pauses.reduce((sum, pause) => sum + pause)
    expect(total).toBeGreaterThan(0.9 * GIVE_UP_MS)
    expect(total).toBeLessThanOrEqual(GIVE_UP_MS)
    expect((await recordsOf())[0]).toMatchObject({ state: 'given_up', lastError: 'status 500' })
    expect(observed.at(-1)).toMatchObject({ type: 'alert_failed', alert: 'near', isLast: true })
  })

  it('an event that the receiver refuses is given up at once', async () => {
    await raise('alice')
    deliverBy(async () => ({ kind: 'refused', error: 'gone' }))
    await expect.poll(async () => (await recordsOf())[0]?.state).toBe('given_up')
    expect((await recordsOf())[0]).toMatchObject({ attempts: 1, lastError: 'gone' })
  })

  it('older than a day is given up without an attempt', async () => {
    await raise('alice')
    now += GIVE_UP_MS + 1
    let attempts = 0
    deliverBy(async () => {
      attempts++
      return { kind: 'delivered' }
    })
    await expect.poll(async () => (await recordsOf())[0]?.state).toBe('given_up')
    expect(attempts).toBe(0)
  })

  it('an event of an alert that is not configured waits for whoever has it', async () => {
    await raise('alice')
    await raise('bob', 'far')
    deliverBy(async () => ({ kind: 'delivered' }), ['far'])
    await expect.poll(async () => (await recordsOf('far'))[0]?.state).toBe('delivered')
    expect((await recordsOf())[0]).toMatchObject({ state: 'pending', attempts: 0 })
  })

  it('an event whose delivery is under way when the process stops is due at once, for another one', async () => {
    await raise('alice')
    const courier = deliverBy(
      (_event, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('given up')))),
    )
    await expect.poll(async () => (await recordsOf())[0]?.attempts).toBe(1)
    await courier.close(1000)
    expect((await recordsOf())[0]).toMatchObject({ state: 'pending', dueAt: now, lastError: null })
    expect(observed).toEqual([])
  })
})

it('a receiver that never responds takes a few places of its own, and holds nobody else up', async () => {
  for (let i = 0; i < 20; i++) await raise(`user ${i}`)
  const under: string[] = []
  deliverBy((event, signal) => {
    if (event.alert === 'far') return Promise.resolve({ kind: 'delivered' })
    under.push(event.id)
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('given up'))))
  })
  await expect.poll(() => under.length).toBe(AT_ONCE)
  for (let i = 0; i < 10; i++) await raise(`user ${i}`, 'far')
  await expect.poll(async () => (await recordsOf('far')).every(({ state }) => state === 'delivered')).toBe(true)
  expect(under).toHaveLength(AT_ONCE)
})

it('a pause is shorter or longer by a quarter at most, and never longer than that of 2 h', () => {
  expect([pauseAfter(1, 0), pauseAfter(1, 1), pauseAfter(3, 0.5), pauseAfter(1000, 1)]).toEqual([
    3750, 6250, 45_000, 9_000_000,
  ])
})

const noticed = (user: string, alert = 'near') => eventOf(reachedBy(user, { alert, startedAt: now }))

it('what was noticed waits for a store that is out, and is raised once when it is back', async () => {
  let isOut = true
  const raiser = createRaiser({
    store: {
      raiseAlerts: async (events) => {
        if (!isOut) return store.raiseAlerts(events)
        // The reply is lost: the events are there, and nobody knows.
        await store.raiseAlerts(events)
        throw new StoreError('down', 'timeout', 'unknown')
      },
    },
    observe: (seen) => observed.push(seen),
    targetOf: () => '',
    onStored: () => {},
    gatherMs: 1,
    pauseMs: 5,
  })
  raiser.raise(noticed('alice'), () => {})
  await expect.poll(() => observed.filter(({ type }) => type === 'store_failed').length).toBeGreaterThan(1)
  isOut = false
  raiser.raise(noticed('bob'), () => {})
  await expect.poll(async () => (await recordsOf()).length).toBe(2)
  await raiser.close()
  expect((await recordsOf()).filter(({ state }) => state === 'pending')).toHaveLength(2)
})

it('what was noticed is stored once each when a store fails at the close and replies slowly afterwards', async () => {
  const asked: number[] = []
  const failing = Promise.withResolvers<void>()
  const raiser = createRaiser({
    store: {
      raiseAlerts: async (events) => {
        if (asked.push(events.length) > 1) return setTimeout(20).then(() => store.raiseAlerts(events))
        await failing.promise
        throw new StoreError('down', 'timeout', 'no')
      },
    },
    observe: (seen) => observed.push(seen),
    targetOf: () => '',
    onStored: () => {},
    gatherMs: 1,
    pauseMs: 1,
  })
  for (let i = 0; i < 150; i++) raiser.raise(noticed(`user ${i}`), () => {})
  await expect.poll(() => asked).toHaveLength(1)
  const closed = raiser.close()
  failing.resolve()
  await closed
  expect(asked).toEqual([64, 64, 64, 22])
  expect(await recordsOf()).toHaveLength(150)
})

it('what was noticed and cannot be written is reported once and dropped, and keeps nothing behind it waiting', async () => {
  const raiser = createRaiser({
    store,
    observe: (seen) => observed.push(seen),
    targetOf: () => '',
    onStored: () => {},
    gatherMs: 1,
    pauseMs: 1,
  })
  const { happening, ...event } = noticed('alice')
  raiser.raise({ ...event, happening: { ...happening, used: 1n as unknown as number } }, () => {})
  await expect.poll(() => observed).toHaveLength(1)
  raiser.raise(noticed('bob'), () => {})
  await expect
    .poll(async () => (await recordsOf()).map(({ happening }) => happening))
    .toMatchObject([{ subject: 'bob' }])
  await raiser.close()
  expect(observed.map(({ type }) => type)).toEqual(['internal_error', 'alert_event'])
})

it('what was noticed beyond the room of its alert is reported and turned away, and that of another alert is not', async () => {
  let turnedAway = 0
  const raiser = createRaiser({
    store: { raiseAlerts: () => Promise.reject(new StoreError('down', 'connection', 'no')) },
    observe: (seen) => observed.push(seen),
    targetOf: () => '',
    onStored: () => {},
    gatherMs: 1,
  })
  for (let i = 0; i < MOST_PENDING + 3; i++) raiser.raise(noticed(`user ${i}`), () => turnedAway++)
  raiser.raise(noticed('alice', 'far'), () => turnedAway++)
  expect(turnedAway).toBe(3)
  expect(observed.filter(({ type }) => type === 'alert_event')).toHaveLength(3)
  await raiser.close()
})
