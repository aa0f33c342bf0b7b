import { beforeEach, expect, test } from 'vitest'
import { NOW, type Running, startAdmin, VIEWER, YAML } from '../running.ts'

const PLANS = `
  default_plan: free
  plans:
    free: { personal: { read: { 1h: 40, 5h: unlimited } } }
    team: { personal: { read: { 1h: 200 } }, organisation: { read: { 1h: 5000 } } }
    toString: { personal: { read: { 1h: 3 } } }
    valueOf: { personal: { read: { 1h: 4 } } }
    free.x: {}`

let running: Running
beforeEach(async () => {
  running = await startAdmin({ yaml: YAML.replace('quota:', `quota:${PLANS}`) })
})

const plans = async () => (await running.call('GET', '/api/plans')).json
const plan = async (name: string) => (await plans()).plans.find((each: { name: string }) => each.name === name)
const patch = (name: string, body: unknown, headers: Record<string, string> = {}) =>
  running.call('PATCH', `/api/plans/${encodeURIComponent(name)}`, { body, headers })
const hour = (limit: unknown) => ({ personal: { read: { '1h': limit } } })

test('the list of the plans has the limits in the file, those in force, and how many known users follow each', async () => {
  await running.spend('alice', 'read', 1)
  await running.call('PUT', '/api/users/bob/override', { body: { plan: 'team', reason: 'r' } })
  const { json, headers } = await running.call('GET', '/api/plans')
  expect([headers.etag, json.version, json.defaultPlan, json.usersWithoutPlan]).toEqual(['"0"', 0, 'free', 0])
  expect(json.plans.map(({ name, users }: { name: string; users: number }) => [name, users])).toEqual([
    ['free', 1],
    ['team', 1],
    ['toString', 0],
    ['valueOf', 0],
    ['free.x', 0],
  ])
  const limits = { personal: { read: { '1h': 40, '5h': 'unlimited' } }, organisation: {} }
  expect(json.plans[0]).toEqual({
    name: 'free',
    users: 1,
    file: limits,
    values: limits,
    changed: [],
    effective: { personal: { read: { '1h': 40 }, write: { '1h': 60, '5h': 200 } }, organisation: {} },
  })
  expect(json.plans[1].effective.organisation).toEqual({ read: { '1h': 5000 } })
})

test('the list of the plans has none in a configuration without plans', async () => {
  const plain = await startAdmin()
  await plain.spend('alice', 'read', 1)
  expect((await plain.call('GET', '/api/plans')).json).toEqual({
    version: 0,
    defaultPlan: null,
    plans: [],
    usersWithoutPlan: 1,
  })
  const { status, json } = await plain.call('PATCH', '/api/plans/free', { body: hour(5) })
  expect([status, json.msg]).toEqual([
    404,
    'The file has no plan "free". It has none: a new one begins there, under quota.plans.',
  ])
})

test('a plan that is changed at run time has other limits until they are given back, and everybody is told where they come from', async () => {
  await running.spend('alice', 'read', 1)
  const changed = await patch('free', { ...hour(80), reason: 'a busy evening' })
  expect(changed.json).toMatchObject({ version: 1, changed: ['plans.free.personal.read.1h'] })
  expect(changed.json).not.toHaveProperty('unfollowed')
  expect(changed.headers.etag).toBe('"1"')
  expect(await plan('free')).toMatchObject({
    file: hour(40),
    values: { personal: { read: { '1h': 80, '5h': 'unlimited' } } },
    changed: ['personal.read.1h'],
    effective: hour(80),
  })
  // Its paths begin with those of `free`.
  expect((await plan('free.x')).changed).toEqual([])
  const steps = ['plan free (set at run time): 80, by default']
  expect((await running.call('GET', '/api/users/alice')).json.windows.read[0]).toMatchObject({
    limit: 80,
    used: 1,
    source: 'plan free',
    steps,
  })
  const explained = await running.call('GET', '/api/explain?user=alice&method=POST&path=/v1/user/x')
  expect(explained.json.limits[0]).toMatchObject({ limit: 80, source: 'plan free', steps })
  expect((await running.call('GET', '/api/audit')).json.entries[0]).toMatchObject({
    who: 'admin',
    what: 'settings',
    to: { plans: { free: hour(80) } },
    why: 'a busy evening',
  })
  await patch('free', { personal: null })
  expect(await plan('free')).toMatchObject({ changed: [], effective: hour(40) })
})

test('a plan that is changed at run time may be told that a window has no limit, and one that it left out to have one', async () => {
  await patch('team', {
    personal: { read: { '1h': 'unlimited' }, write: { '1h': 7 } },
    organisation: { write: { '5h': 9 } },
  })
  expect((await plan('team')).effective).toEqual({
    personal: { read: { '5h': 400 }, write: { '1h': 7, '5h': 200 } },
    organisation: { read: { '1h': 5000 }, write: { '5h': 9 } },
  })
})

