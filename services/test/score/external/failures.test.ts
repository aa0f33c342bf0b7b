import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { atEnd, tempFolder } from '../../../../test/setup/at-end.ts'
import { listening } from '../../../../test/setup/listening.ts'
import { makeCa, makeCertificate } from '../../../../test/setup/openssl.ts'
import { type Fake, type Trouble, troubles } from '../../fakes/platform.ts'
import type { ServiceResponse } from '../../responses.ts'
import { expectRefused, startScore } from '../harness.ts'
import { KEY, startUpdates, TOKEN } from './running.ts'

const { response: answer, html } = troubles

/** A busy machine may be slow. */
const PATIENT = { timeout: 30_000 }

interface Row {
  readonly says: string
  readonly trouble: Trouble
  readonly status: number
  readonly error: string
  readonly details?: object
  /** The one limit that must strike; the others are far away. */
  readonly limits?: object
}

const UPGRADE = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'

/** Good answers to a pull but for their length, and to a push but for what else they hold. */
function many(record: string, count: number): Trouble {
  const list = `[${Array(count).fill(record).join(',')}]`
  return (_, response) => response.end(`{"success":true,"message":"","updates":"","data":${list},"records":${list}}`)
}

/** The table of what a platform says and what becomes of it, row by row. */
const BOTH: readonly Row[] = [
  { says: 'a 403 with words', trouble: answer(403, { message: 'no' }), ...rejected(403, 'no') },
  { says: 'a 404', trouble: answer(404, { message: 'nothing here' }), ...rejected(404, 'nothing here') },
  { says: 'a 403 in HTML', trouble: html(403), ...rejected(403, '') },
  { says: 'a 400 whose message is no text', trouble: answer(400, { message: { a: 1 } }), ...rejected(400, '') },
  { says: 'a 410 with msg', trouble: answer(410, { msg: 'sunset' }), ...rejected(410, 'sunset') },
  {
    says: 'words of any length',
    trouble: answer(400, { message: 'é'.repeat(500) }),
    ...rejected(400, 'é'.repeat(200)),
  },
  {
    says: 'a 429',
    trouble: answer(429, { message: '已超出今日请求上限' }),
    status: 424,
    error: 'external_rate_limited',
  },
  { says: 'a 429 in HTML', trouble: html(429), status: 424, error: 'external_rate_limited' },
  { says: 'a 500', trouble: answer(500, { message: 'oops' }), ...unavailable() },
  { says: 'a 503 in HTML', trouble: html(503), ...unavailable() },
  { says: 'HTML instead of JSON', trouble: html(), ...unavailable() },
  { says: 'a 204', trouble: (_, response) => response.writeHead(204).end(), ...unavailable() },
  { says: 'JSON of another shape', trouble: answer(200, ['nonsense']), ...unavailable() },
  { says: 'null', trouble: answer(200, null), ...unavailable() },
  {
    says: 'JSON that is no UTF-8',
    trouble: (_, response) => response.end(Buffer.from([0x22, 0xff, 0x22])),
    ...unavailable(),
  },
  {
    says: 'a list with the key __proto__',
    trouble: (_, r) => r.end('{"success":true,"__proto__":{},"data":[],"records":[]}'),
    ...unavailable(),
  },
  { says: 'a list that is filled with nothing', trouble: many('0', 8_000_000), ...unavailable() },
  { says: 'a 101', trouble: (request) => request.socket.end(UPGRADE), ...unavailable() },
  { says: 'what is not HTTP', trouble: troubles.notHttp, ...unavailable() },
  { says: 'a reset', trouble: troubles.reset, ...unavailable() },
  { says: 'half of a body', trouble: troubles.cutOff, ...unavailable() },
  { says: 'a body without an end', trouble: troubles.huge, ...unavailable(), limits: { max_response: '1MiB' } },
  { says: 'nothing', trouble: troubles.slowHead, ...late({ read_timeout: '100ms' }) },
  { says: 'half of a body and then nothing', trouble: troubles.slowBody, ...late({ read_timeout: '100ms' }) },
  { says: 'one byte after the other', trouble: troubles.drip, ...late({ total_timeout: '300ms' }) },
]

