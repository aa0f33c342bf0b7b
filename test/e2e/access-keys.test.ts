import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetch } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { NewTokenResponse, TokensResponse } from '../../src/contract/api.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'

/** Access keys as people and administrators see them, at every replica. */

const SOON = { timeout: 30_000, interval: 20 }
let redis: RedisServer
let folder: string
let upstream: Upstream
let apps: RunningApp[]
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-keys-'))
  upstream = await startUpstream()
})
afterEach(async () => {
  await Promise.all(apps.map((app) => app.stop()))
  await upstream.close()
  await rm(folder, { recursive: true })
})

let prefixes = 0
/** Two replicas, or the one that SQLite has. */
async function start(kind: string): Promise<void> {
  const url = kind === 'sqlite' ? `sqlite:${join(folder, 'quota.db')}` : redis.url
  const text = yaml(
    upstream.url,
    `store_options: { prefix: "keys-${process.pid}-${++prefixes}", deadline: 5s }
quota: { baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: GET /items/*, category: read, cost: 1 }]`,
    url,
  )
  apps = []
  for (let i = 0; i < (kind === 'sqlite' ? 1 : 2); i++) apps.push(await startApp(text))
}

async function api<T>(app: RunningApp | undefined, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${app?.admin}${path}`, {
    method,
    headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as T
}

describe.each(['sqlite', 'redis'])('access keys on %s', (kind) => {
  test(`an access key that one replica lets in shows its last use at every replica (${kind})`, async () => {
    await start(kind)
    const [first, last = first] = apps
    const made: NewTokenResponse[] = []
    for (const name of ['used', 'idle']) {
      made.push(await api<NewTokenResponse>(first, 'POST', '/api/tokens', { user: 'alice', name }))
    }
    const since = Date.now()
    const headers = { authorization: `Bearer ${made[0]?.token}` }
    const use = async () => (await fetch(`${last?.url}/items/1`, { headers })).status
    await expect.poll(use, SOON).toBe(200)
    for (const app of apps) {
      const uses = async () => {
        const { tokens } = await api<TokensResponse>(app, 'GET', '/api/tokens')
        return Object.fromEntries(tokens.map(({ name, lastUsedAt, state }) => [name, [state, lastUsedAt !== null]]))
      }
      await expect.poll(uses, SOON).toEqual({ used: ['valid', true], idle: ['valid', false] })
      const { tokens } = await api<TokensResponse>(app, 'GET', '/api/tokens?unused=1h')
      expect(tokens).toEqual([])
    }
    const [used] = (await api<TokensResponse>(first, 'GET', '/api/tokens?prefix=used')).tokens
    expect(Math.abs(Date.parse(used?.lastUsedAt ?? '') - since)).toBeLessThan(300_000)
  })
})