test('a plan that is changed at run time is previewed with the users who would be refused', async () => {
  await running.spend('alice', 'read', 30)
  await running.call('PUT', '/api/users/bob/override', { body: { plan: 'team', reason: 'r' } })
  await running.spend('bob', 'read', 30)
  const { json } = await running.call('POST', '/api/plans/free/preview', { body: hour(31) })
  expect(json).toMatchObject({ newlyBlockedCount: 1, movedCount: 1, movesNobody: false, unfollowed: [] })
  expect(json.blocked).toMatchObject([{ user: 'alice', scope: 'Personal', window: '1h', limit: 31, used: 30 }])
  expect(json.effective.plans.free.personal.read).toEqual({ '1h': 31 })
  expect(await plan('free')).toMatchObject({ changed: [] })
})

test('a plan that is changed at run time for a while is shown in layers, guarded and undone as any setting', async () => {
  const until = new Date(NOW + 3_600_000).toISOString()
  const from = new Date(NOW + 60_000).toISOString()
  await patch('free', { ...hour(80), until, guard: { for: '10m', refused: '5%' } })
  await patch('free', { ...hour(90), from })
  await running.call('PATCH', '/api/quota', { body: { baselines: { personal: { read: { '1h': 5 } } }, until } })
  expect((await plan('free')).layers).toMatchObject([
    { from, state: 'to_come', value: hour(90) },
    { until, state: 'in_force', value: hour(80), guard: { refused: 0.05 }, who: 'admin' },
  ])
  expect((await plan('team')).layers).toBe(undefined)
  expect((await running.call('POST', '/api/audit/1/undo')).status).toBe(200)
  expect(await plan('free')).toMatchObject({ changed: [], layers: [{ state: 'to_come' }] })
})

test('a plan that is changed at run time is changed at its version only', async () => {
  expect((await patch('free', hour(50), { 'if-match': '"0"' })).status).toBe(200)
  const { status, json } = await patch('free', hour(60), { 'if-match': '"0"' })
  expect([status, json.error, json.version]).toEqual([412, 'version_conflict', 1])
})

test.each([
  ['a name in no file', 'fre', hour(5), 404, /no plan "fre"\. Its plans are free, team/],
  ['the prototype', '__proto__', hour(5), 404, /no plan "__proto__"/],
  ['a member of every object', 'constructor', hour(5), 404, /no plan "constructor"/],
  ['an unknown window', 'free', { personal: { read: { '9h': 5 } } }, 400, /^personal\.read\.9h: unknown window "9h"/],
  ['an unknown field', 'free', { mode: 'loose' }, 400, /^mode: unknown scope "mode"/],
  [
    'a day of months',
    'free',
    { period_day: 20 },
    400,
    /^period_day: unknown .*: the day .* is set in the file, .* periodDay/,
  ],
  ['other plans', 'free', { plans: { team: hour(5) } }, 400, /^plans: unknown scope "plans"/],
  ['a huge number', 'free', hour(1e300), 400, /^personal\.read\.1h: must be a whole number/],
  ['a number below nothing', 'free', hour(-1), 400, /^personal\.read\.1h/],
  ['a text', 'free', hour('40'), 400, /^personal\.read\.1h/],
  ['a list', 'free', [hour(5)], 400, /must be an object/],
  ['nothing', 'free', null, 400, /must be an object/],
  ['a bad reason', 'free', { ...hour(5), reason: 'a\nb' }, 400, /^reason/],
  ['an end in the past', 'free', { ...hour(5), until: '2020-01-01T00:00:00Z' }, 400, /^until/],
])('a hostile change of a plan by %s is refused, and changes nothing', async (_, name, body, status, msg) => {
  const reply = await patch(name, body)
  expect([
    reply.status,
    reply.json.problems?.[0] ? `${reply.json.problems[0].path}: ${reply.json.problems[0].msg}` : reply.json.msg,
  ]).toEqual([status, expect.stringMatching(msg)])
  expect((await plans()).version).toBe(0)
})

test('a hostile change of a plan by a viewer is forbidden, who may read and preview', async () => {
  const headers = { authorization: `Bearer ${VIEWER}` }
  expect((await patch('free', hour(5), headers)).status).toBe(403)
  expect(
    (await running.call('PATCH', '/api/plans/free', { body: hour(5), headers: { authorization: '' } })).status,
  ).toBe(401)
  expect((await running.call('GET', '/api/plans', { headers })).status).toBe(200)
  expect((await running.call('POST', '/api/plans/free/preview', { body: hour(5), headers })).status).toBe(200)
  expect((await plans()).version).toBe(0)
})

test.each(['toString', 'valueOf', 'free.x'])(
  'a hostile change of a plan called %s sets that plan and no other',
  async (name) => {
    await patch(name, hour(5))
    const { plans: all } = await plans()
    const limits = all.map((each: { name: string; effective: { personal: { read: object } } }) => [
      each.name,
      each.effective.personal.read,
    ])
    expect(new Map(limits).get(name)).toMatchObject({ '1h': 5 })
    expect(limits.filter(([, row]: [string, { '1h': number }]) => row['1h'] === 5)).toHaveLength(1)
    expect(({} as Record<string, unknown>).personal).toBe(undefined)
  },
)
