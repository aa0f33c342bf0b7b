import { expect, it } from 'vitest'
import { createAlerts } from '../../src/app/alerts.ts'
import type { AlertConfig } from '../../src/config/config.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'

const alert = {
  name: 'budget',
  scope: 'global',
  category: 'read',
  window: '1h',
  minRequests: 100,
  at: [1],
  webhook: { url: 'http://127.0.0.1:9/', secrets: [] },
} as unknown as AlertConfig

it('nothing is asked of the store before the gateway has started, when it may not be connected yet', async () => {
  const store = closedAtEnd(openSqliteStore({ file: ':memory:' }))
  let looks = 0
  const looking: typeof store = {
    ...store,
    takeAlerts: (...wanted) => {
      looks++
      return store.takeAlerts(...wanted)
    },
  }
  const alerts = createAlerts({ store: looking, observe: () => {}, alerts: [alert] })
  await new Promise(setImmediate)
  expect(looks).toBe(0)
  alerts.start()
  await expect.poll(() => looks).toBe(1)
  alerts.configure([{ ...alert, name: 'another' }])
  await expect.poll(() => looks).toBeGreaterThan(1)
  await alerts.close(0)
})
