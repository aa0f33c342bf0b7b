import { beforeEach, expect, test } from 'vitest'
import type { TokenResponse } from '../../../src/contract/api.ts'
import { hashAccessKey, looksLikeAccessKey } from '../../../src/control/access-key-record.ts'
import type { AccessKeyRecord } from '../../../src/control/access-key-store.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { NOW, type Running, startAdmin } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const create = (body: unknown) => running.call('POST', '/api/tokens', { body })

test('an access key lives from its making to its revocation, and is shown once', async () => {
  const made = await create({ user: 'alice', name: 'phone', expiresAt: '2027-01-01T00:00:00+08:00' })
  expect(made.status).toBe(201)
  const { token, ...record } = made.json
  expect(looksLikeAccessKey(token)).toBe(true)
  expect(record).toEqual({
    id: expect.any(String),
    user: 'alice',
    name: 'phone',
    createdAt: new Date(NOW).toISOString(),
    expiresAt: '2026-12-31T16:00:00.000Z',
    revokedAt: null,
    lastUsedAt: null,
    state: 'valid',
  })
  expect((await running.store.listTokens())[0]?.hash).toBe(hashAccessKey(token))

  const listed = await running.call('GET', '/api/tokens')
  expect(listed.json).toEqual({ tokens: [record] })
  expect(listed.text).not.toContain(token)
  expect(listed.text).not.toContain(hashAccessKey(token))

  const revoked = await running.call('DELETE', `/api/tokens/${record.id}`)
  expect([revoked.status, revoked.text]).toEqual([204, ''])
  expect((await running.call('GET', '/api/tokens')).json.tokens[0].revokedAt).toBe(new Date(NOW).toISOString())
  expect((await running.call('DELETE', `/api/tokens/${record.id}`)).status).toBe(204)
})

test('access keys are listed for one user, or by the beginning of their id or name, as well', async () => {
  for (const user of ['alice', 'bob', 'alice']) await create({ user, name: 'phone' })
  const usersOf = async (query: string) => {
    const { json } = await running.call('GET', `/api/tokens${query}`)
    return (json.tokens as { user: string }[]).map(({ user }) => user)
  }
  expect(await usersOf('?user=alice')).toEqual(['alice', 'alice'])
  expect(await usersOf('?user=carol')).toEqual([])
  expect(await usersOf('')).toHaveLength(3)
  const [{ id = '' } = {}] = await running.store.listTokens()
  await create({ user: 'carol', name: 'phone of carol' })
  await create({ user: 'carol', name: 'my phone' })
  expect(await usersOf('?prefix=phone')).toHaveLength(4)
  expect(await usersOf('?prefix=phone%20of')).toEqual(['carol'])
  expect(await usersOf('?prefix=phone&user=bob')).toEqual(['bob'])
  expect(await usersOf(`?prefix=${id.slice(0, 12)}`)).toHaveLength(1)
  for (const query of ['?user=', '?user=a&user=b', '?name=phone', '?prefix=', '?prefix=a&prefix=b'])
    expect(await running.call('GET', `/api/tokens${query}`)).toMatchObject({ status: 400 })
})

test('an access key shows when it was used last and whether it works, and those are found that nobody uses', async () => {
  const DAY = 86_400_000
  for (const name of ['idle', 'busy', 'new']) await create({ user: 'alice', name })
  const [idle, busy] = [await recordOf('idle'), await recordOf('busy')]
  await running.store.noteUses(new Map([[busy.hash, NOW - DAY]]))
  const list = async (query = '') => (await running.call('GET', `/api/tokens${query}`)).json.tokens
  const uses = Object.fromEntries((await list()).map((key: TokenResponse) => [key.name, key.lastUsedAt]))
  expect(uses).toEqual({ idle: null, busy: new Date(NOW - DAY).toISOString(), new: null })
  await running.store.noteUses(new Map([[idle.hash, NOW - 30 * DAY]]))
  expect((await list('?unused=30d')).map(({ name }: TokenResponse) => name)).toEqual(['idle'])
  expect((await list('?unused=31d')).map(({ name }: TokenResponse) => name)).toEqual([])
  expect((await list('?order=unused')).map(({ name }: TokenResponse) => name)).toEqual(['idle', 'busy', 'new'])
  await running.call('DELETE', `/api/tokens/${idle.id}`)
  expect((await list('?unused=30d'))[0]).toMatchObject({ name: 'idle', state: 'revoked' })
  for (const query of ['?unused=30', '?unused=-1d', '?unused=1d&unused=2d', '?order=used'])
    expect(await running.call('GET', `/api/tokens${query}`)).toMatchObject({ status: 400 })
})

