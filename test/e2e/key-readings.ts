import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { runs } from '../setup/runs.ts'
import { type RunningApp, startApp } from './harness.ts'
import { rawExchange, statusesIn } from './raw.ts'

/**
 * Real services say which key they read. Whoever has one good key has one user: if a service reads the key, the gateway has charged the
 * user of that very key, however it is spelt and whatever stands beside it.
 */

const REAL = 'abcdef'
const USER = `key:${createHash('sha256').update(REAL).digest('base64url')}`

/** A service whose responses are `{"sid": …, "api_key": …}`, as it reads cookie and parameter of these names. */
export interface Answering {
  readonly port: number
}

function text(port: number, source: string): string {
  return `
listen: 127.0.0.1:0
admin: { listen: '127.0.0.1:0', token: test-admin-token-0001 }
upstream: { url: "http://127.0.0.1:${port}" }
store: "sqlite::memory:"
auth: { unverified_keys: ${source}, anonymous: {} }
log: { level: fatal, requests: none }
quota: { baselines: { personal: { read: { 1h: 1000000 } }, global: { read: { 1h: 100000000 } } } }
routes: [{ match: "* /*", category: read }]
`
}

/** Escapes of Python, or of PHP and browsers, in any number. */
const WAYS = [
  ['plain', 'octal', 'backslash'],
  ['plain', 'percent'],
]
const spelt = (value: string) =>
  fc
    .constantFrom(...WAYS)
    .chain((ways) => fc.array(fc.constantFrom(...ways), { minLength: value.length, maxLength: value.length }))
    .map((ways) => ways.map((way, i) => as(way, value[i] as string)).join(''))

function as(way: string, char: string): string {
  const code = char.charCodeAt(0)
  if (way === 'octal') return `\\${code.toString(8).padStart(3, '0')}`
  if (way === 'percent') return `%${code.toString(16)}`
  return way === 'backslash' ? `\\${char}` : char
}

const keyOf = fc.oneof(
  fc.constantFrom(REAL, 'r1', ''),
  spelt(REAL),
  spelt(REAL).map((value) => `"${value}"`),
  fc.constantFrom(` ${REAL} `, `"${REAL}" x`, `${REAL}, x`, `"x" ${REAL}`),
)

const nameOf = (name: string) => {
  const [head = '', tail = ''] = name.split('_')
  const odd = tail === '' ? [] : ['.', ' ', '[', '+', '%20', '%2e', '%5B', '_', '%5f'].map((mark) => head + mark + tail)
  const all = [
    name,
    name,
    name.toUpperCase(),
    ` ${name}`,
    `%20${name}`,
    `${name}[]`,
    `${name}[0]`,
    `${name}%00x`,
    ...odd,
  ]
  return fc.constantFrom(...all, `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`, 'x', `"${name}`, '?x')
}

const pairOf = (name: string) =>
  fc.tuple(nameOf(name), fc.constantFrom('=', '=', '=', ' = ', ''), keyOf).map((parts) => parts.join(''))

const fieldOf = (name: string, marks: string[]) =>
  fc
    .array(fc.tuple(pairOf(name), fc.constantFrom(...marks)), { minLength: 1, maxLength: 4 })
    .map((pairs) => pairs.map(([pair, mark], i) => (i === 0 ? pair : mark + pair)).join(''))

/** Spellings that at least one service takes for the key, beside those by chance. */
const KNOWN: Readonly<Record<'sid' | 'api_key', readonly string[]>> = {
  sid: [
    ...[`sid="\\141bcdef"`, `sid="\\a\\bcdef"`, 'sid=%61bcdef', `sid="${REAL}"`, `%73id=${REAL}`, `sid[]=${REAL}`],
    ...[`sid=r1; sid=${REAL}`, `sid=${REAL}; sid=r1`, `sid=r1; SID=${REAL}`, `sid=r1, sid=${REAL}`, `a=b sid=${REAL}`],
    ...[`a="; sid=${REAL}"`, `sid=r1; a="; sid=${REAL}; b="`, `sid=; sid=${REAL}`, `sid =${REAL}`, ` sid=${REAL}`],
  ],
  api_key: [
    ...[`api_key=r1&api_key=${REAL}`, `api_key=${REAL}&api_key=r1`, `api_key=r1&api.key=${REAL}`, `api[key=${REAL}`],
    ...[`api_key=r1;api_key=${REAL}`, `x;api_key=${REAL}`, `api_key=r1&api_key[]=${REAL}`, `%61pi_key=${REAL}`],
    ...['api_key=%61bcdef', `api_key=&api_key=${REAL}`, `api+key=${REAL}`, `+api_key=${REAL}`, `api_key%00x=${REAL}`],
  ],
}

/** Asks a service by random spellings, through a gateway that has charged whom it read. */
export function describeReadings(name: string, start: () => Promise<Answering>): void {
  describe(`with ${name} behind it`, () => expectOneUser(start))
}

function expectOneUser(start: () => Promise<Answering>): void {
  let service: Answering
  let app: RunningApp
  beforeAll(async () => {
    service = await start()
    app = await startApp(text(service.port, '{ cookie: sid }'))
  })

  async function ask(target: string, cookie: string): Promise<{ status: number; read: Record<string, string> }> {
    const field = cookie === '' ? '' : `Cookie: ${cookie}\r\n`
    const raw = `GET ${target} HTTP/1.1\r\nHost: a.test\r\n${field}Connection: close\r\n\r\n`
    const response = await rawExchange(app.url, Buffer.from(raw, 'latin1'))
    const status = statusesIn(response)[0] ?? 0
    return { status, read: status === 200 ? JSON.parse(/\{.*\}/s.exec(response)?.[0] ?? '{}') : {} }
  }

  it.each([
    ['sid', '{ cookie: sid }', fieldOf('sid', ['; ', ';', ', ', ' ']), (field: string) => ['/', field]],
    [
      'api_key',
      '{ query: api_key }',
      fieldOf('api_key', ['&', '&', ';', '&x;']),
      (field: string) => [`/?${field}`, ''],
    ],
  ] as const)('whoever has one good key has one user: %s', async (name, source, fields, request) => {
    await app.reload(text(service.port, source))
    const plain = request(`${name}=${REAL}`) as [string, string]
    expect(await ask(...plain)).toMatchObject({ status: 200, read: { [name]: REAL } })
    await fc.assert(
      fc.asyncProperty(fields, async (field) => {
        const [target, cookie] = request(field) as [string, string]
        const { status, read } = await ask(
          name === 'sid' ? target : target.replace(/[ "\\]/g, encodeURIComponent),
          cookie,
        )
        if (status !== 200) expect(status).toBeOneOf([400, 401])
        const user = app.requests().at(-1)?.user
        if (read[name] === REAL) expect(user, field).toBe(USER)
      }),
      { numRuns: runs(400), endOnFailure: true, examples: KNOWN[name].map((field) => [field]) },
    )
  })
}
