import { beforeEach, describe, expect, test } from 'vitest'
import { OF_LEADS } from '../../src/admin/permissions.ts'
import type { TokenResponse } from '../../src/contract/api.ts'
import { EXAMPLES } from '../../src/contract/examples.ts'
import { episode } from '../usage/usage-log.suite.ts'
import { NOW, type Reply, type Running, startAdmin, TOKEN, VIEWER } from './running.ts'

/** Leads of two organisations at a listener of which each knows the other's names. */

const LEADS = { acme: 'lead-of-acme-00000000000000000000', rival: 'lead-of-rival-0000000000000000000' }
const YAML = `upstream: { url: "http://127.0.0.1:9000" }
store: "sqlite::memory:"
admin:
  token: ${TOKEN}
  tokens:
    - { name: desk, role: viewer, token: ${VIEWER} }
    - { name: carol, role: "lead:acme", token: ${LEADS.acme} }
    - { name: rick, role: "lead:rival", token: ${LEADS.rival} }
auth: { gateway_tokens: true }
quota:
  windows: { 1h: 1h, 1d: 1d }
  baselines: { personal: { read: { 1h: 120 } } }
  plans:
    team: { personal: { read: { 1h: 600 } }, organisation: { read: { 1h: 500, 1d: 2000 } } }
    free: {}
routes: [{ match: GET /v1/songs, category: read, cost: 2 }]
`
const DAY = 86_400_000

let running: Running
beforeEach(async () => {
  running = await startAdmin({ yaml: YAML, drain: { isOn: () => false, turn: () => {} } })
})

type Who = keyof typeof LEADS
function as(who: Who, method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
  return running.call(method, path, { body, headers: { authorization: `Bearer ${LEADS[who]}`, ...headers } })
}

/** Whose credentials have named an organisation. */
async function join(organisation: string, users: readonly string[], plan = 'team'): Promise<void> {
  await running.store.noteMemberships(
    users.map((user) => ({ user, plan, organisation })),
    35 * DAY,
  )
}

async function keyFor(user: string, organisation: string): Promise<TokenResponse> {
  return (await running.call('POST', '/api/tokens', { body: { user, name: 'laptop', organisation } })).json
}

/** Both organisations alike: members with use, refusals, keys and an override. */
async function fill(): Promise<Record<Who, TokenResponse>> {
  await join('acme', ['ann', 'bob'])
  await join('rival', ['rita'])
  const keys = { acme: await keyFor('ann', 'acme'), rival: await keyFor('rita', 'rival') }
  for (const [user, organisation] of [
    ['ann', 'acme'],
    ['bob', 'acme'],
    ['rita', 'rival'],
    ['olaf', null],
  ] as const) {
    await running.spend(user, 'read', 7)
    const seen = { user, organisation, first: NOW - 1000, last: NOW }
    await running.store.addUsage({ instance: user, sequence: 1, series: [], episodes: [episode(seen)] })
  }
  const body = { read: { '1h': 40 }, reason: 'a trial' }
  await running.call('PUT', '/api/users/ann/override', { body })
  await running.call('PUT', '/api/organisations/acme/override', { body })
  return keys
}

const changes = async () => (await running.store.controlVersion()).version

/** Every operation of the OpenAPI document that asks who it is, with the request of its example. */
async function operations() {
  const { paths } = (await running.call('GET', '/openapi.json')).json
  const all = Object.entries(paths as Record<string, Record<string, { security: object[] }>>)
  return all.flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security }]) => {
      const name = `${method.toUpperCase()} ${path}`
      // Who may come without a credential needs no role.
      const isOfRoles = security.length > 0 && !security.some((each) => Object.keys(each).length === 0)
      return isOfRoles ? [{ name, method: method.toUpperCase(), path, example: EXAMPLES[name] ?? {} }] : []
    }),
  )
}
type Operation = Awaited<ReturnType<typeof operations>>[number]

