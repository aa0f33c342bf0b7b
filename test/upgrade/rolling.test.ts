import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SECRET } from '../e2e/harness.ts'
import { type GatewayProcess, spawnGateway } from '../e2e/process.ts'
import { type Asked, Client, readJson } from '../faults/client.ts'
import { ADMIN_TOKEN } from '../faults/gateway.ts'
import { type LoggingUpstream, startLoggingUpstream } from '../faults/upstream.ts'
import { tempFolder } from '../setup/at-end.ts'
import { type Balancer, type Endpoint, startBalancer } from '../setup/balancer.ts'
import { freePort, type RedisServer, startRedis } from '../setup/redis.ts'
import { earlierVersion, HERE, type Version } from './earlier.ts'

/** An upgrade of two replicas, and the way back, over one Redis and under traffic, between this build and an earlier one. */

const COST = 3
const USERS = ['alice', 'bob', 'carol', 'dave'] as const
const LIMIT = 1_000_000
const SOON = { timeout: 60_000 }

interface Replica extends Endpoint {
  readonly version: Version
  readonly process: GatewayProcess
}

const now: Version = { commit: 'this build', folder: HERE }
let before: Version
let folder: string
let redis: RedisServer
let upstream: LoggingUpstream
let balancer: Balancer
let replicas: Replica[]

beforeAll(async () => {
  before = earlierVersion()
  console.log(`from ${before.commit} to this build and back`)
  folder = tempFolder()
  replicas = []
  redis = await startRedis()
  upstream = await startLoggingUpstream((_seen, req, res) => {
    req.resume()
    setTimeout(() => res.end('ok'), Math.random() * 40)
  })
  balancer = await startBalancer()
}, 600_000)
afterAll(async () => {
  for (const { process } of replicas) if (process.child.exitCode === null) await process.end('SIGKILL')
})

