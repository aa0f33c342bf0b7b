import { request } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { sessionCookie } from '../../../src/admin/session-cookie.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { closedAtEnd } from '../../setup/at-end.ts'
import { sharedRedis } from '../../setup/redis.ts'
import { whenReady } from '../../store/redis/ready.ts'
import { NOW, type Reply, type Running, startAdmin, TOKEN, YAML } from '../running.ts'

const HOUR = 3_600_000
let running: Running
let clock = NOW
beforeEach(async () => {
  clock = NOW
  running = await startAdmin({ now: () => clock })
})

async function startOn(kind: string, yaml = YAML): Promise<void> {
  if (kind === 'Redis') {
    const store = closedAtEnd(openRedisStore({ ...(await sharedRedis()), deadlineMs: 5000, observe: () => {} }))
    await whenReady(store)
    running = await startAdmin({ store, yaml, now: Date.now })
  } else running = await startAdmin({ yaml, now: () => clock })
}

/** Another listener on the store of the test, some of whose calls are these. */
const beside = (broken: Partial<Store>) => startAdmin({ store: running.store, broken })

const get = (path: string) => running.call('GET', path)
const put = (user: string, body: unknown) => running.call('PUT', `/api/users/${user}/override`, { body })
const override = { read: { '1h': 500 }, reason: 'a big event' }

async function all(query = '', limit = 3, filter = ''): Promise<Reply['json'][]> {
  const users = []
  let next: string | null = ''
  while (next !== null) {
    const { json }: Reply = await get(
      `/api/users?query=${encodeURIComponent(query)}&limit=${limit}${filter}${next && `&cursor=${next}`}`,
    )
    expect(json.users.length).toBeLessThanOrEqual(limit)
    users.push(...json.users)
    next = json.next
  }
  return users
}

