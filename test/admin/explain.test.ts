import { beforeEach, describe, expect, test } from 'vitest'
import { asText } from '../../src/cli/explain.ts'
import type { ExplainResponse } from '../../src/contract/api.ts'
import { enReasons } from '../../src/dashboard/i18n/en.ts'
import { zhReasons } from '../../src/dashboard/i18n/zh.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { NOW, type Running, startAdmin, YAML } from './running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const ask = async (method: string, path: string, more: Record<string, string> = {}, user = 'alice') =>
  running.call('GET', `/api/explain?${new URLSearchParams({ user, method, path, ...more })}`)
const explain = async (...args: Parameters<typeof ask>) => (await ask(...args)).json

async function other(edit: (yaml: string) => string): Promise<void> {
  running = await startAdmin({ yaml: edit(YAML) })
}

test('a request is explained with rule, line, cost and every limit, as the contract has it', async () => {
  await running.call('PATCH', '/api/quota', { body: { mode: 'conservative' } })
  await running.spend('alice', 'read', 8)
  const response = await explain('POST', '/v1/user/music')
  expect(response).toMatchObject({
    user: 'alice',
    method: 'POST',
    path: '/v1/user/music',
    route: { match: 'POST /v1/user/:what', line: 15 },
    category: 'read',
    cost: 2,
    price: null,
    decision: 'accept',
  })
  expect(response.limits[0]).toMatchObject({
    scope: 'Personal',
    window: '1h',
    limit: 90,
    used: 8,
    source: 'baseline x mode',
    steps: ['baseline 120 (tollgate.yaml:8)', 'mode conservative x 0.75'],
    refuses: false,
  })
  expect(response.limits.map(({ scope, window }: { scope: string; window: string }) => `${scope} ${window}`)).toEqual([
    'Personal 1h',
    'Personal 5h',
    'Global 1h',
    'Global 5h',
  ])
})

test('a factor that lies over another override for a while has its own reason, and what it multiplies keeps the other', async () => {
  await other((yaml) => yaml.replace('quota:\n', 'quota:\n  plans: { team: { personal: { read: { 1h: 600 } } } }\n'))
  const expiresAt = new Date(NOW + 86_400_000).toISOString()
  const set = async (body: object) => {
    const { status } = await running.call('PUT', '/api/users/alice/override', { body })
    expect([200, 201]).toContain(status)
  }
  await set({ plan: 'team', read: { '5h': 50 }, reason: 'paid' })
  await set({ factor: 2, expiresAt, reason: 'until friday' })
  const { limits } = await explain('POST', '/v1/user/music')
  const personal = limits.filter(({ scope }: { scope: string }) => scope === 'Personal')
  expect(personal.map(({ steps }: { steps: readonly string[] }) => steps)).toEqual([
    [expect.stringMatching(/^plan team .*: 600, by override \(paid\)$/), 'override x 2 (until friday)'],
    ['override 50 (paid)', 'override x 2 (until friday)'],
  ])
  expect((await running.call('GET', '/api/users/alice')).json.override).toMatchObject({
    reason: 'until friday',
    factor: 2,
  })
})

test('a cost that the response decides is explained as a reserve, with what decides', async () => {
  const rule = 'settle: { status: { 4xx: 1 }, json: returnCode, values: { 1: all }, otherwise: 0 }'
  await other((yaml) => yaml.replace('category: write, cost: 15', `category: write, cost: 15, ${rule}`))
  const response = await explain('POST', '/v1/music/upsert')
  expect(response).toMatchObject({ cost: 15, decision: 'accept' })
  expect(response.settle).toEqual({
    status: { '4xx': 1 },
    header: null,
    json: ['returnCode'],
    sum: null,
    bytesPerToken: null,
    max: null,
    values: { 1: 'all' },
    otherwise: 0,
    missing: 0,
  })
  expect(asText(response)).toContain(
    'cost       15\nsettled    by status (4xx: 1), by JSON returnCode (1: the reserve), otherwise 0, 0 if missing\n',
  )
  expect(await explain('POST', '/v1/user/music')).not.toHaveProperty('settle')
})

test.each([
  ['{ header: X-Tokens-Used, max: 500 }', 'by header x-tokens-used (at most 500), the reserve if missing'],
  [
    '{ json: [usage, message.usage], sum: { input_tokens: 0.1, output_tokens: 4 }, max: 500 }',
    'by JSON usage or message.usage: 0.1 x input_tokens + 4 x output_tokens (at most 500), the reserve if missing',
  ],
  ['{ sum: { eval_count: 2 }, max: 500 }', 'by JSON 2 x eval_count (at most 500), the reserve if missing'],
  ['{ size: response, per: 1MiB, max: 500 }', 'by each 1MiB of the body (at most 500)'],
  ['{ status: { 2xx: all, 503: 2 }, otherwise: 0 }', 'by status (503: 2, 2xx: the reserve), otherwise 0'],
])('settle: %s is explained in one line', async (rule, text) => {
  await other((yaml) => yaml.replace('category: write, cost: 15', `category: write, cost: 15, settle: ${rule}`))
  expect(asText(await explain('POST', '/v1/music/upsert'))).toContain(`settled    ${text}\n`)
})

