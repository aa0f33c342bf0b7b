import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EXAMPLES } from '../../src/contract/examples.ts'
import type { Store } from '../../src/store/store.ts'
import { documentOfAdmin } from '../setup/admin-document.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { storeOver } from '../store/over.ts'
import { episode } from '../usage/usage-log.suite.ts'
import { type Reply, type Running, startAdmin, TOKEN } from './running.ts'

/** A lead of one organisation tries every operation of the document, with every parameter, on what belongs to another one. */

const LEAD = 'lead-of-rival-00000000000000000000'
const YAML = `upstream: { url: "http://127.0.0.1:9000" }
store: "sqlite::memory:"
admin: { token: ${TOKEN}, tokens: [{ name: rick, role: "lead:rival", token: ${LEAD} }] }
auth: { gateway_tokens: true }
quota:
  baselines: { personal: { read: { 1h: 120 } } }
  plans: { team: { personal: { read: { 1h: 600 } }, organisation: { read: { 1h: 500 } } } }
routes: [{ match: GET /v1/songs, category: read, cost: 2 }]
`
const DAY = 86_400_000
const UNTIL = new Date(Date.now() + DAY).toISOString()
const REASON = 'the secret of the other organisation'

/** Values of a parameter that aim at the other organisation. */
const AIMED: Readonly<Record<string, readonly string[]>> = {
  user: ['anna'],
  organisation: ['acme', 'ACME', '', 'rival'],
  query: ['ann', 'acme'],
  part: ['ann', 'acme'],
  who: ['admin'],
  about: ['anna', 'acme'],
  by: ['user', 'organisation', 'plan', 'category', 'route', 'limit', 'all'],
  step: ['run', '1h'],
  format: ['csv', 'ndjson'],
  order: ['tokens', 'used', 'refused', 'name'],
  recent: ['24h'],
  window: ['1h'],
  category: ['read'],
  scope: ['Personal', 'Organisation', 'organisation', 'personal'],
  plan: ['team'],
  unused: ['30d'],
  shadow: ['true'],
  blocked: ['true'],
  forget: ['1'],
  method: ['GET'],
  path: ['/v1/songs'],
}

interface Operation {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly parameters: readonly string[]
}

/** Every operation that asks who it is, with the names of its query. */
async function operations(): Promise<Operation[]> {
  type Said = { readonly security: object[]; readonly parameters?: readonly { name: string; in: string }[] }
  const { paths } = (await documentOfAdmin()) as unknown as { readonly paths: Record<string, Record<string, Said>> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security, parameters = [] }]) => {
      const isOfRoles = security.length > 0 && !security.some((each) => Object.keys(each).length === 0)
      const query = parameters.filter((each) => each.in === 'query').map(({ name }) => name)
      return isOfRoles
        ? [{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, parameters: query }]
        : []
    }),
  )
}

/** Queries of one parameter and of two. */
function queriesOf({ parameters }: Operation, keyPrefix: string): string[] {
  const all = parameters.flatMap((name) =>
    (name === 'prefix' ? [keyPrefix] : (AIMED[name] ?? [])).map((value) => ({
      name,
      text: `${name}=${encodeURIComponent(value)}`,
    })),
  )
  const pairs = all.flatMap((one, i) =>
    all.slice(i + 1).flatMap((two) => (one.name === two.name ? [] : [`${one.text}&${two.text}`])),
  )
  return ['', ...all.map(({ text }) => text), ...pairs]
}

let redis: Awaited<ReturnType<typeof sharedRedis>>
beforeAll(async () => {
  redis = await sharedRedis()
})

