import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import { fetch } from 'undici'
import { expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { startRedis } from '../setup/redis.ts'
import { startApp, startUpstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

const REST = `
usage: { keep: 400d, zone: Asia/Shanghai }
quota: { baselines: { personal: { read: { 1h: 1000 } } }, plans: { team: { personal: { read: { 1h: 500 } } } } }
routes: [{ match: "GET /*", category: read, cost: 7 }]`

it.each(['sqlite', 'redis'])(
  'usage by plan, category and route of many whole days is known, and an hour of then is not: %s',
  async (kind) => {
    const folder = tempFolder()
    const file = join(folder, 'quota.db')
    const redis = await startRedis()
    const upstream = await startUpstream()
    const app = await startApp(yaml(upstream.url, REST, kind === 'redis' ? redis.url : `sqlite:${file}`))
    // As if the store had been in use for years.
    if (kind === 'redis') {
      const client = new Redis(redis.url)
      await client.hset('{tollgate}:counted', '118800 Asia/Shanghai', 1)
      client.disconnect()
    } else {
      const database = new DatabaseSync(file)
      database.exec('UPDATE counted SET since = 1')
      database.close()
    }
    await (await fetch(`${app.url}/x`, { headers: bearer('alice') })).text()
    const ago = new Date(Date.now() - 300 * 86_400_000).toISOString().slice(0, 10)
    const usage = async (query: string) => {
      const headers = { authorization: 'Bearer test-admin-token-0001' }
      const response = await fetch(`${app.admin}/api/usage?${query}`, { headers })
      return (await response.json()) as { complete: boolean; rows: Record<string, unknown>[] }
    }
    for (const [by, name] of [
      ['plan', 'none'],
      ['category', 'read'],
      ['route', 'GET /*'],
    ] as const) {
      const ask = () => usage(`by=${by}&from=${ago}`)
      await expect.poll(ask, { timeout: 30_000 }).toMatchObject({ rows: [{ [by]: name, tokens: 7, requests: 1 }] })
      expect(await ask()).toMatchObject({ complete: true })
      const days = await usage(`by=${by}&from=${ago}&step=1d`)
      expect(days).toMatchObject({ complete: true, rows: [{ [by]: name, tokens: 7 }] })
      expect(days.rows[0]?.start).toMatch(/T16:00:00/)
      expect(await usage(`by=${by}&from=${ago}T00:30:00Z`)).toMatchObject({ complete: false })
    }
  },
)
