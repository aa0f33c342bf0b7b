import { fetch, type Response } from 'undici'
import { beforeEach, describe, expect, it } from 'vitest'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { isCharged } from '../observe/settled.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** By whose limits a caller is held, and who is held by none: counted by what the upstream saw. */

const ADMIN = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
const SOON = { timeout: 30_000, interval: 10 }

let upstream: Upstream
let app: RunningApp
beforeEach(async () => {
  upstream = await startUpstream()
  app = await startApp(text())
})

const PLANS = `
  plans:
    free: { personal: { read: { 1h: 2 } } }
    pro: { personal: { read: { 1h: 4 } } }
  default_plan: free
  exempt: { users: [monitoring], addresses: [192.0.2.0/24] }`

function text(plans = PLANS): string {
  return `
listen: 127.0.0.1:0
upstream: { url: "${upstream.url}" }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth:
  jwt:
    - { issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256], plan_claim: app.plan, organisation_claim: org }
  trusted: { user: X-User, plan: X-Plan }
edge: { trusted_proxies: [127.0.0.1] }
log: { level: fatal, requests: none }
quota:
  baselines: { personal: { read: { 1h: 3 } }, global: { read: { 1h: 1000 } } }${plans}
routes:
  - { match: "GET /*", category: read }`
}

const token = (user: string, plan: string | null) => jwtOf(user, plan === null ? {} : { app: { plan } })
const get = (user: string, plan: string | null = null, path = '/x', headers: Record<string, string> = {}) =>
  fetch(app.url + path, { headers: { authorization: `Bearer ${token(user, plan)}`, ...headers } })
/** How many requests of six, one after the other, the upstream sees. */
async function seen(ask: () => Promise<Response>): Promise<number> {
  const before = upstream.seen.length
  for (let i = 0; i < 6; i++) await ask()
  return upstream.seen.length - before
}
async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(app.admin + path, { method, headers: ADMIN, body: body ? JSON.stringify(body) : null })
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API says
  return (response.status === 204 ? null : await response.json()) as any
}
async function samples(): Promise<ReadonlyMap<string, number>> {
  return parseMetrics(await (await fetch(`${app.admin}/metrics`)).text()).samples
}

describe('the override of an organisation', () => {
  const PATH = '/api/organisations/acme/override'
  const ask = (user: string, org: string | null = 'acme') => {
    const claims = { app: { plan: 'pro' }, ...(org !== null && { org }) }
    return fetch(`${app.url}/x`, { headers: { authorization: `Bearer ${jwtOf(user, claims)}` } })
  }

  it('the override of an organisation limits its users together, although no plan does, until it is taken away, and everybody is shown it', async () => {
    await admin('PUT', PATH, { read: { '1h': 5 }, reason: 'a trial' })
    await expect.poll(async () => (await quotaOf('nobody')).length, SOON).toBe(3)
    expect(await seen(() => ask('alice'))).toBe(4)
    const refusals = []
    for (let i = 0; i < 3; i++) refusals.push((await ask('bob')).status)
    expect(refusals).toEqual([200, 429, 429])
    const body = (await (await ask('bob')).json()) as { quota: object }
    expect(body.quota).toMatchObject({ scope: 'Organisation', window: '1h', limit: 5, used: 5 })
    expect((await ask('carol', null)).status).toBe(200)
    expect(await quotaOf('bob')).toMatchObject([{}, { scope: 'Organisation', limit: 5, used: 5, remaining: 0 }, {}])
    await expect.poll(async () => (await admin('GET', '/api/users/bob')).organisation, SOON).toBe('acme')
    expect((await admin('GET', '/api/organisations')).organisations).toMatchObject([
      { organisation: 'acme', plan: { name: 'pro' }, blocked: true, windows: { read: [{ limit: 5, used: 5 }] } },
    ])
    // Somebody whose first request is refused, and who was never charged.
    expect((await ask('acme/kim')).status).toBe(429)
    const kim = async () => (await admin('GET', '/api/users/acme%2Fkim')) as object
    await expect.poll(kim, SOON).toMatchObject({ organisation: 'acme', standing: { state: 'refused' } })
    const question = new URLSearchParams({ user: 'acme/kim', method: 'GET', path: '/x' })
    expect(await admin('GET', `/api/explain?${question}`)).toMatchObject({ organisation: 'acme', decision: 'refuse' })
    await admin('DELETE', PATH)
    await expect.poll(async () => (await ask('bob')).status, SOON).toBe(200)
  })

  async function quotaOf(user: string): Promise<unknown[]> {
    const authorization = `Bearer ${jwtOf(user, { org: 'acme' })}`
    const response = await fetch(`${app.url}/me/quota`, { headers: { authorization } })
    return ((await response.json()) as { windows: { read: unknown[] } }).windows.read
  }
})