test('what a WebSocket costs while it is open is explained', async () => {
  await other((yaml) => `${yaml}\n  - { match: GET /socket, category: read, cost: 3, tunnel_charge: 90s }\n`)
  const response = await explain('GET', '/socket')
  expect(response).toMatchObject({ cost: 3, tunnelCharge: '90s' })
  expect(asText(response)).toContain('open       a WebSocket costs that again every 90s while it is open\n')
  expect(await explain('POST', '/v1/user/music')).not.toHaveProperty('tunnelCharge')
})

test('what a repetition costs is explained', async () => {
  const rule = 'idempotency: { for: 90m, replays: 1 }'
  await other((yaml) => yaml.replace('category: write, cost: 15', `category: write, cost: 15, ${rule}`))
  const response = await explain('POST', '/v1/music/upsert')
  expect(response.idempotency).toEqual({ header: 'Idempotency-Key', for: '90m', replays: 1 })
  expect(asText(response)).toContain('repeated   costs nothing with the same Idempotency-Key, once within 90m\n')
  expect(await explain('POST', '/v1/user/music')).not.toHaveProperty('idempotency')
})

test('a value of mode custom is explained with its line, like a baseline', async () => {
  const custom = `  mode: custom
  custom:
    personal: { read: { 1h: 7, 5h: 70 }, write: { 1h: 7, 5h: 70 } }
    global:
      read: { 1h: 77, 5h: 770 }
      write: { 1h: 77, 5h: 770 }
`
  await other((yaml) => yaml.replace('routes:\n', `${custom}routes:\n`))
  const steps = async () =>
    (await explain('POST', '/v1/user/music')).limits.map(({ steps }: { steps: string[] }) => steps[0])
  expect(await steps()).toEqual([
    'custom 7 (tollgate.yaml:15)',
    'custom 70 (tollgate.yaml:15)',
    'custom 77 (tollgate.yaml:17)',
    'custom 770 (tollgate.yaml:17)',
  ])
  await running.call('PATCH', '/api/quota', { body: { custom: { personal: { read: { '1h': 9 } } } } })
  expect((await steps()).slice(0, 2)).toEqual(['custom 9 (set at run time)', 'custom 70 (tollgate.yaml:15)'])
})

test('a request that charges nothing is explained also while the store is out, and any other is 503', async () => {
  const fails = () => Promise.reject(new StoreError('down', 'connection', 'no'))
  const names = ['readUsage', 'controlVersion', 'readControl', 'changesSince', 'readTallies'] as const
  running = await startAdmin({ broken: Object.fromEntries(names.map((name) => [name, fails])) })
  const decisions = [
    ['GET', '/v1/health', 'not_charged'],
    ['GET', '/v1/whoami', 'not_charged'],
    ['GET', '/v1/nothing', 'no_route'],
    ['GET', '/v1/charge', 'no_route'],
    ['GET', '/v1/%2e%2e/x', 'bad_request'],
  ] as const
  for (const [method, path, decision] of decisions) expect(await explain(method, path)).toMatchObject({ decision })
  // Shadow, which an administrator may have set for the user, lets a value without a price through.
  for (const asked of [ask('POST', '/v1/charge', { value: '4' }), ask('POST', '/v1/user/music')])
    expect(await asked).toMatchObject({ status: 503, json: { error: 'store_unavailable' } })
})

test('a refusal is explained with the sentence of the 429 and the window that refuses', async () => {
  await running.spend('alice', 'read', 119)
  const response = await explain('POST', '/v1/user/music')
  expect(response).toMatchObject({
    decision: 'refuse',
    why: expect.stringContaining(
      'Personal 1-hour read quota is used up. Requests may continue after 2026-11-20 19:10:00 Asia/Shanghai',
    ),
  })
  expect(response.limits.filter(({ refuses }: { refuses: boolean }) => refuses)).toMatchObject([
    { scope: 'Personal', window: '1h', used: 119, limit: 120 },
  ])
})

test('a refusal names the time as the 429 does, in the time zone of the file', async () => {
  await other((yaml) => `${yaml}time_zone: Europe/Berlin\n`)
  await running.spend('alice', 'read', 119)
  const { why } = await explain('POST', '/v1/user/music')
  expect(why).toContain('Requests may continue after 2026-11-20 12:10:00 Europe/Berlin')
})

