import { beforeEach, expect, test } from 'vitest'
import type { PreviewResponse } from '../../../src/contract/api.ts'
import { createPolicy } from '../../../src/quota/policy.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { closedAtEnd } from '../../setup/at-end.ts'
import { configOf, NOW, type Running, startAdmin, VIEWER, YAML } from '../running.ts'

const PLANS = YAML.replace(
  'quota:\n',
  'quota:\n  exempt: { users: [monitoring] }\n  plans: { pro: { personal: { read: { 1h: 1000 } } } }\n',
)
const { config } = configOf(PLANS)
const policy = createPolicy(config.quota)
const HOUR = 3_600_000
const KEPT = { longestSeconds: 35 * 86_400, shorterSeconds: 48 * 3600, anonymousSeconds: 0, isAnonymous: () => false }

let clock: number
let store: Store
let running: Running
beforeEach(async () => {
  clock = NOW
  store = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => clock, retention: () => KEPT }))
  running = await startAdmin({ yaml: PLANS, store, now: () => clock })
})

let sequence = 0
async function charge(user: string, cost: number, hoursAgo: number, plan: string | null = null): Promise<void> {
  clock = NOW - hoursAgo * HOUR
  const limits = policy.limitsFor('read', { user, plan, organisation: null })
  const charges = [{ user, organisation: null, category: 'read', cost, limits, forced: true } as const]
  await store.settle({ instance: 'test', sequence: ++sequence, refunds: [], charges })
  if (plan !== null) await store.noteMemberships([{ user, plan, organisation: null }], 60 * HOUR)
  clock = NOW
}

async function lookBack(body: unknown, token?: string): Promise<Yesterday> {
  const headers = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }
  const { status, json } = await running.call('POST', '/api/quota/preview', { body, ...headers })
  expect(status).toBe(200)
  return json.yesterday
}

type Yesterday = PreviewResponse['yesterday']

const rowOf = ({ rows }: Yesterday, category: string, window: string) =>
  rows.find((row) => row.category === category && row.window === window)
const NOTHING = { users: 0, runs: 0, tokens: 0 }
const LESS = { baselines: { personal: { read: { '1h': 96 } } } }

test('runs of the last day above a limit are counted with their users and the tokens above it', async () => {
  await charge('alice', 100, 20)
  await charge('alice', 110, 10)
  await charge('bob', 96, 5)
  await charge('carol', 120, 0)
  const found = await lookBack(LESS, VIEWER)
  expect(found).toMatchObject({ scanned: 3, complete: true, from: new Date(NOW - 24 * HOUR).toISOString() })
  expect(rowOf(found, 'read', '1h')).toEqual({
    category: 'read',
    window: '1h',
    of: { users: 3, runs: 4, tokens: 426 },
    above: { users: 2, runs: 3, tokens: 4 + 14 + 24 },
  })
  expect(rowOf(found, 'read', '5h')).toMatchObject({ of: { users: 3, runs: 4 }, above: NOTHING })
  expect(rowOf(found, 'write', '1h')).toMatchObject({ of: NOTHING, above: NOTHING })
})

test('a run counts if its end lies in the last day, and one that ended before does not', async () => {
  await charge('early', 100, 25.5)
  await charge('early', 1, 2)
  await charge('late', 100, 24.5)
  await charge('late', 1, 2)
  const found = await lookBack(LESS)
  expect(rowOf(found, 'read', '1h')).toMatchObject({
    of: { users: 2, runs: 3 },
    above: { users: 1, runs: 1, tokens: 4 },
  })
  expect(rowOf(found, 'read', '5h')?.of).toEqual({ users: 2, runs: 4, tokens: 202 })
})

test('each user has the limits of the plan and of the override, and users in shadow or exempt do not count', async () => {
  await charge('pro', 500, 1, 'pro')
  for (const user of ['raised', 'shadowed', 'monitoring', 'plain']) await charge(user, 100, 1)
  await running.call('PUT', '/api/users/raised/override', { body: { read: { '1h': 200 }, reason: 'a fair' } })
  await running.call('PUT', '/api/users/shadowed/override', { body: { shadow: true, reason: 'a trial' } })
  const found = await lookBack(LESS)
  expect(rowOf(found, 'read', '1h')).toMatchObject({ of: { users: 3 }, above: { users: 1, runs: 1, tokens: 4 } })
})

test('the mode of the change makes the limits, and nothing is changed', async () => {
  await charge('alice', 100, 3)
  expect(rowOf(await lookBack({ mode: 'normal' }), 'read', '1h')?.above).toEqual(NOTHING)
  expect(rowOf(await lookBack({ mode: 'conservative' }), 'read', '1h')?.above).toMatchObject({ users: 1, tokens: 10 })
  expect((await running.call('GET', '/api/quota')).json).toMatchObject({ mode: 'normal', version: 0 })
})

test.each([
  [{ baselines: { personal: { nothing: { '1h': 1 } } } }, 'baselines.personal.nothing'],
  [{ mode: 'wild' }, 'mode'],
  [{ strange: 1 }, 'strange'],
])('%j names what is wrong', async (body, path) => {
  const { status, json } = await running.call('POST', '/api/quota/preview', { body })
  expect([status, json.problems]).toEqual([400, [expect.objectContaining({ path })]])
})
