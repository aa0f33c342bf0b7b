import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { decided, settledBody } from '../../src/contract/decisions.ts'
import { errorBody } from '../../src/contract/refusal.ts'
import { atEnd } from '../setup/at-end.ts'
import { startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** Services that ask for themselves, and settle later. */

const TOKEN = 'token-of-the-services-0123456789abcdef'
const RULES = `
decisions: { listen: 127.0.0.1:0, token: ${TOKEN}, sends_body: true }
quota:
  baselines: { personal: { read: { 1d: 100 }, dear: { 1h: 10, 1d: 10 } }, global: { read: { 1d: 1000 } } }
routes:
  - { match: GET /items/:id, category: read, cost: 4 }
  - { match: POST /answers, category: read, cost: 20 }
  - { match: POST /pay, category: dear, cost: { body: kind, values: { small: 1, big: 9 } } }
  - { match: POST /graded, category: read, cost: { header: X-Quality, values: { low: 1, high: 8 } } }
  - { match: POST /retried, category: read, cost: 20, idempotency: {} }
  - { match: GET /open, public: true }
`

async function start(store = 'sqlite::memory:', rules = RULES): Promise<RunningApp & { asked: string }> {
  const upstream = await startUpstream()
  const app = await startApp(yaml(upstream.url, rules, store))
  atEnd(async () => {
    await app.stop()
    expect(upstream.seen).toEqual([])
  })
  const listening = app.observations.find((o) => o.type === 'listening' && o.what === 'decisions')
  return { ...app, asked: listening?.type === 'listening' ? listening.url : '' }
}

/** What the document promises of each response. */
const promised: Readonly<Record<string, Readonly<Record<number, z.ZodType>>>> = {
  '/decide': { 200: decided, 400: errorBody, 401: errorBody },
  '/settle': { 200: settledBody, 400: errorBody },
  '/refund': { 200: settledBody, 400: errorBody },
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown> & { id: string }
}

async function post(app: { asked: string }, path: string, body: unknown, token = TOKEN): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'x-tollgate-token': token }
  const response = await fetch(app.asked + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  expect(promised[path]?.[response.status]?.safeParse(JSON.parse(text)).error, text).toBeUndefined()
  return { status: response.status, body: JSON.parse(text) as Answer['body'] }
}

async function used(app: RunningApp, user: string, category = 'read'): Promise<number> {
  const response = await fetch(`${app.url}/me/quota`, { headers: bearer(user) })
  const body = (await response.json()) as { windows: Record<string, { used: number }[]> }
  return body.windows[category]?.at(-1)?.used ?? -1
}

const ANSWER = { method: 'POST', path: '/answers', user: 'ann' }