test('a refusal by what all users together have used names the global window', async () => {
  await running.spend('bob', 'read', 1199)
  const response = await explain('POST', '/v1/user/music')
  expect(response).toMatchObject({ decision: 'refuse', why: expect.stringContaining('Global 1-hour read quota') })
  expect(response.limits).toMatchObject([
    { scope: 'Personal', window: '1h', used: 0, refuses: false },
    { scope: 'Personal', window: '5h', used: 0, refuses: false },
    { scope: 'Global', window: '1h', used: 1199, refuses: true },
    { scope: 'Global', window: '5h', used: 1199, refuses: false },
  ])
})

test('the method may be in any letter case, and HEAD goes as GET', async () => {
  expect(await explain('post', '/v1/user/x')).toMatchObject({ method: 'POST', decision: 'accept' })
  expect(await explain('HEAD', '/v1/trial')).toMatchObject({ route: { match: 'GET /v1/trial' } })
})

test.each([
  ['/v1/%75ser/music?x=1', 'accept', 'POST /v1/user/:what'],
  ['/v1/user/a%2Fb', 'bad_request', undefined],
  ['/v1//user/music', 'bad_request', undefined],
  ['/v1/user/../user/music', 'bad_request', undefined],
  ['v1/user/music', 'bad_request', undefined],
  [`/${'x'.repeat(8190)}`, 'no_route', undefined],
  ['/nothing', 'no_route', undefined],
])('a path is read as the gateway reads it: %s', async (path, decision, match) => {
  const response = await explain('POST', path)
  expect([response.decision, response.route?.match]).toEqual([decision, match])
})

test('a path is read also in a spelling that the file allows', async () => {
  await other((yaml) => `${yaml}edge: { allow_in_path: [encoded_slash] }\n`)
  expect(await explain('POST', '/v1/user/a%2Fb')).toMatchObject({ decision: 'accept' })
  expect(await explain('POST', '/v1//user/music')).toMatchObject({ decision: 'bad_request' })
})

test('a path is a bad request if it is too long for the gateway', async () => {
  await other((yaml) => `${yaml}edge: { max_url: 256B }\n`)
  expect(await explain('GET', `/${'x'.repeat(256)}`)).toMatchObject({
    decision: 'bad_request',
    why: expect.stringContaining('256 bytes'),
  })
  expect(await explain('GET', `/${'x'.repeat(255)}`)).toMatchObject({ decision: 'no_route' })
})

test('a body that is too large is refused before anything else is looked at, as by the gateway', async () => {
  await other((yaml) => `${yaml}edge: { max_body: 100B }\n`)
  const large = { decision: 'bad_request', reasons: [{ code: 'body_too_large', values: { max: 100 } }] }
  for (const path of ['/v1/user/x', '/v1/health', '/me/quota', '/nothing']) {
    expect(await explain('POST', path, { bytes: '101' })).toMatchObject(large)
    expect(await explain('POST', path, { bytes: '100' })).not.toMatchObject(large)
  }
  expect(await explain('GET', '/v1//x', { bytes: '101' })).toMatchObject({
    reasons: [{ code: 'target_empty_segment' }],
  })
  expect(await ask('POST', '/v1/user/x', { bytes: '-1' })).toMatchObject({
    status: 400,
    json: { problems: [{ path: 'bytes', msg: 'must be a whole number of bytes' }] },
  })
})

describe('a request that charges nothing', () => {
  test.each([
    ['GET', '/v1/health', 'not_charged', /public/],
    ['GET', '/v1/whoami', 'not_charged', /costs nothing/],
    ['GET', '/me/quota', 'not_charged', /gateway answers this itself/],
    ['HEAD', '/me/quota', 'not_charged', /gateway answers this itself/],
    ['POST', '/me/quota', 'no_route', /405.*GET, HEAD/],
    ['DELETE', '/v1/health', 'no_route', /405.*GET, HEAD/],
    ['GET', '/nothing', 'no_route', /404/],
  ])('%s %s is explained as %s', async (method, path, decision, why) => {
    expect(await explain(method, path)).toMatchObject({ decision, why: expect.stringMatching(why) })
  })

  test.each(['TRACE', 'CONNECT', 'PLAY', 'NONSENSE'])(
    '%s matches no route, not even a rule for any method',
    async (method) => {
      await other((yaml) => yaml.replace('routes:\n', 'routes:\n  - { match: "* /any", category: read, cost: 1 }\n'))
      expect(await explain('PURGE', '/any')).toMatchObject({ decision: 'accept' })
      expect(await explain(method, '/any')).toMatchObject({
        decision: 'no_route',
        why: expect.stringMatching(/method/),
      })
    },
  )

  test('what matches no route may be let through, or charged', async () => {
    await other((yaml) => `${yaml}unmatched: forward\n`)
    expect(await explain('GET', '/nothing')).toMatchObject({ decision: 'not_charged', route: null })
    await other((yaml) => `${yaml}unmatched: { category: read, cost: 3 }\n`)
    expect(await explain('GET', '/nothing')).toMatchObject({
      decision: 'accept',
      route: null,
      category: 'read',
      cost: 3,
    })
    await other((yaml) => `${yaml}unmatched: { category: read, cost: 1000, shadow: true }\n`)
    expect(await explain('GET', '/nothing')).toMatchObject({ decision: 'shadow', route: null })
  })
})

