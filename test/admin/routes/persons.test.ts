import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import { eventOf, reachedBy } from '../../alerts/happenings.ts'
import { sharedRedis } from '../../setup/redis.ts'
import { whenReady } from '../../store/redis/ready.ts'
import { episode } from '../../usage/usage-log.suite.ts'
import { NOW, type Running, startAdmin, VIEWER, YAML } from '../running.ts'

/** An access key without an end that is as good as new. */
const UNUSED = { expiresAt: null, revokedAt: null, lastUsedAt: null, state: 'valid' }
const ALERTS = `alerts: [{ name: near, scope: personal, category: read, window: 1h, at: [80%], webhook: { url: "http://127.0.0.1:9/", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw } }]\n`
const JANE = 'jane.doe@example.org'
const NAME_OF_FILE = 'attachment; filename="jane.doe@example.org.json"'
const path = `/api/users/${encodeURIComponent(JANE)}`
const iso = (at: number) => new Date(at).toISOString()

let redis: Awaited<ReturnType<typeof sharedRedis>>
beforeAll(async () => {
  redis = await sharedRedis()
})

let running: Running
beforeEach(async () => {
  running = await startAdmin({ yaml: `${YAML}${ALERTS}` })
})

/** Jane and bob alike. */
async function fill(): Promise<void> {
  const { call, spend, store } = running
  for (const user of [JANE, 'bob']) {
    await spend(user, 'read', 7)
    const seen = { user, first: NOW - 1000, last: NOW }
    await store.addUsage({
      instance: user,
      sequence: 1,
      series: [],
      episodes: [episode(seen), episode({ ...seen, window: '5h', shadow: true })],
    })
    await store.raiseAlerts([eventOf(reachedBy(user, { startedAt: NOW }))])
    await store.noteMemberships([{ user, plan: null, organisation: 'acme' }], 60_000)
    await store.noteUsers([user], 60_000)
    await call('POST', '/api/tokens', { body: { user, name: 'laptop' } })
    const body = { read: { '1h': 50 }, reason: `a trial of ${user}` }
    await call('PUT', `/api/users/${encodeURIComponent(user)}/override`, { body })
  }
}

test('all that is kept of a user is exported, and nothing of others', async () => {
  await fill()
  const exported = await running.call('GET', `${path}/export`)
  expect(exported.status).toBe(200)
  expect(exported.headers['content-disposition']).toBe(NAME_OF_FILE)
  expect(exported.json).toEqual({
    user: JANE,
    at: iso(NOW),
    firstChargeAt: iso(NOW),
    plan: null,
    organisation: 'acme',
    override: {
      version: 2,
      limits: { read: { '1h': 50 } },
      bypassGlobal: false,
      shadow: false,
      reason: `a trial of ${JANE}`,
      expiresAt: null,
    },
    accessKeys: [{ id: expect.any(String), user: JANE, name: 'laptop', createdAt: iso(NOW), ...UNUSED }],
    usage: [
      { category: 'read', window: '1h', seconds: 3600, start: iso(NOW), tokens: 7, running: true },
      { category: 'read', window: '5h', seconds: 18_000, start: iso(NOW), tokens: 7, running: true },
      // The day of the books.
      { category: 'read', window: 'days', seconds: 118_800, start: iso(NOW), tokens: 7, running: true },
    ],
    grants: [],
    refusals: [
      expect.objectContaining({ user: JANE, window: '1h', shadow: false }),
      expect.objectContaining({ user: JANE, window: '5h', shadow: true }),
    ],
    alerts: [expect.objectContaining({ alert: 'near', subject: JANE, state: 'pending' })],
    audit: [
      expect.objectContaining({ version: 2, what: 'override', subject: JANE }),
      expect.objectContaining({ version: 1, what: 'token_created' }),
    ],
  })
  expect(exported.text).not.toContain('bob')
})

test('a user who is forgotten is in no response any more, and the audit has another name', async () => {
  await fill()
  const bob = await running.call('GET', '/api/users/bob/export')
  const body = { reason: `asked for by ${JANE}` }
  const forgotten = await running.call('DELETE', `${path}?forget=1`, { body })
  expect(forgotten).toMatchObject({
    status: 200,
    json: { alias: expect.stringMatching(/^forgotten-[0-9a-f]{12}$/), version: 5 },
  })
  const { alias } = forgotten.json
  for (const list of [
    '/api/users',
    '/api/tokens',
    '/api/refusals',
    '/api/refusals?shadow=true',
    '/api/alerts',
    '/api/audit',
    '/api/usage',
    '/api/overrides',
  ]) {
    const { status, text } = await running.call('GET', list)
    expect([status, text.includes(JANE), text.includes('bob')], list).toEqual([200, false, true])
  }
  const [entry] = (await running.call('GET', '/api/audit')).json.entries
  expect(entry).toMatchObject({ what: 'user_forgotten', subject: alias, why: `asked for by ${alias}` })
  expect((await running.call('GET', '/api/users/bob/export')).json).toEqual(bob.json)
  const nothing = { override: null, organisation: null, accessKeys: [], usage: [], refusals: [], alerts: [], audit: [] }
  expect((await running.call('GET', `${path}/export`)).json).toMatchObject(nothing)
  expect((await running.call('DELETE', `${path}?forget=1`)).status).toBe(404)
})

