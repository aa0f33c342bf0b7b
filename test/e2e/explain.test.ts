import { once } from 'node:events'
import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { ExplainResponse } from '../../src/contract/api.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { UNMATCHED } from '../../src/replicas/presence.ts'
import { isCharged } from '../observe/settled.ts'
import { runs } from '../setup/runs.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** What `explain` says of a request is held against what the gateway then does with it, and against what the upstream sees. */

let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
})

/** Few texts, so that rules hide each other and requests meet them. */
const MAX_URL = 256
const texts = fc.constantFrom('v1', 'V1', 'a', 'b', 'caf%C3%A9', 'x~y', 'me', 'quota', 'a:b')
const pattern = fc
  .record({
    methods: fc.constantFrom('GET', 'GET', 'POST', 'POST', 'HEAD', 'OPTIONS', '*', '*', 'GET|PUT', 'PURGE'),
    segments: fc.array(fc.oneof({ weight: 3, arbitrary: texts }, fc.constantFrom(':p')), { maxLength: 3 }),
    end: fc.constantFrom('', '', '/', '/*'),
  })
  .map(({ methods, segments, end }) => {
    const named = segments.map((segment, i) => (segment === ':p' ? `:p${i}` : segment))
    return `${methods} /${named.join('/')}${named.length === 0 ? end.slice(1) : end}`
  })

const cost = fc.oneof(
  { weight: 3, arbitrary: fc.nat(4) },
  fc.record({
    body: fc.constantFrom<string | string[]>('id', ['id', 'chargeId']),
    values: fc.constantFrom<Record<string, number>>({ 1: 0, 2: 3 }, { 2: 1, 3: 5, x: 2 }),
    max_body: fc.constantFrom('40B', '64KiB'),
  }),
)
const charged = fc.record({ category: fc.constantFrom('read', 'write'), cost, shadow: fc.boolean() })
const route = fc
  .record({ match: pattern, access: fc.oneof({ weight: 4, arbitrary: charged }, fc.constant({ public: true })) })
  .map(({ match, access }) => ({ match, ...access, ...(hasNoBody(match) && 'cost' in access && { cost: 2 }) }))

/** Of these a price by the body is a problem of the configuration. */
function hasNoBody(match: string): boolean {
  return /^(GET|HEAD) /.test(match)
}

const limits = fc.constantFrom(1, 3, 30).map((most) => ({ '1h': most, '1d': most * 2 }))
const scope = fc.record({ read: limits, write: limits })

const world = fc.record({
  routes: fc.uniqueArray(route, { maxLength: 12, selector: ({ match }) => shapeOf(match) }),
  unmatched: fc.oneof(fc.constantFrom<string | object>('refuse', 'forward'), charged),
  quota: fc.record({
    shadow: fc.constantFrom(false, false, true),
    global: fc.record({ enabled: fc.boolean() }),
    baselines: fc.record({ personal: scope, global: scope }),
  }),
  edge: fc.record({
    max_url: fc.constant(`${MAX_URL}B`),
    max_body: fc.constantFrom('none', 'none', '0B', '30B', '1KiB'),
    allow_in_path: fc.subarray(['encoded_slash', 'semicolon', 'empty_segment']),
  }),
  reference: fc.constantFrom<object | undefined>({ path: '/ref' }, { path: '/v2/ref' }, undefined),
})

/** Two rules of one shape and method are a problem of the configuration: here each shape has one rule. */
function shapeOf(match: string): string {
  return match.replace(/^\S+ /, '').replaceAll(/:p\d/g, ':')
}

