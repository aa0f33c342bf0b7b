import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { BUNDLED_CATALOGUE } from '../../music/catalogue.ts'
import { ROUTES } from '../../score/routes.ts'
import { createScoreService } from '../../score/service.ts'
import { changed, locked } from '../other-process.ts'
import { expectResponse, responseOf, saidTo } from '../responses.ts'
import { expectRefused, record, SECRET, startScore } from './harness.ts'

const UPSERT = '/v1/music/upsert'
const POSTS = ROUTES.filter(({ method }) => method === 'POST').map(({ path }) => path)

it.each(POSTS)('credentials are refused at %s if the secret is unknown or no user is named', async (path) => {
  const { url, records } = await startScore()
  const as = async (headers: Record<string, string>) =>
    responseOf(await fetch(url + path, { method: 'POST', headers, body: 'not even JSON' }))
  for (const headers of [
    {},
    { 'x-tollgate-user': 'alice' },
    { 'x-tollgate-user': 'alice', 'x-backend-secret': '' },
    { 'x-tollgate-user': 'alice', 'x-backend-secret': `${SECRET}x` },
    { 'x-tollgate-user': 'alice', authorization: `Bearer ${SECRET}` },
    { 'x-backend-secret': SECRET },
    { 'x-backend-secret': SECRET, 'x-tollgate-user': '%ff' },
    { 'x-backend-secret': SECRET, 'x-tollgate-user': 'a'.repeat(257) },
  ]) {
    const response = await as(headers as Record<string, string>)
    expectResponse(response, 401, { error: 'unauthorized', msg: expect.any(String) })
    expect(response.headers.get('www-authenticate')).toBe('X-Backend-Secret')
  }
  expect(records.every(({ status }) => status === 401)).toBe(true)
})

it('credentials are asked for before a stranger learns which paths exist', async () => {
  const { url } = await startScore()
  expect((await fetch(`${url}/v1/nothing`)).status).toBe(401)
})

it('credentials need a secret to start', async () => {
  const options = { database: `${tempFolder()}/score.db`, catalogue: BUNDLED_CATALOGUE, backendSecret: '' }
  await expect(createScoreService(options)).rejects.toThrow('secret')
})

it.each(['/', '/v1', '/v1/music', '/v1/music/upsert/', '/V1/music/upsert', '/v1/update', '/v1//charge'])(
  'routes of score do not include %s',
  async (path) => {
    const { post } = await startScore()
    expectResponse(await post(path), 404, { error: 'not_found', msg: expect.any(String) })
  },
)