async function recordOf(name: string): Promise<AccessKeyRecord> {
  const found = (await running.store.listTokens()).find((record) => record.name === name)
  if (found === undefined) throw new Error(`no key ${name}`)
  return found
}

test('all access keys of a user are revoked by one call, with one entry in the audit', async () => {
  for (const user of ['alice', 'bob', 'alice']) await create({ user, name: `phone of ${user}` })
  const revoke = (query: string, body: unknown = {}) => running.call('DELETE', `/api/tokens${query}`, { body })
  const reply = await revoke('?user=alice', { reason: 'alice has left' })
  expect([reply.status, reply.json]).toEqual([200, { user: 'alice', revoked: 2 }])
  const { tokens } = (await running.call('GET', '/api/tokens')).json
  const states = (tokens as { user: string; revokedAt: string | null }[]).map((it) => [it.user, it.revokedAt !== null])
  expect(states.sort()).toEqual([
    ['alice', true],
    ['alice', true],
    ['bob', false],
  ])
  expect((await revoke('?user=alice')).json).toEqual({ user: 'alice', revoked: 0 })
  const { entries } = (await running.call('GET', '/api/audit?what=tokens_revoked')).json
  const name = 'phone of alice'
  const named = [{ name }, { name }]
  expect(entries).toMatchObject([{ subject: 'alice', why: 'alice has left', to: { user: 'alice', tokens: named } }])
  const undone = await running.call('POST', `/api/audit/${entries[0].version}/undo`, { body: {} })
  expect([undone.status, undone.json.msg]).toEqual([422, expect.stringContaining('POST /api/tokens')])
  for (const query of ['', '?user=', '?user=a&user=b', '?user=bob&name=phone'])
    expect(await revoke(query)).toMatchObject({ status: 400 })
  expect(await revoke('?user=bob', { reason: 7 })).toMatchObject({ status: 400 })
})

const rotate = (id: string, body?: unknown) => running.call('POST', `/api/tokens/${id}/rotate`, { body })
const endIn = (hours: number) => new Date(NOW + hours * 3_600_000).toISOString()

test('an access key that takes the place of another one has its facts, and the old one ends after the grace', async () => {
  const facts = { user: 'alice', name: 'phone', organisation: 'acme' }
  const { json: old } = await create(facts)
  const { status, json } = await rotate(old.id, { grace: '36h', reason: 'a year old' })
  expect([status, looksLikeAccessKey(json.token), json.token === old.token]).toEqual([201, true, false])
  expect(json).toMatchObject({ ...facts, expiresAt: null, revokedAt: null })
  const { tokens } = (await running.call('GET', '/api/tokens')).json
  const ends = Object.fromEntries((tokens as { id: string; expiresAt: string }[]).map((it) => [it.id, it.expiresAt]))
  expect(ends).toEqual({ [old.id]: endIn(36), [json.id]: null })
  const { entries } = (await running.call('GET', '/api/audit')).json
  expect(entries).toHaveLength(2)
  expect(entries[0]).toMatchObject({
    what: 'token_created',
    subject: json.id,
    why: 'a year old',
    to: { user: 'alice', name: 'phone', replaces: { id: old.id, expiresAt: endIn(36) } },
  })
})