describe('the list of users', () => {
  test('the list of users has everybody who has used something or has an override, each once, page by page', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `user-${i}`)
    for (const name of names) await running.spend(name, 'read', 5)
    await running.spend('user-7', 'write', 9)
    await put('user-7', override)
    await put('idle', override)
    const users = await all()
    expect(users.map(({ user }) => user).sort()).toEqual([...names, 'idle'].sort())
    expect(users.slice(0, 2).map(({ user }) => user)).toEqual(['idle', 'user-7'])
    expect(users[1]).toMatchObject({
      override: { limits: { read: { '1h': 500 } }, reason: 'a big event' },
      windows: {
        read: [
          { scope: 'Personal', window: '1h', limit: 500, used: 5 },
          { window: '5h', limit: 400 },
        ],
        write: [
          { window: '1h', used: 9 },
          { window: '5h', used: 9 },
        ],
      },
    })
  })

  test('the list of users finds a part of the id, whatever its letter case', async () => {
    for (const name of ['Alice', 'malice', 'bob']) await running.spend(name, 'read', 1)
    await put('ALICE-2', override)
    expect((await all('alice', 1)).map(({ user }) => user).sort()).toEqual(['ALICE-2', 'Alice', 'malice'])
    expect(await all('%')).toEqual([])
  })

  describe.each(['embedded', 'Redis'])('in the store %s', (kind) => {
    test('the list of users in the store begins with the user whose id is what is searched for, and has that user once', async () => {
      await startOn(kind)
      for (let i = 0; i < 300; i++) await running.spend(`bob-${i}`, 'read', 2)
      await running.spend('bob', 'read', 1)
      await put('bob-with-more', override)
      for (const [order, last] of [['', 302] as const, ['&order=use', 4] as const]) {
        const { json } = await get(`/api/users?query=bob&limit=4${order}`)
        expect(json.users.map(({ user }: { user: string }) => user)).toEqual([
          'bob',
          ...Array(3).fill(expect.any(String)),
        ])
        expect(json.users[0]).toMatchObject({ windows: { read: [{ window: '1h', used: 1 }, {}] } })
        const found = order === '' ? await all('bob', 4) : json.users
        expect(new Set(found.map(({ user }: { user: string }) => user)).size).toBe(last)
        expect(found.length).toBe(last)
      }
      expect((await get('/api/users?query=bob&limit=1')).json).toMatchObject({ users: [{ user: 'bob' }] })
      expect((await all('bob', 1)).length).toBe(302)
      expect((await all('bob-with-more')).map(({ user }) => user)).toEqual(['bob-with-more'])
      expect(await all('bob-9999')).toEqual([])
    })
  })

  test('the list of users by use begins with whoever is nearest to one of his limits', async () => {
    const spent: [string, string, number][] = [
      ['half', 'read', 60],
      ['beyond', 'read', 150],
      ['tiny', 'read', 1],
      ['writer', 'write', 59],
      ['raised', 'read', 110],
      ['zero', 'read', 1],
    ]
    for (const [name, category, cost] of spent) await running.spend(name, category, cost)
    for (let i = 0; i < 600; i++) await running.spend(`many-${i}`, 'read', 2)
    await put('raised', { read: { '1h': 1000, '5h': 1000 }, reason: 'a big event' })
    await put('zero', { read: { '1h': 0 }, reason: 'too much' })
    await put('idle', override)
    const names = async (query: string) => {
      const { json } = await get(`/api/users?order=use&${query}`)
      return { users: json.users.map(({ user }: { user: string }) => user), next: json.next }
    }
    const first = ['zero', 'beyond', 'writer', 'half', 'raised']
    expect(await names('limit=5')).toEqual({ users: first, next: '5' })
    expect(await names('limit=1')).toEqual({ users: ['zero'], next: '1' })
    expect((await names('limit=7')).users).toEqual([...first, 'many-0', 'many-1'])
    expect((await names('limit=2&cursor=3')).users).toEqual(['half', 'raised'])
    expect((await names('limit=2&cursor=605')).users).toEqual(['tiny', 'idle'])
    expect(await names('query=R&limit=9')).toEqual({ users: ['zero', 'writer', 'raised'], next: null })
    expect((await get('/api/users?order=use&limit=2')).json.users[1]).toMatchObject({ user: 'beyond', blocked: true })
    // Whoever used most, whatever the limits are.
    const { json } = await get('/api/users?order=tokens&limit=4')
    expect(json.users.map(({ user }: { user: string }) => user)).toEqual(['beyond', 'raised', 'half', 'writer'])
    clock += 5 * HOUR
    // A limit of 0 is full also where nothing was used.
    expect(await names('')).toEqual({ users: ['zero', 'idle', 'raised'], next: null })
  })

  test('the list of users in an order counts everybody, and those of each filter', async () => {
    const exempt = await startAdmin({
      store: running.store,
      yaml: YAML.replace('quota:\n', 'quota:\n  exempt: { users: [monitoring] }\n'),
      now: () => clock,
    })
    for (const [user, cost] of Object.entries({ full: 120, near: 100, calm: 5 }))
      await running.spend(user, 'read', cost)
    await put('raised', override)
    const counts = { all: 5, near: 2, refused: 0, override: 1, exempt: 1, blocked: 1, shadow: 0 }
    const list = async (query: string) => (await exempt.call('GET', `/api/users?order=use${query}`)).json
    const ids = async (query: string) => (await list(query)).users.map(({ user }: { user: string }) => user)
    expect(await list('&limit=2')).toMatchObject({ total: 5, counts, complete: true, next: '2' })
    expect(await list('&near=true')).toMatchObject({ total: 2, counts })
    expect(await ids('&near=true')).toEqual(['full', 'near'])
    expect(await ids('&exempt=true')).toEqual(['monitoring'])
    expect((await list('&query=ear')).counts).toMatchObject({ all: 1, near: 1, blocked: 0 })
  })

  test('the list of users has of each the window nearest to its limit, the tokens, and which window will be full when', async () => {
    await running.spend('alice', 'read', 50)
    await running.spend('alice', 'write', 10)
    clock += HOUR / 2
    await running.spend('alice', 'read', 10)
    await running.spend('idle', 'read', 0)
    const { json } = await get('/api/users?order=full')
    expect(json.users[0]).toMatchObject({
      user: 'alice',
      worst: { category: 'read', window: '1h', used: 60, limit: 120, resetAt: new Date(NOW + HOUR).toISOString() },
      tokens: 70,
      refused: 0,
      // 60 tokens in half an hour leave none of 120 when the hour ends, 240 of the other window in 2 hours.
      forecast: { category: 'read', window: '5h' },
    })
  })

  test('the list of users has the tokens beyond a soft limit of the window nearest to its limit', async () => {
    await put('alice', { read: { '1h': { limit: 50, over: 20 } }, reason: 'a big event' })
    await running.spend('alice', 'read', 60)
    const { json } = await get('/api/users?order=use')
    expect(json.users).toMatchObject([{ user: 'alice', blocked: false, worst: { used: 60, limit: 50, over: 20 } }])
  })

  test('the list of users by use places whoever may use nothing of one window by what he has used of another', async () => {
    await running.spend('alice', 'read', 5)
    await put('alice', { read: { '1h': 0 }, reason: 'too much' })
    clock += HOUR
    expect((await get('/api/users?order=use')).json.users).toMatchObject([{ user: 'alice' }])
  })

  test('the list of users shows who is blocked', async () => {
    await running.spend('alice', 'read', 120)
    await running.spend('bob', 'read', 118)
    await running.spend('carol', 'read', 119)
    const blocked = (await all()).filter(({ blocked }) => blocked)
    expect(blocked.map(({ user }) => user).sort()).toEqual(['alice', 'carol'])
  })

  test('the list of users forgets whoever has nothing running any more', async () => {
    await running.spend('alice', 'read', 120)
    clock += 5 * HOUR
    expect(await all()).toEqual([])
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=x', 'limit'],
    ['limit=', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=0x10', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=nonsense', 'cursor'],
    [`cursor=${Buffer.from('["nowhere",null,null]').toString('base64url')}`, 'cursor'],
    [`query=${'x'.repeat(257)}`, 'query'],
    ['order=colour', 'order'],
    ['order=use&cursor=next', 'cursor'],
    ['near=true', 'near'],
    ['exempt=true', 'exempt'],
    ['blocked=false', 'blocked'],
    ['override=true&override=true', 'override'],
    ['shadow=', 'shadow'],
    ['plan=gold', 'plan'],
    ['recent=1h', 'recent'],
    ['recent=24h&limit=51', 'limit'],
    ['qurey=a', 'qurey'],
  ])('the list of users refuses %s and names the field', async (query, path) => {
    expect(await get(`/api/users?${query}`)).toMatchObject({ status: 400, json: { problems: [{ path }] } })
  })
})

