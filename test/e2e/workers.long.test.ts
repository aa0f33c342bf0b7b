import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createReadStream, openSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Agent, fetch } from 'undici'
import { describe, expect, it } from 'vitest'
import type { ExplainResponse, InForceResponse } from '../../src/contract/api.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { freePort, startRedis } from '../setup/redis.ts'
import { bearer, jwtOf } from './jwt.ts'
import { spawnGateway } from './process.ts'
import {
  ADMIN_TOKEN,
  admin,
  askAt,
  askOnce,
  backend,
  client,
  config,
  counted,
  eight,
  everywhere,
  file,
  folder,
  handAt,
  isAlive,
  keep,
  limit,
  lines,
  metrics,
  pids,
  port,
  readiness,
  respondWith,
  running,
  STORES,
  start,
  storeOf,
  url,
  withGatewayProcess,
} from './workers.ts'

withGatewayProcess()

describe.each(STORES)('two workers on %s', (kind) => {
  it('both know a user who has charged at one of them, and the primary explains it as they decide', async () => {
    const reserve = 'reserve: { share: 20%, known_after: 1s, remember: 1h }'
    await start(config({ ...storeOf(kind), personal: 100, global: 50 }).replace('quota:', `quota:\n  ${reserve}`))
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

  it('two workers go by one adaptive factor, which is that of what is in force', async () => {
    const hand = await handAt(kind)
    try {
      await hand.addTally({ total: 1000, status0: 0, status5xx: 1000, status4xx: 0, aside: 0, asideFailed: 0 })
      await start(config({ ...storeOf(kind), personal: 100 }).replace('quota:', 'quota:\n  mode: adaptive'))
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
})

describe('a worker that is killed', () => {
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
  it('a second time ends all at once, with exit code 1', async () => {
    respondWith(() => {})
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
  respondWith(({ url }, res) => setTimeout(() => res.end('ok'), url === '/slow' ? 800 : 0))
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

it('a primary that is killed leaves no worker behind, and requests under way finish; each worker says that it ends', async () => {
  respondWith(({ url }, res) => {
    if (url === '/slow') setTimeout(() => res.end('ok'), 800)
  })
  const gateway = await start({ rest: 'drain: { timeout: 1h }' })
  const workers = await pids()
  const hanging = askOnce('/never').catch((error: unknown) => error)
  const slow = [askOnce('/slow'), askOnce('/slow')]
  await expect.poll(() => backend.seen.length).toBe(3)
  gateway.child.kill('SIGKILL')
  expect(await Promise.all(slow)).toEqual(Array(2).fill({ status: 200, body: 'ok' }))
  await expect.poll(() => workers.map(isAlive)).toEqual([false, false])
  expect(await hanging).toBeInstanceOf(Error)
  const store = closedAtEnd(openSqliteStore({ file: join(folder, 'quota.db') }))
  expect(await store.listReplicas()).toEqual([])
})

it('a primary that is killed while it drains leaves none behind either, however long the drain may take', async () => {
  respondWith(() => {})
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

it('a changed configuration with problems leaves all on the old one and says so once', async () => {
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

it('a changed configuration that needs a restart is told as that once, and a worker that starts later charges where the others do', async () => {
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

it('a changed configuration that names a file of no use leaves all on the old one, also a worker that starts later', async () => {
  await start({ personal: 5 })
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, 'no certificate')
  const upstream = `upstream: { url: "https://127.0.0.1:1", tls: { ca: ${ca} } }`
  file(config({ personal: 7 }).replace(/upstream: .*/, upstream))
  await expect.poll(() => lines('configuration refused, the one before stays in force')).toHaveLength(1)
  await replaceFirst()
  expect(await everywhere(limit)).toEqual(eight(5))
})

it('a changed configuration shows as two hashes while one worker does not have it, then is in force in each, also in one that starts later', async () => {
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

it('a changed configuration that a worker is silent about is told as not in every one, and as the only one once it has taken it', async () => {
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

  it('two workers find one free port where none is named, refuse a revoked access key 2 seconds later, and share the limits', async () => {
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
    askAt(Number(new URL(one ?? '').port))

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

    respondWith(() => {})
    const seen = backend.seen.length
    const hanging = [askOnce('/never'), askOnce('/never')].map((asked) => asked.catch((error: unknown) => error))
    await expect.poll(() => backend.seen.length - seen).toBe(2)
    expect(await everywhere(async () => (await askOnce('/never')).status)).toEqual(eight(503))
    await running?.end('SIGKILL')
    for (const response of await Promise.all(hanging)) expect(response).toBeInstanceOf(Error)
  })

  it('two workers have started for a startup probe also where their store is not there, and are not ready', async () => {
    const path = file(config({ store: `redis://127.0.0.1:${await freePort()}` }))
    keep(await spawnGateway(path, `${admin}/livez`))
    const started = async (): Promise<number> => (await fetch(`${admin}/readyz?startup=1`)).status
    await expect.poll(started).toBe(200)
    expect(await readiness()).toBe(503)
  })

  it('two workers stay ready where nobody asks for their metrics', async () => {
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

  it('two workers tell the administrators that a store which may be read takes no charges, and what was changed before', async () => {
    const own = await startRedis()
    const client = new Redis(own.url)
    const hand = closedAtEnd(openRedisStore({ url: own.url, deadlineMs: 5000, observe: () => {} }))
    try {
      await start({ store: own.url })
      await hand.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'alice', why: null }, null)
      await expect.poll(() => everywhere(limit)).toEqual(eight(1.5e6))
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
      await client.call('REPLICAOF', '127.0.0.1', '1')
      const now = async () => (await fetch(`${admin}/api/now`, { headers })).json()
      await expect.poll(() => askOnce('/x').then(now)).toMatchObject({ store: { answers: false }, controlVersion: 1 })
      // All replicas lack the same store.
      expect(await readiness()).toBe(200)
    } finally {
      await running?.end('SIGTERM')
      client.disconnect()
    }
  })
})