test('an access key that takes the place of another one leaves it no longer than it had, and a day by default', async () => {
  const { json: old } = await create({ user: 'alice', name: 'phone', expiresAt: endIn(1) })
  expect((await rotate(old.id, { expiresAt: endIn(48) })).json.expiresAt).toBe(endIn(48))
  const { json: other } = await create({ user: 'bob', name: 'phone', expiresAt: endIn(90) })
  expect((await rotate(other.id)).json.expiresAt).toBe(endIn(90))
  const { tokens } = (await running.call('GET', '/api/tokens')).json
  const ends = new Map((tokens as { id: string; expiresAt: string }[]).map((it) => [it.id, it.expiresAt]))
  expect([ends.get(old.id), ends.get(other.id)]).toEqual([endIn(1), endIn(24)])
})

test('an access key that takes the place of another one with no grace ends it at once, and it is not replaced again', async () => {
  const { json: old } = await create({ user: 'alice', name: 'phone' })
  expect((await rotate(old.id, { grace: '0m' })).status).toBe(201)
  expect(await rotate(old.id)).toMatchObject({ status: 409, json: { error: 'conflict' } })
  const { json: revoked } = await create({ user: 'alice', name: 'phone' })
  await running.call('DELETE', `/api/tokens/${revoked.id}`)
  expect(await rotate(revoked.id)).toMatchObject({ status: 409, json: { error: 'conflict' } })
  expect(await rotate('nobody')).toMatchObject({ status: 404, json: { error: 'not_found' } })
})

test('an access key that takes the place of another one would end with the grace of that one, so it is not replaced twice unless an end is given', async () => {
  const { json: old } = await create({ user: 'alice', name: 'phone' })
  const { json: fresh } = await rotate(old.id)
  const twice = await rotate(old.id)
  expect(twice).toMatchObject({ status: 409, json: { error: 'conflict', msg: expect.stringContaining(fresh.id) } })
  expect((await rotate(old.id, { expiresAt: null })).json.expiresAt).toBeNull()
  expect((await rotate(fresh.id)).json.expiresAt).toBeNull()
})

test('an access key that takes the place of another one is not made if that one is revoked meanwhile, which stays so', async () => {
  const { json: old } = await create({ user: 'alice', name: 'phone' })
  const before = await running.store.findTokens([old.id])
  await running.call('DELETE', `/api/tokens/${old.id}`)
  const late = await startAdmin({ store: running.store, broken: { findTokens: async () => before } })
  const reply = await late.call('POST', `/api/tokens/${old.id}/rotate`, { body: {} })
  await late.stop()
  expect(reply).toMatchObject({ status: 409, json: { error: 'conflict' } })
  expect(await running.store.listTokens()).toMatchObject([{ id: old.id, revokedAt: NOW }])
})

test.each([
  ['91d', 'grace'],
  ['1w', 'grace'],
  ['24', 'grace'],
  [24, 'grace'],
])('an access key that takes the place of another one needs a grace that is one, not %j', async (grace, path) => {
  const { json } = await create({ user: 'alice', name: 'phone' })
  expect(await rotate(json.id, { grace })).toMatchObject({ status: 400, json: { problems: [{ path }] } })
  expect(await running.store.listTokens()).toHaveLength(1)
})

test('an access key without an expiry does not end', async () => {
  expect((await create({ user: 'alice', name: 'phone' })).json.expiresAt).toBeNull()
  expect((await create({ user: 'alice', name: 'phone', expiresAt: null })).json.expiresAt).toBeNull()
})

test('an id that is not known is 404', async () => {
  expect(await running.call('DELETE', '/api/tokens/nobody')).toMatchObject({
    status: 404,
    json: { error: 'not_found' },
  })
})

