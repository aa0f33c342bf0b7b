import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { type RawUpstream, startRawUpstream } from '../edge/raw-upstream.ts'
import { tokensIn } from '../observe/settled.ts'
import { runs } from '../setup/runs.ts'
import { type RunningApp, SECRET, startApp } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

/**
 * What a request was judged by is what the upstream gets, byte by byte: the user by whom it was charged, the key by which it was known.
 * Each request is either refused, or its input stands in what the upstream received as it was sent.
 */

let upstream: RawUpstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startRawUpstream()
  app = await startApp(text('unverified_keys: { header: X-API-Key }'))
})

function text(auth: string, more = ''): string {
  return `
listen: 127.0.0.1:0
upstream: { url: "${upstream.url}", headers: { X-Fixed: f }, identity: { X-Who: user } }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }], ${auth} }
log: { level: fatal, requests: none }
cors: { origins: [https://app.test] }
edge: { trusted_proxies: [127.0.0.0/8], lenient: [underscore_names, punctuation_names] }
quota: { baselines: { personal: { read: { 1h: 1000000 } }, global: { read: { 1h: 100000000 } } } }
routes:
  - { match: "* /*", category: read }
  - { match: POST /i, category: read, cost: 10, idempotency: { replays: 100 } }
  - { match: POST /f, category: read, cost: 10, idempotency: { header: If-Match } }
  - { match: POST /u, category: read, cost: { header: X-Units, times: 2, max: 100 } }
${more}`
}

interface Asked {
  readonly status: number
  /** What the upstream received of it. */
  readonly sent: string
}

async function ask(path: string, fields: readonly string[], method = 'GET'): Promise<Asked> {
  upstream.received.length = 0
  const head = [`${method} ${path} HTTP/1.1`, 'Host: api.test', ...fields, '', ''].join('\r\n')
  const response = await rawExchange(app.url, Buffer.from(head, 'latin1'), 40)
  return { status: statusesIn(response)[0] ?? 0, sent: upstream.received.join('') }
}

/** The values of a field as the upstream received it, under each name that CGI makes one of. */
function received({ sent }: Asked, name: string): string[] {
  const lines = sent.split('\r\n\r\n', 1)[0]?.split('\r\n').slice(1) ?? []
  return lines.flatMap((line) => {
    const mark = line.indexOf(':')
    const folded = line.slice(0, mark).toLowerCase().replaceAll('_', '-')
    return folded === name.toLowerCase() ? [line.slice(mark + 1).trim()] : []
  })
}

const JWT = jwtOf('alice')
const BEARER = `Authorization: Bearer ${JWT}`
const charged = () => tokensIn(app.observations)
const reasons = (): (string | null)[] => app.requests().map(({ reason }) => reason)

/** Each field by which a configuration decides, what a request has in it, and what the upstream is to get then. */
const FIELDS: readonly (readonly [auth: string, name: string, value: string, path: string, others: string[]])[] = [
  ['from: [bearer]', 'Idempotency-Key', 'k1', '/i', [BEARER]],
  ['from: [bearer]', 'If-Match', '"k1"', '/f', [BEARER]],
  ['from: [bearer]', 'X-Units', '7', '/u', [BEARER]],
  ['from: [bearer], anonymous: {}, unverified_keys: { header: X-API-Key }', 'X-API-Key', 'r1', '/a', []],
  ['from: [bearer], anonymous: {}, unverified_keys: { header: X-Auth, scheme: Key }', 'X-Auth', 'Key r1', '/a', []],
  ['anonymous: {}, trusted: { user: X-User, organisation: X-Org, plan: X-Plan }', 'X-User', 'bob', '/a', []],
  [
    'anonymous: {}, trusted: { user: X-User, organisation: X-Org, plan: X-Plan }',
    'X-Org',
    'acme',
    '/a',
    ['X-User: bob'],
  ],
  ['anonymous: {}, trusted: { user: X-User, organisation: X-Org, plan: X-Plan }', 'X-Plan', 'p', '/a', ['X-User: bob']],
]

/** Fields that the gateway reads itself. */
const ALWAYS = [
  ['Origin', 'https://app.test'],
  ['Content-Type', 'application/json'],
  ['Content-Encoding', 'gzip'],
  ['Max-Forwards', '7'],
  ['Access-Control-Request-Method', 'PUT'],
  ['Access-Control-Request-Headers', 'x-a'],
] as const

const nominationOf = (name: string) =>
  fc
    .record({
      spelt: fc.constantFrom(name, name.toLowerCase(), name.toUpperCase(), name.replaceAll('-', '_')),
      before: fc.constantFrom('', 'close, ', 'keep-alive,', ', ,', 'X-Hop ,\t'),
      after: fc.constantFrom('', ' , close', ',', ', te'),
      line: fc.constantFrom('Connection', 'connection', 'CONNECTION'),
    })
    .map(({ spelt, before, after, line }) => `${line}: ${before}${spelt}${after}`)