/** The path of an example, about what belongs to acme. */
function ofAcme({ path, example }: Operation, keys: Record<Who, TokenResponse>): string {
  const id = path.startsWith('/api/organisations') ? 'acme' : path.startsWith('/api/tokens') ? keys.acme.id : 'ann'
  const { id: _, 'If-Match': __, ...query } = example.parameters ?? {}
  const asked = new URLSearchParams(query).toString()
  return `${path.replace('{id}', id)}${asked === '' ? '' : `?${asked}`}`
}

test('an operation of the document that asks for a role says what becomes of a lead', async () => {
  const rows = (await operations()).map(({ name }) => name.replace(/\{(\w+)\}/g, ':$1'))
  expect(Object.keys(OF_LEADS).sort()).toEqual(rows.sort())
})

test('an operation of the document is refused to a lead of another organisation, or shows nothing of this one', async () => {
  const keys = await fill()
  const version = await changes()
  const outcomes = new Map<string, number>()
  for (const operation of await operations()) {
    const { name, method, example } = operation
    const isFile = name === 'PUT /api/overrides' || name === 'PUT /api/tokens/import'
    const headers = isFile ? { 'content-type': 'application/x-ndjson' } : {}
    // What a lead could leave out, or name otherwise.
    const body = name === 'POST /api/tokens' ? { user: 'ann', name: 'laptop' } : example.body
    const path = ofAcme(operation, keys)
    const { status, text } = await as('rival', method, path, body, headers)
    outcomes.set(name, status)
    const secrets = ['ann', 'bob', 'acme', 'olaf', keys.acme.id].filter((secret) => !path.includes(secret))
    expect([name, status === 403 || !secrets.some((secret) => text.includes(secret))]).toEqual([name, true])
  }
  expect([...outcomes].filter(([, status]) => status !== 403)).toEqual([
    ['GET /api/users', 200],
    ['GET /api/refusals', 200],
    ['GET /api/refusals/groups', 200],
    ['GET /api/tokens', 200],
    // Of a user without a key of the own organisation none is revoked.
    ['DELETE /api/tokens', 200],
  ])
  expect(await changes()).toBe(version)
})

test('an operation of the document on a list is refused to a lead who names another organisation', async () => {
  await fill()
  const version = await changes()
  for (const path of ['/api/users', '/api/refusals', '/api/usage', '/api/tokens']) {
    for (const query of [
      'organisation=acme',
      'organisation=rival&organisation=acme',
      'organisation=',
      'organisation=RIVAL',
    ]) {
      expect([path, query, (await as('rival', 'GET', `${path}?${query}`)).status]).toEqual([path, query, 403])
    }
    expect((await as('rival', 'GET', `${path}?organisation=rival`)).status).toBe(200)
  }
  for (const by of ['plan', 'category', 'route', 'all', 'by=user&by=plan'])
    expect((await as('rival', 'GET', `/api/usage?by=${by}`)).status).toBe(403)
  expect((await as('rival', 'DELETE', '/api/tokens?user=ann&organisation=acme', {})).status).toBe(403)
  expect((await as('rival', 'DELETE', '/api/tokens?user=ann', {})).json).toEqual({ user: 'ann', revoked: 0 })
  expect(await changes()).toBe(version)
})