describe('a cost by the body', () => {
  const price = { body: ['chargeId'], values: { 2: 10, 3: 15, 5: 25 } }

  test('a cost by the body is open without the body, and every value is listed', async () => {
    expect(await explain('POST', '/v1/charge')).toMatchObject({ decision: 'depends_on_body', cost: null, price })
  })

  test('a cost by the body is known by the value of the field, or given as tokens', async () => {
    await running.spend('alice', 'write', 50)
    expect(await explain('POST', '/v1/charge', { value: '2' })).toMatchObject({ decision: 'accept', cost: 10 })
    expect(await explain('POST', '/v1/charge', { value: '3' })).toMatchObject({ decision: 'refuse', cost: 15 })
    expect(await explain('POST', '/v1/charge', { cost: '15' })).toMatchObject({ decision: 'refuse', cost: 15 })
    expect(await explain('POST', '/v1/charge', { value: '4' })).toMatchObject({
      decision: 'bad_request',
      cost: null,
      price,
    })
  })

  test.each([
    ['/v1/charge', { cost: '11' }, 'cost', 'must be what this request can cost: 10, 15, 25'],
    ['/v1/charge', { cost: '0' }, 'cost', 'must be what this request can cost: 10, 15, 25'],
    ['/v1/charge', { cost: '10', value: '3' }, 'cost', 'must be what this request can cost: 15'],
    ['/v1/user/x', { cost: '1' }, 'cost', 'is for a cost that depends on the request: this request costs 2'],
    ['/v1/user/x', { value: '3' }, 'value', 'is for a cost that depends on the request: this request costs 2'],
  ])(
    'a cost by the body of %s cannot be asked about as %j, which no such request has',
    async (path, asked, field, msg) => {
      expect(await ask('POST', path, asked)).toMatchObject({ status: 400, json: { problems: [{ path: field, msg }] } })
    },
  )

  test.each(['', ' ', '0x10', '1e1', '1.5', '-1', '1000000001'])(
    'a cost by the body cannot be asked about as %j, which is no number of tokens',
    async (cost) => {
      expect(await ask('POST', '/v1/charge', { cost })).toMatchObject({
        status: 400,
        json: { problems: [{ path: 'cost', msg: 'must be a whole number of tokens from 0 to 1000000000' }] },
      })
    },
  )

  test('a cost by the body is refused without the body if even the cheapest does not fit', async () => {
    await running.spend('alice', 'write', 55)
    expect(await explain('POST', '/v1/charge')).toMatchObject({
      decision: 'refuse',
      cost: null,
      why: expect.stringContaining('Even the cheapest request costs 10.'),
    })
  })

  test('a cost by the body is not refused beyond the limit if a body may cost nothing', async () => {
    await other((yaml) => yaml.replace('values: { 2: 10,', 'values: { 2: 0,'))
    await running.spend('alice', 'write', 61)
    expect(await explain('POST', '/v1/charge')).toMatchObject({ decision: 'depends_on_body' })
    expect(await explain('POST', '/v1/charge', { value: '3' })).toMatchObject({ decision: 'refuse' })
  })
})

