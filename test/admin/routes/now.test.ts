import { expect, test } from 'vitest'
import { GUARD, SCHEDULE } from '../../../src/control/control-store.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import type { Replica } from '../../../src/replicas/presence.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd } from '../../setup/at-end.ts'
import { episode } from '../../usage/usage-log.suite.ts'
import { NOW, type Running, startAdmin, YAML } from '../running.ts'

let running: Running
let clock = NOW
async function start(broken: Parameters<typeof startAdmin>[0] = {}) {
  clock = NOW
  running = await startAdmin({ now: () => clock, ...broken })
  return running
}

function replica(changes: Partial<Replica> = {}): Replica {
  return {
    instance: 'one',
    host: 'gate-1',
    pid: 10,
    version: '1.2.3',
    hash: 'aaaa',
    controlVersion: 0,
    startedAt: NOW,
    ready: true,
    reasons: [],
    configProblems: [],
    counts: { requests: 10, refused: 1, shadowed: 2, tokens: 30, forwarded: 8, failed: 1, inFlight: 3 },
    letIn: { missing: 4, invalid: 3, ambiguous: 2, unchecked: 1 },
    hits: { 'POST /v1/user/:what': 4, unmatched: 2 },
    unmatched: ['GET /nothing', 'GET /<script>alert(1)</script>'],
    ...changes,
  }
}

const now = async () => (await running.call('GET', '/api/now')).json

test('the replicas are listed one by one and as sums', async () => {
  const { store } = await start()
  await store.beat(replica())
  await store.beat(replica({ instance: 'two', host: 'gate-2', ready: false, reasons: ['draining'] }))
  const response = await now()
  expect(response.counts).toEqual({
    requests: 20,
    refused: 2,
    shadowed: 4,
    tokens: 60,
    forwarded: 16,
    failed: 2,
    inFlight: 6,
  })
  expect(response.replicas).toMatchObject([
    { instance: 'one', host: 'gate-1', startedAt: '2026-11-20T10:10:00.000Z', ready: true },
    { instance: 'two', host: 'gate-2', ready: false, reasons: ['draining'] },
  ])
  expect(response.replicas[0]).not.toHaveProperty('letIn')
  expect(response.authShadow).toEqual({ on: false, letIn: { missing: 8, invalid: 6, ambiguous: 4, unchecked: 2 } })
  expect(response).toMatchObject({
    agree: true,
    store: { kind: 'sqlite', answers: true },
    backend: { origin: 'http://127.0.0.1:9000', requests: 0 },
    config: { file: 'tollgate.yaml', hash: expect.stringMatching(/^[0-9a-f]{16}$/) },
    controlVersion: 0,
    shadow: false,
  })
  expect(response.windows.read).toMatchObject([
    { scope: 'Global', window: '1h' },
    { scope: 'Global', window: '5h' },
  ])
})

test('replicas of different configurations do not agree', async () => {
  const { store } = await start()
  await store.beat(replica())
  await store.beat(replica({ instance: 'two', hash: 'bbbb' }))
  expect((await now()).agree).toBe(false)
})

test('a replica that does not follow a change does not agree, once it has had the time to tell', async () => {
  const { store, call } = await start()
  await store.beat(replica())
  await call('PATCH', '/api/quota', { body: { shadow: true } })
  expect(await now()).toMatchObject({ agree: true, controlVersion: 1, shadow: true })
  clock += 3000
  await store.beat(replica())
  expect((await now()).agree).toBe(true)
  clock += 1000
  expect((await now()).agree).toBe(false)
  await store.beat(replica({ controlVersion: 1 }))
  expect((await now()).agree).toBe(true)
})

test('a replica that missed a change long ago does not agree, however young the latest one is', async () => {
  const { store, call } = await start()
  await call('PATCH', '/api/quota', { body: { shadow: true } })
  clock += 4000
  await call('PATCH', '/api/quota', { body: { shadow: false } })
  await store.beat(replica())
  expect(await now()).toMatchObject({ agree: false, controlVersion: 2 })
  await store.beat(replica({ controlVersion: 1 }))
  expect(await now()).toMatchObject({ agree: true, controlVersion: 2 })
})

test('the state of the upstream is that of the requests of the last 30 minutes', async () => {
  const { store } = await start()
  await store.addTally({ total: 100, status0: 4, status5xx: 1, status4xx: 0, aside: 0, asideFailed: 0 })
  expect((await now()).backend).toMatchObject({ requests: 100, status0: 4, status5xx: 1 })
  clock = Date.parse('2026-11-20T10:40:00Z') // 20 of the 30 minutes of that bucket still count
  expect((await now()).backend).toMatchObject({ requests: 67, status0: 3, status5xx: 1 })
  clock = Date.parse('2026-11-20T10:50:00Z')
  expect((await now()).backend).toMatchObject({ requests: 34, status0: 2, status5xx: 1 })
  clock = Date.parse('2026-11-20T11:00:00Z')
  expect((await now()).backend).toMatchObject({ requests: 0, status0: 0, status5xx: 0 })
})

