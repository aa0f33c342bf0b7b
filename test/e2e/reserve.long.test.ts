import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { QuotaStatus } from '../../src/quota/status.ts'
import { tempFolder } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Somebody registers a hundred accounts, and users of old ones are served all the same. */

const NEW_ACCOUNTS = Array.from({ length: 100 }, (_, i) => `new-${i}`)
const RESERVE = 'reserve: { share: 20%, known_after: 1s, remember: 1h }'

let upstream: Upstream
let redis: Awaited<ReturnType<typeof sharedRedis>>
const folder = tempFolder()
beforeAll(async () => {
  upstream = await startUpstream()
  redis = await sharedRedis()
})

let places = 0
const STORES = {
  SQLite: () => ({ store: `sqlite:${join(folder, `${++places}.db`)}`, more: '' }),
  Redis: () => ({ store: redis.url, more: `store_options: { prefix: "${redis.prefix}-${++places}", deadline: 5s }` }),
}

describe.each(Object.keys(STORES) as (keyof typeof STORES)[])('a reserve in %s', (kind) => {
  let place: ReturnType<(typeof STORES)[typeof kind]>
  const running: RunningApp[] = []
  beforeEach(() => {
    place = STORES[kind]()
  })
  afterEach(async () => {
    for (const app of running.splice(0)) await app.stop()
  })

  const configuration = (reserve = RESERVE) =>
    yaml(
      upstream.url,
      `quota:
  baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } } }
  ${reserve}
routes: [{ match: GET /v1/song, category: read }]
${place.more}`,
      place.store,
    )

  async function start(reserve?: string): Promise<RunningApp> {
    const app = await startApp(configuration(reserve))
    running.push(app)
    return app
  }

  async function stop(app: RunningApp): Promise<void> {
    running.splice(running.indexOf(app), 1)
    await app.stop()
  }

  const request = (app: RunningApp, user: string) => fetch(`${app.url}/v1/song`, { headers: bearer(user) })

  async function statusOf(app: RunningApp, user: string): Promise<number> {
    const response = await request(app, user)
    await response.arrayBuffer()
    return response.status
  }

  /** The global limit that a user sees of himself. */
  async function limitOf(app: RunningApp, user: string): Promise<number | undefined> {
    const response = await fetch(`${app.url}/me/quota`, { headers: bearer(user) })
    const { windows } = (await response.json()) as QuotaStatus
    return windows.read?.find(({ scope }) => scope === 'Global')?.limit
  }

  async function api(app: RunningApp, path: string, init: { method?: string; body?: string } = {}) {
    const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
    const response = await fetch(`${app.admin}/api/${path}`, { headers, ...init })
    return response.status === 204 ? null : ((await response.json()) as { windows: { read: object[] } })
  }

  /** A user who has charged once, long enough ago. */
  async function makeKnown(app: RunningApp, user: string): Promise<void> {
    expect(await statusOf(app, user)).toBe(200)
    while ((await limitOf(app, user)) !== 100) await sleep(20)
  }

  async function flood(app: RunningApp): Promise<number[]> {
    return Promise.all(NEW_ACCOUNTS.map((user) => statusOf(app, user)))
  }

  /** An account that came too late to be served. */
  const LATE = 'late'

  it('a reserve is not for new accounts, which get 429 with the numbers of their part, and a known user is served', async () => {
    const app = await start()
    await makeKnown(app, 'ann')
    const statuses = await flood(app)
    expect(statuses.filter((status) => status === 200)).toHaveLength(79)
    expect(statuses.filter((status) => status === 429)).toHaveLength(21)

    const refused = await request(app, LATE)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('ratelimit-policy')).toContain('"global-read-1h";q=80;w=3600')
    expect(refused.headers.get('ratelimit')).toContain('"global-read-1h";r=0;')
    const body = (await refused.json()) as { msg: string; quota: object }
    expect(body.quota).toMatchObject({
      scope: 'Global',
      category: 'read',
      window: '1h',
      limit: 80,
      used: 80,
      requested: 1,
    })
    expect(body.msg).toContain(
      'Global 1-hour read quota is used up for new users: of 100 tokens 20 are kept for known ones. Requests may continue after ',
    )
    expect(await limitOf(app, LATE)).toBe(80)
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    expect(metrics).toContain('\ntollgate_reserve_refusals_total{category="read"} 22\n')
    expect(metrics).toContain('\ntollgate_global_limit_tokens{category="read",window="1h"} 100\n')
    expect(metrics).toContain('\ntollgate_global_limit_new_users_tokens{category="read",window="1h"} 80\n')
    const both = { windows: { read: [{ limit: 100, limitOfNewUsers: 80 }] } }
    expect(await api(app, 'quota')).toMatchObject(both)
    expect(await api(app, 'quota/preview', { method: 'POST', body: '{"mode":"normal"}' })).toMatchObject(both)
    expect(await api(app, 'in-force/users/ann')).toMatchObject({ known: true })
    // What a process knows of a new user it forgets in a moment.
    expect((await request(app, LATE)).status).toBe(429)
    expect(await api(app, `in-force/users/${LATE}`)).toMatchObject({ known: false })
    expect(await api(app, 'in-force/users/nobody')).toMatchObject({ known: null })

    const served = await request(app, 'ann')
    expect(served.status).toBe(200)
    expect(served.headers.get('ratelimit-policy')).toContain('"global-read-1h";q=100;w=3600')
    expect(served.headers.get('ratelimit')).toContain('"global-read-1h";r=19;')
  })

  it('a reserve is known after a restart, and at another replica, with the first request there', async () => {
    const first = await start()
    await makeKnown(first, 'ann')
    await makeKnown(first, 'ben')
    await flood(first)
    const other = await start()
    expect(await statusOf(other, 'ann')).toBe(200)
    expect(await statusOf(other, LATE)).toBe(429)
    expect(await statusOf(other, LATE)).toBe(429)
    await stop(first)
    await stop(other)
    const restarted = await start()
    expect(await limitOf(restarted, 'ben')).toBe(100)
    expect(await statusOf(restarted, 'ann')).toBe(200)
    expect(await statusOf(restarted, 'ben')).toBe(200)
    expect(await statusOf(restarted, LATE)).toBe(429)
  })

  it('a reserve is explained to administrators as it is decided, and may be used by whoever has an override', async () => {
    const app = await start()
    await makeKnown(app, 'ann')
    await flood(app)
    const ask = (user: string) => api(app, `explain?user=${user}&method=GET&path=/v1/song`)
    expect(await ask('ann')).toMatchObject({ decision: 'accept' })
    expect(await ask(LATE)).toMatchObject({
      decision: 'refuse',
      why: expect.stringMatching(
        /^429: Global 1-hour read quota is used up for new users: .* The user is new: of 100 tokens 20 are kept for known users, whose first charge lies at least 1s ago\. This costs 1\.$/,
      ),
      reasons: [
        { code: 'refused' },
        { code: 'new_user', values: { kept: 20, whole: 100, after: '1s' } },
        { code: 'costs' },
      ],
    })
    const shown = await api(app, `users/${LATE}`)
    expect(shown?.windows.read.at(-1)).toMatchObject({
      scope: 'Global',
      limit: 80,
      source: 'baseline - reserve',
      steps: [expect.stringMatching(/^baseline 100 /), 'reserve: 20 of 100 are kept for known users'],
    })
    const body = JSON.stringify({ read: { '1h': 20 }, reason: 'a new customer' })
    await api(app, `users/${LATE}/override`, { method: 'PUT', body })
    while ((await limitOf(app, LATE)) !== 100) await sleep(20)
    expect(await statusOf(app, LATE)).toBe(200)
  })

  it('a reserve stays open to a known user whose windows were emptied, and after it was set anew', async () => {
    const app = await start()
    await makeKnown(app, 'ann')
    await flood(app)
    await api(app, 'users/ann/reset', { method: 'POST', body: JSON.stringify({ reason: 'a test' }) })
    expect(await statusOf(app, 'ann')).toBe(200)
    await app.reload(configuration(''))
    expect(await statusOf(app, LATE)).toBe(200)
    await app.reload(configuration())
    expect(await statusOf(app, 'another')).toBe(429)
    expect(await statusOf(app, 'ann')).toBe(200)
  })
})
