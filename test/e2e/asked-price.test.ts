import { Readable } from 'node:stream'
import { request } from 'undici'
import { beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

/** Prices by what a request asks for: what is charged, and what the upstream saw of it. */

let upstream: Upstream
let app: RunningApp

beforeAll(async () => {
  upstream = await startUpstream()
  app = await startApp(
    yaml(
      upstream.url,
      `routes:
  - match: POST /rpc
    category: read
    cost: { body: method, values: { a: 2, b: { body: params.n, times: 1, max: 50, missing: 7 } }, otherwise: 1, batch: 5 }
  - { match: GET /export, category: read, cost: { query: limit, times: 0.1, min: 1, max: 500, missing: 100 } }
  - { match: PUT /files/*, category: read, cost: { size: request, per: 1KiB, max: 30 } }
  - { match: PUT /streams/*, category: read, cost: { size: request, per: 8KiB, max: 30 } }
  - { match: POST /units, category: read, cost: { header: X-Units, values: { few: 2 }, otherwise: 20 } }
  - { match: POST /graded, charges: { read: 1, units: { cost: { header: X-Quality, values: { low: 1, high: 8 } } } } }
quota: { baselines: { personal: { read: { 1h: 120 }, units: { 1h: 120 } } } }`,
    ),
  )
})

let users = 0

/** What a new user was charged, and how many requests the upstream saw. */
async function asked(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
  const user = `user-${users++}`
  const before = upstream.seen.length
  const type = { 'content-type': 'application/json' }
  const { status } = await fetch(app.url + path, {
    method,
    headers: { ...bearer(user), ...(body === undefined ? {} : type), ...headers },
    ...(body !== undefined && { body }),
  })
  return { status, used: await used(user), seen: upstream.seen.length - before }
}

async function used(user: string): Promise<number> {
  const { body } = await request(`${app.url}/me/quota`, { headers: bearer(user) })
  return ((await body.json()) as { windows: { read: { used: number }[] } }).windows.read[0]?.used ?? -1
}

test.each([
  ['{"method":"a"}', 2],
  ['{"method":"other"}', 1],
  ['{"method":"b","params":{"n":30}}', 30],
  ['{"method":"b"}', 7],
  ['[{"method":"a"},{"method":"b","params":{"n":9}},{"id":1}]', 12],
])('%s is charged what it asks for, and reaches the upstream as it is', async (body, tokens) => {
  expect(await asked('POST', '/rpc', body)).toEqual({ status: 200, used: tokens, seen: 1 })
  expect(upstream.seen.at(-1)?.body).toBe(body)
})

test('a batch that does not fit is refused whole, and so is one of which an element has no price', async () => {
  const dear = '{"method":"b","params":{"n":50}}'
  expect(await asked('POST', '/rpc', `[${dear},${dear},${dear}]`)).toEqual({ status: 429, used: 0, seen: 0 })
  expect(await asked('POST', '/rpc', `[{"method":"a"},{"Method":"b"}]`)).toEqual({ status: 400, used: 0, seen: 0 })
})

test.each([
  ['/export?limit=42', {}, 200, 5],
  ['/export', {}, 200, 100],
  ['/export?limit=1&limit=900', {}, 400, 0],
  ['/units', { 'x-units': 'few' }, 200, 2],
  ['/units', { 'x-units': 'many' }, 200, 20],
  ['/units', { 'x-units': 'FEW' }, 400, 0],
])('%s with %j is answered and charged by its query or header', async (path, headers, status, tokens) => {
  const method = path === '/units' ? 'POST' : 'GET'
  expect(await asked(method, path, undefined, headers)).toEqual({ status, used: tokens, seen: status === 200 ? 1 : 0 })
})

test('a header that says the price is neither sent twice nor named by Connection', async () => {
  const { authorization } = bearer('mallory')
  const inEachWay = (path: string, name: string, [cheap, dear]: readonly [string, string]) =>
    [
      `${name}: ${cheap}\r\n${name}: ${dear}`,
      `${name}: ${cheap}\r\nConnection: ${name.toLowerCase()}`,
      `${name.replace('-', '_')}: ${cheap}`,
    ].map((fields) => [path, fields] as const)
  const all = [
    ...inEachWay('/units', 'X-Units', ['few', 'many']),
    ...inEachWay('/graded', 'X-Quality', ['low', 'high']),
  ]
  for (const [path, fields] of all) {
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Length: 0\r\n${fields}\r\n`
    expect(statusesIn(await rawExchange(app.url, `${head}\r\n`, 40))).toEqual([400])
  }
  expect(await used('mallory')).toBe(0)
})

test('a body costs by its length', async () => {
  expect(await asked('PUT', '/files/a', 'x'.repeat(2049))).toEqual({ status: 200, used: 3, seen: 1 })
  expect(await asked('PUT', '/files/a', 'x'.repeat(100_000))).toEqual({ status: 200, used: 30, seen: 1 })
  expect(await asked('PUT', '/files/a')).toEqual({ status: 200, used: 1, seen: 1 })
})

/** A body in chunks, too long to be read before it is forwarded: the gateway learns its length when it is over. */
async function inChunks(user: string, pieces: number) {
  const body = Readable.from(Array.from({ length: pieces }, () => Buffer.alloc(8192, 'x')))
  const response = await request(`${app.url}/streams/a`, { method: 'PUT', headers: bearer(user), body })
  await response.body.dump()
  return response
}

test('a body of unknown length reserves max, and costs by the bytes that came', async () => {
  const { statusCode, headers } = await inChunks('grace', 12)
  expect([statusCode, headers['x-tollgate-charged']]).toEqual([200, '12'])
  await expect.poll(() => used('grace')).toBe(12)
  expect(upstream.seen.at(-1)?.body).toHaveLength(98_304)
  await inChunks('grace', 40)
  await expect.poll(() => used('grace')).toBe(42)
  expect(upstream.seen.at(-1)?.body).toHaveLength(327_680)
  expect(
    app
      .requests()
      .filter(({ user, charged }) => user === 'grace' && charged !== null)
      .map(({ charged }) => charged),
  ).toEqual([12, 30])
})

test('a body in chunks that holds nothing costs and counts as one without a byte', async () => {
  const inNoChunks = async (user: string, line: string) => {
    const head = `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer(user).authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`
    return statusesIn(await rawExchange(app.url, `${head}0\r\n\r\n`, 40))
  }
  expect(await inNoChunks('ivan', 'PUT /files/a')).toEqual([200])
  expect(await used('ivan')).toBe(1)
  expect(await inNoChunks('ivan', 'GET /export?limit=42')).toEqual([200])
  expect(await used('ivan')).toBe(6)
})

test('a body of unknown length is refused where max does not fit, whatever would have come', async () => {
  for (let i = 0; i < 4; i++) await inChunks('heidi', 40)
  await expect.poll(() => used('heidi')).toBe(120)
  expect((await inChunks('heidi', 12)).statusCode).toBe(429)
})

test('who has no credential gets 401, whatever the price of the request would be', async () => {
  for (const body of ['{"method":"b","method":"a"}', '[]', 'x'.repeat(100_000)]) {
    const { status } = await fetch(`${app.url}/rpc`, { method: 'POST', body })
    expect(status).toBe(401)
  }
})
