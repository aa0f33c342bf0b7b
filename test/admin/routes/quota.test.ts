import { beforeEach, describe, expect, test } from 'vitest'
import { adaptive } from '../../../src/failures/adaptive.ts'
import { bucketStart, NOTHING } from '../../../src/failures/histogram.ts'
import type { Store } from '../../../src/store/store.ts'
import { type CallOptions, NOW, type Running, startAdmin, VIEWER, YAML } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const get = async () => (await running.call('GET', '/api/quota')).json
const patch = (body: unknown, headers: CallOptions['headers'] = {}) =>
  running.call('PATCH', '/api/quota', { body, headers })
const audit = async () => (await running.call('GET', '/api/audit')).json.entries

describe('a change that nobody follows', () => {
  const plans = (text: string) => YAML.replace('quota:\n', `quota:\n  ${text}\n`)
  /** What the preview, the response and the audit say of a change. */
  async function toldOf(planned: Running, patch: object) {
    const { json: preview } = await planned.call('POST', '/api/quota/preview', { body: patch })
    const { json: changed } = await planned.call('PATCH', '/api/quota', {
      body: { ...patch, reason: 'free users complained' },
    })
    const { json: audit } = await planned.call('GET', '/api/audit?limit=1')
    expect([changed.movesNobody ?? false, changed.unfollowed ?? []]).toEqual([preview.movesNobody, preview.unfollowed])
    const [{ movesNobody = false, unfollowed = [], why }] = audit.entries
    expect([movesNobody, unfollowed]).toEqual([preview.movesNobody, preview.unfollowed])
    return [preview.movesNobody, preview.unfollowed.map(({ why }: { why: string }) => why), why]
  }
  const baseline = (row: object) => ({ baselines: { personal: { read: row } } })

  test('a change that nobody follows says so in its response, its preview and the audit, with what goes before it', async () => {
    const planned = await startAdmin({
      yaml: plans(
        'default_plan: free\n  plans: { free: { personal: { read: { 1h: 40, 5h: 80 } } }, pro: { personal: { read: { 1h: 90 } } } }',
      ),
    })
    const why = 'plan free sets 40 and plan pro sets 90'
    expect(await toldOf(planned, baseline({ '1h': 80 }))).toEqual([true, [why], 'free users complained'])
    // Users of pro have the baseline of 5 hours, if any come.
    expect(await toldOf(planned, baseline({ '5h': 300 }))).toEqual([false, [], 'free users complained'])
    await planned.spend('alice', 'read', 1)
    const ofFree = 'plan free sets 80'
    expect(await toldOf(planned, baseline({ '5h': 301 }))).toEqual([true, [ofFree], 'free users complained'])
    expect(await toldOf(planned, { ...baseline({ '1h': 70 }), shadow: true })).toEqual([
      false,
      ['plan free sets 40'],
      'free users complained',
    ])
  })

  test('a change that nobody follows may be of a plan without users, of one whose users all have overrides, and of another mode', async () => {
    const planned = await startAdmin({ yaml: plans('plans: { free: {}, gold: {} }') })
    const plan = (name: string) => ({ plans: { [name]: { personal: { read: { '1h': 80 } } } } })
    expect((await toldOf(planned, plan('gold')))[1]).toEqual(['plan gold has no known users'])
    for (const [user, more] of [
      ['alice', { read: { '1h': 5 } }],
      ['bob', {}],
    ] as const) {
      await planned.call('PUT', `/api/users/${user}/override`, { body: { plan: 'free', reason: 'r', ...more } })
      const before = user === 'alice' ? ['overrides set it for 1 user'] : []
      expect((await toldOf(planned, plan('free')))[1]).toEqual(before)
      await planned.call('PATCH', '/api/quota', { body: { plans: null } })
    }
    const ofTheirs = { plans: { free: { organisation: { read: { '1h': 80 } } } } }
    expect((await toldOf(planned, ofTheirs))[1]).toEqual(['no known user of plan free belongs to an organisation'])
    expect((await toldOf(planned, { custom: { personal: { read: { '1h': 7 } } } }))[1]).toEqual([
      'the mode is normal, and this is for mode custom',
    ])
    await planned.call('PATCH', '/api/quota', { body: { mode: 'custom' } })
    expect((await toldOf(planned, baseline({ '1h': 80 })))[1]).toEqual(['mode custom has 7'])
    await planned.call('PATCH', '/api/quota', { body: { global: { enabled: false } } })
    expect((await toldOf(planned, { baselines: { global: { read: { '1h': 7 } } } }))[1]).toEqual([
      'the global limits are switched off',
    ])
  })
})

