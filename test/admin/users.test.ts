import { request } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NOW, type Reply, type Running, startAdmin, TOKEN } from './running.ts'

const HOUR = 3_600_000
let running: Running
let clock = NOW
beforeEach(async () => {
  clock = NOW
  running = await startAdmin({ now: () => clock })
})
afterEach(() => running.stop())

const get = (path: string) => running.call('GET', path)
const put = (user: string, body: unknown, headers: Record<string, string> = {}) =>
  running.call('PUT', `/api/users/${encodeURIComponent(user)}/override`, { body, headers })
const override = { read: { '1h': 500 }, reason: 'a big event' }

const ODD = [
  'a/b',
  'a%2Fb',
  '100%',
  '用户',
  '"><img src=x onerror=alert(1)>',
  'a b?c#d',
  '__proto__',
  'x'.repeat(256),
  '⚡'.repeat(85),
  '..a',
]

async function all(query = '', limit = 3): Promise<Reply['json'][]> {
  const users = []
  let next: string | null = ''
  while (next !== null) {
    const { json }: Reply = await get(
      `/api/users?query=${encodeURIComponent(query)}&limit=${limit}${next && `&cursor=${next}`}`,
    )
    expect(json.users.length).toBeLessThanOrEqual(limit)
    users.push(...json.users)
    next = json.next
  }
  return users
}

describe('the list of users', () => {
  test('has everybody who has used something or has an override, each once, page by page', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `user-${i}`)
    for (const name of names) await running.spend(name, 'read', 5)
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
      },
    })
  })

  test('finds a part of the id, whatever its letter case', async () => {
    for (const name of ['Alice', 'malice', 'bob']) await running.spend(name, 'read', 1)
    await put('ALICE-2', override)
    expect((await all('alice', 1)).map(({ user }) => user).sort()).toEqual(['ALICE-2', 'Alice', 'malice'])
    expect(await all('%')).toEqual([])
  })

  test('by use begins with who is nearest to one of his limits', async () => {
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
    expect(await names('limit=5')).toEqual({ users: first, next: null })
    expect(await names('limit=1')).toEqual({ users: ['zero'], next: null })
    expect((await names('limit=7')).users).toEqual([...first, 'many-0', 'many-1'])
    expect(await names('query=R&limit=9')).toEqual({ users: ['zero', 'writer', 'raised'], next: null })
    expect((await get('/api/users?order=use&limit=2')).json.users[1]).toMatchObject({ user: 'beyond', blocked: true })
    clock += 5 * HOUR
    expect(await names('')).toEqual({ users: [], next: null })
  })

  test('tells who is blocked', async () => {
    await running.spend('alice', 'read', 120)
    await running.spend('bob', 'read', 118)
    await running.spend('carol', 'read', 119)
    const blocked = (await all()).filter(({ blocked }) => blocked)
    expect(blocked.map(({ user }) => user).sort()).toEqual(['alice', 'carol'])
  })

  test('forgets who has nothing running any more', async () => {
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
    [`query=${'x'.repeat(257)}`, 'query'],
    ['order=name', 'order'],
    ['qurey=a', 'qurey'],
  ])('refuses %s and names the field', async (query, path) => {
    expect(await get(`/api/users?${query}`)).toMatchObject({ status: 400, json: { problems: [{ path }] } })
  })
})

test('searches take the steps of the store in turn, however many look at once', async () => {
  const { store } = running
  let [underWay, most, steps] = [0, 0, 0]
  const slow = await startAdmin({
    store,
    broken: {
      async scanUsers(cursor) {
        most = Math.max(most, ++underWay)
        await new Promise((resolve) => setTimeout(resolve, 1))
        const { at } = await store.scanUsers(null)
        underWay--
        steps++
        return { at, users: [], next: Number(cursor) < 4 ? String(Number(cursor) + 1) : null }
      },
    },
  })
  try {
    const replies = await Promise.all([1, 2, 3, 4].map((n) => slow.call('GET', `/api/users?query=nobody${n}`)))
    expect(replies.map(({ status, json }) => [status, json.next])).toEqual(Array(4).fill([200, null]))
    expect({ most, steps }).toEqual({ most: 1, steps: 20 })
  } finally {
    await slow.stop()
  }
})

test('a search ends when its client leaves', async () => {
  const { store } = running
  let steps = 0
  const long = await startAdmin({
    store,
    broken: {
      async scanUsers() {
        const { at } = await store.scanUsers(null)
        await new Promise((resolve) => setTimeout(resolve, 5))
        return { at, users: [], next: String(++steps) }
      },
    },
  })
  try {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const client = request(new URL('/api/users?query=nobody', long.url), { headers })
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
  } finally {
    await long.stop()
  }
})