it('the plan of a caller is that of the claim, of a trusted field, else the default, and its limits are the ones that hold', async () => {
  expect(await seen(() => get('alice', 'pro'))).toBe(4)
  expect(await seen(() => get('bob', 'free'))).toBe(2)
  expect(await seen(() => get('carol'))).toBe(2)
  expect(await seen(() => fetch(`${app.url}/x`, { headers: { 'x-user': 'dave', 'x-plan': 'pro' } }))).toBe(4)
})

it('the plan of a caller is told by /me/quota, in the record of each request, and by metrics of plans that are configured', async () => {
  expect(await (await get('alice', 'pro', '/me/quota')).json()).toMatchObject({
    plan: 'pro',
    windows: { read: [{ scope: 'Personal', limit: 4 }, { scope: 'Global' }] },
  })
  expect(await (await get('alice', null, '/me/quota')).json()).toMatchObject({ plan: 'free' })
  await seen(() => get('alice', 'pro'))
  await seen(() => get('bob', 'gold'))
  expect(new Set(app.requests().map(({ user, route, plan }) => `${user} ${route} ${plan}`))).toEqual(
    new Set(['alice null null', 'alice GET /* pro', 'bob GET /* free']),
  )
  const found = await samples()
  expect(found.get('tollgate_plan_tokens_charged_total{plan="pro",category="read"}')).toBe(4)
  expect(found.get('tollgate_plan_tokens_charged_total{plan="free",category="read"}')).toBe(2)
  expect(found.get('tollgate_plan_refusals_total{plan="pro",category="read",scope="personal"}')).toBe(2)
  expect(found.get('tollgate_unknown_plan_requests_total')).toBe(6)
  expect([...found.keys()].filter((key) => key.includes('gold'))).toEqual([])
})

it('the plan of a caller is the first of a list of groups that is configured, also after a reload has other plans, and none where the claim is empty', async () => {
  const planOf = async (plan: unknown) => {
    const headers = { authorization: `Bearer ${jwtOf('alice', { app: { plan } })}` }
    const response = await fetch(`${app.url}/me/quota`, { headers })
    return [response.status, ((await response.json()) as { plan?: string }).plan]
  }
  const groups = ['everyone', 'team', 'pro', 'free']
  expect(await planOf(groups)).toEqual([200, 'pro'])
  for (const none of ['', false, []]) expect(await planOf(none)).toEqual([200, 'free'])
  await app.reload(text('\n  plans: { team: { personal: { read: { 1h: 1 } } } }'))
  expect(await planOf(groups)).toEqual([200, 'team'])
})

it('the plan of a caller that is not configured is told with its name', async () => {
  await get('bob', 'gold')
  expect(app.observations.filter(isCharged)).toMatchObject([
    { plan: { name: 'free', from: 'default', unknown: 'gold' } },
  ])
})

it('the plan of a caller is that of the access key while it is used, and the personal windows are the same', async () => {
  const made = await admin('POST', '/api/tokens', { user: 'alice', name: 'n', plan: 'pro', organisation: 'acme' })
  expect(made).toMatchObject({ plan: 'pro', organisation: 'acme' })
  const byKey = () => fetch(`${app.url}/x`, { headers: { authorization: `Bearer ${made.token}` } })
  await expect.poll(async () => (await byKey()).status, SOON).toBe(200)
  expect(upstream.seen.at(-1)?.headers['x-tollgate-user']).toBe('alice')
  expect(await seen(() => get('alice'))).toBe(1)
  expect(await seen(byKey)).toBe(2)
  expect((await admin('GET', '/api/tokens')).tokens).toMatchObject([{ plan: 'pro', organisation: 'acme' }])
  expect(await admin('POST', '/api/tokens', { user: 'alice', name: 'n', plan: 'por' })).toMatchObject({
    problems: [{ path: 'plan', msg: 'must be one of free, pro; did you mean "pro"?' }],
  })
})

it('the plan of a caller is that of the override before all others, and a change of it never resets a counter', async () => {
  expect(await seen(() => get('alice', 'free'))).toBe(2)
  await admin('PUT', '/api/users/alice/override', { plan: 'pro', reason: 'a trial' })
  await expect.poll(async () => (await get('alice', 'free')).status, SOON).toBe(200)
  expect(await seen(() => get('alice', 'free'))).toBe(1)
  expect(await admin('GET', '/api/users/alice')).toMatchObject({
    override: { plan: 'pro' },
    windows: { read: [{ limit: 4, used: 4, steps: ['plan pro (test.yaml:16): 4, by override (a trial)'] }, {}] },
  })
  await admin('DELETE', '/api/users/alice/override')
  await expect.poll(async () => (await get('alice', 'free')).status, SOON).toBe(429)
  expect(await (await get('alice', 'free', '/me/quota')).json()).toMatchObject({
    windows: { read: [{ limit: 2, used: 4, remaining: 0 }, {}] },
  })
})