test('while the store is out, what was seen last is shown, with its age', async () => {
  let out = false
  const fails = () => Promise.reject(new StoreError('no', 'timeout', 'no'))
  const seen = replica()
  await start({
    broken: {
      listReplicas: async () => (out ? fails() : [{ ...seen, silentMs: 100 }]),
      controlVersion: async () => (out ? fails() : { version: 0, changedAt: 0, at: clock }),
    },
  })
  await now()
  out = true
  clock += 7000
  expect(await now()).toMatchObject({
    store: { answers: false },
    counts: { requests: 10 },
    replicas: [{ instance: 'one', silentMs: 7100 }],
    agree: null,
    backend: { origin: 'http://127.0.0.1:9000', requests: null, status0: null, status5xx: null },
    windows: null,
  })
  // The clock of the process was set back.
  clock -= 60_000
  expect((await now()).replicas).toMatchObject([{ silentMs: 100 }])
})

test('a failure of anything but the store is an error, not an outage of the store', async () => {
  const { call } = await start({ broken: { listReplicas: () => Promise.reject(new TypeError('a bug')) } })
  expect((await call('GET', '/api/now')).status).toBe(500)
})

test('asked for the first time while the store is out, it claims no replicas, sums or agreement', async () => {
  await start({ broken: { listReplicas: () => Promise.reject(new StoreError('no', 'timeout', 'no')) } })
  expect(await now()).toMatchObject({
    store: { kind: 'sqlite', answers: false },
    counts: null,
    replicas: null,
    agree: null,
    backend: { requests: null },
    windows: null,
    config: { file: 'tollgate.yaml' },
    controlVersion: 0,
    shadow: false,
  })
})

test('a store that can be read but takes no charges is not shown as one that responds', async () => {
  let lacking = false
  const { store } = await start({ lacksStore: () => lacking })
  await store.beat(replica())
  expect(await now()).toMatchObject({ store: { answers: true } })
  lacking = true
  clock += 60_000
  expect(await now()).toMatchObject({ store: { answers: false }, windows: null, replicas: [{ silentMs: 60_000 }] })
  lacking = false
  expect(await now()).toMatchObject({ store: { answers: true }, replicas: [] })
})

test('what is in force is shown as it was last known while the store is out', async () => {
  let lacking = true
  const yaml = YAML.replace('quota:\n', 'quota:\n  shadow: true\n')
  const { call } = await start({ yaml, lacksStore: () => lacking })
  expect(await now()).toMatchObject({ controlVersion: 0, shadow: true })
  lacking = false
  await call('PATCH', '/api/quota', { body: { shadow: false } })
  lacking = true
  expect(await now()).toMatchObject({ controlVersion: 1, shadow: false })
})

test('the route map lists at most twenty paths that matched nothing', async () => {
  const { store, call } = await start()
  const unmatched = (name: string) => Array.from({ length: 15 }, (_, i) => `GET /${name}/${i}`)
  await store.beat(replica({ unmatched: unmatched('one') }))
  await store.beat(replica({ instance: 'two', unmatched: unmatched('two') }))
  expect((await call('GET', '/api/routes')).json.unmatched.latest).toHaveLength(20)
})

test('the route map has its lines, costs and hits, and what matched nothing', async () => {
  const { store, call } = await start()
  await store.beat(replica())
  await store.beat(replica({ instance: 'two', unmatched: ['GET /nothing', 'PUT /x'] }))
  const { json } = await call('GET', '/api/routes')
  expect(json.file).toBe('tollgate.yaml')
  expect(json.routes.slice(0, 4)).toEqual([
    {
      match: 'POST /v1/music/upsert',
      line: 14,
      public: false,
      category: 'write',
      cost: 15,
      price: null,
      health: true,
      shadow: false,
      hits: 0,
    },
    {
      match: 'POST /v1/user/:what',
      line: 15,
      public: false,
      category: 'read',
      cost: 2,
      price: null,
      health: true,
      shadow: false,
      hits: 8,
    },
    {
      match: 'POST /v1/charge',
      line: 16,
      public: false,
      category: 'write',
      cost: null,
      price: { body: ['chargeId'], values: { 2: 10, 3: 15, 5: 25 } },
      health: true,
      shadow: false,
      hits: 0,
    },
    {
      match: 'GET /v1/health',
      line: 17,
      public: true,
      category: null,
      cost: null,
      price: null,
      health: false,
      shadow: false,
      hits: 0,
    },
  ])
  expect(json.unmatched).toEqual({
    kind: 'refuse',
    hits: 4,
    latest: ['GET /nothing', 'GET /<script>alert(1)</script>', 'PUT /x'],
  })
})

