import { execFileSync } from 'node:child_process'
import cluster from 'node:cluster'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Observation } from '../../src/observe/observation.ts'
import { createSupervisor, type Supervisor } from '../../src/workers/supervisor.ts'
import { startUpstream, understood, yaml } from '../e2e/harness.ts'

/** Real worker processes, and a clock that the test sets. */

const ROUTES = 'routes: [{ match: GET /*, public: true }]'

let clock: number
let begun: ReturnType<typeof understood>
let seen: Observation[]
let supervisor: Supervisor
let upstream: Awaited<ReturnType<typeof startUpstream>>
beforeEach(async () => {
  clock = 1_000_000
  seen = []
  upstream = await startUpstream()
  begun = understood(yaml(upstream.url, ROUTES))
  supervisor = createSupervisor({
    count: 1,
    begin: () => ({ config: begun.config, hash: begun.hash, version: 'test', problems: [] }),
    onReport: () => {},
    onEnd: () => {},
    write: () => {},
    observe: (observation) => seen.push(observation),
    now: () => clock,
  })
})
afterEach(async () => {
  await supervisor.stop(0)
  await upstream.close()
})

const started = (): number[] => seen.flatMap((o) => (o.type === 'worker_started' ? [o.pid] : []))
const ended = () => seen.filter((o) => o.type === 'worker_ended')
const isReady = () => supervisor.ask(10_000).then(() => supervisor.states()[0]?.ready)

describe('a worker that hangs', () => {
  beforeEach(async () => {
    await supervisor.start()
    await expect.poll(isReady).toBe(true)
    const [pid = 0] = started()
    process.kill(pid, 'SIGSTOP')
    await expect.poll(() => / ([A-Z]) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]).toBe('T')
    // What it had still sent is heard before the clock moves.
    await supervisor.ask(10)
  })

  it('a worker that hangs is not ready after 5 seconds, and goes on where it left off when it comes to', async () => {
    clock += 5001
    await supervisor.ask(10)
    expect(supervisor.states()).toEqual([{ worker: 1, ready: false, reasons: ['does not answer'] }])
    clock += 24_998
    await supervisor.ask(10)
    process.kill(started()[0] ?? 0, 'SIGCONT')
    await expect.poll(isReady).toBe(true)
    expect(ended()).toEqual([])
  })

  it('a worker that hangs is not taken to answer a configuration by what it says of the one before', async () => {
    void supervisor.reload()
    begun = understood(yaml('https://127.0.0.1:1', ROUTES, undefined, 'tls: { ca: /nowhere/ca.pem }'))
    const second = supervisor.reload()
    process.kill(started()[0] ?? 0, 'SIGCONT')
    expect(await second).toEqual([expect.stringContaining('/nowhere/ca.pem')])
  })

  it('a worker that hangs is ended after 30 seconds, and another takes its place', async () => {
    clock += 30_001
    await supervisor.ask(10)
    await expect.poll(ended).toMatchObject([{ worker: 1, reason: 'no answer for 30 s', restartMs: 100 }])
    await expect.poll(isReady, { timeout: 30_000 }).toBe(true)
    expect(started()).toHaveLength(2)
  })

  it('a worker that hangs is ended after 30 seconds also where all are told to stop, however long they may take', async () => {
    const stopped = supervisor.stop(600_000)
    clock += 30_001
    await supervisor.ask(10)
    await stopped
    expect(ended()).toMatchObject([{ worker: 1, reason: 'no answer for 30 s', restartMs: null }])
  })
})

describe('a worker that ends', () => {
  beforeEach(async () => {
    await supervisor.start()
  })
  const kill = (): void => void process.kill(started().at(-1) ?? 0, 'SIGKILL')

  it('a worker that ends is waited for longer each time that it ends shortly after it began, up to 5 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      for (let times = 1; times <= 7; times++) {
        kill()
        await expect.poll(() => vi.advanceTimersByTime(5000) && started().length).toBe(times + 1)
      }
    } finally {
      vi.useRealTimers()
    }
    clock += 10_000
    kill()
    await expect.poll(() => started().length).toBe(9)
    kill()
    const pauses = [100, 200, 400, 800, 1600, 3200, 5000, 100, 200]
    await expect.poll(() => ended().map(({ restartMs }) => restartMs)).toEqual(pauses)
  })

  it('a worker that ends is not started again where all are stopped meanwhile', async () => {
    kill()
    await expect.poll(() => ended().length).toBe(1)
    await supervisor.stop(0)
    await sleep(300)
    expect(started()).toHaveLength(1)
  })

  it('a worker that ends is not ready from then on, and says why', async () => {
    await expect.poll(isReady).toBe(true)
    kill()
    await expect.poll(() => ended().length).toBe(1)
    const reasons = ['has ended and is started again']
    expect(supervisor.states()).toEqual([{ worker: 1, ready: false, reasons }])
  })

  it('while the others drain has a successor that drains too', async () => {
    await expect.poll(isReady).toBe(true)
    supervisor.drain(true)
    kill()
    await expect.poll(() => started().length).toBe(2)
    const reasons = () => supervisor.ask(10_000).then(() => supervisor.states()[0]?.reasons)
    await expect.poll(reasons).toContain('draining')
  })

  it('a worker that ends keeps nobody waiting who asks it for a report', async () => {
    await expect.poll(isReady).toBe(true)
    process.kill(started()[0] ?? 0, 'SIGSTOP')
    const asked = supervisor.ask(600_000)
    kill()
    await asked
  })

  it('a worker that ends keeps nobody waiting who gives it another configuration', async () => {
    await expect.poll(isReady).toBe(true)
    process.kill(started()[0] ?? 0, 'SIGSTOP')
    const reloaded = supervisor.reload()
    kill()
    expect(await reloaded).toEqual([])
  })
})

