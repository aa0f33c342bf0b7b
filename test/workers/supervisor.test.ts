import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Observation } from '../../src/observe/observation.ts'
import { createSupervisor, type Supervisor } from '../../src/workers/supervisor.ts'
import { startBackend, understood, yaml } from '../e2e/harness.ts'

/** Real worker processes, and a clock that the test sets. */

let clock: number
let seen: Observation[]
let supervisor: Supervisor
let backend: Awaited<ReturnType<typeof startBackend>>
beforeEach(async () => {
  clock = performance.now()
  seen = []
  backend = await startBackend()
  const { config, hash } = understood(yaml(backend.url, 'routes: [{ match: GET /*, public: true }]'))
  supervisor = createSupervisor({
    count: 1,
    begin: () => ({ config, hash, version: 'test', problems: [] }),
    onReport: () => {},
    onEnd: () => {},
    write: () => {},
    observe: (observation) => seen.push(observation),
    now: () => clock,
  })
})
afterEach(async () => {
  await supervisor.stop(0)
  await backend.close()
})

const started = (): number[] => seen.flatMap((o) => (o.type === 'worker_started' ? [o.pid] : []))
const ended = () => seen.filter((o) => o.type === 'worker_ended')
const isReady = () => supervisor.ask(10_000).then(() => supervisor.states()[0]?.ready)

describe('a worker that hangs', () => {
  beforeEach(async () => {
    await supervisor.start()
    await expect.poll(isReady).toBe(true)
    process.kill(started()[0] ?? 0, 'SIGSTOP')
  })

  it('is not ready after 5 seconds, and goes on where it left off when it comes to', async () => {
    clock += 5001
    await supervisor.ask(10)
    expect(supervisor.states()).toEqual([{ worker: 1, ready: false, reasons: ['does not answer'] }])
    clock += 24_998
    await supervisor.ask(10)
    process.kill(started()[0] ?? 0, 'SIGCONT')
    await expect.poll(isReady).toBe(true)
    expect(ended()).toEqual([])
  })

  it('is ended after 30 seconds, and another takes its place', async () => {
    clock += 30_001
    await supervisor.ask(10)
    await expect.poll(ended).toMatchObject([{ worker: 1, reason: 'no answer for 30 s', restartMs: 100 }])
    await expect.poll(isReady, { timeout: 20_000 }).toBe(true)
    expect(started()).toHaveLength(2)
  })
})