describe.each([
  ['Redis', () => openRedisStore({ url: redis.url, prefix: redis.prefix, observe: () => {} })],
  ['SQLite', () => undefined],
])('%s: an id of which nothing is kept', (name, open) => {
  test(`an id of which nothing is kept in ${name} is refused, and words of reasons stay, unless they are asked for`, async () => {
    const store = open()
    if (store !== undefined) await whenReady(store)
    const over = await startAdmin(store === undefined ? {} : { store })
    const whyOf = async () =>
      (await over.call('GET', '/api/audit')).json.entries.map((entry: { why: string }) => entry.why)
    await over.call('PATCH', '/api/quota', { body: { mode: 'loose', reason: 'the yearly load test' } })
    await over.call('POST', '/api/audit/1/undo', { body: { reason: 'undo it' } })
    const refused = await over.call('DELETE', '/api/users/yearly?forget=1')
    expect(refused).toMatchObject({ status: 404, json: { error: 'not_found' } })
    expect(refused.json.msg).toBe(
      'Nothing is kept of user "yearly", so nothing was changed. Check the id, or add words=1 to take it out of reasons where it stands as a word, which nobody can undo.',
    )
    expect(await whyOf()).toEqual(['undo of 1: undo it', 'the yearly load test'])
    const { json } = await over.call('DELETE', '/api/users/yearly?forget=1&words=1')
    expect(await whyOf()).toEqual([null, 'undo of 1: undo it', `the ${json.alias} load test`])
    // The gateway's own words name nobody.
    const undo = await over.call('DELETE', '/api/users/undo?forget=1&words=1')
    expect(await whyOf()).toContain(`undo of 1: ${undo.json.alias} it`)
    await over.stop()
    await store?.close()
  })
})

describe.each([
  ['Redis', () => openRedisStore({ url: redis.url, prefix: `${redis.prefix}-replaced`, observe: () => {} })],
  ['SQLite', () => undefined],
])('%s: a user of a file that was replaced', (name, open) => {
  test(`a user whose override another file has replaced can be forgotten in ${name}, also if the audit does not name the user`, async () => {
    const store = open()
    if (store !== undefined) await whenReady(store)
    const over = await startAdmin(store === undefined ? {} : { store })
    const headers = { 'content-type': 'application/x-ndjson' }
    const override = { read: { '1h': 5 }, reason: 'a trial' }
    const users = Array.from({ length: 80 }, (_, i) => `person${i + 10}`)
    const body = users.map((user) => `${JSON.stringify({ user, ...override })}\n`).join('')
    for (const file of [body, '']) {
      const put = await over.call('PUT', '/api/overrides?allow_empty=1', { headers, body: file })
      expect(put.status, put.text).toBe(200)
    }
    const { text } = await over.call('GET', '/api/audit')
    const unnamed = users.find((user) => !text.includes(user))
    const statuses = []
    for (const _ of [1, 2]) statuses.push((await over.call('DELETE', `/api/users/${unnamed}?forget=1`)).status)
    expect(statuses).toEqual([200, 404])
    await over.stop()
    await store?.close()
  })
})

test('a user of whom only a membership, an access key, an override or an entry of the audit is kept can be forgotten', async () => {
  const { call, store } = running
  await store.noteMemberships([{ user: 'kim', plan: 'pro', organisation: null }], 60_000)
  await call('POST', '/api/tokens', { body: { user: 'lee', name: 'laptop' } })
  await call('PUT', '/api/users/max/override', { body: { bypassGlobal: true, reason: 'a trial' } })
  await call('POST', '/api/users/pat/reset', { body: { reason: 'a trial' } })
  for (const user of ['kim', 'lee', 'max', 'pat']) {
    const statuses = []
    for (const _ of [1, 2]) statuses.push((await call('DELETE', `/api/users/${user}?forget=1`)).status)
    expect(statuses, user).toEqual([200, 404])
  }
})

test('what was set for a user who was forgotten cannot be put back', async () => {
  await fill()
  await running.call('DELETE', `${path}?forget=1`)
  for (const version of [2, 5]) {
    const undone = await running.call('POST', `/api/audit/${version}/undo`)
    expect(undone).toMatchObject({ status: 422, json: { error: 'not_undoable' } })
    expect(undone.json.msg).toContain('nothing is kept of a user who was forgotten')
  }
})

test.each([
  ['', 'forget: must be 1: whatever is kept of the user goes'],
  ['?forget=true', 'forget: must be 1: whatever is kept of the user goes'],
  ['?forget=1&all=1', 'all: unknown'],
  ['?forget=1&words=yes', 'words: must be 1, or be left out'],
])('nobody is forgotten by a call that does not say so: %s', async (query, msg) => {
  await fill()
  const refused = await running.call('DELETE', `${path}${query}`)
  expect(refused).toMatchObject({ status: 400, json: { error: 'bad_request' } })
  expect(refused.json.msg).toContain(msg)
  expect((await running.call('GET', `${path}/export`)).json.audit).toHaveLength(2)
})

test('whoever may only look may export a user, and forget nobody', async () => {
  const headers = { authorization: `Bearer ${VIEWER}` }
  expect((await running.call('GET', `${path}/export`, { headers })).status).toBe(200)
  expect((await running.call('DELETE', `${path}?forget=1`, { headers })).json.error).toBe('forbidden')
})
