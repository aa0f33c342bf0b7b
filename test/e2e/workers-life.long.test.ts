import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { Agent, fetch } from 'undici'
import { describe, expect, it } from 'vitest'
import { countByUser } from './harness.ts'
import { bearer } from './jwt.ts'
import {
  askOnce,
  backend,
  client,
  config,
  counted,
  eight,
  everywhere,
  file,
  handAt,
  isAlive,
  limit,
  lines,
  metrics,
  pids,
  port,
  readiness,
  respondWith,
  running,
  STORES,
  standing,
  start,
  storeOf,
  url,
  withGatewayProcess,
} from './workers.ts'

/** What of several workers is asked each day; `workers.long.test.ts` has the rest. */

withGatewayProcess()

describe.each(STORES)('two workers on %s', (kind) => {
  const USERS = Array.from({ length: 10 }, (_, i) => `user-${i}`)

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
    await start({ personal: 31, cost: 3, ...storeOf(kind) })
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

    file(config({ global: 400, cost: 3, ...storeOf(kind) }))
    await expect.poll(() => everywhere(limit), { timeout: 30_000 }).toEqual(eight(1e6))
    expect((await burst()).filter((status) => status === 200)).toHaveLength(33)
    expect(backend.seen).toHaveLength(133)
    expect(await standing()).toMatchObject([{}, { limit: 400, used: 399 }])
    expect(lines('the store fails')).toEqual([])
    await running?.end('SIGTERM')
    const shares = Map.groupBy(lines('request'), ({ worker }) => worker)
    expect([...shares.keys()].sort()).toEqual([1, 2])
  })

  it('two workers follow what is changed at run time, and tell what they are, each for itself', async () => {
    await start({ ...storeOf(kind), personal: 100 })
    const hand = await handAt(kind)
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
      file(config({ ...storeOf(kind), personal: 200 }))
      await expect.poll(told, { timeout: 30_000 }).toEqual(await each(0))
      expect(await everywhere(limit)).toEqual(eight(300))
      await running?.end('SIGTERM')
      expect(await told()).toEqual([])
    } finally {
      await hand.close()
    }
  })
})

it('a worker that is killed is started again; meanwhile the other one serves, and the limit holds', async () => {
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

it('SIGTERM to the primary under load fails no request, lets what is under way finish in every worker, and ends with 0', async () => {
  const gateway = await start({ rest: 'drain: { delay: 2s }' })
  const workers = await pids()
  // Longer than `drain.delay`.
  respondWith((seen, res) => setTimeout(() => res.end('ok'), seen.url === '/slow' ? 3000 : 5))
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

it('two workers that cannot have their address end with a message that names it', async () => {
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

it('workers: 1 is one process', async () => {
  const gateway = await start({ workers: 1 })
  const { pid } = gateway.child
  expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')).toBe('')
  expect((await askOnce('/x')).status).toBe(200)
})
