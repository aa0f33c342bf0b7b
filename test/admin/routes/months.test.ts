import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPolicy } from '../../../src/quota/policy.ts'
import { configOf, type Running, startAdmin, YAML } from '../running.ts'

/** What routes say and do of months that begin with the day of a plan, when that of the file is over. */

const MONTHS = YAML.replace(
  /quota:\n {2}baselines:[\s\S]*?routes:/,
  `quota:
  windows: { month: { calendar: month, zone: UTC } }
  baselines: { personal: { read: { month: 100 }, write: { month: 100 } } }
  plans: { late: { period_day: 15, organisation: { read: { month: 400 } } } }
  default_plan: late
routes:`,
)
const ANNA = { user: 'anna', organisation: 'acme', plan: 'late' }

let running: Running
let clock: number
beforeEach(async () => {
  clock = Date.parse('2026-11-20T10:00:00Z')
  running = await startAdmin({ yaml: MONTHS, now: () => clock })
  const limits = createPolicy(configOf(MONTHS).config.quota).limitsFor('read', ANNA)
  const charge = { user: 'anna', organisation: 'acme', category: 'read', cost: 90, limits }
  await running.store.settle({ instance: 'test', sequence: 1, refunds: [], charges: [charge] })
  await running.store.noteMemberships([ANNA], 3_600_000)
  clock = Date.parse('2026-12-05T10:00:00Z')
})
afterEach(() => running.stop())

test('users are counted by what their own month has, also when the month of the file has begun anew', async () => {
  const { json } = await running.call('GET', '/api/quota/distribution?category=read&window=month')
  expect([json.counted, json.percentiles[100]]).toEqual([1, 90])
})

test.each([
  ['/api/organisations/acme/reset', { reason: 'a new contract' }],
  ['/api/quota/reset', { scope: 'organisation', organisation: 'acme', category: 'read', reason: 'a new contract' }],
])('%s empties the month that the organisation has, and the audit says what was in it', async (path, body) => {
  const used = async () => (await running.call('GET', '/api/organisations/acme')).json.windows.read[0].used
  expect(await used()).toBe(90)
  expect((await running.call('POST', path, { body })).status).toBeLessThan(300)
  expect(await used()).toBe(0)
  const { json } = await running.call('GET', '/api/audit?limit=20')
  const entry = json.entries.find(({ subject }: { subject: string }) => subject.endsWith('read:acme'))
  expect(entry.from).toEqual({ month: 90 })
})
