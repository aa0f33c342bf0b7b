import { cpSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Agent, fetch } from 'undici'
import { beforeAll, expect, it, vi } from 'vitest'
import { type Counter, usageOf } from '../../src/quota/counter.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { startWatched, type Watched } from '../faults/redis-groups.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { PERSISTENT, startRedis } from '../setup/redis.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream } from './harness.ts'
import { jwtOf } from './jwt.ts'

/**
 * Three gateways share a primary and its replica under three sentinels. Sixty users of six organisations ask them, until the limits of
 * all scopes are used up. In the middle the primary stops to pass on what it is written, and soon after it is killed. Its file says
 * what it had, and so what the replica never learnt.
 */
const COST = 3
const ORGANISATIONS = ['north', 'south', 'east', 'west', 'up', 'down']
const USERS = ORGANISATIONS.flatMap((organisation) =>
  Array.from({ length: 10 }, (_, i) => ({ user: `${organisation}-${i}`, organisation })),
)
type User = (typeof USERS)[number]
const [PERSONAL, ORGANISATION, GLOBAL] = [121, 1000, 5000]
const DAY = { seconds: 86_400 }
const PREFIX = 'failover'

let folder: string
let watched: Watched
let upstream: Upstream
let apps: RunningApp[]
const dispatcher = closedAtEnd(new Agent({ connections: 200 }))

beforeAll(async () => {
  folder = tempFolder()
  watched = await startWatched([...PERSISTENT, '--dir', folder])
  upstream = await startUpstream()
  const text = `
listen: 127.0.0.1:0
upstream: { url: "${upstream.url}" }
store: "${watched.url}"
store_options: { prefix: ${PREFIX}, deadline: 1s }
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256], organisation_claim: org }] }
log: { level: fatal, requests: none }
edge: { max_in_flight: 5000, max_lag: 1m, shares: { address: none } }
quota:
  windows: { 1d: 1d }
  baselines: { personal: { read: { 1d: ${PERSONAL} } }, global: { read: { 1d: ${GLOBAL} } } }
  plans: { team: { organisation: { read: { 1d: ${ORGANISATION} } } } }
  default_plan: team
routes: [{ match: POST /spend, category: read, cost: ${COST} }]`
  apps = await Promise.all([0, 1, 2].map(() => startApp(text)))
})

let turn = 0
async function ask({ user, organisation }: User): Promise<number> {
  const { url } = apps[turn++ % apps.length] as RunningApp
  const headers = { authorization: `Bearer ${jwtOf(user, { org: organisation })}` }
  const response = await fetch(`${url}/spend`, { method: 'POST', headers, dispatcher })
  await response.text()
  return response.status
}

/** Asks until the quota refuses, and waits while the store is out. */
async function useUp(user: User): Promise<void> {
  for (;;) {
    const status = await ask(user)
    if (status === 429) return
    if (status === 503) await sleep(100)
    else expect(status).toBe(200)
  }
}

/** Tokens of each user, of each organisation, and of everybody. */
type Books = ReadonlyMap<string, number>

async function booksOf(store: Store): Promise<Books> {
  const books = new Map<string, number>()
  for (const { user, organisation } of USERS) {
    const usage = await store.readUsage(user, ['read'], organisation)
    const used = ([counter = []]: readonly Counter[] = []): number => usageOf(counter, DAY, usage.at).used
    books
      .set(user, used(usage.personal))
      .set(organisation, used(usage.organisation ?? []))
      .set('all', used(usage.global))
  }
  return books
}

async function readBooks(url: string): Promise<Books> {
  const store = openRedisStore({ url, prefix: PREFIX, deadlineMs: 5000, observe: () => {} })
  await vi.waitFor(() => store.ping(), { timeout: 60_000 })
  return booksOf(store).finally(() => store.close())
}

/** What the primary had when it was killed, by its file. */
async function booksOfTheDead(): Promise<Books> {
  const copy = tempFolder()
  cpSync(folder, copy, { recursive: true })
  const redis = await startRedis({ args: [...PERSISTENT, '--dir', copy] })
  const books = await readBooks(redis.url)
  await redis.stop()
  return books
}

/** What the upstream saw, in tokens. */
function seen(): Books {
  const books = new Map<string, number>()
  for (const { headers } of upstream.seen) {
    const user = String(headers['x-tollgate-user'])
    for (const key of [user, user.split('-')[0] as string, 'all']) books.set(key, (books.get(key) ?? 0) + COST)
  }
  return books
}

async function command(port: number, ...words: [string, ...string[]]): Promise<void> {
  const client = new Redis(port, '127.0.0.1')
  await client.call(...words)
  client.disconnect()
}

it('a failover in a burst lets above the limits of all scopes what Redis forgot by it, and no more', {
  timeout: 300_000,
}, async () => {
  const ended = Promise.all(USERS.map(useUp))
  const sees = (requests: number) =>
    vi.waitFor(() => expect(upstream.seen.length).toBeGreaterThan(requests), { timeout: 60_000, interval: 5 })
  await sees(200)
  // The replica cannot come back with a password that the primary does not know.
  await command(watched.replica.port, 'CONFIG', 'SET', 'masterauth', 'unknown')
  await command(watched.primary.port, 'CLIENT', 'KILL', 'TYPE', 'replica')
  await sees(upstream.seen.length + 100)
  await watched.primary.kill('SIGKILL')
  const [had, learnt] = [await booksOfTheDead(), await readBooks(watched.replica.url)]
  // Ten times as long may have passed since the replica lost its primary.
  await watched.letDecide(8000)
  await vi.waitFor(async () => expect(await watched.named()).toBe(watched.replica.port), { timeout: 60_000 })
  await ended

  const forgotten = (key: string): number => (had.get(key) ?? 0) - (learnt.get(key) ?? 0)
  expect(forgotten('all')).toBeGreaterThan(0)
  const limits = new Map<string, number>([['all', GLOBAL]])
  for (const { user, organisation } of USERS) limits.set(user, PERSONAL).set(organisation, ORGANISATION)
  // What was charged for callers who had gone is given back a little later.
  await vi.waitFor(
    async () => {
      const counted = await readBooks(watched.replica.url)
      for (const [key, limit] of limits) {
        const [count, saw] = [counted.get(key) ?? 0, seen().get(key) ?? 0]
        expect([key, count <= limit, count <= saw, saw - count <= forgotten(key)]).toEqual([key, true, true, true])
      }
    },
    { timeout: 60_000, interval: 500 },
  )
  const above = [...limits].filter(([key, limit]) => (seen().get(key) ?? 0) > limit)
  expect(above.length).toBeGreaterThan(0)
})
