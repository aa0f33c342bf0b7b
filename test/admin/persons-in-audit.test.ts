import { createHash } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { documentOfAdmin } from '../setup/admin-document.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { storeOver } from '../store/over.ts'
import { CLIENT_SECRET, type PeopleProvider, startPeopleProvider } from './people-provider.ts'
import { type Reply, type Running, startAdmin, YAML } from './running.ts'

/** Whoever changes something by whatever operation of the OpenAPI document stands in the audit by name. */

const EMAIL = 'ann@example.org'
const DAY = 86_400_000
const UNTIL = new Date(Date.now() + DAY).toISOString()

interface Asked {
  readonly path: string
  readonly body?: unknown
}
/** What a person asks, after what the admin token has made for it. */
type Row = (setUp: (method: string, path: string, body?: unknown) => Promise<Reply>) => Asked | Promise<Asked>

const limits = { read: { '1h': 50 }, reason: 'r' }
const raised = { baselines: { personal: { read: { '1h': 130 } } }, reason: 'r' }
const grant = { user: 'bob', category: 'read', tokens: 5, until: UNTIL, reason: 'r' }
const line = (of: object) => `${JSON.stringify(of)}\n`

const CHANGES: Readonly<Record<string, Row>> = {
  'PATCH /api/quota': () => ({ path: '/api/quota', body: raised }),
  'DELETE /api/quota/scheduled/{id}': async (setUp) => {
    const { json } = await setUp('PATCH', '/api/quota', { mode: 'loose', until: UNTIL })
    return { path: `/api/quota/scheduled/${json.layers[0].id}`, body: {} }
  },
  'PATCH /api/plans/{id}': () => ({ path: '/api/plans/team', body: { personal: { read: { '1h': 90 } }, reason: 'r' } }),
  'POST /api/quota/reset': () => ({
    path: '/api/quota/reset',
    body: { scope: 'global', category: 'read', reason: 'r' },
  }),
  'PUT /api/users/{id}/override': () => ({ path: '/api/users/bob/override', body: limits }),
  'DELETE /api/users/{id}/override': async (setUp) => {
    await setUp('PUT', '/api/users/bob/override', limits)
    return { path: '/api/users/bob/override', body: {} }
  },
  'POST /api/users/{id}/reset': () => ({ path: '/api/users/bob/reset', body: { reason: 'r' } }),
  'DELETE /api/users/{id}': async (setUp) => {
    await setUp('PUT', '/api/users/leaver/override', limits)
    return { path: '/api/users/leaver?forget=1', body: {} }
  },
  'PUT /api/overrides': () => ({ path: '/api/overrides?merge=1', body: line({ user: 'carol', ...limits }) }),
  'PUT /api/organisations/{id}/override': () => ({ path: '/api/organisations/acme/override', body: limits }),
  'DELETE /api/organisations/{id}/override': async (setUp) => {
    await setUp('PUT', '/api/organisations/acme/override', limits)
    return { path: '/api/organisations/acme/override', body: {} }
  },
  'POST /api/organisations/{id}/reset': () => ({ path: '/api/organisations/acme/reset', body: { reason: 'r' } }),
  'POST /api/grants': () => ({ path: '/api/grants', body: grant }),
  'DELETE /api/grants/{id}': async (setUp) => ({
    path: `/api/grants/${(await setUp('POST', '/api/grants', grant)).json.id}`,
    body: {},
  }),
  'POST /api/tokens': () => ({ path: '/api/tokens', body: { user: 'bob', name: 'laptop' } }),
  'PUT /api/tokens/import': () => {
    const sha256 = createHash('sha256').update('a key of others').digest('hex')
    return { path: '/api/tokens/import', body: line({ sha256, user: 'bob', name: 'from others' }) }
  },
  'POST /api/tokens/{id}/rotate': async (setUp) => ({
    path: `/api/tokens/${(await setUp('POST', '/api/tokens', { user: 'bob', name: 'old' })).json.id}/rotate`,
    body: {},
  }),
  'DELETE /api/tokens/{id}': async (setUp) => ({
    path: `/api/tokens/${(await setUp('POST', '/api/tokens', { user: 'bob', name: 'lost' })).json.id}`,
    body: {},
  }),
  'DELETE /api/tokens': async (setUp) => {
    await setUp('POST', '/api/tokens', { user: 'dave', name: 'laptop' })
    return { path: '/api/tokens?user=dave', body: {} }
  },
  'POST /api/audit/{id}/undo': async (setUp) => {
    await setUp('PATCH', '/api/quota', { mode: 'conservative' })
    const { entries } = (await setUp('GET', '/api/audit?limit=1')).json
    return { path: `/api/audit/${entries[0].version}/undo`, body: {} }
  },
}

