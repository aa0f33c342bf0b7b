import { expect, test } from 'vitest'
import { createServing } from '../../src/app/serving.ts'
import { fanOut } from '../../src/observe/fan-out.ts'
import type { Observation, Observer } from '../../src/observe/observation.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { understood } from '../e2e/harness.ts'

test('a store that connects while the parts are still made, as a reference that is read, is no internal error', async () => {
  const { config, hash } = understood(`
upstream: { url: "http://127.0.0.1:1" }
reference: { path: /reference }`)
  const seen: Observation[] = []
  const readers: Observer[] = [(observation) => seen.push(observation)]
  const observe = fanOut(readers)
  const store = openSqliteStore({ file: ':memory:' })
  const observing = { observe, follow: (reader: Observer) => void readers.push(reader) }
  const making = createServing({ config, hash, version: 'test', store, observing })
  observe({ type: 'store_connected' })
  const serving = await making
  expect(seen).toEqual([{ type: 'store_connected' }])
  await serving.stop()
  await store.close()
})
