import { beforeAll, beforeEach, expect, test } from 'vitest'
import { StoreError } from '../../src/quota/quota-store.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'
import { type Running, startAdmin } from './running.ts'

/** A change whose reply from the store is lost on the way. */

const UNKNOWN = { status: 503, json: { error: 'outcome_unknown', msg: expect.stringContaining('GET /api/audit') } }

let redis: RedisServer
let proxy: FaultProxy
let store: Store
let admin: Running

beforeAll(async () => {
  redis = await startRedis()
})

beforeEach(async () => {
  proxy = await startFaultProxy(redis.port)
  // Long enough that nothing but the lost reply takes it.
  store = closedAtEnd(openRedisStore({ url: `redis://127.0.0.1:${proxy.port}`, deadlineMs: 2000, observe: () => {} }))
  await whenReady(store)
  admin = await startAdmin({ store })
  // Redis has the script from now on, so that a change is one request to it.
  await admin.call('POST', '/api/users/nobody/reset', { body: { reason: 'warm' } })
})

const newest = async () => (await admin.call('GET', '/api/audit?limit=1')).json.entries[0]

test('a change of settings whose reply is lost is reported as one that may have been made, and it was', async () => {
  const { headers } = await admin.call('GET', '/api/quota')
  const sent = { headers: { 'if-match': headers.etag ?? '' }, body: { mode: 'loose', reason: 'lost on the way' } }
  proxy.dropReply({ containing: 'lost on the way' })
  expect(await admin.call('PATCH', '/api/quota', sent)).toMatchObject(UNKNOWN)
  await whenReady(store)
  expect(await newest()).toMatchObject({ what: 'settings', to: { mode: 'loose' }, why: 'lost on the way' })
  expect(await admin.call('PATCH', '/api/quota', sent)).toMatchObject({ status: 412 })
})

test.each([
  ['PUT', '/api/users/alice/override', { shadow: true, reason: 'lost on the way' }],
  ['POST', '/api/users/alice/reset', { reason: 'lost on the way' }],
  ['POST', '/api/quota/reset', { scope: 'global', category: 'read', reason: 'lost on the way' }],
  ['POST', '/api/tokens', { user: 'alice', name: 'n', reason: 'lost on the way' }],
])('a change whose reply is lost is reported as one that may have been made: %s %s', async (method, path, body) => {
  proxy.dropReply({ containing: 'lost on the way' })
  expect(await admin.call(method, path, { body })).toMatchObject(UNKNOWN)
  await whenReady(store)
  expect(await newest()).toMatchObject({ why: 'lost on the way' })
})

test.each([['PATCH', '/api/quota', { shadow: true }, 'readTallies']] as const)(
  'a change is reported as one that may have been made if the store fails after it: %s %s',
  async (method, path, body, call) => {
    const fails = () => Promise.reject(new StoreError('refused', 'readonly', 'no'))
    const halfway = await startAdmin({ store, broken: { [call]: fails } })
    expect(await halfway.call(method, path, { body })).toMatchObject(UNKNOWN)
  },
)

test('a change that the store refused was certainly not made', async () => {
  const before = await newest()
  const fails = () => Promise.reject(new StoreError('refused', 'readonly', 'no'))
  const refusing = await startAdmin({ store, broken: { change: fails } })
  expect(await refusing.call('PATCH', '/api/quota', { body: { mode: 'conservative' } })).toMatchObject({
    status: 503,
    json: { error: 'store_unavailable' },
  })
  expect(await newest()).toEqual(before)
})
