import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  createReadStream,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Agent, fetch } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ExplainResponse, InForceResponse } from '../../src/admin/api.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { freePort, sharedRedis, startRedis } from '../setup/redis.ts'
import { countByUser, type Seen, startUpstream, type Upstream } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

const ADMIN_TOKEN = 'test-admin-token-of-32-characters'

let folder: string
let redis: Awaited<ReturnType<typeof sharedRedis>>
let backend: Upstream
let respond: (seen: Seen, res: http.ServerResponse) => void
let port: number
let url: string
let admin: string
let running: GatewayProcess | null
beforeAll(async () => {
  redis = await sharedRedis()
})
afterAll(() => redis.stop())
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
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
  await backend.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Keys {
  readonly personal?: number
  readonly global?: number
  readonly cost?: number
  readonly store?: string
  readonly prefix?: string
  readonly workers?: number
  readonly rest?: string
}

/** The store is waited for: no test here is about one that is out. */
function config(keys: Keys = {}): string {
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

function file(content: string): string {
  const path = join(folder, 'tollgate.yaml')
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
  return path
}

/** Resolves when all workers listen. */
async function start(keys: Keys | string = {}): Promise<GatewayProcess> {
  const path = file(typeof keys === 'string' ? keys : config(keys))
  const gateway = await spawnGateway(path, `${admin}/livez`)
  running = gateway
  await expect.poll(readiness, { timeout: 30_000 }).toBe(200)
  return gateway
}

const readiness = async (): Promise<number> => (await fetch(`${admin}/readyz`)).status

/** What /metrics says: the sum of all samples with a name and these labels, and how many there are. */
async function metrics() {
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
const counted = async (outcome = 'forwarded') => (await metrics()).value('tollgate_requests_total', { outcome })
const lines = (msg: string) => running?.lines().filter((line) => line.msg === msg) ?? []

/** The processes of the workers that were started so far, in the order of their start. */
async function pids(count = 2): Promise<number[]> {
  await expect.poll(() => lines('worker started').length, { timeout: 30_000 }).toBeGreaterThanOrEqual(count)
  return lines('worker started').map(({ pid }) => Number(pid))
}
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** On a connection of its own: neighbours in time come to different workers. */
async function askOnce(path: string, credential = jwtOf('alice')): Promise<{ status: number; body: string }> {
  const headers = { authorization: `Bearer ${credential}` }
  const req = http.get({ host: '127.0.0.1', port, path, headers, agent: false })
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  return { status: res.statusCode ?? 0, body: await text(res) }
}
/** What each of eight connections in a row, four to a worker, is told. */
async function everywhere<T>(ask: () => Promise<T>): Promise<T[]> {
  const responses: T[] = []
  for (let i = 0; i < 8; i++) responses.push(await ask())
  return responses
}
async function standing(): Promise<{ limit: number; used: number }[]> {
  return JSON.parse((await askOnce('/me/quota')).body).windows.read
}
const limit = async (): Promise<number> => (await standing())[0]?.limit ?? -1
const eight = <T>(value: T): T[] => Array<T>(8).fill(value)

describe.each(['sqlite', 'redis'])('two workers on %s', (kind) => {
  const USERS = Array.from({ length: 10 }, (_, i) => `user-${i}`)
  const store = (): Keys => (kind === 'sqlite' ? {} : { store: redis.url, prefix: `${redis.prefix}-${port}` })

  async function burst(): Promise<number[]> {
    const dispatcher = new Agent({ connections: 64 })
    const credentials = USERS.map((user) => bearer(user))
    const asked = Array.from({ length: 1000 }, async (_, i) => {
      const response = await fetch(`${url}/x`, { headers: credentials[i % 10] ?? {}, dispatcher })
      await response.text()
      return response.status
    })
    const statuses = await Promise.all(asked)
    await dispatcher.close()
    return statuses
  }

  it('pass exactly what the personal limits and the global one allow, and their metrics add up', async () => {
    await start({ personal: 31, cost: 3, ...store() })
    const statuses = await burst()
    expect(countByUser(backend)).toEqual(new Map(USERS.map((user) => [user, 10])))
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
    expect(statuses.filter((status) => status === 429)).toHaveLength(900)

    await expect.poll(async () => [await counted(), await counted('refused')]).toEqual([100, 900])
    const { value, found } = await metrics()
    expect(value('tollgate_tokens_charged_total', { category: 'read' })).toBe(300)
    expect(value('tollgate_request_duration_seconds_count', { code_class: '2xx' })).toBe(100)
    expect(value('tollgate_request_duration_seconds_bucket', { code_class: '4xx', le: '+Inf' })).toBe(900)
    expect(value('tollgate_workers')).toBe(2)
    expect(found('tollgate_build_info')).toEqual([1])
    expect(found('tollgate_config_info')).toEqual([1])

    file(config({ global: 400, cost: 3, ...store() }))
    await expect.poll(() => everywhere(limit), { timeout: 30_000 }).toEqual(eight(1e6))
    expect((await burst()).filter((status) => status === 200)).toHaveLength(33)
    expect(backend.seen).toHaveLength(133)
    expect(await standing()).toMatchObject([{}, { limit: 400, used: 399 }])
    expect(lines('the store fails')).toEqual([])
    await running?.end('SIGTERM')
    const shares = Map.groupBy(lines('request'), ({ worker }) => worker)
    expect([...shares.keys()].sort()).toEqual([1, 2])
  })

  it('follow what is changed at run time, and tell what they are, each for itself', async () => {
    await start({ ...store(), personal: 100 })
    const hand = kind === 'sqlite' ? sqliteHand() : await redisHand()
    try {
      expect(await everywhere(limit)).toEqual(eight(100))
      await hand.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'alice', why: null }, null)
      await expect.poll(() => everywhere(limit), { timeout: 30_000 }).toEqual(eight(150))
      const told = async () =>
        (await hand.listReplicas()).map(({ pid, controlVersion, configProblems }) => {
          return { pid, controlVersion, problems: configProblems.length }
        })
      const each = (problems: number) =>
        pids().then((all) => all.sort((a, b) => a - b).map((pid) => ({ pid, controlVersion: 1, problems })))
      await expect.poll(told, { timeout: 30_000 }).toEqual(await each(0))
      const figures = async () => {
        const { found } = await metrics()
        return [found('tollgate_control_version'), found('tollgate_adaptive_factor')]
      }
      await expect.poll(figures).toEqual([[1], [1]])
      file('nonsense: true')
      await expect.poll(told, { timeout: 30_000 }).toEqual(await each(2))
      file(config({ ...store(), personal: 200 }))
      await expect.poll(told, { timeout: 30_000 }).toEqual(await each(0))
      expect(await everywhere(limit)).toEqual(eight(300))
      await running?.end('SIGTERM')
      expect(await told()).toEqual([])
    } finally {
      await hand.close()
    }
  })

  it('both know a user who has charged at one of them, and the primary explains it as they decide', async () => {
    const reserve = 'reserve: { share: 20%, known_after: 1s, remember: 1h }'
    await start(config({ ...store(), personal: 100, global: 50 }).replace('quota:', `quota:\n  ${reserve}`))
    const decisionOn = async (user: string) => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
      const response = await fetch(`${admin}/api/explain?user=${user}&method=GET&path=/x`, { headers })
      return ((await response.json()) as ExplainResponse).decision
    }
    expect((await askOnce('/x', jwtOf('ann'))).status).toBe(200)
    // For the worker that has not met her it is the store that says so.
    await expect
      .poll(async () => (await askOnce('/me/quota', jwtOf('ann'))).body, { timeout: 30_000 })
      .toContain('"limit":50')
    for (let i = 0; i < 60; i++) await askOnce('/x', jwtOf(`new-${i}`))
    expect(backend.seen).toHaveLength(40)
    expect(await decisionOn('late')).toBe('refuse')
    expect(await everywhere(async () => (await askOnce('/x', jwtOf('late'))).status)).toEqual(eight(429))
    expect(await decisionOn('ann')).toBe('accept')
    expect(await everywhere(async () => (await askOnce('/x', jwtOf('ann'))).status)).toEqual(eight(200))
  })

  it('go by one adaptive factor, which is that of what is in force', async () => {
    const hand = kind === 'sqlite' ? sqliteHand() : await redisHand()
    try {
      await hand.addTally({ total: 1000, status0: 0, status5xx: 1000, aside: 0, asideFailed: 0 })
      await start(config({ ...store(), personal: 100 }).replace('quota:', 'quota:\n  mode: adaptive'))
      const inForce = async () => {
        const response = await fetch(`${admin}/api/in-force`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
        const { adaptive, effective } = (await response.json()) as InForceResponse
        return [adaptive.factor, effective.personal.read?.long]
      }
      await expect.poll(inForce).toEqual([0.75, 75])
      expect(await everywhere(limit)).toEqual(eight(75))
    } finally {
      await hand.close()
    }
  })

  const sqliteHand = (): Store => openSqliteStore({ file: join(folder, 'quota.db') })
  async function redisHand(): Promise<Store> {
    const hand = openRedisStore({
      url: redis.url,
      prefix: `${redis.prefix}-${port}`,
      deadlineMs: 5000,
      observe: () => {},
    })
    await expect.poll(() => hand.ping().then(() => true)).toBe(true)
    return hand
  }
})

