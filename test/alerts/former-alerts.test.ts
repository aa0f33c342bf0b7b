import { afterEach, beforeEach, expect, it } from 'vitest'
import type { TakenEvent } from '../../src/alerts/alert-store.ts'
import { GIVE_UP_MS } from '../../src/alerts/courier.ts'
import { createFormerAlerts, type FormerAlerts } from '../../src/alerts/former-alerts.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { eventOf, reachedBy } from './happenings.ts'

let now: number
let store: Store
let observed: Observation[]
let targets: ReadonlyMap<string, string>
let former: FormerAlerts
let adoptions: number
beforeEach(() => {
  now = Date.UTC(2026, 7, 6, 15)
  store = openSqliteStore({ file: ':memory:', clock: () => now })
  observed = []
  targets = new Map([['near', 'target of near']])
  adoptions = 0
  former = createFormerAlerts({
    store,
    targets: () => targets,
    onAdopted: () => adoptions++,
    observe: (seen) => observed.push(seen),
    everyMs: 20,
  })
})
afterEach(async () => {
  await former.close(1000)
  await store.close()
})

const raise = (user: string, alert: string) => store.raiseAlerts([eventOf(reachedBy(user, { alert, startedAt: now }))])

it('events of an alert that is configured are left to it, however old', async () => {
  await raise('alice', 'near')
  now += 2 * GIVE_UP_MS
  await raise('bob', 'gone')
  former.start()
  await expect.poll(() => observed).toHaveLength(1)
  expect(observed).toEqual([{ type: 'former_alert', alert: 'gone', count: 1, isGivenUp: false }])
  expect((await store.readAlerts(['near'], 1))[0]).toMatchObject({ pending: 1 })
})

it('events of a former name go to the target that an alert of another name has now', async () => {
  await raise('alice', 'near')
  former.start()
  targets = new Map([['renamed', 'target of near']])
  former.look()
  await expect.poll(() => adoptions).toBeGreaterThan(0)
  expect([...former.adopted()]).toEqual([['near', 'target of near']])
  expect(observed).toEqual([])
})

it('events of a former name that can be delivered are left to the courier, however old, and the name is forgotten behind the last', async () => {
  await raise('alice', 'near')
  now += 2 * GIVE_UP_MS
  targets = new Map([['renamed', 'target of near']])
  former.start()
  await expect.poll(() => adoptions).toBeGreaterThan(2)
  expect(observed).toEqual([])
  const [event] = await store.takeAlerts([{ alert: 'near', most: 1 }], 60_000)
  await store.finishAlert(event as TakenEvent, { state: 'delivered' })
  await expect.poll(() => store.listAlerts()).toEqual([])
})

it('events of an alert that nobody has are reported once by name and number, and given up after a day', async () => {
  for (const user of ['alice', 'bob']) await raise(user, 'gone')
  former.start()
  await expect.poll(() => observed).toHaveLength(1)
  expect(observed[0]).toEqual({ type: 'former_alert', alert: 'gone', count: 2, isGivenUp: false })
  now += GIVE_UP_MS
  await expect.poll(() => observed).toHaveLength(2)
  expect(observed[1]).toEqual({ type: 'former_alert', alert: 'gone', count: 2, isGivenUp: true })
  const [read] = await store.readAlerts(['gone'], 10)
  expect(read?.pending).toBe(0)
  expect(read?.events.map(({ state }) => state)).toEqual(['given_up', 'given_up'])
  expect(await store.listAlerts()).toEqual([])
})
