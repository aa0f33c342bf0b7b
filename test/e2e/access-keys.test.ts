import { join } from 'node:path'
import { fetch } from 'undici'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type {
  AuditResponse,
  NewTokenResponse,
  TokensResponse,
  TokenToHandOverResponse,
} from '../../src/contract/api.ts'
import { tempFolder } from '../setup/at-end.ts'
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
beforeEach(async () => {
  folder = tempFolder()
  upstream = await startUpstream()
})

const LEAD = 'test-lead-token-00001'
const ADMIN = 'test-admin-token-0001'

let prefixes = 0
/** Two replicas, or the one that SQLite has. Carol leads acme. */
async function start(kind: string): Promise<void> {
  const url = kind === 'sqlite' ? `sqlite:${join(folder, 'quota.db')}` : redis.url
  const text = yaml(
    upstream.url,
    `store_options: { prefix: "keys-${process.pid}-${++prefixes}", deadline: 5s }
quota:
  baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 1000 } } }
  plans: { team: { personal: { read: { 1h: 50 } }, organisation: { read: { 1h: 60 } } } }
routes: [{ match: GET /items/*, category: read, cost: 1 }]`,
    url,
  ).replace(`token: ${ADMIN}`, `token: ${ADMIN}, tokens: [{ name: carol, role: "lead:acme", token: ${LEAD} }]`)
  apps = []
  for (let i = 0; i < (kind === 'sqlite' ? 1 : 2); i++) apps.push(await startApp(text))
}

async function send(app: RunningApp | undefined, method: string, path: string, body?: unknown, token = ADMIN) {
  const response = await fetch(`${app?.admin}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) }
}

async function api<T>(app: RunningApp | undefined, method: string, path: string, body?: unknown): Promise<T> {
  return (await send(app, method, path, body)).json as T
}

async function use(app: RunningApp | undefined, token: string): Promise<number> {
  const response = await fetch(`${app?.url}/items/1`, { headers: { authorization: `Bearer ${token}` } })
  await response.body?.cancel()
  return response.status
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
    await expect.poll(() => use(last, made[0]?.token ?? ''), SOON).toBe(200)
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

  test(`a lead divides the limit of the organisation and makes its keys, as every replica knows (${kind})`, async () => {
    await start(kind)
    const [first, last = first] = apps
    const member = { user: 'ann', name: 'laptop', organisation: 'acme', plan: 'team' }
    const { token } = await api<NewTokenResponse>(first, 'POST', '/api/tokens', member)
    await expect.poll(() => use(last, token), SOON).toBe(200)
    const lead = (app: typeof first, method: string, path: string, body?: unknown) =>
      send(app, method, path, body, LEAD)
    await expect.poll(async () => (await lead(first, 'GET', '/api/users/ann')).status, SOON).toBe(200)
    const share = (limit: number) => ({ read: { '1h': limit }, reason: 'a share' })
    expect((await lead(first, 'PUT', '/api/users/ann/override', share(51))).status).toBe(400)
    expect((await lead(first, 'PUT', '/api/users/ann/override', share(2))).status).toBe(200)
    // One request is charged already.
    await expect.poll(() => use(last, token), SOON).toBe(429)
    const made = await lead(last, 'POST', '/api/tokens', { user: 'acme/robot', name: 'nightly' })
    expect(made.json).toMatchObject({ organisation: 'acme', plan: 'team' })
    await expect.poll(() => use(first, made.json.token), SOON).toBe(200)
    expect((await lead(first, 'DELETE', `/api/tokens/${made.json.id}`, {})).status).toBe(204)
    await expect.poll(() => use(last, made.json.token), SOON).toBe(401)
    expect((await lead(last, 'GET', '/api/organisations/rival')).status).toBe(403)
    const { entries } = await api<AuditResponse>(last, 'GET', '/api/audit?who=carol')
    expect(new Set(entries.map(({ who }) => who))).toEqual(new Set(['carol (lead of acme)']))
  })

  test(`a link that one replica made is opened at another one, once, and its key is good at both (${kind})`, async () => {
    await start(kind)
    const [first, last = first] = apps
    const openedOnce = async (path: string, body: object) => {
      const made = await api<TokenToHandOverResponse>(first, 'POST', path, { ...body, handover: '1h' })
      const code = made.handover.path.split('#')[1]
      const opened = await Promise.all(
        [first, last, first, last].map((app) => send(app, 'POST', '/api/handover', { code }, 'x')),
      )
      expect(opened.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404])
      return { id: made.id, token: opened.find(({ status }) => status === 200)?.json.token }
    }
    const old = await openedOnce('/api/tokens', { user: 'ann', name: 'laptop' })
    for (const app of apps) await expect.poll(() => use(app, old.token), SOON).toBe(200)
    const fresh = await openedOnce(`/api/tokens/${old.id}/rotate`, { grace: '0m' })
    for (const app of apps) {
      await expect.poll(() => use(app, fresh.token), SOON).toBe(200)
      await expect.poll(() => use(app, old.token), SOON).toBe(401)
    }
    const { entries } = await api<AuditResponse>(last, 'GET', '/api/audit?limit=2')
    expect(entries.map(({ who, what }) => [who, what])).toEqual([
      ['handover link', 'token_opened'],
      ['admin', 'token_created'],
    ])
  })
})