it.each(FIELDS)(
  'a field by which a request is judged reaches the upstream as it was judged, or the request is refused: %s, %s',
  async (...row) => {
    const [auth, name, value, path, others] = row
    await app.reload(text(auth))
    const line = `${name}: ${value}`
    const plain = await ask(path, [line, ...others, 'Connection: close'], 'POST')
    expect([plain.status, received(plain, name)]).toEqual([200, [value]])
    const twin = fc.constantFrom(
      `${name.replaceAll('-', '_')}: other`,
      `${name.toLowerCase()}: other`,
      `${name.toUpperCase().replace('-', '_')}: other`,
    )
    const change = fc.oneof(nominationOf(name), twin)
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 2 }), fc.boolean(), async (changes, isFirst) => {
        const lines = isFirst ? [line, ...changes] : [...changes, line]
        const asked = await ask(path, [...lines, ...others], 'POST')
        if (asked.status === 200) expect(received(asked, name)).toEqual([value])
        else expect([asked.status, asked.sent]).toEqual([expect.toBeOneOf([400, 401]), ''])
      }),
      { numRuns: runs(40) },
    )
  },
)

it.each(ALWAYS)(
  'a field by which a request is judged reaches it in the one spelling that is judged, whatever is configured: %s',
  async (name, value) => {
    await app.reload(text('from: [bearer], anonymous: {}'))
    const other = `${name.replaceAll('-', '_')}: other`
    const plain = await ask('/a', [`${name}: ${value}`, 'Connection: close'])
    expect([plain.status, received(plain, name)]).toEqual([200, [value]])
    const twin = name.includes('-') ? [fc.constant(other)] : []
    const changes = fc.array(fc.oneof(nominationOf(name), ...twin), { maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(changes, fc.boolean(), fc.boolean(), async (more, isThere, isFirst) => {
        const line = isThere ? [`${name}: ${value}`] : []
        const asked = await ask('/a', isFirst ? [...line, ...more] : [...more, ...line])
        if (asked.status === 200) expect(received(asked, name)).toEqual(isThere ? [value] : [])
        else expect([asked.status, asked.sent]).toEqual([400, ''])
      }),
      { numRuns: runs(40) },
    )
  },
)

it('a field by which a request is judged cannot be named by Connection, whatever else decides', async () => {
  await app.reload(text('from: [bearer, { header: X-Token }], trusted: { user: X-User }, anonymous: {}'))
  const before = app.requests().length
  const names = ['Idempotency-Key', 'idempotency_key', 'If-Match', 'X-Token', 'X-User', 'X-Fixed', 'X-Who', 'Cookie']
  const always = ['Origin', 'Access-Control-Request-Method', 'Max-Forwards', 'Forwarded', 'X-Real-IP', 'True-Client-IP']
  for (const name of [...names, ...always, 'X-Forwarded-For', 'Sec-WebSocket-Key', 'X-Tollgate-User']) {
    const asked = await ask('/a', [`Connection: close, ${name}`])
    expect([name, asked.status, asked.sent]).toEqual([name, 400, ''])
  }
  expect(new Set(reasons().slice(before))).toEqual(new Set(['connection_nomination']))
  expect((await ask('/a', ['Connection: close, X-Hop'])).status).toBe(200)
  expect((await ask('/a', [`Connection: ${'a,'.repeat(200)}`])).status).toBe(400)
})

it('a field by which a request is judged is judged by its one spelling: one with underscores or punctuation is 400, and nothing is charged', async () => {
  await app.reload(text('unverified_keys: { header: X-API-Key }, trusted: { user: X-User }, anonymous: {}'))
  for (const name of ['X_API_Key', 'x_user', 'idempotency_key', 'X.API.Key', 'x~user', "idempotency'key"]) {
    const asked = await ask('/a', [`${name}: r1`, 'Connection: close'])
    expect([name, asked.status, asked.sent]).toEqual([name, 400, ''])
  }
  const free = await ask('/a', ['x_other: 1', 'Connection: close'])
  expect([free.status, received(free, 'X-Other')]).toEqual([200, ['1']])
})

it('a key of repetitions is forwarded with each of them, so that Connection buys nothing', async () => {
  await app.reload(text('from: [bearer]'))
  const fields = [`Authorization: Bearer ${jwtOf('carol')}`, 'Idempotency-Key: k1', 'Content-Length: 2', '', '{}']
  const before = charged()
  for (let i = 0; i < 6; i++) {
    const { status, sent } = await ask('/i', ['Connection: keep-alive, Idempotency-Key', ...fields], 'POST')
    expect([status, sent]).toEqual([400, ''])
  }
  expect(charged()).toBe(before)
  const asked = await ask('/i', fields, 'POST')
  expect([asked.status, received(asked, 'Idempotency-Key')]).toEqual([200, ['k1']])
  expect(charged()).toBe(before + 10)
})

it('a key of repetitions is one line: with two the upstream could read another than the gateway', async () => {
  await app.reload(text('from: [bearer]'))
  for (const [path, name] of [
    ['/i', 'Idempotency-Key'],
    ['/f', 'If-Match'],
  ] as const) {
    const asked = await ask(path, [BEARER, `${name}: "k1"`, `${name}: "2"`, 'Connection: close'], 'POST')
    expect([asked.status, asked.sent]).toEqual([400, ''])
    expect(reasons().at(-1)).toBe('duplicate_header')
  }
})
