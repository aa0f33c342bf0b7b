import { fetch } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** A file whose categories have windows of their own, on each store. */

const REST = `
quota:
  baselines:
    personal: { login: { 1m: 3 }, read: { 1d: 5 } }
    global: { read: { 1h: 1000 } }
  plans: { team: { personal: { login: { 1d: 50 } } } }
routes:
  - { match: "POST /login", category: login }
  - { match: "GET /*", category: read }`
const ADMIN = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }

let users = 0
let redis: RedisServer
let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  redis = await startRedis()
  upstream = await startUpstream()
})

const get = (user: string, path: string, method = 'GET') =>
  fetch(app.url + path, { method, headers: { authorization: `Bearer ${jwtOf(user, {})}` } })

async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(app.admin + path, {
    method,
    headers: ADMIN,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  expect([response.status, path]).toEqual([200, path])
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent
  return (await response.json()) as any
}

const namesOf = (list: readonly { readonly scope: string; readonly window: string }[]) =>
  list.map(({ scope, window }) => `${scope} ${window}`)

describe.each(['sqlite', 'redis'])('categories with windows of their own in %s', (kind) => {
  let user = ''
  const start = async (): Promise<void> => {
    user = `user-${users++}`
    app = await startApp(yaml(upstream.url, REST, kind === 'sqlite' ? 'sqlite::memory:' : redis.url))
  }

  it('categories with windows of their own are counted and shown in these alone', async () => {
    await start()
    const login = await get(user, '/login', 'POST')
    expect(login.headers.get('ratelimit-policy')).toBe('"personal-login-1m";q=3;w=60')
    const read = await get(user, '/x')
    expect(read.headers.get('ratelimit-policy')).toBe('"personal-read-1d";q=5;w=86400, "global-read-1h";q=1000;w=3600')
    const { windows } = (await (await get(user, '/me/quota')).json()) as { windows: Record<string, [] | undefined> }
    expect([namesOf(windows.login ?? []), namesOf(windows.read ?? [])]).toEqual([
      ['Personal 1m'],
      ['Personal 1d', 'Global 1h'],
    ])
    const statuses = await Promise.all([1, 2, 3].map(async () => (await get(user, '/login', 'POST')).status))
    expect(statuses.toSorted()).toEqual([200, 200, 429])
    const quota = await admin('GET', '/api/quota')
    expect(quota.effective).toMatchObject({
      personal: { login: { '1m': 3 }, read: { '1d': 5 } },
      global: { read: { '1h': 1000 } },
    })
  })

  it('categories with windows of their own get and lose a further one at run time, by the settings and by an override', async () => {
    await start()
    await admin('PATCH', '/api/quota', { baselines: { personal: { login: { '1d': 1 } } } })
    expect((await get(user, '/login', 'POST')).status).toBe(200)
    const refused = await get(user, '/login', 'POST')
    expect([refused.status, await refused.json()]).toMatchObject([429, { quota: { window: '1d', limit: 1 } }])
    const asked = { baselines: { personal: { login: { '1d': null } } } }
    expect((await admin('POST', '/api/quota/preview', asked)).effective.personal.login).toEqual({ '1m': 3 })
    await admin('PATCH', '/api/quota', asked)
    expect((await get(user, '/login', 'POST')).status).toBe(200)
    await admin('PUT', `/api/users/${user}/override`, { login: { '1h': 0 }, reason: 'blocked' })
    const blocked = await get(user, '/login', 'POST')
    expect([blocked.status, await blocked.json()]).toMatchObject([429, { quota: { window: '1h', limit: 0 } }])
    const { limits } = await admin('GET', `/api/explain?user=${user}&method=POST&path=/login`)
    expect(namesOf(limits)).toEqual(['Personal 1m', 'Personal 1h'])
  })

  it('categories with windows of their own have a usage that is known as a whole, by days and by the windows of each category', async () => {
    await start()
    await Promise.all([get(user, '/login', 'POST'), get(user, '/x'), get(user, '/y')])
    const tokensOf = (rows: readonly { readonly category: string; readonly tokens: number }[]) =>
      Object.fromEntries(rows.map(({ category, tokens }) => [category, tokens]))
    const all = await admin('GET', `/api/usage?user=${user}`)
    expect([all.complete, tokensOf(all.rows)]).toEqual([true, { login: 1, read: 2 }])
    const hours = await admin('GET', `/api/usage?user=${user}&step=1h`)
    expect([hours.complete, tokensOf(hours.rows)]).toEqual([true, { login: 1, read: 2 }])
    const named = await admin('GET', `/api/usage?user=${user}&step=1h&window=1d`)
    expect([named.complete, hours.rows.every(({ window }: { window: string }) => window !== 'days')]).toEqual([
      false,
      true,
    ])
    const counted = await admin('GET', '/api/quota/distribution?category=read&window=1d')
    expect(counted.counted).toBeGreaterThanOrEqual(1)
  })

  it('categories with windows of their own of a plan limit its users beside the baselines', async () => {
    await start()
    await admin('PUT', `/api/users/${user}/override`, { plan: 'team', reason: 'sold' })
    const login = await get(user, '/login', 'POST')
    expect(login.headers.get('ratelimit-policy')).toBe('"personal-login-1m";q=3;w=60, "personal-login-1d";q=50;w=86400')
  })
})