/** Asks again and again on one connection until it is told to stop; what failed is its result. */
async function client(until: () => boolean, answered: (status: number) => void): Promise<Error[]> {
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

describe('a worker that is killed', () => {
  it('is started again; meanwhile the other one serves, and the limit holds', async () => {
    await start({ global: 3000, cost: 2 })
    const [first = 0] = await pids()
    let stopped = false
    const statuses: number[] = []
    const answered = (status: number): void => {
      statuses.push(status)
    }
    const clients = Array.from({ length: 8 }, () => client(() => stopped, answered))
    await expect.poll(() => backend.seen.length, { timeout: 30_000 }).toBeGreaterThan(100)
    process.kill(first, 'SIGKILL')
    const known = statuses.length
    await expect.poll(() => statuses.length, { timeout: 30_000 }).toBeGreaterThan(known + 100)
    expect(await readiness()).toBe(200)
    await expect.poll(() => lines('worker started').length, { timeout: 30_000 }).toBe(3)
    await expect.poll(() => statuses.includes(429), { timeout: 60_000 }).toBe(true)
    await expect.poll(async () => (await metrics()).value('tollgate_workers'), { timeout: 30_000 }).toBe(2)
    stopped = true
    const failures = (await Promise.all(clients)).flat()

    // Each connection had one request under way at most: of those that the dead worker had the charge stays.
    expect(failures.length).toBeLessThanOrEqual(8)
    const used = (await standing())[1]?.used ?? 0
    expect(used).toBeLessThanOrEqual(3000)
    expect(backend.seen.length * 2).toBeLessThanOrEqual(used)
    expect(backend.seen.length * 2).toBeGreaterThanOrEqual(used - failures.length * 2)
    expect(lines('worker ended unasked')).toMatchObject([{ worker: 1, pid: first, reason: 'SIGKILL' }])
    const { value } = await metrics()
    expect(value('tollgate_worker_exits_total', { reason: 'SIGKILL' })).toBe(1)
  })

  it('while it was being handed a connection leaves nobody waiting, and what it counted in the metrics', async () => {
    await start()
    await everywhere(() => askOnce('/x'))
    await expect.poll(() => counted()).toBe(8)
    const [first = 0] = await pids()
    process.kill(first, 'SIGSTOP')
    const request = `GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${jwtOf('alice')}\r\n\r\n`
    const clients = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const socket = net.connect(port, '127.0.0.1').on('error', () => {})
        const chunks: Buffer[] = []
        socket.on('data', (chunk: Buffer) => chunks.push(chunk))
        const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
        await once(socket, 'connect')
        socket.write(request)
        return { closed, response: () => Buffer.concat(chunks).toString() }
      }),
    )
    const responses = () => clients.filter(({ response }) => response().startsWith('HTTP/1.1 200'))
    await expect.poll(() => responses().length, { timeout: 30_000 }).toBe(3)
    process.kill(first, 'SIGKILL')
    await Promise.all(clients.map(({ closed }) => closed))
    expect(responses()).toHaveLength(3)

    await expect.poll(() => lines('worker started').length, { timeout: 30_000 }).toBe(3)
    await expect.poll(async () => (await metrics()).value('tollgate_workers'), { timeout: 30_000 }).toBe(2)
    await expect.poll(() => counted()).toBe(11)
    await everywhere(() => askOnce('/x'))
    await expect.poll(() => counted()).toBe(19)
  })
})