/** Of these nothing comes into the audit, or by nobody who is signed in. */
const OTHERS: Readonly<Record<string, string>> = {
  'POST /drain': 'takes one replica out of service, and is for machines',
  'POST /api/session': 'signs in',
  'POST /api/session/provider': 'begins to sign in',
  'DELETE /api/session': 'signs out',
  'POST /api/quota/preview': 'only looks',
  'POST /api/plans/{id}/preview': 'only looks',
  'POST /api/alerts/{name}/test': 'sends a test and changes nothing',
  'POST /api/handover': 'is for whoever has the link, and nobody signs in for it',
}

test('every operation of the document that is no GET is known as one that names persons in the audit, or as one that does not', async () => {
  const { paths } = (await documentOfAdmin()) as { readonly paths: Readonly<Record<string, object>> }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).flatMap((method) => (method === 'get' ? [] : [`${method.toUpperCase()} ${path}`])),
  )
  expect([...Object.keys(CHANGES), ...Object.keys(OTHERS)].sort()).toEqual(operations.sort())
})

let redis: Awaited<ReturnType<typeof sharedRedis>>
let provider: PeopleProvider
beforeAll(async () => {
  redis = await sharedRedis()
  provider = await startPeopleProvider()
})

const ROLES = 'roles: { values: { sre: admin } }'
const yaml = () => {
  const oidc = `oidc: { issuer: "${provider.issuer}", client_id: tollgate, client_secret: ${CLIENT_SECRET}, scope: openid email groups, ${ROLES} }`
  const trusted =
    'trusted: { name: X-Forwarded-Email, groups: X-Forwarded-Groups, roles: { sre: admin }, from: [127.0.0.2] }'
  return YAML.replace('admin: { ', `admin: { ${oidc}, ${trusted}, `).replace(
    'quota:\n',
    'quota:\n  plans: { team: { personal: { read: { 1h: 100 } } } }\n',
  )
}

/** How a person is told from others, for each request. */
type Sender = { readonly headers: Record<string, string>; readonly from?: string }
const WAYS: Readonly<Record<string, (running: Running) => Promise<Sender> | Sender>> = {
  'a trusted proxy': () => ({
    headers: {
      authorization: '',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-email': EMAIL,
      'x-forwarded-groups': 'sre',
    },
    from: '127.0.0.2',
  }),
  'a provider': async (running) => {
    provider.serveFor(running.url)
    provider.who = { sub: 'ann', email: EMAIL, email_verified: true, groups: ['sre'] }
    const page = { authorization: '', origin: running.url, 'sec-fetch-site': 'same-origin' }
    const cookiesOf = ({ headers }: Reply) => (headers['set-cookie'] ?? []).map((each) => each.split(';')[0]).join('; ')
    const begun = await running.call('POST', '/api/session/provider', { headers: page })
    const headers = { ...page, cookie: cookiesOf(begun) }
    const returned = await provider.visit(String(begun.json.to))
    const signedIn = await running.call('POST', '/api/session', { headers, body: { returned } })
    return { headers: { ...page, cookie: cookiesOf(signedIn) } }
  },
}

describe.each(['sqlite', 'redis'] as const)('a person at a gateway over %s', (kind) => {
  let store: Store
  let running: Running
  let rounds = 0
  beforeEach(async () => {
    store = closedAtEnd(await storeOver(kind, { url: redis.url, prefix: `${redis.prefix}-${++rounds}` }))
    running = await startAdmin({ yaml: yaml(), store, now: Date.now })
  })

  test.each(Object.keys(WAYS))(
    `a person at a gateway over ${kind} who signs in by %s stands by name in the audit, whatever operation made the change`,
    async (way) => {
      const { headers, ...from } = await (WAYS[way] as (typeof WAYS)[string])(running)
      const setUp = async (method: string, path: string, body?: unknown) => {
        const reply = await running.call(method, path, { body })
        expect([method, path, reply.status < 300 ? 'done' : reply.text]).toEqual([method, path, 'done'])
        return reply
      }
      for (const [operation, row] of Object.entries(CHANGES)) {
        const { path, body } = await row(setUp)
        const before = (await store.controlVersion()).version
        const [method = ''] = operation.split(' ')
        const sent = typeof body === 'string' ? { ...headers, 'content-type': 'application/x-ndjson' } : headers
        const { status, text } = await running.call(method, path, { headers: sent, body, ...from })
        expect([operation, status < 300 ? 'done' : text]).toEqual([operation, 'done'])
        const made = (await store.readAudit(null, 10)).filter(({ version }) => version > before)
        expect([operation, ...new Set(made.map(({ who }) => who))]).toEqual([operation, EMAIL])
      }
    },
  )
})