describe.each(['embedded', 'Redis'])('the filters of the list of users, in the store %s', (kind) => {
  const PLANS = YAML.replace('quota:\n', 'quota:\n  plans: { gold: { personal: { read: { 1h: 200 } } }, free: {} }\n')
  /** Of 120 tokens of read; a request costs 2. */
  async function fill(): Promise<void> {
    await startOn(kind, PLANS)
    const spent = { full: 119, 'full-gold': 199, gold: 119, raised: 119, 'shadow-full': 4, calm: 5 }
    for (const [user, cost] of Object.entries(spent)) await running.spend(user, 'read', cost)
    const payer = (user: string) => ({ user, organisation: user === 'gold' ? 'acme' : null, plan: 'gold' })
    await running.store.noteMemberships([payer('full-gold'), payer('gold')], HOUR)
    await put('raised', override)
    await put('shadow-full', { read: { '1h': 4 }, shadow: true, reason: 'a trial' })
    await put('idle-gold', { plan: 'gold', reason: 'a friend' })
    await put('void', { read: { '1h': 0 }, reason: 'abuse' })
  }

  const found = async (query: string): Promise<string[]> => {
    const { json } = await get(`/api/users?${query}`)
    return json.users.map(({ user }: { user: string }) => user)
  }

  test('the filters of the list of users, in the store find whoever is blocked, has an override, a plan or shadow, also together, with a search and an order', async () => {
    await fill()
    const blocked = ['full', 'full-gold', 'void']
    expect((await found('blocked=true')).sort()).toEqual(blocked)
    expect(await found('override=true')).toEqual(['idle-gold', 'raised', 'shadow-full', 'void'])
    expect(await found('shadow=true')).toEqual(['shadow-full'])
    expect((await found('plan=gold')).sort()).toEqual(['full-gold', 'gold', 'idle-gold'])
    expect(await found('plan=free')).toEqual([])
    expect(await found('organisation=acme')).toEqual(['gold'])
    expect(await found('organisation=acme&order=tokens&recent=24h&limit=25')).toEqual(['gold'])
    expect(await found('organisation=acme&blocked=true')).toEqual([])
    expect((await get('/api/users?query=gold&plan=gold&limit=1')).json.users[0]).toMatchObject({ organisation: 'acme' })
    expect(await found('plan=gold&blocked=true')).toEqual(['full-gold'])
    expect(await found('plan=gold&override=true')).toEqual(['idle-gold'])
    expect((await found('blocked=true&query=FULL')).sort()).toEqual(['full', 'full-gold'])
    expect(await found('blocked=true&query=full&limit=1')).toEqual(['full'])
    // Whoever is named exactly is no exception.
    expect(await found('blocked=true&query=calm')).toEqual([])
    expect(await found('shadow=true&query=raised')).toEqual([])
    expect(await found('blocked=true&order=tokens')).toEqual(['full-gold', 'full', 'void'])
    expect(await found('blocked=true&order=-tokens')).toEqual(['void', 'full', 'full-gold'])
    expect(await found('plan=gold&order=use')).toEqual(['full-gold', 'gold', 'idle-gold'])
    expect(await found('override=true&order=tokens')).toEqual(['raised', 'shadow-full', 'idle-gold', 'void'])
    expect(await found('order=-name&query=gold')).toEqual(['gold', 'idle-gold', 'full-gold'])
  })

  test('the filters of the list of users, in the store have what each used lately, in steps', async () => {
    await fill()
    const { json } = await get('/api/users?plan=gold&recent=24h&limit=50')
    // The store is new: what was used before is not known.
    expect(json.recent).toMatchObject({ window: '1h', complete: false })
    const uses = json.users.map(({ user, recent }: Reply['json']) => [user, recent.tokens, recent.steps.at(-1)])
    expect(uses.toSorted()).toEqual([
      ['full-gold', 199, 199],
      ['gold', 119, 119],
      ['idle-gold', 0, 0],
    ])
    expect(json.users[0].recent.steps.length).toBe(24)
  })

  test('the filters of the list of users, in the store have each once, page by page', async () => {
    await fill()
    const users = await all('', 1, '&blocked=true')
    expect(users.map(({ user }) => user).sort()).toEqual(['full', 'full-gold', 'void'])
  })
})

