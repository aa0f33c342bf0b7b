import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parseDictionary } from 'structured-headers'
import { fetch, type Response } from 'undici'
import { beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { sharedRedis } from '../setup/redis.ts'
import { type RunningApp, type Seen, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange } from './raw.ts'

/** Between a soft limit and its end requests pass, and client and upstream are told: held against what the upstream saw. */

const FIELD = 'X-Tollgate-Quota'
const STATE = 'x-tollgate-quota-state'
const COST = 3
const SOFT = '{ limit: 30, over: 12 }'

let upstream: Upstream
let apps: RunningApp[]
let answer: (seen: Seen, res: http.ServerResponse) => void
beforeEach(async () => {
  apps = []
  answer = (_seen, res) => res.end('ok')
  upstream = await startUpstream((seen, res) => answer(seen, res))
})

interface Options {
  readonly quota?: string
  readonly personal?: string
  readonly routes?: string
  readonly field?: string | null
  readonly store?: string
  readonly more?: string
  readonly to?: string
}

function text({
  quota = '',
  personal = `{ read: { 1h: ${SOFT}, 1d: 1000 } }`,
  routes,
  field = FIELD,
  ...rest
}: Options) {
  const { store, more = '', to = upstream.url } = rest
  return yaml(
    to,
    `
quota: { ${quota} baselines: { personal: ${personal} } }
edge: { shares: { address: none, user: none } }
routes: [${routes ?? `{ match: "GET|POST /*", category: read, cost: ${COST} }`}]
${more}`,
    store,
    field === null ? '' : `quota_field: ${field}`,
  )
}

async function start(options: Options = {}, replicas = 1): Promise<RunningApp> {
  // One by one: the first makes the file of an embedded store.
  for (let i = 0; i < replicas; i++) apps.push(await startApp(text(options)))
  return apps[0] as RunningApp
}

const get = (app: RunningApp, path = '/', headers: Record<string, string> = {}) =>
  fetch(app.url + path, { headers: { ...bearer('alice'), ...headers } })
const stateOf = (response: Response): string | null => response.headers.get(STATE)
/** What the upstream was told, as a parser of structured fields reads it. */
function told(seen: Pick<Seen, 'headers'> | undefined): Record<string, unknown> {
  const values = parseDictionary(String(seen?.headers[FIELD.toLowerCase()] ?? ''))
  return Object.fromEntries(
    [...values].map(([name, [value]]) => [name, typeof value === 'object' ? String(value) : value]),
  )
}

describe('a soft limit', () => {
  async function burst(options: Options): Promise<void> {
    await start(options, 3)
    const asked = Array.from({ length: 40 }, (_, i) => get(apps[i % 3] as RunningApp))
    const responses = await Promise.all(asked)
    const passed = responses.filter(({ status }) => status === 200)
    expect(passed).toHaveLength(42 / COST)
    expect(upstream.seen).toHaveLength(42 / COST)
    expect(passed.filter((response) => stateOf(response) === 'over')).toHaveLength(12 / COST)
    expect(upstream.seen.map(told).filter(({ state }) => state === 'over')).toHaveLength(12 / COST)
    expect(upstream.seen.map(told).filter(({ state }) => state === 'within')).toHaveLength(30 / COST)
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(40 - 42 / COST)
    expect(await refused[0]?.json()).toMatchObject({ quota: { limit: 30, over: 12, used: 42, requested: COST } })
  }

  it('a burst over three gateways and one Redis passes exactly limit and over, and the last ones say over', async () => {
    const { url, prefix } = await sharedRedis()
    await burst({ store: url, more: `store_options: { prefix: ${prefix}, deadline: 10s }` })
  })

  it('a burst over three gateways and one embedded store passes exactly limit and over, and the last ones say over', async () => {
    const folder = tempFolder()
    await burst({ store: `sqlite:${join(folder, 'quota.db')}` })
  })

  it('what is left of a soft limit is never below 0, and q, /me/quota and the price of a refusal speak of the limit', async () => {
    const app = await start()
    let last = await get(app)
    for (let i = 1; i < 12; i++) last = await get(app)
    expect(stateOf(last)).toBe('over')
    expect(last.headers.get('ratelimit-policy')).toContain('"personal-read-1h";q=30;w=3600')
    expect(last.headers.get('ratelimit')).toContain('"personal-read-1h";r=0;t=3600')
    const { windows } = (await (await get(app, '/me/quota')).json()) as { windows: Record<string, unknown[]> }
    expect(windows.read?.[0]).toMatchObject({ limit: 30, over: 12, used: 36, remaining: 0 })
    expect(windows.read?.[1]).not.toHaveProperty('over')
  })

  it('a settled response says by its own cost whether it lies over the limit, and what is given back moves the next ones', async () => {
    const settle = 'settle: { header: X-Cost, max: 40 }'
    const app = await start({ routes: `{ match: "GET /*", category: read, cost: ${COST}, ${settle} }` })
    const spend = async (cost: number): Promise<string | null> => {
      answer = (_seen, res) => res.writeHead(200, { 'X-Cost': String(cost) }).end('ok')
      const state = stateOf(await get(app))
      await expect.poll(() => app.observations.filter(({ type }) => type === 'settled').length % 2).toBe(0)
      return state
    }
    expect(await spend(29)).toBeNull()
    // The reserve reaches over the limit. All of it is given back, and then two thirds.
    expect(await spend(0)).toBeNull()
    expect(told(upstream.seen.at(-1))).toMatchObject({ state: 'over', remaining: 0 })
    expect(await spend(1)).toBeNull()
    expect(await spend(9)).toBe('over')
  })

  it('a request that passes over a soft limit is counted once in each category where it does, and its record has the tokens beyond', async () => {
    const charges = 'charges: { read: 1, tokens: { cost: 4, settle: { header: X-Cost, max: 40 } } }'
    const personal = '{ read: { 1h: { limit: 3, over: 5 } }, tokens: { 1h: { limit: 10, over: 50 } } }'
    const app = await start({ routes: `{ match: "GET /*", ${charges} }`, personal })
    answer = (_seen, res) => res.writeHead(200, { 'X-Cost': '6' }).end('ok')
    for (let i = 0; i < 4; i++) await get(app)
    const done = () => app.observations.filter((seen) => seen.type === 'request')
    await expect.poll(() => done().length).toBe(4)
    // Tokens are 6, 12, 18 and 24 of 10; reads 1 to 4 of 3.
    expect(done().map(({ beyond = 0, others }) => [beyond, others?.[0]?.beyond ?? 0])).toEqual([
      [0, 0],
      [0, 2],
      [0, 6],
      [1, 6],
    ])
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    expect(metrics).toContain('tollgate_over_requests_total{category="read"} 1\n')
    expect(metrics).toContain('tollgate_over_requests_total{category="tokens"} 3\n')
  })

  it('in shadow the upstream is told of a request that would have been refused, and the client too', async () => {
    const app = await start({ quota: 'shadow: true,', personal: '{ read: { 1h: { limit: 3, over: 3 } } }' })
    const responses = [await get(app), await get(app), await get(app)]
    expect(upstream.seen.map(told).map(({ state }) => state)).toEqual(['within', 'over', 'shadow'])
    expect(responses.map(stateOf)).toEqual([null, 'over', null])
    expect(responses[2]?.headers.get('x-tollgate-shadow')).toBe('would-refuse')
    expect(told(upstream.seen[2])).toMatchObject({ category: 'read', remaining: 0 })
  })

  it('a limit that is set at run time passes what it says beyond, of everybody or of one user, and GET shows it as it was set', async () => {
    const app = await start({ personal: '{ read: { 1h: { limit: 6, over: 3 } } }' })
    const admin = async (method: string, path: string, body: unknown) => {
      const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
      const response = await fetch(app.admin + path, { method, headers, body: JSON.stringify(body) })
      expect(response.status, await response.clone().text()).toBe(200)
      return response.json() as Promise<Record<string, unknown>>
    }
    const passing = async (user: string): Promise<number> => {
      const responses: number[] = []
      for (let i = 0; i < 6; i++) responses.push((await get(app, '/', bearer(user))).status)
      return responses.filter((status) => status === 200).length
    }
    await admin('PUT', '/api/users/hard/override', { read: { '1h': 6 }, reason: 'as it stands' })
    const read = { '1h': { limit: 3, over: 6 } }
    expect(await admin('PUT', '/api/users/soft/override', { read, reason: 'a guest' })).toMatchObject({
      limits: { read },
    })
    await admin('PUT', '/api/users/blocked/override', { read: { '1h': 0 }, reason: 'a block' })
    await admin('PUT', '/api/users/free/override', { read: { '1h': 'unlimited' }, reason: 'a guest' })
    expect([await passing('hard'), await passing('blocked'), await passing('free')]).toEqual([2, 0, 6])
    expect([await passing('soft'), await passing('anybody')]).toEqual([3, 3])
    await admin('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 9 } } }, reason: 'hard' })
    expect(await passing('hardened')).toBe(3)
    const baselines = { personal: { read: { '1h': { limit: 9, over: 6 } } } }
    expect(await admin('POST', '/api/quota/preview', { baselines })).toMatchObject({
      ...{ movesNobody: false, effective: { personal: { read: { '1h': 9 } } } },
      over: { personal: { read: { '1h': 6 } } },
    })
    const changed = await admin('PATCH', '/api/quota', { baselines, reason: 'soft' })
    expect(changed).toMatchObject({ baselines, over: { personal: { read: { '1h': 6 } } } })
    expect(await passing('softened')).toBe(5)
    await admin('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 'unlimited' } } }, reason: 'free' })
    expect(await passing('freed')).toBe(6)
    await admin('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 0 } } }, reason: 'none' })
    expect(await passing('none')).toBe(0)
  })
})

describe('what was used beyond a limit', () => {
  it('usage and its export say what was used beyond a soft limit, of a user, of a category, and after a correction', async () => {
    const settle = 'settle: { status: { 2xx: 1 } }'
    const zone = '{ calendar: day, zone: Asia/Shanghai }'
    const app = await start({
      quota: `windows: { 1h: 1h, day: ${zone} },`,
      personal: '{ read: { 1h: { limit: 10, over: 20 }, day: { limit: 8, over: 30 } } }',
      routes: `{ match: POST /*, category: read, cost: 5 }, { match: GET /*, category: read, cost: 5, ${settle} }`,
      more: 'usage: { zone: Asia/Shanghai }',
    })
    for (let i = 0; i < 4; i++) await fetch(app.url, { method: 'POST', headers: bearer('alice') })
    // Of the reserve of 5 beyond both limits 4 are given back.
    await get(app)
    await get(app, '/', bearer('bob'))
    const usage = async (query: string): Promise<string> => {
      const headers = { authorization: 'Bearer test-admin-token-0001' }
      return (await fetch(`${app.admin}/api/usage?${query}`, { headers })).text()
    }
    const rows = async (query: string): Promise<object[]> => JSON.parse(await usage(query)).rows
    await expect.poll(() => rows('by=category')).toMatchObject([{ category: 'read', tokens: 22, over: 13 }])
    await expect.poll(() => rows('user=alice&window=1h')).toMatchObject([{ tokens: 21, over: 11 }])
    // The days of the books are those of the window of the same zone.
    expect(await rows('user=alice')).toMatchObject([{ tokens: 21, over: 13 }])
    expect(await rows('user=bob&window=1h')).toMatchObject([{ tokens: 1, over: 0 }])
    expect(await usage('window=1h&format=csv')).toMatch(
      /complete,over,grant,taken\r\nalice,read,1h,.*,11,,\r\nbob,read,1h,.*,0,,\r\n$/,
    )
    const own = (await (await get(app, '/me/usage?window=1h')).json()) as { rows: object[] }
    expect(own.rows).toMatchObject([{ user: 'alice', tokens: 21, over: 11 }])
  })

  it('usage says what was used beyond a limit that is soft by a change at run time alone, of everybody or of one user', async () => {
    const app = await start({ personal: '{ read: { 1h: 30 } }' })
    const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
    const set = async (method: string, path: string, body: unknown) => {
      const response = await fetch(app.admin + path, { method, headers, body: JSON.stringify(body) })
      expect(response.status, await response.clone().text()).toBe(200)
    }
    const rows = async (): Promise<object[]> => {
      const response = await fetch(`${app.admin}/api/usage?user=alice&window=1h`, { headers })
      return ((await response.json()) as { rows: object[] }).rows
    }
    for (let i = 0; i < 4; i++) await get(app)
    expect(await rows()).toMatchObject([{ tokens: 12 }])
    expect((await rows())[0]).not.toHaveProperty('over')
    const read = { '1h': { limit: 5, over: 40 } }
    await set('PUT', '/api/users/alice/override', { read, reason: 'a guest' })
    expect(await rows()).toMatchObject([{ tokens: 12, over: 7 }])
    await set('PUT', '/api/users/alice/override', { shadow: true, reason: 'no guest' })
    await set('PATCH', '/api/quota', {
      baselines: { personal: { read: { '1h': { limit: 10, over: 9 } } } },
      reason: 'x',
    })
    expect(await rows()).toMatchObject([{ tokens: 12, over: 2 }])
  })
})

describe("the upstream's field", () => {
  const spellings = [FIELD, 'x-tollgate-quota', 'X-TOLLGATE-QUOTA', 'X_Tollgate_Quota', 'X-Tollgate_Quota']

  it("a client's own copy never reaches the upstream, in whatever spelling, named by Connection, or as a trailer", async () => {
    const app = await start({ more: '' })
    const authorization = `Authorization: ${bearer('alice').authorization}`
    for (const name of [...spellings, 'X.Tollgate.Quota']) {
      const head = `GET / HTTP/1.1\r\nHost: a\r\n${authorization}\r\n${name}: state=forged\r\nConnection: close\r\n\r\n`
      await rawExchange(app.url, head)
    }
    const nominated = `GET / HTTP/1.1\r\nHost: a\r\n${authorization}\r\nConnection: close, ${FIELD}\r\n${FIELD}: state=forged\r\n\r\n`
    expect(await rawExchange(app.url, nominated)).toContain(' 400 ')
    const chunked = `POST / HTTP/1.1\r\nHost: a\r\n${authorization}\r\nTransfer-Encoding: chunked\r\nTrailer: ${FIELD}\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n${FIELD}: state=forged\r\n\r\n`
    await rawExchange(app.url, chunked)
    expect(upstream.seen.length).toBeGreaterThan(2)
    expect(JSON.stringify(upstream.seen)).not.toContain('forged')
    for (const seen of upstream.seen) expect(told(seen)).toMatchObject({ state: 'within' })
  })

  it('under a name of its own no copy of a client passes either, on a public route neither', async () => {
    const routes = '{ match: GET /open, public: true }, { match: GET /*, category: read, cost: 1 }'
    const app = await start({ field: 'X-Limits', routes, more: '' })
    await get(app, '/', { 'x-limits': 'state=forged' })
    await get(app, '/open', { 'X-LIMITS': 'state=forged' })
    expect(upstream.seen[0]?.headers['x-limits']).toMatch(/^state=within, category="read", remaining=29, reset=\d+$/)
    expect(upstream.seen[1]?.headers).not.toHaveProperty('x-limits')
  })

  it('without quota_field the upstream is told nothing', async () => {
    await get(await start({ field: null }), '/', { [FIELD]: 'state=forged' })
    expect(upstream.seen[0]?.headers).not.toHaveProperty(FIELD.toLowerCase())
  })

  it('it names the plan of the caller and the tightest window, and a handshake has it too', async () => {
    const heads: http.IncomingHttpHeaders[] = []
    const server = http.createServer()
    const sockets = new WebSocketServer({ noServer: true })
    server.on('upgrade', (req, socket, head) => {
      heads.push(req.headers)
      sockets.handleUpgrade(req, socket, head, (ws) => ws.close())
    })
    await listening(server)
    const quota = 'default_plan: "größer", plans: { "größer": { personal: { read: { 1h: { limit: 2, over: 9 } } } } },'
    const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const app = await start({ quota, to, more: 'drain: { timeout: 100ms }' })
    const ws = new WebSocket(app.url.replace('http', 'ws'), {
      headers: { ...bearer('alice'), [FIELD]: 'state=forged' },
    })
    await once(ws, 'close')
    expect(heads).toHaveLength(1)
    expect(told({ headers: heads[0] ?? {} })).toEqual({
      ...{ state: 'over', category: 'read', remaining: 0 },
      ...{ reset: 3600, plan: 'größer' },
    })
  })
})

describe('the fields of before the standard', () => {
  const legacy = ({ headers }: Response) =>
    ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))

  it('the tightest window is told in X-RateLimit fields where that is wanted, in place of those of the upstream', async () => {
    answer = (_seen, res) => res.writeHead(200, { 'x-ratelimit-limit': '7', 'X-RateLimit-Reset': '1' }).end('ok')
    const app = await start({ quota: 'legacy_fields: true,', personal: '{ read: { 1h: 9, 1d: 8 } }' })
    expect(legacy(await get(app))).toEqual(['8', '5', '86400'])
    expect(legacy(await get(app))).toEqual(['8', '2', expect.stringMatching(/^86\d\d\d$/)])
    const refused = await get(app)
    expect(refused.status).toBe(429)
    expect(legacy(refused)).toEqual(['8', '2', refused.headers.get('retry-after')])
  })

  it('they are told where ratelimit_headers are, and those of the upstream pass where they are not wanted', async () => {
    answer = (_seen, res) => res.writeHead(200, { 'x-ratelimit-limit': '7' }).end('ok')
    const quota = 'legacy_fields: true, ratelimit_headers: false,'
    const app = await start({ quota, personal: `{ read: { 1h: ${COST} } }` })
    expect(legacy(await get(app))).toEqual(['7', null, null])
    expect(legacy(await get(app))).toEqual([String(COST), '0', expect.stringMatching(/^3[56]\d\d$/)])
    await app.reload(text({ personal: '{ read: { 1h: 100 } }' }))
    expect(legacy(await get(app))).toEqual(['7', null, null])
  })
})