describe('SIGTERM to the primary', () => {
  it('under load fails no request, lets what is under way finish in every worker, and ends with 0', async () => {
    const gateway = await start({ rest: 'drain: { delay: 2s }' })
    const workers = await pids()
    // Longer than `drain.delay`.
    respond = (seen, res) => setTimeout(() => res.end('ok'), seen.url === '/slow' ? 3000 : 5)
    const statuses: number[] = []
    const clients = Array.from({ length: 20 }, () =>
      client(
        () => false,
        (status) => statuses.push(status),
      ),
    )
    await expect.poll(() => statuses.length, { timeout: 30_000 }).toBeGreaterThan(200)
    const slow = Array.from({ length: 10 }, () => askOnce('/slow'))
    await expect.poll(() => backend.seen.filter((seen) => seen.url === '/slow')).toHaveLength(10)
    gateway.child.kill('SIGTERM')
    // Each is told by `Connection: close` to go elsewhere.
    expect((await Promise.all(clients)).flat()).toEqual([])
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await gateway.ended).toBe(0)
    expect(await Promise.all(slow)).toEqual(Array(10).fill({ status: 200, body: 'ok' }))
    expect(backend.seen).toHaveLength(statuses.length + 10)
    expect(workers.map(isAlive)).toEqual([false, false])
    expect(lines('request').filter(({ outcome }) => outcome === 'forwarded')).toHaveLength(statuses.length + 10)
  })

  it('a second time ends all at once, with exit code 1', async () => {
    respond = () => {}
    const gateway = await start({ rest: 'drain: { timeout: 1h }' })
    const workers = await pids()
    const hanging = askOnce('/never').catch((error: unknown) => error)
    await expect.poll(() => backend.seen.length).toBe(1)
    gateway.child.kill('SIGTERM')
    await expect.poll(readiness).toBe(503)
    await sleep(400) // sooner it is the same signal
    expect(gateway.child.exitCode).toBeNull()
    expect(await gateway.end('SIGTERM')).toBe(1)
    expect(await hanging).toBeInstanceOf(Error)
    await expect.poll(() => workers.map(isAlive)).toEqual([false, false])
  })
})