test('a limit that was set for a window of another file is shown as resting, with its value', async () => {
  expect((await get()).resting).toBe(undefined)
  const to = { baselines: { personal: { read: { '1h': 50, '5m': 7 }, export: { '1h': 9 } } } }
  await running.store.change({ kind: 'settings', to }, { who: 'replica 2', why: null }, 0)
  const { changed, resting } = await get()
  expect(changed).toEqual(['baselines.personal.read.1h'])
  expect(resting).toEqual([
    { path: 'baselines.personal.read.5m', value: 7 },
    { path: 'baselines.personal.export.1h', value: 9 },
  ])
})

test('the settings are those of the file before anything is changed, with the fields of the contract', async () => {
  const { json, headers } = await running.call('GET', '/api/quota')
  expect(json).toMatchObject({
    version: 0,
    mode: 'normal',
    factor: 1,
    global: { enabled: true, multiplier: 1 },
    baselines: { personal: { read: { '1h': 120, '5h': 400 }, write: { '1h': 60, '5h': 200 } } },
    custom: null,
    shadow: false,
    changed: [],
    categories: ['read', 'write'],
    windowLengths: [
      { name: '1h', seconds: 3600 },
      { name: '5h', seconds: 18000 },
    ],
  })
  expect(json.effective).toEqual(json.baselines)
  expect(json.file).toEqual({
    mode: 'normal',
    global: json.global,
    baselines: json.baselines,
    custom: null,
    shadow: false,
  })
  expect(headers.etag).toBe('"0"')
})

test('the settings come with the global windows as they are now', async () => {
  await running.spend('alice', 'read', 11)
  await running.spend('bob', 'read', 300)
  const { windows } = await get()
  expect(windows.read[0]).toEqual({
    scope: 'Global',
    window: '1h',
    limit: 1200,
    used: 311,
    remaining: 889,
    startedAt: '2026-11-20T10:10:00.000Z',
    resetAt: '2026-11-20T11:10:00.000Z',
  })
  expect(windows.write[0]).toMatchObject({ used: 0, startedAt: null, resetAt: null })
})

test('the settings tell the adaptive factor that is in force and why, in every mode, whatever was counted since it was drawn', async () => {
  const bucket = { ...NOTHING, start: bucketStart(NOW), total: 1000, status0: 20, status5xx: 30 }
  const drawn = adaptive({ at: NOW, buckets: [bucket] })
  running = await startAdmin({ adaptive: () => drawn })
  await running.store.addTally({ ...NOTHING, total: 9000 })
  const told = await get()
  expect(told.factor).toBe(1)
  expect(told.adaptive).toMatchObject({ factor: 0.75, requests: 1000, failed: 50, share: 0.05, minRequests: 100 })
  expect((await patch({ mode: 'adaptive' })).json).toMatchObject({
    factor: 0.75,
    effective: { personal: { read: { '1h': 90 } } },
  })
})

test('a change is in force in its response, which shows what was changed beside what the file says', async () => {
  const { status, json, headers } = await patch({
    mode: 'conservative',
    baselines: { personal: { read: { '1h': 100 } } },
  })
  expect(status).toBe(200)
  expect(json).toMatchObject({
    mode: 'conservative',
    factor: 0.75,
    baselines: { personal: { read: { '1h': 100, '5h': 400 } } },
    effective: { personal: { read: { '1h': 75, '5h': 300 } }, global: { read: { '1h': 900 } } },
    file: { mode: 'normal', baselines: { personal: { read: { '1h': 120 } } } },
    changed: ['mode', 'baselines.personal.read.1h'],
  })
  expect(headers.etag).toBe(`"${json.version}"`)
  const { ends, ...quota } = json
  expect(await get()).toEqual(quota)
  expect(ends).toEqual({ added: [], dropped: [], guards: [] })
})

