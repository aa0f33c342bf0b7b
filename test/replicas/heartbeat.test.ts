import { afterEach, expect, it } from 'vitest'
import { StoreError } from '../../src/quota/quota-store.ts'
import { createHeartbeat, type Heartbeat, type ProcessState } from '../../src/replicas/heartbeat.ts'
import type { Replica } from '../../src/replicas/presence.ts'
import { request } from '../observe/request.ts'
import { settled } from '../observe/settled.ts'

const STANDING: ProcessState = { hash: 'abc', controlVersion: 3, ready: true, reasons: [], inFlight: 2 }

let heartbeat: Heartbeat
afterEach(() => heartbeat.leave(true, 1000))

/** A store of one's own words: what it was told, in order. */
function begin(beat: (replica: Replica) => Promise<void> = async () => {}, standing = STANDING) {
  const told: (Replica | string)[] = []
  const store = {
    beat: async (replica: Replica) => {
      told.push(replica)
      await beat(replica)
    },
    leave: async (instance: string) => void told.push(`${instance} left`),
  }
  heartbeat = createHeartbeat({ store, instance: 'i-1', version: '1.2.3', state: () => standing, everyMs: 5 })
  return told
}

async function latest(told: (Replica | string)[]): Promise<Replica> {
  const before = told.length
  await expect.poll(() => told.length).toBeGreaterThan(before + 1)
  return told.at(-1) as Replica
}

it('tells who it is and how it stands, again and again, and that it is gone', async () => {
  const told = begin()
  heartbeat.start()
  expect(await latest(told)).toMatchObject({
    instance: 'i-1',
    version: '1.2.3',
    pid: process.pid,
    hash: 'abc',
    controlVersion: 3,
    ready: true,
    reasons: [],
    configProblems: [],
    counts: { requests: 0, inFlight: 2 },
  })
  await heartbeat.leave(true, 1000)
  const count = told.length
  expect(told.at(-1)).toBe('i-1 left')
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(told).toHaveLength(count)
})

it('counts the requests of each route, however many come between two of its words', async () => {
  const told = begin()
  const ask = (times: number): void => {
    for (let i = 0; i < times; i++) heartbeat.observer(request({ route: i % 3 === 0 ? 'GET /a' : 'GET /b' }))
  }
  ask(3000)
  heartbeat.start()
  expect((await latest(told)).hits).toEqual({ 'GET /a': 1000, 'GET /b': 2000 })
  ask(30)
  expect((await latest(told)).hits).toEqual({ 'GET /a': 1010, 'GET /b': 2020 })
})

it('counts what came of requests', async () => {
  const told = begin()
  for (const changes of [
    {},
    { httpStatus: 404 },
    { httpStatus: 500 },
    { httpStatus: 0, outcome: 'failed' },
    { httpStatus: 0, outcome: 'aborted' },
    { httpStatus: null, outcome: 'refused' },
    { httpStatus: null, outcome: 'denied' },
    { shadowed: true },
  ] as const)
    heartbeat.observer(request(changes))
  heartbeat.observer(settled({ category: 'read', cost: 4 }))
  heartbeat.observer(settled({ cost: 3 }))
  heartbeat.observer(settled({ kind: 'given_back', tokens: -3 }))
  heartbeat.start()
  expect((await latest(told)).counts).toEqual({
    requests: 8,
    refused: 1,
    shadowed: 1,
    tokens: 7,
    forwarded: 6,
    failed: 2,
    inFlight: 2,
  })
})

it('counts those whom auth.shadow let in, by what was wrong', async () => {
  const told = begin()
  for (const why of ['missing', 'missing', 'invalid', 'unchecked'] as const) {
    heartbeat.observer({ type: 'caller_let_in', why })
  }
  heartbeat.start()
  expect((await latest(told)).letIn).toEqual({ missing: 2, invalid: 1, ambiguous: 0, unchecked: 1 })
})

