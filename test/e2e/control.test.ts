import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fetch, type Response } from 'undici'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hashAccessKey } from '../../src/control/access-key-record.ts'
import type { Changes, Layer, Packed, UserOverride } from '../../src/control/state.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** What administrators change in the store, as clients of gateways see it. */

const run = promisify(execFile)
const AUTHOR = { who: 'alice', why: null }
const OVERRIDE: UserOverride = { limits: {}, bypassGlobal: false, shadow: false, reason: 'why', expiresAt: null }
const SOON = { timeout: 30_000 }

let redis: RedisServer
let folder: string
let upstream: Upstream
let apps: RunningApp[]
let proxy: FaultProxy | null
/** The hand of an administrator. */
let store: Store
beforeAll(async () => {
  redis = await startRedis()
})
beforeEach(async () => {
  folder = tempFolder()
  upstream = await startUpstream()
  apps = []
  proxy = null
})

let prefixes = 0
interface Kind {
  readonly url: string
  readonly prefix: string
}

async function openKind(kind: string): Promise<Kind> {
  const prefix = `control-${process.pid}-${++prefixes}`
  if (kind === 'sqlite') {
    const file = join(folder, 'quota.db')
    store = closedAtEnd(openSqliteStore({ file }))
    return { url: `sqlite:${file}`, prefix }
  }
  store = closedAtEnd(openRedisStore({ url: redis.url, prefix, deadlineMs: 5000, observe: () => {} }))
  await expect.poll(() => store.ping().then(() => true), SOON).toBe(true)
  return { url: redis.url, prefix }
}

const LIMITS = 'personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } }'

/** Limits of 10 and 100 tokens an hour, and one rule of 4 tokens. */
function config({ prefix }: Kind, url: string, limits = LIMITS, more = ''): string {
  return yaml(
    upstream.url,
    `store_options: { prefix: ${prefix}, deadline: 5s }
quota: { baselines: { ${limits} }, ${more} }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`,
    url,
  )
}

async function gateway(kind: Kind, { url = kind.url, limits = LIMITS, more = '' } = {}): Promise<RunningApp> {
  const app = await startApp(config(kind, url, limits, more))
  apps.push(app)
  return app
}

/** Two that share a Redis; SQLite has one gateway. */
async function gatewaysOf(where: Kind, more = ''): Promise<RunningApp[]> {
  const first = await gateway(where, { more })
  return where.url.startsWith('redis') ? [first, await gateway(where, { more })] : [first]
}

const set = (to: Packed<Changes>) => store.change({ kind: 'settings', to }, AUTHOR, null)
const override = (user: string, to: Partial<UserOverride> | null) =>
  store.change({ kind: 'override', user, to: to === null ? null : { ...OVERRIDE, ...to } }, AUTHOR, null)

const get = (app: RunningApp, user = 'alice', path = '/items/1'): Promise<Response> =>
  fetch(app.url + path, { headers: bearer(user) })
const statusOf = async (app: RunningApp, user?: string): Promise<number> => (await get(app, user)).status

interface WindowEntry {
  readonly scope: string
  readonly limit: number
  readonly used: number
}
async function windows(app: RunningApp, user?: string): Promise<WindowEntry[]> {
  const body = (await (await get(app, user, '/me/quota')).json()) as { windows: { read: WindowEntry[] } }
  return body.windows.read
}
const limits = async (app: RunningApp, user?: string): Promise<string[]> =>
  (await windows(app, user)).map(({ scope, limit }) => `${scope} ${limit}`)
const used = async (app: RunningApp, user?: string): Promise<number[]> =>
  (await windows(app, user)).map((entry) => entry.used)

async function refusal(app: RunningApp, user?: string): Promise<unknown> {
  const response = await get(app, user)
  expect(response.status).toBe(429)
  return ((await response.json()) as { quota: unknown }).quota
}

