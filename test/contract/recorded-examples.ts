import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { People } from '../../src/admin/people.ts'
import type { Example, Examples } from '../../src/contract/examples.ts'
import { createPolicy } from '../../src/quota/policy.ts'
import { noCounts } from '../../src/usage/series.ts'
import { configOf, NOW, type Reply, type Running, startAdmin } from '../admin/running.ts'
import { eventOf, reachedBy } from '../alerts/happenings.ts'

/**
 * Sends the request of each example of the admin API to a gateway on which something has happened, and keeps what it responds:
 * `node test/contract/recorded-examples.ts`, then `npm run docs:reference` for the page. A new route gets an entry with its request.
 */

const FILE = fileURLToPath(new URL('../../src/contract/examples.json', import.meta.url))
const TOKEN = 'the-value-of-admin.token'
const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` }

const YAML = `upstream: { url: "http://songs.internal:9000" }
store: "sqlite::memory:"
admin: { token: ${TOKEN} }
auth: { gateway_tokens: true }
quota:
  windows: { 1h: 1h }
  baselines:
    personal: { read: { 1h: 120 } }
    global: { read: { 1h: 1200 } }
  plans:
    team: { personal: { read: { 1h: 600 } }, organisation: { read: { 1h: 1000 } } }
routes:
  - { match: GET /v1/songs, category: read, cost: 2 }
  - { match: POST /v1/export, category: read, cost: 25 }
  - { match: GET /v1/health, public: true }
alerts:
  - { name: near, scope: personal, category: read, window: 1h, at: [80%], webhook: { url: "https://hooks.example.org/T0", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw } }
