import { beforeEach, describe, expect, test } from 'vitest'
import { booksOf } from '../../../src/app/retention.ts'
import type { Books } from '../../../src/quota/books.ts'
import type { Charge } from '../../../src/quota/charge.ts'
import { createPolicy } from '../../../src/quota/policy.ts'
import { episode } from '../../usage/usage-log.suite.ts'
import { configOf, NOW, type Running, startAdmin, YAML } from '../running.ts'

const PLANS = YAML.replace(
  'quota:\n',
  `quota:
  plans:
    team: { organisation: { read: { 1h: 50, 5h: 90 } } }
    pro: { organisation: { read: { 1h: 70 } } }
`,
)
const { config } = configOf(PLANS)

let running: Running
let clock = NOW
let sequence = 0
beforeEach(async () => {
  clock = NOW
  running = await startAdmin({ yaml: PLANS, now: () => clock })
})

/** Has organisations use tokens, by one user of each. */
async function spend(organisations: readonly string[], cost = 10, category = 'read'): Promise<void> {
  const charges = organisations.map((organisation): Charge => {
    const payer = { user: `user of ${organisation}`, organisation, plan: 'team' }
    const limits = createPolicy({ ...config.quota, books: booksOf(config) as Books }).limitsFor(category, payer)
    return { user: payer.user, organisation, category, cost, limits, forced: true }
  })
  await running.store.settle({ instance: 'test', sequence: ++sequence, refunds: [], charges })
  const payers = organisations.map((organisation) => ({ user: `user of ${organisation}`, organisation, plan: 'team' }))
  await running.store.noteMemberships(payers, 3_600_000)
}
const get = (path: string) => running.call('GET', path)

test('an organisation is shown with what its users have used together, what each plan allows, and what is in force', async () => {
  await spend(['acme', 'acme', 'other'])
  const name = { name: 'team', from: 'credential', unknown: null }
  expect((await get('/api/organisations/acme')).json).toEqual({
    organisation: 'acme',
    plan: name,
    windows: {
      read: [
        {
          window: '1h',
          limits: { team: 50, pro: 70 },
          limit: 50,
          used: 20,
          startedAt: '2026-11-20T10:10:00.000Z',
          resetAt: '2026-11-20T11:10:00.000Z',
          source: 'plan team',
          steps: [expect.stringMatching(/^plan team \(.+:\d+\): 50$/)],
        },
        {
          window: '5h',
          limits: { team: 90 },
          limit: 90,
          used: 20,
          startedAt: '2026-11-20T10:10:00.000Z',
          resetAt: '2026-11-20T15:10:00.000Z',
          source: 'plan team',
          steps: [expect.any(String)],
        },
      ],
      write: [],
    },
    override: null,
    blocked: false,
  })
})

test('one that has used nothing is shown with windows that do not run, and under no plan with no limit in force', async () => {
  const { json } = await get('/api/organisations/nobody')
  expect(json.plan).toEqual({ name: null, from: null, unknown: null })
  expect(json.windows.read[0]).toEqual({
    ...{ window: '1h', limits: { team: 50, pro: 70 }, limit: null },
    ...{ used: 0, startedAt: null, resetAt: null, source: '', steps: [] },
  })
})

