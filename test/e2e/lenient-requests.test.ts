import { beforeAll, describe, expect, test } from 'vitest'
import { type RawUpstream, startRawUpstream } from '../edge/raw-upstream.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { rawExchange } from './raw.ts'

/** Requests of old clients, byte by byte, and what an upstream gets of them with `edge.lenient` and without. */

const ALL = ['underscore_names', 'punctuation_names', 'non_utf8_path', 'encoded_percent', 'encoded_backslash']

let upstream: RawUpstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startRawUpstream()
})

async function start(lenient: readonly string[], more = ''): Promise<void> {
  upstream.received.length = 0
  const limits = 'quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 1000 } } } }'
  const rest = `edge: { lenient: [${lenient.join(', ')}] }\n${limits}\nroutes: [{ match: "GET /*", category: read, cost: 1 }]`
  app = await startApp(yaml(upstream.url, rest, undefined, more))
}

/** @returns the status */
async function get(path: string, fields = ''): Promise<number> {
  const credential = `Authorization: Bearer ${jwtOf('alice')}`
  const end = /^connection:/im.test(fields) ? '' : 'Connection: close\r\n'
  const text = await rawExchange(app.url, `GET ${path} HTTP/1.1\r\nHost: a\r\n${credential}\r\n${fields}${end}\r\n`)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
}

describe('a path passes by the name of what is odd in it, told in the log and counted', () => {
  test.each([
    ['non_utf8_path', '/caf%E9', '/caf%E9'],
    ['encoded_percent', '/50%25ab', '/50%25ab'],
    ['encoded_percent', '/a%252fb', '/a%252fb'],
    ['encoded_backslash', '/a%5cb', '/a%5cb'],
  ])('%s: %s', async (name, path, forwarded) => {
    await start([name])
    expect(await get(path)).toBe(200)
    expect(await get('/plain')).toBe(200)
    expect(upstream.received.join('')).toContain(`GET ${forwarded} HTTP/1.1\r\n`)
    expect(app.requests().map(({ lenient }) => lenient)).toEqual([[name], []])
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    expect(metrics).toContain(`tollgate_lenient_requests_total{fault="${name}"} 1\n`)
    await app.stop()
    await start(ALL.filter((other) => other !== name))
    expect(await get(path)).toBe(400)
  })

  test('a path passes by the name of what is odd in it, told in the log and counted without its name the log says why the path is refused', async () => {
    await start([])
    const paths = ['/caf%E9', '/50%25ab', '/a%5cb', '/a%2fb', '/a//b', '/a;b', '/..']
    for (const path of paths) expect(await get(path), path).toBe(400)
    expect(app.requests().map(({ reason }) => reason)).toEqual([
      'target_no_utf8',
      'target_escaped_twice',
      'target_control',
      'target_escaped_slash',
      'target_empty_segment',
      'target_semicolon',
      'target_dots',
    ])
  })

  test.each([
    ['a slash in more bytes than it has', '/a%C0%AFb'],
    ['a dot in more bytes than it has', '/%E0%80%AE%E0%80%AE/b'],
    ['a way up the tree behind a backslash', '/a%5C..%5Cb'],
    ['one before it', '/..%5Cb'],
    ['a raw backslash', '/a\\b'],
    ['a control character', '/a%0Ab'],
    ['NUL', '/a%00b'],
  ])('no name lets %s pass', async (_what, path) => {
    await start(ALL)
    expect(await get(path)).toBe(400)
    expect(upstream.received).toEqual([])
  })
})

const OF_THE_GATEWAY = [
  'X-Tollgate-User',
  'x-forwarded-for',
  'X-Forwarded-Proto',
  'X-Real-IP',
  'True-Client-IP',
  'X-Request-Id',
  'Transfer-Encoding',
  'Content-Length',
  'Content-Type',
  'Content-Encoding',
  'Keep-Alive',
  'Proxy-Connection',
  'X-HTTP-Method-Override',
  'X-Original-URL',
  'Sec-WebSocket-Protocol',
  'X-Remote-User',
  'X-Secret',
  'X-Legacy-Debug',
]

const SIGNS = [..."!#$%&'*+.^`|~"]

test('punctuation_names lets fields with any sign of a token pass, told in the log and counted', async () => {
  await start(['punctuation_names'])
  expect(await get('/a', SIGNS.map((sign, i) => `X-${i}${sign}A: v${i}\r\n`).join(''))).toBe(200)
  const seen = upstream.received.join('')
  for (const [i, sign] of SIGNS.entries()) expect(seen).toContain(`\r\nX-${i}${sign}A: v${i}\r\n`)
  expect(app.requests().map(({ lenient }) => lenient)).toEqual([['punctuation_names']])
  const metrics = await (await fetch(`${app.admin}/metrics`)).text()
  expect(metrics).toContain('tollgate_lenient_requests_total{fault="punctuation_names"} 1\n')
  await app.stop()
  await start(ALL.filter((name) => name !== 'punctuation_names'))
  for (const sign of SIGNS) expect(await get('/a', `X${sign}A: 1\r\n`)).toBe(400)
  expect(app.requests().map(({ reason }) => reason)).toEqual(SIGNS.map(() => 'header_name'))
})

