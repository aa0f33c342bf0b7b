/// <reference lib="esnext.temporal" />
import { generateKeyPairSync, sign } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type http from 'node:http'
import { createServer } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { fetch } from 'undici'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { NOTHING } from '../../src/failures/histogram.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { isCharged, isGivenBack } from '../observe/settled.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'
import { type RunningApp, type Seen, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'

let folder: string
let respond: (seen: Seen, res: http.ServerResponse) => void
let backend: Upstream
let app: RunningApp
let more: { close(): void } | null
beforeEach(async () => {
  folder = tempFolder()
  respond = (_seen, res) => res.end('ok')
  backend = await startUpstream((seen, res) => respond(seen, res))
  more = null
})
afterEach(async () => {
  more?.close()
})

interface Keys {
  readonly quota?: string
  readonly upstream?: string
  readonly rest?: string
  readonly store?: string
  readonly backend?: string
}

/** Limits of 10 and 100 tokens an hour, and one rule of 4 tokens. */
function config({ quota = '', upstream = '', rest = '', store, backend: url = backend.url }: Keys): string {
  const limits = 'baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } } }'
  const routes = 'routes: [{ match: "GET|POST /items/*", category: read, cost: 4 }]'
  return yaml(url, `quota: { ${limits}, ${quota} }\n${routes}\n${rest}`, store, upstream)
}

async function start(keys: Keys): Promise<void> {
  app = await startApp(config(keys))
}

const get = (path = '/items/1', headers: Record<string, string> = bearer('alice')) => fetch(app.url + path, { headers })
const post = (body: string | AsyncIterable<Uint8Array>) =>
  fetch(`${app.url}/items/1`, { method: 'POST', headers: bearer('alice'), body, duplex: 'half' })
const charges = (): number => app.observations.filter(isCharged).length

async function windows(): Promise<{ scope: string; limit: number; used: number }[]> {
  const body = (await (await get('/me/quota')).json()) as {
    windows: { read: { scope: string; limit: number; used: number }[] }
  }
  return body.windows.read
}
const used = async (): Promise<number | undefined> => (await windows())[0]?.used
const limits = async (): Promise<string[]> => (await windows()).map(({ scope, limit }) => `${scope} ${limit}`)

describe('each key of the configuration reaches what it names: quota', () => {
  it('refund: never keeps the charge of a request that the upstream never saw', async () => {
    await start({ quota: 'refund: never', backend: 'http://127.0.0.1:1' })
    expect((await get()).status).toBe(502)
    expect(await used()).toBe(4)
    expect(app.observations.filter(isGivenBack)).toEqual([])
  })

  it('windows: one of a calendar runs from the first of its month to the next, and a reload to another zone keeps its tokens', async () => {
    const quota = (zone: string): string => {
      const windows = `windows: { 1h: 1h, month: { calendar: month, zone: ${zone} } }`
      const limits = '{ read: { 1h: 9, month: 6 } }'
      const rule = 'routes: [{ match: "GET /items/*", category: read, cost: 4 }]'
      return yaml(backend.url, `quota: { ${windows}, baselines: { personal: ${limits}, global: ${limits} } }\n${rule}`)
    }
    const monthsOf = (zone: string): string[] => {
      const first = Temporal.Now.plainDateISO(zone).with({ day: 1 })
      return [first, first.add({ months: 1 })].map((date) =>
        new Date(date.toZonedDateTime(zone).epochMilliseconds).toISOString(),
      )
    }
    const month = async (): Promise<unknown[]> => {
      const { used, startedAt, resetAt } = (await windows())[1] as unknown as Record<string, unknown>
      return [used, startedAt, resetAt]
    }
    app = await startApp(quota('Asia/Shanghai'))
    expect(await month()).toEqual([0, ...monthsOf('Asia/Shanghai')])
    expect((await get()).status).toBe(200)
    await app.reload(quota('America/New_York'))
    expect(await month()).toEqual([4, ...monthsOf('America/New_York')])
    const refused = await get()
    const { msg, quota: why } = (await refused.json()) as { msg: string; quota: { window: string; resetAt: string } }
    const [from = '', to = ''] = monthsOf('America/New_York')
    expect(msg).toMatch(/^Personal monthly read quota is used up\./)
    expect(why).toMatchObject({ window: 'month', resetAt: to })
    expect(refused.headers.get('ratelimit-policy')).toContain(
      `"personal-read-month";q=6;w=${(Date.parse(to) - Date.parse(from)) / 1000}`,
    )
  })

  it('the RateLimit fields of the upstream stay, before those of the gateway, also where a request is free or the upstream refuses it', async () => {
    respond = ({ url }, res) => {
      const theirs = { RateLimit: '"burst";r=0;t=3', 'RateLimit-Policy': '"burst";q=5;w=3' }
      res.writeHead(url === '/items/busy' ? 429 : 200, theirs).end()
    }
    const rest =
      'routes: [{ match: GET /items/*, category: read, cost: 4 }, { match: GET /free, category: read, cost: 0 }]'
    const limits = 'baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } } }'
    app = await startApp(yaml(backend.url, `quota: { ${limits} }\n${rest}`))
    const fields = async (path: string): Promise<unknown[]> => {
      const { status, headers } = await get(path)
      return [status, headers.get('ratelimit-policy'), headers.get('ratelimit')]
    }
    const policy = '"burst";q=5;w=3, "personal-read-1h";q=10;w=3600, "global-read-1h";q=100;w=3600'
    const left = expect.stringMatching(
      /^"burst";r=0;t=3, "personal-read-1h";r=\d;t=\d+, "global-read-1h";r=\d\d;t=\d+$/,
    )
    expect(await fields('/items/1')).toEqual([200, policy, left])
    expect(await fields('/items/busy')).toEqual([429, policy, left])
    expect(await fields('/free')).toEqual([200, '"burst";q=5;w=3', '"burst";r=0;t=3'])
  })

  it('retry_after_max bounds Retry-After alone, also where the operator wrote the body', async () => {
    const file = join(folder, '429.json')
    writeFileSync(file, '{ "wait": {{retry_after}} }')
    await start({ quota: 'retry_after_max: 2m' })
    const seconds = async (): Promise<unknown[]> => {
      const response = await get()
      const { headers } = response
      const body = (await response.json()) as Record<string, number>
      const reset = Date.parse(headers.get('x-quota-reset') ?? '') - Date.now()
      return [
        response.status,
        headers.get('retry-after'),
        (body.retryAfterSeconds ?? body.wait ?? 0) > 3000,
        reset > 3e6,
      ]
    }
    for (let i = 0; i < 2; i++) await get()
    expect(await seconds()).toEqual([429, '120', true, true])
    const rest = `errors: { quota_exceeded: { body: "${file}", content_type: application/json } }`
    await app.reload(config({ quota: 'retry_after_max: 2m', rest }))
    expect(await seconds()).toEqual([429, '120', true, true])
    await app.reload(config({ rest }))
    expect((await get()).headers.get('retry-after')).not.toBe('120')
  })

  it('ratelimit_headers: false takes the fields from accepted responses and leaves them on refusals', async () => {
    await start({ quota: 'ratelimit_headers: false' })
    const accepted = [await get(), await get()]
    for (const { status, headers } of accepted) {
      expect(status).toBe(200)
      expect([headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([null, null])
    }
    const refused = await get()
    expect(refused.status).toBe(429)
    expect(refused.headers.get('ratelimit')).toContain('"personal-read-1h";r=2;')
  })

  it.each([
    ['mode: conservative', ['Personal 7', 'Global 75']],
    ['mode: loose', ['Personal 15', 'Global 150']],
    [
      'mode: custom, custom: { personal: { read: { 1h: 33 } }, global: { read: { 1h: 44 } } }',
      ['Personal 33', 'Global 44'],
    ],
    ['global: { enabled: true, multiplier: 2.5 }', ['Personal 10', 'Global 250']],
    ['mode: loose, global: { enabled: true, multiplier: 0.5 }', ['Personal 15', 'Global 75']],
    ['global: { enabled: false }', ['Personal 10']],
  ])('%s sets the limits in force', async (quota, expected) => {
    await start({ quota })
    expect(await limits()).toEqual(expected)
    const policy = (await get()).headers.get('ratelimit-policy') ?? ''
    expect([...policy.matchAll(/q=(\d+)/g)].map(([, q]) => Number(q))).toEqual(
      expected.map((text) => Number(text.split(' ')[1])),
    )
  })

  it('mode: adaptive lowers the limits by the failures that the store remembers, also after a reload', async () => {
    const file = join(folder, 'quota.db')
    const store = openSqliteStore({ file })
    await store.addTally({ total: 1000, status0: 400, status5xx: 600, status4xx: 0, aside: 0, asideFailed: 0 })
    await store.close()
    const keys = { quota: 'mode: adaptive', store: `sqlite:${file}` }
    await start(keys)
    expect(await limits()).toEqual(['Personal 7', 'Global 75'])
    await app.reload(config(keys).replace('1h: 100', '1h: 1000'))
    expect(await limits()).toEqual(['Personal 7', 'Global 750'])
  })

  it('adaptive: min, bad and min_requests are those that the factor is drawn by', async () => {
    const file = join(folder, 'quota.db')
    const store = openSqliteStore({ file })
    await store.addTally({ ...NOTHING, total: 1000, status5xx: 100 })
    await store.close()
    const keys = (options: string) => ({ quota: `mode: adaptive, adaptive: { ${options} }`, store: `sqlite:${file}` })
    await start(keys('min: 0.5'))
    expect(await limits()).toEqual(['Personal 5', 'Global 50'])
    await app.reload(config(keys('bad: 99%, normal: 10%')))
    expect(await limits()).toEqual(['Personal 10', 'Global 100'])
    await app.reload(config(keys('min_requests: 1000')))
    expect(await limits()).toEqual(['Personal 10', 'Global 100'])
    await app.reload(config(keys('bad: 99%, normal: 11%, good: 10%, max: 2')))
    expect(await limits()).toEqual(['Personal 20', 'Global 200'])
  })
})

describe('each key of the configuration reaches what it names: edge', () => {
  it('max_in_flight answers 503 to those above it, charges them nothing, and lets them in later', async () => {
    const waiting: http.ServerResponse[] = []
    respond = (_seen, res) => void waiting.push(res)
    await start({ rest: 'edge: { max_in_flight: 2, shares: { address: none, user: none } }' })
    const slow = [get(), get()]
    await expect.poll(() => waiting.length).toBe(2)
    const response = await get('/items/1', bearer('bob'))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({
      error: 'overloaded',
      msg: expect.stringMatching(/^The gateway has as many requests under way/),
    })
    for (const res of waiting) res.end('ok')
    for (const { status } of await Promise.all(slow)) expect(status).toBe(200)
    expect(charges()).toBe(2)
    respond = (_seen, res) => res.end('ok')
    expect((await get('/items/1', bearer('bob'))).status).toBe(200)
    expect(backend.seen).toHaveLength(3)
  })

  it('max_url bounds the request target, query included', async () => {
    await start({ rest: 'edge: { max_url: 256B }' })
    const target = (length: number): string => '/items/1?'.padEnd(length, 'x')
    expect((await get(target(256))).status).toBe(200)
    const response = await get(target(257))
    expect(response.status).toBe(414)
    expect(await response.json()).toMatchObject({ error: 'uri_too_long', msg: expect.stringContaining('256') })
    expect([charges(), backend.seen.length]).toEqual([1, 1])
  })

  it.each([
    ['of announced length', (size: number) => 'x'.repeat(size)],
    ['in chunks', (size: number) => inChunks(size)],
  ])('max_body refuses a larger body %s before anything is charged', async (_how, body) => {
    await start({ rest: 'edge: { max_body: 1KB }' })
    expect((await post(body(1000))).status).toBe(200)
    expect(backend.seen[0]?.body).toBe('x'.repeat(1000))
    const response = await post(body(1001))
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: 'payload_too_large' })
    expect([charges(), backend.seen.length, await used()]).toEqual([1, 1, 4])
  })

  it('keep_alive_timeout is told to clients', async () => {
    await start({ rest: 'edge: { keep_alive_timeout: 7s }' })
    expect((await get()).headers.get('keep-alive')).toBe('timeout=7')
  })

  it.each([
    ['case: fold', '/ITEMS/1'],
    ['trailing_dots: ignore', '/items./1'],
    ['trailing_slash: ignore', '/list/'],
  ])('match: { %s } finds the rule of %s, and forwards the bytes as they came', async (match, path) => {
    const rule =
      'routes: [{ match: "GET /items/:id", category: read, cost: 4 }, { match: GET /list, category: read, cost: 4 }]'
    const limits = 'quota: { baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } } } }'
    const text = (edge: string) => yaml(backend.url, `${limits}\n${rule}\n${edge}`)
    app = await startApp(text(`edge: { match: { ${match} } }`))
    expect((await get(path)).status).toBe(200)
    expect(backend.seen.at(-1)?.url).toBe(path)
    expect((await get('/me/quota')).status).toBe(200)
    expect((await get('/ME/quota')).status).toBe(404)
    await app.reload(text(''))
    expect((await get(path)).status).toBe(404)
  })

  it.each([
    ['encoded_slash', '/items/a%2Fb'],
    ['semicolon', '/items/a;b=1'],
    ['empty_segment', '/items//a'],
  ])('allow_in_path: %s lets %s pass, and nothing else', async (allowed, path) => {
    const paths = ['/items/a%2Fb', '/items/a;b=1', '/items//a']
    await start({ rest: `edge: { allow_in_path: [${allowed}] }` })
    for (const each of paths) expect([each, (await get(each)).status]).toEqual([each, each === path ? 200 : 400])
    expect(backend.seen.map((seen) => seen.url)).toEqual([path])
  })

  it.each([
    ['[127.0.0.1]', '203.0.113.9, 127.0.0.1', 'https'],
    ['[127.0.0.0/8]', '203.0.113.9, 127.0.0.1', 'https'],
    ['[10.0.0.0/8, 127.0.0.2]', '127.0.0.1', 'http'],
    ['[]', '127.0.0.1', 'http'],
  ])('trusted_proxies: %s makes X-Forwarded-For %s', async (proxies, forwardedFor, proto) => {
    await start({ rest: `edge: { trusted_proxies: ${proxies} }` })
    await get('/items/1', { ...bearer('alice'), 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' })
    expect(backend.seen[0]?.headers).toMatchObject({ 'x-forwarded-for': forwardedFor, 'x-forwarded-proto': proto })
  })

  it.each([
    ['16KiB', 15_000, 200],
    ['16KiB', 20_000, 431],
    ['64KiB', 60_000, 200],
    ['64KiB', 70_000, 431],
  ])('max_header_size: %s lets a credential of %i characters in: %i', async (size, characters, status) => {
    await start({ rest: `edge: { max_header_size: ${size} }` })
    const authorization = `Bearer ${jwtOf('alice', { filler: 'x'.repeat(characters * 0.75 - 300) })}`
    const response = await get('/items/1', { authorization })
    expect(response.status).toBe(status)
    expect(response.headers.get('www-authenticate')).toBeNull()
  })

  const GIVEN = 'from-the-lb-1:2/3+4=5@6~7._'
  it.each([
    ['as it is from a trusted proxy', '127.0.0.0/8', GIVEN, GIVEN],
    ['not from anybody else', '10.0.0.0/8', GIVEN, null],
  ])('trusted_proxies: an X-Request-Id is taken %s', async (_, proxies, sent, taken) => {
    await start({ rest: `edge: { trusted_proxies: [${proxies}] }` })
    const responses = [
      await get('/items/1', { ...bearer('alice'), 'x-request-id': sent }),
      await get('/items/1', { 'x-request-id': sent }),
    ]
    const ids = responses.map((response) => response.headers.get('x-request-id'))
    expect(responses.map(({ status }) => status)).toEqual([200, 401])
    for (const id of ids) {
      if (taken === null) expect(id).toMatch(/^[0-9a-f-]{36}$/)
      else expect(id).toBe(taken)
    }
    expect(backend.seen.map(({ headers }) => headers['x-request-id'])).toEqual(ids.slice(0, 1))
    expect(app.requests().map(({ requestId }) => requestId)).toEqual(ids)
  })
})

describe('each key of the configuration reaches what it names: upstream', () => {
  it('tls verifies an https backend by an authority of our own and shows it our certificate', async () => {
    const ca = makeCa(folder, 'ca')
    const { cert, key } = makeCertificate(folder, 'server', ca, 'DNS:backend.test')
    const client = makeCertificate(folder, 'client', ca, 'DNS:gateway.test')
    const url = await httpsUpstream({ cert, key, ca: ca.cert, requestCert: true, rejectUnauthorized: true })
    const files = `ca: ${ca.certFile}, cert: ${client.certFile}, key: ${client.keyFile}`
    await start({ backend: url, upstream: `tls: { ${files}, server_name: backend.test }` })
    const response = await get()
    expect([response.status, await response.text()]).toEqual([200, 'client for backend.test'])
  })

  it('tls reads its files again at a reload, although the configuration is as it was', async () => {
    const [ca, other] = [makeCa(folder, 'ca'), makeCa(folder, 'other')]
    const { cert, key } = makeCertificate(folder, 'server', ca, 'DNS:backend.test')
    const keys = {
      backend: await httpsUpstream({ cert, key }),
      upstream: `tls: { ca: ${join(folder, 'trusted.pem')}, server_name: backend.test }`,
    }
    writeFileSync(join(folder, 'trusted.pem'), other.cert)
    await start(keys)
    expect((await get()).status).toBe(502)
    writeFileSync(join(folder, 'trusted.pem'), ca.cert)
    await app.reload(config(keys))
    expect((await get()).status).toBe(200)
  })

  it('each key of the configuration reaches what it names: upstream without tls an authority of our own is not believed', async () => {
    const { cert, key } = makeCa(folder, 'ca')
    await start({ backend: await httpsUpstream({ cert, key }) })
    expect((await get()).status).toBe(502)
    expect(await used()).toBe(0)
  })

  it('headers are set on every request and replace those of the client', async () => {
    await start({ upstream: 'headers: { X-Backend-Secret: of-the-gateway }' })
    await get('/items/1', { ...bearer('alice'), 'x-backend-secret': 'of-the-client' })
    expect(backend.seen[0]?.headers['x-backend-secret']).toBe('of-the-gateway')
  })

  it('socket and the path of url: a reload leads to a Unix socket, and back, and requests under way end where they began', async () => {
    const path = join(folder, 'app.sock')
    const behind = createServer((req, res) => void res.end(`socket ${req.url}`)).listen(path)
    await once(behind, 'listening')
    more = behind
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    respond = ({ url }, res) => void held.then(() => res.end(`host ${url}`))
    await start({ backend: `${backend.url}/base` })
    const slow = get()
    while (backend.seen.length === 0) await sleep(5)
    await app.reload(config({ backend: 'http://localhost/b', upstream: `socket: "${path}"` }))
    expect(await (await get()).text()).toBe('socket /b/items/1')
    release()
    expect(await (await slow).text()).toBe('host /base/items/1')
    await app.reload(config({}))
    expect(await (await get('/items/2', bearer('bob'))).text()).toBe('host /items/2')
  })

  it('identity and remove_headers: who asks is told in these fields, and no copy of a client arrives, on a public route neither', async () => {
    const identity = 'X-Remote-User: user, X-Tenant: organisation, X_Plan: plan, X-User-Email: claim email'
    const upstream = `identity: { ${identity} }, remove_headers: [X-Legacy-Debug, Via]`
    app = await startApp(config({ upstream }).replace('routes: [', 'routes: [{ match: GET /open, public: true }, '))
    const names = ['X-Remote-User', 'x-tenant', 'X-PLAN', 'x-user-email', 'X-Legacy-Debug', 'x-tollgate-user']
    const forged = Object.fromEntries(names.map((name) => [name, 'forged']))
    await get('/items/1', { ...bearer('zoë'), ...forged, connection: 'keep-alive' })
    await get('/open', { ...bearer('zoë'), ...forged })
    const [known, open] = backend.seen.map(({ headers }) => headers)
    expect(known).toMatchObject({ 'x-remote-user': 'zo%C3%AB', 'x-tollgate-user': 'zo%C3%AB' })
    for (const headers of [known, open]) {
      expect(Object.values(headers ?? {})).not.toContain('forged')
      expect(headers).not.toHaveProperty('via')
      expect(headers).not.toHaveProperty('x-legacy-debug')
    }
    expect(open).not.toHaveProperty('x-remote-user')
  })

  it('identity: claims of the credential arrive as they are named, also by a reload that names others', async () => {
    const claims = { email: 'zoë@example.org', app: { id: 7 }, 'https://id.test/uid': 'ü 1', roles: { a: 1 } }
    const credential = { authorization: `Bearer ${jwtOf('zoë', claims)}` }
    await start({ upstream: 'identity: { X-User-Email: claim email, X-Roles: claim roles, X-None: claim none }' })
    await get('/items/1', credential)
    expect(backend.seen[0]?.headers['x-user-email']).toBe('zo%C3%AB@example.org')
    expect(Object.keys(backend.seen[0]?.headers ?? {})).not.toContain('x-roles')
    expect(Object.keys(backend.seen[0]?.headers ?? {})).not.toContain('x-none')
    await app.reload(config({ upstream: 'identity: { X-App: claim app.id, X-Uid: claim https://id.test/uid }' }))
    await get('/items/1', credential)
    expect(backend.seen[1]?.headers).toMatchObject({ 'x-app': '7', 'x-uid': '%C3%BC%201' })
    expect(Object.keys(backend.seen[1]?.headers ?? {})).not.toContain('x-user-email')
  })

  it('routes[].response_timeout and idle_timeout hold for their rule, and for unmatched those of its own', async () => {
    const text = config({ upstream: 'response_timeout: 30s, idle_timeout: 30s' })
    const own = 'response_timeout: 100ms, idle_timeout: 150ms'
    const quick = `{ match: GET /quick, category: read, cost: 1, ${own} }, { match: GET /open, public: true, ${own} }`
    const rest = `unmatched: { category: read, cost: 0, ${own} }`
    app = await startApp(`${text.replace('routes: [', `routes: [${quick}, `)}\n${rest}`)
    respond = ({ url }, res) => {
      if (url.startsWith('/items/')) setTimeout(() => res.end('late'), 1_500)
      if (url.endsWith('half')) res.writeHead(200).write('half')
    }
    const slow = get('/items/1')
    for (const path of ['/quick', '/open', '/other']) expect((await get(path)).status, path).toBe(504)
    await expect((await get('/half')).text()).rejects.toThrow()
    expect(await (await slow).text()).toBe('late')
  })

  it('routes[].response_timeout is less than the silence for which the connection of a client is given up', async () => {
    const told: (number | undefined)[] = []
    const note = (message: unknown): void => void told.push((message as { socket: Socket }).socket.timeout)
    subscribe('http.server.request.start', note)
    try {
      app = await startApp(config({}).replace('cost: 4', 'cost: 4, response_timeout: 1h'))
      await get()
    } finally {
      unsubscribe('http.server.request.start', note)
    }
    expect(told).toContain(1_000 + 2 * 2_000 + 2_000 + 2 * 3_600_000 + 10_000)
  })

  it.each([
    ['connect_timeout: 3s, response_timeout: 20s, idle_timeout: 30s', 1_000 + 2 * 2_000 + 3_000 + 2 * 20_000 + 10_000],
    ['connect_timeout: 3s, response_timeout: 20s, idle_timeout: 2m', 120_000 + 10_000],
  ])(
    '%s: all of that, in a row where it may be, is less than the silence for which the connection of a client is given up',
    async (upstream, silenceMs) => {
      const told: (number | undefined)[] = []
      const note = (message: unknown): void => void told.push((message as { socket: Socket }).socket.timeout)
      subscribe('http.server.request.start', note)
      try {
        await start({ upstream })
        await get('/items/1', { ...bearer('alice'), connection: 'close' })
        await app.reload(config({ upstream: 'response_timeout: 1h' }))
        await get('/items/1', { ...bearer('alice'), connection: 'close' })
      } finally {
        unsubscribe('http.server.request.start', note)
      }
      expect(told).toContain(silenceMs)
      expect(told).toContain(1_000 + 2 * 2_000 + 2_000 + 2 * 3_600_000 + 10_000)
    },
  )

  it('idle_timeout ends an answer that stops in the middle', async () => {
    respond = (_seen, res) => void res.writeHead(200).write('half')
    await start({ upstream: 'idle_timeout: 100ms' })
    const response = await get()
    await expect(response.text()).rejects.toThrow()
    await expect.poll(() => app.requests()).toHaveLength(1)
    expect(app.requests()[0]).toMatchObject({ httpStatus: 200, outcome: 'failed' })
  })

  it('max_header_size bounds the head of the answer', async () => {
    respond = (_seen, res) => res.writeHead(200, { 'x-long': 'x'.repeat(2000) }).end('ok')
    await start({ upstream: 'max_header_size: 1KiB' })
    const response = await get()
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: 'bad_upstream_answer' })
  })

  it('keep_alive is how long a free connection is kept', async () => {
    const sockets = new Set<Socket>()
    respond = (_seen, res) => {
      if (res.socket) sockets.add(res.socket)
      res.setHeader('Keep-Alive', 'timeout=60').end('ok')
    }
    await start({ upstream: 'keep_alive: 100ms' })
    await get()
    await expect.poll(() => [...sockets].map((socket) => socket.destroyed)).toEqual([true])
  })

  it('connection_max_age is how long a connection takes requests', async () => {
    const sockets = new Set<Socket>()
    respond = (_seen, res) => {
      if (res.socket) sockets.add(res.socket)
      res.setHeader('Keep-Alive', 'timeout=60').end('ok')
    }
    await start({ upstream: 'keep_alive: 10m, connection_max_age: 1s' })
    await get()
    await expect.poll(() => [...sockets].map((socket) => socket.destroyed)).toEqual([true])
  })

  it('max_connections lets the others wait', async () => {
    const waiting: http.ServerResponse[] = []
    respond = (_seen, res) => void waiting.push(res)
    await start({ upstream: 'max_connections: 1', rest: 'edge: { shares: { address: none, user: none } }' })
    const both = [get(), get('/items/2')]
    await expect.poll(() => [charges(), waiting.length]).toEqual([2, 1])
    respond = (_seen, res) => res.end('second')
    waiting[0]?.end('first')
    const texts = await Promise.all(both.map(async (response) => (await response).text()))
    expect(texts.sort()).toEqual(['first', 'second'])
  })
})

describe('each key of the configuration reaches what it names: edge.shares and upstream.queue_timeout', () => {
  it('a share of the connections to the upstream has its own user wait, and refuses 429 in the end', async () => {
    const waiting: http.ServerResponse[] = []
    respond = (_seen, res) => void waiting.push(res)
    const edge = 'edge: { shares: { address: none, upstream_connections: { user: 1 } } }'
    await start({ upstream: 'queue_timeout: 100ms', rest: edge })
    const first = get()
    await expect.poll(() => waiting.length).toBe(1)
    const second = await get('/items/2')
    expect([second.status, charges()]).toEqual([429, 1])
    expect(second.headers.get('ratelimit-policy')).toBe('"user-upstream-connections";q=1;qu="concurrent-requests"')
    waiting[0]?.end('first')
    expect((await first).status).toBe(200)
  })

  it('a share of the signature checks that take long is that of one address', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' })
    const file = join(folder, 'jwks.json')
    writeFileSync(file, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] }))
    const issuer = `{ issuer: "https://dear.test", audience: tollgate, jwks: "file:${file}", algorithms: [ES512] }`
    const text = config({ rest: 'edge: { shares: { checks: { address: 1 } } }' })
    app = await startApp(text.replace(/jwt: \[.*\]/, `jwt: [${issuer}]`))
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const credential = (sub: string): string => {
      const input = `${part({ alg: 'ES512' })}.${part({ iss: 'https://dear.test', aud: 'tollgate', sub, exp: 4e9 })}`
      return `${input}.${sign('sha512', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
    }
    const asked = Array.from({ length: 50 }, (_, i) =>
      get('/me/quota', { authorization: `Bearer ${credential(`u${i}`)}` }),
    )
    const responses = await Promise.all(asked)
    expect([...new Set(responses.map(({ status }) => status))].sort()).toEqual([200, 429])
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.headers.get('ratelimit-policy')).toBe('"address-checks";q=1;qu="concurrent-requests"')
  })

  it('queue_timeout refuses who waits for a connection that comes free for nobody', async () => {
    const held = Promise.withResolvers<http.ServerResponse>()
    respond = (_seen, res) => held.resolve(res)
    await start({
      upstream: 'max_connections: 1, queue_timeout: 100ms',
      rest: 'edge: { shares: { address: none, user: none } }',
    })
    const first = get()
    await expect.poll(charges).toBe(1)
    const response = await get('/items/2')
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: 'overloaded', msg: expect.stringMatching(/^All connections to the service/) },
    ])
    // One that is not answered keeps the gateway from its end.
    const res = await held.promise
    res.end('ok')
    expect((await first).status).toBe(200)
  })
})

describe('each key of the configuration reaches what it names: auth, time_zone and unmatched', () => {
  it('time_zone is that of the sentence, and retryAtBeijing stays', async () => {
    await start({ rest: 'time_zone: Asia/Kolkata' })
    await get()
    await get()
    const { msg, quota } = (await (await get()).json()) as { msg: string; quota: Record<string, string> }
    const reset = Math.ceil(Date.parse(String(quota.resetAt)) / 1000) * 1000
    const local = (hours: number): string =>
      new Date(reset + hours * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
    expect(msg).toBe(
      `Personal 1-hour read quota is used up. Requests may continue after ${local(5.5)} Asia/Kolkata (UTC+5:30).`,
    )
    expect(quota).toMatchObject({ retryAtBeijing: local(8), timeZone: 'Asia/Shanghai' })
  })

  it('gateway_tokens: false refuses a token that is good', async () => {
    await start({})
    const token = await createToken()
    expect((await get('/items/1', { authorization: `Bearer ${token}` })).status).toBe(200)
    await app.reload(config({}).replace('gateway_tokens: true', 'gateway_tokens: false'))
    expect((await get('/items/1', { authorization: `Bearer ${token}` })).status).toBe(401)
  })

  it('user_claim, clock_tolerance and typ of an issuer are those that its tokens are judged by', async () => {
    const claims = { client_id: 'robot', exp: Math.floor(Date.now() / 1000) - 60 }
    const late = { authorization: `Bearer ${jwtOf('alice', claims)}` }
    await start({})
    expect((await get('/items/1', late)).status).toBe(401)
    const issuer = (keys: string): string => config({}).replace('audience: tollgate', `audience: tollgate, ${keys}`)
    await app.reload(issuer('user_claim: client_id, clock_tolerance: 2m'))
    expect((await get('/items/1', late)).status).toBe(200)
    expect(backend.seen[0]?.headers['x-tollgate-user']).toBe('robot')
    await app.reload(issuer('typ: [at+jwt]'))
    expect((await get()).status).toBe(401)
  })

  it('unmatched: forward lets everything else pass without a credential and without a charge', async () => {
    await start({ rest: 'unmatched: forward' })
    expect((await get('/nothing', {})).status).toBe(200)
    expect(backend.seen[0]?.url).toBe('/nothing')
    expect(backend.seen[0]?.headers['x-tollgate-user']).toBeUndefined()
    expect((await get('/items/1', {})).status).toBe(401)
    expect(charges()).toBe(0)
    expect(app.requests()[0]).toMatchObject({ route: 'unmatched', category: null, cost: 0, httpStatus: 200 })
    expect(app.observations).toContainEqual({ type: 'unmatched', method: 'GET', path: '/nothing' })
  })

  it('unmatched with a category and a cost asks for a credential and charges', async () => {
    await start({ rest: 'unmatched: { category: read, cost: 3 }' })
    expect((await get('/nothing', {})).status).toBe(401)
    expect((await get('/nothing')).status).toBe(200)
    expect(backend.seen.map((seen) => seen.headers['x-tollgate-user'])).toEqual(['alice'])
    expect(await used()).toBe(3)
  })

  it('unmatched with shadow lets through what the quota refuses, and tells', async () => {
    await start({ rest: 'unmatched: { category: read, cost: 1000000, shadow: true }' })
    const { status, headers } = await get('/nothing')
    expect([status, headers.get('x-tollgate-shadow'), await used()]).toEqual([200, 'would-refuse', 0])
  })
})

describe('each key of the configuration reaches what it names: reference', () => {
  it('path and title make the page, services are told to it and allowed in its policy', async () => {
    await start({
      rest: 'reference: { path: /api, title: Ours, services: [{ name: Charts, url: "http://charts.test:9002/x" }] }',
    })
    const page = await get('/api', {})
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("connect-src 'self' http://charts.test:9002;")
    expect(await (await get('/api/services.json', {})).json()).toMatchObject({
      title: 'Ours',
      services: [{ name: 'Gateway' }, { name: 'Charts', document: 'http://charts.test:9002/x/openapi.json' }],
    })
  })

  it('openapi is the file, relative to the configuration, that the routes are described by', async () => {
    writeFileSync(
      join(folder, 'api.json'),
      '{ "openapi": "3.1.0", "paths": { "/items/{id}": { "get": { "summary": "An item" } } } }',
    )
    const text = config({ rest: 'reference: { path: /api, openapi: api.json }' })
    writeFileSync(join(folder, 'tollgate.yaml'), text)
    const loaded = await loadConfig(join(folder, 'tollgate.yaml'), {})
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    await start({})
    await app.app.reload(loaded.config, loaded.hash)
    expect(await (await get('/api/gateway.json', {})).json()).toMatchObject({
      paths: { '/items/{id}': { get: { summary: 'An item', 'x-tollgate': { category: 'read', cost: 4 } } } },
    })
  })
})

async function* inChunks(size: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < size; sent += 400) yield Buffer.from('x'.repeat(Math.min(400, size - sent)))
}

async function createToken(): Promise<string> {
  const response = await fetch(`${app.admin}/api/tokens`, {
    method: 'POST',
    headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
    body: JSON.stringify({ user: 'alice', name: 'laptop' }),
  })
  return ((await response.json()) as { token: string }).token
}

/** Answers with the name on the client's certificate and the one it was asked for by. */
async function httpsUpstream(options: https.ServerOptions): Promise<string> {
  const server = https.createServer(options, (req, res) => {
    const socket = req.socket as TLSSocket
    res.end(`${socket.getPeerCertificate().subject?.CN} for ${socket.servername}`)
  })
  await listening(server)
  more = server
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('each key of the configuration reaches what it names: log', () => {
  const startWith = async (keys: string, rest = ''): Promise<void> => {
    app = await startApp(config({ rest }).replace('requests: none', `requests: none, ${keys}`))
  }
  const recorded = () => app.requests().map(({ access }) => access)

  it('address is the one of the client that a trusted proxy names, as a whole', async () => {
    await startWith('address: true', 'edge: { trusted_proxies: [127.0.0.1] }')
    await get('/items/1?q=1', { ...bearer('alice'), 'x-forwarded-for': '2001:db8:1:2:3:4:5:6' })
    await expect.poll(recorded).toEqual([{ address: '2001:db8:1:2:3:4:5:6', path: null }])
  })

  it('path is what the client wrote, without its query, and cut off, also of a request that no rule matches', async () => {
    await startWith('address: true, path: true')
    await get('/items/%41?token=secret')
    await get(`/none/${'x'.repeat(2000)}?token=secret`)
    await expect.poll(() => recorded().length).toBe(2)
    expect(recorded()).toEqual([
      { address: '127.0.0.1', path: '/items/%41' },
      { address: '127.0.0.1', path: `/none/${'x'.repeat(1018)}` },
    ])
    expect(JSON.stringify(app.observations)).not.toContain('secret')
  })

  it('neither is known by default', async () => {
    await start({})
    await get('/items/1')
    await expect.poll(recorded).toEqual([null])
  })
})
