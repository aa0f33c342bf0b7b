import { beforeEach, expect, test } from 'vitest'
import { episode } from '../../usage/usage-log.suite.ts'
import { NOW, type Running, startAdmin } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const get = (query: string) => running.call('GET', `/api/refusals${query}`)

test('refusals are read page by page, with filters, and what is wrong in a question is named', async () => {
  await running.spend('alice', 'write', 60)
  const episodes = ['alice', 'bob', null].map((user, i) =>
    episode({
      user,
      startedAt: i === 2 ? null : NOW,
      first: NOW - 1000,
      last: NOW - i,
      ...(i === 0 && { cost: 4 }),
    }),
  )
  await running.store.addUsage({ instance: 'i', sequence: 1, series: [], episodes })
  const { json } = await get('?limit=2')
  expect(json.refusals).toMatchObject([
    { user: 'alice', startedAt: '2026-11-20T10:10:00.000Z', last: '2026-11-20T10:10:00.000Z', count: 1 },
    { user: 'bob', cost: null },
  ])
  expect(json.refusals[0]).toMatchObject({ cost: 4, until: '2026-11-20T11:10:00.000Z', emptied: false })
  const rest = await get(`?limit=2&cursor=${json.next}`)
  expect(rest.json).toMatchObject({ refusals: [{ user: null, startedAt: null, until: null }], next: null })
  expect((await get('?user=bob&scope=Personal&category=write&route=POST%20/v1/x')).json.refusals).toHaveLength(1)
  expect((await get('?organisation=acme')).json.refusals).toEqual([])
  expect((await get('?since=2026-11-20T10:10:00Z')).json.refusals).toHaveLength(1)
  const between = (until: string) => get(`?since=2026-11-20T10:09:50Z&until=${until}`)
  expect((await between('2026-11-20T10:09:59.000Z')).json.refusals).toHaveLength(3)
  expect((await between('2026-11-20T10:09:58.999Z')).json.refusals).toEqual([])
  for (const [query, path] of [
    ['?cursor=x', 'cursor'],
    ['?limit=1001', 'limit'],
    ['?since=yesterday', 'since'],
    ['?until=tomorrow', 'until'],
    ['?scope=all', 'scope'],
    ['?organisation=', 'organisation'],
    ['?shadow=false', 'shadow'],
    ['?usr=bob', 'usr'],
  ]) {
    expect(await get(query ?? '')).toMatchObject({ status: 400, json: { problems: [{ path }] } })
  }
})

test('a refusal tells that the window was emptied since, and then says no time until which the user is refused', async () => {
  let now = NOW
  running = await startAdmin({ now: () => now })
  const ofAlice = { user: 'alice', category: 'read', window: '1h', startedAt: NOW, last: NOW } as const
  const episodes = [
    episode({ ...ofAlice, scope: 'Personal' }),
    episode({ ...ofAlice, id: 'global-of-alice1', scope: 'Global' }),
    // Of callers of whom nobody knows who they are there is no counter to look into.
    episode({ ...ofAlice, scope: 'Personal', user: null }),
  ]
  await running.store.addUsage({ instance: 'i', sequence: 1, series: [], episodes })
  await running.spend('alice', 'read', 120)
  const shown = async () => {
    const { json } = await get('?category=read')
    const list = json.refusals as { user: string | null; scope: string; until: string | null; emptied: boolean }[]
    return list.map(({ user, scope, until, emptied }) => [user, scope, until, emptied]).sort()
  }
  const until = '2026-11-20T11:10:00.000Z'
  const [unknown, global] = [
    [null, 'Personal', until, false],
    ['alice', 'Global', until, false],
  ]
  expect(await shown()).toEqual([unknown, global, ['alice', 'Personal', until, false]])
  now += 1000
  const body = { reason: 'a bug of ours' }
  expect((await running.call('POST', '/api/users/alice/reset', { body })).status).toBe(204)
  const emptied = ['alice', 'Personal', null, true]
  expect(await shown()).toEqual([unknown, global, emptied])
  now += 60_000
  await running.spend('alice', 'read', 120)
  expect(await shown()).toEqual([unknown, global, emptied])
  now += 3_600_000
  expect(await shown()).toEqual([unknown, global, ['alice', 'Personal', until, false]])
})