test('a change is given back to the file by null, one value or all of them', async () => {
  await patch({ mode: 'loose', global: { enabled: false, multiplier: 2 }, shadow: true })
  expect((await patch({ global: { multiplier: null } })).json.changed).toEqual(['mode', 'global.enabled', 'shadow'])
  expect((await patch({ mode: null, global: null, shadow: null })).json).toMatchObject({
    changed: [],
    mode: 'normal',
  })
})

test('a change is an entry of the audit, with who, from, to and why', async () => {
  await patch({ mode: 'loose', reason: 'a calm night' })
  await patch({ shadow: true })
  expect(await audit()).toMatchObject([
    { what: 'settings', who: 'admin', why: null, from: { mode: 'loose' }, to: { mode: 'loose', shadow: true } },
    {
      what: 'settings',
      who: 'admin',
      why: 'a calm night',
      to: { mode: 'loose' },
      subject: null,
      at: '2026-11-20T10:10:00.000Z',
    },
  ])
})

test('a change that changes nothing is no entry', async () => {
  const { json } = await patch({ mode: 'loose' })
  for (const body of [{}, { mode: 'loose' }, { reason: 'why not' }, { custom: null }])
    expect((await patch(body)).json.version).toBe(json.version)
  expect(await audit()).toHaveLength(1)
})

test('a change that others come before every time is reported as not made', async () => {
  let changes = 0
  const othersFirst: Store['change'] = async (...mine) => {
    const mode = ++changes % 2 === 0 ? 'loose' : 'conservative'
    await running.store.change({ kind: 'settings', to: { mode } }, { who: 'others', why: null }, null)
    return running.store.change(...mine)
  }
  const crowded = await startAdmin({ store: running.store, broken: { change: othersFirst } })
  const reply = await crowded.call('PATCH', '/api/quota', { body: { mode: 'adaptive' } })
  await crowded.stop()
  expect(reply).toMatchObject({ status: 409, json: { error: 'conflict' } })
  expect((await audit()).map(({ who }: { who: string }) => who)).not.toContain('admin')
})

test('a change that rests because the file has no such category or window can be given back', async () => {
  const personal = { gone: { '1h': 1 }, read: { '2h': 1 } }
  const author = { who: 'ada', why: null }
  await running.store.change(
    { kind: 'settings', to: { baselines: { personal }, custom: { global: personal } } },
    author,
    null,
  )
  const none = { gone: { '1h': null }, read: { '2h': null } }
  const back = { baselines: { personal: none }, custom: { global: none } }
  expect((await patch({ baselines: { personal } })).status).toBe(400)
  expect((await patch(back)).status).toBe(200)
  expect((await running.store.readControl()).settings.value).toEqual({})
})

test('If-Match takes the tag of a reading, whatever else was changed before it', async () => {
  await patch({ mode: 'loose' })
  await running.call('POST', '/api/tokens', { body: { user: 'alice', name: 'phone' } })
  const { headers } = await running.call('GET', '/api/quota')
  expect((await patch({ mode: 'normal' }, { 'if-match': headers.etag ?? '' })).status).toBe(200)
})

test('If-Match lets the change through that was made of the newest version', async () => {
  const { headers } = await patch({ mode: 'loose' })
  expect((await patch({ mode: 'normal' }, { 'if-match': headers.etag ?? '' })).status).toBe(200)
})