describe('a service that asks', () => {
  it('a service that asks hears whether its caller may, what is charged and what is left', async () => {
    const app = await start()
    const { status, body } = await post(app, '/decide', { method: 'GET', path: '/items/7?a=b', user: 'ann' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ allowed: true, id: expect.any(String), user: 'ann', charges: { read: 4 } })
    expect(body.limits).toEqual([
      { scope: 'Personal', category: 'read', window: '1d', limit: 100, remaining: 96, resetAt: expect.any(String) },
      { scope: 'Global', category: 'read', window: '1d', limit: 1000, remaining: 996, resetAt: expect.any(String) },
    ])
    expect(await used(app, 'ann')).toBe(4)
    expect(app.requests()[0]).toMatchObject({
      outcome: 'answered',
      method: 'GET',
      route: 'GET /items/:id',
      user: 'ann',
    })
  })

  it('a service that asks hears of a refusal by a status, a code, a sentence and the time after which to ask again', async () => {
    const app = await start()
    const pay = {
      method: 'POST',
      path: '/pay',
      user: 'ann',
      headers: { 'Content-Type': 'application/json' },
      body: '{"kind":"big"}',
    }
    expect((await post(app, '/decide', pay)).body).toMatchObject({ allowed: true, charges: { dear: 9 } })
    const { status, body } = await post(app, '/decide', pay)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      ...{ allowed: false, id: null, user: 'ann', charges: {}, status: 429, error: 'quota_exceeded' },
      quota: { scope: 'Personal', category: 'dear', used: 9, requested: 9 },
    })
    expect(body.retryAfterSeconds).toBeGreaterThan(0)
    const denied = async (more: object) =>
      (await post(app, '/decide', { method: 'GET', path: '/items/1', ...more })).body
    expect(await denied({})).toMatchObject({ allowed: false, status: 401, error: 'unauthorized', user: null })
    expect(await denied({ path: '/nowhere' })).toMatchObject({ status: 404, error: 'no_route' })
    expect(await denied({ path: 'http://a/' })).toMatchObject({ status: 400 })
    const own = { path: '/me/quota', headers: { Authorization: bearer('ann').authorization } }
    expect(await denied(own)).toMatchObject({ allowed: false, status: 404 })
    expect(await denied({ method: 'TRACE' })).toMatchObject({ status: 405 })
    expect(await denied({ method: 'STEAL' })).toMatchObject({ status: 501 })
    for (const path of ['/items/ 7', '/caf\u00e9', '/a\n', 'items', '*'])
      expect(await denied({ path })).toMatchObject({ status: 400 })
    expect(await denied({ user: 'ann', headers: { Host: 'a b' } })).toMatchObject({ status: 400 })
    expect(await denied({ method: 'HEAD', path: '/nowhere' })).toMatchObject({ status: 404 })
  })

  it('a service that asks hears the limit that is promised, and beside it what passes beyond it', async () => {
    const rules = RULES.replace('read: { 1d: 100 }', 'read: { 1d: { limit: 30, over: 20 } }')
    const app = await start('sqlite::memory:', rules)
    const ask = async () => (await post(app, '/decide', ANSWER)).body
    const soft = { scope: 'Personal', limit: 30, over: 20 }
    const [first, second, refused] = [await ask(), await ask(), await ask()]
    expect(first).toMatchObject({ allowed: true, limits: [{ ...soft, remaining: 10 }, { limit: 1000 }] })
    expect(second).toMatchObject({ allowed: true, limits: [{ ...soft, remaining: 0 }, { limit: 1000 }] })
    expect(refused).toMatchObject({ allowed: false, status: 429, quota: { ...soft, used: 40, requested: 20 } })
  })

  it('a service that names no user is answered by the credential that it passes on', async () => {
    const app = await start()
    const question = { method: 'GET', path: '/items/1', headers: { Authorization: bearer('bob').authorization } }
    expect((await post(app, '/decide', question)).body).toMatchObject({ allowed: true, user: 'bob' })
    expect((await post(app, '/decide', { method: 'GET', path: '/open' })).body).toMatchObject({
      ...{ allowed: true, id: null, user: null, charges: {}, limits: [] },
    })
  })

  it('a service that asks again with its key is charged once, and settles once', async () => {
    const app = await start()
    const first = await post(app, '/decide', { ...ANSWER, key: 'k1' })
    const again = await post(app, '/decide', { ...ANSWER, key: 'k1' })
    expect([first, again].map(({ body }) => body.charges)).toEqual([{ read: 20 }, { read: 20 }])
    expect(await used(app, 'ann')).toBe(20)
    expect((await post(app, '/decide', { ...ANSWER, key: 'k2' })).body.allowed).toBe(true)
    expect(await used(app, 'ann')).toBe(40)
    const settled = (id: string, tokens: number) => post(app, '/settle', { id, charges: { read: tokens } })
    expect((await settled(again.body.id, 5)).body.changed).toEqual({ read: -15 })
    expect((await settled(first.body.id, 1)).body.changed).toEqual({ read: 0 })
    expect(await used(app, 'ann')).toBe(25)
  })

  it('a service that asks with its key about another value of the field that says the price asks something else', async () => {
    const app = await start()
    const ask = (quality: string) =>
      post(app, '/decide', { ...ANSWER, path: '/graded', headers: { 'X-Quality': quality }, key: 'k1' })
    for (const quality of ['low', 'high', 'high']) expect((await ask(quality)).body.allowed).toBe(true)
    expect(await used(app, 'ann')).toBe(9)
  })

  it.each([
    ['says the cost', ANSWER, { charges: { read: 20 } }, ''],
    ['sends a large body', ANSWER, {}, 'x'.repeat(64 * 1024)],
    ['sends the field of the rule', { ...ANSWER, path: '/retried' }, { charges: { read: 20 } }, ''],
  ])('a service that %s and asks with one key about another body asks something else', async (_, asked, more, long) => {
    const app = await start()
    const isByRule = asked !== ANSWER
    const key = isByRule ? { headers: { 'Idempotency-Key': 'k' } } : { key: 'k' }
    const ask = async (end: string) =>
      (await post(app, '/decide', { ...asked, ...key, ...more, body: long + end })).body
    expect([await ask('A'), await ask('A')].map(({ allowed }) => allowed)).toEqual([true, true])
    expect(await used(app, 'ann')).toBe(20)
    // The field of a rule is refused with another body, and the service's own key counts for each question.
    expect((await ask('B')).status).toBe(isByRule ? 422 : undefined)
    expect(await used(app, 'ann')).toBe(isByRule ? 20 : 40)
  })

  it('a service that says what a request costs finds that in the log, and not the categories of the rule', async () => {
    const app = await start()
    for (const charges of [{ dear: 2, read: 3 }, { dear: 1 }, { dear: 9 }]) {
      await post(app, '/decide', { ...ANSWER, charges })
    }
    const records = app.requests().map(({ category, cost, charged, others }) => ({ category, cost, charged, others }))
    expect(records).toEqual([
      { category: 'dear', cost: 2, charged: null, others: [{ category: 'read', cost: 3, charged: null }] },
      { category: 'dear', cost: 1, charged: null, others: undefined },
      { category: 'dear', cost: 9, charged: 0, others: undefined },
    ])
  })

  it('a service that says what a request costs is charged that, of all categories or of none', async () => {
    const app = await start()
    const ask = (charges: object, key?: string) => post(app, '/decide', { ...ANSWER, charges, key })
    const both = async () => [await used(app, 'ann'), await used(app, 'ann', 'dear')]
    const plain = await ask({ read: 3, dear: 2 })
    const keyed = await ask({ read: 4, dear: 5 }, 'k')
    expect([plain, keyed].map(({ body }) => body.charges)).toEqual([
      { read: 3, dear: 2 },
      { read: 4, dear: 5 },
    ])
    expect(await both()).toEqual([7, 7])
    expect((await ask({ read: 1, dear: 4 })).body).toMatchObject({ allowed: false, quota: { category: 'dear' } })
    expect((await ask({ read: 0 })).body).toMatchObject({ allowed: true, id: null, charges: {} })
    expect((await ask({ other: 1 })).status).toBe(400)
    expect(await both()).toEqual([7, 7])
    const settle = (id: string, charges: object) => post(app, '/settle', { id, charges })
    expect((await settle(plain.body.id, { dear: 1 })).body.changed).toEqual({ read: 0, dear: -1 })
    expect((await settle(plain.body.id, { read: 0 })).body.changed).toEqual({ read: 0, dear: 0 })
    expect((await post(app, '/refund', { id: keyed.body.id })).body.changed).toEqual({ read: -4, dear: -5 })
    expect((await post(app, '/refund', { id: keyed.body.id })).body.changed).toEqual({ read: 0, dear: 0 })
    expect(await both()).toEqual([3, 1])
  })

  it('what a service settles is reported of the request that was charged, with the tokens of each category', async () => {
    const app = await start()
    const { id } = (await post(app, '/decide', { ...ANSWER, charges: { dear: 2, read: 3 } })).body
    for (let i = 0; i < 2; i++) await post(app, '/settle', { id, charges: { dear: 1, read: 5 } })
    const { id: other } = (await post(app, '/decide', { ...ANSWER, key: 'k' })).body
    await post(app, '/refund', { id: other })
    const [first, second] = app.requests().map(({ requestId }) => requestId)
    const told = app.observations.flatMap((o) =>
      o.type === 'settled' && o.source === 'service' && o.tokens !== 0 ? [o] : [],
    )
    expect(told.map(({ requestId, charge, tokens }) => [requestId, charge.category, charge.cost, tokens])).toEqual([
      [first, 'dear', 2, -1],
      [first, 'read', 3, 2],
      [second, 'read', 20, -20],
    ])
    expect(told.map(({ caller, route }) => [caller.user, route])).toEqual(Array(3).fill(['ann', 'POST /answers']))
  })

  it('a service that says what a request of a public route costs finds no tokens of it in the log', async () => {
    const app = await start()
    await post(app, '/decide', { method: 'GET', path: '/open', charges: { read: 5, dear: 3 } })
    expect(app.requests().map((r) => [r.category, r.cost, r.others])).toEqual([[null, 0, undefined]])
  })

  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['no method', { path: '/' }],
    ['an unknown member', { method: 'GET', path: '/', users: 'ann' }],
    ['a field that no request may have', { method: 'GET', path: '/', headers: { 'a b': 'c' } }],
    ['a value with a line end', { method: 'GET', path: '/', headers: { a: 'b\r\nc: d' } }],
    ['of two users', '{"method":"GET","path":"/items/1","user":"ann","user":"bob"}'],
    ['octets that are no UTF-8', Buffer.from('{"method":"GET","path":"/items/1","user":"\xff"}', 'latin1')],
    ['of an organisation without a user', { method: 'GET', path: '/items/1', organisation: 'acme' }],
    ['of a plan without a user', { method: 'GET', path: '/items/1', plan: 'team' }],
    ['of an organisation that is no name', { ...ANSWER, organisation: 'a\nb' }],
  ])('a service whose question is %s gets 400', async (_what, body) => {
    const app = await start()
    const text = typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body)
    const headers = { 'x-tollgate-token': TOKEN }
    const response = await fetch(`${app.asked}/decide`, { method: 'POST', headers, body: text })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: 'bad_request' })
  })

  it('a service whose question is no question reads what is wrong with it, in a sentence of some hundred letters', async () => {
    const app = await start()
    const told = async (more: object) => (await post(app, '/decide', { ...ANSWER, ...more })).body.msg as string
    expect(await told({ users: 'ann' })).toBe(
      'The body of this request is not what is asked for: Unrecognized key: "users".',
    )
    const five = { a: 1, b: 1, c: 1, d: 1, e: 1 }
    expect(await told({ charges: five })).toMatch(/ asked for, at charges: more than four categories\.$/)
    for (const long of [{ ['u'.repeat(10_000)]: 1 }, { headers: { ['\u00e9'.repeat(10_000)]: '' } }]) {
      expect((await told(long)).length).toBeLessThan(400)
    }
  })

  it('a service that settles where decisions have no ids hears what it takes', async () => {
    const app = await start('sqlite::memory:', RULES.replace(`, token: ${TOKEN}`, ''))
    expect((await post(app, '/decide', ANSWER)).body.id).toBeNull()
    for (const [path, body] of [
      ['/settle', { id: 'a.b', charges: {} }],
      ['/refund', { id: 'a.b' }],
    ] as const) {
      expect(await post(app, path, body)).toMatchObject({
        status: 400,
        body: { msg: expect.stringContaining('decisions.token') },
      })
    }
  })

  it('a service whose question is refused reads its status also where proxies get 403 for it', async () => {
    const app = await start('sqlite::memory:', RULES.replace(`token: ${TOKEN}`, `token: ${TOKEN}, refuse_with: 403`))
    expect((await post(app, '/decide', { ...ANSWER, users: 'ann' })).status).toBe(400)
    expect((await post(app, '/settle', { id: 'a.b', charges: {} })).status).toBe(400)
    expect((await post(app, '/decide', { ...ANSWER, path: '/nowhere' })).body).toMatchObject({ status: 404 })
    expect(app.requests().map(({ clientStatus }) => clientStatus)).toEqual([400, 400, 404])
  })

  it('a service finds the document of what it may ask on the listener itself', async () => {
    const app = await start()
    const response = await fetch(`${app.asked}/openapi.json`, { headers: { 'x-tollgate-token': TOKEN } })
    expect(await response.json()).toMatchObject({
      openapi: '3.1.1',
      paths: { '/decide': {}, '/settle': {}, '/refund': {} },
    })
  })

  it('a service without the token, or with another method, decides nothing', async () => {
    const app = await start()
    expect((await post(app, '/decide', ANSWER, 'another-token-0123456789')).status).toBe(401)
    const headers = { 'x-tollgate-token': TOKEN }
    expect((await fetch(`${app.asked}/decide`, { headers })).status).toBe(405)
    expect(await used(app, 'ann')).toBe(0)
  })
})

