import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { beforeEach, expect, it } from 'vitest'
import { forgetUnborn } from '../../src/node/unborn-worker.ts'

const kept = (): string[] => Object.keys(cluster.workers ?? {})

beforeEach(() => {
  for (const id of kept()) delete cluster.workers?.[id]
})

/** There is no such folder to start it in. */
async function startUnborn(): Promise<Worker> {
  cluster.setupPrimary({ exec: import.meta.filename, cwd: '/no/such/folder' })
  const worker = cluster.fork()
  await once(worker, 'error')
  return worker
}

it('a worker that never had a process is kept by Node, until it is forgotten', async () => {
  const worker = await startUnborn()
  expect(kept()).toEqual([String(worker.id)])
  forgetUnborn(worker)
  expect(kept()).toEqual([])
})

it('a worker with a process is left to Node', async () => {
  cluster.setupPrimary({ exec: '/dev/null', cwd: '/' })
  const worker = cluster.fork()
  forgetUnborn(worker)
  expect(kept()).toEqual([String(worker.id)])
  worker.process.kill('SIGKILL')
  await once(worker.process, 'exit')
})
