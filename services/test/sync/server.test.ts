import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { atEnd, tempFolder } from '../../../test/setup/at-end.ts'
import { BUNDLED_CATALOGUE } from '../../music/catalogue.ts'
import { createSyncService } from '../../sync/service.ts'
import { changed, locked } from '../other-process.ts'
import { expectResponse, responseOf, saidTo } from '../responses.ts'
import { chunk, finalChunk, incremental, QQ, record, startSync, TOKEN } from './harness.ts'

const SYNC = '/api/bot/sync'
const PATHS = [
  SYNC,
  `/api/bot/player/${QQ}`,
  `/api/bot/player/${QQ}/summary`,
  `/api/bot/player/${QQ}/trend`,
  `/api/bot/player/${'1'.repeat(5000)}`,
  '/nothing',
]
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLW9mLW5vYm9keQ'

const strangers: Record<string, string>[] = [
  {},
  { 'bot-token': '' },
  { 'bot-token': `${TOKEN}x` },
  { 'bot-token': TOKEN.slice(1) },
  { 'bot-token': TOKEN.toUpperCase() },
  { 'bot-token': `${TOKEN}, ${TOKEN}` },
  { 'bot-token': JWT },
  { 'bot-token': 'gw_0123456789abcdefghijklmnopqrstuvwxyzABCD' },
  { 'bot-token': 'mk_live_8Jq0Zl3o' },
  { authorization: `Bearer ${TOKEN}` },
  { authorization: `Bot-Token ${TOKEN}` },
  { 'x-bot-token': TOKEN },
  { cookie: `Bot-Token=${TOKEN}` },
]

it.each(PATHS)('credentials are refused to every stranger with one and the same response: %s', async (path) => {
  const { url } = await startSync()
  const responses = []
  for (const headers of strangers) {
    const method = path === SYNC ? 'POST' : 'GET'
    const body = method === 'POST' ? { body: 'not even JSON' } : {}
    const answer = await responseOf(await fetch(url() + path, { method, headers, ...body }))
    const { date: _, ...rest } = Object.fromEntries(answer.headers)
    responses.push(JSON.stringify([answer.status, answer.text, rest]))
  }
  expect(responses[0]).toContain('[401,"{\\"detail\\":\\"Bot-Token 无效\\"}"')
  expect(responses[0]).toContain('"www-authenticate":"Bot-Token"')
  expect(new Set(responses).size).toBe(1)
})

it('credentials are taken if they are one of several tokens', async () => {
  const { send } = await startSync({ botTokens: ['first', TOKEN, '令牌'] })
  const statusOf = async (token: string) =>
    (await send(`/api/bot/player/${QQ}`, { headers: { 'bot-token': token } })).status
  expect([await statusOf('first'), await statusOf(TOKEN), await statusOf('second')]).toEqual([404, 404, 401])
})

it('credentials are judged before the body has come', async () => {
  const { url } = await startSync()
  const socket = connect(Number(new URL(url()).port), '127.0.0.1')
  atEnd(() => socket.destroy())
  socket.write(
    `POST ${SYNC} HTTP/1.1\r\nhost: sync\r\nbot-token: ${JWT}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`,
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toMatch(/^HTTP\/1\.1 401 /)
})

it('credentials are never kept', async () => {
  const { sync, send, database, errors, close } = await startSync()
  await sync(chunk('A', [record()]))
  await send(SYNC, { method: 'POST', body: '{', headers: { 'bot-token': 'a-wrong-token-of-somebody' } })
  await close()
  const folder = dirname(database)
  const files = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, 'latin1'))
  expect(files.join('').length).toBeGreaterThan(1000)
  expect(files.join('')).not.toContain(TOKEN)
  expect(files.join('')).not.toContain('a-wrong-token-of-somebody')
  expect(errors).toEqual([])
})