function rejected(status: number, message: string) {
  return { status: 424, error: 'external_rejected', details: { status, message } }
}

function unavailable() {
  return { status: 502, error: 'external_unavailable' }
}

function late(limits: object) {
  return { status: 504, error: 'external_timeout', limits }
}

function expectRow({ status, json }: ServiceResponse, row: Row, platform: string): void {
  expect([status, json.error, json.details]).toEqual([
    row.status,
    row.error,
    row.details === undefined ? undefined : { platform, ...row.details },
  ])
}

describe.each(['pull', 'push'])('a platform in a %s', (mode) => {
  it.each(BOTH)('a platform that says $says is $status $error', async (row) => {
    const { service, updateLxns, updateFish, trouble, scores } = await startUpdates({ limits: row.limits ?? {} })
    const stored = { musicId: 837, level: 1, achievement: 1_000_000 }
    await service.importFixture({ users: { alice: { scores: [stored] } } })
    trouble(row.trouble)
    expectRow(await updateLxns({ mode }), row, 'lxns')
    expectRow(await updateFish({ mode }), row, 'fish')
    expect(await scores()).toMatchObject({ '837/1': stored })
  })
})

it('a pull of more records than a player could have is 502 external_unavailable, at both platforms', async () => {
  const { updateLxns, updateFish, trouble } = await startUpdates()
  trouble(many('{}', 20_000))
  for (const update of [updateLxns, updateFish]) {
    expect((await update()).json.businessData.pull).toMatchObject({ fetched: 20_000, skipped: 20_000 })
  }
  trouble(many('{}', 20_001))
  for (const update of [updateLxns, updateFish]) {
    expectRefused(await update(), 502, 'external_unavailable')
  }
})

describe('LXNS', () => {
  const ROWS: readonly Row[] = [
    { says: '401', trouble: answer(401, { success: false, code: 401 }), status: 424, error: 'external_auth_failed' },
    { says: '401 in HTML', trouble: html(401), status: 424, error: 'external_auth_failed' },
    { says: '200 and success false', trouble: answer(200, { success: false, code: 500, data: [] }), ...unavailable() },
    { says: '200 without success', trouble: answer(200, { code: 200, data: [] }), ...unavailable() },
    { says: '200 and an object of data', trouble: answer(200, { success: true, data: {} }), ...unavailable() },
    { says: 'an OAuth error', trouble: answer(400, { error: 'invalid_grant' }), ...rejected(400, '') },
  ]

  it.each(ROWS)('LXNS that says $says is $status $error', async (row) => {
    const { updateLxns, trouble } = await startUpdates()
    trouble(row.trouble)
    expectRow(await updateLxns(), row, 'lxns')
  })

  it.each([{ success: false, code: 500 }, { code: 200 }])(
    'LXNS that answers a push with 200 and %j is 502',
    async (body) => {
      const { service, updateLxns, lxns } = await startUpdates()
      await service.importFixture({ users: { alice: { scores: [{ musicId: 837, level: 1, achievement: 1 }] } } })
      lxns.trouble = answer(200, body)
      expectRefused(await updateLxns({ mode: 'push' }), 502, 'external_unavailable')
    },
  )
})