describe.each(['sqlite', 'redis'])('a decision by %s', (kind) => {
  async function storeFor(): Promise<string> {
    if (kind === 'sqlite') return 'sqlite::memory:'
    const redis = await startRedis()
    return redis.url
  }

  it(`a decision by ${kind} is settled once, for less or for more, also above the limit`, async () => {
    const app = await start(await storeFor())
    const settle = (id: string, tokens: number) => post(app, '/settle', { id, charges: { read: tokens } })
    const [less, more] = [await post(app, '/decide', ANSWER), await post(app, '/decide', ANSWER)]
    expect(await settle(less.body.id, 3)).toMatchObject({ status: 200, body: { changed: { read: -17 } } })
    expect(await used(app, 'ann')).toBe(23)
    expect((await settle(less.body.id, 3)).body.changed).toEqual({ read: 0 })
    expect((await settle(less.body.id, 0)).body.changed).toEqual({ read: 0 })
    expect((await post(app, '/refund', { id: less.body.id })).body.changed).toEqual({ read: 0 })
    expect((await settle(more.body.id, 500)).body.changed).toEqual({ read: 480 })
    expect(await used(app, 'ann')).toBe(503)
  })

  it(`a decision by ${kind} counts in a month that begins with the billing day of the question, and keeps to it when it is settled`, async () => {
    const month = 'windows: { month: { calendar: month, zone: UTC } }'
    const rules = `
decisions: { listen: 127.0.0.1:0, token: ${TOKEN} }
quota: { ${month}, baselines: { personal: { read: { month: 5 } } }, plans: { late: { period_day: 20, organisation: { read: { month: 50 } } } } }
routes: [{ match: POST /answers, category: read, cost: 3 }]`
    const app = await start(await storeFor(), rules)
    const firstDayOf = async (question: object) => {
      const { body } = await post(app, '/decide', { ...ANSWER, ...question })
      const { limits } = body as unknown as { limits: { resetAt: string }[] }
      return { id: body.id, days: limits.map(({ resetAt }) => new Date(resetAt).getUTCDate()) }
    }
    const named = { user: 'dora', organisation: 'works', plan: 'late', periodDay: 17 }
    const { id, days } = await firstDayOf(named)
    expect(days).toEqual([17, 17])
    expect((await firstDayOf({ user: 'dan', plan: 'late' })).days).toEqual([20])
    expect((await firstDayOf({ user: 'dolly' })).days).toEqual([1])
    expect((await post(app, '/settle', { id, charges: { read: 1 } })).body).toMatchObject({ changed: { read: -2 } })
    expect((await post(app, '/decide', { ...ANSWER, ...named })).body).toMatchObject({
      allowed: true,
      limits: [{ remaining: 1 }, {}],
    })
    for (const periodDay of [0, 32, 1.5, '17']) {
      expect((await post(app, '/decide', { ...ANSWER, periodDay })).status).toBe(400)
    }
    const { body } = await post(app, '/decide', { method: 'POST', path: '/answers', periodDay: 17 })
    expect(body.msg).toBe('organisation, plan and periodDay are those of user, which is missing.')
  })

  it(`a decision by ${kind} is refunded once, however many bring its id at once`, async () => {
    const app = await start(await storeFor())
    const { body } = await post(app, '/decide', ANSWER)
    const all = await Promise.all(Array.from({ length: 8 }, () => post(app, '/refund', { id: body.id })))
    expect(all.map((each) => (each.body.changed as { read: number }).read).sort()).toEqual([-20, 0, 0, 0, 0, 0, 0, 0])
    expect(await used(app, 'ann')).toBe(0)
  })
})