const written = fc.oneof(
  { weight: 8, arbitrary: texts },
  fc.constantFrom(
    '%61',
    '%56%31',
    'café',
    'caf%c3%a9',
    'A',
    '',
    '.',
    '..',
    '%2e%2E',
    'a%2Fb',
    'a;b',
    'a%3ab',
    '%zz',
    '%00',
  ),
  fc.constantFrom('%FF', '%2561', 'a\\b', '"', '<', '|', '[0]', 'x'.repeat(250)),
)
/** The path of a rule, by its number among those there are, with something at its end. */
const ofRule = fc.record({
  rule: fc.nat(11),
  fill: texts,
  end: fc.constantFrom('', '', '', '/', '?q', '?q&i_d', '?ID[]=2', '%'),
})
const target: fc.Arbitrary<string | (typeof ofRule extends fc.Arbitrary<infer T> ? T : never)> = fc.oneof(
  { weight: 6, arbitrary: ofRule },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.array(written, { maxLength: 4 }),
        fc.constantFrom('', '', '/', '?q=1', '?id=2', '?charge%49d=1', '?%', '?a=|"', '#f'),
      )
      .map(([segments, end]) => `/${segments.join('/')}${end}`),
  },
  fc.constantFrom('/me/quota', '/quota', '/quota/', '/me/quota?x', '/ME/quota', '/me/%71uota', '//quota'),
  fc.constantFrom('/ref', '/ref/', '/ref/gateway.json', '/ref/services.json?x', '/ref/nothing', '/refs', '/r%65f'),
  fc.constantFrom('/v2/ref', '/v2/ref/gateway.json', '/v2', `/${'x'.repeat(8000)}`, '*', 'http://other/v1/a'),
)
interface Body {
  readonly text: string
  readonly type?: string
  /** The one field that every parser finds in it, and the text of its value. */
  readonly field?: string
  readonly value?: string
}
const body = fc.constantFrom<Body | null>(
  null,
  { text: '' },
  { text: '{"id":1}', field: 'id', value: '1' },
  { text: '{"id":"2"}', field: 'id', value: '"2"' },
  { text: '{"id":2.0}', field: 'id', value: '2.0' },
  { text: '{"id":"x"}', field: 'id', value: 'x' },
  { text: '{"id":9}', field: 'id', value: '9' },
  { text: '{"chargeId":3}', field: 'chargeId', value: '3' },
  { text: `{"id":2,"more":"${'x'.repeat(40)}"}`, field: 'id', value: '2' },
  { text: `{"id":2,"more":"${'x'.repeat(2000)}"}`, field: 'id', value: '2' },
  ...['{"id":2,"id":3}', '{}', '[]', 'no'].map((text) => ({ text })),
  { text: '{"id":2}', type: 'text/plain' },
)
const request = fc.record({
  user: fc.constantFrom<string>('alice', 'bob', 'carol'),
  method: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom<string>('GET', 'POST', 'HEAD') },
    fc.constantFrom<string>('OPTIONS', 'PUT', 'DELETE', 'PURGE', 'TRACE', 'NONSENSE'),
  ),
  target,
  body,
})
type World = typeof world extends fc.Arbitrary<infer T> ? T : never
type Asked = typeof request extends fc.Arbitrary<infer T> ? T : never
type Request = Asked & { readonly target: string }

/** In which each decision is met, and the pages of the API that `explain` once did not know. */
const WORLD: World = {
  routes: [
    { match: 'GET /a', category: 'read', cost: 2, shadow: false },
    {
      match: 'POST /b',
      category: 'write',
      cost: { body: 'id', values: { 1: 0, 2: 3 }, max_body: '40B' },
      shadow: false,
    },
  ],
  unmatched: { category: 'read', cost: 1, shadow: false },
  quota: {
    shadow: false,
    global: { enabled: true },
    baselines: {
      personal: { read: { '1h': 3, '1d': 6 }, write: { '1h': 3, '1d': 6 } },
      global: { read: { '1h': 30, '1d': 60 }, write: { '1h': 30, '1d': 60 } },
    },
  },
  edge: { max_url: `${MAX_URL}B`, max_body: '1KiB', allow_in_path: [] },
  reference: { path: '/ref' },
}
const REQUESTS: Asked[] = [
  ...['/ref', '/ref/', '/ref/gateway.json', '/a', '/a', '/x', '/x', '/a/../b'].map((target) => ({
    method: 'GET',
    target,
  })),
  ...[2, 1, 9, 2].map((value) => ({ method: 'POST', target: '/b', ...valued(value) })),
  { method: 'POST', target: '/b', body: { text: '[]' } },
  { method: 'POST', target: '/b?id=1', ...valued(2) },
  { method: 'POST', target: '/b?idea=1', ...valued(2) },
  {
    method: 'POST',
    target: '/b?id=1',
    body: { text: JSON.stringify({ id: 2, note: 'this body is longer than its bound' }) },
  },
  { method: 'TRACE', target: '/a' },
  { method: 'NONSENSE', target: '/café' },
  ...['TRACE', 'NONSENSE'].map((method) => ({ method, target: `/${'x'.repeat(MAX_URL)}/café` })),
].flatMap((asked) => ['alice', 'carol'].map((user) => ({ user, body: null, ...asked })))