describe.each(['sqlite', 'redis'])('a change at run time, on %s', (kind) => {
  it('on the command line is told by each gateway that runs meanwhile, and none from before', async () => {
    const where = await openKind(kind)
    const file = join(folder, 'tollgate.yaml')
    await writeFile(file, config(where, where.url))
    const token = (...args: string[]) => run(process.execPath, ['src/main.ts', 'token', ...args, '-c', file])
    await store.change({ kind: 'settings', to: {} }, { who: 'command line', why: null }, null)
    const running = await gatewaysOf(where)
    await token('create', '--user', 'alice', '--name', 'phone')
    const [made] = await store.readAudit(null, 1)
    await token('revoke', made?.subject ?? '')
    await set({ mode: 'loose' })
    const change = { who: 'command line', subject: made?.subject, from: null, why: null }
    for (const { observations } of running) {
      const told = () => observations.flatMap((one) => (one.type === 'changed' ? [one.entry] : []))
      await expect.poll(told, SOON).toMatchObject([
        { ...change, version: 2, what: 'token_created', to: { user: 'alice', name: 'phone', expiresAt: null } },
        { ...change, version: 3, what: 'token_revoked', to: { user: 'alice', name: 'phone' } },
      ])
      await expect
        .poll(() => observations.some((one) => one.type === 'control_followed' && one.version === 4), SOON)
        .toBe(true)
      expect(told()).toHaveLength(2)
    }
  })

  it('an access key of another maker is taken over by each gateway, and ends at each when another one takes its place', async () => {
    const where = await openKind(kind)
    const running = await gatewaysOf(where)
    const [first] = running as [RunningApp]
    const ask = async (method: string, path: string, type: string, body: string) => {
      const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': type }
      const response = await fetch(first.admin + path, { method, headers, body })
      return (await response.json()) as Record<string, unknown>
    }
    const statuses = (key: string) =>
      Promise.all(
        running.map(async ({ url }) => {
          const { status } = await fetch(`${url}/items/1`, { headers: { authorization: `Bearer ${key}` } })
          return status
        }),
      )
    const key = 'sk_live_4f6d2a9b8c7e1d3f'
    expect(await statuses(key)).toEqual(running.map(() => 401))
    const line = JSON.stringify({ sha256: hashAccessKey(key), user: 'bob', name: 'from Kong' })
    expect(await ask('PUT', '/api/tokens/import', 'application/x-ndjson', line)).toEqual({ imported: 1, known: 0 })
    await expect.poll(() => statuses(key), SOON).toEqual(running.map(() => 200))
    for (const { headers } of upstream.seen) expect(headers['x-tollgate-user']).toBe('bob')
    const [record] = await store.listTokens()
    const rotate = `/api/tokens/${record?.id}/rotate`
    const { token } = await ask('POST', rotate, 'application/json', '{ "grace": "0m" }')
    await expect.poll(() => statuses(key), SOON).toEqual(running.map(() => 401))
    await expect.poll(async () => new Set(await statuses(String(token))).has(401), SOON).toBe(false)
  })

  it('a change at run time of a plan reaches all gateways, says who follows it, refuses by it, is laid over for a while, and is undone', async () => {
    const where = await openKind(kind)
    const more = 'plans: { free: { personal: { read: { 1h: 8 } } }, team: {} }, default_plan: free'
    const running = await gatewaysOf(where, more)
    const [first] = running as [RunningApp]
    const ask = async (method: string, path: string, body?: object) => {
      const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
      const response = await fetch(first.admin + path, { method, headers, body: body ? JSON.stringify(body) : null })
      // biome-ignore lint/suspicious/noExplicitAny: whatever the API says
      return (await response.json()) as any
    }
    const hour = (limit: number) => ({ personal: { read: { '1h': limit } } })
    expect(await statusOf(first)).toBe(200)
    const preview = await ask('POST', '/api/plans/free/preview', hour(4))
    expect([preview.newlyBlockedCount, preview.blocked[0].user, preview.unfollowed]).toEqual([1, 'alice', []])
    const { version } = await ask('PATCH', '/api/plans/free', hour(4))
    for (const app of running) await expect.poll(() => limits(app), SOON).toEqual(['Personal 4', 'Global 100'])
    for (const app of running) expect(await refusal(app)).toMatchObject({ scope: 'Personal', limit: 4, used: 4 })
    const until = new Date((await store.controlVersion()).at + 3_600_000).toISOString()
    const tonight = await ask('PATCH', '/api/plans/free', { ...hour(20), until, reason: 'for tonight' })
    for (const app of running) await expect.poll(() => limits(app), SOON).toEqual(['Personal 20', 'Global 100'])
    await ask('POST', `/api/audit/${tonight.version}/undo`, {})
    for (const app of running) await expect.poll(() => limits(app), SOON).toEqual(['Personal 4', 'Global 100'])
    const explained = await ask('GET', '/api/explain?user=alice&method=GET&path=/items/1')
    expect(explained.limits[0].steps).toEqual(['plan free (set at run time): 4, by default'])
    await ask('POST', `/api/audit/${version}/undo`, {})
    for (const app of running) await expect.poll(() => limits(app), SOON).toEqual(['Personal 8', 'Global 100'])
    const vain = await ask('PATCH', '/api/plans/team', hour(5))
    expect(vain).toMatchObject({ movesNobody: true, unfollowed: [{ why: 'plan team has no known users' }] })
    expect((await store.readAudit(null, 1))[0]).toMatchObject({
      why: null,
      vain: { unfollowed: [{ by: [{ kind: 'no_users', plan: 'team' }] }], movesNobody: true },
    })
  })

  it('a change at run time that is scheduled begins and ends by itself, once over all gateways', async () => {
    const where = await openKind(kind)
    const running = await gatewaysOf(where)
    const { at } = await store.controlVersion()
    const about = { who: 'ann', why: null }
    await set(layered({ ...about, id: 'begins', from: at + 500, until: null, value: { mode: 'loose' } }))
    for (const app of running) await expect.poll(() => limits(app), SOON).toEqual(['Personal 15', 'Global 150'])
    const begins = async () => (await store.readAudit(null, 1))[0]?.why
    await expect.poll(begins, SOON).toBe('begins as scheduled by ann')
    const begun = { from: at, begun: true } as const
    await set(layered({ ...about, ...begun, id: 'ends', until: at + 500, value: { mode: 'conservative' } }))
    await expect.poll(async () => (await store.readControl()).settings.value, SOON).toEqual({})
    for (const app of running) await expect.poll(() => limits(app), SOON).toEqual(['Personal 10', 'Global 100'])
    const made = (await store.readAudit(null, 10)).filter(({ who }) => who === 'schedule')
    expect(made.map(({ why }) => why)).toEqual(['ends as scheduled by ann', 'begins as scheduled by ann'])
    const lines = running.flatMap(({ observations }) => observations.filter((one) => one.type === 'changed'))
    expect(lines).toHaveLength(2)
  })

  it('a change at run time that is temporary lies over another: one within the other, and all is as before when both have ended', async () => {
    const where = await openKind(kind)
    const running = await gatewaysOf(where)
    const { at } = await store.controlVersion()
    const layer = (id: string, until: number, personal: number, from: number): Layer => ({
      ...{ id, from, until: at + until, begun: true, who: 'ann', why: null },
      value: { baselines: { personal: { read: { '1h': personal } } } },
    })
    await set({ layers: [layer('a', 4000, 5, at), layer('b', 1500, 3, at + 1)] })
    const seen: string[][] = await Promise.all(
      running.map(async (app) => {
        const values: string[] = []
        const last = async () => {
          const [value = ''] = await limits(app)
          if (values.at(-1) !== value) values.push(value)
          return value
        }
        await expect.poll(last, SOON).toBe('Personal 3')
        await expect.poll(last, SOON).toBe('Personal 10')
        return values.slice(values.indexOf('Personal 3'))
      }),
    )
    expect(seen).toEqual(running.map(() => ['Personal 3', 'Personal 5', 'Personal 10']))
    await expect.poll(async () => (await store.readControl()).settings.value, SOON).toEqual({})
  })

  it('a change at run time that is guarded is taken back if several users are refused, once over all gateways', async () => {
    const where = await openKind(kind)
    const running = await gatewaysOf(where)
    const [app] = running as [RunningApp]
    const { at } = await store.controlVersion()
    const guard = { id: 'guard', until: at + 3_600_000, refused: 0.05 }
    const value = { baselines: { personal: { read: { '1h': 3 } } } }
    const layer: Layer = { id: 'a', from: at, until: null, value, guard, begun: true, who: 'ann', why: null }
    await set({ shadow: false, ...layered(layer) })
    const users = Array.from({ length: 12 }, (_, i) => `user-${i}`)
    const settings = async () => {
      await Promise.all(users.map((user) => statusOf(app, user)))
      return (await store.readControl()).settings.value
    }
    await expect.poll(settings, SOON).toEqual({ shadow: false })
    for (const each of running) await expect.poll(() => limits(each), SOON).toEqual(['Personal 10', 'Global 100'])
    const made = await store.readAudit(null, 10)
    expect(made.map(({ who }) => who)).toEqual(['guard', 'alice'])
    expect(made[0]?.why).toMatch(
      /^takes back the change of ann: \d+\.\d % of \d+ weighed requests were refused, and 5 % may be$/,
    )
  })

  it('a change at run time of the mode: the next 429 carries the new limit, and nothing that was used is forgotten', async () => {
    const app = await gateway(await openKind(kind))
    expect([await statusOf(app), await statusOf(app)]).toEqual([200, 200])
    expect(await refusal(app)).toMatchObject({ scope: 'Personal', limit: 10, used: 8 })
    await set({ mode: 'loose' })
    await expect.poll(() => limits(app), SOON).toEqual(['Personal 15', 'Global 150'])
    expect(await statusOf(app)).toBe(200)
    expect(await refusal(app)).toMatchObject({ scope: 'Personal', limit: 15, used: 12 })
    await set({ mode: 'conservative' })
    await expect.poll(() => limits(app), SOON).toEqual(['Personal 7', 'Global 75'])
    expect(await refusal(app)).toMatchObject({ scope: 'Personal', limit: 7, used: 12 })
    await set({})
    await expect.poll(() => limits(app), SOON).toEqual(['Personal 10', 'Global 100'])
    expect(upstream.seen).toHaveLength(3)
  })

  it('a change at run time of baselines, custom values, the global switch and the multiplier: each reaches what it names', async () => {
    const app = await gateway(await openKind(kind))
    const steps: [Changes, string[]][] = [
      [{ baselines: { personal: { read: { '1h': 21 } } } }, ['Personal 21', 'Global 100']],
      [{ baselines: { global: { read: { '1h': 50 } } }, mode: 'loose' }, ['Personal 15', 'Global 75']],
      [{ mode: 'custom', custom: { personal: { read: { '1h': 33 } } } }, ['Personal 33', 'Global 100']],
      [{ global: { multiplier: 2.5 } }, ['Personal 10', 'Global 250']],
      [{ global: { enabled: false } }, ['Personal 10']],
    ]
    for (const [to, expected] of steps) {
      await set(to)
      await expect.poll(() => limits(app), SOON).toEqual(expected)
    }
  })

  it('for one user: the override counts for nobody else, and ends by itself', async () => {
    const app = await gateway(await openKind(kind), { more: 'mode: conservative' })
    const limited = { limits: { read: { '1h': 20 } } }
    await override('alice', { ...limited, expiresAt: (await store.controlVersion()).at + 3_600_000 })
    await expect.poll(() => limits(app), SOON).toEqual(['Personal 20', 'Global 75'])
    expect(await limits(app, 'bob')).toEqual(['Personal 7', 'Global 75'])
    expect([await statusOf(app), await statusOf(app)]).toEqual([200, 200])
    await override('alice', { ...limited, expiresAt: (await store.controlVersion()).at + 1500 })
    await expect.poll(() => limits(app), SOON).toEqual(['Personal 7', 'Global 75'])
    expect(await refusal(app)).toMatchObject({ limit: 7, used: 8 })
    await override('alice', { limits: { read: { '1h': 12 } } })
    await expect.poll(() => statusOf(app), SOON).toBe(200)
    await override('alice', null)
    await expect.poll(() => limits(app), SOON).toEqual(['Personal 7', 'Global 75'])
  })

  it('a block that ends by itself tells when it ends, and is over then', async () => {
    const limits = 'personal: { read: { 1h: 100000 } }, global: { read: { 1h: 100000 } }'
    const app = await gateway(await openKind(kind), { limits })
    const until = (await store.controlVersion()).at + 6000
    await override('alice', { limits: { read: { '1h': 0 } }, expiresAt: until })
    await expect.poll(() => statusOf(app), SOON).toBe(429)
    const refused = await get(app)
    const { msg, quota } = (await refused.json()) as { msg: string; quota: object }
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(6)
    expect([msg, quota]).toEqual([
      expect.stringContaining('and it ends by itself'),
      expect.objectContaining({ resetAt: new Date(until).toISOString() }),
    ])
    await expect.poll(() => statusOf(app), SOON).toBe(200)
  })

  it('bypass-global: neither checked against the global limits nor charged to them, with personal ones in force', async () => {
    const tight = 'personal: { read: { 1h: 10 } }, global: { read: { 1h: 6 } }'
    const app = await gateway(await openKind(kind), { limits: tight })
    await override('vip', { bypassGlobal: true })
    await expect.poll(() => limits(app, 'vip'), SOON).toEqual(['Personal 10'])
    expect(await statusOf(app, 'bob')).toBe(200)
    expect(await refusal(app, 'bob')).toMatchObject({ scope: 'Global', limit: 6, used: 4 })
    expect([await statusOf(app, 'vip'), await statusOf(app, 'vip')]).toEqual([200, 200])
    expect(await refusal(app, 'vip')).toMatchObject({ scope: 'Personal', limit: 10, used: 8 })
    const policy = (await get(app, 'vip')).headers.get('ratelimit-policy')
    expect(policy).toBe('"personal-read-1h";q=10;w=3600')
    expect(await used(app, 'bob')).toEqual([4, 4])
  })

  it('a reset empties the windows of that user, and of nobody else', async () => {
    const app = await gateway(await openKind(kind))
    for (const user of ['alice', 'alice', 'bob', 'bob']) expect(await statusOf(app, user)).toBe(200)
    expect([await statusOf(app, 'alice'), await statusOf(app, 'bob')]).toEqual([429, 429])
    await store.change({ kind: 'reset', user: 'alice' }, AUTHOR, null)
    await expect.poll(() => statusOf(app, 'alice'), SOON).toBe(200)
    expect(await used(app, 'alice')).toEqual([4, 20])
    expect(await used(app, 'bob')).toEqual([8, 20])
    expect(await refusal(app, 'bob')).toMatchObject({ used: 8 })
  })

  it('a change at run time is in force in every gateway on the store, also one that starts later', async () => {
    const shared = await openKind(kind)
    await gateway(shared)
    await gateway(shared)
    await set({ mode: 'loose' })
    for (const app of apps) await expect.poll(() => limits(app), SOON).toEqual(['Personal 15', 'Global 150'])
    const late = await gateway(shared)
    expect(await limits(late)).toEqual(['Personal 15', 'Global 150'])
    await set({ mode: 'conservative' })
    for (const app of apps) await expect.poll(() => limits(app), SOON).toEqual(['Personal 7', 'Global 75'])
  })

  it('a change at run time stays in force over a reload of the file, and rests while the file has no place for it', async () => {
    const shared = await openKind(kind)
    const app = await gateway(shared)
    await set({ mode: 'loose', baselines: { personal: { read: { '1h': 20 } } } })
    await override('alice', { limits: { read: { '1h': 5 } } })
    await expect.poll(() => limits(app, 'alice'), SOON).toEqual(['Personal 5', 'Global 150'])
    const reload = (text: string) => app.reload(config(shared, shared.url, text))
    await reload(LIMITS.replace('1h: 100', '1h: 200'))
    expect(await limits(app, 'alice')).toEqual(['Personal 5', 'Global 300'])
    expect(await limits(app, 'bob')).toEqual(['Personal 30', 'Global 300'])
    const warnings = () => app.observations.flatMap((o) => (o.type === 'config_warning' ? [o.problem] : []))
    expect(warnings()).toEqual([])

    await reload(LIMITS.replaceAll('1h', '2h'))
    expect(await limits(app, 'alice')).toEqual(['Personal 15', 'Global 150'])
    expect(warnings()).toEqual([
      expect.stringMatching(/settings .* window "1h"/),
      expect.stringMatching(/overrides .* window "1h"/),
    ])
    await reload(LIMITS)
    expect(await limits(app, 'alice')).toEqual(['Personal 5', 'Global 150'])
    expect(await limits(app, 'bob')).toEqual(['Personal 30', 'Global 150'])
    expect(warnings()).toHaveLength(2)
  })

  it('a change at run time of the mode to adaptive: the limits follow the failures that all gateways share, those of routes without health left out', async () => {
    const shared = await openKind(kind)
    await store.addTally({ total: 1000, status0: 400, status5xx: 600, status4xx: 0, aside: 500, asideFailed: 500 })
    const app = await gateway(shared, { more: 'adaptive: { min: 0.5 }' })
    expect(await limits(app)).toEqual(['Personal 10', 'Global 100'])
    await set({ mode: 'adaptive' })
    await expect.poll(() => limits(app), SOON).toEqual(['Personal 5', 'Global 50'])
  })

  it('every gateway tells the others that it is there, which changes it follows, and that it is gone', async () => {
    const shared = await openKind(kind)
    const app = await gateway(shared)
    await statusOf(app)
    await get(app, 'alice', '/nothing?token=secret')
    await set({ mode: 'loose' })
    const replicas = async () => (await store.listReplicas()).map(({ silentMs: _, startedAt: __, ...rest }) => rest)
    await expect.poll(replicas, SOON).toMatchObject([
      {
        pid: process.pid,
        version: 'test',
        ready: true,
        reasons: [],
        configProblems: [],
        controlVersion: 1,
        counts: { requests: 2, forwarded: 1, tokens: 4, refused: 0, failed: 0, inFlight: 0 },
        hits: { 'GET /items/*': 1, unmatched: 1 },
        unmatched: ['GET /nothing'],
      },
    ])
    app.app.reject('tollgate.yaml', ['tollgate.yaml:1:1 listen: wrong'])
    await expect
      .poll(replicas, SOON)
      .toMatchObject([{ configProblems: ['tollgate.yaml:1:1 listen: wrong'], hash: expect.any(String) }])
    await app.stop()
    apps = []
    expect(await replicas()).toEqual([])
  })
})

const layered = (layer: Layer) => ({ layers: [layer] })

it('a gateway whose connection to Redis is cut follows what was changed meanwhile when it is mended, and what is changed after that', async () => {
  const shared = await openKind('redis')
  proxy = await startFaultProxy(redis.port)
  const near = await gateway(shared)
  const far = await gateway(shared, { url: `redis://127.0.0.1:${proxy.port}` })
  expect(await limits(far)).toEqual(['Personal 10', 'Global 100'])
  await proxy.refuseConnects()
  await set({ mode: 'loose' })
  await expect.poll(() => limits(near), SOON).toEqual(['Personal 15', 'Global 150'])
  await proxy.heal()
  await expect
    .poll(() => limits(far).catch(() => null), { timeout: 30_000, interval: 50 })
    .toEqual(['Personal 15', 'Global 150'])
  await set({ mode: 'conservative' })
  await expect.poll(() => limits(far), SOON).toEqual(['Personal 7', 'Global 75'])
})
