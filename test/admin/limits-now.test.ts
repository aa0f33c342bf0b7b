import { expect, test } from 'vitest'
import { UNREAD } from '../../src/failures/adaptive.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { NOW, type Running, type RunningOptions, startAdmin, VIEWER, YAML } from './running.ts'

let running: Running
let store: Store
/** Whether the store answers nothing. */
let isOut: boolean

async function start(options: RunningOptions = {}): Promise<void> {
  isOut = false
  store = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => NOW }))
  const names = Object.keys(store) as (keyof Store)[]
  const broken = names.map((name) => [name, (...args: unknown[]) => response(store[name] as Asked, args)])
  running = await startAdmin({ ...options, store, broken: Object.fromEntries(broken) })
}

type Asked = (...args: unknown[]) => unknown

function response(asked: Asked, args: unknown[]): unknown {
  return isOut ? Promise.reject(new StoreError('gone', 'connection', 'no')) : asked(...args)
}

async function get(path: string) {
  return running.call('GET', path)
}

test('while the store is out it has the settings that were in force, changes at run time with them', async () => {
  await start({
    yaml: YAML.replace('quota:\n', 'quota:\n  store_outage: { read: { allow: 10% } }\n'),
  })
  await running.call('PATCH', '/api/quota', { body: { mode: 'loose', global: { multiplier: 2 } } })
  const { windows, adaptive, ...known } = (await get('/api/quota')).json
  isOut = true
  expect(await get('/api/quota')).toMatchObject({ status: 503 })
  const reply = await get('/api/in-force')
  expect(reply).toMatchObject({ status: 200, headers: { etag: '"1"' } })
  expect(reply.json).toEqual({ ...known, adaptive: { factor: 1 }, storeOutage: { read: 0.1, write: 0 } })
  expect(reply.json).toMatchObject({ mode: 'loose', changed: ['mode', 'global.multiplier'] })
  expect(reply.json.effective.global.read['1h']).toBe(3600)
})

test('in mode adaptive its limits are those of the factor by which the gateway goes', async () => {
  await start({
    adaptive: () => ({ ...UNREAD, factor: 0.5 }),
    yaml: YAML.replace('quota:\n', 'quota:\n  mode: adaptive\n'),
  })
  isOut = true
  const { json } = await get('/api/in-force')
  expect(json).toMatchObject({ factor: 0.5, adaptive: { factor: 0.5 } })
  expect(json.effective.personal.read).toEqual({ '1h': 60, '5h': 200 })
})

test('while the store is out it has the overrides in the order of their ids, and how many match', async () => {
  await start()
  for (const user of ['bob', 'Alice', 'carol', 'alan'])
    await running.call('PUT', `/api/users/${user}/override`, { body: { read: { '1h': 7 }, reason: `for ${user}` } })
  isOut = true
  expect(await get('/api/users')).toMatchObject({ status: 503 })
  const names = async (query: string) => {
    const { json } = await get(`/api/in-force/users${query}`)
    return [json.total, ...json.users.map(({ user }: { user: string }) => user)]
  }
  expect(await names('')).toEqual([4, 'Alice', 'alan', 'bob', 'carol'])
  expect(await names('?query=AL')).toEqual([2, 'Alice', 'alan'])
  expect(await names('?limit=1')).toEqual([4, 'Alice'])
  expect(await names('?query=nobody')).toEqual([0])
  const { json } = await get('/api/in-force/users?query=bob')
  expect(json.users[0].override).toMatchObject({ version: 1, limits: { read: { '1h': 7 } }, reason: 'for bob' })
  expect(await get('/api/in-force/users?limit=0')).toMatchObject({ status: 400, json: { error: 'bad_request' } })
  expect(await get('/api/in-force/users?cursor=x')).toMatchObject({ status: 400 })
})

test('while the store is out the limits of a user have the layers that made them', async () => {
  await start()
  await running.call('PUT', '/api/users/bob/override', { body: { read: { '1h': 7 }, reason: 'less' } })
  const before = await get('/api/users/bob')
  isOut = true
  const reply = await get('/api/in-force/users/bob')
  expect(reply).toMatchObject({ status: 200, headers: { etag: before.headers.etag } })
  const { windows, override } = before.json
  const known = Object.entries(windows).map(([category, list]) => [
    category,
    (list as Record<string, unknown>[]).map(({ scope, window, limit, source, steps }) => ({
      ...{ scope, window, limit, source, steps },
    })),
  ])
  expect(reply.json).toEqual({ user: 'bob', limits: Object.fromEntries(known), override, exempt: false })
  expect(reply.json.limits.read[0]).toMatchObject({ scope: 'Personal', window: '1h', limit: 7, source: 'override' })
  expect((await get('/api/in-force/users/nobody')).json.override).toBe(null)
  expect(await get(`/api/in-force/users/${'x'.repeat(257)}`)).toMatchObject({ status: 400 })
})

test('while the store is out no limit of a plan is shown as that of a user whose plan only the store knows', async () => {
  const plans =
    'plans: { free: { personal: { read: { 1h: 40 }, write: { 1h: unlimited } } }, team: { personal: { read: { 1h: 200 }, write: { 1h: unlimited } } } }'
  await start({ yaml: YAML.replace('quota:\n', `quota:\n  default_plan: free\n  ${plans}\n`) })
  await running.call('PUT', '/api/users/bob/override', { body: { plan: 'team', reason: 'pays' } })
  isOut = true
  const personal = async (user: string) => {
    const { json } = await get(`/api/in-force/users/${user}`)
    const rows = Object.entries(json.limits).flatMap(([category, list]) =>
      (list as { scope: string; window: string; limit: number }[])
        .filter(({ scope }) => scope === 'Personal')
        .map(({ window, limit }) => [category, window, limit]),
    )
    return [json.incomplete, rows]
  }
  const certain = [
    ['read', '5h', 400],
    ['write', '5h', 200],
  ]
  expect(await personal('alice')).toEqual([true, certain])
  expect(await personal('bob')).toEqual([undefined, [['read', '1h', 200], ...certain]])
})

test('a viewer may look at what is in force, and nobody may without a token', async () => {
  await start()
  for (const path of ['/api/in-force', '/api/in-force/users', '/api/in-force/users/bob']) {
    const as = (authorization: string) => running.call('GET', path, { headers: { authorization } })
    expect((await as(`Bearer ${VIEWER}`)).status).toBe(200)
    expect((await as('')).status).toBe(401)
  }
})