function valued(value: number): { readonly body: Body } {
  return { body: { text: `{"id":${value}}`, field: 'id', value: `${value}` } }
}

test('explain says of any request what the gateway then does with it', async () => {
  const met = new Set<string>()
  await fc.assert(
    fc.asyncProperty(world, fc.array(request, { minLength: 30, maxLength: 40 }), async (rules, requests) => {
      const app = await startApp(yaml(upstream.url, asYaml(rules)))
      await put(app, 'bob', { bypassGlobal: true })
      await put(app, 'carol', { shadow: true })
      for (const asked of requests) met.add(await compare(app, rules, { ...asked, target: targetOf(rules, asked) }))
    }),
    { numRuns: runs(25, 10), endOnFailure: true, examples: [[WORLD, REQUESTS]] },
  )
  const all = ['accept', 'bad_body', 'bad_request', 'no_route', 'not_charged', 'refuse', 'shadow']
  expect([...met].sort()).toEqual(all)
})

function asYaml(rules: World): string {
  const known = Object.entries(rules).filter(([, value]) => value !== undefined)
  return known.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join('\n')
}

function targetOf({ routes }: World, { target }: Asked): string {
  if (typeof target === 'string') return target
  const { rule, fill, end } = target
  const match = routes[rule % Math.max(routes.length, 1)]?.match ?? 'GET /'
  return `${match.replace(/^\S+ /, '').replaceAll(/:p\d|\*/g, fill)}${end}`
}

async function compare(app: RunningApp, rules: World, asked: Request): Promise<string> {
  const { user, method, target } = asked
  const said = await explain(app, rules, asked)
  const { decision, why, category, cost, price } = said
  const about = `${method} ${target} of ${user}: ${decision}, ${why}`
  const seenBefore = upstream.seen.length
  const { status, headers, json, record, charges } = await send(app, asked)
  const seen = upstream.seen.slice(seenBefore)

  const isForwarded = ['accept', 'shadow'].includes(decision) || (decision === 'not_charged' && !isOwn(said))
  // The body cannot be read for a price, which `explain` is not asked about.
  const isPriced = decision !== 'bad_request' && said.reasons[0]?.code !== 'no_price'
  const isBadBody = price !== null && cost === null && isPriced
  const isInShadow = user === 'carol' || rules.quota.shadow || ruleOf(rules, said)?.shadow === true
  const route = said.route?.match ?? (isForwarded || category !== null ? UNMATCHED : null)
  const statuses = statusesOf(said, isBadBody && !isInShadow, asked)
  expect(status, about).toSatisfy((status) => statuses.includes(status))
  if (record.type === 'request') expect(record, about).toMatchObject({ method, route, category, clientStatus: status })
  else expect(['bad_request', 'no_route'], about).toContain(decision)
  expect(seen.length, about).toBe(isBadBody ? Number(isInShadow) : Number(isForwarded))
  if (isBadBody) {
    expect([charges, record], about).toMatchObject([[], { cost: 0, shadowed: isInShadow }])
    return 'bad_body'
  }
  if (decision === 'refuse' && method !== 'HEAD') expect(json, about).toMatchObject(refusalSaid(said))
  if (isForwarded) expect(record, about).toMatchObject({ cost: cost ?? 0, shadowed: decision === 'shadow' })
  if (isForwarded && category !== null) expect(seen[0]?.headers['x-tollgate-user'], about).toBe(user)
  expect(headers['x-tollgate-shadow'], about).toBe(decision === 'shadow' ? 'would-refuse' : undefined)
  const charge = { tokens: cost, charge: { category }, plan: null, caller: { user } }
  expect(charges, about).toMatchObject(decision === 'accept' ? [charge] : [])
  return decision
}

function isOwn({ reasons }: ExplainResponse): boolean {
  return reasons.some(({ code }) => ['own_path', 'own_options', 'reference_page'].includes(code))
}

