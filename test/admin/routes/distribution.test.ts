import { beforeEach, expect, test } from 'vitest'
import { usersFull } from '../../../src/dashboard/logic/distribution.ts'
import { createPolicy } from '../../../src/quota/policy.ts'
import { configOf, type Running, startAdmin, VIEWER, YAML } from '../running.ts'

const PLANS = YAML.replace(
  'quota:\n',
  'quota:\n  plans: { pro: { personal: { read: { 1h: 1000 } }, organisation: { read: { 1h: 500 } } } }\n',
)
const policy = createPolicy(configOf(PLANS).config.quota)

let running: Running
beforeEach(async () => {
  running = await startAdmin({ yaml: PLANS })
})

let sequence = 0
/** @param used tokens by user, in category read */
async function charge(used: Readonly<Record<string, number>>, plan: string | null, organisation: string | null) {
  const charges = Object.entries(used).map(([user, cost]) => {
    const limits = policy.limitsFor('read', { user, plan, organisation })
    return { user, organisation: limits.organisation === null ? null : organisation, category: 'read', cost, limits }
  })
  await running.store.settle({ instance: 'test', sequence: ++sequence, refunds: [], charges })
  if (plan !== null) {
    await running.store.noteMemberships(
      Object.keys(used).map((user) => ({ user, plan, organisation })),
      60_000,
    )
  }
}

const distribution = (query: string, token?: string) =>
  running.call(
    'GET',
    `/api/quota/distribution?${query}`,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  )

test('users are counted by the share of their limit that they have used', async () => {
  await charge({ a: 1, b: 11, c: 12, d: 119, e: 120 }, null, null)
  const { status, json } = await distribution('category=read&window=1h', VIEWER)
  expect(status).toBe(200)
  expect(json).toMatchObject({ category: 'read', window: '1h', scope: 'personal', plan: null, counted: 5 })
  expect(json.shares.map(({ count }: { count: number }) => count)).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1])
  expect(json.shares.map(({ from }: { from: number }) => from)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
  expect(json.percentiles).toHaveLength(101)
  const at = (percent: number): number => json.percentiles[percent]
  expect([at(0), at(20), at(21), at(60), at(99), at(100)]).toEqual([1, 1, 11, 12, 120, 120])
})

test('an override is the limit of its user, and who has used nothing counts nowhere', async () => {
  await charge({ a: 60 }, null, null)
  await running.call('PUT', '/api/users/a/override', { body: { read: { '1h': 600 }, reason: 'a big event' } })
  const { json } = await distribution('category=read&window=1h')
  expect(json.shares[1]).toEqual({ from: 10, count: 1 })
  expect((await distribution('category=write&window=1h')).json).toMatchObject({ counted: 0, percentiles: [] })
})

test('the line over the users whose limit a field makes counts those whom the preview of that field names', async () => {
  await charge({ a: 30, b: 60, c: 90 }, null, null)
  await charge({ d: 90, e: 300 }, 'pro', null)
  await charge({ f: 90, g: 90 }, null, null)
  await running.call('PUT', '/api/users/f/override', { body: { read: { '1h': 600 }, reason: 'a big event' } })
  await running.call('PUT', '/api/users/g/override', { body: { shadow: true, reason: 'looked at first' } })
  const { json } = await distribution('category=read&window=1h&settings=true')
  expect(json).toMatchObject({ counted: 3, others: 4, exempt: 0 })
  for (const limit of [120, 90, 60, 20, 1]) {
    const body = { baselines: { personal: { read: { '1h': limit } } } }
    const { json: preview } = await running.call('POST', '/api/quota/preview', { body })
    expect([limit, usersFull(json, limit, 2)]).toEqual([limit, preview.blockedCount])
  }
  expect((await distribution('category=read&window=1h&scope=organisation&settings=true')).status).toBe(400)
})

test('exempt users are left out and counted by themselves', async () => {
  const exempt = await startAdmin({ yaml: PLANS.replace('quota:\n', 'quota:\n  exempt: { users: [monitor] }\n') })
  await exempt.spend('monitor', 'read', 120)
  await exempt.spend('alice', 'read', 60)
  const { json } = await exempt.call('GET', '/api/quota/distribution?category=read&window=1h')
  expect(json).toMatchObject({ counted: 1, exempt: 1 })
  expect(json.shares.at(-1)).toEqual({ from: 100, count: 0 })
})

test('a distribution of one plan, or of organisations, counts only those', async () => {
  await charge({ a: 100, b: 300 }, 'pro', 'acme')
  await charge({ c: 50 }, null, null)
  const pro = await distribution('category=read&window=1h&plan=pro')
  expect(pro.json).toMatchObject({ counted: 2, plan: 'pro' })
  expect(pro.json.percentiles[100]).toBe(300)
  const organisations = await distribution('category=read&window=1h&scope=organisation')
  expect(organisations.json).toMatchObject({ counted: 1 })
  expect(organisations.json.shares[8]).toEqual({ from: 80, count: 1 })
})

test.each([
  ['window=1h', 'category'],
  ['category=nothing&window=1h', 'category'],
  ['category=read&window=2h', 'window'],
  ['category=read&window=1h&scope=global', 'scope'],
  ['category=read&window=1h&plan=gold', 'plan'],
  ['category=read&window=1h&user=a', 'user'],
])('%s names what is wrong', async (query, path) => {
  const { status, json } = await distribution(query)
  expect(status).toBe(400)
  expect(json.problems).toEqual([expect.objectContaining({ path })])
})