describe('Diving-Fish', () => {
  const message = '导入token有误'
  const ROWS: readonly Row[] = [
    { says: 'that the token is bad', trouble: answer(400, { message }), status: 424, error: 'external_auth_failed' },
    { says: 'the same with 403', trouble: answer(403, { message }), ...rejected(403, message) },
    { says: '401', trouble: answer(401, { message: 'x' }), ...rejected(401, 'x') },
    { says: 'no such user', trouble: answer(400, { message: 'no such user' }), ...rejected(400, 'no such user') },
    { says: '会话过期', trouble: answer(403, { message: '会话过期' }), ...rejected(403, '会话过期') },
    { says: '200 without records', trouble: answer(200, { message: 'fine' }), ...unavailable() },
    { says: '200 and an error', trouble: answer(200, { status: 'error', message: 'x' }), ...unavailable() },
  ]

  it.each(ROWS)('Diving-Fish that says $says is $status $error', async (row) => {
    const { updateFish, trouble } = await startUpdates()
    trouble(row.trouble)
    expectRow(await updateFish(), row, 'fish')
  })

  it('Diving-Fish that answers a push with an error and 200, or counts that are none, is 502', async () => {
    const { service, updateFish, fish } = await startUpdates()
    await service.importFixture({ users: { alice: { scores: [{ musicId: 837, level: 1, achievement: 1 }] } } })
    for (const body of [
      { status: 'error', message: 'x' },
      { message: '更新成功', updates: -1, creates: 0 },
      { message: '更新成功', updates: '1' },
    ]) {
      fish.trouble = answer(200, body)
      expect(await updateFish({ mode: 'push' }), JSON.stringify(body)).toMatchObject({ status: 502 })
    }
  })
})

it.each(['0', '120', 'Thu, 06 Aug 2026 14:06:26 GMT'])('Retry-After of a platform is passed on: %s', async (value) => {
  const { updateLxns, trouble } = await startUpdates()
  trouble(answer(429, {}, { 'retry-after': value }))
  expect((await updateLxns()).headers.get('retry-after')).toBe(value)
})

it.each(['soon', '-1', '1.5', '9999999999', 'Thu, 99 Aug 2026 14:06:26 GMT', '2026-08-06', '1, 2', ''])(
  'Retry-After of a platform is not passed on if no client could read it: %s',
  async (value) => {
    const { updateLxns, trouble } = await startUpdates()
    trouble(answer(429, {}, { 'retry-after': value }))
    const { status, headers } = await updateLxns()
    expect([status, headers.get('retry-after')]).toEqual([424, null])
  },
)

it('Retry-After of a platform is not needed, and is sent with nothing but a 429', async () => {
  const { updateLxns, trouble } = await startUpdates()
  trouble(answer(429, {}))
  expect((await updateLxns()).headers.get('retry-after')).toBeNull()
  trouble(answer(503, {}, { 'retry-after': '5' }))
  expect((await updateLxns()).headers.get('retry-after')).toBeNull()
})

it.each([301, 302, 303, 307, 308])('a redirect of %i is not followed, and counts as no response', async (status) => {
  const { lxns, fish, updateLxns } = await startUpdates()
  lxns.trouble = troubles.redirect(`${fish.url}/player/records`, status)
  expectRefused(await updateLxns(), 502, 'external_unavailable')
  expect([lxns.requests.length, fish.requests.length]).toEqual([1, 0])
})

it('a redirect counts as no response even if its body would do as one', async () => {
  const { updateLxns, updateFish, trouble } = await startUpdates()
  trouble(answer(300, { success: true, data: [], records: [] }))
  expect([(await updateLxns()).status, (await updateFish()).status]).toEqual([502, 502])
})

it('a pull that finds no connection is made once more', async () => {
  const { lxns, updateLxns } = await startUpdates()
  lxns.trouble = [troubles.reset]
  expect((await updateLxns()).status).toBe(200)
  lxns.trouble = [troubles.cutOff]
  expect((await updateLxns()).status).toBe(200)
  expect(lxns.requests.length).toBe(4)
})

it('a pull that finds no connection is not made a third time', async () => {
  const { lxns, updateLxns } = await startUpdates()
  lxns.trouble = troubles.reset
  expect((await updateLxns()).status).toBe(502)
  expect(lxns.requests.length).toBe(2)
})