describe('the names of a path', () => {
  test('an id of a path that only looks like the own organisation, or like a member, is another one', async () => {
    await fill()
    for (const id of [
      'ACME',
      'acme%20',
      '%20acme',
      'acme%2F',
      'acme%00',
      'ac%E2%80%8Bme',
      '%EF%BD%81cme',
      '..%2Facme',
      'rival%2F..%2Facme',
    ]) {
      const { status } = await as('acme', 'GET', `/api/organisations/${id}`)
      expect([id, [400, 403].includes(status)]).toEqual([id, true])
    }
    for (const id of ['Ann', 'ann%20', 'an%CC%81n', 'rita', 'olaf', 'nobody', '__proto__', 'a%2F..%2Fann'])
      expect([id, (await as('acme', 'GET', `/api/users/${id}`)).status]).toEqual([id, 403])
    for (const path of ['/api/organisations/%61cme', '/api/users/%61nn'])
      expect((await as('acme', 'GET', path)).status).toBe(200)
    for (const path of ['/api//now', '/API/now', '/api/now/', '/api/users/ann/../rita'])
      expect([path, [403, 404].includes((await as('acme', 'GET', path)).status)]).toEqual([path, true])
    expect((await as('acme', 'HEAD', '/api/now')).status).toBe(403)
    expect((await as('acme', 'OPTIONS', '/api/organisations/rival')).status).toBe(403)
  })
})

test('a lead sees the grants of a member beside the use, and none of anybody else', async () => {
  await fill()
  const until = new Date(NOW + DAY).toISOString()
  for (const user of ['ann', 'rita', 'olaf']) {
    const body = { user, category: 'read', tokens: 5, until, reason: `for ${user}` }
    expect((await running.call('POST', '/api/grants', { body })).status).toBe(201)
  }
  const grantsOf = async (who: Who, user: string) => (await as(who, 'GET', `/api/usage?user=${user}`)).json.grants
  expect(await grantsOf('acme', 'ann')).toMatchObject([{ user: 'ann', reason: 'for ann' }])
  expect([await grantsOf('acme', 'rita'), await grantsOf('acme', 'olaf')]).toEqual([undefined, undefined])
  expect(await grantsOf('rival', 'ann')).toBeUndefined()
})

test('a lead sees the organisation, its members and their refusals, use and keys, and nothing of others', async () => {
  const keys = await fill()
  expect((await as('acme', 'GET', '/api/session')).json).toMatchObject({
    name: 'carol',
    role: 'lead',
    organisation: 'acme',
  })
  expect((await as('acme', 'GET', '/api/organisations/acme')).json).toMatchObject({ organisation: 'acme' })
  const users = (await as('acme', 'GET', '/api/users')).json.users as { user: string }[]
  expect(users.map(({ user }) => user).sort()).toEqual(['ann', 'bob'])
  expect((await as('acme', 'GET', '/api/users/ann')).json).toMatchObject({ user: 'ann', organisation: 'acme' })
  const refusals = (await as('acme', 'GET', '/api/refusals')).json.refusals as { user: string }[]
  expect(refusals.map(({ user }) => user).sort()).toEqual(['ann', 'bob'])
  const rows = (await as('acme', 'GET', '/api/usage')).json.rows as { user: string; tokens: number }[]
  expect(rows.map(({ user, tokens }) => [user, tokens])).toEqual(
    expect.arrayContaining([
      ['ann', 7],
      ['bob', 7],
    ]),
  )
  expect(rows.map(({ user }) => user)).not.toContain('rita')
  for (const format of ['csv', 'ndjson']) {
    const { text } = await as('acme', 'GET', `/api/usage?format=${format}`)
    expect([text.includes('ann'), text.includes('rita'), text.includes('olaf')]).toEqual([true, false, false])
  }
  const { tokens } = (await as('acme', 'GET', '/api/tokens')).json
  expect(tokens.map(({ id }: TokenResponse) => id)).toEqual([keys.acme.id])
})