test('what was used a day ago is in an earlier step, and what was used before is in none', async () => {
  await running.spend('alice', 'read', 5)
  clock += 30 * HOUR
  await running.spend('alice', 'write', 3)
  clock += 2 * HOUR
  const recent = async (range: string) => (await get(`/api/users?recent=${range}`)).json.users[0].recent
  const day = await recent('24h')
  expect([day.tokens, day.steps.length, day.steps.at(-3) + day.steps.at(-2)]).toEqual([3, 24, 3])
  expect(await recent('7d')).toEqual({ tokens: 8, steps: [0, 0, 0, 0, 5, 0, 3] })
})

test('whoever is to have an override is found without a look at everybody', async () => {
  for (const user of ['a', 'b', 'c']) await put(user, override)
  await running.spend('a', 'read', 2)
  let scans = 0
  const seen = await beside({
    scanUsers(cursor) {
      scans++
      return running.store.scanUsers(cursor)
    },
  })
  for (const query of ['override=true', 'shadow=true']) {
    expect(await seen.call('GET', `/api/users?${query}`)).toMatchObject({ status: 200, json: { next: null } })
  }
  expect(scans).toBe(0)
})

test('a filter reads the use of so many with an override and no more, and the next page goes on', async () => {
  const lines = Array.from({ length: 1500 }, (_, i) =>
    JSON.stringify({ user: `u${i}`, read: { '1h': 500 }, reason: 'many' }),
  )
  const headers = { 'content-type': 'application/x-ndjson' }
  const file = await running.call('PUT', '/api/overrides', { headers, body: lines.join('\n') })
  expect(file).toMatchObject({ status: 200, json: { added: 1500 } })
  let reads = 0
  const counted = await beside({
    readUsage(...wish: Parameters<Store['readUsage']>) {
      reads++
      return running.store.readUsage(...wish)
    },
  })
  const first = await counted.call('GET', '/api/users?blocked=true')
  // One of them is of the global windows, once for each page.
  expect([first.json.users, reads]).toEqual([[], 1001])
  const second = await counted.call('GET', `/api/users?blocked=true&cursor=${first.json.next}`)
  expect([second.json, reads]).toEqual([{ users: [], next: null }, 1502])
})