it('SIGTERM to a worker lets what is under way in it finish and be counted, and another takes its place', async () => {
  respond = ({ url }, res) => setTimeout(() => res.end('ok'), url === '/slow' ? 800 : 0)
  await start({ rest: 'drain: { delay: 0s }' })
  const [first = 0] = await pids()
  const slow = Array.from({ length: 4 }, () => askOnce('/slow'))
  await expect.poll(() => backend.seen.length).toBe(4)
  process.kill(first, 'SIGTERM')
  expect(await Promise.all(slow)).toEqual(Array(4).fill({ status: 200, body: 'ok' }))
  await expect.poll(() => lines('worker ended unasked')).toMatchObject([{ pid: first, reason: 'exit 0' }])
  expect(await counted()).toBe(4)
  await expect.poll(() => lines('worker started').length).toBe(3)
})

it('SIGINT and SIGHUP, which a terminal sends to all, end no worker by themselves', async () => {
  await start()
  const workers = await pids()
  for (const worker of workers) {
    process.kill(worker, 'SIGINT')
    process.kill(worker, 'SIGHUP')
  }
  await sleep(300)
  expect(workers.map(isAlive)).toEqual([true, true])
  expect(await everywhere(async () => (await askOnce('/x')).status)).toEqual(eight(200))
  expect(lines('worker started')).toHaveLength(2)
})

