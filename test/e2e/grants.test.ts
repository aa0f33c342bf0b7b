import { beforeEach, describe, expect, it } from 'vitest'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** Extra tokens that are given once: what they pay for, by the log of the upstream, and who is shown what of them. */

const ADMIN = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
const SOON = { timeout: 30_000, interval: 20 }
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString()

let upstream: Upstream
let app: RunningApp
let tokens: string | null
beforeEach(async () => {
  tokens = null
  upstream = await startUpstream((_seen, res) => {
    if (tokens !== null) res.setHeader('X-Tokens', tokens)
    res.end('ok')
  })
  app = await startApp(`
listen: 127.0.0.1:0
upstream: { url: "${upstream.url}" }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
decisions: { listen: "127.0.0.1:0" }
auth:
  jwt:
    - { issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256], organisation_claim: org }
log: { level: fatal, requests: none }
quota:
  baselines: { personal: { read: { 1h: 3 }, write: { 1h: 2 } } }
  plans: { team: { personal: { read: { 1h: 3 } }, organisation: { read: { 1h: 5 } } } }
  default_plan: team
routes:
  - { match: "GET /x", category: read }
  - { match: "GET /settled", category: read, cost: 2, settle: { header: X-Tokens, max: 9 } }
  - { match: "POST /keyed", category: read, cost: 2, idempotency: { header: Idempotency-Key, for: 1h, replays: 3 } }
  - { match: "GET /both", charges: { read: 1, write: 1 } }`)
})