/**
 * What the client may get; a page that is not built is 404, and a method that Node's parser does not know 501. `explain` looks at the method
 * first, and the parser at the octets of the target, of which the length counts first if it knows the method.
 */
function statusesOf(
  { decision, why, reasons }: ExplainResponse,
  isBadBody: boolean,
  { method, target }: Request,
): number[] {
  if (isBadBody) return [400]
  if (reasons[0]?.code === 'method_not_accepted') {
    if (/^[!-~]+$/.test(target)) return [405, 501]
    return [method !== 'NONSENSE' && Buffer.byteLength(target) > MAX_URL ? 414 : 400]
  }
  if (reasons[0]?.code === 'own_options') return [204]
  if (reasons[0]?.code === 'reference_page') return [200, 404]
  const [, status] = /^(\d{3}): /.exec(why) ?? []
  expect(status !== undefined, why).toBe(['bad_request', 'no_route', 'refuse'].includes(decision))
  return [Number(status ?? 200)]
}

/**
 * A window that does not run would end one length from the moment of the question: that moment is another one. A cost that
 * a limit never allows is in the sentence; the body may name another window, which refuses longer.
 */
function refusalSaid({ limits, reasons, why }: ExplainResponse): object {
  const { scope, category, window, resetAt } = reasons[0]?.values ?? {}
  if (reasons[0]?.code === 'never_fits') return { msg: NEVER.exec(why)?.[1], quota: { category } }
  const named = limits.find((limit) => limit.scope === scope && limit.window === window)
  return { quota: { scope, category, window, ...(named?.startedAt !== null && { resetAt }) } }
}

const NEVER = /^429: (.* waiting does not help\.)/

async function explain(
  app: RunningApp,
  rules: World,
  { user, method, target, body }: Request,
): Promise<ExplainResponse> {
  const bytes = `${Buffer.byteLength(body?.text ?? '')}`
  const answer = await api(app, 'GET', `explain?${new URLSearchParams({ user, method, path: target, bytes })}`)
  const value = answer.price === null ? undefined : valueFor(priceOf(rules, answer), body)
  if (value === undefined) return answer
  return api(app, 'GET', `explain?${new URLSearchParams({ user, method, path: target, bytes, value })}`)
}

function priceOf(rules: World, said: ExplainResponse): unknown {
  return ruleOf(rules, said)?.cost
}

function ruleOf({ routes, unmatched }: World, { route }: ExplainResponse) {
  const rule = route === null ? unmatched : routes.find(({ match }) => match === route.match)
  return typeof rule === 'object' ? (rule as { readonly cost?: unknown; readonly shadow?: boolean }) : null
}

function valueFor(price: unknown, body: Body | null): string | undefined {
  const fields = typeof price === 'object' && price !== null && 'body' in price ? [price.body].flat() : []
  return fields.includes(body?.field) ? body?.value : undefined
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the API says
async function api(app: RunningApp, method: string, path: string, body?: object): Promise<any> {
  const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
  const response = await fetch(`${app.admin}/api/${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  expect(response.status, path).toBe(200)
  return response.json()
}

function put(app: RunningApp, user: string, override: object): Promise<unknown> {
  return api(app, 'PUT', `users/${user}/override`, { reason: 'test', ...override })
}

async function send(app: RunningApp, { user, method, target, body }: Request) {
  const before = app.observations.length
  const length = {
    'content-type': body?.type ?? 'application/json',
    'content-length': `${Buffer.byteLength(body?.text ?? '')}`,
  }
  const path = Buffer.from(target).toString('latin1')
  const sent = http.request(app.url, { path, method, agent: false, headers: { ...bearer(user), ...(body && length) } })
  sent.on('error', () => {}).end(body?.text)
  const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
  const text = (await buffer(response)).toString()
  // What its parser refuses the gateway reports as a bad connection.
  const ends = () =>
    app.observations.slice(before).filter(({ type }) => type === 'request' || type === 'bad_connection')
  await expect.poll(ends, { interval: 1 }).toHaveLength(1)
  const [record] = ends() as [Observation]
  return {
    status: response.statusCode,
    headers: response.headers,
    json: text.startsWith('{') ? JSON.parse(text) : null,
    record,
    charges: app.observations.slice(before).filter(isCharged),
  }
}