it.each([
  ['an answer of failure', html(500), 502],
  ['what is not HTTP', troubles.notHttp, 502],
  ['a body that is too large', troubles.huge, 502],
  ['silence', troubles.slowHead, 504],
])('a pull that finds no connection is not made again after %s', async (_what, trouble, status) => {
  const limits = status === 504 ? { read_timeout: '100ms' } : { max_response: '1MiB' }
  const { lxns, updateLxns } = await startUpdates({ limits })
  lxns.trouble = trouble
  expect((await updateLxns()).status).toBe(status)
  expect(lxns.requests.length).toBe(1)
})

/** A server below HTTP. @returns its port */
async function portOf(server: ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>): Promise<number> {
  await listening(server)
  return (server.address() as AddressInfo).port
}

describe('the connection', () => {
  it('the connection that is refused is 502', async () => {
    const server = createServer()
    const port = await portOf(server)
    await new Promise((resolve) => server.close(resolve))
    const { post } = await startScore({ external: { lxns: { base_url: `http://127.0.0.1:${port}` } } })
    expectRefused(await post('/v1/update-lx', { key: KEY }), 502, 'external_unavailable')
  })

  it('to a name that does not exist is 502', async () => {
    const { post } = await startScore({ external: { lxns: { base_url: 'http://platform.invalid' } } })
    expectRefused(await post('/v1/update-lx', { key: KEY }), 502, 'external_unavailable')
  })

  it('the connection that is not made within connect_timeout is 504', async () => {
    // It takes the connection and never answers the TLS handshake.
    const sockets: { destroy(): void }[] = []
    const port = await portOf(createServer((socket) => sockets.push(socket.on('error', () => {}))))
    atEnd(() => sockets.map((socket) => socket.destroy()))
    const external = { lxns: { base_url: `https://127.0.0.1:${port}` }, connect_timeout: '100ms' }
    const { post } = await startScore({ external })
    expectRefused(await post('/v1/update-lx', { key: KEY }), 504, 'external_timeout')
    await expect.poll(() => sockets.length, PATIENT).toBe(1)
  })

  it('the connection that is made is not subject to connect_timeout any more', async () => {
    const { lxns, updateLxns } = await startUpdates({ limits: { connect_timeout: '2s' } })
    lxns.meanwhile = () => new Promise((resolve) => setTimeout(resolve, 2500))
    expect((await updateLxns()).status).toBe(200)
  })

  it('to a certificate that nobody vouches for is 502, and no token is sent', async () => {
    const folder = tempFolder()
    const { cert, key } = makeCertificate(folder, 'platform', makeCa(folder, 'ca'), 'IP:127.0.0.1')
    const requests: unknown[] = []
    const port = await portOf(createTlsServer({ cert, key }, (request) => requests.push(request)))
    const { post } = await startScore({ external: { fish: { base_url: `https://127.0.0.1:${port}` } } })
    expect(await post('/v1/update-fish', { token: TOKEN })).toMatchObject({ status: 502 })
    expect(requests).toEqual([])
  })

  it('the connection is another one for each request, so none can break for its age', async () => {
    const { lxns, updateLxns } = await startUpdates()
    await updateLxns()
    await lxns.requests[0]?.gone
    await updateLxns()
    expect(lxns.requests.length).toBe(2)
  })
})

it.each([
  ['before the head', troubles.slowHead],
  ['within the body', troubles.drip],
])('a client that leaves ends the request to the platform, %s', async (_when, trouble) => {
  const { lxns, updateLxns, records } = await startUpdates()
  lxns.trouble = trouble
  const asked = Promise.withResolvers<Fake['requests'][number]>()
  lxns.meanwhile = asked.resolve
  const client = new AbortController()
  const update = updateLxns({}, { signal: client.signal })
  const { gone } = await asked.promise
  client.abort()
  await expect(update).rejects.toThrow()
  // Long before read_timeout, which is 30 s and would fail the test.
  await gone
  await expect.poll(() => records.map(({ status }) => status), PATIENT).toEqual([499])
  expect(lxns.requests.length).toBe(1)
})
