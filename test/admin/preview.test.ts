import { once } from 'node:events'
import { request } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Observation } from '../../src/observe/observation.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { NOW, type Running, startAdmin, TOKEN } from './running.ts'

/** Previews look through all users: what they leave to others. */

const GENEROUS = { timeout: 30_000 }
const PATCH = JSON.stringify({ mode: 'loose' })

let store: Store
let running: Running
let observed: Observation[]
/** Readings of the scan, as they begin and end. */
let steps: { begun: number; underWay: number; most: number }
/** A step ends after this. */
let pace: Promise<void>
let go: () => void

beforeEach(async () => {
  observed = []
  steps = { begun: 0, underWay: 0, most: 0 }
  pace = new Promise((resolve) => {
    go = resolve
  })
  store = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => NOW }))
  running = await startAdmin({ store, broken: { scanUsers }, observe: (seen) => observed.push(seen) })
  for (let i = 0; i < 300; i++) await running.spend(`user ${i}`, 'read', 1)
})
afterEach(() => go())

async function scanUsers(cursor: string | null) {
  steps.begun++
  steps.most = Math.max(steps.most, ++steps.underWay)
  await pace
  steps.underWay--
  return store.scanUsers(cursor)
}

const preview = () => running.call('POST', '/api/quota/preview', { body: { mode: 'loose' } })

test('one runs at a time, and the others wait for their turn', async () => {
  const replies = Promise.all([preview(), preview(), preview()])
  await vi.waitFor(() => expect(steps.begun).toBe(1), GENEROUS)
  expect((await running.call('GET', '/api/quota')).status).toBe(200)
  expect(steps).toEqual({ begun: 1, underWay: 1, most: 1 })
  go()
  expect((await replies).map(({ json }) => json.scanned)).toEqual([300, 300, 300])
  expect(steps).toEqual({ begun: 9, underWay: 0, most: 1 })
})

test('one that fails lets the next go on', async () => {
  const { scanUsers: scan } = store
  store.scanUsers = () => Promise.reject(new Error('broken'))
  go()
  expect((await preview()).status).toBe(500)
  store.scanUsers = scan
  expect((await preview()).json.scanned).toBe(300)
})

test('ends when its client leaves, also one that still waits, and is no fault of ours', async () => {
  const clients = await Promise.all([leaving(), leaving()])
  await vi.waitFor(() => expect(steps.begun).toBe(1), GENEROUS)
  for (const client of clients) client.destroy()
  // An answer to somebody else comes after the listener has seen that they left.
  await running.call('GET', '/api/quota')
  go()
  expect((await preview()).json.scanned).toBe(300)
  expect(steps).toEqual({ begun: 1 + 3, underWay: 0, most: 1 })
  expect(observed).toEqual([])
})

/** A client whose request has arrived, and that will not wait for its answer. */
async function leaving() {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const client = request(new URL('/api/quota/preview', running.url), { method: 'POST', headers })
  client.on('error', () => {})
  client.end(PATCH)
  await once(client, 'finish')
  return client
}