it('the plan of a caller stands in the record beside the organisation, whether it limits that or not; explanations and refusals have its limit', async () => {
  await app.reload(text('\n  plans: { team: { organisation: { read: { 1h: 1 } } }, solo: {} }'))
  const ask = (plan: string) =>
    fetch(`${app.url}/x`, { headers: { authorization: `Bearer ${jwtOf('alice', { app: { plan }, org: 'acme' })}` } })
  for (const plan of ['solo', 'team', 'team']) await ask(plan)
  const refusedBy = { scope: 'organisation', window: '1h' }
  expect(app.requests().map(({ organisation, refusedBy }) => [organisation, refusedBy])).toMatchObject([
    ['acme', null],
    ['acme', null],
    ['acme', refusedBy],
  ])
  const explain = '/api/explain?user=alice&method=GET&path=/x&plan=team'
  expect(await admin('GET', `${explain}&organisation=umbrella`)).toMatchObject({ organisation: 'umbrella' })
  await expect.poll(() => admin('GET', explain), SOON).toMatchObject({ organisation: 'acme' })
  expect(await admin('GET', '/api/users/alice')).toMatchObject({ organisation: 'acme' })
})

it('the plan of a caller rests in an override when a reload takes it away, and the others follow the new file', async () => {
  await admin('PUT', '/api/users/alice/override', { plan: 'pro', reason: 'a trial' })
  await app.reload(text('\n  plans: { free: { personal: { read: { 1h: 1 } } } }'))
  expect(await seen(() => get('alice', 'free'))).toBe(1)
  expect(await seen(() => get('bob', null))).toBe(3)
  expect(app.observations.filter(({ type }) => type === 'config_warning')).toMatchObject([
    { problem: expect.stringContaining('overrides of users that set plan "pro" rest') },
  ])
})

it('the plan of a caller is explained for a user of whom only the id is known, and for the plan that a credential would name', async () => {
  const explain = (more: string) => admin('GET', `/api/explain?user=alice&method=GET&path=/x${more}`)
  expect(await explain('&plan=pro')).toMatchObject({
    plan: { name: 'pro', from: 'credential', unknown: null },
    limits: [{ limit: 4, source: 'plan pro', steps: ['plan pro (test.yaml:16): 4'] }, {}],
  })
  expect(await explain('&plan=gold')).toMatchObject({ plan: { name: 'free', from: 'default', unknown: 'gold' } })
  expect(await explain('')).toMatchObject({
    limits: [{ limit: 2, steps: ['plan free (test.yaml:15): 2, by default'] }, {}],
  })
})

it('the plan of a caller is what administrators see of a user, by the last credential, in lists, explanations and previews', async () => {
  expect(await seen(() => get('alice', 'pro'))).toBe(4)
  expect(await seen(() => get('bob'))).toBe(2)
  const pro = { name: 'pro', from: 'credential', unknown: null }
  await expect
    .poll(() => admin('GET', '/api/users/alice'), SOON)
    .toMatchObject({
      plan: pro,
      windows: { read: [{ limit: 4, used: 4 }, {}] },
    })
  const explained = await admin('GET', '/api/explain?user=alice&method=GET&path=/x')
  expect(explained).toMatchObject({ plan: pro, decision: 'refuse', limits: [{ limit: 4 }, {}] })
  const { users } = await admin('GET', '/api/users?order=name')
  expect(users).toMatchObject([
    { user: 'alice', plan: pro, windows: { read: [{ limit: 4 }] } },
    { user: 'bob', plan: { name: 'free', from: 'default' }, windows: { read: [{ limit: 2 }] } },
    { user: 'monitoring', standing: { state: 'exempt' } },
  ])
  // Under loose limits of 6 and 3 nobody is at the end.
  expect(await admin('POST', '/api/quota/preview', { mode: 'loose' })).toMatchObject({
    blockedCount: 0,
    freedCount: 2,
  })
  expect(await admin('POST', '/api/quota/preview', {})).toMatchObject({
    blockedCount: 2,
    blocked: expect.arrayContaining([expect.objectContaining({ user: 'alice', limit: 4, used: 4 })]),
  })
})

it('the plan of a caller has its limits in force in the settings, with the mode', async () => {
  await admin('PATCH', '/api/quota', { mode: 'loose' })
  expect(await admin('GET', '/api/quota')).toMatchObject({
    effective: {
      plans: {
        free: { personal: { read: { '1h': 3 } }, organisation: {} },
        pro: { personal: { read: { '1h': 6 } } },
      },
    },
    defaultPlan: 'free',
  })
})