test.each(['"0"', '"99"', 'W/"1"', 'nonsense', '""', ' '])(
  'If-Match that is not the version, as %s, refuses the change with the version',
  async (tag) => {
    const { json } = await patch({ mode: 'loose' })
    const reply = await patch({ mode: 'conservative' }, { 'if-match': tag })
    expect(reply).toMatchObject({ status: 412, json: { error: 'version_conflict', version: json.version } })
    expect(reply.headers.etag).toBe(`"${json.version}"`)
    expect((await get()).mode).toBe('loose')
  },
)

test.each(['0', '1', 'W/"1"'])('If-Match that is no tag of ours, as %s, is told what one is like', async (tag) => {
  const { json } = await patch({ mode: 'loose' })
  const { status, json: told } = await patch({ mode: 'normal' }, { 'if-match': tag })
  expect([status, told.msg]).toEqual([412, expect.stringContaining('a number in quotation marks and nothing else: ')])
  expect(told.msg).toContain(`send If-Match: "${json.version}".`)
  expect((await patch({ mode: 'normal' }, { 'if-match': '"99"' })).json.msg).toContain('was changed meanwhile')
})

test('If-Match of a reading changes nothing in its response', async () => {
  const headers = { 'if-match': '"99"', 'if-none-match': '"0"' }
  expect((await running.call('GET', '/api/quota', { headers })).status).toBe(200)
})

test.each(['*', '"0", "1"'])('If-Match may name the version among others: %s', async (tag) => {
  await patch({ mode: 'loose' })
  expect((await patch({ mode: 'normal' }, { 'if-match': tag })).status).toBe(200)
})

test('If-Match concerns the settings only, so that an override of somebody is no conflict', async () => {
  const { headers } = await patch({ mode: 'loose' })
  await running.call('PUT', '/api/users/alice/override', { body: { shadow: true, reason: 'r' } })
  expect((await patch({ mode: 'normal' }, { 'if-match': headers.etag ?? '' })).status).toBe(200)
})

test('If-Match lets one of two changes at once through, which are both made without it', async () => {
  const tag = { 'if-match': '"0"' }
  const [one, other] = await Promise.all([patch({ mode: 'loose' }, tag), patch({ shadow: true }, tag)])
  expect([one.status, other.status].sort()).toEqual([200, 412])
  const values = Array.from({ length: 8 }, (_, i) => ({
    baselines: { personal: { [i % 2 ? 'read' : 'write']: { '1h': i } } },
  }))
  const replies = await Promise.all([...values, { global: { multiplier: 2 } }].map((body) => patch(body)))
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  expect((await get()).changed).toEqual(
    expect.arrayContaining(['global.multiplier', 'baselines.personal.read.1h', 'baselines.personal.write.1h']),
  )
})

test.each([
  ['a mode unknown', { mode: 'lose' }, 'mode', /loose/],
  ['a multiplier too high', { global: { multiplier: 5 } }, 'global.multiplier', /0\.25 to 4/],
  [
    'a limit below 0',
    { baselines: { personal: { read: { '1h': -1 } } } },
    'baselines.personal.read.1h',
    /whole number/,
  ],
  ['a limit of a fraction', { custom: { global: { read: { '1h': 1.5 } } } }, 'custom.global.read.1h', /whole number/],
  ['a category unknown', { baselines: { personal: { raed: { '1h': 1 } } } }, 'baselines.personal.raed', /"read"/],
  ['a window unknown', { baselines: { personal: { read: { '2h': 1 } } } }, 'baselines.personal.read.2h', /1h/],
  ['a key unknown', { multiplyer: 2 }, 'multiplyer', /unknown/],
  ['a reason too long', { mode: 'loose', reason: 'x'.repeat(501) }, 'reason', /500/],
  ['no object', [1], '', /object/],
  ['nothing', undefined, '', /object/],
  [
    'a poisoned prototype',
    '{"baselines":{"personal":{"constructor":{"1h":1}}}}',
    'baselines.personal.constructor',
    /unknown/,
  ],
])('a body with %s is refused with the field and the cure', async (_what, body, path, msg) => {
  for (const [method, url] of [
    ['PATCH', '/api/quota'],
    ['POST', '/api/quota/preview'],
  ] as const) {
    const reply = await running.call(method, url, { body })
    expect(reply).toMatchObject({
      status: 400,
      json: { error: 'bad_request', problems: [{ path, msg: expect.stringMatching(msg) }] },
    })
  }
  expect(await audit()).toEqual([])
})

