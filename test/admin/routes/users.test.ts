import { beforeEach, describe, expect, test } from 'vitest'
import { NOW, type Running, startAdmin } from '../running.ts'

const HOUR = 3_600_000
let running: Running
let clock = NOW
beforeEach(async () => {
  clock = NOW
  running = await startAdmin({ now: () => clock })
})

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

test('a block that ends before its window ends at one moment for the page, the list, the preview and the explanation', async () => {
  await running.spend('alice', 'read', 50)
  const expiresAt = new Date(NOW + 300_000).toISOString()
  for (const limit of [0, 50]) {
    await put('alice', { read: { '1h': limit }, reason: 'for a moment', expiresAt })
    const { standing } = (await get('/api/users/alice')).json
    expect(standing).toMatchObject({ state: 'refused', by: { window: '1h', resetAt: expiresAt } })
    expect((await get('/api/users?blocked=true')).json.users).toMatchObject([{ user: 'alice', standing }])
    const preview = (body: unknown) => running.call('POST', '/api/quota/preview', { body })
    expect((await preview({ mode: 'loose' })).json.blocked).toMatchObject([{ user: 'alice', resetAt: expiresAt }])
    const { reasons } = (await get('/api/explain?user=alice&method=GET&path=/v1/trial')).json
    expect(JSON.stringify(reasons)).toContain(expiresAt)
  }
  const tight = { baselines: { personal: { read: { '1h': 20 } } } }
  const { json } = await running.call('POST', '/api/quota/preview', { body: tight })
  expect(json.blocked).toMatchObject([{ user: 'alice', resetAt: new Date(NOW + HOUR).toISOString() }])
})

test('an override within an organisation is shown as it is enforced, also where nothing else hangs on an organisation', async () => {
  await running.store.noteMemberships([{ user: 'alice', plan: null, organisation: 'acme' }], 35 * 24 * HOUR)
  await put('alice', { read: { '1h': 5 }, within: 'acme', reason: 'its share' })
  const page = (await get('/api/users/alice')).json
  expect(page.windows.read[0]).toMatchObject({ window: '1h', limit: 5 })
  const explained = (await get('/api/explain?user=alice&method=GET&path=/v1/trial')).json
  expect(explained.limits[0]).toMatchObject({ window: '1h', limit: 5 })
})