describe('a cost by what is asked for', () => {
  beforeEach(() =>
    other((yaml) =>
      yaml.replace(
        'routes:\n',
        `routes:
  - match: POST /mcp
    category: read
    cost: { body: method, values: { call: { body: params.name, values: { search: 5 }, otherwise: 3 } }, otherwise: 1, batch: 9 }
  - { match: GET /export, category: read, cost: { query: limit, times: 0.1, max: 50, missing: 20 } }
  - { match: POST /items, category: read, cost: { body: items, each: 2, max: 50 } }
  - { match: PUT /files, category: read, cost: { size: request, per: 1KiB, max: 50 } }
  - { match: GET|POST /units, category: read, cost: { header: X-Units, times: 2, max: 50 } }
  - match: POST /kinds
    category: read
    cost: { header: X-Kind, values: { "é": 3, mcp: { body: n, times: 2, max: 50 } } }
`,
      ),
    ),
  )

  test.each<[string, string, Record<string, string>, number | null]>([
    ['POST', '/mcp', { body: '{"method":"call","params":{"name":"search"}}' }, 5],
    ['POST', '/mcp', { body: '[{"method":"call"},{}]' }, 4],
    ['POST', '/mcp', { value: 'other' }, 1],
    ['POST', '/mcp', { value: 'call' }, null],
    ['POST', '/mcp', {}, null],
    ['GET', '/export?limit=42', {}, 5],
    ['GET', '/export', {}, 20],
    ['POST', '/items', { value: '7' }, 14],
    ['PUT', '/files', { bytes: '2049' }, 3],
    ['PUT', '/files', {}, null],
    ['GET', '/units', { value: '4' }, 8],
    ['POST', '/units', { value: '4', body: '{}' }, 8],
    ['POST', '/units', { body: '{}' }, null],
    ['POST', '/kinds', { value: 'é', body: '{}' }, 3],
    ['POST', '/kinds', { value: 'mcp', body: '{"n":4}' }, 8],
    ['POST', '/kinds', { value: 'mcp' }, null],
  ])('a cost by what is asked for is known of %s %s with %j, or open', async (method, path, more, tokens) => {
    const decision = tokens === null ? 'depends_on_body' : 'accept'
    expect(await explain(method, path, more)).toMatchObject({ decision, cost: tokens })
  })

  test('a cost by what is asked for is explained with the sentence that the client would read, and all of the price', async () => {
    expect(await explain('GET', '/export?limit=1&limit=9')).toMatchObject({
      decision: 'bad_request',
      why: '400: The query must have "limit" only once, in one spelling.',
    })
    const { price } = await explain('POST', '/mcp')
    const call = { body: ['params.name'], values: { search: 5 }, otherwise: 3 }
    expect(price).toEqual({ body: ['method'], values: { call }, otherwise: 1, batch: 9 })
    expect(asText(await explain('POST', '/mcp', { value: 'other' }))).toContain(
      'cost       1   (by body method: call (by body params.name: search 5, else 3), else 1, the sum of up to 9 in an array)',
    )
  })
})

describe('shadow mode', () => {
  const shadow = { decision: 'shadow', why: expect.stringMatching(/Shadow mode is on for the (gateway|route|user)/) }
  const put = (body: object) => running.call('PUT', '/api/users/alice/override', { body: { reason: 'r', ...body } })

  test('shadow mode of the gateway, a route or a user lets through what would be refused', async () => {
    await running.spend('alice', 'read', 120)
    expect(await explain('GET', '/v1/trial')).toMatchObject(shadow)
    expect(await explain('POST', '/v1/user/x')).toMatchObject({ decision: 'refuse' })
    await put({ shadow: true })
    expect(await explain('POST', '/v1/user/x')).toMatchObject(shadow)
    await put({ shadow: false, bypassGlobal: true })
    expect(await explain('POST', '/v1/user/x')).toMatchObject({ decision: 'refuse' })
    await running.call('PATCH', '/api/quota', { body: { shadow: true } })
    expect(await explain('POST', '/v1/user/x')).toMatchObject(shadow)
  })

  test('shadow mode changes nothing for what fits', async () => {
    expect(await explain('GET', '/v1/trial')).toMatchObject({ decision: 'accept' })
  })
})

test('an explanation names an override, and why the global limits do not apply', async () => {
  await running.call('PUT', '/api/users/alice/override', {
    body: { read: { '1h': 1 }, bypassGlobal: true, reason: 'on trial' },
  })
  const refused = await explain('POST', '/v1/user/x')
  expect(refused).toMatchObject({
    decision: 'refuse',
    limits: [{ limit: 1, source: 'override', steps: ['override 1 (on trial)'], refuses: true }, {}],
  })
  expect(await explain('POST', '/v1/user/x', {}, 'bob')).toMatchObject({ decision: 'accept' })
  await running.call('PUT', '/api/users/alice/override', { body: { bypassGlobal: true, reason: 'on trial' } })
  expect((await explain('POST', '/v1/user/x')).why).toMatch(/global limits do not apply: bypass \(on trial\)/)
  await running.call('PATCH', '/api/quota', { body: { global: { enabled: false } } })
  expect((await explain('POST', '/v1/user/x', {}, 'bob')).why).toMatch(/global limits do not apply: switched off/)
})

test('nothing is charged for an explanation', async () => {
  for (let i = 0; i < 3; i++) await explain('POST', '/v1/user/x')
  expect((await explain('POST', '/v1/user/x')).limits[0].used).toBe(0)
})