test('a body with several mistakes is refused with all of them at once', async () => {
  const reply = await patch({ mode: 'x', shadow: 1, global: { multiplier: 0 } })
  expect(reply.json.problems.map(({ path }: { path: string }) => path).sort()).toEqual([
    'global.multiplier',
    'mode',
    'shadow',
  ])
})

test('a preview of the end of shadow mode names who would be blocked by it', async () => {
  await patch({ shadow: true })
  await running.spend('alice', 'read', 120)
  const { json } = await running.call('POST', '/api/quota/preview', { body: { shadow: false } })
  expect(json).toMatchObject({ blockedCount: 1, newlyBlockedCount: 1, blocked: [{ user: 'alice', blockedNow: false }] })
})

test('a preview names who would be blocked and changes nothing', async () => {
  await running.spend('alice', 'read', 100)
  await running.spend('bob', 'read', 10)
  const { json } = await running.call('POST', '/api/quota/preview', {
    body: { mode: 'conservative', reason: 'r' },
    headers: { authorization: `Bearer ${VIEWER}` },
  })
  expect(json).toMatchObject({
    scanned: 2,
    blockedCount: 1,
    newlyBlockedCount: 1,
    freedCount: 0,
    blocked: [{ user: 'alice', category: 'read', window: '1h', limit: 90, used: 100, blockedNow: false }],
    effective: { personal: { read: { '1h': 90 } } },
  })
  expect(json.windows.read[0]).toEqual({
    window: '1h',
    used: 110,
    limit: 900,
    remaining: 790,
    limitNow: 1200,
    remainingNow: 1090,
  })
  expect(await get()).toMatchObject({ mode: 'normal', version: 0 })
})

test('a preview of switching the global windows on shows no limits of them for now', async () => {
  await running.spend('alice', 'read', 100)
  await running.call('PATCH', '/api/quota', { body: { global: { enabled: false } } })
  const { json } = await running.call('POST', '/api/quota/preview', { body: { global: { enabled: true } } })
  expect(json.windows.read[0]).toEqual({
    window: '1h',
    used: 100,
    limit: 1200,
    remaining: 1100,
    limitNow: null,
    remainingNow: null,
  })
})