it('a proxy hears an id too, by which the service behind it settles', async () => {
  const app = await start()
  const asked = { 'x-forwarded-method': 'POST', 'x-forwarded-uri': '/answers' }
  const response = await fetch(`${app.asked}/auth`, {
    headers: { ...bearer('ann'), 'x-tollgate-token': TOKEN, ...asked },
  })
  const id = response.headers.get('x-tollgate-decision')
  expect((await post(app, '/settle', { id, charges: { read: 1 } })).body.changed).toEqual({ read: -19 })
  expect(await used(app, 'ann')).toBe(1)
})

it('an id outlives the gateway that gave it, and is settled once by whichever gateway has the token', async () => {
  const redis = await startRedis()
  const first = await start(redis.url)
  const { body } = await post(first, '/decide', ANSWER)
  await first.app.stop()
  const [one, two] = [await start(redis.url), await start(redis.url)]
  const all = await Promise.all(
    [one, two, one, two].map((app) => post(app, '/settle', { id: body.id, charges: { read: 2 } })),
  )
  expect(all.map((each) => (each.body.changed as { read: number }).read).sort()).toEqual([-18, 0, 0, 0])
  expect(await used(one, 'ann')).toBe(2)
})

it('an id that is not the gateway’s, or names another category, settles nothing', async () => {
  const app = await start()
  const { body } = await post(app, '/decide', ANSWER)
  const [text = '', seal = ''] = body.id.split('.')
  const forged = Buffer.from(Buffer.from(text, 'base64url').toString().replace('"ann"', '"bob"')).toString('base64url')
  const notAscii = `${text}.${'\u00e9'.repeat(seal.length)}`
  for (const id of [`${forged}.${seal}`, `${text}.`, `${text}.${seal}x`, text, '', `${body.id}.a`, notAscii]) {
    expect((await post(app, '/settle', { id, charges: { read: 0 } })).status).toBe(400)
  }
  expect((await post(app, '/settle', { id: body.id, charges: { dear: 1 } })).status).toBe(400)
  expect((await post(app, '/settle', { id: body.id, charges: { read: -1 } })).status).toBe(400)
  expect(await used(app, 'ann')).toBe(20)
})