describe('an organisation', () => {
  const TEAM = '\n  plans: { team: { personal: { read: { 1h: 4 } }, organisation: { read: { 1h: 6 } } } }'
  const of = (user: string, org: string | null) => () =>
    fetch(`${app.url}/x`, {
      headers: { authorization: `Bearer ${jwtOf(user, { app: { plan: 'team' }, ...(org !== null && { org }) })}` },
    })

  it('an organisation has the limits of its members’ plan, for all of them together, whatever credential they use', async () => {
    await app.reload(text(TEAM))
    expect(await seen(of('alice', 'acme'))).toBe(4)
    expect(await seen(of('bob', 'acme'))).toBe(2)
    expect(await seen(of('carol', 'other'))).toBe(4)
    expect(await seen(of('dave', null))).toBe(4)
    const key = await admin('POST', '/api/tokens', { user: 'erin', name: 'n', plan: 'team', organisation: 'acme' })
    const byKey = () => fetch(`${app.url}/x`, { headers: { authorization: `Bearer ${key.token}` } })
    await expect.poll(async () => (await byKey()).status, SOON).toBe(429)
    expect(await (await byKey()).json()).toMatchObject({
      msg: expect.stringContaining('Organisation 1-hour read quota is used up.'),
      quota: { scope: 'Organisation', limit: 6, used: 6 },
    })
  })

  it('an organisation is shown to administrators with each member, and explained with the line of its plan', async () => {
    await app.reload(text(TEAM))
    await seen(of('alice', 'acme'))
    const limit = {
      scope: 'Organisation',
      limit: 6,
      used: 4,
      source: 'plan team',
      steps: ['plan team (test.yaml:14): 6'],
    }
    await expect
      .poll(() => admin('GET', '/api/users/alice'), SOON)
      .toMatchObject({
        windows: { read: [{ scope: 'Personal' }, limit, { scope: 'Global' }] },
      })
    const asked = '/api/explain?user=bob&method=GET&path=/x&plan=team&organisation=acme'
    expect(await admin('GET', asked)).toMatchObject({ decision: 'accept', limits: [{ used: 0 }, limit, {}] })
    await seen(of('bob', 'acme'))
    expect(await admin('GET', asked)).toMatchObject({
      decision: 'refuse',
      limits: [{ refuses: false }, { ...limit, used: 6, refuses: true }, {}],
      reasons: [{ code: 'refused', values: { scope: 'Organisation' } }, {}],
    })
  })
})

describe('an exempt caller', () => {
  const exempt = () => app.requests().map(({ user, exempt, outcome }) => [user, exempt, outcome])

  it('an exempt caller by its user id is forwarded and counted, and never charged', async () => {
    expect(await seen(() => get('monitoring'))).toBe(6)
    expect(exempt()).toEqual(Array(6).fill(['monitoring', 'user', 'forwarded']))
    expect(app.observations.filter(isCharged)).toEqual([])
    expect((await samples()).get('tollgate_exempt_requests_total{category="read"}')).toBe(6)
    const response = await get('monitoring', null, '/me/quota')
    expect(await response.json()).toMatchObject({ exempt: true, windows: { read: [{ used: 0 }, { used: 0 }] } })
    expect(await admin('GET', '/api/explain?user=monitoring&method=GET&path=/x')).toMatchObject({
      decision: 'not_charged',
      reasons: [{ code: 'exempt' }],
    })
  })

  it('an exempt caller is not blocked by what it has used before', async () => {
    await app.reload(text('\n  default_plan: free\n  plans: { free: {} }'))
    expect(await seen(() => get('monitoring'))).toBe(3)
    const blocked = async () => (await admin('POST', '/api/quota/preview', {})).blockedCount
    const shown = async () => (await admin('GET', '/api/users')).users.map((each: { blocked: boolean }) => each.blocked)
    expect([await blocked(), await shown()]).toEqual([1, [true]])
    await app.reload(text('\n  exempt: { users: [monitoring] }'))
    expect([await blocked(), await shown()]).toEqual([0, [false]])
    expect(await seen(() => get('monitoring'))).toBe(6)
  })

  it('an exempt caller by its address, as a trusted proxy names it, is one whoever it is, and nobody else is', async () => {
    expect(await seen(() => get('alice', null, '/x', { 'x-forwarded-for': '192.0.2.7' }))).toBe(6)
    expect(exempt()).toEqual(Array(6).fill(['alice', 'address', 'forwarded']))
    expect(await seen(() => get('alice', null, '/x', { 'x-forwarded-for': '198.51.100.7' }))).toBe(2)
    expect(await seen(() => get('bob', null, '/x', { 'x-forwarded-for': '192.0.2.7, 198.51.100.7' }))).toBe(2)
  })

  it('an exempt caller needs a credential as any', async () => {
    const response = await fetch(`${app.url}/x`, { headers: { 'x-forwarded-for': '192.0.2.7' } })
    expect(response.status).toBe(401)
  })
})