it('a worker has all of a thousand rules and more, also where another configuration follows at once', async () => {
  const rulesOf = (version: string) => {
    const rules = Array.from({ length: 1201 }, (_, i) => `  - { match: GET /${version}/${i}, public: true }`)
    return `routes:\n${rules.join('\n')}`
  }
  begun = understood(yaml(upstream.url, rulesOf('old')))
  const url = await supervisor.start()
  const statusOf = async (path: string) => (await fetch(`${url}${path}`)).status
  expect(await Promise.all(['/old/0', '/old/600', '/old/1200', '/new/0'].map(statusOf))).toEqual([200, 200, 200, 404])
  void supervisor.reload()
  begun = understood(yaml(upstream.url, rulesOf('new')))
  expect(await supervisor.reload()).toEqual([])
  expect(await Promise.all(['/new/0', '/new/600', '/new/1200', '/old/0'].map(statusOf))).toEqual([200, 200, 200, 404])
})

it('a worker is not ready before it has said so', async () => {
  await supervisor.start()
  expect(supervisor.states()).toEqual([{ worker: 1, ready: false, reasons: ['starting'] }])
})

it('a worker for whose process no file descriptor is left is tried again later', async () => {
  await supervisor.start()
  const giveBack = useUpDescriptors()
  try {
    process.kill(started()[0] ?? 0, 'SIGKILL')
    await expect.poll(ended).toMatchObject([
      { reason: 'SIGKILL', restartMs: 100 },
      { reason: 'EMFILE', restartMs: 200 },
    ])
    expect(Object.keys(cluster.workers ?? {})).toEqual([])
  } finally {
    giveBack()
  }
  await expect.poll(isReady, { timeout: 30_000 }).toBe(true)
})

it('a worker for whose process there is no memory is tried again later', async () => {
  await supervisor.start()
  // A machine without memory would end this test, too.
  const fork = vi.spyOn(cluster, 'fork').mockImplementationOnce(() => {
    throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' })
  })
  process.kill(started()[0] ?? 0, 'SIGKILL')
  await expect.poll(ended).toMatchObject([
    { reason: 'SIGKILL', restartMs: 100 },
    { reason: 'ENOMEM', problem: 'spawn ENOMEM', restartMs: 200 },
  ])
  await expect.poll(isReady, { timeout: 30_000 }).toBe(true)
  fork.mockRestore()
})

/** @returns gives them back */
function useUpDescriptors(): () => void {
  const limit = (...args: string[]) => execFileSync('prlimit', ['--pid', String(process.pid), ...args]).toString()
  const before = limit('--nofile', '--noheadings', '--output=SOFT').trim()
  limit('--nofile=500:')
  const used: number[] = []
  expect(() => {
    for (;;) used.push(openSync('/dev/null', 'r'))
  }).toThrow('EMFILE')
  return () => {
    for (const descriptor of used) closeSync(descriptor)
    limit(`--nofile=${before}:`)
  }
}

it('a worker that ends before it listens ends the start, and nothing speaks of another', async () => {
  const starting = supervisor.start()
  process.kill(started()[0] ?? 0, 'SIGKILL')
  await expect(starting).rejects.toThrow(/^worker 1 ended \(SIGKILL\) before it listened: .*memory/)
  expect(ended()).toMatchObject([{ worker: 1, reason: 'SIGKILL', restartMs: null }])
  expect(started()).toHaveLength(1)
})

it('a worker that hangs before it has said anything is ended after 30 seconds as well', async () => {
  const starting = supervisor.start()
  process.kill(started()[0] ?? 0, 'SIGSTOP')
  clock += 30_001
  await supervisor.ask(10)
  await expect(starting).rejects.toThrow(/^worker 1 ended \(no answer for 30 s\)/)
})

it('workers that have ended leave no timer behind, which would keep the process', async () => {
  await supervisor.start()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    await supervisor.ask(600_000)
    await supervisor.stop(600_000)
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

it('a worker that does not end when it is told to is killed after its time', async () => {
  await supervisor.start()
  process.kill(started()[0] ?? 0, 'SIGSTOP')
  await supervisor.stop(200)
  expect(ended()).toMatchObject([{ reason: 'SIGKILL', restartMs: null }])
})