it('counts requests by route, and names the 200 most used of many, always with what matched none', async () => {
  const told = begin()
  for (let route = 0; route < 300; route++) {
    for (let i = 0; i < (route % 3) + 1; i++) heartbeat.observer(request({ route: `GET /${route}` }))
  }
  heartbeat.observer({ type: 'unmatched', method: 'GET', path: '/x' })
  heartbeat.observer(request({ route: 'unmatched' }))
  heartbeat.observer(request({ route: null }))
  heartbeat.start()
  const { hits } = await latest(told)
  expect(Object.keys(hits)).toHaveLength(200)
  expect(hits.unmatched).toBe(1)
  expect(hits['GET /299']).toBe(3)
  expect(Object.values(hits).filter((count) => count === 3)).toHaveLength(100)
  expect(Object.entries(hits).filter(([route, count]) => count === 1 && route !== 'unmatched')).toEqual([])
})

it('names the latest 20 that matched no route, each once, the newest first, and none of them endlessly', async () => {
  const told = begin()
  for (let i = 0; i < 30; i++) heartbeat.observer({ type: 'unmatched', method: 'GET', path: `/${i}` })
  heartbeat.observer({ type: 'unmatched', method: 'GET', path: '/15' })
  heartbeat.observer({ type: 'unmatched', method: 'POST', path: `/${'x'.repeat(5000)}` })
  heartbeat.start()
  const { unmatched, hits } = await latest(told)
  expect(unmatched).toHaveLength(20)
  expect(unmatched[0]).toHaveLength(200)
  expect(unmatched.slice(1, 3)).toEqual(['GET /15', 'GET /29'])
  expect(unmatched.filter((text) => text === 'GET /15')).toHaveLength(1)
  expect(hits.unmatched).toBe(32)
})

it('tells what is wrong with the last file, until one is taken', async () => {
  const told = begin()
  heartbeat.start()
  heartbeat.observer({ type: 'config_rejected', file: 'f', problems: ['f:1:1 wrong'] })
  expect((await latest(told)).configProblems).toEqual(['f:1:1 wrong'])
  heartbeat.configProblems(['f:2:2 wrong, says the primary'])
  expect((await latest(told)).configProblems).toEqual(['f:2:2 wrong, says the primary'])
  heartbeat.observer({ type: 'config_loaded', file: 'f', hash: 'def', rules: 'ghi' })
  expect((await latest(told)).configProblems).toEqual([])
})

it('asks a store that fails again, and one that is slow not twice at a time', async () => {
  let under = 0
  let most = 0
  const told = begin(async () => {
    most = Math.max(most, ++under)
    await new Promise((resolve) => setTimeout(resolve, 20))
    under--
    throw new StoreError('gone', 'connection', 'no')
  })
  heartbeat.start()
  await expect.poll(() => told.length).toBeGreaterThan(3)
  expect(most).toBe(1)
})

it('leaves after the beat that is under way, so that this one cannot bring it back', async () => {
  const gate = Promise.withResolvers<void>()
  const done: string[] = []
  const told = begin(async () => {
    await gate.promise
    done.push('beat')
  })
  heartbeat.start()
  const left = heartbeat.leave(true, 10_000).then(() => done.push('left'))
  expect(told).toHaveLength(1)
  gate.resolve()
  await left
  expect(done).toEqual(['beat', 'left'])
  expect(told.at(-1)).toBe('i-1 left')
})

it('leaves without a word also where the store fails', async () => {
  const store = { beat: async () => {}, leave: () => Promise.reject(new Error('out')) }
  const other = createHeartbeat({ store, instance: 'i-1', version: '1.2.3', state: () => STANDING })
  await expect(other.leave(true, 1000)).resolves.toBeUndefined()
})

it('does not wait for ever to leave a store that is silent', async () => {
  begin(() => new Promise(() => {}))
  heartbeat.start()
  await heartbeat.leave(true, 20)
})

it('tells no credential that a client has put into a path', async () => {
  const told = begin()
  for (const path of ['/v1/gw_4f9aQeLzT2m8/x', '/v1/eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln']) {
    heartbeat.observer({ type: 'unmatched', method: 'GET', path })
  }
  heartbeat.start()
  expect((await latest(told)).unmatched).toEqual(['GET /v1/[hidden JWT]', 'GET /v1/gw_[hidden]/x'])
})