test('users are listed by how often they were refused in a range, all unknown callers as one', async () => {
  const of = (user: string | null, scope: 'Personal' | 'Global', count: number, ago: number) =>
    episode({ user, scope, count, window: scope === 'Global' ? '5h' : '1h', first: NOW - ago - 1, last: NOW - ago })
  const episodes = [
    of('alice', 'Personal', 3, 10),
    of('alice', 'Global', 4, 20),
    of('bob', 'Global', 5, 30),
    of(null, 'Personal', 6, 40),
    of('carol', 'Personal', 50, 3_700_000),
    { ...of('dora', 'Personal', 70, 10), shadow: true as const },
  ]
  await running.store.addUsage({ instance: 'i', sequence: 1, series: [], episodes })
  const shown = async (query: string) => {
    const groups = (await get(`/groups${query}`)).json.groups as { name: string | null; count: number }[]
    return groups.map(({ name, count }) => [name, count])
  }
  expect((await get('/groups?since=1h&limit=1')).json).toMatchObject({
    groups: [{ name: 'alice', count: 7, scopes: { Personal: 3, Organisation: 0, Global: 4 } }],
    more: 2,
  })
  expect(await shown('?since=1h&limit=2')).toEqual([
    ['alice', 7],
    [null, 6],
  ])
  expect(await shown('?shadow=true')).toEqual([['dora', 70]])
  expect((await get('?shadow=true')).json.refusals).toMatchObject([{ user: 'dora', count: 70 }])
  expect(await shown('?limit=1')).toEqual([['carol', 50]])
  expect(await shown('?since=2026-11-20T10:09:59.975Z')).toEqual([['alice', 7]])
  for (const [query, path] of [
    ['?since=yesterday', 'since'],
    ['?limit=101', 'limit'],
    ['?order=count', 'order'],
  ]) {
    expect(await get(`/groups${query}`)).toMatchObject({ status: 400, json: { problems: [{ path }] } })
  }
  expect((await get('/users')).status).toBe(404)
})

const HOUR_MS = 3_600_000
/** Of a user of acme who was refused 4 times in two hours, and of one who was refused once. */
async function addRefusals(): Promise<void> {
  const episodes = [
    episode({
      user: 'alice',
      organisation: 'acme',
      first: NOW - 2 * HOUR_MS,
      last: NOW,
      count: 4,
      startedAt: NOW - 2 * HOUR_MS,
    }),
    episode({ user: 'bob', scope: 'Global', window: '1d', first: NOW, last: NOW, routes: ['POST /v1/x', 'GET /y'] }),
  ]
  await running.store.addUsage({ instance: 'i', sequence: 1, series: [], episodes })
}

test('refusals are counted by user, organisation, limit or route, the most first', async () => {
  await addRefusals()
  const groups = async (query: string) => {
    const { json } = await get(`/groups?since=1d&${query}`)
    return json.groups.map(
      ({ name, limit, count }: { name: string; limit: { window: string } | null; count: number }) => [
        limit === null ? name : limit.window,
        count,
      ],
    )
  }
  expect(await groups('by=user')).toEqual([
    ['alice', 4],
    ['bob', 1],
  ])
  expect(await groups('by=organisation')).toEqual([
    ['acme', 4],
    [null, 1],
  ])
  expect(await groups('by=limit')).toEqual([
    ['1h', 4],
    ['1d', 1],
  ])
  expect(await groups('by=route')).toEqual([
    ['POST /v1/x', 5],
    ['GET /y', 1],
  ])
  expect(await groups('part=ACM')).toEqual([['alice', 4]])
  const { json } = await get('/groups?limit=1')
  expect(json).toMatchObject({ count: 5, users: 2, scopes: { Personal: 4, Global: 1 }, more: 1 })
  expect(await get('/groups?by=plan')).toMatchObject({ status: 400, json: { problems: [{ path: 'by' }] } })
})

test('refusals over time are spread evenly from the first to the last, and add up to their number', async () => {
  await addRefusals()
  const { json } = await get('/groups?since=2026-11-20T08:00:00Z&step=1h')
  const steps = json.steps.map(({ start, Personal, Global }: { start: string; Personal: number; Global: number }) => [
    start,
    Personal,
    Global,
  ])
  expect(steps).toEqual([
    ['2026-11-20T08:00:00.000Z', 2, 0],
    ['2026-11-20T09:00:00.000Z', 2, 0],
    ['2026-11-20T10:00:00.000Z', 0, 1],
  ])
  const late = (await get('/groups?since=2026-11-20T10:00:00Z&step=30m&scope=Personal')).json
  expect(late.steps).toMatchObject([{ Personal: 4 }])
})

test('refusals over a time that is still to come are none, up to now', async () => {
  await addRefusals()
  for (const step of ['30m', '1h', '1d']) {
    const { status, json } = await get(`/groups?since=9999-12-31T23:59:59Z&step=${step}`)
    expect([status, json.count, json.groups, json.from]).toEqual([200, 0, [], '2026-11-20T10:10:00.000Z'])
    expect(json.steps).toMatchObject([{ Personal: 0, Organisation: 0, Global: 0 }])
  }
})

test('refusals that match come as CSV, however many pages they have', async () => {
  await addRefusals()
  const { text, headers } = await get('?format=csv&limit=1&since=2026-11-20')
  expect(headers['content-type']).toBe('text/csv; charset=utf-8')
  const [head, ...lines] = text.trim().split('\r\n')
  expect(head).toMatch(/^user,plan,organisation,category,scope,window,/)
  expect(lines.map((line) => line.split(',')[0]).sort()).toEqual(['alice', 'bob'])
  expect((await get('?format=csv&part=acme')).text.trim().split('\r\n')).toHaveLength(2)
})