describe.each(['sqlite', 'redis'] as const)('a lead at a gateway over %s', (kind) => {
  let store: Store
  let running: Running
  let rounds = 0
  /** What belongs to the other organisation. */
  let key: string
  let grant: string
  let change: number
  beforeEach(async () => {
    store = closedAtEnd(await storeOver(kind, { url: redis.url, prefix: `${redis.prefix}-${++rounds}` }))
    running = await startAdmin({ yaml: YAML, store, now: Date.now, drain: { isOn: () => false, turn: () => {} } })
    await join('acme', ['anna'])
    await join('rival', ['rita'])
    for (const user of ['anna', 'rita']) await running.spend(user, 'read', 7)
    const seen = { user: 'anna', organisation: 'acme', first: Date.now() - 1000, last: Date.now() }
    await store.addUsage({ instance: 'anna', sequence: 1, series: [], episodes: [episode(seen)] })
    const of = async (method: string, path: string, body: object): Promise<Reply> =>
      running.call(method, path, { body })
    await of('PUT', '/api/users/anna/override', { read: { '1h': 40 }, reason: REASON })
    await of('PUT', '/api/organisations/acme/override', { read: { '1h': 40 }, reason: REASON })
    key = (await of('POST', '/api/tokens', { user: 'anna', name: 'laptop-of-anna', organisation: 'acme' })).json.id
    const tokens = { category: 'read', tokens: 5, until: UNTIL, reason: REASON }
    await of('POST', '/api/grants', { organisation: 'acme', ...tokens })
    grant = (await of('POST', '/api/grants', { user: 'anna', ...tokens })).json.id
    change = (await store.controlVersion()).version
  })

  async function join(organisation: string, users: readonly string[]): Promise<void> {
    await store.noteMemberships(
      users.map((user) => ({ user, plan: 'team', organisation })),
      35 * DAY,
    )
  }
  const asLead = (method: string, path: string, body?: unknown) => {
    const type = typeof body === 'string' ? { 'content-type': 'application/x-ndjson' } : {}
    return running.call(method, path, { body, headers: { authorization: `Bearer ${LEAD}`, ...type } })
  }
  const at = ({ path }: Operation, id: string) => path.replace(/\{\w+\}/, encodeURIComponent(id))
  /** Ids that a path may have, of all kinds of things. */
  const ids = ({ path }: Operation) =>
    path.includes('{') ? ['anna', 'acme', key, grant, String(change), 'team'] : ['']

  test(`a lead at a gateway over ${kind} reads nothing of another organisation by any operation and any two parameters`, async () => {
    let asked = 0
    for (const operation of (await operations()).filter(({ method }) => method === 'GET')) {
      for (const id of ids(operation)) {
        for (const query of queriesOf(operation, key.slice(0, 6))) {
          const path = `${at(operation, id)}${query === '' ? '' : `?${query}`}`
          const { status, text } = await asLead('GET', path)
          asked++
          const secrets = ['anna', 'laptop-of-anna', REASON, key, grant, 'acme'].filter(
            (secret) => !path.includes(secret),
          )
          const found = status === 403 ? [] : [...secrets, '"tokens":7,'].filter((secret) => text.includes(secret))
          // What rita used is the lead's to see.
          const shown = text.includes('rita') ? found.filter((secret) => secret !== '"tokens":7,') : found
          expect([path, shown]).toEqual([path, []])
          if (operation.path.includes('{')) expect([path, status]).toEqual([path, 403])
          // Of a role that may not use the operation the parameters are not even looked at.
          if (status === 403 && query === '') break
        }
      }
    }
    expect(asked).toBeGreaterThan(300)
  }, 120_000)

  test(`a lead at a gateway over ${kind} changes nothing of another organisation by any operation`, async () => {
    const line = (of: object) => `${JSON.stringify(of)}\n`
    const limits = { read: { '1h': 1 }, reason: 'spite' }
    /** In the place of the bodies of the examples, which aim at nobody here. */
    const bodies: Readonly<Record<string, readonly unknown[]>> = {
      'PUT /api/users/{id}/override': [limits, { ...limits, within: 'acme' }, { ...limits, within: 'rival' }],
      'PUT /api/organisations/{id}/override': [limits],
      'PUT /api/overrides': [line({ user: 'anna', ...limits }), line({ organisation: 'acme', ...limits }), ''],
      'PUT /api/tokens/import': [line({ sha256: 'a'.repeat(64), user: 'anna', name: 'mine', organisation: 'rival' })],
      'POST /api/grants': [
        { organisation: 'rival', category: 'read', tokens: 5, until: UNTIL, reason: 'more' },
        { user: 'rita', category: 'read', tokens: 5, until: UNTIL, reason: 'more' },
      ],
      'POST /api/tokens': ['acme', 'rival', undefined].flatMap((organisation) =>
        ['anna', 'acme/new', 'nobody'].map((user) => ({ user, name: 'mine', organisation, handover: true })),
      ),
      'POST /api/tokens/{id}/rotate': [{}, { handover: true }, { grace: '0m' }],
    }
    const before = (await store.controlVersion()).version
    for (const operation of (await operations()).filter(({ method }) => method !== 'GET')) {
      const { name, method } = operation
      for (const id of ids(operation)) {
        for (const body of bodies[name] ?? [EXAMPLES[name]?.body ?? {}]) {
          for (const query of name.startsWith('DELETE /api/tokens') || name.startsWith('PUT /api/overrides')
            ? ['?user=anna', '?user=anna&organisation=acme', '?allow_empty=1', '?dry_run=1']
            : ['', '?forget=1', '?organisation=rival']) {
            const { status, json } = await asLead(method, `${at(operation, id)}${query}`, body)
            const isNothing = status >= 400 || json?.revoked === 0
            expect([name, id, query, body, isNothing ? 'nothing' : status]).toEqual([name, id, query, body, 'nothing'])
          }
        }
      }
    }
    expect((await store.controlVersion()).version).toBe(before)
    const [found] = await store.findTokens([key])
    expect(found?.record?.revokedAt).toBeNull()
  }, 120_000)

  test(`a lead at a gateway over ${kind} sees nothing of the limits that hold for a member within another organisation, and changes none`, async () => {
    await running.call('DELETE', '/api/users/anna/override', { body: {} })
    const limits = { read: { '1h': 40 }, within: 'acme', reason: REASON }
    expect((await running.call('PUT', '/api/users/anna/override', { body: limits })).status).toBe(200)
    await join('rival', ['anna'])
    const before = (await store.controlVersion()).version
    const user = await asLead('GET', '/api/users/anna')
    expect([user.status, user.json.organisation, user.json.override]).toEqual([200, 'rival', null])
    const { users } = (await asLead('GET', '/api/users')).json
    expect(users.find((each: { user: string }) => each.user === 'anna')).toMatchObject({ override: null })
    const { users: overridden } = (await asLead('GET', '/api/users?override=true')).json
    expect(overridden).toMatchObject([{ user: 'anna', override: null }])
    expect((await asLead('GET', '/api/users/anna/override')).status).toBe(404)
    for (const path of [
      '/api/users/anna',
      '/api/users/anna/override',
      '/api/users',
      '/api/users?override=true',
      '/api/usage',
    ])
      expect([path, (await asLead('GET', path)).text.includes(REASON)]).toEqual([path, false])
    for (const body of [
      { read: { '1h': 5 }, reason: 'mine' },
      { read: { '1h': 5 }, within: 'acme', reason: 'mine' },
    ])
      expect((await asLead('PUT', '/api/users/anna/override', body)).status).toBe(403)
    expect((await asLead('DELETE', '/api/users/anna/override', {})).status).toBe(403)
    expect((await store.controlVersion()).version).toBe(before)
    expect((await running.call('GET', '/api/users/anna/override')).json).toMatchObject({
      within: 'acme',
      reason: REASON,
    })
  })
})