describe('a primary that is killed', () => {
  it('leaves no worker behind, and requests under way finish; each worker says that it ends', async () => {
    respond = ({ url }, res) => {
      if (url === '/slow') setTimeout(() => res.end('ok'), 800)
    }
    const gateway = await start({ rest: 'drain: { timeout: 1h }' })
    const workers = await pids()
    const hanging = askOnce('/never').catch((error: unknown) => error)
    const slow = [askOnce('/slow'), askOnce('/slow')]
    await expect.poll(() => backend.seen.length).toBe(3)
    gateway.child.kill('SIGKILL')
    expect(await Promise.all(slow)).toEqual(Array(2).fill({ status: 200, body: 'ok' }))
    await expect.poll(() => workers.map(isAlive)).toEqual([false, false])
    expect(await hanging).toBeInstanceOf(Error)
    const store = openSqliteStore({ file: join(folder, 'quota.db') })
    expect(await store.listReplicas()).toEqual([])
    await store.close()
  })

  it('while it drains leaves none behind either, however long the drain may take', async () => {
    respond = () => {}
    const gateway = await start({ rest: 'drain: { timeout: 1h }' })
    const workers = await pids()
    const hanging = askOnce('/never').catch((error: unknown) => error)
    await expect.poll(() => backend.seen.length).toBe(1)
    gateway.child.kill('SIGTERM')
    await expect.poll(readiness).toBe(503)
    gateway.child.kill('SIGKILL')
    await expect.poll(() => workers.map(isAlive)).toEqual([false, false])
    expect(await hanging).toBeInstanceOf(Error)
  })
})