describe('the override of an organisation', () => {
  const OVERRIDE = { read: { '1h': 12, '5h': null }, write: { '1h': 90 }, reason: 'a big event' }
  const path = '/api/organisations/acme/override'
  const put = (body: object, headers: Record<string, string> = {}) => running.call('PUT', path, { body, headers })

  test('the override of an organisation is set, shown with its version, limits also where no plan does, and is taken away', async () => {
    await spend(['acme'])
    expect((await get(path)).status).toBe(404)
    const set = await put({ ...OVERRIDE, expiresAt: '2030-01-31T00:00:00Z' })
    const limits = { read: { '1h': 12 }, write: { '1h': 90 } }
    const shown = { version: 1, limits, reason: 'a big event', expiresAt: '2030-01-31T00:00:00.000Z' }
    expect([set.status, set.headers.etag, set.json]).toEqual([
      200,
      '"1"',
      { ...shown, warnings: [], ends: expect.anything() },
    ])
    expect((await get(path)).json).toEqual(shown)
    const one = await get('/api/organisations/acme')
    expect([one.headers.etag, one.json.override]).toEqual(['"1"', shown])
    expect(one.json.windows.read).toMatchObject([
      { window: '1h', limit: 12, limits: { team: 50, pro: 70 }, source: 'override of organisation' },
      { window: '5h', limit: 90, source: 'plan team' },
    ])
    expect(one.json.windows.write).toMatchObject([{ window: '1h', limit: 90, limits: {}, used: 0 }])
    expect((await running.call('DELETE', path, { body: { reason: 'over' } })).status).toBe(200)
    expect([(await get(path)).status, (await running.call('DELETE', path)).status]).toEqual([404, 404])
    const { entries } = (await get('/api/audit')).json
    expect(entries.slice(0, 2)).toMatchObject([
      { what: 'organisation_override', subject: 'acme', from: { limits }, to: null, why: 'over' },
      { from: null, to: { limits, expiresAt: '2030-01-31T00:00:00.000Z' }, why: 'a big event' },
    ])
  })

  test('the override of an organisation is undone by its number in the audit', async () => {
    await put(OVERRIDE)
    await put({ ...OVERRIDE, write: null })
    const undone = await running.call('POST', '/api/audit/2/undo', { body: { reason: 'a mistake' } })
    expect([undone.status, undone.json.entry.what]).toEqual([200, 'organisation_override'])
    expect((await get(path)).json).toMatchObject({ version: 3, limits: { write: { '1h': 90 } } })
  })

  test('the override of an organisation is guarded by If-Match as that of a user is', async () => {
    await put(OVERRIDE)
    const stale = await put({ ...OVERRIDE, write: null }, { 'if-match': '"7"' })
    expect([stale.status, stale.json]).toMatchObject([412, { error: 'version_conflict', version: 1 }])
    expect((await put({ ...OVERRIDE, write: null }, { 'if-match': '"1"' })).json.version).toBe(2)
  })

  test.each([
    [{ reason: 'x' }, '', 'sets nothing'],
    [{ read: { '1h': 5 } }, 'reason', 'must be a sentence'],
    [{ ...OVERRIDE, bypassGlobal: true }, 'bypassGlobal', 'unknown field'],
    [{ ...OVERRIDE, read: { '2h': 1 } }, 'read.2h', 'unknown window'],
    [{ ...OVERRIDE, expiresAt: '2020-01-31T00:00:00Z' }, 'expiresAt', 'must be in the future'],
  ])(
    'the override of an organisation that is wrong is refused with the place and the cure: %j',
    async (body, at, msg) => {
      const { status, json } = await put(body)
      expect([status, json.problems]).toEqual([400, [{ path: at, msg: expect.stringContaining(msg) }]])
    },
  )

  test('the override of an organisation says which requests its limits are too small for', async () => {
    const { json } = await put({ read: { '1h': 1 }, reason: 'tight' })
    expect(json.warnings).toMatchObject([{ scope: 'Organisation', category: 'read', window: '1h', limit: 1 }])
  })

  test('the override of an organisation is what this gateway enforces, also while the store is out', async () => {
    await put(OVERRIDE)
    await get('/api/organisations')
    expect((await get('/api/in-force/organisations?query=AC')).json).toMatchObject({
      organisations: [{ organisation: 'acme', override: { limits: { write: { '1h': 90 } } } }],
      total: 1,
    })
    expect((await get('/api/in-force/organisations?query=zzz')).json).toEqual({ organisations: [], total: 0 })
  })

  test('the override of an organisation is the layer that an explanation names, and reaches the windows of a user', async () => {
    await spend(['acme'])
    await put({ read: { '1h': 12 }, reason: 'a big event' })
    const user = (await get('/api/users/user%20of%20acme')).json
    const theirs = user.windows.read.filter(({ scope }: { scope: string }) => scope === 'Organisation')
    expect(theirs[0]).toMatchObject({
      limit: 12,
      steps: ['override of the organisation: 12 (a big event)'],
    })
    const { json } = await get('/api/explain?user=user%20of%20acme&method=POST&path=/v1/user/x')
    expect(json.limits).toContainEqual(expect.objectContaining({ scope: 'Organisation', limit: 12, used: 10 }))
  })
})

