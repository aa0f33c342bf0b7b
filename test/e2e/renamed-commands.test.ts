import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

let redis: RedisServer
let upstream: Upstream
let app: RunningApp

it.each(['EVALSHA', 'EVAL'])(
  'a gateway is not ready on a Redis without %s, before anybody is charged',
  async (name) => {
    redis = await startRedis({ args: ['--rename-command', name, ''] })
    upstream = await startUpstream()
    app = await startApp(yaml(upstream.url, '', redis.url))
    const ready = await fetch(`${app.admin}/readyz`)
    const reasons = ['the quota store takes no charges: other']
    expect([ready.status, await ready.json()]).toEqual([503, { ready: false, reasons }])
  },
)

it.each(['-evalsha', '-@write'])(
  'a gateway whose user of Redis has %s is not ready until it has the right, and stays ready when it loses it again',
  async (right) => {
    redis = await startRedis()
    const admin = new Redis(redis.url)
    const allow = (...rights: string[]) => admin.acl('SETUSER', 'gate', 'on', '>secret', '~*', '&*', '+@all', ...rights)
    await allow(right)
    upstream = await startUpstream()
    const store = redis.url.replace('redis://', 'redis://gate:secret@')
    app = await startApp(yaml(upstream.url, 'routes: [{ match: GET /x, category: read, cost: 1 }]', store))
    const readiness = async () => {
      const response = await fetch(`${app.admin}/readyz`)
      const { reasons, degraded } = (await response.json()) as { reasons?: string[]; degraded?: string[] }
      return [response.status, ...(reasons ?? degraded ?? [])]
    }
    const why = 'the quota store takes no charges: auth'
    expect(await readiness()).toEqual([503, why])
    expect((await fetch(`${app.admin}/readyz?startup=1`)).status).toBe(200)
    await allow()
    await expect.poll(readiness, { timeout: 10_000 }).toEqual([200])
    await allow(right)
    await fetch(`${app.url}/x`, { headers: bearer('alice') })
    await expect.poll(readiness, { timeout: 10_000 }).toEqual([200, why])
    admin.disconnect()
  },
)