describe('a changed configuration', () => {
  it('with problems leaves all on the old one and says so once', async () => {
    const gateway = await start({ personal: 5 })
    file(config({ personal: 7 }).replace('category: read', 'categry: read'))
    await expect.poll(gateway.output, { timeout: 30_000 }).toContain('did you mean')
    expect(await everywhere(limit)).toEqual(eight(5))
    const { value, found } = await metrics()
    expect(value('tollgate_config_last_reload_successful')).toBe(0)
    expect(found('tollgate_config_info')).toHaveLength(1)
    expect(lines('configuration refused, the one before stays in force')).toHaveLength(1)
    /** By process, whether it tells of the file: those that are not in `known`. */
    const told = async (known: readonly number[] = []): Promise<[number, boolean][]> => {
      const response = await fetch(`${admin}/api/now`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
      const { replicas } = (await response.json()) as { replicas: { pid: number; configProblems: string[] }[] }
      return replicas.flatMap(({ pid, configProblems }) =>
        known.includes(pid) ? [] : [[pid, configProblems.length > 0]],
      )
    }
    const each = async (known?: readonly number[]) => (await told(known)).map(([, tells]) => tells)
    await expect.poll(() => each()).toEqual([true, true])
    const pids = (await told()).map(([pid]) => pid)
    process.kill(pids[0] as number, 'SIGKILL')
    await expect.poll(() => each(pids)).toEqual([true])
    // One that starts after it was mended has nothing to tell.
    file(config({ personal: 7 }))
    await expect.poll(() => everywhere(limit)).toEqual(eight(7))
    process.kill(pids[1] as number, 'SIGKILL')
    await expect.poll(() => each(pids)).toEqual([false, false])
  })

  /** Kills the first worker. Resolves when another has taken its place. */
  async function replaceFirst(): Promise<void> {
    const [first = 0] = await pids()
    process.kill(first, 'SIGKILL')
    await expect.poll(() => lines('worker started').length).toBe(3)
    await expect.poll(async () => (await metrics()).value('tollgate_workers')).toBe(2)
  }

  it('that needs a restart is told as that once, and a worker that starts later charges where the others do', async () => {
    await start({ personal: 5 })
    file(config({ personal: 5, store: `sqlite:${join(folder, 'other.db')}` }))
    const told = () =>
      running?.lines().filter((line) => JSON.stringify(line).includes('takes effect at the next restart'))
    await expect.poll(told).toHaveLength(1)
    await replaceFirst()
    const statuses = await everywhere(async () => (await askOnce('/x')).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    expect(told()).toHaveLength(1)
    expect(lines('configuration in force, but not in every worker')).toEqual([])
  })

  it('that names a file of no use leaves all on the old one, also a worker that starts later', async () => {
    await start({ personal: 5 })
    const ca = join(folder, 'ca.pem')
    writeFileSync(ca, 'no certificate')
    const upstream = `upstream: { url: "https://127.0.0.1:1", tls: { ca: ${ca} } }`
    file(config({ personal: 7 }).replace(/upstream: .*/, upstream))
    await expect.poll(() => lines('configuration refused, the one before stays in force')).toHaveLength(1)
    await replaceFirst()
    expect(await everywhere(limit)).toEqual(eight(5))
  })

  it('shows as two hashes while one worker does not have it, then is in force in each, also in one that starts later', async () => {
    await start({ personal: 5 })
    const [first = 0] = await pids()
    const hashes = async () => (await metrics()).found('tollgate_config_info').length
    expect(await hashes()).toBe(1)
    process.kill(first, 'SIGSTOP')
    // Scraping does not wait for it.
    file(config({ personal: 7 }))
    await expect.poll(hashes, { timeout: 30_000 }).toBe(2)
    process.kill(first, 'SIGCONT')
    await expect.poll(hashes, { timeout: 30_000 }).toBe(1)
    expect(await everywhere(limit)).toEqual(eight(7))
    process.kill(first, 'SIGKILL')
    await expect.poll(() => lines('worker started').length, { timeout: 30_000 }).toBe(3)
    await expect.poll(async () => (await metrics()).value('tollgate_workers'), { timeout: 30_000 }).toBe(2)
    expect(await everywhere(limit)).toEqual(eight(7))
  })

  it('that a worker is silent about is told as not in every one, and as the only one once it has taken it', async () => {
    await start({ personal: 5 })
    const [first = 0] = await pids()
    process.kill(first, 'SIGSTOP')
    file(config({ personal: 7 }))
    const told = () => lines('configuration in force, but not in every worker')
    await expect
      .poll(told, { timeout: 30_000 })
      .toMatchObject([{ problems: [expect.stringMatching(/^worker 1: has not answered/)] }])
    process.kill(first, 'SIGCONT')
    await expect.poll(() => everywhere(limit), { timeout: 30_000 }).toEqual(eight(7))
    const hashes = async () => (await metrics()).found('tollgate_config_info').length
    await expect.poll(hashes).toBe(1)
    expect((await metrics()).value('tollgate_config_last_reload_successful')).toBe(1)
  })
})

describe('two workers', () => {
  it('write one log whose lines are whole, one for each request, into a pipe that is full', async () => {
    const pipe = join(folder, 'log')
    execFileSync('mkfifo', [pipe])
    const end = openSync(pipe, 'r+')
    const args = ['src/main.ts', 'serve', '-c', file(config())]
    const child = spawn(process.execPath, args, { stdio: ['ignore', end, 'inherit'] })
    const log = createReadStream(pipe)
    const exited = once(child, 'exit')
    try {
      await once(log, 'open')
      closeSync(end)
      await expect.poll(() => readiness().catch(() => 0), { timeout: 30_000 }).toBe(200)
      const dispatcher = new Agent({ connections: 32 })
      // Several times what the pipe holds, and nobody reads it yet.
      const headers = bearer('u'.repeat(250))
      const ids = await Promise.all(
        Array.from({ length: 2000 }, async () => {
          const response = await fetch(`${url}/x`, { headers, dispatcher })
          await response.text()
          return response.headers.get('x-request-id')
        }),
      )
      await dispatcher.close()
      const said = text(log)
      child.kill('SIGTERM')
      expect(await exited).toEqual([0, null])
      const logged = (await said)
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      const requests = logged.filter(({ msg }) => msg === 'request')
      expect(requests.map(({ requestId }) => requestId).sort()).toEqual(ids.sort())
      expect(new Set(requests.map(({ worker }) => worker))).toEqual(new Set([1, 2]))
    } finally {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    }
  })

  it('find one free port where none is named, refuse a revoked gateway token 2 seconds later, and share the limits', async () => {
    await start(
      config({ rest: 'edge: { max_in_flight: 2, shares: { address: none, user: none } }' }).replace(
        `listen: 127.0.0.1:${port}`,
        'listen: 127.0.0.1:0',
      ),
    )
    const urls = () => lines('listening').filter(({ what }) => what === 'gateway')
    await expect.poll(() => urls().length).toBe(2)
    const [one, two] = urls().map((line) => String(line.url))
    expect(one).toBe(two)
    port = Number(new URL(one ?? '').port)

    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ user: 'bob', name: 'laptop' })
    const made = await fetch(`${admin}/api/tokens`, { method: 'POST', headers, body })
    const { id, token } = (await made.json()) as { id: string; token: string }
    const status = async (): Promise<number> => (await askOnce('/x', token)).status
    expect(await everywhere(status)).toEqual(eight(200))
    const { authorization } = headers
    const gone = await fetch(`${admin}/api/tokens/${id}`, { method: 'DELETE', headers: { authorization } })
    expect(gone.status).toBe(204)
    await sleep(2000)
    expect(await everywhere(status)).toEqual(eight(401))

    respond = () => {}
    const seen = backend.seen.length
    const hanging = [askOnce('/never'), askOnce('/never')].map((asked) => asked.catch((error: unknown) => error))
    await expect.poll(() => backend.seen.length - seen).toBe(2)
    expect(await everywhere(async () => (await askOnce('/never')).status)).toEqual(eight(503))
    await running?.end('SIGKILL')
    for (const response of await Promise.all(hanging)) expect(response).toBeInstanceOf(Error)
  })

  it('have started for a startup probe also where their store is not there, and are not ready', async () => {
    running = await spawnGateway(file(config({ store: `redis://127.0.0.1:${await freePort()}` })), `${admin}/livez`)
    const started = async (): Promise<number> => (await fetch(`${admin}/readyz?startup=1`)).status
    await expect.poll(started).toBe(200)
    expect(await readiness()).toBe(503)
  })

  it('stay ready where nobody asks for their metrics', async () => {
    await start()
    // Longer than what a worker says of itself counts.
    await sleep(6000)
    expect(await readiness()).toBe(200)
  })

  it('all send their clients elsewhere when /drain is asked for', async () => {
    await start()
    const statuses: number[] = []
    const answered = (status: number): void => void statuses.push(status)
    const clients = Array.from({ length: 8 }, () => client(() => false, answered))
    await expect.poll(() => statuses.length).toBeGreaterThan(100)
    const turn = async (): Promise<unknown> =>
      (await fetch(`${admin}/drain`, { method: 'POST', headers: { 'X-Tollgate-Drain': 'yes' } })).json()
    expect(await turn()).toMatchObject({ draining: true })
    expect((await Promise.all(clients)).flat()).toEqual([])
    expect(await readiness()).toBe(503)
    expect(await turn()).toMatchObject({ draining: false })
    await expect.poll(readiness).toBe(200)
  })

  it('tell the administrators that a store which may be read takes no charges, and what was changed before', async () => {
    const own = await startRedis()
    const client = new Redis(own.url)
    const hand = openRedisStore({ url: own.url, deadlineMs: 5000, observe: () => {} })
    try {
      await start({ store: own.url })
      await hand.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'alice', why: null }, null)
      await expect.poll(() => everywhere(limit)).toEqual(eight(1.5e6))
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
      await client.call('REPLICAOF', '127.0.0.1', '1')
      await expect.poll(() => askOnce('/x').then(readiness)).toBe(503)
      const now = await (await fetch(`${admin}/api/now`, { headers })).json()
      expect(now).toMatchObject({ store: { answers: false }, controlVersion: 1 })
    } finally {
      await running?.end('SIGTERM')
      await hand.close()
      client.disconnect()
      await own.stop()
    }
  })

  it('that cannot have their address end with a message that names it', async () => {
    const other = net.createServer().listen(port, '127.0.0.1')
    await once(other, 'listening')
    const child = spawn(process.execPath, ['src/main.ts', 'serve', '-c', file(config())])
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect(said).toMatch(
      /^tollgate: .*tollgate\.yaml:\d+:\d+ listen: .*EADDRINUSE.*: choose an address of this machine whose port is free\n$/m,
    )
    expect(code).toBe(1)
    other.close()
  })
})

it('workers: 1 is one process', async () => {
  const gateway = await start({ workers: 1 })
  const { pid } = gateway.child
  expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')).toBe('')
  expect((await askOnce('/x')).status).toBe(200)
})