test('the list has those with an override first, and says which are blocked', async () => {
  await spend(['acme', 'busy'])
  await running.call('PUT', '/api/organisations/zoo/override', { body: { read: { '1h': 5 }, reason: 'new' } })
  await running.call('PUT', '/api/organisations/busy/override', { body: { read: { '1h': 10 }, reason: 'less' } })
  const { organisations } = (await get('/api/organisations')).json
  expect(
    organisations.map((each: Record<string, unknown>) => [each.organisation, each.override !== null, each.blocked]),
  ).toEqual([
    ['busy', true, true],
    ['zoo', true, false],
    ['acme', false, false],
  ])
})

test('the list is filtered by what is blocked, has an override, or has a plan, and knows no shadow', async () => {
  await spend(['full', 'full', 'full', 'full', 'full', 'calm', 'raised'])
  await running.call('PUT', '/api/organisations/raised/override', { body: { read: { '1h': 90 }, reason: 'a friend' } })
  const found = async (query: string) =>
    (await get(`/api/organisations?${query}`)).json.organisations.map((each: { organisation: string }) => {
      return each.organisation
    })
  expect(await found('blocked=true')).toEqual(['full'])
  expect(await found('override=true')).toEqual(['raised'])
  expect((await found('plan=team')).sort()).toEqual(['calm', 'full', 'raised'])
  expect(await found('plan=pro')).toEqual([])
  expect(await found('plan=team&order=tokens&query=l')).toEqual(['full', 'calm'])
  const { json } = await get('/api/organisations?blocked=true&recent=7d')
  expect(json.organisations[0].recent).toEqual({ tokens: 50, steps: [0, 0, 0, 0, 0, 0, 50] })
  const wrong = { path: 'plan', msg: 'must be one of team, pro' }
  expect(await get('/api/organisations?plan=gold')).toMatchObject({ status: 400, json: { problems: [wrong] } })
  expect((await get('/api/organisations?shadow=true')).json.problems).toMatchObject([{ path: 'shadow' }])
})

test('an organisation is blocked by the limit of a plan also where the plan that was named last sets none', async () => {
  await spend(['acme', 'acme', 'acme', 'acme', 'acme', 'acme', 'acme', 'calm'])
  for (const organisation of ['acme', 'calm']) {
    await running.store.noteMemberships([{ user: `other of ${organisation}`, organisation, plan: null }], 3_600_000)
  }
  const { json } = await get('/api/organisations?blocked=true')
  expect(json.organisations).toMatchObject([{ organisation: 'acme', blocked: true, plan: { name: null } }])
  expect((await get('/api/organisations/acme')).json).toMatchObject({ blocked: true })
  expect((await get('/api/organisations/calm')).json).toMatchObject({ blocked: false })
})

test('an organisation is blocked if members of any plan are refused, whichever plan was named last, as the preview has it', async () => {
  await spend(['acme', 'acme', 'acme', 'acme', 'acme', 'calm'])
  const named = (user: string, plan: string | null, organisation = 'acme') =>
    running.store.noteMemberships([{ user, organisation, plan }], 3_600_000)
  const seen = async () => {
    const { organisations } = (await get('/api/organisations')).json as {
      organisations: { organisation: string; blocked: boolean }[]
    }
    const only = (await get('/api/organisations?blocked=true')).json.organisations.length
    const { blocked } = (await get('/api/organisations/acme')).json
    const preview = await running.call('POST', '/api/quota/preview', { body: { global: { enabled: false } } })
    const line = organisations.find(({ organisation }) => organisation === 'acme')
    return [line?.blocked, only, blocked, preview.json.organisations.blockedCount]
  }
  for (const plan of ['team', 'pro', null]) {
    await named('somebody else', plan)
    expect(await seen(), `${plan}`).toEqual([true, 1, true, 1])
  }
  await named('user of acme', 'pro')
  expect(await seen()).toEqual([false, 0, false, 0])
  await running.call('PUT', '/api/users/user%20of%20acme/override', { body: { plan: 'team', reason: 'less' } })
  expect(await seen()).toEqual([true, 1, true, 1])
})

test('those nearest to one of their limits come first if that is asked for', async () => {
  await spend(['acme'], 20)
  await spend(['busy'], 45)
  await spend(['calm'], 1)
  await running.call('PUT', '/api/organisations/calm/override', { body: { read: { '1h': 1 }, reason: 'less' } })
  const { json } = await get('/api/organisations?order=use&limit=3')
  expect(json.organisations.map(({ organisation }: { organisation: string }) => organisation)).toEqual([
    'calm',
    'busy',
    'acme',
  ])
})

