import { afterEach, beforeEach, expect, test } from 'vitest'
import { lineOf } from '../../../src/observe/log-lines.ts'
import type { Observation } from '../../../src/observe/observation.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { type Running, startAdmin } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})
afterEach(() => running.stop())

const get = (path: string) => running.call('GET', path)

test('the audit is read page by page', async () => {
  for (let i = 0; i < 5; i++) await running.call('POST', '/api/users/alice/reset', { body: { reason: `${i}` } })
  const whys: string[] = []
  let before = ''
  for (let pages = 0; pages < 3; pages++) {
    const { json } = await get(`/api/audit?limit=2${before}`)
    whys.push(...json.entries.map(({ why }: { why: string }) => why))
    before = `&before=${json.next}`
    expect(json.next === null).toBe(pages === 2)
  }
  expect(whys).toEqual(['4', '3', '2', '1', '0'])
  // A full page that ends with the very first change is the last one.
  expect((await get('/api/audit?limit=5')).json.next).toBeNull()
  for (const before of ['x', '0', '1e1', '', '9007199254740992'])
    expect(await get(`/api/audit?before=${before}`)).toMatchObject({
      status: 400,
      json: { problems: [{ path: 'before' }] },
    })
})

test('each change is one line of the log, with who, what, about whom, from, to, why and how many entries are forgotten', async () => {
  const seen: Observation[] = []
  const lines = () => seen.flatMap((one) => (one.type === 'changed' ? [lineOf(one)] : []))
  await running.stop()
  running = await startAdmin({ observe: (one) => void seen.push(one) })
  const put = (body: object) => running.call('PUT', '/api/users/alice/override', { body })
  await running.call('PATCH', '/api/quota', { body: { mode: 'loose', reason: 'a busy evening' } })
  await running.call('PATCH', '/api/quota', { body: { mode: 'loose' } })
  await put({ read: { '1h': 7 }, reason: 'Bearer abc.def', expiresAt: '2030-01-31T00:00:00Z' })
  await running.call('POST', '/api/users/alice/reset', { body: { reason: 'by mistake' } })
  await running.spend('alice', 'read', 7)
  const shared = { scope: 'global', category: 'read', window: '1h', reason: 'a load test' }
  await running.call('POST', '/api/quota/reset', { body: shared })
  const body = { user: 'alice', name: 'laptop' }
  const { json: token } = await running.call('POST', '/api/tokens', { body })
  await running.call('DELETE', `/api/tokens/${token.id}`)
  await running.call('GET', '/api/quota')

  const change = { level: 'info', msg: 'changed at run time' }
  const override = { limits: { read: { '1h': 7 } }, bypassGlobal: false, shadow: false }
  const to = { ...override, reason: 'Bearer [hidden]', expiresAt: '2030-01-31T00:00:00.000Z' }
  const of = (version: number, what: string, subject: string | null, more: object) => ({
    ...change,
    fields: { version, who: 'admin', what, subject, from: null, to: null, why: null, ...more },
  })
  expect(lines()).toEqual([
    of(1, 'settings', null, { to: { mode: 'loose' }, why: 'a busy evening' }),
    of(2, 'override', 'alice', { to, why: 'Bearer [hidden]' }),
    of(3, 'reset', 'alice', { why: 'by mistake' }),
    of(4, 'quota_reset', 'global:read', { from: { '1h': 7 }, to: { '1h': 0 }, why: 'a load test' }),
    of(5, 'token_created', token.id, { to: { ...body, expiresAt: null } }),
    of(6, 'token_revoked', token.id, { to: body }),
  ])
  expect(JSON.stringify(lines())).not.toContain(token.token)
  expect((await get('/api/audit')).json.forgotten).toBe(0)
})

test('a change that may have been made is a warning of the log', async () => {
  const seen: Observation[] = []
  const change = () => Promise.reject(new StoreError('gone', 'connection', 'unknown'))
  await running.stop()
  running = await startAdmin({ observe: (one) => void seen.push(one), broken: { change } })
  const { status } = await running.call('PATCH', '/api/quota', { body: { mode: 'loose', reason: 'a busy evening' } })
  expect(status).toBe(503)
  expect(seen.flatMap((one) => (one.type === 'change_unknown' ? [lineOf(one)] : []))).toEqual([
    {
      level: 'warn',
      msg: 'a change at run time may have been made',
      fields: { who: 'admin', what: 'settings', subject: null, to: { mode: 'loose' }, why: 'a busy evening' },
    },
  ])
})

test('the audit says how many entries are forgotten', async () => {
  await running.stop()
  running = await startAdmin({ broken: { forgottenChanges: async () => 42 } })
  expect((await get('/api/audit')).json.forgotten).toBe(42)
})
