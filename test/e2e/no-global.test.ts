import { fetch } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** A file without limits of all users together, on each store: counted by what the upstream saw. */

const REST = `
quota:
  baselines: { personal: { read: { 1h: 2 } } }
routes:
  - { match: "GET /*", category: read }`
const ADMIN = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }

let redis: RedisServer
let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  redis = await startRedis()
  upstream = await startUpstream()
})

const get = (user: string, path = '/x') =>
  fetch(app.url + path, { headers: { authorization: `Bearer ${jwtOf(user, {})}` } })

describe.each(['sqlite', 'redis'])('without global limits in %s', (kind) => {
  const start = async (): Promise<void> => {
    app = await startApp(yaml(upstream.url, REST, kind === 'sqlite' ? 'sqlite::memory:' : redis.url))
  }

  it('each user has the personal limit, and no number of users uses up anything for the others', async () => {
    await start()
    const users = Array.from({ length: 40 }, (_, i) => `${kind}-${i}`)
    const statuses = await Promise.all(users.flatMap((user) => [0, 1, 2].map(async () => (await get(user)).status)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(80)
    expect(statuses.filter((status) => status === 429)).toHaveLength(40)
    const { windows } = (await (await get(`${kind}-0`, '/me/quota')).json()) as { windows: { read: object[] } }
    expect(windows.read).toMatchObject([{ scope: 'Personal', window: '1h', limit: 2, used: 2 }])
  })

  it('an administrator can set one at run time, and take it away', async () => {
    await start()
    const patch = async (limit: number | null) => {
      const body = JSON.stringify({ baselines: { global: { read: { '1h': limit } } } })
      expect((await fetch(`${app.admin}/api/quota`, { method: 'PATCH', headers: ADMIN, body })).status).toBe(200)
    }
    await patch(1)
    expect((await get(`${kind}-first`)).status).toBe(200)
    const refused = await get(`${kind}-second`)
    expect([refused.status, await refused.json()]).toMatchObject([429, { quota: { scope: 'Global', limit: 1 } }])
    await patch(null)
    expect((await get(`${kind}-third`)).status).toBe(200)
  })
})
