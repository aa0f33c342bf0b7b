import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mintToken } from '../../src/control/tokens.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type Backend, type RunningApp, startApp, startBackend, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Credentials that nobody gave out, as fast as a process can send them, and what others notice of it. */

const REST = `
store_options: { deadline: 5s }
quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 100000 } } } }
edge: { max_lag: 1m }
routes: [{ match: GET /thing, category: read, cost: 1 }]`

let folder: string
let redis: RedisServer
let backend: Backend
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-flood-'))
  redis = await startRedis()
  backend = await startBackend()
})
afterAll(async () => {
  await backend.close()
  await redis.stop()
  await rm(folder, { recursive: true })
})

interface Flood {
  /** Responses by status so far. */
  counts(): Record<string, number>
  stop(): Promise<Record<string, number>>
}

async function startFlood(
  url: string,
  credentials: readonly string[],
  addresses: readonly string[] = [],
): Promise<Flood> {
  const file = join(folder, `credentials-${Math.random()}`)
  await writeFile(file, credentials.join('\n'))
  const child = spawn(process.execPath, ['test/e2e/flood.ts', `${url}/thing`, file, '64', ...addresses])
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const counts = () => JSON.parse(output.trim().split('\n').at(-1) || '{}') as Record<string, number>
  return {
    counts,
    async stop() {
      child.stdin.end()
      await once(child, 'close')
      return counts()
    },
  }
}

/** The status of one request of a user who has not been here before, from an address of its own. */
function ask(url: string, headers: Record<string, string>, localAddress = '127.0.0.9'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    http
      .get(`${url}/thing`, { headers, localAddress, agent: false }, (response) => {
        response.resume().on('close', () => resolve(response.statusCode))
      })
      .on('error', reject)
  })
}

describe.each([
  ['Redis', () => redis.url],
  ['the embedded store', () => `sqlite:${join(folder, 'tollgate.db')}`],
])('on %s', (name, store) => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp(yaml(backend.url, REST, store()))
  })
  afterAll(() => app.stop())

  it('a flood of gateway tokens that nobody made leaves others alone, and the store is not asked for one of them', async () => {
    const made = await fetch(`${app.admin}/api/tokens`, {
      method: 'POST',
      headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
      body: JSON.stringify({ user: 'owner', name: 'laptop' }),
    })
    const { token } = (await made.json()) as { token: string }
    expect(await ask(app.url, { authorization: `Bearer ${token}` })).toBe(200)
    const client = new Redis(redis.url)
    await client.config('RESETSTAT')
    const madeUp = Array.from({ length: 10_000 }, () => mintToken({ user: 'u', name: 'n', expiresAt: null }, 1).token)
    const flood = await startFlood(app.url, madeUp)
    await expect.poll(() => flood.counts()['401'] ?? 0).toBeGreaterThan(500)
    for (let i = 0; i < 50; i++) expect(await ask(app.url, bearer(`${name} ${i}`))).toBe(200)
    expect(await ask(app.url, { authorization: `Bearer ${token}` })).toBe(200)
    await expect.poll(() => flood.counts()['401'] ?? 0).toBeGreaterThan(10_000)
    expect(Object.keys(await flood.stop())).toEqual(['401'])
    const commands = await client.info('commandstats')
    // The histogram of failures takes one HGET now and then.
    expect(Number(/cmdstat_hget:calls=(\d+)/.exec(commands)?.[1] ?? 0)).toBeLessThan(100)
    expect(commands).not.toMatch(/cmdstat_(hmget|hscan|hvals):/)
    client.disconnect()
  })
})