it('routes of score name the method that a path knows', async () => {
  const { post } = await startScore()
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const response = await post(UPSERT, {}, { method })
    expect([response.status, response.json.error, response.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'POST',
    ])
  }
  const health = await post('/v1/health')
  expect([health.status, health.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

it.each(['/v1/item/upsert', '/v1/user/upsert-all', '/v1/kaleidx-scope/upsert', '/v1/update-lx', '/v1/update-fish'])(
  'routes of score report that %s is left out',
  async (path) => {
    const { post } = await startScore()
    expectRefused(await post(path), 410, 'capability_missing')
  },
)

it('routes of score refuse a path that cannot be decoded', async () => {
  const { post } = await startScore()
  expectRefused(await post('/v1/%zz'), 400, 'invalid_request')
})

describe('bodies', () => {
  const FIELDS = {
    '/v1/charge': { chargeId: 2 },
    '/v1/music/clear': { confirm: true },
    '/v1/update-lx': { key: 'a key' },
    '/v1/update-fish': { token: 'a token' },
  } as Record<string, object>
  /** Nothing of it is asked: the bodies are bad. */
  const external = { lxns: { base_url: 'http://127.0.0.1:9' }, fish: { base_url: 'http://127.0.0.1:9' } }
  const known = POSTS.filter((path) => !/upsert-all|item\/upsert|scope\/upsert/.test(path))
  const good = (path: string) => FIELDS[path] ?? (path.startsWith('/v1/music') ? record() : {})

  it.each(known)('bodies of %s may have no unknown field', async (path) => {
    const { post } = await startScore({ external })
    expect(await post(path, { ...good(path), unknown: 1 })).toMatchObject({
      status: 400,
      json: { error: 'invalid_request', returnCode: 1205 },
    })
  })

  it.each(known)('bodies of %s are JSON objects and nothing else', async (path) => {
    const { post } = await startScore({ external })
    for (const body of ['{', '[]', '"text"', '1', 'null', '{"__proto__":{}}', new Uint8Array([0x7b, 0xff, 0x7d])]) {
      expect(await post(path, body), String(body)).toMatchObject({ status: 400, json: { error: 'invalid_request' } })
    }
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'text/json', 'nonsense'])(
    'bodies may not have the content type %s',
    async (type) => {
      const { post } = await startScore()
      const response = await post('/v1/charge', '{"chargeId":2}', { headers: { 'content-type': type } })
      expect(response).toMatchObject({ status: 400, json: { error: 'invalid_request', returnCode: 1205 } })
    },
  )

  it('bodies may name a charset, and may be left out as an empty one', async () => {
    const { post, url } = await startScore()
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    expect((await post('/v1/user/data', '{}', { headers })).status).toBe(200)
    const none = { 'x-backend-secret': SECRET, 'x-tollgate-user': 'alice' }
    expect((await fetch(`${url}/v1/user/data`, { method: 'POST', headers: none })).status).toBe(200)
    expect((await post('/v1/user/data', '')).status).toBe(200)
    expect((await post('/v1/charge', '')).json).toMatchObject({
      error: 'invalid_request',
      msg: 'chargeId: is required',
    })
  })

  it('bodies may have 1 MiB and no more, with or without a declared length', async () => {
    const { url, post } = await startScore()
    const padded = (size: number) => `{"qrcode":"${'x'.repeat(size - 13)}"}`
    expect((await post('/v1/user/data', padded(1024 * 1024))).status).toBe(200)
    for (const size of [1024 * 1024 + 1, 8 * 1024 * 1024]) {
      expectRefused(await post('/v1/user/data', padded(size)), 413, 'payload_too_large')
    }
    const response = await fetch(`${url}/v1/user/data`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-backend-secret': SECRET, 'x-tollgate-user': 'alice' },
      body: new Blob([padded(2 * 1024 * 1024)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(response.status).toBe(413)
  })

  it('bodies that are too large get their 413 to a client that reads only after writing', async () => {
    const { url } = await startScore()
    const size = 8 * 1024 * 1024
    const socket = connect(Number(new URL(url).port), '127.0.0.1').pause()
    const head = ['POST /v1/user/data HTTP/1.1', 'host: score', `x-backend-secret: ${SECRET}`, 'x-tollgate-user: alice']
    socket.write([...head, 'content-type: application/json', `content-length: ${size}`, '', ''].join('\r\n'))
    await new Promise<void>((resolve, reject) => {
      socket.write(Buffer.alloc(size), (error) => (error ? reject(error) : resolve()))
    })
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 .*"error":"payload_too_large"/s)
  })

  it('bodies may have a list of many records and a name of many letters', async () => {
    const { post } = await startScore()
    const many = await post(UPSERT, { musicList: Array.from({ length: 10_000 }, () => record()) })
    const long = await post(UPSERT, record({ ['k'.repeat(900_000)]: 1 }))
    expect([many.status, long.status]).toEqual([400, 400])
    expect(many.text.length + long.text.length).toBeLessThan(2000)
  })

  it('bodies get a response of the usual shape even if they are no HTTP', async () => {
    const { url } = await startScore()
    expect(await saidTo(url, 'NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"error":"invalid_request"/s)
  })
})

it('a database that another process has locked is account_busy for writes, and does not stop reads', async () => {
  const { database, post } = await startScore({ busyTimeout: 100 })
  await post(UPSERT, record())
  const other = locked(database)
  const busy = { error: 'account_busy', msg: expect.any(String), returnCode: 4001, code: 4001 }
  for (const [path, body] of [
    [UPSERT, record({ dxScore: 1 })],
    ['/v1/music/delete', { musicId: 11466, level: 3 }],
    ['/v1/music/clear', { confirm: true }],
    ['/v1/charge', { chargeId: 2 }],
    ['/v1/ticket/clear', {}],
  ] as const) {
    const response = await post(path, body)
    expect([path, response.status, response.json]).toEqual([path, 409, busy])
  }
  expect((await post('/v1/user/music')).json.businessData.userMusicList[0].userMusicDetailList[0]).toMatchObject({
    deluxscoreMax: 2800,
  })
  other.exec('COMMIT')
  expect((await post(UPSERT, record({ dxScore: 1 }))).json.businessData.updated).toBe(1)
})

it('a database that another process has locked is waited for, while other requests get their responses', async () => {
  const { database, post } = await startScore()
  await post('/v1/user/data')
  const other = locked(database)
  const waiting = post(UPSERT, record())
  expect((await post('/v1/user/data')).status).toBe(200)
  other.exec('COMMIT')
  expect((await waiting).status).toBe(200)
})

it('a failure that nobody foresaw shows the client nothing and the log everything', async () => {
  const { database, post, errors } = await startScore()
  changed(database, 'DROP TABLE scores')
  expectResponse(await post('/v1/user/music'), 500, { error: 'internal', msg: 'Internal error.' })
  expect(errors).toEqual([{ err: expect.objectContaining({ message: expect.stringContaining('scores') }) }])
})

it('onRequest has reported a request by the time its response arrives', async () => {
  const { post, url, records } = await startScore()
  await post('/v1/user/data?x=1', {}, { user: '雪' })
  await post(UPSERT, '{')
  await post('/v1/nothing')
  await fetch(`${url}/v1/health`)
  await fetch(`${url}/v1/charge`, { method: 'POST' })
  expect(records).toEqual([
    { method: 'POST', path: '/v1/user/data', user: '雪', status: 200 },
    { method: 'POST', path: UPSERT, user: 'alice', status: 400 },
    { method: 'POST', path: '/v1/nothing', user: 'alice', status: 404 },
    { method: 'GET', path: '/v1/health', user: null, status: 200 },
    { method: 'POST', path: '/v1/charge', user: null, status: 401 },
  ])
})