test('a user is shown with each limit and the layers that made it', async () => {
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

test('a user is shown with the use of each category, until the window ends', async () => {
  await running.spend('alice', 'read', 8)
  await running.spend('alice', 'write', 3)
  const used = async () => {
    const { windows } = (await get('/api/users/alice')).json
    return [windows.read, windows.write].map((each) => each.map((window: { used: number }) => window.used))
  }
  expect(await used()).toEqual([
    [8, 8, 8, 8],
    [3, 3, 3, 3],
  ])
  clock += HOUR
  expect(await used()).toEqual([
    [0, 8, 0, 8],
    [0, 3, 0, 3],
  ])
})

test.each(ODD)('a user may have any id: %s', async (user) => {
  await running.spend(user, 'read', 3)
  const path = `/api/users/${encodeURIComponent(user)}`
  expect((await get(path)).json).toMatchObject({ user, windows: { read: [{ used: 3 }, { used: 3 }, {}, {}] } })
  expect((await put(user, override)).status).toBe(200)
  expect((await get(path)).json.override).toMatchObject({ limits: { read: { '1h': 500 } } })
  expect((await get('/api/users')).json.users.map((each: { user: string }) => each.user)).toEqual([user])
  expect((await running.call('POST', `${path}/reset`, { body: { reason: 'r' } })).status).toBe(204)
  expect((await get(path)).json.windows.read[0].used).toBe(0)
  expect((await running.call('DELETE', `${path}/override`)).status).toBe(200)
  expect((await get('/api/audit')).json.entries.map((entry: { subject: string }) => entry.subject)).toEqual([
    user,
    user,
    user,
  ])
})

test.each(['%00', '%0A', 'x'.repeat(257), '%F0%9F%98%80'.repeat(65)])(
  'a user has an id that could be one: %s',
  async (id) => {
    const { status, json } = await get(`/api/users/${id}`)
    expect(['bad_request', 'not_found']).toContain(json.error)
    expect([400, 404]).toContain(status)
  },
)

describe('an override', () => {
  test('an override is put, shown, put again in its place, and taken away', async () => {
    const made = await put('alice', { ...override, expiresAt: '2026-11-21T00:00:00+08:00' })
    const { ends, ...set } = made.json
    expect(ends).toMatchObject({ added: [{ until: '2026-11-20T16:00:00.000Z' }], dropped: [], guards: [] })
    expect(set).toEqual({
      exempt: false,
      unseen: true,
      warnings: [],
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
    const gone = await running.call('DELETE', '/api/users/alice/override', { body: { reason: 'over' } })
    expect(gone).toMatchObject({ status: 200, json: { ends: { added: [], dropped: [], guards: [] } } })
    expect((await get('/api/users/alice')).json.override).toBeNull()
    expect((await get('/api/audit')).json.entries).toMatchObject([
      { what: 'override', subject: 'alice', why: 'over', to: null, from: { bypassGlobal: true } },
      { what: 'override', subject: 'alice', why: 'alone', from: { limits: { read: { '1h': 500 } } } },
      { what: 'override', subject: 'alice', why: 'a big event', from: null, who: 'admin' },
    ])
  })

  test('an override has its end in the audit as a time like every other', async () => {
    const expiresAt = '2099-01-31T00:00:00.000Z'
    await put('alice', { read: { '1h': 5 }, reason: 'for now', expiresAt })
    await put('alice', { read: { '1h': 6 }, reason: 'for good' })
    expect((await get('/api/audit')).json.entries).toMatchObject([
      { from: { expiresAt }, to: { expiresAt: null } },
      { from: null, to: { expiresAt } },
    ])
  })

  test('an override that is not there cannot be taken away', async () => {
    expect(await running.call('DELETE', '/api/users/alice/override')).toMatchObject({
      status: 404,
      json: { error: 'not_found' },
    })
    expect((await get('/api/users/alice/override')).status).toBe(404)
    expect((await get('/api/audit')).json.entries).toEqual([])
  })

  test('an override is guarded by If-Match, each user apart', async () => {
    expect((await put('alice', override, { 'if-match': '"0"' })).status).toBe(200)
    expect((await put('bob', override, { 'if-match': '"0"' })).status).toBe(200)
    expect(await put('alice', override, { 'if-match': '"0"' })).toMatchObject({
      status: 412,
      json: { error: 'version_conflict', version: 1 },
    })
    const stale = await running.call('DELETE', '/api/users/alice/override', { headers: { 'if-match': '"7"' } })
    expect(stale).toMatchObject({ status: 412, json: { version: 1 } })
    expect((await running.call('DELETE', '/api/users/alice/override', { headers: { 'if-match': '"1"' } })).status).toBe(
      200,
    )
  })

  test('an override with an end lies above the one without, comes with its layers, and gives way to it at its end', async () => {
    await put('etl', { read: { '1h': 3000 }, reason: 'OPS-1423' })
    const until = new Date(clock + HOUR).toISOString()
    const raised = await put('etl', { read: { '1h': 4500 }, reason: 'half as much again', expiresAt: until })
    expect(raised.json).toMatchObject({
      limits: { read: { '1h': 4500 } },
      expiresAt: until,
      layers: [
        {
          until,
          state: 'in_force',
          value: { limits: { read: { '1h': 4500 } } },
          who: 'admin',
          why: 'half as much again',
        },
        { id: 'permanent', until: null, state: 'covered', value: { reason: 'OPS-1423' } },
      ],
      ends: { added: [{ until }], dropped: [] },
    })
    const blocked = await put('etl', {
      read: { '1h': 0 },
      reason: 'a loop',
      expiresAt: new Date(clock + 60_000).toISOString(),
    })
    expect(blocked.json.layers).toHaveLength(3)
    const limit = async () => (await get('/api/users/etl/override')).json.limits.read['1h']
    expect(await limit()).toBe(0)
    clock += 60_000
    expect(await limit()).toBe(4500)
    clock += HOUR
    expect((await get('/api/users/etl/override')).json).toMatchObject({ reason: 'OPS-1423', expiresAt: null })
    expect((await get('/api/users/etl/override')).json).not.toHaveProperty('layers')
  })

  test('an override without an end takes the place of all that were set before, and says whose ends it drops', async () => {
    const until = new Date(clock + HOUR).toISOString()
    await put('etl', { read: { '1h': 4500 }, reason: 'for an hour', expiresAt: until })
    const { json } = await put('etl', { read: { '1h': 3000 }, reason: 'OPS-1423' })
    expect(json.ends).toMatchObject({ added: [], dropped: [{ until, value: { reason: 'for an hour' } }] })
    const undone = await running.call('POST', '/api/audit/2/undo')
    expect(undone.json.ends).toMatchObject({ added: [{ until }], dropped: [] })
    expect((await get('/api/users/etl/override')).json).toMatchObject({ reason: 'for an hour', expiresAt: until })
  })

  test('an override with a factor alone multiplies what lies under it as long as it lasts, whatever becomes of that', async () => {
    const until = (hours: number) => new Date(clock + hours * HOUR).toISOString()
    const limits = async () =>
      (await get('/api/users/etl')).json.windows.read.slice(0, 2).map((one: { limit: number }) => one.limit)
    await put('etl', { read: { '1h': 3000 }, shadow: true, reason: 'OPS-1423' })
    const { json } = await put('etl', { factor: 1.5, reason: 'half as much again', expiresAt: until(24) })
    expect(json).toMatchObject({ limits: { read: { '1h': 3000 } }, factor: 1.5, shadow: true, expiresAt: until(24) })
    expect(json.layers).toMatchObject([{ state: 'in_force', value: { factor: 1.5 } }, { state: 'in_force' }])
    expect(await limits()).toEqual([4500, 600])
    await running.call('PATCH', '/api/quota', { body: { mode: 'loose' } })
    expect(await limits()).toEqual([4500, 900])
    await running.call('PATCH', '/api/quota', { body: { mode: null } })
    await put('etl', { factor: 2, reason: 'once more', expiresAt: until(2) })
    expect(await limits()).toEqual([9000, 1200])
    const moved = await put('etl', { factor: 2, reason: 'longer', expiresAt: until(3) })
    expect(moved.json.ends).toMatchObject({ added: [{ until: until(3) }], dropped: [{ until: until(2) }] })
    expect(await limits()).toEqual([9000, 1200])
    const blocked = await put('etl', { factor: 0, reason: 'a loop', expiresAt: until(1) })
    expect([await limits(), blocked.json.shadow]).toEqual([[0, 0], false])
    const after = []
    for (const hours of [1, 3, 24]) {
      clock = NOW + hours * HOUR
      after.push(await limits())
    }
    expect(after).toEqual([
      [9000, 1200],
      [4500, 600],
      [3000, 400],
    ])
  })

  test('an override takes a factor of 0 to 100 with three decimals, which sets something by itself unless it is 1', async () => {
    for (const factor of [-1, 101, 1.2345, '2', Number.NaN]) {
      expect(await put('etl', { factor, reason: 'r' })).toMatchObject({ status: 400 })
    }
    expect(await put('etl', { factor: 1, reason: 'r' })).toMatchObject({ status: 400 })
    expect(await put('etl', { factor: 0.125, reason: 'r' })).toMatchObject({ status: 200, json: { factor: 0.125 } })
  })

  test('an override that is taken away names every end that goes with it', async () => {
    const until = (hours: number) => new Date(clock + hours * HOUR).toISOString()
    await put('etl', { read: { '1h': 3000 }, reason: 'OPS-1423' })
    await put('etl', { read: { '1h': 4500 }, reason: 'for a day', expiresAt: until(24) })
    await put('etl', { read: { '1h': 0 }, reason: 'a loop', expiresAt: until(1) })
    const { json } = await running.call('DELETE', '/api/users/etl/override')
    expect(json.ends).toMatchObject({
      added: [],
      dropped: [
        { until: until(24), value: { reason: 'for a day' } },
        { until: until(1), value: { reason: 'a loop' } },
      ],
      guards: [],
    })
  })

  test('an override that is set already is no change', async () => {
    const expiresAt = new Date(clock + HOUR).toISOString()
    const first = await put('alice', { ...override, expiresAt })
    const again = await put('alice', { expiresAt, bypassGlobal: false, ...override, write: null })
    const unchanged = { ...first.json, ends: { added: [], dropped: [], guards: [] } }
    expect([again.status, again.json, again.headers.etag]).toEqual([200, unchanged, '"1"'])
    expect((await get('/api/audit')).json.entries).toHaveLength(1)
    expect((await put('alice', { ...override, expiresAt, reason: 'another one' })).json.version).toBe(2)
  })

  test('an override that is not there does not fulfil If-Match: *', async () => {
    const any = { 'if-match': '*' }
    const remove = () => running.call('DELETE', '/api/users/alice/override', { headers: any })
    const msg = expect.stringMatching(/^There is none now/)
    const none = { status: 412, headers: { etag: '"0"' }, json: { error: 'version_conflict', msg, version: 0 } }
    expect(await put('alice', override, any)).toMatchObject(none)
    expect(await remove()).toMatchObject(none)
    expect((await put('alice', override)).status).toBe(200)
    expect((await put('alice', { ...override, shadow: true }, any)).status).toBe(200)
    expect((await remove()).status).toBe(200)
    await put('alice', { ...override, expiresAt: new Date(clock + HOUR).toISOString() })
    clock += HOUR
    expect(await put('alice', override, any)).toMatchObject(none)
  })

  test('an override is not changed under a condition that nobody judges', async () => {
    await put('alice', override)
    expect(await put('alice', { ...override, shadow: true }, { 'if-none-match': '*' })).toMatchObject({
      status: 400,
      json: { problems: [{ path: 'If-None-Match', msg: expect.stringContaining('send If-Match, with "0"') }] },
    })
    expect((await get('/api/users/alice/override')).json.shadow).toBe(false)
  })

  test('an override that has expired is gone by itself, and the next one is put as if there had been none', async () => {
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

test('null in an override is the same as a missing field', async () => {
  const nothing = { write: null, bypassGlobal: null, shadow: null, expiresAt: null }
  expect(await put('alice', { ...override, ...nothing })).toMatchObject({
    status: 200,
    json: { limits: { read: { '1h': 500 } }, bypassGlobal: false, shadow: false, expiresAt: null },
  })
})

test.each(['2030-01-31T00:00Z', '2030-01-31T24:00:00Z', '9999-12-31T23:59:59-00:01'])(
  'an end at %s, which the API could not write, is refused with the cure',
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

const reset = (body: unknown) => running.call('POST', '/api/users/alice/reset', { body })

test('a reset has no version, so that If-Match is refused rather than passed over', async () => {
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

test("a reset empties the user's windows, and nobody else's", async () => {
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
  'a reset needs a reason: %j',
  async (body) => {
    await running.spend('alice', 'read', 100)
    expect(await reset(body)).toMatchObject({ status: 400, json: { error: 'bad_request' } })
    expect((await get('/api/users/alice')).json.windows.read[0].used).toBe(100)
  },
)

test.each([
  ['POST', '/api/users/alice/reset', [], '', 'must be a JSON object with reason'],
  ['POST', '/api/users/alice/reset', undefined, '', 'must be a JSON object with reason'],
  ['POST', '/api/users/alice/reset', { reason: 'r', user: 'bob' }, 'user', 'unknown field "user"; there is reason'],
  ['DELETE', '/api/users/alice/override', [], '', 'must be a JSON object with reason'],
  ['DELETE', '/api/users/alice/override', { raeson: 'r' }, 'raeson', 'unknown field "raeson"; did you mean "reason"?'],
  ['DELETE', '/api/tokens/x', { force: true }, 'force', 'unknown field "force"; there is reason'],
  [
    'POST',
    '/api/tokens',
    'null',
    '',
    'must be a JSON object with user, name, plan, organisation, expiresAt, handover, reason',
  ],
  ['POST', '/api/session', [], '', 'must be a JSON object with token, code, returned'],
])('%s %s with the body %j says what is wrong and the cure', async (method, path, body, field, msg) => {
  const { status, json } = await running.call(method, path, { body })
  expect([status, json.problems]).toEqual([400, [{ path: field, msg }]])
})