test('a lead of whose members one has moved sees that one no more, nor makes keys or limits for that one', async () => {
  const keys = await fill()
  await running.call('DELETE', '/api/users/ann/override', { body: {} })
  await as('acme', 'PUT', '/api/users/ann/override', { read: { '1h': 30 }, reason: 'a share' })
  await join('rival', ['ann'])
  const version = await changes()
  expect((await as('acme', 'GET', '/api/users')).text).not.toContain('"ann"')
  for (const [method, path, body] of [
    ['GET', '/api/users/ann'],
    ['PUT', '/api/users/ann/override', { read: { '1h': 1 }, reason: 'spite' }],
    ['DELETE', '/api/users/ann/override', {}],
    ['POST', '/api/tokens', { user: 'ann', name: 'again' }],
    ['POST', `/api/tokens/${keys.acme.id}/rotate`, {}],
  ] as const)
    expect([method, path, (await as('acme', method, path, body)).status]).toEqual([method, path, 403])
  expect(await changes()).toBe(version)
  const { windows } = (await as('rival', 'GET', '/api/users/ann')).json
  // What the former lead has set holds within the former organisation alone.
  expect(windows.read[0]).toMatchObject({ scope: 'Personal', limit: 600 })
  expect((await as('acme', 'DELETE', `/api/tokens/${keys.acme.id}`, {})).status).toBe(204)
})

const put = (body: object, headers = {}) =>
  as('acme', 'PUT', '/api/users/bob/override', { reason: 'a share', ...body }, headers)

test('an override by a lead lowers a limit, and the audit says who did it as what', async () => {
  await fill()
  await running.call('DELETE', '/api/organisations/acme/override', { body: {} })
  expect((await put({ read: { '1h': 500, '1d': 2000 } })).status).toBe(200)
  const { windows, override } = (await running.call('GET', '/api/users/bob')).json
  expect(windows.read.map(({ limit, window }: { limit: number; window: string }) => [window, limit])).toEqual(
    expect.arrayContaining([
      ['1h', 500],
      ['1d', 2000],
    ]),
  )
  expect(override).toMatchObject({ within: 'acme', limits: { read: { '1h': 500, '1d': 2000 } } })
  const [entry] = await running.store.readAudit(null, 1)
  expect(entry).toMatchObject({ who: 'carol (lead of acme)', what: 'override', subject: 'bob', why: 'a share' })
  expect((await as('acme', 'DELETE', '/api/users/bob/override', {})).status).toBe(200)
})

test.each([
  ['above what the organisation has', { read: { '1h': 501 } }, 400],
  ['above what it has in a window that no personal limit has', { read: { '1d': 2001 } }, 400],
  ['with something beyond the limit', { read: { '1h': { limit: 1, over: 1000 } } }, 400],
  ['without a limit', { read: { '1h': 'unlimited' } }, 400],
  ['as a factor', { factor: 2 }, 403],
  ['with another plan', { plan: 'team' }, 403],
  ['with room beside the global limits', { bypassGlobal: true }, 403],
  ['with shadow', { shadow: true }, 403],
  ['for another organisation', { read: { '1h': 1 }, within: 'rival' }, 403],
  ['for a category that nobody has', { write: { '1h': 1 } }, 400],
])('an override by a lead %s is refused', async (_, body, status) => {
  await fill()
  await running.call('DELETE', '/api/organisations/acme/override', { body: {} })
  const version = await changes()
  expect((await put(body)).status).toBe(status)
  expect(await changes()).toBe(version)
})

test('an override by a lead takes the place of no override of the operator, whatever version is named', async () => {
  await fill()
  const body = { read: { '1h': 10 }, reason: 'a debt' }
  const { headers } = await running.call('PUT', '/api/users/bob/override', { body })
  const version = await changes()
  for (const ifMatch of [undefined, '*', String(headers.etag), '"0"']) {
    const sent = ifMatch === undefined ? {} : { 'if-match': ifMatch }
    expect((await put({ read: { '1h': 9 } }, sent)).status).toBe(403)
    expect((await as('acme', 'DELETE', '/api/users/bob/override', {}, sent)).status).toBe(403)
  }
  expect(await changes()).toBe(version)
})

