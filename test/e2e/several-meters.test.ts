import type http from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Settled } from '../../src/observe/observation.ts'
import { createHalfHours } from '../../src/usage/half-hours.ts'
import { type RunningApp, type Seen, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** A request that counts in several categories: in all of them, or in none. Each meter is settled, given back and told by itself. */

let app: RunningApp
let upstream: Upstream
let respond: (seen: Seen, res: http.ServerResponse) => void
beforeEach(async () => {
  respond = (_seen, res) => void res.end('ok')
  upstream = await startUpstream((seen, res) => respond(seen, res))
})

const LIMITS = 'requests: { 1h: 3, 1d: 50 }, tokens: { 1d: 100 }'
const CHAT = 'POST /chat, charges: { requests: 1, tokens: { cost: 40, settle: { header: X-Tokens, max: 90 } } }'

async function start(routes: readonly string[], { limits = LIMITS, quota = '', more = '' } = {}): Promise<void> {
  const rules = routes.map((route) => `  - { match: ${route} }`).join('\n')
  const text = `quota: { ${quota} baselines: { personal: { ${limits} }, global: { tokens: { 1d: 5000 } } } }\nroutes:\n${rules}\n${more}`
  app = await startApp(yaml(upstream.url, text))
}

interface Asked {
  readonly user?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

async function ask(path = '/chat', { user = 'alice', body, headers }: Asked = {}) {
  const { authorization } = bearer(user)
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    charged: response.headers.get('x-tollgate-charged'),
  }
}

/** What each window of alice has used, when so many requests are recorded. */
async function used(requests?: number): Promise<Record<string, number>> {
  if (requests !== undefined) await expect.poll(() => records().length).toBe(requests)
  const response = await fetch(`${app.url}/me/quota`, { headers: bearer('alice') })
  const { windows } = (await response.json()) as {
    windows: Record<string, { scope: string; window: string; used: number }[]>
  }
  return Object.fromEntries(
    Object.entries(windows).flatMap(([category, all]) =>
      all.map(({ scope, window, used }) => [`${scope} ${category} ${window}`, used]),
    ),
  )
}
const records = () => app.requests().filter(({ route, outcome }) => route !== null && outcome !== 'answered')
const last = () => records().at(-1)
const settled = () => app.observations.filter((seen): seen is Settled => seen.type === 'settled')
const says = (tokens: number) => {
  respond = (_seen, res) => void res.setHeader('X-Tokens', String(tokens)).end('ok')
}

describe('a request with several meters', () => {
  it('a request with several meters is charged in each of them, and each is settled by itself', async () => {
    await start([CHAT])
    says(12)
    const { status, charged, headers } = await ask()
    expect([status, charged]).toEqual([200, 'requests=1, tokens=12'])
    expect(headers.get('ratelimit-policy')).toBe(
      '"personal-requests-1h";q=3;w=3600, "personal-requests-1d";q=50;w=86400, "personal-tokens-1d";q=100;w=86400, "global-tokens-1d";q=5000;w=86400',
    )
    expect(headers.get('ratelimit')).toMatch(
      /^"personal-requests-1h";r=2;t=\d+, "personal-requests-1d";r=49;t=\d+, "personal-tokens-1d";r=88;t=\d+, "global-tokens-1d";r=4988;t=\d+$/,
    )
    expect(await used(1)).toEqual({
      'Personal requests 1h': 1,
      'Personal requests 1d': 1,
      'Personal tokens 1d': 12,
      'Global tokens 1d': 12,
    })
    expect(last()).toMatchObject({
      category: 'requests',
      cost: 1,
      charged: null,
      others: [{ category: 'tokens', cost: 40, charged: 12 }],
    })
  })

  it('a request that one of its meters has no room for is charged in none, and its 429 names the window with the latest reset', async () => {
    await start([CHAT])
    says(90)
    await ask()
    const { status, text, headers } = await ask()
    expect(status).toBe(429)
    expect(JSON.parse(text).quota).toMatchObject({
      category: 'tokens',
      window: '1d',
      used: 90,
      requested: 40,
      limit: 100,
    })
    expect(headers.get('ratelimit')).toMatch(/"personal-requests-1h";r=2;.*"personal-tokens-1d";r=10;/)
    expect(await used(2)).toMatchObject({ 'Personal requests 1h': 1, 'Personal tokens 1d': 90 })
    expect(last()).toMatchObject({
      outcome: 'refused',
      charged: 0,
      others: [{ category: 'tokens', cost: 40, charged: 0 }],
      refusedBy: { category: 'tokens', scope: 'personal', window: '1d', source: 'baseline' },
    })
  })

  it('a 429 of several meters without room waits for the last of them, and its problem names each window that refuses', async () => {
    await start([CHAT], { limits: 'requests: { 1h: 1 }, tokens: { 1d: 100 }' })
    says(90)
    await ask()
    const { headers, text } = await ask('/chat', { headers: { accept: 'application/problem+json' } })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(80_000)
    expect(JSON.parse(text)['violated-policies']).toEqual(['personal-tokens-1d', 'personal-requests-1h'])
  })

  it('a request that never fits into one of its meters is told so', async () => {
    await start([CHAT], { limits: 'requests: { 1d: 3 }, tokens: { 1h: 39 }' })
    for (let i = 0; i < 2; i++) {
      const { text } = await ask()
      expect(JSON.parse(text).msg).toBe(
        'This request costs 40 tokens, more than the Personal 1-hour limit of 39 ever allows; waiting does not help.',
      )
    }
  })

  it('a request whose cost only its body says in one of several meters has no field, and its log line has each cost', async () => {
    await start(['POST /chat, charges: { requests: 1, tokens: { cost: 40, settle: { json: usage.total, max: 90 } } }'])
    respond = (_seen, res) => {
      res.write('{"usage":')
      setTimeout(() => res.end('{"total":7}}'), 30)
    }
    const { charged, headers } = await ask()
    expect(charged).toBeNull()
    expect(headers.get('ratelimit')).toContain('"personal-tokens-1d";r=60;')
    expect(await used(1)).toMatchObject({ 'Personal requests 1h': 1, 'Personal tokens 1d': 7 })
    expect(last()?.others).toEqual([{ category: 'tokens', cost: 40, charged: 7 }])
  })

  it('a request that reached nobody is given back in each of its meters', async () => {
    await start([CHAT])
    await upstream.close()
    const { status, charged } = await ask()
    expect([status, charged]).toEqual([502, 'requests=0, tokens=0'])
    expect(await used(1)).toMatchObject({ 'Personal requests 1h': 0, 'Personal tokens 1d': 0 })
    expect(last()).toMatchObject({ charged: 0, others: [{ category: 'tokens', charged: 0 }] })
    expect(
      settled()
        .filter(({ kind }) => kind === 'given_back')
        .map(({ charge, tokens }) => [charge.category, tokens]),
    ).toEqual([
      ['requests', -1],
      ['tokens', -40],
    ])
  })

  it('a request that got no response is told what stays charged in each of its meters', async () => {
    await start([
      'POST /chat, charges: { requests: 1, tokens: { cost: 40, settle: { status: { gateway: 5 }, header: X-Tokens, max: 90 } } }',
    ])
    respond = (_seen, res) => void res.socket?.destroy()
    const { status, charged } = await ask()
    expect([status, charged]).toEqual([502, 'requests=1, tokens=5'])
    expect(await used(1)).toMatchObject({ 'Personal requests 1h': 1, 'Personal tokens 1d': 5 })
  })
})

describe('a meter that costs nothing', () => {
  const BY_BODY =
    'POST /chat, charges: { requests: { cost: { body: mode, values: { free: 0, full: 1 } } }, tokens: { cost: { body: model, values: { small: 10, none: 0 } }, settle: { header: X-Tokens, max: 90 } } }'

  it('a meter that costs this request nothing is neither asked nor settled, also where it is the first', async () => {
    await start([BY_BODY], { limits: 'requests: { 1h: 0, 1d: 50 }, tokens: { 1d: 100 }' })
    says(33)
    expect((await ask('/chat', { body: { mode: 'full', model: 'small' } })).status).toBe(429)
    expect((await ask('/chat', { body: { mode: 'free', model: 'small' } })).charged).toBe('tokens=33')
    expect(await used(2)).toMatchObject({ 'Personal requests 1h': 0, 'Personal tokens 1d': 33 })
    expect(last()).toMatchObject({
      category: 'requests',
      cost: 0,
      others: [{ category: 'tokens', cost: 10, charged: 33 }],
    })
    expect((await ask('/chat', { body: { mode: 'free', model: 'none' } })).status).toBe(200)
    expect(await used(3)).toMatchObject({ 'Personal requests 1h': 0, 'Personal tokens 1d': 33 })
    expect(last()).toMatchObject({ cost: 0, charged: null, others: [{ category: 'tokens', cost: 0, charged: null }] })
  })

  it('a body that has no price in one of several meters is refused, and in shadow let through at no cost', async () => {
    await start([BY_BODY])
    const body = { mode: 'full', model: 'huge' }
    expect((await ask('/chat', { body })).status).toBe(400)
    const { status } = await fetch(`${app.url}/chat?model=small`, {
      method: 'POST',
      headers: { ...bearer('alice'), 'content-type': 'application/json' },
      body: JSON.stringify({ mode: 'full', model: 'small' }),
    })
    expect(status).toBe(400)
    await app.stop()
    await start([BY_BODY], { quota: 'shadow: true,' })
    expect((await ask('/chat', { body })).status).toBe(200)
    expect(await used(1)).toMatchObject({ 'Personal requests 1h': 0, 'Personal tokens 1d': 0 })
    expect(upstream.seen.map((seen) => JSON.parse(seen.body))).toEqual([body])
  })
})

describe('several meters with what else a rule may have', () => {
  it('a request with a key is charged once in each of its meters, and a repetition adds what it costs beyond', async () => {
    await start([`${CHAT}, idempotency: {}`])
    const headers = { 'idempotency-key': 'one' }
    says(12)
    const first = await ask('/chat', { headers })
    says(30)
    const again = await ask('/chat', { headers })
    expect([first.charged, again.charged, again.headers.get('x-tollgate-replay')]).toEqual([null, null, '1'])
    expect(await used(2)).toMatchObject({ 'Personal requests 1h': 1, 'Personal tokens 1d': 30 })
    const lines = records().map(({ charged, cost, others = [] }) => [charged ?? cost, others[0]?.charged])
    expect(lines).toEqual([
      [1, 12],
      [0, 18],
    ])
  })

  it('shadow lets a request through that one of several meters refuses, and charges none of them', async () => {
    await start([`${CHAT}, shadow: true`], { limits: 'requests: { 1h: 3 }, tokens: { 1d: 39 }' })
    const { status, headers } = await ask()
    expect([status, headers.get('x-tollgate-shadow')]).toEqual([200, 'would-refuse'])
    expect(await used(1)).toMatchObject({ 'Personal requests 1h': 0, 'Personal tokens 1d': 0 })
    expect(settled().map(({ kind, charge }) => [kind, charge.category])).toEqual([['shadowed', 'tokens']])
  })

  it('an exempt caller is charged in none of several meters, and a rule whose meters all cost nothing asks no quota', async () => {
    await start([CHAT, 'POST /free, charges: { requests: 0, tokens: 0 }'], { quota: 'exempt: { users: [alice] },' })
    expect((await ask()).status).toBe(200)
    expect((await ask('/free', { user: 'bob' })).status).toBe(200)
    expect(settled().map(({ kind, charge }) => [kind, charge.category])).toEqual([['exempt', 'requests']])
  })

  it('what no rule matches may be charged in several meters too', async () => {
    await start([CHAT], {
      more: 'unmatched: { charges: { requests: 1, tokens: { cost: 5, settle: { header: X-Tokens, max: 9 } } } }',
    })
    says(8)
    expect((await ask('/elsewhere')).charged).toBe('requests=1, tokens=8')
    expect(await used(1)).toMatchObject({ 'Personal requests 1h': 1, 'Personal tokens 1d': 8 })
  })

  it('a request is charged in one meter where charges name one, as by category and cost', async () => {
    await start(['POST /chat, charges: { tokens: { cost: 40, settle: { header: X-Tokens, max: 90 } } }'])
    says(12)
    expect((await ask()).charged).toBe('12')
    expect(await used(1)).toMatchObject({ 'Personal tokens 1d': 12 })
    expect(last()).toMatchObject({ category: 'tokens', cost: 40, charged: 12 })
    expect(last()?.others).toBeUndefined()
  })

  it('explain says of each of several meters what it costs and what is left, and which of them refuses', async () => {
    await start([CHAT])
    const explained = async () => {
      const url = `${app.admin}/api/explain?user=alice&method=POST&path=/chat`
      return (await fetch(url, { headers: { authorization: 'Bearer test-admin-token-0001' } })).json()
    }
    expect(await explained()).toMatchObject({
      ...{ decision: 'accept', category: 'requests', cost: 1 },
      why: 'All windows have room for 1 of requests and 40 of tokens.',
      limits: [{ window: '1h' }, { window: '1d' }],
      others: [
        {
          category: 'tokens',
          cost: 40,
          settle: { max: 90 },
          limits: [{ limit: 100, refuses: false }, { limit: 5000 }],
        },
      ],
    })
    says(90)
    await ask()
    await used(1)
    expect(await explained()).toMatchObject({
      decision: 'refuse',
      why: expect.stringMatching(/^429: Personal 1-day tokens quota is used up\. .* This costs 40\.$/),
      limits: [{ refuses: false }, { refuses: false }],
      others: [{ limits: [{ refuses: true }, { refuses: false }] }],
    })
  })

  it('metrics, series and the price list have each of several meters', async () => {
    await start([CHAT], { more: 'public: { prices: true }' })
    says(12)
    await ask()
    await used(1)
    const text = await (await fetch(`${app.admin}/metrics`)).text()
    expect(text).toContain('tollgate_tokens_charged_total{category="requests"} 1\n')
    expect(text).toContain('tollgate_tokens_charged_total{category="tokens"} 40\n')
    expect(text).toContain('tollgate_tokens_refunded_total{category="tokens"} 28\n')
    expect(text).toMatch(/tollgate_requests_total\{category="requests",outcome="forwarded".*\} 1\n/)
    expect(text).not.toMatch(/tollgate_requests_total\{category="tokens"/)
    const halfHours = createHalfHours(() => Date.now())
    for (const seen of app.observations) halfHours.count(seen)
    const ofRoute = halfHours.take().find(({ by, name }) => by === 'route' && name === 'POST /chat')
    expect(ofRoute?.counts).toMatchObject({ tokens: 13, accepted: 1 })
    const { routes } = (await (await fetch(`${app.url}/quota/prices`)).json()) as { routes: unknown[] }
    expect(routes[0]).toMatchObject({
      category: 'requests',
      cost: 1,
      others: [{ category: 'tokens', cost: 40, settle: { max: 90 } }],
    })
  })
})
