import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { freePort, sharedRedis } from '../setup/redis.ts'
import { startUpstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

const HALF_HOUR_MS = 1_800_000

/** @returns the exit code, all tokens, and why not all is known */
function exported(file: string, ...args: string[]): Promise<{ code: number; why: string; tokens: number }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['src/main.ts', 'usage', 'export', '-c', file, ...args], (error, stdout, stderr) => {
      const rows = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { tokens: number }]))
      const tokens = rows.reduce((sum, row) => sum + row.tokens, 0)
      resolve({ code: error === null ? 0 : Number(error.code), why: /^usage: .*$/m.exec(stderr)?.[0] ?? '', tokens })
    })
  })
}

it.each(['sqlite', 'redis'])(
  'series are not complete where a gateway was killed with what it had counted, and are where it ended by itself: %s',
  async (kind) => {
    const folder = tempFolder()
    const redis = await sharedRedis()
    const upstream = await startUpstream()
    const text = yaml(
      upstream.url,
      `
store_options: { prefix: "${redis.prefix}-series" }
quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: "GET /*", category: read }]`,
      kind === 'redis' ? redis.url : `sqlite:${join(folder, 'quota.db')}`,
    )
    const url = `http://127.0.0.1:${await freePort()}`
    const file = join(folder, 'tollgate.yaml')
    writeFileSync(file, text.replace('listen: 127.0.0.1:0', `listen: ${new URL(url).host}`))
    const from = new Date(Math.floor(Date.now() / HALF_HOUR_MS) * HALF_HOUR_MS).toISOString()
    const ask = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await (await fetch(`${url}/x`, { headers: bearer('alice') })).arrayBuffer()
    }
    // Users are known since the store was first used, series from the half hour of that on.
    const bill = (by: string) =>
      exported(file, '--by', by, '--format', 'ndjson', ...(by === 'user' ? [] : ['--from', from]))
    let gateway: GatewayProcess | null = null
    try {
      gateway = await spawnGateway(file, url)
      await ask(5)
      expect(await gateway.end('SIGTERM')).toBe(0)
      for (const by of ['user', 'route', 'category', 'all'])
        expect(await bill(by)).toEqual({ code: 0, why: '', tokens: 5 })

      gateway = await spawnGateway(file, url)
      await ask(30)
      await gateway.end('SIGKILL')
      expect(await bill('user')).toEqual({ code: 0, why: '', tokens: 35 })
      // Nobody is there who would find it: whoever reads does.
      await expect
        .poll(() => bill('route'), { timeout: 60_000 })
        .toMatchObject({
          code: 1,
          why: expect.stringContaining('a gateway ended or fell silent'),
        })

      gateway = await spawnGateway(file, url)
      await new Promise((resolve) => setTimeout(resolve, 18_000))
      expect(await gateway.end('SIGTERM')).toBe(0)
      for (const by of ['route', 'category', 'plan', 'all']) expect((await bill(by)).code).toBe(1)
      expect((await bill('user')).code).toBe(0)
    } finally {
      gateway?.child.kill('SIGKILL')
    }
  },
  240_000,
)