test('limits that nobody wrote are named until somebody writes them, in the file or at run time', async () => {
  const withoutBaselines = YAML.replace(/ {2}baselines:\n( {4,}.*\n)+/, '  shadow: false\n')
  await start({ yaml: withoutBaselines })
  const write = { personal: { write: { '1h': 60, '5h': 200, '1d': 600 } } }
  expect((await now()).unwritten).toEqual({
    personal: { read: { '1h': 120, '5h': 400, '1d': 1200 }, ...write.personal },
    global: {
      read: { '1h': 12_000, '5h': 40_000, '1d': 120_000 },
      write: { '1h': 6000, '5h': 20_000, '1d': 60_000 },
    },
  })
  await running.call('PATCH', '/api/quota', { body: { baselines: { personal: { read: { '1h': 500 } } } } })
  expect((await now()).unwritten.personal).toEqual(write.personal)
  await start({ yaml: withoutBaselines.replaceAll('category: write', 'category: read') })
  expect(Object.keys((await now()).unwritten.personal)).toEqual(['read'])
  await start()
  expect(await now()).not.toHaveProperty('unwritten')
})

test('what was scheduled and could not be made, or was taken back by its guard, is said for a day', async () => {
  const { store } = await start({ store: openSqliteStore({ file: ':memory:', clock: () => clock }) })
  expect((await now()).upsets).toBe(undefined)
  const set = (mode: 'loose' | 'custom', who: string, why: string, version: number) =>
    store.change({ kind: 'settings', to: { mode } }, { who, why }, version)
  await set('loose', SCHEDULE, 'is not made as scheduled by ann: mode: must be one of normal', 0)
  await set('custom', GUARD, 'takes back the change of bob: 9.0 % of 100 weighed requests were refused', 1)
  await set('loose', 'carol', 'is not made as scheduled by me', 2)
  expect((await now()).upsets).toEqual([
    { version: 2, at: '2026-11-20T10:10:00.000Z', outcome: 'taken_back', why: expect.stringContaining('bob') },
    { version: 1, at: '2026-11-20T10:10:00.000Z', outcome: 'not_made', why: expect.stringContaining('ann') },
  ])
  clock += 24 * 3_600_000
  expect((await now()).upsets).toBe(undefined)
  await store.close()
})

test('the status says in one summary who is refused, by which window, and what the upstream fails', async () => {
  const { store, spend, call } = await start()
  const status = async () => (await call('GET', '/api/status')).json
  const idle = { store: { answers: true }, full: [], users: 0, organisations: 0, global: 0, upstream: null }
  expect(await status()).toEqual({ ...idle, shadow: false, controlVersion: 0, storeOutage: { read: 0, write: 0 } })
  await store.beat(replica())
  await spend('bob', 'read', 1200)
  clock += 10_000
  await store.beat(replica({ counts: { ...replica().counts, forwarded: 108, failed: 51 } }))
  expect(await status()).toMatchObject({
    full: [{ category: 'read', window: '1h', remaining: 0, tooDear: null }],
    upstream: { requests: 108, failed: 51 },
  })
  await call('PATCH', '/api/quota', { body: { shadow: true } })
  expect(await status()).toMatchObject({ shadow: true, full: [], controlVersion: 1 })
})

test('the status counts every user who was refused in the last minutes, and reads many refusals once for polls that come together', async () => {
  const own = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => clock }))
  let asked = 0
  const readRefusals: typeof own.readRefusals = (filter, page) => {
    if (page.cursor === null) asked++
    return own.readRefusals(filter, page)
  }
  const { call } = await start({ store: own, broken: { readRefusals } })
  for (let sequence = 1; sequence <= 21; sequence++) {
    const episodes = Array.from({ length: 50 }, (_, i) =>
      episode({ user: `user-${sequence}-${i}`, first: clock, last: clock }),
    )
    await own.addUsage({ instance: 'i', sequence, series: [], episodes })
  }
  const users = async () => (await call('GET', '/api/status')).json.users
  expect(await Promise.all([users(), users()])).toEqual([1050, 1050])
  expect([await users(), asked]).toEqual([1050, 1])
  clock += 5000
  expect([await users(), asked]).toEqual([1050, 2])
  clock += 5 * 60_000
  expect(await users()).toBe(0)
})

test('the status stays known while the store is out', async () => {
  const readTallies = async () => {
    throw new StoreError('no', 'timeout', 'no')
  }
  const { call } = await start({ broken: { readTallies } })
  expect((await call('GET', '/api/status')).json).toMatchObject({ store: { answers: false }, full: [], upstream: null })
})