test('an override by a lead goes down with what the operator gives, and never up with it', async () => {
  await fill()
  await running.call('DELETE', '/api/organisations/acme/override', { body: {} })
  await put({ read: { '1h': 400 } })
  const limit = async () => (await running.call('GET', '/api/users/bob')).json.windows.read[0]
  expect(await limit()).toMatchObject({ limit: 400, source: 'override' })
  await join('acme', ['bob'], 'free')
  expect(await limit()).toMatchObject({ limit: 120, source: 'baseline' })
})

test('an override by a lead names the version that it takes the place of, and no other', async () => {
  await fill()
  expect((await put({ read: { '1h': 30 } })).status).toBe(200)
  expect((await put({ read: { '1h': 20 } }, { 'if-match': '"0"' })).status).toBe(412)
  expect((await put({ read: { '1h': 20 } })).status).toBe(200)
})

test('a lead whose override has expired can set a new one, and there is none to remove', async () => {
  let now = NOW
  running = await startAdmin({ yaml: YAML, now: () => now })
  await join('acme', ['bob'])
  expect((await put({ read: { '1h': 30 }, expiresAt: new Date(NOW + 60_000).toISOString() })).status).toBe(200)
  now += 120_000
  expect((await as('acme', 'DELETE', '/api/users/bob/override', {})).status).toBe(404)
  expect((await put({ read: { '1h': 20 } }, { 'if-match': '"1"' })).status).toBe(412)
  expect((await put({ read: { '1h': 20 } }, { 'if-match': '"0"' })).status).toBe(200)
  expect((await put({ read: { '1h': 10 } })).status).toBe(200)
})

describe('a key that a lead makes', () => {
  const make = (body: object) => as('acme', 'POST', '/api/tokens', { name: 'laptop', ...body })

  test('a key that a lead makes names the organisation and the plan of the member, also of a new one below its name', async () => {
    await fill()
    for (const user of ['ann', 'acme/robot']) {
      const { status, json } = await make({ user })
      expect([status, json.organisation, json.plan]).toEqual([201, 'acme', 'team'])
      const rotated = await as('acme', 'POST', `/api/tokens/${json.id}/rotate`, {})
      expect([rotated.status, rotated.json.organisation]).toEqual([201, 'acme'])
    }
    const [entry] = await running.store.readAudit(null, 1)
    expect(entry).toMatchObject({ who: 'carol (lead of acme)', what: 'token_created' })
    expect((await as('acme', 'DELETE', '/api/tokens?user=ann', {})).json).toMatchObject({ user: 'ann', revoked: 3 })
  })

  test.each([
    ['for a member of another organisation', { user: 'rita' }],
    ['for somebody without an organisation', { user: 'olaf' }],
    ['for somebody whom nobody knows', { user: 'zoe' }],
    ['for a name that begins like the organisation', { user: 'acmeworks' }],
    ['for a name below the organisation that belongs to another one', { user: 'acme/taken' }],
    ['that names another organisation', { user: 'ann', organisation: 'rival' }],
    ['with another plan', { user: 'ann', plan: 'free' }],
  ])('a key that a lead makes %s is refused', async (_, body) => {
    await fill()
    await join('rival', ['acme/taken'])
    const version = await changes()
    expect((await make(body)).status).toBe(403)
    expect(await changes()).toBe(version)
  })

  test('a key that a lead revokes for a member is one of the organisation, and the others of that member stay', async () => {
    await fill()
    const elsewhere = await keyFor('ann', 'rival')
    expect((await as('acme', 'DELETE', `/api/tokens/${elsewhere.id}`, {})).status).toBe(403)
    expect((await as('acme', 'POST', `/api/tokens/${elsewhere.id}/rotate`, {})).status).toBe(403)
    await as('acme', 'DELETE', '/api/tokens?user=ann', {})
    const states = (await running.store.listTokens()).map(({ organisation, revokedAt }) => [
      organisation,
      revokedAt !== null,
    ])
    expect(states).toEqual(
      expect.arrayContaining([
        ['rival', false],
        ['acme', true],
      ]),
    )
  })
})