it.each([[[]], [['']], [['one', '']]])('credentials do not start a service if they are %j', async (botTokens) => {
  const options = { database: `${tempFolder()}/sync.db`, catalogue: BUNDLED_CATALOGUE, botTokens }
  await expect(createSyncService(options)).rejects.toThrow('bot token')
})

const PAGE = 'http://127.0.0.1:8080'
const preflight = { origin: PAGE, 'access-control-request-method': 'POST' }

async function headersOf(path: string, method: string, headers: Record<string, string>) {
  const { url } = await startSync({ allowedOrigins: [PAGE] })
  const response = await fetch(url() + path, { method, headers })
  return { status: response.status, get: (name: string) => response.headers.get(`access-control-${name}`) }
}

it('pages of other origins may read the document, whoever they are, and need no credential', async () => {
  const answer = await headersOf('/openapi.json', 'GET', { origin: 'https://anywhere.example' })
  expect([answer.status, answer.get('allow-origin'), answer.get('allow-credentials')]).toEqual([200, '*', null])
})

it('pages of other origins are answered about the document as everybody is, since it may come from a cache', async () => {
  const answer = await headersOf('/openapi.json', 'GET', {})
  expect([answer.status, answer.get('allow-origin'), answer.get('expose-headers')]).toEqual([200, '*', null])
})

it('pages of other origins that the configuration allows may ask with a token, and see why they are refused', async () => {
  const asked = await headersOf(SYNC, 'OPTIONS', preflight)
  expect([asked.status, asked.get('allow-origin'), asked.get('allow-methods'), asked.get('allow-headers')]).toEqual([
    204,
    PAGE,
    'POST',
    'Bot-Token, Content-Type',
  ])
  const refused = await headersOf(SYNC, 'POST', { origin: PAGE })
  expect([refused.status, refused.get('allow-origin'), refused.get('allow-credentials')]).toEqual([401, PAGE, null])
})

it.each(['https://evil.example', 'null', `${PAGE}.evil.example`, 'http://127.0.0.1:80801'])(
  'pages of other origins are not allowed by %s',
  async (origin) => {
    const asked = await headersOf(SYNC, 'OPTIONS', { ...preflight, origin })
    expect([asked.status, asked.get('allow-origin')]).toEqual([401, null])
    const sent = await headersOf(SYNC, 'POST', { origin, 'bot-token': TOKEN })
    expect(sent.get('allow-origin')).toBeNull()
  },
)

it.each(['/', '/api/bot', '/api/bot/sync/', '/api/bot/player', '/api/bot/player/10000/x', '/API/bot/sync'])(
  'routes of sync do not include %s',
  async (path) => {
    const { send } = await startSync()
    expectResponse(await send(path), 404, { detail: 'Not Found' })
  },
)

it('routes of sync name the methods that a path knows', async () => {
  const { send } = await startSync()
  for (const [path, method, allow] of [
    [SYNC, 'GET', 'POST'],
    [SYNC, 'PUT', 'POST'],
    [`/api/bot/player/${QQ}`, 'DELETE', 'GET, HEAD'],
    [`/api/bot/player/${QQ}/trend`, 'POST', 'GET, HEAD'],
    ['/openapi.json', 'POST', 'GET, HEAD'],
  ] as const) {
    const answer = await send(path, { method })
    expect([answer.status, answer.json, answer.headers.get('allow')]).toEqual([
      405,
      { detail: 'Method Not Allowed' },
      allow,
    ])
  }
})

it('routes of sync refuse a path that cannot be decoded', async () => {
  const { send } = await startSync()
  expect(await send('/api/bot/player/%zz')).toMatchObject({ status: 400, json: { detail: 'malformed URL' } })
})