/** Until the load balancer sends to it. Of the configuration, only what each version knows. */
async function bring(version: Version): Promise<Replica> {
  const [listen, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const file = join(folder, `${replicas.length}.yaml`)
  const config = `
listen: ${listen}
admin: { listen: "${admin}", token: ${ADMIN_TOKEN} }
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }] }
upstream: { url: "http://127.0.0.1:${upstream.port}" }
store: "${redis.url}"
store_options: { deadline: 5s }
quota:
  windows: { 1h: 1h, 1d: 1d }
  baselines: { personal: { c: { 1h: ${LIMIT}, 1d: ${LIMIT} } }, global: { c: { 1h: ${LIMIT}0, 1d: ${LIMIT}0 } } }
routes: [{ match: "POST /c/:id", category: c, cost: ${COST} }]
drain: { delay: 3s, timeout: 20s }
`
  writeFileSync(file, config)
  const process = await spawnGateway(file, `http://${listen}/`, {}, version.folder)
  const replica = { url: `http://${listen}`, admin: `http://${admin}`, version, process }
  replicas.push(replica)
  balancer.add(replica)
  await expect.poll(() => balancer.ready().includes(replica), SOON).toBe(true)
  return replica
}

/** As the kubelet does it: the preStop hook first, then the signal. */
async function takeDown({ admin, process }: Replica): Promise<void> {
  const init = { method: 'POST', headers: { 'x-tollgate-drain': 'yes' } }
  expect((await fetch(`${admin}/drain?state=on`, init)).status).toBe(200)
  expect(await process.end('SIGTERM')).toBe(0)
  expect(process.output()).not.toMatch(/"outcome":"(failed|aborted)"|internal error/)
}

async function administer<T>({ admin }: Replica, method: string, path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
  const response = await fetch(admin + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  expect(response.ok, `${method} ${path}: ${text}`).toBe(true)
  return JSON.parse(text) as T
}

interface Windows {
  readonly windows: { readonly c: readonly { readonly used: number; readonly limit: number }[] }
}
const windowsOf = async ({ url }: Replica, user: string) => (await readJson<Windows>(`${url}/me/quota`, user)).windows.c

/** An administrator sets a limit of a user in one replica, and each of the others has it. */
async function limitFrom(one: Replica, user: string, limit: number, others: readonly Replica[]): Promise<void> {
  await administer(one, 'PUT', `/api/users/${user}/override`, { c: { '1h': limit }, reason: 'a test' })
  for (const each of [one, ...others]) {
    await expect.poll(async () => (await windowsOf(each, user))[0]?.limit, SOON).toBe(limit)
  }
}

/** An access key of one replica lets a user in at each of the others. */
async function keyFrom(one: Replica, user: string, others: readonly Replica[]): Promise<string> {
  const { token } = await administer<{ token: string }>(one, 'POST', '/api/tokens', { user, name: `of ${one.url}` })
  for (const each of others) await expect.poll(() => statusWith(each, token), SOON).toBe(200)
  return token
}
async function statusWith({ url }: Replica, token: string): Promise<number> {
  return (await fetch(`${url}/me/quota`, { headers: { authorization: `Bearer ${token}` } })).status
}

/** Tokens of all categories in the history; null of a version that keeps none. */
async function history(replica: Replica): Promise<number | null> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const response = await fetch(`${replica.admin}/api/usage?by=category`, { headers })
  if (response.status === 404) return null
  const { rows } = (await response.json()) as { rows: { tokens: number }[] }
  return rows.reduce((sum, { tokens }) => sum + tokens, 0)
}

/** Of all users, until it ends: each has one request under way. */
function traffic() {
  const asked: Asked[] = []
  const clients = USERS.map(() => new Client())
  let isOver = false
  const lanes = USERS.map(async (user, i) => {
    while (!isOver) {
      asked.push((await clients[i]?.ask(balancer.url, 'c', user)) as Asked)
      await sleep(5)
    }
  })
  /** So many more responses, with what runs now. */
  async function goesOn(): Promise<void> {
    const soFar = asked.length
    await expect.poll(() => asked.length, SOON).toBeGreaterThan(soFar + 100)
  }
  async function end(): Promise<readonly Asked[]> {
    isOver = true
    await Promise.all(lanes)
    for (const client of clients) client.close()
    return asked
  }
  return { goesOn, end }
}

/** One after the other leaves for one of the other version. @param halfway with one replica of each */
async function roll(from: readonly Replica[], to: Version, halfway: (old: Replica, young: Replica) => Promise<void>) {
  const young: Replica[] = []
  for (const [i, leaving] of from.entries()) {
    young.push(await bring(to))
    await takeDown(leaving)
    if (i === 0) await halfway(from[1] as Replica, young[0] as Replica)
  }
  return young
}

it('an upgrade and the way back refuse and lose no request, count each charge once, and keep overrides, keys and history', async () => {
  const old = [await bring(before), await bring(before)]
  const { goesOn, end } = traffic()
  await goesOn()
  await limitFrom(old[0] as Replica, 'alice', LIMIT + 1, [])
  const tokens: string[] = []
  const young = await roll(old, now, async (one, other) => {
    await goesOn()
    await limitFrom(one, 'bob', LIMIT + 2, [other])
    await limitFrom(other, 'carol', LIMIT + 3, [one])
    tokens.push(await keyFrom(one, 'erin', [other]), await keyFrom(other, 'erin', [one]))
  })
  await goesOn()
  const back = await roll(young, before, async (one, other) => {
    await goesOn()
    await limitFrom(one, 'dave', LIMIT + 4, [other])
    await limitFrom(other, 'alice', LIMIT + 5, [one])
  })
  await goesOn()
  const asked = await end()

  expect(asked.filter(({ status }) => status !== 200)).toEqual([])
  expect(upstream.seen.map(({ id }) => id).sort()).toEqual(asked.map(({ id }) => id).sort())
  // Each has served: nothing was shown by a replica that stood idle.
  for (const { process } of replicas) expect(process.output()).toContain('"outcome":"forwarded"')
  const last = await bring(now)
  const all = asked.length * COST
  const limits = [LIMIT + 5, LIMIT + 2, LIMIT + 3, LIMIT + 4]
  const isKeptByBoth = (await history(back[0] as Replica)) !== null
  for (const replica of [...back, last]) {
    for (const [i, user] of USERS.entries()) {
      const used = asked.filter((one) => one.user === user).length * COST
      expect(await windowsOf(replica, user)).toMatchObject([
        { scope: 'Personal', window: '1h', used, limit: limits[i] },
        { scope: 'Personal', window: '1d', used, limit: LIMIT },
        { scope: 'Global', window: '1h', used: all },
        { scope: 'Global', window: '1d', used: all },
      ])
    }
    for (const token of tokens) expect(await statusWith(replica, token)).toBe(200)
    if (isKeptByBoth) await expect.poll(() => history(replica), SOON).toBe(all)
  }
  console.log(
    `${asked.length} requests, ${replicas.length} replicas, each charge once${isKeptByBoth ? ', history whole' : '; the earlier version keeps no history'}`,
  )
}, 600_000)