describe('a user', () => {
  test('is shown with each limit and the layers that made it', async () => {
    await running.spend('alice', 'read', 8)
    await running.call('PATCH', '/api/quota', {
      body: { mode: 'conservative', baselines: { personal: { read: { '5h': 200 } } } },
    })
    const { json, headers } = await get('/api/users/alice')
    expect(json.windows.read).toMatchObject([
      {
        scope: 'Personal',
        window: '1h',
        limit: 90,
        used: 8,
        remaining: 82,
        source: 'baseline x mode',
        steps: ['baseline 120 (tollgate.yaml:8)', 'mode conservative x 0.75'],
      },
      {
        scope: 'Personal',
        window: '5h',
        limit: 150,
        steps: ['baseline 200 (set at run time)', 'mode conservative x 0.75'],
      },
      { scope: 'Global', window: '1h', limit: 900, used: 8 },
      { scope: 'Global', window: '5h' },
    ])
    expect(json.override).toBeNull()
    expect(headers.etag).toBe('"0"')
  })

  test.each(ODD)('may have any id: %s', async (user) => {
    await running.spend(user, 'read', 3)
    const path = `/api/users/${encodeURIComponent(user)}`
    expect((await get(path)).json).toMatchObject({ user, windows: { read: [{ used: 3 }, { used: 3 }, {}, {}] } })
    expect((await put(user, override)).status).toBe(200)
    expect((await get(path)).json.override).toMatchObject({ limits: { read: { '1h': 500 } } })
    expect((await all()).map((each) => each.user)).toEqual([user])
    expect((await running.call('POST', `${path}/reset`, { body: { reason: 'r' } })).status).toBe(204)
    expect((await get(path)).json.windows.read[0].used).toBe(0)
    expect((await running.call('DELETE', `${path}/override`)).status).toBe(204)
    expect((await get('/api/audit')).json.entries.map((entry: { subject: string }) => entry.subject)).toEqual([
      user,
      user,
      user,
    ])
  })

  test.each(['%00', '%0A', 'x'.repeat(257), '%F0%9F%98%80'.repeat(65)])(
    'has an id that could be one: %s',
    async (id) => {
      const { status, json } = await get(`/api/users/${id}`)
      expect(['bad_request', 'not_found']).toContain(json.error)
      expect([400, 404]).toContain(status)
    },
  )
})