it('an id settles a charge of the longest names in four categories', async () => {
  const names = ['a', 'b', 'c', 'd']
  const windows = names.map((name) => `${name}: { 1h: 100, 1d: 100, 7d: 100 }`).join(', ')
  const rules = RULES.replace('{ personal: {', `{ personal: { ${windows},`).replace(
    'global: {',
    `global: { ${windows},`,
  )
  const app = await start('sqlite::memory:', rules)
  const charges = Object.fromEntries(names.map((name) => [name, 20]))
  const whose = { user: '"'.repeat(256), organisation: '"'.repeat(256) }
  const { body } = await post(app, '/decide', { ...ANSWER, ...whose, charges })
  expect(body).toMatchObject({ allowed: true, charges })
  const settled = await post(app, '/refund', { id: body.id })
  expect(settled.body.changed).toEqual(Object.fromEntries(names.map((name) => [name, -20])))
})

it('a settlement that raises a cost raises the alert of its window, and any changes what was used beyond a soft limit', async () => {
  const receiver = await startUpstream()
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const alert = `{ name: full, scope: personal, category: read, window: 1d, at: [100%], webhook: { url: "${receiver.url}", secret: "${secret}" } }`
  const rules = RULES.replace('read: { 1d: 100 }', 'read: { 1d: { limit: 30, over: 20 } }')
  const app = await start('sqlite::memory:', `${rules}alerts: [${alert}]`)
  const decide = async (user: string) => (await post(app, '/decide', { ...ANSWER, user })).body.id
  await post(app, '/settle', { id: await decide('ann'), charges: { read: 45 } })
  const happened = () => receiver.seen.map(({ body }) => JSON.parse(String(body)).data)
  await expect.poll(happened).toMatchObject([{ alert: 'full', user: 'ann', used: 45, limit: 30 }])
  await decide('bob')
  await post(app, '/settle', { id: await decide('bob'), charges: { read: 5 } })
  const headers = { authorization: 'Bearer test-admin-token-0001' }
  const rows = async () =>
    JSON.parse(await (await fetch(`${app.admin}/api/usage?by=category`, { headers })).text()).rows
  // Of the 45 of ann 15 are beyond, and none of the 25 of bob any more.
  await expect.poll(rows).toMatchObject([{ category: 'read', tokens: 70, over: 15 }])
})
