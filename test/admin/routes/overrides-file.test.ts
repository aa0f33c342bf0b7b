import { beforeEach, describe, expect, it } from 'vitest'
import { createChangeFollower } from '../../../src/control/change-follower.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd } from '../../setup/at-end.ts'
import { NOW, type Running, startAdmin, TOKEN, VIEWER, YAML } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const NDJSON = { 'content-type': 'application/x-ndjson' }
const CSV = { 'content-type': 'text/csv; charset=utf-8' }

const line = (user: string, limit: number, more: object = {}): string =>
  JSON.stringify({ user, read: { '1h': limit }, reason: 'from a file', ...more })
const put = (body: string, query = '', headers: Record<string, string> = NDJSON) =>
  running.call('PUT', `/api/overrides${query}`, { body, headers })
const get = (query = '') => running.call('GET', `/api/overrides${query}`)

describe('a file of overrides', () => {
  it('a file of overrides is put in force with one version and one entry of the audit, these and no others, and is read as it was', async () => {
    await running.call('PUT', '/api/users/eve/override', { body: { shadow: true, reason: 'r' } })
    const file = `${line('bob', 50)}\n${line('alice', 60, { expiresAt: '2027-01-01T00:00:00Z' })}\n`
    const set = await put(file, '?max_removed=1')
    expect(set.json).toMatchObject({
      dryRun: false,
      version: 2,
      total: 2,
      added: 2,
      changed: 0,
      removed: 1,
      unchanged: 0,
    })
    expect(set.headers.etag).toBe('"2"')
    const { text, headers } = await get()
    expect(headers).toMatchObject({ etag: '"2"', 'content-disposition': 'attachment; filename="overrides.ndjson"' })
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((each) => JSON.parse(each)),
    ).toEqual([
      { user: 'alice', read: { '1h': 60 }, reason: 'from a file', expiresAt: '2027-01-01T00:00:00.000Z' },
      { user: 'bob', read: { '1h': 50 }, reason: 'from a file' },
    ])
    const { entries } = (await running.call('GET', '/api/audit')).json
    expect(entries).toHaveLength(2)
    expect(entries[0]).toMatchObject({
      version: 2,
      what: 'overrides',
      subject: null,
      who: 'admin',
      from: { total: 1, overrides: { eve: { shadow: true }, bob: null } },
      to: {
        total: 2,
        added: 2,
        removed: 1,
        merge: false,
        whole: true,
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        overrides: { eve: null, alice: { expiresAt: '2027-01-01T00:00:00.000Z' } },
      },
    })
  })

  it('as CSV goes out and comes in again without a change, which is no entry of the audit', async () => {
    await put(`${line('=1+1', 50)}\n${line('"a",b', 60)}\n`)
    const { text, headers } = await get('?format=csv')
    expect(headers['content-type']).toBe('text/csv')
    expect(text.split('\n')[0]).toBe(
      'user,organisation,factor,periodDay,plan,within,bypassGlobal,shadow,reason,expiresAt,read.1h',
    )
    expect(text).toContain("\n'=1+1,")
    expect((await put(text, '', CSV)).json).toMatchObject({
      unchanged: 2,
      added: 0,
      changed: 0,
      removed: 0,
      version: 1,
    })
    expect((await put(text.replace(',50', ',51'), '?reason=more', CSV)).json).toMatchObject({ changed: 1, version: 2 })
    expect((await running.call('GET', '/api/audit')).json.entries[0]).toMatchObject({ version: 2, why: 'more' })
  })

  it('a file of overrides changes nothing if it is only tried, and says what it would change', async () => {
    await put(line('bob', 50))
    const tried = await put(line('alice', 60), '?dry_run=1')
    expect(tried.json).toMatchObject({ dryRun: true, version: 1, total: 1, added: 1, removed: 1 })
    expect(tried.json.changes).toMatchObject([
      { user: 'bob', from: { read: { '1h': 50 }, reason: 'from a file' }, to: null },
      { user: 'alice', from: null, to: { read: { '1h': 60 }, reason: 'from a file' } },
    ])
    expect((await get()).text).toBe(`${line('bob', 50)}\n`)
  })

  it('a file of overrides has organisations too, so that what was exported is put back whole, and guards them like users', async () => {
    const acme = '/api/organisations/acme/override'
    const until = '2099-01-01T00:00:00.000Z'
    await put(line('bob', 50))
    await running.call('PUT', acme, { body: { read: { '1h': 800 }, reason: 'a fair' } })
    await running.call('PUT', acme, { body: { factor: 1.5, reason: 'a week', expiresAt: until } })
    const exported = (await get()).text
    expect(exported.split('\n').slice(1)).toEqual([
      '{"organisation":"acme","read":{"1h":800},"reason":"a fair"}',
      `{"organisation":"acme","factor":1.5,"reason":"a week","expiresAt":"${until}"}`,
      '',
    ])
    expect((await put(exported)).json).toMatchObject({ total: 2, unchanged: 2, added: 0 })
    const refused = await put(line('bob', 50))
    expect(refused).toMatchObject({ status: 400, json: { problems: [{ path: 'max_removed' }] } })
    expect(await put('')).toMatchObject({ status: 400, json: { problems: [{ path: 'allow_empty' }] } })
    const removed = await put(line('bob', 50), '?max_removed=1')
    expect(removed.json).toMatchObject({ total: 1, removed: 1, changes: [{ organisation: 'acme', to: null }] })
    expect((await running.call('GET', acme)).status).toBe(404)
    const { entries } = (await running.call('GET', '/api/audit')).json
    expect(entries[0]).toMatchObject({ from: { total: 2, organisations: { acme: { layers: [{ until }] } } } })
    const undone = await running.call('POST', `/api/audit/${entries[0].version}/undo`)
    expect(undone.status).toBe(200)
    expect((await get()).text).toBe(exported)
  })

  it('a file of overrides is undone without what was set, or taken away, one by one since', async () => {
    await put([line('bob', 50), line('carol', 70), line('dora', 90)].join('\n'))
    const file = await put([line('bob', 51), line('carol', 71)].join('\n'), '?max_removed=1')
    expect(file.json).toMatchObject({ removed: 1, changed: 2 })
    const { entries } = (await running.call('GET', '/api/audit')).json
    await running.call('PUT', '/api/users/bob/override', { body: { read: { '1h': 52 }, reason: 'since' } })
    await running.call('DELETE', '/api/users/carol/override')
    expect((await running.call('POST', `/api/audit/${entries[0].version}/undo`)).status).toBe(200)
    const users = (await get()).text.split('\n').slice(0, -1)
    expect(users.map((each: string) => JSON.parse(each))).toMatchObject([
      { user: 'bob', read: { '1h': 52 } },
      { user: 'dora', read: { '1h': 90 } },
    ])
  })

  it('a file of overrides leaves the others alone if it is merged', async () => {
    await put(line('bob', 50))
    expect((await put(line('alice', 60), '?merge=1')).json).toMatchObject({
      merge: true,
      total: 2,
      added: 1,
      unchanged: 1,
    })
    const single = await running.call('GET', '/api/users/bob/override')
    expect(single.headers.etag).toBe('"1"')
    const headers = { 'if-match': '"1"' }
    const body = { read: { '1h': 51 }, reason: 'r' }
    expect((await running.call('PUT', '/api/users/bob/override', { headers, body })).status).toBe(200)
  })

  it('a file of overrides adds lines with an end above what is set if it is merged, which is in force again afterwards', async () => {
    const until = (days: number) => new Date(NOW + days * 86_400_000).toISOString()
    const temporary = (limit: number, days: number) =>
      JSON.stringify({ user: 'bob', read: { '1h': limit }, reason: 'a launch', expiresAt: until(days) })
    await put(line('bob', 50))
    expect((await put(temporary(200, 4), '?merge=1')).json).toMatchObject({ changed: 1, added: 0 })
    expect((await put(temporary(200, 4), '?merge=1')).json).toMatchObject({ changed: 0, unchanged: 1 })
    const lines = async () => (await get()).text.trimEnd().split('\n')
    expect(await lines()).toEqual([line('bob', 50), temporary(200, 4)])
    const more = await put([temporary(200, 5), temporary(300, 2)].join('\n'), '?merge=1')
    expect(more.json).toMatchObject({ changed: 1 })
    expect(await lines()).toEqual([line('bob', 50), temporary(200, 5), temporary(300, 2)])
    expect((await put([line('bob', 60), temporary(90, 1)].join('\n'), '?merge=1')).status).toBe(200)
    expect(await lines()).toEqual([line('bob', 60), temporary(90, 1)])
    const many = Array.from({ length: 20 }, (_, i) => temporary(100 + i, i + 2))
    for (const way of ['?merge=1&dry_run=1', '?merge=1']) {
      const refused = await put(many.join('\n'), way)
      const problems = [{ path: 'line 1, expiresAt', msg: expect.stringContaining('20 overrides with an end') }]
      expect(refused).toMatchObject({ status: 400, json: { problems } })
    }
    expect((await put(many.slice(1).join('\n'), '?merge=1')).status).toBe(200)
    expect(await lines()).toHaveLength(21)
  })

  it('a file of overrides is tried with what a run would say: what it is refused for, and which ends it adds and drops', async () => {
    const expiresAt = new Date(NOW + 86_400_000).toISOString()
    await put([line('bob', 50), line('carol', 60, { expiresAt }), line('carol', 70)].join('\n'))
    for (const [text, way, path] of [
      ['', '', 'allow_empty'],
      ['', 'allow_empty=1', null],
      [line('bob', 50), '', 'max_removed'],
      [line('bob', 50), 'max_removed=1', null],
      [line('bob', 50), 'merge=1', null],
    ] as const) {
      const tried = await put(text, `?dry_run=1&${way}`)
      expect([tried.status, tried.json.refused?.path ?? null], way).toEqual([200, path])
      expect(tried.json).toMatchObject({ dryRun: true, removed: way === 'merge=1' ? 0 : text === '' ? 2 : 1 })
      if (path === null) continue
      const { status, json } = await put(text, `?${way}`)
      expect([status, json.problems]).toEqual([400, [tried.json.refused]])
    }
    const file = [line('carol', 70), line('bob', 80, { expiresAt }), line('bob', 50)].join('\n')
    const [added, dropped] = [[{ until: expiresAt }], []]
    for (const way of ['?dry_run=1', '']) {
      const { json } = await put(file, way)
      expect(json).toMatchObject({ refused: null, endsAdded: 1, endsDropped: 1 })
      expect(json.changes).toMatchObject([
        { user: 'bob', ends: { added, dropped } },
        { user: 'carol', ends: { added: dropped, dropped: added } },
      ])
    }
    const [{ version }] = (await running.call('GET', '/api/audit')).json.entries
    const undone = await running.call('POST', `/api/audit/${version}/undo`)
    expect(undone.json.ends).toMatchObject({
      added: [{ until: expiresAt, value: { limits: { read: { '1h': 60 } } } }],
      dropped: [{ until: expiresAt, value: { limits: { read: { '1h': 80 } } } }],
    })
  })

  it('a file of overrides that is not of the version that was read changes nothing', async () => {
    await put(line('bob', 50))
    await running.call('PUT', '/api/users/eve/override', { body: { shadow: true, reason: 'r' } })
    const late = await put(line('alice', 60), '?max_removed=2', { ...NDJSON, 'if-match': '"1"' })
    expect([late.status, late.json.error, late.json.version]).toEqual([412, 'version_conflict', 2])
    expect((await put(line('alice', 60), '?max_removed=2', { ...NDJSON, 'if-match': '"2"' })).status).toBe(200)
  })

  it('a file of overrides with a problem changes nothing, and has its line named', async () => {
    await put(line('bob', 50))
    const bad = await put(`${line('alice', 60)}\n${line('carl', -1)}\n`)
    expect([bad.status, bad.json.problems]).toEqual([
      400,
      [{ path: 'line 2, read.1h', msg: expect.stringContaining('whole number') }],
    ])
    expect((await get()).text).toBe(`${line('bob', 50)}\n`)
  })

  it('a file of overrides has what lies under an override with an end, and is read again once it has ended', async () => {
    const set = (body: object) => running.call('PUT', '/api/users/etl/override', { body })
    await set({ read: { '1h': 30 }, reason: 'OPS-1423' })
    await set({ read: { '1h': 45 }, reason: 'for an hour', expiresAt: new Date(NOW + 3_600_000).toISOString() })
    const { text } = await get()
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((each) => JSON.parse(each).reason),
    ).toEqual(['OPS-1423', 'for an hour'])
    const csv = (await get('?format=csv')).text
    for (const reply of [await put(text), await put(csv, '', CSV)])
      expect(reply.json).toMatchObject({ unchanged: 1, version: 2 })
    const ended = await put(`${text}${line('bob', 5, { expiresAt: '2020-01-31T00:00:00Z' })}`)
    expect(ended.json).toMatchObject({
      ...{ unchanged: 1, added: 0, endedCount: 1 },
      ended: [{ line: 3, user: 'bob', expiresAt: '2020-01-31T00:00:00.000Z' }],
    })
    await put(text.replace('"1h":30', '"1h":31'))
    expect((await running.call('GET', '/api/users/etl/override')).json).toMatchObject({
      limits: { read: { '1h': 45 } },
      layers: [{ value: { reason: 'for an hour' } }, { id: 'permanent', value: { limits: { read: { '1h': 31 } } } }],
    })
  })

  it('a file of overrides that is empty, or removes more than a tenth, is refused unless it is confirmed', async () => {
    const users = (count: number): string => Array.from({ length: count }, (_, i) => line(`user-${i}`, i)).join('\n')
    await put(users(40))
    for (const [body, headers] of [
      ['', NDJSON],
      ['\n\n', NDJSON],
      ['user,reason\n', CSV],
    ] as const) {
      const empty = await put(body, '?max_removed=40', headers)
      expect(empty).toMatchObject({ status: 400, json: { problems: [{ path: 'allow_empty' }] } })
    }
    const half = await put(users(20))
    expect(half).toMatchObject({ status: 400, json: { problems: [{ path: 'max_removed' }] } })
    expect(half.json.msg).toContain('20 of 40 overrides would be removed')
    expect((await put(users(20), '?max_removed=19')).status).toBe(400)
    expect((await put(users(20), '?dry_run=1')).json).toMatchObject({ removed: 20, total: 20 })
    expect((await put(users(80))).json).toMatchObject({ added: 40, total: 80 })
    expect((await put(users(72))).json).toMatchObject({ removed: 8, total: 72 })
    expect((await put(users(36), '?max_removed=36')).json).toMatchObject({ removed: 36, total: 36 })
    expect((await put('', '?allow_empty=1')).json).toMatchObject({ removed: 36, total: 0 })
    expect((await put('')).json).toMatchObject({ removed: 0, total: 0 })
    expect((await put(users(1), '?max_removed=-1')).status).toBe(400)
  })

  it('a file of overrides is undone by its number, however large it was, but for users for whom something was set since', async () => {
    const users = (count: number, limit: number): string =>
      Array.from({ length: count }, (_, i) => line(`user-${i}`, limit + i)).join('\n')
    await put(users(900, 1))
    const before = (await get()).text
    await put('', '?allow_empty=1')
    await running.call('PUT', '/api/users/eve/override', { body: { shadow: true, reason: 'r' } })
    const undone = await running.call('POST', '/api/audit/2/undo', { body: { reason: 'a dead pipe' } })
    expect(undone.json.entry).toMatchObject({
      ...{ version: 4, what: 'overrides', why: 'undo of 2: a dead pipe' },
      to: { total: 901, added: 900, undone: 2 },
    })
    const eve = `${JSON.stringify({ user: 'eve', shadow: true, reason: 'r' })}\n`
    expect((await get()).text).toBe(`${eve}${before}`)
    expect((await running.call('POST', '/api/audit/2/undo')).json.error).toBe('not_undoable')
    await running.call('POST', '/api/audit/4/undo')
    expect((await get()).text).toBe(eve)
  })

  it('a file of overrides has lines named that some request can never fit into', async () => {
    const { json } = await put(
      `${line('bob', 50)}\n${JSON.stringify({ user: 'eve', write: { '1h': 20 }, reason: 'r' })}\n`,
    )
    expect(json.warningCount).toBe(1)
    expect(json.warnings[0]).toMatchObject({
      line: 2,
      user: 'eve',
      category: 'write',
      window: '1h',
      limit: 20,
      cost: 25,
    })
  })

  it('a file of overrides has exactly the lines counted whose limit is too low for some request', async () => {
    running = await startAdmin({
      yaml: YAML.replace('quota:', 'quota:\n  exempt: { users: [eve] }').replaceAll(
        'write: { 1h: 60,',
        'write: { 1h: 10,',
      ),
    })
    const lines = [
      { user: 'high', factor: 3, write: { '1h': 24, '5h': 50 } },
      { user: 'lower', factor: 0.9, write: { '1h': 50, '5h': 50 } },
      { user: 'eve', write: { '1h': 1 } },
      { user: 'low', factor: 2 },
      { organisation: 'acme', write: { '1h': 24 } },
    ]
    const { json } = await put(lines.map((each) => JSON.stringify({ ...each, reason: 'r' })).join('\n'))
    const named = json.warnings.map(({ line, window, limit }: Record<string, unknown>) => [line, window, limit])
    expect([json.warningCount, named]).toEqual([
      2,
      [
        [5, '1h', 24],
        [4, '1h', 20],
      ],
    ])
  })

  it('a file of overrides is taken from administrators alone, of one of both types, as it is and not too large', async () => {
    const refused = async (body: string, headers: Record<string, string>) => (await put(body, '', headers)).status
    expect(await refused('{}', { 'content-type': 'application/json' })).toBe(415)
    expect(await refused('x', { 'content-type': 'text/csv; charset=utf-16' })).toBe(415)
    expect(await refused('x', { ...CSV, 'content-encoding': 'gzip' })).toBe(415)
    expect(await refused('x', { ...CSV, authorization: `Bearer ${VIEWER}` })).toBe(403)
    const tooLarge = `PUT /api/overrides HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: text/csv\r\nContent-Length: 10485761\r\nConnection: close\r\n\r\n`
    expect(await running.raw(tooLarge)).toContain('HTTP/1.1 413 ')
    expect((await put('', '?dry=1')).status).toBe(400)
    expect((await get('?format=xml')).status).toBe(400)
  })

  it('a file of overrides of two administrators at once is whole, whoever comes last', async () => {
    const files = ['a', 'b', 'c'].map((who) => Array.from({ length: 700 }, (_, i) => line(`${who}-${i}`, i)).join('\n'))
    const replies = await Promise.all(files.map((file) => put(file, '?max_removed=700')))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    const users = (await get()).text.trimEnd().split('\n')
    expect(users).toHaveLength(700)
    expect(new Set(users.map((each) => JSON.parse(each).user[0])).size).toBe(1)
    expect((await running.call('GET', '/api/audit')).json.entries).toHaveLength(3)
  })
})

it('a gateway that dies or is cut off while it stages a file leaves the overrides of before in force', async () => {
  const store = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => NOW }))
  let staged = 0
  const broken = {
    stageOverrides: async (...of: Parameters<typeof store.stageOverrides>) => {
      if (++staged > 2) throw new StoreError('gone', 'connection', 'unknown')
      await store.stageOverrides(...of)
    },
  }
  const cut = await startAdmin({ store, broken })
  const other = createChangeFollower({ store, observe: () => {}, pollMs: 1e9 })
  try {
    const headers = NDJSON
    expect((await cut.call('PUT', '/api/overrides', { headers, body: line('bob', 50) })).status).toBe(200)
    const many = Array.from({ length: 1000 }, (_, i) => line(`user-${i}`, i)).join('\n')
    expect((await cut.call('PUT', '/api/overrides?max_removed=1', { headers, body: many })).status).toBe(503)
    expect([...(await other.fresh()).overrides.keys()]).toEqual(['bob'])
  } finally {
    other.close()
  }
})
