import { beforeAll, beforeEach, expect, test } from 'vitest'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'
import { type Running, startAdmin, TOKEN } from './running.ts'

/** Two admin listeners, each with a Redis client of its own: two replicas of one gateway. */
let redis: Awaited<ReturnType<typeof sharedRedis>>
let one: Running
let other: Running
let rounds = 0

beforeAll(async () => {
  redis = await sharedRedis()
})

beforeEach(async () => {
  const prefix = `${redis.prefix}-${++rounds}`
  const open = () => closedAtEnd(openRedisStore({ url: redis.url, prefix, deadlineMs: 5000, observe: () => {} }))
  const stores = [open(), open()]
  await Promise.all(stores.map(whenReady))
  const now = Date.now
  ;[one, other] = (await Promise.all(stores.map((store) => startAdmin({ store, now })))) as [Running, Running]
})

test('two replicas respond alike as soon as a change is made at one of them', async () => {
  const { json } = await one.call('PATCH', '/api/quota', { body: { mode: 'conservative' } })
  expect((await other.call('GET', '/api/quota')).json).toMatchObject({ mode: 'conservative', version: json.version })
  await other.call('PUT', '/api/users/alice/override', { body: { read: { '1h': 7 }, reason: 'r' } })
  expect((await one.call('GET', '/api/users/alice')).json.windows.read[0]).toMatchObject({
    limit: 7,
    source: 'override',
  })
})

test('two replicas let one of two changes through that were made of the same version', async () => {
  const { headers } = await one.call('GET', '/api/quota')
  const tag = { 'if-match': headers.etag ?? '' }
  for (let i = 0; i < 10; i++) {
    const replies = await Promise.all([
      one.call('PATCH', '/api/quota', { headers: tag, body: { baselines: { personal: { read: { '1h': 1 + i } } } } }),
      other.call('PATCH', '/api/quota', {
        headers: tag,
        body: { baselines: { personal: { write: { '1h': 1 + i } } } },
      }),
    ])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412])
    const version = replies.find(({ status }) => status === 412)?.json.version
    expect(replies.find(({ status }) => status === 200)?.headers.etag).toBe(`"${version}"`)
    tag['if-match'] = `"${version}"`
  }
})

test('two replicas lose no change that was made without a version', async () => {
  const cells = ['personal', 'global'].flatMap((scope) =>
    ['read', 'write'].flatMap((category) => ['1h', '5h'].map((window) => [scope, category, window] as const)),
  )
  const replies = await Promise.all(
    cells.map(([scope, category, window], i) =>
      (i % 3 ? one : other).call('PATCH', '/api/quota', {
        body: { baselines: { [scope]: { [category]: { [window]: 10 + i } } } },
      }),
    ),
  )
  expect(replies.map(({ status }) => status)).toEqual(cells.map(() => 200))
  const { changed } = (await other.call('GET', '/api/quota')).json
  expect(changed.sort()).toEqual(cells.map((cell) => ['baselines', ...cell].join('.')).sort())
  expect((await one.call('GET', '/api/audit')).json.entries).toHaveLength(cells.length)
})

test('two replicas know the session of each other', async () => {
  const { headers } = await one.call('POST', '/api/session', {
    headers: { authorization: '' },
    body: { token: TOKEN },
  })
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const reply = await other.call('GET', '/api/session', { headers: { authorization: '', cookie } })
  expect(reply.json).toMatchObject({ name: 'admin' })
})

test('two replicas list the same users and reset them for each other', async () => {
  for (let i = 0; i < 30; i++) await one.spend(`user-${i}`, 'read', 5)
  const seen: string[] = []
  let next = ''
  do {
    const { json } = await other.call('GET', `/api/users?limit=7${next && `&cursor=${next}`}`)
    seen.push(...json.users.map(({ user }: { user: string }) => user))
    next = json.next ?? ''
  } while (next !== '')
  expect([...new Set(seen)].sort()).toEqual(Array.from({ length: 30 }, (_, i) => `user-${i}`).sort())
  await other.call('POST', '/api/users/user-3/reset', { body: { reason: 'r' } })
  expect((await one.call('GET', '/api/users/user-3')).json.windows.read[0].used).toBe(0)
})