describe('a body', () => {
  const problem = (loc: (string | number)[], type: string) => ({ loc: ['body', ...loc], msg: expect.any(String), type })
  const valid = incremental([record()])

  it.each([
    ['', [problem([], 'missing')]],
    ['{', [problem([], 'json_invalid')]],
    ['{"qq":NaN,"records":[]}', [problem([], 'json_invalid')]],
    ['{"__proto__":{"qq":123456789},"records":[]}', [problem([], 'json_invalid')]],
    ['{"qq":123456789,"records":[{"song_id":1,"__proto__":1}]}', [problem([], 'json_invalid')]],
    [new Uint8Array([0x7b, 0xff, 0x7d]), [problem([], 'json_invalid')]],
    ['[]', [problem([], 'dict_type')]],
    ['null', [problem([], 'dict_type')]],
    ['"text"', [problem([], 'dict_type')]],
    ['{}', [problem(['records'], 'missing')]],
    [{ records: [] }, [problem(['qq'], 'missing')]],
    [{ ...valid, qq: null }, [problem(['qq'], 'int_type')]],
    [{ ...valid, qq: '123456789' }, [problem(['qq'], 'int_type')]],
    [{ ...valid, qq: 123456789.5 }, [problem(['qq'], 'int_from_float')]],
    ['{"qq":1e400,"records":[]}', [problem(['qq'], 'int_type')]],
    [{ qq: QQ, records: {} }, [problem(['records'], 'list_type')]],
    [{ ...valid, records: [null] }, [problem(['records', 0], 'dict_type')]],
    [
      { ...valid, records: [record(), { song_id: 1 }] },
      [problem(['records', 1, 'level_index'], 'missing'), problem(['records', 1, 'achievements'], 'missing')],
    ],
    [
      { ...valid, records: [record(2001, { achievements: 'NaN' })] },
      [problem(['records', 0, 'achievements'], 'float_type')],
    ],
    [
      '{"qq":123456789,"records":[{"song_id":1,"level_index":1,"achievements":1e999}]}',
      [problem(['records', 0, 'achievements'], 'float_type')],
    ],
    [{ ...valid, records: [record(1e300)] }, [problem(['records', 0, 'song_id'], 'less_than_equal')]],
    [
      { ...valid, records: [record(2001, { dxScore: 1.5, fc: 1, title: [] })] },
      [
        problem(['records', 0, 'title'], 'string_type'),
        problem(['records', 0, 'dxScore'], 'int_from_float'),
        problem(['records', 0, 'fc'], 'string_type'),
      ],
    ],
    [{ ...valid, full_snapshot: 'yes' }, [problem(['full_snapshot'], 'bool_type')]],
    [{ ...valid, nickname: 'x'.repeat(65) }, [problem(['nickname'], 'string_too_long')]],
    [{ ...valid, rating: -1 }, [problem(['rating'], 'greater_than_equal')]],
    [{ ...valid, play_count: 1e300 }, [problem(['play_count'], 'less_than_equal')]],
    [chunk('x'.repeat(65), []), [problem(['snapshot_id'], 'string_too_long')]],
    [chunk('', []), [problem(['snapshot_id'], 'string_pattern_mismatch')]],
    [chunk('a\u0000', []), [problem(['snapshot_id'], 'string_pattern_mismatch')]],
    [chunk('\ud800', []), [problem(['snapshot_id'], 'value_error')]],
    [chunk('a', [], { snapshot_id: 1 }), [problem(['snapshot_id'], 'string_type')]],
    [chunk('a', [], { chunk_index: 0 }), [problem(['chunk_index'], 'value_error')]],
    [chunk('a', [], { chunk_count: 2 }), [problem(['chunk_index'], 'value_error')]],
    [chunk('a', [], { chunk_index: 2, chunk_count: 2 }), [problem(['chunk_index'], 'value_error')]],
    [chunk('a', [], { chunk_index: 0, chunk_count: 1e9 }), [problem(['chunk_count'], 'less_than_equal')]],
  ])('a body that is %j gets an error that says what is wrong', async (body, detail) => {
    const { sync, player } = await startSync()
    expectResponse(await sync(body), 422, { detail })
    expect((await player(QQ)).status).toBe(404)
  })

  it.each([9999, 0, -123456789, 1_000_000_000_000, 1e20])('a body of player %d is out of range', async (qq) => {
    const { sync } = await startSync()
    expectResponse(await sync({ qq, records: [] }), 400, { detail: 'qq is not within 10000 to 999999999999' })
    expect((await sync({ player_id: qq, records: [] })).status).toBe(400)
    expect((await sync({ qq, records: 1 })).status).toBe(422)
  })

  it.each([10_000, 999_999_999_999])('a body of player %d is in range', async (qq) => {
    const { sync, player } = await startSync()
    await sync({ qq, records: [record()] })
    expect((await player(qq)).json).toMatchObject({ qq, username: `bot_${qq}` })
  })

  it('a body may say more than is known, and names of any letters', async () => {
    const { sync, player } = await startSync()
    const nickname = 'a\u0000"\u2028😀\ud800'
    const more = { constructor: 1, extra: { deep: [1] }, nickname }
    const sent = incremental([record(2001, { play_count: 3, toString: 1, title: '\ud800雪' })], more)
    expect((await sync(sent)).status).toBe(200)
    expect((await sync(sent)).json).toMatchObject({ skipped: 1 })
    const { json } = await player(QQ)
    expect([json.nickname, json.records[0].title]).toEqual(['a\u0000"\u2028😀\ufffd', '\ufffd雪'])
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'nonsense'])(
    'a body of type %s is refused',
    async (type) => {
      const { send } = await startSync()
      expectResponse(await send(SYNC, { method: 'POST', body: valid, headers: { 'content-type': type } }), 422, {
        detail: [{ loc: ['body'], msg: 'Content-Type must be application/json', type: 'json_invalid' }],
      })
    },
  )

  it('a body may hold 10,000 records and no more', async () => {
    const { sync } = await startSync()
    const many = Array.from({ length: 10_000 }, (_, index) =>
      record(5001 + (index % 2500), { level_index: Math.floor(index / 2500) }),
    )
    expect((await sync(incremental(many))).json).toMatchObject({ imported: 10_000, stored_records: 10_000 })
    expectResponse(await sync(incremental([...many, record(1)])), 422, {
      detail: [{ loc: ['body', 'records'], msg: 'List should have at most 10000 items', type: 'too_long' }],
    })
  })

  it('a body does not give a player more than 20,000 scores, and changes nothing if it would', async () => {
    const { sync, player } = await startSync()
    const songs = (first: number) =>
      Array.from({ length: 10_000 }, (_, index) => record(first + index, { level_index: 0 }))
    for (let first = 200_000; first < 220_000; first += 10_000) await sync(incremental(songs(first)))
    for (const more of [
      incremental([record()]),
      chunk('A', [record()]),
      { qq: QQ, full_snapshot: true, records: [record()] },
    ]) {
      expectResponse(await sync(more), 400, { detail: 'a player has 20000 scores at most' })
    }
    // Those that are known are no more than before, and no snapshot was begun.
    expect((await sync(finalChunk('B', songs(200_000)))).json).toMatchObject({
      removed: 10_000,
      stored_records: 10_000,
    })
    expect((await player(QQ, '/summary')).status).toBe(200)
  })

  it('a body of 10,000 bad records is answered with the first 100 mistakes', async () => {
    const { sync } = await startSync()
    const answer = await sync(incremental(Array.from({ length: 10_000 }, () => ({}))))
    expect([answer.status, answer.json.detail.length]).toEqual([422, 100])
  })

  it('a body may have 8 MiB and no more', async () => {
    const { sync } = await startSync()
    const padded = (size: number) => `{"qq":${QQ},"records":[],"x":"${'x'.repeat(size - 36)}"}`
    expect(padded(1000)).toHaveLength(1000)
    expect((await sync(padded(8 * 1024 * 1024))).status).toBe(200)
    expectResponse(await sync(padded(8 * 1024 * 1024 + 1)), 413, { detail: 'the body is larger than 8 MiB' })
  })

  it('a body that is too deep harms nobody', async () => {
    const { sync } = await startSync()
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const deep = `${open.repeat(500_000)}1${close.repeat(500_000)}`
      expect((await sync(deep)).status).toBe(422)
      expect((await sync(`{"qq":${QQ},"records":[],"x":${deep}}`)).status).toBe(422)
    }
    expect((await sync(valid)).status).toBe(200)
  })

  it('a body that is no HTTP gets a response all the same', async () => {
    const { url } = await startSync()
    expect(await saidTo(url(), 'NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"detail":"not a valid HTTP request"/s)
  })
})

describe('two requests at once', () => {
  it('two requests at once of one player end with the second refused and the first carried out', async () => {
    const { sync, database, stored } = await startSync({ busyTimeout: 60_000 })
    const other = locked(database)
    const both = [sync(chunk('A', [record(2001)])), sync(chunk('A', [record(2002)]))]
    const refused = await Promise.race(both)
    expect([refused.status, refused.json, refused.headers.get('retry-after')]).toEqual([
      429,
      { detail: '成绩正在上传中' },
      '2',
    ])
    other.exec('COMMIT')
    const statuses = await Promise.all(both.map(async (each) => (await each).status))
    expect(statuses.toSorted()).toEqual([200, 429])
    expect(Object.keys(await stored())).toEqual([`${statuses[0] === 200 ? 2001 : 2002}/3`])
    expect((await sync(chunk('A', [record(2002)]))).status).toBe(200)
  })

  it('two requests at once of two players are both carried out', async () => {
    const { sync, player, database } = await startSync({ busyTimeout: 60_000 })
    const other = locked(database)
    const both = [sync(incremental([record()])), sync(incremental([record()], { qq: QQ + 1 }))]
    expect((await player(QQ)).status).toBe(404)
    other.exec('COMMIT')
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200])
  })

  it('two requests at once are to be sent again later if a process keeps the file for too long', async () => {
    const { sync, player, database } = await startSync({ busyTimeout: 50 })
    await sync(incremental([record()]))
    const other = locked(database)
    const answer = await sync(incremental([record(2002)]))
    expect([answer.status, answer.json, answer.headers.get('retry-after')]).toEqual([
      429,
      { detail: '成绩正在上传中' },
      '2',
    ])
    expect((await player(QQ)).json.records).toHaveLength(1)
    other.exec('COMMIT')
    expect((await sync(incremental([record(2002)]))).status).toBe(200)
  })

  it('to two services on one file share the snapshot', async () => {
    const first = await startSync()
    const second = await startSync({ database: first.database })
    await first.sync(incremental([record(2000)]))
    const parts = Array.from({ length: 20 }, (_, index) => chunk('A', [record(2001 + index)]))
    const send = async (service: typeof first, part: object): Promise<number> => {
      const { status } = await service.sync(part)
      return status === 429 ? send(service, part) : status
    }
    const statuses = await Promise.all(parts.map((part, index) => send(index % 2 === 0 ? first : second, part)))
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect((await second.sync(chunk('B', [record()]))).status).toBe(409)
    expect((await first.sync(finalChunk('A', []))).json).toMatchObject({ removed: 1, stored_records: 20 })
    expect((await second.sync(parts[0])).json).toMatchObject({ status: 'ok', imported: 0 })
  })
})

it('a failure that nobody foresaw shows the client nothing and the log everything but the token', async () => {
  const { sync, database, errors, stored } = await startSync()
  await sync(incremental([record()]))
  changed(database, 'ALTER TABLE history RENAME TO gone')
  expectResponse(await sync(incremental([record(2002)])), 500, { detail: 'Internal Server Error' })
  expect(errors).toEqual([{ err: expect.objectContaining({ message: expect.stringContaining('history') }) }])
  expect(String((errors[0] as { err: Error }).err.stack)).not.toContain(TOKEN)
  expect(Object.keys(await stored())).toEqual(['2001/3'])
})