const fine = { user: 'alice', name: 'phone' }
test.each([
  ['user missing', { name: 'phone' }, /^user: must be a text of 1 to 256 bytes/],
  ['user empty', { ...fine, user: '' }, /^user: must be a text of 1 to 256 bytes/],
  ['user of 257 bytes', { ...fine, user: `${'é'.repeat(128)}x` }, /^user: /],
  ['user with half a character', { ...fine, user: '\ud800' }, /^user: /],
  ['user a number', { ...fine, user: 7 }, /^user: /],
  ['name empty', { ...fine, name: '' }, /^name: must be a text of 1 to 64 characters/],
  ['name of 65 characters', { ...fine, name: 'x'.repeat(65) }, /^name: /],
  ['name that breaks a list', { ...fine, name: 'a\nb' }, /^name: /],
  ['name with half a character', { ...fine, name: '\ud800' }, /^name: /],
  ['expiry a number', { ...fine, expiresAt: 1_900_000_000 }, /^expiresAt: must be a time with its offset/],
  [
    'expiry without an offset',
    { ...fine, expiresAt: '2030-01-31T00:00:00' },
    /^expiresAt: must be a time with its offset/,
  ],
  ['expiry on no day', { ...fine, expiresAt: '2030-02-31T00:00:00Z' }, /^expiresAt: /],
  ['expiry now', { ...fine, expiresAt: new Date(NOW).toISOString() }, /^expiresAt: must be in the future$/],
  [
    'a field unknown',
    { ...fine, expires: '2030-01-31T00:00:00Z' },
    /^expires: unknown field "expires"; did you mean "expiresAt"\?$/,
  ],
  ['a user id that no credential could carry', { ...fine, user: 'a\n' }, /^user: must be a text of 1 to 256 bytes/],
  ['a user id that no path can hold', { ...fine, user: '..' }, /^user: .* neither "." nor "..": /],
  ['two at once', { user: '', name: '' }, /^user: .+; name: /],
  ['no object', [1], /^body: must be a JSON object/],
  ['no body', undefined, /^body: must be a JSON object/],
])('a wrong field is refused with its name and the cure: %s', async (_what, body, msg) => {
  const reply = await create(body)
  expect(reply).toMatchObject({ status: 400, json: { error: 'bad_request', msg: expect.stringMatching(msg) } })
  expect(await running.store.listTokens()).toEqual([])
})

test.each(['x'.repeat(256), 'é'.repeat(128), '用户', 'a:b', '...', '%2e', '__proto__', '"><img src=x>'])(
  'any other user id is taken as it is',
  async (user) => {
    expect((await create({ user, name: '😀'.repeat(64) })).json.user).toBe(user)
  },
)

test('making and revoking are in the audit once each, with who and why and without the access key', async () => {
  const { json } = await running.call('POST', '/api/tokens', {
    body: { user: 'alice', name: 'phone', reason: 'new phone' },
  })
  for (let i = 0; i < 2; i++) await running.call('DELETE', `/api/tokens/${json.id}`, { body: { reason: 'lost' } })
  await running.call('DELETE', '/api/tokens/nobody')
  const audit = await running.call('GET', '/api/audit')
  expect(audit.json.entries).toMatchObject([
    { what: 'token_revoked', subject: json.id, who: 'admin', why: 'lost', to: { user: 'alice', name: 'phone' } },
    { what: 'token_created', subject: json.id, who: 'admin', why: 'new phone', to: { user: 'alice', name: 'phone' } },
  ])
  expect(audit.text).not.toContain(json.token)
})

test('an access key is not revoked for a reason that the audit cannot have', async () => {
  const { json } = await create({ user: 'alice', name: 'phone' })
  const reply = await running.call('DELETE', `/api/tokens/${json.id}`, { body: { reason: 'a\nb' } })
  expect(reply).toMatchObject({ status: 400, json: { problems: [{ path: 'reason' }] } })
  expect(await running.store.listTokens()).toMatchObject([{ revokedAt: null }])
})

test('an access key that the audit could not take is not made', async () => {
  const fails = () => Promise.reject(new StoreError('no', 'timeout', 'no'))
  const other = await startAdmin({ broken: { change: fails } })
  expect((await other.call('POST', '/api/tokens', { body: { user: 'alice', name: 'phone' } })).status).toBe(503)
  expect(await other.store.listTokens()).toEqual([])
})