describe('a limit that some request can never fit into', () => {
  const never = {
    scope: 'Personal',
    category: 'write',
    window: '1h',
    limit: 20,
    cost: 25,
    routes: ['POST /v1/charge'],
    routeCount: 1,
    msg: 'POST /v1/charge: A request costs 25 write tokens, more than the Personal 1-hour limit of 20 ever allows; waiting does not help.',
  }
  const body = { baselines: { personal: { write: { '1h': 20 } } } }

  test('a limit that some request can never fit into is reported in the preview of the change, in its response and as long as it holds', async () => {
    expect((await get()).warnings).toEqual([])
    expect((await running.call('POST', '/api/quota/preview', { body })).json.warnings).toEqual([never])
    expect((await get()).warnings).toEqual([])
    expect((await patch(body)).json.warnings).toEqual([never])
    expect((await get()).warnings).toEqual([never])
    expect((await patch({ baselines: null })).json.warnings).toEqual([])
  })

  test('a limit that some request can never fit into is reported in mode adaptive by the lowest factor that it may have', async () => {
    const baselines = { personal: { write: { '1h': 30 } } }
    expect((await patch({ baselines })).json.warnings).toEqual([])
    expect((await patch({ mode: 'adaptive' })).json.warnings).toMatchObject([{ window: '1h', limit: 22, cost: 25 }])
    expect((await patch({ mode: 'conservative' })).json.warnings).toMatchObject([{ window: '1h', limit: 22, cost: 25 }])
  })

  test('a limit that some request can never fit into is reported of the global scope too, with the dearest request and every rule', async () => {
    const { json } = await patch({ baselines: { global: { write: { '5h': 14 } } } })
    expect(json.warnings).toMatchObject([
      {
        scope: 'Global',
        window: '5h',
        cost: 25,
        routes: ['POST /v1/music/upsert', 'POST /v1/charge'],
        routeCount: 2,
        msg: expect.stringContaining('POST /v1/charge: The dearest request costs 25 write tokens'),
      },
    ])
  })

  test('a limit that some request can never fit into is reported with the first twenty rules, with what matches none like a rule, and never in shadow mode', async () => {
    const rules = (shadow: boolean, count: number) =>
      Array.from(
        { length: count },
        (_, i) => `  - { match: GET /${shadow}/${i}, category: write, cost: 61${shadow ? ', shadow: true' : ''} }\n`,
      )
    const rest = 'unmatched: { category: write, cost: 61 }\n'
    const dear = async (count: number) => {
      running = await startAdmin({ yaml: YAML + rules(true, 3).join('') + rules(false, count).join('') + rest })
      return (await get()).warnings[0]
    }
    expect(await dear(1)).toMatchObject({ window: '1h', routes: ['GET /false/0', 'unmatched'], routeCount: 2 })
    const { routes, routeCount, msg } = await dear(30)
    expect([routes.length, routes[19], routeCount]).toEqual([20, 'GET /false/19', 31])
    expect(msg).toContain('GET /false/19 and 11 more: ')
  })

  test('a limit that some request can never fit into is reported of a plan, with its name, but for one of 0 that keeps the plan out', async () => {
    const plans =
      '{ small: { personal: { write: { 1h: 20 }, read: { 1h: 0 } } }, same: { personal: { write: { 1h: 60 } } }, team: { organisation: { write: { 5h: 24 } } } }'
    running = await startAdmin({ yaml: YAML.replace('quota:', `quota:\n  plans: ${plans}`) })
    const ofPlan = { plan: 'small', ...never, msg: `Plan small: ${never.msg}` }
    const ofTeam = { plan: 'team', scope: 'Organisation', window: '5h', limit: 24, cost: 25 }
    expect((await get()).warnings).toMatchObject([ofPlan, ofTeam])
    expect((await running.call('POST', '/api/quota/preview', { body: {} })).json.warnings).toMatchObject([
      ofPlan,
      ofTeam,
    ])
    const put = async (set: object) =>
      (await running.call('PUT', '/api/users/alice/override', { body: { ...set, reason: 'why' } })).json.warnings
    expect(await put({ plan: 'small' })).toEqual([ofPlan])
    expect(await put({ plan: 'small', write: { '1h': 30 } })).toEqual([])
    expect(await put({ plan: 'same' })).toEqual([])
    await patch({ mode: 'loose' })
    expect((await get()).warnings).toEqual([])
  })

  test('a limit that some request can never fit into is reported also if it is set for a user', async () => {
    const put = (limits: object) =>
      running.call('PUT', '/api/users/alice/override', { body: { ...limits, reason: 'why' } })
    expect((await put({ write: { '1h': 20 } })).json).toMatchObject({
      limits: { write: { '1h': 20 } },
      warnings: [never],
    })
    expect((await put({ write: { '1h': 25 }, read: { '1h': 2 } })).json.warnings).toEqual([])
    // What holds for everybody is not reported again with each user.
    await patch({ baselines: { personal: { write: { '5h': 20 } } } })
    expect((await put({ write: { '1h': 26 } })).json.warnings).toEqual([])
  })
})