test.each(OF_THE_GATEWAY)('punctuation_names never lets %s pass with a sign for a dash, whichever', async (name) => {
  await start(
    ['punctuation_names', 'underscore_names'],
    'headers: { X-Secret: s }, identity: { X-Remote-User: user }, remove_headers: [X-Legacy-Debug]',
  )
  const forged = [...SIGNS, '_'].flatMap((sign) => [name.replaceAll('-', sign), name.replace('-', sign)])
  const fields = [...forged.map((spelling) => `${spelling}: forged\r\n`), 'X.Mine: passed\r\n']
  expect(await get('/a', fields.join(''))).toBe(200)
  const seen = upstream.received.join('')
  expect(seen).toContain('X.Mine: passed')
  expect(seen).not.toContain('forged')
})

test('punctuation_names lets none pass beside the same one with dashes, or one that Connection names, and needs both names for both', async () => {
  await start(['punctuation_names'])
  expect(await get('/a', 'X-Api-Key: one\r\nX.Api.Key: two\r\nX.Hop: three\r\nConnection: x.hop\r\n')).toBe(200)
  const seen = upstream.received.join('')
  expect(seen).toContain('X-Api-Key: one')
  expect(seen).not.toMatch(/two|three/)
  expect(await get('/a', 'X_A.B: 1\r\n')).toBe(400)
  expect(await get('/a', 'Connection: x.tollgate.user\r\n')).toBe(400)
})

test('underscore_names lets fields with an underscore pass, told in the log and counted', async () => {
  await start(['underscore_names'])
  expect(await get('/a', 'api_key: k\r\nX_Trace-Id: t\r\n')).toBe(200)
  const seen = upstream.received.join('')
  expect(seen).toContain('\r\napi_key: k\r\n')
  expect(seen).toContain('\r\nX_Trace-Id: t\r\n')
  expect(app.requests().map(({ lenient }) => lenient)).toEqual([['underscore_names']])
  await app.stop()
  await start(ALL.slice(1))
  expect(await get('/a', 'api_key: k\r\n')).toBe(400)
})

test.each([
  ...OF_THE_GATEWAY.map((name) => name.replaceAll('-', '_')),
  'X-Tollgate_User',
  'X_Forwarded-Proto',
  'x_remote-user',
])('underscore_names never lets %s pass, which a CGI-like upstream takes for one with dashes', async (name) => {
  await start(
    ['underscore_names'],
    'headers: { X-Secret: s }, identity: { X-Remote-User: user }, remove_headers: [X-Legacy-Debug]',
  )
  expect(await get('/a', `${name}: forged\r\nX_Mine: passed\r\n`)).toBe(200)
  const seen = upstream.received.join('')
  expect(seen).toContain('X_Mine: passed')
  expect(seen).not.toContain('forged')
})

test('underscore_names lets none pass beside the same one with dashes, or one that Connection names', async () => {
  await start(['underscore_names'])
  expect(await get('/a', 'X-Api-Key: one\r\nX_Api_Key: two\r\nX_Hop: three\r\nConnection: x_hop\r\n')).toBe(200)
  const seen = upstream.received.join('')
  expect(seen).toContain('X-Api-Key: one')
  expect(seen).not.toMatch(/two|three/)
})

test('underscore_names lets no other character into a name', async () => {
  await start(['underscore_names'])
  for (const name of ['X.Tollgate.User', 'X_A.B', "X_A'B", 'X_A~B']) expect(await get('/a', `${name}: 1\r\n`)).toBe(400)
  expect(upstream.received).toEqual([])
})

test('the names change by a reload', async () => {
  await start([])
  expect([await get('/caf%E9'), await get('/a', 'a_b: 1\r\n')]).toEqual([400, 400])
  const limits = 'quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 1000 } } } }'
  const rest = `edge: { lenient: [${ALL.join(', ')}] }\n${limits}\nroutes: [{ match: "GET /*", category: read, cost: 1 }]`
  await app.reload(yaml(upstream.url, rest))
  expect([await get('/caf%E9'), await get('/a', 'a_b: 1\r\n')]).toEqual([200, 200])
  expect(upstream.received.join('')).toContain('\r\na_b: 1\r\n')
})