test('the list has those that have used something, each once over its pages', async () => {
  const all = ['a/b', '100%', '用户', ...Array.from({ length: 300 }, (_, i) => `org ${i}`)]
  await spend(all)
  const found: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { json } = await get(`/api/organisations?limit=70${cursor && `&cursor=${cursor}`}`)
    expect(json.organisations.length).toBeLessThanOrEqual(70)
    for (const { organisation, windows } of json.organisations) {
      found.push(organisation)
      expect(windows.read[0].used).toBe(10)
    }
    cursor = json.next
  }
  expect(found.sort()).toEqual(all.sort())
})

test('every organisation that a credential has named is in the list, also one that no plan limits, with its plans, users and refusals', async () => {
  await spend(['acme', 'free'])
  const payer = (user: string, plan: string | null) => ({ user, organisation: 'free', plan })
  await running.store.noteMemberships([payer('user of free', 'pro'), payer('another', 'team')], 60 * 24 * 3_600_000)
  await running.spend('another', 'read', 7)
  const lines = async () => {
    const { json } = await get('/api/organisations?order=name')
    expect(json).toMatchObject({ total: 2, counts: { all: 2 }, next: null })
    return json.organisations.map((line: Record<string, unknown>) => [
      line.organisation,
      line.users,
      line.plans,
      line.refused,
    ])
  }
  expect(await lines()).toEqual([
    ['acme', 1, ['team'], 0],
    ['free', 2, ['pro', 'team'], 0],
  ])
  // None of their windows runs any more, and what a user of one named is forgotten by now.
  clock += 30 * 24 * 3_600_000
  const episodes = [episode({ user: 'user of acme', organisation: 'acme', count: 3, first: clock - 1, last: clock })]
  await running.store.addUsage({ instance: 'i', sequence: 1, series: [], episodes })
  expect(await lines()).toEqual([
    ['acme', 0, [], 3],
    ['free', 0, ['team'], 0],
  ])
})

test('a search finds a part of the id in any letter case, and the one of that very id first', async () => {
  await spend(['acme', 'ACME east', 'other'])
  const names = async (query: string) =>
    (await get(`/api/organisations?query=${query}`)).json.organisations.map(
      (each: { organisation: string }) => each.organisation,
    )
  expect(await names('acme')).toEqual(['acme', 'ACME east'])
  expect(await names('zzz')).toEqual([])
  expect((await get('/api/organisations?cursor=x')).json.problems).toMatchObject([{ path: 'cursor' }])
})

test('a reset empties its windows in every category, and those of nobody else', async () => {
  await spend(['acme', 'other'])
  const { status } = await running.call('POST', '/api/organisations/acme/reset', {
    body: { reason: 'a client in a loop' },
  })
  expect(status).toBe(204)
  const used = async (id: string) => (await get(`/api/organisations/${id}`)).json.windows.read[0].used
  expect([await used('acme'), await used('other')]).toEqual([0, 10])
  expect((await get('/api/users/user%20of%20acme')).json.windows.read[0].used).toBe(10)
  const { entries } = (await get('/api/audit')).json
  expect(entries.map(({ subject, why }: Record<string, string>) => [subject, why])).toEqual([
    ['organisation:write:acme', 'a client in a loop'],
    ['organisation:read:acme', 'a client in a loop'],
  ])
})

test('one window of one category is emptied by the reset of shared windows', async () => {
  await spend(['acme'])
  const body = { scope: 'organisation', organisation: 'acme', category: 'read', window: '1h', reason: 'a load test' }
  expect(await running.call('POST', '/api/quota/reset', { body })).toMatchObject({
    status: 200,
    json: { from: { '1h': 10 } },
  })
  expect((await get('/api/organisations/acme')).json.windows.read).toMatchObject([{ used: 0 }, { used: 10 }])
  expect((await get('/api/quota')).json.windows.read[0].used).toBe(10)
})

test('an id that no organisation can have is refused', async () => {
  const { status, json } = await get(`/api/organisations/${'x'.repeat(257)}`)
  expect([status, json.problems]).toEqual([
    400,
    [{ path: 'id', msg: expect.stringContaining('must be an organisation') }],
  ])
})

test('a reset wants a reason', async () => {
  const { json } = await running.call('POST', '/api/organisations/acme/reset', { body: {} })
  expect(json.problems).toMatchObject([{ path: 'reason' }])
})