`

/** Who sign in by a provider, of which nothing is by chance. */
const PEOPLE: People = {
  provider: {
    begin: async () => ({
      to: 'https://id.example.org/authorize?client_id=tollgate&response_type=code&scope=openid+profile+email',
      kept: 'state.nonce.verifier',
    }),
    finish: async () => ({ name: 'ann@example.org', groups: ['sre'] }),
  },
  host: 'id.example.org',
  claim: 'groups',
  roles: new Map([['sre', 'admin']]),
  secret: 'the-secret-of-the-gateway-there',
  sessionMs: 3_600_000,
}

const ALICE = { user: 'alice', organisation: null, plan: null }
const BOB = { user: 'bob', organisation: 'acme', plan: 'team' }
const CAROL = { user: 'carol', organisation: null, plan: null }

interface World extends Running {
  readonly layer: string
  readonly key: string
  readonly grant: string
}

/** The same at each call, but for names that are made at random. */
async function startWorld(): Promise<World> {
  let draining = false
  const drain = {
    isOn: () => draining,
    turn: (on: boolean) => {
      draining = on
    },
  }
  const text = 'tollgate_quota_refusals_total{category="read",scope="personal"} 31\n'
  const metrics = { render: async () => text, contentType: 'text/plain; version=0.0.4; charset=utf-8' }
  // No receiver is asked.
  const testAlert = async () => ({ kind: 'delivered' }) as const
  const running = await startAdmin({ yaml: YAML, drain, metrics, people: () => PEOPLE, testAlert })
  const { store } = running
  const policy = createPolicy(configOf(YAML).config.quota)
  const charges = [
    { ...ALICE, cost: 118 },
    { ...BOB, cost: 460 },
    { ...CAROL, cost: 90 },
  ].map((one) => ({ ...one, category: 'read', limits: policy.limitsFor('read', one), forced: true as const }))
  await store.settle({ instance: 'gate-1', sequence: 1, refunds: [], charges })
  await store.noteMemberships([ALICE, BOB, CAROL], 3_600_000)
  await store.addTally({ total: 400, status0: 2, status5xx: 6, status4xx: 0, aside: 0, asideFailed: 0 })
  await store.raiseAlerts([{ ...eventOf(reachedBy('alice', { startedAt: NOW, at: NOW })), id: '01a2b3c4d5e6f708' }])
  await store.addUsage({ instance: 'gate-1', sequence: 1, series: series(), episodes: [REFUSED] })
  const counts = { requests: 329, refused: 31, shadowed: 0, tokens: 668, forwarded: 298, failed: 8, inFlight: 3 }
  const of = { version: '0.1.0', hash: 'ee813a314c8bd3c6', configProblems: [], ready: true, reasons: [], counts }
  const hits = { 'GET /v1/songs': 200, 'POST /v1/export': 12, 'GET /v1/health': 38, unmatched: 8 }
  const seen = { hits, unmatched: ['GET /favicon.ico'], startedAt: NOW - 86_400_000, controlVersion: 4 }
  await store.beat({ instance: '0b1c2d3e', host: 'gate-1', pid: 17, ...of, ...seen })
  const expiresAt = '2026-11-21T10:15:00.000Z'
  const change = async (method: string, path: string, body: object) =>
    succeeded(path, await running.call(method, path, { body, headers: AUTHORIZATION }))
  const alice = { read: { '1h': 500 }, reason: 'import of a season', expiresAt }
  await change('PUT', '/api/users/alice/override', alice)
  await change('PUT', '/api/organisations/acme/override', { read: { '1h': 2000 }, reason: 'a big event', expiresAt })
  const key = await change('POST', '/api/tokens', { user: 'bob', name: 'laptop' })
  const raised = { baselines: { personal: { read: { '1h': 130 } } }, reason: 'a day off', until: expiresAt }
  const { layers } = (await change('PATCH', '/api/quota', raised)).json
  const grant = { user: 'bob', category: 'read', tokens: 900, until: '2026-11-22T10:10:00.000Z', reason: 'a concert' }
  const { json: given } = await change('POST', '/api/grants', grant)
  return { ...running, layer: layers[0].id, key: key.json.id, grant: given.id }
}

const REFUSED = {
  id: 'a'.repeat(16),
  ...ALICE,
  category: 'read',
  scope: 'Personal',
  window: '1h',
  startedAt: NOW,
  first: NOW - 20_000,
  last: NOW,
  count: 31,
  routes: ['POST /v1/export'],
  limit: 120,
  used: 118,
  source: 'baseline',
  cost: 25,
} as const

function series() {
  const sums = {
    requests: 329,
    accepted: 298,
    tokens: 668,
    refusedPersonal: 31,
    status4xx: 12,
    status5xx: 6,
    status0: 2,
  }
  const counts = { ...noCounts(), ...sums, latency: [201, 60, 22, 9, 4, 2, 0, 0, 0] }
  return (['all', 'category'] as const).map((by) => {
    const name = by === 'all' ? '' : 'read'
    return { by, start: Math.floor(NOW / 1_800_000) * 1_800_000, zone: null, name, counts }
  })
}

function succeeded(what: string, reply: Reply): Reply {
  if (reply.status >= 400) throw new Error(`${what}: ${reply.status} ${reply.text}`)
  return reply
}

/** Of a long response only a part is shown, as its note says. */
const SHOWN: Readonly<Record<string, (reply: Reply) => unknown>> = {
  'GET /metrics': ({ text }) => text,
  'GET /openapi.json': ({ json: { openapi, info } }) => ({
    openapi,
    info: { title: info.title, version: info.version },
  }),
  'GET /api/failures': ({ json }) => ({ ...json, buckets: json.buckets.slice(-2) }),
}

/** Names that a world makes, in the place of those that the example has. */
function parametersIn(
  route: string,
  { parameters = {} }: Example,
  { layer, key, grant }: World,
): Example['parameters'] {
  if (route === 'DELETE /api/quota/scheduled/{id}') return { ...parameters, id: layer }
  if (route === 'DELETE /api/grants/{id}') return { ...parameters, id: grant }
  return route.includes('/api/tokens/{id}') ? { ...parameters, id: key } : parameters
}

/** A link is good for the key of its own world. */
async function bodyIn(route: string, body: unknown, { call }: World): Promise<unknown> {
  if (route !== 'POST /api/handover') return body
  const wish = { user: 'bob', name: 'nightly job', handover: true }
  const { json } = await call('POST', '/api/tokens', { headers: AUTHORIZATION, body: wish })
  return { code: String(json.handover.path).split('#')[1] }
}

async function record(route: string, example: Example): Promise<Example> {
  const world = await startWorld()
  try {
    const { note, body, like } = example
    const parameters = parametersIn(route, example, world) ?? {}
    const [method = '', template = ''] = route.split(' ')
    const path = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? ''))
    const others = Object.entries(parameters).filter(([name]) => name !== 'If-Match' && !template.includes(`{${name}}`))
    const headers = {
      ...AUTHORIZATION,
      ...(template === '/api/session/provider' && { origin: world.url }),
      ...(parameters['If-Match'] !== undefined && { 'if-match': parameters['If-Match'] }),
      ...(typeof body === 'string' && { 'content-type': 'application/x-ndjson' }),
    }
    const query = others.length === 0 ? '' : `?${new URLSearchParams(others)}`
    const reply = succeeded(
      route,
      await world.call(method, path + query, {
        headers,
        ...(body !== undefined && { body: await bodyIn(route, body, world) }),
      }),
    )
    const response = onTime(SHOWN[route]?.(reply) ?? reply.json ?? (reply.text === '' ? undefined : reply.text))
    const given = Object.keys(parameters).length > 0 ? { parameters } : {}
    return {
      ...(note !== undefined && { note }),
      ...(like !== undefined && { like }),
      ...given,
      ...rest(body, response),
    }
  } finally {
    await world.stop()
  }
}

/** The store's clock goes on while the world is made, by some milliseconds or, on a busy machine, by seconds. */
function onTime(response: unknown): unknown {
  if (response === undefined) return undefined
  return JSON.parse(JSON.stringify(response).replaceAll(/(?<=2026-11-20T10:10:)\d\d\.\d{3}(?=Z)/g, '00.000'))
}

function rest(body: unknown, response: unknown): Pick<Example, 'body' | 'response'> {
  return { ...(body !== undefined && { body }), ...(response !== undefined && { response }) }
}

/** Each with the request that it has, and what the gateway responds today. */
export async function recordedExamples(examples: Examples): Promise<Examples> {
  const recorded: Record<string, Example> = {}
  for (const [route, example] of Object.entries(examples)) recorded[route] = await record(route, example)
  return recorded
}

if (import.meta.main) {
  const recorded = await recordedExamples(JSON.parse(readFileSync(FILE, 'utf8')))
  const lines = Object.entries(recorded).map(
    ([route, example]) => `${JSON.stringify(route)}: ${JSON.stringify(example)}`,
  )
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`)
}