describe('an override', () => {
  test('is put, shown, put again in its place, and taken away', async () => {
    const made = await put('alice', { ...override, expiresAt: '2026-11-21T00:00:00+08:00' })
    expect(made.json).toEqual({
      version: 1,
      limits: { read: { '1h': 500 } },
      bypassGlobal: false,
      shadow: false,
      reason: 'a big event',
      expiresAt: '2026-11-20T16:00:00.000Z',
    })
    expect(made.headers.etag).toBe('"1"')
    expect((await get('/api/users/alice')).json.windows.read[0]).toMatchObject({ limit: 500, source: 'override' })
    expect((await put('alice', { bypassGlobal: true, reason: 'alone' })).json).toMatchObject({
      limits: {},
      bypassGlobal: true,
      expiresAt: null,
    })
    const { json } = await get('/api/users/alice')
    expect(json.windows.read.map((window: { scope: string }) => window.scope)).toEqual(['Personal', 'Personal'])
    expect((await running.call('DELETE', '/api/users/alice/override', { body: { reason: 'over' } })).status).toBe(204)
    expect((await get('/api/users/alice')).json.override).toBeNull()
    expect((await get('/api/audit')).json.entries).toMatchObject([
      { what: 'override', subject: 'alice', why: 'over', to: null, from: { bypassGlobal: true } },
      { what: 'override', subject: 'alice', why: 'alone', from: { limits: { read: { '1h': 500 } } } },
      { what: 'override', subject: 'alice', why: 'a big event', from: null, who: 'admin' },
    ])
  })

  test('has its end in the audit as a time like every other', async () => {
    const expiresAt = '2099-01-31T00:00:00.000Z'
    await put('alice', { read: { '1h': 5 }, reason: 'for now', expiresAt })
    await put('alice', { read: { '1h': 6 }, reason: 'for good' })
    expect((await get('/api/audit')).json.entries).toMatchObject([
      { from: { expiresAt }, to: { expiresAt: null } },
      { from: null, to: { expiresAt } },
    ])
  })

  test('that is not there cannot be taken away', async () => {
    expect(await running.call('DELETE', '/api/users/alice/override')).toMatchObject({
      status: 404,
      json: { error: 'not_found' },
    })
    expect((await get('/api/users/alice/override')).status).toBe(404)
    expect((await get('/api/audit')).json.entries).toEqual([])
  })

  test('is guarded by If-Match, each user apart', async () => {
    expect((await put('alice', override, { 'if-match': '"0"' })).status).toBe(200)
    expect((await put('bob', override, { 'if-match': '"0"' })).status).toBe(200)
    expect(await put('alice', override, { 'if-match': '"0"' })).toMatchObject({
      status: 412,
      json: { error: 'version_conflict', version: 1 },
    })
    const stale = await running.call('DELETE', '/api/users/alice/override', { headers: { 'if-match': '"7"' } })
    expect(stale).toMatchObject({ status: 412, json: { version: 1 } })
    expect((await running.call('DELETE', '/api/users/alice/override', { headers: { 'if-match': '"1"' } })).status).toBe(
      204,
    )
  })

  test('that is set already is no change', async () => {
    const expiresAt = new Date(clock + HOUR).toISOString()
    const first = await put('alice', { ...override, expiresAt })
    const again = await put('alice', { expiresAt, bypassGlobal: false, ...override, write: null })
    expect([again.status, again.json, again.headers.etag]).toEqual([200, first.json, '"1"'])
    expect((await get('/api/audit')).json.entries).toHaveLength(1)
    expect((await put('alice', { ...override, expiresAt, reason: 'another one' })).json.version).toBe(2)
  })

  test('that is not there is not what If-Match: * asks for', async () => {
    const any = { 'if-match': '*' }
    const remove = () => running.call('DELETE', '/api/users/alice/override', { headers: any })
    const none = { status: 412, headers: { etag: '"0"' }, json: { error: 'version_conflict', version: 0 } }
    expect(await put('alice', override, any)).toMatchObject(none)
    expect(await remove()).toMatchObject(none)
    expect((await put('alice', override)).status).toBe(200)
    expect((await put('alice', { ...override, shadow: true }, any)).status).toBe(200)
    expect((await remove()).status).toBe(204)
    await put('alice', { ...override, expiresAt: new Date(clock + HOUR).toISOString() })
    clock += HOUR
    expect(await put('alice', override, any)).toMatchObject(none)
  })

  test('is not changed under a condition that nobody judges', async () => {
    await put('alice', override)
    expect(await put('alice', { ...override, shadow: true }, { 'if-none-match': '*' })).toMatchObject({
      status: 400,
      json: { problems: [{ path: 'If-None-Match', msg: expect.stringContaining('send If-Match, with "0"') }] },
    })
    expect((await get('/api/users/alice/override')).json.shadow).toBe(false)
  })

  test('that has expired is gone by itself, and the next one is put as if there had been none', async () => {
    await put('alice', { ...override, expiresAt: new Date(clock + HOUR).toISOString() })
    clock += HOUR
    const { json, headers } = await get('/api/users/alice')
    expect(json.override).toBeNull()
    expect(json.windows.read[0]).toMatchObject({ limit: 120, source: 'baseline' })
    expect((await put('alice', override, { 'if-match': headers.etag ?? '' })).status).toBe(200)
    expect((await get('/api/users/alice')).json.override).toMatchObject({ expiresAt: null })
  })

  test.each([
    ['without a reason', { read: { '1h': 5 } }, 'reason'],
    ['that sets nothing', { reason: 'r' }, ''],
    ['of a category unknown', { raed: { '1h': 5 }, reason: 'r' }, 'raed'],
    ['of a window unknown', { read: { '1hour': 5 }, reason: 'r' }, 'read.1hour'],
    ['with a limit that is text', { read: { '1h': '5' }, reason: 'r' }, 'read.1h'],
    ['that ends in the past', { ...override, expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    ['that ends at a time without offset', { ...override, expiresAt: '2030-01-01T00:00:00' }, 'expiresAt'],
    ['that is no object', '"x"', ''],
  ])('%s is refused at its field', async (_what, body, path) => {
    expect(await put('alice', body)).toMatchObject({
      status: 400,
      json: { error: 'bad_request', problems: [{ path }] },
    })
  })
})

test('null in an override is what is missing', async () => {
  const nothing = { write: null, bypassGlobal: null, shadow: null, expiresAt: null }
  expect(await put('alice', { ...override, ...nothing })).toMatchObject({
    status: 200,
    json: { limits: { read: { '1h': 500 } }, bypassGlobal: false, shadow: false, expiresAt: null },
  })
})

test.each(['2030-01-31T00:00Z', '2030-01-31T24:00:00Z', '9999-12-31T23:59:59-00:01'])(
  'an end at %s, which the API could not tell, is refused with the cure',
  async (expiresAt) => {
    const refused = {
      status: 400,
      json: { problems: [{ path: 'expiresAt', msg: expect.stringMatching(/^must be a time with its offset, for/) }] },
    }
    expect(await put('alice', { ...override, expiresAt })).toMatchObject(refused)
    const token = { user: 'alice', name: 'phone', expiresAt }
    expect(await running.call('POST', '/api/tokens', { body: token })).toMatchObject(refused)
  },
)

describe('a reset', () => {
  const reset = (body: unknown) => running.call('POST', '/api/users/alice/reset', { body })

  test('has no version, so that If-Match is refused rather than passed over', async () => {
    await running.spend('alice', 'read', 120)
    for (const tag of ['"0"', '"7"', '*']) {
      const headers = { 'if-match': tag }
      const reply = await running.call('POST', '/api/users/alice/reset', { body: { reason: 'r' }, headers })
      expect(reply).toMatchObject({
        status: 400,
        json: { error: 'bad_request', problems: [{ path: 'If-Match', msg: expect.stringContaining('leave it out') }] },
      })
    }
    expect((await get('/api/users/alice')).json.windows.read[0].used).toBe(120)
    expect((await get('/api/audit')).json.entries).toEqual([])
  })

  test("empties the user's windows, and nobody else's", async () => {
    await running.spend('alice', 'read', 100)
    await running.spend('bob', 'read', 50)
    expect((await reset({ reason: 'a bug of ours' })).status).toBe(204)
    expect((await get('/api/users/alice')).json.windows.read).toMatchObject([
      { used: 0 },
      { used: 0 },
      { scope: 'Global', used: 150 },
      {},
    ])
    expect((await get('/api/users/bob')).json.windows.read[0].used).toBe(50)
    expect((await get('/api/audit')).json.entries).toMatchObject([
      { what: 'reset', subject: 'alice', why: 'a bug of ours', who: 'admin' },
    ])
  })

  test.each([[{}], [{ reason: '' }], [{ reason: ' ' }], [{ reason: 'a\nb' }], [{ reason: 7 }], [undefined]])(
    'needs a reason: %j',
    async (body) => {
      await running.spend('alice', 'read', 100)
      expect(await reset(body)).toMatchObject({ status: 400, json: { error: 'bad_request' } })
      expect((await get('/api/users/alice')).json.windows.read[0].used).toBe(100)
    },
  )
})

test.each([
  ['POST', '/api/users/alice/reset', [], '', 'must be a JSON object with reason'],
  ['POST', '/api/users/alice/reset', undefined, '', 'must be a JSON object with reason'],
  ['POST', '/api/users/alice/reset', { reason: 'r', user: 'bob' }, 'user', 'unknown field "user"; there is reason'],
  ['DELETE', '/api/users/alice/override', [], '', 'must be a JSON object with reason'],
  ['DELETE', '/api/users/alice/override', { raeson: 'r' }, 'raeson', 'unknown field "raeson"; did you mean "reason"?'],
  ['DELETE', '/api/tokens/x', { force: true }, 'force', 'unknown field "force"; there is reason'],
  ['POST', '/api/tokens', 'null', '', 'must be a JSON object with user, name, expiresAt, reason'],
  ['POST', '/api/session', [], '', 'must be a JSON object with token'],
])('%s %s with the body %j says what is wrong and the cure', async (method, path, body, field, msg) => {
  const { status, json } = await running.call(method, path, { body })
  expect([status, json.problems]).toEqual([400, [{ path: field, msg }]])
})

test('the audit is read page by page', async () => {
  for (let i = 0; i < 5; i++) await running.call('POST', '/api/users/alice/reset', { body: { reason: `${i}` } })
  const whys: string[] = []
  let before = ''
  for (let pages = 0; pages < 3; pages++) {
    const { json } = await get(`/api/audit?limit=2${before}`)
    whys.push(...json.entries.map(({ why }: { why: string }) => why))
    before = `&before=${json.next}`
    expect(json.next === null).toBe(pages === 2)
  }
  expect(whys).toEqual(['4', '3', '2', '1', '0'])
  // A full page that ends with the very first change is the last one.
  expect((await get('/api/audit?limit=5')).json.next).toBeNull()
  for (const before of ['x', '0', '1e1', '', '9007199254740992'])
    expect(await get(`/api/audit?before=${before}`)).toMatchObject({
      status: 400,
      json: { problems: [{ path: 'before' }] },
    })
})