describe('a reset of shared windows', () => {
  const reset = (body: unknown, headers: CallOptions['headers'] = {}) =>
    running.call('POST', '/api/quota/reset', { body, headers })
  const body = { scope: 'global', category: 'read', reason: 'a load test by mistake' }

  test('a reset of shared windows takes the scope as a refusal names it', async () => {
    await running.spend('alice', 'read', 100)
    expect(await reset({ ...body, scope: 'Global' })).toMatchObject({ status: 200, json: { from: { '1h': 100 } } })
    expect((await audit())[0]).toMatchObject({ subject: 'global:read' })
    expect(await reset({ ...body, scope: 'Organisation' })).toMatchObject({ status: 400 })
  })

  test('a reset of shared windows empties the global windows of a category, says what was used, and leaves users and other categories alone', async () => {
    await running.spend('alice', 'read', 100)
    await running.spend('alice', 'write', 20)
    expect(await reset(body)).toMatchObject({ status: 200, json: { from: { '1h': 100, '5h': 100 } } })
    const { read, write } = (await get()).windows
    expect(read).toMatchObject([{ used: 0, remaining: 1200 }, { used: 0 }])
    expect(write).toMatchObject([{ used: 20 }, { used: 20 }])
    const { json } = await running.call('GET', '/api/users/alice')
    expect(json.windows.read).toMatchObject([{ scope: 'Personal', used: 100 }, { used: 100 }, { used: 0 }, { used: 0 }])
    expect(await audit()).toEqual([
      {
        version: 1,
        at: expect.any(String),
        who: 'admin',
        what: 'quota_reset',
        subject: 'global:read',
        from: { '1h': 100, '5h': 100 },
        to: { '1h': 0, '5h': 0 },
        why: 'a load test by mistake',
      },
    ])
  })

  test('a reset of shared windows empties one of them if it is named', async () => {
    await running.spend('alice', 'read', 100)
    expect((await reset({ ...body, window: '1h' })).json).toEqual({ from: { '1h': 100 } })
    expect((await get()).windows.read).toMatchObject([{ used: 0 }, { used: 100 }])
  })

  test('a reset of shared windows says 0 of windows that do not run', async () => {
    expect((await reset(body)).json).toEqual({ from: { '1h': 0, '5h': 0 } })
  })

  test.each([
    [{ scope: undefined }, 'scope', 'must be "global" or "organisation"'],
    [{ scope: 'GLOBAL' }, 'scope', 'must be "global" or "organisation"'],
    [
      { scope: 'personal' },
      'scope',
      'must be "global" or "organisation": the windows of one user are emptied by POST /api/users/{id}/reset',
    ],
    [{ scope: 'organisation' }, 'organisation', 'names none: give the id of one'],
    [{ scope: 'organisation', organisation: '' }, 'organisation', expect.stringContaining('must be an organisation')],
    [
      { organisation: 'acme' },
      'organisation',
      'is given with the scope "global": set the scope to "organisation", or leave it out',
    ],
    [{ user: 'alice' }, 'user', 'the windows of one user are emptied by POST /api/users/{id}/reset'],
    [{ category: undefined }, 'category', 'must be the name of a category'],
    [{ category: 'raed' }, 'category', 'unknown category "raed"; did you mean "read"?'],
    [{ category: 'x' }, 'category', 'unknown category "x"; there are read, write'],
    [{ window: '1d' }, 'window', 'unknown window "1d"; there are 1h, 5h'],
    [{ window: null }, 'window', 'must be the name of a window'],
    [{ reason: undefined }, 'reason', expect.stringContaining('must be a sentence')],
    [{ reason: ' ' }, 'reason', expect.stringContaining('must be a sentence')],
    [{ windows: '1h' }, 'windows', 'unknown field "windows"; did you mean "window"?'],
  ])('a reset of shared windows is refused, and changes nothing, with %j', async (more, path, msg) => {
    await running.spend('alice', 'read', 100)
    expect(await reset({ ...body, ...more })).toMatchObject({
      status: 400,
      json: { error: 'bad_request', problems: [{ path, msg }] },
    })
    expect((await get()).windows.read[0].used).toBe(100)
    expect(await audit()).toEqual([])
  })

  test('a reset of shared windows has no version, so that If-Match is refused rather than passed over', async () => {
    expect(await reset(body, { 'if-match': '"0"' })).toMatchObject({ status: 400, json: { error: 'bad_request' } })
  })
})
