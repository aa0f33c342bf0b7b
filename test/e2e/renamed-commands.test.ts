import { afterEach, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'

let redis: RedisServer
let upstream: Upstream
let app: RunningApp
afterEach(async () => {
  await app.stop()
  await upstream.close()
  await redis.stop()
})

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
