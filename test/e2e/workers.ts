import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetch } from 'undici'
import { afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort, sharedRedis } from '../setup/redis.ts'
import { type Seen, startUpstream, type Upstream } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

/** What the stories of several workers share: a gateway as a process, whose workers are looked at from outside. */

export const ADMIN_TOKEN = 'test-admin-token-of-32-characters'

export let folder: string
export let redis: Awaited<ReturnType<typeof sharedRedis>>
export let backend: Upstream
type Respond = (seen: Seen, res: http.ServerResponse) => void
let respond: Respond
export let port: number
export let url: string
export let admin: string
export let running: GatewayProcess | null
/** For each test of the file: a folder, an upstream, and addresses for a gateway, which is ended with the test. */
export function withGatewayProcess(): void {
  beforeAll(async () => {
    redis = await sharedRedis()
  })
  beforeEach(async () => {
    folder = tempFolder()
    respond = (_seen, res) => res.end('ok')
    backend = await startUpstream((seen, res) => respond(seen, res))
    port = await freePort()
    url = `http://127.0.0.1:${port}`
    admin = `http://127.0.0.1:${await freePort()}`
    running = null
  })
  afterEach(async () => {
    if (running !== null && running.child.exitCode === null && running.child.signalCode === null) {
      await running.end('SIGTERM')
    }
  })
}

/** What the upstream responds with from now on. */
export function respondWith(next: Respond): void {
  respond = next
}

/** Where the gateway listens that is asked from now on. */
export function askAt(next: number): void {
  port = next
}

/** Ended with the test. */
export function keep(gateway: GatewayProcess): void {
  running = gateway
}

export interface Keys {
  readonly personal?: number
  readonly global?: number
  readonly cost?: number
  readonly store?: string
  readonly prefix?: string
  readonly workers?: number
  readonly rest?: string
}

/** The store is waited for: no test here is about one that is out. */
export function config(keys: Keys = {}): string {
  const { personal = 1e6, global = 1e6, cost = 1, store, prefix = 'tollgate', workers = 2, rest = '' } = keys
  return `
listen: 127.0.0.1:${port}
workers: ${workers}
upstream: { url: "${backend.url}" }
store: "${store ?? `sqlite:${join(folder, 'quota.db')}`}"
store_options: { prefix: ${prefix}, deadline: 5s }
admin: { listen: "${admin.slice('http://'.length)}", token: ${ADMIN_TOKEN} }
auth:
  jwt: [{ issuer: "https://id.test", audience: tollgate, secret: a-shared-secret-of-forty-characters-long, algorithms: [HS256] }]
  gateway_tokens: true
quota:
  windows: { long: 1d }
  baselines: { personal: { read: { long: ${personal} } }, global: { read: { long: ${global} } } }
routes: [{ match: "GET /*", category: read, cost: ${cost} }]
${rest}
`
}

export function file(content: string): string {
  const path = join(folder, 'tollgate.yaml')
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
  return path
}

/** Resolves when all workers listen. */
export async function start(keys: Keys | string = {}): Promise<GatewayProcess> {
  const path = file(typeof keys === 'string' ? keys : config(keys))
  const gateway = await spawnGateway(path, `${admin}/livez`)
  keep(gateway)
  await expect.poll(readiness, { timeout: 30_000 }).toBe(200)
  return gateway
}

export const readiness = async (): Promise<number> => (await fetch(`${admin}/readyz`)).status

/** What /metrics says: the sum of all samples with a name and these labels, and how many there are. */
export async function metrics() {
  const { samples } = parseMetrics(await (await fetch(`${admin}/metrics`)).text())
  const found = (name: string, labels: Record<string, string> = {}): number[] => {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    const entries = [...samples].filter(([key]) => key.split('{')[0] === name && wanted.every((w) => key.includes(w)))
    return entries.map(([, value]) => value)
  }
  const value = (...which: Parameters<typeof found>): number => found(...which).reduce((sum, part) => sum + part, 0)
  return { found, value }
}
/** Polled: of a worker that is held up, a scrape has what was known of it. */
export const counted = async (outcome = 'forwarded') => (await metrics()).value('tollgate_requests_total', { outcome })
export const lines = (msg: string) => running?.lines().filter((line) => line.msg === msg) ?? []

/** The processes of the workers that were started so far, in the order of their start. */
export async function pids(count = 2): Promise<number[]> {
  await expect.poll(() => lines('worker started').length, { timeout: 30_000 }).toBeGreaterThanOrEqual(count)
  return lines('worker started').map(({ pid }) => Number(pid))
}
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** On a connection of its own: neighbours in time come to different workers. */
export async function askOnce(path: string, credential = jwtOf('alice')): Promise<{ status: number; body: string }> {
  const headers = { authorization: `Bearer ${credential}` }
  const req = http.get({ host: '127.0.0.1', port, path, headers, agent: false })
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  return { status: res.statusCode ?? 0, body: await text(res) }
}
/** What each of eight connections in a row, four to a worker, is told. */
export async function everywhere<T>(ask: () => Promise<T>): Promise<T[]> {
  const responses: T[] = []
  for (let i = 0; i < 8; i++) responses.push(await ask())
  return responses
}
export async function standing(): Promise<{ limit: number; used: number }[]> {
  return JSON.parse((await askOnce('/me/quota')).body).windows.read
}
export const limit = async (): Promise<number> => (await standing())[0]?.limit ?? -1
export const eight = <T>(value: T): T[] => Array<T>(8).fill(value)

export const STORES = ['sqlite', 'redis'] as const
type StoreKind = (typeof STORES)[number]

export const storeOf = (kind: StoreKind): Keys =>
  kind === 'sqlite' ? {} : { store: redis.url, prefix: `${redis.prefix}-${port}` }

/** The store beside the gateway, to look at and to change it. */
export async function handAt(kind: StoreKind): Promise<Store> {
  if (kind === 'sqlite') return openSqliteStore({ file: join(folder, 'quota.db') })
  const { url, prefix } = redis
  const hand = openRedisStore({ url, prefix: `${prefix}-${port}`, deadlineMs: 5000, observe: () => {} })
  await expect.poll(() => hand.ping().then(() => true)).toBe(true)
  return hand
}

/** Asks again and again on one connection until it is told to stop; what failed is its result. */
export async function client(until: () => boolean, answered: (status: number) => void): Promise<Error[]> {
  const failures: Error[] = []
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: `Bearer ${jwtOf('alice')}` }
  let closing = false
  while (!until() && !closing) {
    try {
      const req = http.get({ host: '127.0.0.1', port, path: '/x', headers, agent })
      const [res] = (await once(req, 'response')) as [http.IncomingMessage]
      closing = res.headers.connection === 'close'
      await text(res)
      answered(res.statusCode ?? 0)
    } catch (error) {
      failures.push(error as Error)
      await sleep(10)
    }
  }
  agent.destroy()
  return failures
}