test('searches take the steps of the store in turn, however many look at once', async () => {
  let [underWay, most, steps] = [0, 0, 0]
  const slow = await beside({
    async scanUsers(cursor) {
      most = Math.max(most, ++underWay)
      await new Promise((resolve) => setTimeout(resolve, 1))
      const { at } = await running.store.scanUsers(null)
      underWay--
      steps++
      return { at, owners: [], next: Number(cursor) < 4 ? String(Number(cursor) + 1) : null }
    },
  })
  const searches = ['query=a', 'query=b', 'order=use&query=a', 'order=use&query=b']
  const replies = await Promise.all(searches.map((query) => slow.call('GET', `/api/users?${query}`)))
  expect(replies.map(({ status, json }) => [status, json.next])).toEqual(Array(4).fill([200, null]))
  expect({ most, steps }).toEqual({ most: 1, steps: 20 })
})

test.each([
  ['', 100_000],
  ['&blocked=true', 25_000],
])('a search looks at so many users and no more, and the next page goes on: %j', async (order, size) => {
  const from: (string | null)[] = []
  const crowd = Array(size).fill({ id: 'somebody', counters: new Map() })
  const large = await beside({
    async scanUsers(step) {
      from.push(step)
      return { at: clock, owners: crowd, next: String(from.length) }
    },
  })
  const { json } = await large.call('GET', `/api/users?query=nobody${order}`)
  expect([json.users, from]).toEqual([[], [null, '1']])
  await large.call('GET', `/api/users?query=nobody${order}&cursor=${json.next}`)
  expect(from.slice(2)).toEqual(['2', '3'])
})

test('a search leaves the process to others between two steps, also of a store that responds at once', async () => {
  let turns = 0
  const seen: number[] = []
  const quick = await beside({
    async scanUsers() {
      seen.push(turns)
      setImmediate(() => turns++)
      return { at: clock, owners: [], next: seen.length < 3 ? String(seen.length) : null }
    },
  })
  await quick.call('GET', '/api/users?query=nobody')
  expect(seen).toEqual([0, 1, 2])
})

test('a list has whoever has something running at the time of the reading, not at that of the question', async () => {
  const { store } = running
  const counters = new Map([['read', [{ seconds: 3600, startedAt: clock, used: 5 }]]])
  const later = await startAdmin({
    store,
    now: () => clock,
    broken: { scanUsers: async () => ({ at: clock + HOUR, owners: [{ id: 'alice', counters }], next: null }) },
  })
  expect((await later.call('GET', '/api/users')).json.users).toEqual([])
})

test.each(['', '&order=use'])('a search ends when its client leaves: %j', async (order) => {
  let steps = 0
  const long = await beside({
    async scanUsers() {
      const { at } = await running.store.scanUsers(null)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return { at, owners: [], next: String(++steps) }
    },
  })
  const headers = { authorization: `Bearer ${TOKEN}` }
  const client = request(new URL(`/api/users?query=nobody${order}`, long.url), { headers })
  client.on('error', () => {})
  client.end()
  await expect.poll(() => steps).toBeGreaterThan(2)
  client.destroy()
  await expect
    .poll(async () => {
      const before = steps
      await new Promise((resolve) => setTimeout(resolve, 100))
      return steps - before
    })
    .toBe(0)
})

test('a search does not begin for a client that left while the store was asked about the session', async () => {
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
  let steps = 0
  const long = await beside({
    isSessionEnded() {
      asked.resolve()
      return left.promise
    },
    async scanUsers() {
      const { at } = await running.store.scanUsers(null)
      return { at, owners: [], next: String(++steps) }
    },
  })
  const [cookie = ''] = sessionCookie({ name: 'admin', role: 'admin', token: TOKEN }, NOW + HOUR, false).split(';', 1)
  const client = request(new URL('/api/users?query=nobody', long.url), { headers: { cookie } })
  client.on('error', () => {})
  client.end()
  await asked.promise
  client.destroy()
  // When this has its response, the listener has seen the other connection close.
  await long.call('GET', '/livez')
  left.resolve(false)
  await long.call('GET', '/livez')
  expect(steps).toBeLessThan(2)
})