async function ask(path = '/x', user = 'bob', { org, ...init }: RequestInit & { org?: string } = {}) {
  const authorization = `Bearer ${jwtOf(user, org === undefined ? {} : { org })}`
  return fetch(app.url + path, { ...init, headers: { ...init.headers, authorization } })
}
async function statuses(count: number, ...asked: Parameters<typeof ask>): Promise<number[]> {
  const all = []
  for (let i = 0; i < count; i++) all.push((await ask(...asked)).status)
  return all
}
async function admin(method: string, path: string, body?: unknown) {
  const init = { method, headers: ADMIN, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await fetch(app.admin + path, init)
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API says
  return { status: response.status, body: (await response.json()) as any }
}
async function give(of: object) {
  const { status, body } = await admin('POST', '/api/grants', { until: TOMORROW, reason: 'an audit', ...of })
  expect(status).toBe(201)
  await expect.poll(async () => (await own('bob', 'acme')).grants?.length ?? 0, SOON).toBeGreaterThan(0)
  return body as { id: string }
}
async function own(user = 'bob', org?: string) {
  const response = await ask('/me/quota', user, org === undefined ? {} : { org })
  // biome-ignore lint/suspicious/noExplicitAny: whatever it says
  return (await response.json()) as any
}
const takenOf = async (id: string): Promise<number> =>
  (await admin('GET', '/api/grants')).body.grants.find((grant: { id: string }) => grant.id === id).taken

describe('a grant to a user', () => {
  it('a grant to a user lets exactly its tokens pass beyond the limit, and 429 comes when windows and grant have no room', async () => {
    const { id } = await give({ user: 'bob', category: 'read', tokens: 2 })
    expect(await statuses(7)).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(upstream.seen.length).toBe(5)
    expect((await (await ask()).json()) as object).toMatchObject({ quota: { scope: 'Personal', limit: 3, used: 3 } })
    expect(await statuses(4, '/x', 'carol')).toEqual([200, 200, 200, 429])
    expect(await takenOf(id)).toBe(2)
    const status = { id, scope: 'Personal', category: 'read', tokens: 2, taken: 2, left: 0, until: TOMORROW }
    expect((await own()).grants).toEqual([status])
    expect((await admin('GET', '/api/users/bob')).body).toMatchObject({
      grants: [status],
      standing: { state: 'refused' },
      windows: { read: [{ used: 3 }] },
    })
    expect((await own('carol')).grants).toBeUndefined()
    const { rows, grants } = (await admin('GET', '/api/usage?user=bob&from=1d')).body
    expect(grants).toMatchObject([{ id, tokens: 2, taken: 2, left: 0, live: true }])
    expect((await admin('GET', '/api/users/bob/export')).body.grants).toEqual(grants)
    expect(rows.reduce((sum: number, row: { tokens: number }) => sum + row.tokens, 0)).toBe(5)
  })

  it('a user whose windows are full is granted while a grant pays, with what is left of it, and explain says what pays', async () => {
    const { id } = await give({ user: 'bob', category: 'read', tokens: 2 })
    await statuses(3)
    const full = { scope: 'Personal', category: 'read', window: '1h', limit: 3, used: 3 }
    const granted = { state: 'granted', by: null, grants: { ...full, resetAt: expect.any(String), left: 2 } }
    expect((await admin('GET', '/api/users/bob')).body.standing).toEqual(granted)
    const explained = (await admin('GET', '/api/explain?user=bob&method=GET&path=/x')).body
    expect(explained).toMatchObject({
      decision: 'accept',
      reasons: [{ code: 'paid_by_grants', values: { grants: id } }],
    })
    expect((await admin('GET', '/api/users?query=bob')).body.users).toMatchObject([
      { blocked: false, standing: granted },
    ])
    await statuses(2)
    expect((await admin('GET', '/api/explain?user=bob&method=GET&path=/x')).body.decision).toBe('refuse')
  })

  it('several grants that pay in the place of a full window are shown with what is left of them together', async () => {
    for (const tokens of [2, 4]) await give({ user: 'bob', category: 'read', tokens })
    await give({ user: 'bob', category: 'write', tokens: 9 })
    await statuses(4)
    expect((await admin('GET', '/api/users/bob')).body.standing).toMatchObject({
      state: 'granted',
      grants: { category: 'read', left: 5 },
    })
  })

  it('a grant to a user ends when an administrator ends it, and what was taken stays in the books', async () => {
    const { id } = await give({ user: 'bob', category: 'read', tokens: 9 })
    await statuses(5)
    const ended = await admin('DELETE', `/api/grants/${id}`, { reason: 'enough' })
    expect(ended).toMatchObject({ status: 200, body: { id, user: 'bob', taken: 2, left: 7, live: false } })
    await expect.poll(async () => (await own()).grants, SOON).toBeUndefined()
    expect(await statuses(2)).toEqual([429, 429])
    expect((await admin('GET', '/api/grants?user=bob')).body).toMatchObject({
      total: 1,
      grants: [{ id, tokens: 9, taken: 2, live: false, endedAt: expect.any(String), reason: 'an audit' }],
    })
    expect((await admin('GET', '/api/grants?user=carol')).body).toEqual({ total: 0, grants: [] })
    const audit = (await admin('GET', '/api/audit')).body.entries
    expect(audit).toMatchObject([
      { what: 'grant', subject: id, why: 'enough', to: { user: 'bob', endedAt: expect.anything() } },
      { what: 'grant', subject: id, why: 'an audit', from: null, to: { tokens: 9 } },
    ])
    expect((await admin('POST', `/api/audit/${audit[1].version}/undo`, {})).status).toBe(422)
    expect((await admin('DELETE', '/api/grants/none')).status).toBe(404)
  })

  it('a grant to a user pays for a settled cost, gets back what a request did not cost, and pays for a repetition once', async () => {
    const { id } = await give({ user: 'bob', category: 'read', tokens: 9 })
    await statuses(3)
    tokens = '1'
    await ask('/settled')
    await expect.poll(() => takenOf(id), SOON).toBe(1)
    tokens = '5'
    await ask('/settled')
    await expect.poll(() => takenOf(id), SOON).toBe(6)
    const keyed = { method: 'POST', body: 'a body', headers: { 'idempotency-key': 'k1' } }
    expect(await statuses(3, '/keyed', 'bob', keyed)).toEqual([200, 200, 200])
    expect(await takenOf(id)).toBe(8)
    expect((await own()).windows.read[0].used).toBe(3)
  })

  it('a grant to a user pays for one meter of a request, and none is taken where the other meter refuses', async () => {
    const { id } = await give({ user: 'bob', category: 'read', tokens: 9 })
    await statuses(3)
    expect(await statuses(3, '/both')).toEqual([200, 200, 429])
    expect(((await (await ask('/both')).json()) as { quota: object }).quota).toMatchObject({ category: 'write' })
    expect(await takenOf(id)).toBe(2)
  })
})

it('a grant to an organisation pays for all its members together, and for nobody else', async () => {
  const { id } = await give({ organisation: 'acme', category: 'read', tokens: 1 })
  expect(await statuses(3, '/x', 'bob', { org: 'acme' })).toEqual([200, 200, 200])
  expect(await statuses(3, '/x', 'ann', { org: 'acme' })).toEqual([200, 200, 200])
  expect(await statuses(1, '/x', 'eve', { org: 'acme' })).toEqual([429])
  const status = { id, scope: 'Organisation', tokens: 1, taken: 1, left: 0 }
  expect((await own('eve', 'acme')).grants).toMatchObject([status])
  await expect
    .poll(async () => (await admin('GET', '/api/organisations/acme')).body.grants, SOON)
    .toMatchObject([status])
  expect((await own('eve')).grants).toBeUndefined()
  expect(await takenOf(id)).toBe(1)
})

it.each([
  ['factor 0', { factor: 0 }],
  ['a limit of 0', { read: { '1h': 0 } }],
])(
  'a grant does not pay for a user or an organisation that an administrator has blocked by %s, and pays again when that ends',
  async (_, by) => {
    const ofUser = await give({ user: 'bob', category: 'read', tokens: 9 })
    const ofAcme = await give({ organisation: 'acme', category: 'read', tokens: 9 })
    const block = { ...by, reason: 'abuse' }
    const untilStatus = (expected: number, user: string, org: string) =>
      expect.poll(async () => (await ask('/x', user, { org })).status, SOON).toBe(expected)
    expect((await admin('PUT', '/api/users/bob/override', block)).status).toBe(200)
    await untilStatus(429, 'bob', 'other')
    expect(await statuses(3, '/x', 'bob', { org: 'other' })).toEqual([429, 429, 429])
    expect((await admin('PUT', '/api/organisations/acme/override', block)).status).toBe(200)
    await untilStatus(429, 'ann', 'acme')
    const taken = [await takenOf(ofUser.id), await takenOf(ofAcme.id)]
    expect(await statuses(3, '/x', 'ann', { org: 'acme' })).toEqual([429, 429, 429])
    expect([await takenOf(ofUser.id), await takenOf(ofAcme.id)]).toEqual(taken)
    await fetch(`${app.admin}/api/users/bob/override`, { method: 'DELETE', headers: ADMIN })
    await untilStatus(200, 'bob', 'other')
  },
)

it('a grant pays in a category of which the caller has 0 by the baselines', async () => {
  const nothing = { baselines: { personal: { write: { '1h': 0 } } }, reason: 'not in this plan' }
  expect((await admin('PATCH', '/api/quota', nothing)).status).toBe(200)
  await expect.poll(async () => (await ask('/both')).status, SOON).toBe(429)
  const { id } = await give({ user: 'bob', category: 'write', tokens: 2 })
  await expect.poll(async () => (await ask('/both')).status, SOON).toBe(200)
  expect((await ask('/both')).status).toBe(200)
  expect((await ask('/both')).status).toBe(429)
  expect(await takenOf(id)).toBe(2)
})

it('a grant that cannot be is refused with what is wrong and the cure', async () => {
  const wrong = async (of: object) => {
    const good = { user: 'bob', category: 'read', tokens: 5, until: TOMORROW, reason: 'an audit' }
    const { status, body } = await admin('POST', '/api/grants', { ...good, ...of })
    return `${status} ${body.problems?.[0]?.path ?? body.error}`
  }
  expect(await wrong({ organisation: 'acme' })).toBe('400 user')
  expect(await wrong({ category: 'other' })).toBe('400 category')
  expect(await wrong({ tokens: 0 })).toBe('400 tokens')
  expect(await wrong({ until: '2020-01-01T00:00:00Z' })).toBe('400 until')
  expect(await wrong({ until: '2099-01-01T00:00:00Z' })).toBe('400 until')
  expect(await wrong({ reason: undefined })).toBe('400 reason')
  for (let i = 0; i < 10; i++) await wrong({})
  expect(await wrong({})).toBe('409 conflict')
})
