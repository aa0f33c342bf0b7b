import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { createWorker } from '../../src/workers/worker.ts'
import { understood } from '../e2e/harness.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'

it('a worker that starts after a configuration file was not taken tells why from its first beat', async () => {
  const folder = tempFolder()
  const file = join(folder, 'quota.db')
  const { config, hash } = understood(`listen: 127.0.0.1:0
upstream: { url: "http://127.0.0.1:9000" }
store: "sqlite:${file}"
log: { level: error }`)
  const problems = ['tollgate.yaml:1:1 listen: wrong']
  const worker = await createWorker({ type: 'begin', worker: 2, version: '1.2.3', config, hash, problems })
  const store = closedAtEnd(openSqliteStore({ file }))
  try {
    await worker.start()
    const told = async () =>
      (await store.listReplicas()).map(({ configProblems: problems, controlVersion }) => ({ problems, controlVersion }))
    await expect.poll(told, { timeout: 30_000, interval: 1 }).toHaveLength(1)
    expect(await told()).toEqual([{ problems, controlVersion: 0 }])
  } finally {
    await worker.stop()
  }
})