test.each([
  ['', ['user', 'method', 'path']],
  ['user=a&method=GET', ['path']],
  ['user=%00&method=GET&path=/x', ['user']],
  ['user=..&method=GET&path=/x', ['user']],
  ['user=a&user=b&method=GET&path=/x', ['user']],
  ['user=a&method=G%20T&path=/x', ['method']],
  ['user=a&method=GET&path=/x&cost=-1', ['cost']],
  ['user=a&method=GET&path=/x&costs=1&values=2', ['costs', 'values']],
])('a question that cannot be answered names its fields: %s', async (query, fields) => {
  const reply = await running.call('GET', `/api/explain?${query}`)
  expect(reply.status).toBe(400)
  expect([...new Set(reply.json.problems.map(({ path }: { path: string }) => path))]).toEqual(fields)
})

test('a question whose user and path are too long is told both, each once', async () => {
  const reply = await running.call('GET', `/api/explain?user=${'x'.repeat(257)}&method=GET&path=/${'x'.repeat(8192)}`)
  expect(reply.json.problems).toEqual([
    { path: 'user', msg: 'must be a user id: 1 to 256 bytes without control characters, and neither "." nor ".."' },
    { path: 'path', msg: 'must have 1 to 8192 characters' },
  ])
})

describe('the sentence of an explanation', () => {
  const RESET = '2026-11-20T11:10:00.000Z'
  const refused = { scope: 'Personal', category: 'read', window: '1h', resetAt: RESET }
  const sentence =
    'Personal 1-hour read quota is used up. Requests may continue after 2026-11-20 19:10:00 Asia/Shanghai (UTC+8).'
  const seen = new Set<string>()
  const holes = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort()

  async function reasons(...args: Parameters<typeof ask>) {
    const response: ExplainResponse = await explain(...args)
    for (const { code, values } of response.reasons) {
      seen.add(code)
      for (const words of [enReasons, zhReasons]) {
        expect(holes(words[code]), code).toEqual(Object.keys(values).sort())
      }
    }
    return [response.why, ...response.reasons.map(({ code, values }) => [code, values])]
  }
  const put = (body: object) => running.call('PUT', '/api/users/alice/override', { body: { reason: 'r', ...body } })

  test.each<[method: string, path: string, why: string, code: string, values?: object]>([
    ['TRACE', '/', 'The gateway accepts no request of this method.', 'method_not_accepted'],
    ['GET', 'x', '400: The request target must be a path that begins with "/".', 'target_no_path'],
    ['GET', '/a"b', '400: The path holds a character that has to be percent-encoded.', 'target_unescaped'],
    ['GET', '/a%zz', '400: The path holds an invalid percent escape.', 'target_bad_escape'],
    ['GET', '/a%00', '400: The path holds an encoded backslash or control character.', 'target_control'],
    ['GET', '/a%2541', '400: The path is percent-encoded twice.', 'target_escaped_twice'],
    ['GET', '/a/../b', '400: The path holds a "." or ".." segment.', 'target_dots'],
    ['GET', '/a%2Fb', '400: The path holds an encoded slash.', 'target_escaped_slash'],
    ['GET', '/a//b', '400: The path holds an empty segment.', 'target_empty_segment'],
    ['GET', '/a;b', '400: The path holds a semicolon.', 'target_semicolon'],
    ['GET', '/a%FF', '400: The path is not valid UTF-8.', 'target_no_utf8'],
    ['GET', '/a?ü', '400: The query holds a character that has to be percent-encoded.', 'query_unescaped'],
    ['GET', '/nothing', '404: No route matches this path.', 'no_route'],
    ['POST', '/me/quota', '405: This path allows GET, HEAD.', 'method_not_allowed', { allow: 'GET, HEAD' }],
    ['OPTIONS', '*', 'The gateway answers this itself, for everybody.', 'own_options'],
    ['GET', '/me/quota', 'The gateway answers this itself: it asks for a credential and charges nothing.', 'own_path'],
    ['GET', '/v1/health', 'The route is public: it asks for no credential and charges nothing.', 'public_route'],
    ['GET', '/v1/whoami', 'It asks for a credential and costs nothing.', 'costs_nothing'],
    ['POST', '/v1/user/x', 'All windows have room for 2.', 'room', { cost: 2 }],
    [
      'POST',
      '/v1/charge',
      'The cost depends on what the request asks for: the cheapest one fits now. Name its cost, the value or the body to know for certain.',
      'depends_on_body',
    ],
  ])(
    'the sentence of an explanation about %s %s has a code, its values, and words in the dashboard: %s',
    async (method, path, why, code, values = {}) => {
      expect(await reasons(method, path)).toEqual([why, [code, values]])
    },
  )

  test('the sentence of an explanation about the configuration has a code, its values, and words in the dashboard', async () => {
    const more = 'unmatched: forward\nreference: { path: /reference }\npublic: { prices: true }\n'
    await other((yaml) => `${yaml}edge: { max_url: 256B }\n${more}`)
    expect(await reasons('GET', `/${'x'.repeat(256)}`)).toEqual([
      '414: The request target may have at most 256 bytes.',
      ['target_too_long', { max: 256 }],
    ])
    expect(await reasons('GET', '/nothing')).toEqual([
      'No route matches, and "unmatched: forward" lets it through without a charge.',
      ['unmatched_forwarded', {}],
    ])
    expect(await reasons('GET', '/quota/prices')).toEqual([
      'The gateway answers this itself, for everybody (public).',
      ['public_document', {}],
    ])
    for (const [method, path] of [
      ['GET', '/reference'],
      ['HEAD', '/reference'],
      ['GET', '/reference/'],
      ['GET', '/reference/gateway.json'],
      ['HEAD', '/reference/services.json?x'],
    ] as const)
      expect(await reasons(method, path)).toEqual([
        'The gateway answers this itself, with the page of the API, for everybody.',
        ['reference_page', {}],
      ])
    for (const [method, path] of [
      ['POST', '/reference'],
      ['GET', '/reference/nothing'],
      ['GET', '/references'],
    ] as const)
      expect(await explain(method, path)).toMatchObject({ reasons: [{ code: 'unmatched_forwarded' }] })
  })

  test('the sentence of an explanation about a body has a code, its values, and words in the dashboard', async () => {
    await other((yaml) => yaml.replace('body: chargeId', 'body: [chargeId, charge]'))
    expect(await reasons('POST', '/v1/charge', { value: '2', bytes: '65537' })).toEqual([
      '413: The body of this request may have at most 65536 bytes.',
      ['body_too_large', { max: 65536 }],
    ])
    expect(await reasons('POST', '/v1/charge?a=1&charge_id=5', { value: '2' })).toEqual([
      '400: The query must not have "chargeId" or "charge": the body says what this request costs.',
      ['priced_in_query', { fields: 'chargeId, charge' }],
    ])
    expect(await reasons('POST', '/v1/charge', { value: '4' })).toEqual([
      '400: The body must have "chargeId" or "charge" with one of these values: 2, 3, 5.',
      ['not_priced', { msg: 'The body must have "chargeId" or "charge" with one of these values: 2, 3, 5.' }],
    ])
  })

  test('the sentence of an explanation about a refusal or shadow mode has a code, its values, and words in the dashboard', async () => {
    await running.spend('alice', 'read', 120)
    await running.spend('alice', 'write', 55)
    expect(await reasons('POST', '/v1/user/x')).toEqual([
      `429: ${sentence} This costs 2.`,
      ['refused', refused],
      ['costs', { cost: 2 }],
    ])
    expect((await reasons('POST', '/v1/charge')).slice(1)).toEqual([
      ['refused', { ...refused, category: 'write' }],
      ['costs_at_least', { cost: 10 }],
    ])
    const shadow = (who: string, cost: number) => [
      `${sentence} This costs ${cost}. Shadow mode is on for the ${who}, so it is let through and told.`,
      ['would_be_refused', refused],
      ['costs', { cost }],
      [`shadow_${who}`, {}],
    ]
    expect(await reasons('GET', '/v1/trial')).toEqual(shadow('route', 1))
    await put({ shadow: true })
    const unpriced: [path: string, query: Record<string, string>][] = [
      ['/v1/charge', { value: '4' }],
      ['/v1/charge?chargeId=2', {}],
    ]
    for (const [path, query] of unpriced) {
      expect(await reasons('POST', path, query)).toEqual([
        'The gateway cannot tell the cost, for which the response would be 400. Shadow mode is on for the user, so it is let through and told.',
        ['no_price', {}],
        ['shadow_user', {}],
      ])
    }
    expect(await reasons('POST', '/v1/user/x')).toEqual(shadow('user', 2))
    await running.call('PATCH', '/api/quota', { body: { shadow: true } })
    expect(await reasons('POST', '/v1/user/x')).toEqual(shadow('gateway', 2))
  })

  test('the sentence of an explanation about a cost that a limit never allows has a code, its values, and words in the dashboard', async () => {
    await put({ read: { '1h': 1 }, write: { '5h': 0 } })
    const never = { scope: 'Personal', category: 'read', window: '1h', limit: 1, cost: 2 }
    expect(await reasons('POST', '/v1/user/x')).toEqual([
      '429: This request costs 2 read tokens, more than the Personal 1-hour limit of 1 ever allows; waiting does not help.',
      ['never_fits', never],
    ])
    await put({ read: { '1h': 1 }, shadow: true })
    expect((await reasons('POST', '/v1/user/x')).slice(1)).toEqual([
      ['would_never_fit', never],
      ['shadow_user', {}],
    ])
  })

  test('the sentence of an explanation about a part that is kept for known users has a code, its values, and words in the dashboard', async () => {
    await other((yaml) => yaml.replace('quota:\n', 'quota:\n  reserve: { share: 20%, known_after: 36h }\n'))
    await running.spend('everybody', 'read', 960)
    const window = { scope: 'Global', category: 'read', window: '1h' }
    const [why, ...codes] = await reasons('POST', '/v1/user/x')
    expect(why).toBe(
      '429: Global 1-hour read quota is used up for new users: of 1200 tokens 240 are kept for known ones. Requests may continue after 2026-11-20 19:10:00 Asia/Shanghai (UTC+8). The user is new: of 1200 tokens 240 are kept for known users, whose first charge lies at least 36h ago. This costs 2.',
    )
    expect(codes).toEqual([
      ['refused', { ...window, resetAt: RESET }],
      ['new_user', { kept: 240, whole: 1200, after: '36h' }],
      ['costs', { cost: 2 }],
    ])
    expect(await explain('POST', '/v1/user/x')).toMatchObject({
      limits: [
        {},
        {},
        { scope: 'Global', window: '1h', limit: 960, used: 960, refuses: true, source: 'baseline - reserve' },
        { limit: 3200 },
      ],
    })
    await running.store.noteUsers(['bob'], 60_000)
    expect(await explain('POST', '/v1/user/x', {}, 'bob')).toMatchObject({ decision: 'refuse' })
    await put({ read: { '1h': 500 } })
    expect(await reasons('POST', '/v1/user/x')).toEqual(['All windows have room for 2.', ['room', { cost: 2 }]])
  })

  test('the sentence of an explanation about a path that is folded has a code, its values, and words in the dashboard', async () => {
    await other((yaml) => `${yaml}edge: { match: { case: fold, trailing_dots: ignore } }\n`)
    expect(await explain('POST', '/V1/user./x')).toMatchObject({ decision: 'accept', cost: 2 })
    expect(await reasons('POST', '/v1/u%C5%BFer/x')).toEqual([
      '400: The path holds a letter whose case servers read in different ways.',
      ['target_letter_case', {}],
    ])
    expect(await reasons('POST', '/v1/.../x')).toEqual([
      '400: The path holds a segment of dots and blanks only.',
      ['target_only_dots', {}],
    ])
  })

  test('the sentence of an explanation about a user who is exempt has a code, its values, and words in the dashboard', async () => {
    await other((yaml) => yaml.replace('quota:', 'quota:\n  exempt: { users: [monitoring] }'))
    await running.spend('monitoring', 'read', 120)
    const { json } = await ask('POST', '/v1/user/x', {}, 'monitoring')
    expect(json).toMatchObject({ decision: 'not_charged', category: 'read', cost: 2, limits: [] })
    for (const { code } of json.reasons) seen.add(code)
    expect(json.reasons).toEqual([{ code: 'exempt', values: {} }])
    expect((await ask('POST', '/v1/user/x')).json.decision).toBe('accept')
  })

  test('the sentence of an explanation about global limits that do not apply has a code, its values, and words in the dashboard', async () => {
    const text = 'All windows have room for 2; the global limits do not apply'
    await put({ bypassGlobal: true, reason: 'on trial' })
    expect(await reasons('POST', '/v1/user/x')).toEqual([
      `${text}: bypass (on trial).`,
      ['room_bypass', { cost: 2, reason: 'on trial' }],
    ])
    await running.call('PATCH', '/api/quota', { body: { global: { enabled: false } } })
    expect(await reasons('POST', '/v1/user/x')).toEqual([`${text}: switched off.`, ['room_global_off', { cost: 2 }]])
  })

  test('the sentence of an explanation about users who have no limit together has a code, its values, and words in the dashboard', async () => {
    await other((yaml) => yaml.replace(/ {4}global:\n( {6}.*\n)+/, ''))
    expect(await reasons('POST', '/v1/user/x')).toEqual([
      'All windows have room for 2; all users together have no limit.',
      ['room_no_global', { cost: 2 }],
    ])
  })

  test('the sentence of an explanation names the grant that pays where a window is full', async () => {
    await running.spend('alice', 'read', 120)
    const until = new Date(NOW + 86_400_000).toISOString()
    const body = { user: 'alice', category: 'read', tokens: 9, until, reason: 'an audit' }
    const { id } = (await running.call('POST', '/api/grants', { body })).json
    expect(await reasons('POST', '/v1/user/x')).toEqual([
      `Not all windows have room for 2, and extra tokens pay for it: ${id}.`,
      ['paid_by_grants', { cost: 2, grants: id }],
    ])
  })

  test('the sentence of an explanation has no code that none of these tests has seen', () => {
    expect([...seen].sort()).toEqual(Object.keys(zhReasons).sort())
  })
})
