import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { b64, ecKey, jwt } from '../auth/support.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { storeOver } from '../store/over.ts'
import { CLIENT_SECRET, type PeopleProvider, says, startPeopleProvider } from './people-provider.ts'
import { NOW, type Reply, type Running, startAdmin, TOKEN, YAML } from './running.ts'

let provider: PeopleProvider
let gateways: Running[]
let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
beforeEach(async () => {
  provider = await startPeopleProvider()
  provider.who = ANN
  gateways = []
})

const ANN = { sub: 'ann', email: 'ann@example.org', email_verified: true, groups: ['staff', 'sre'] }
const HOUR = 3_600_000

function yamlOf(more = '', roles = '{ values: { sre: admin, support: viewer } }'): string {
  const oidc = `{ issuer: "${provider.issuer}", client_id: tollgate, client_secret: ${CLIENT_SECRET}, scope: openid email groups, roles: ${roles}, ${more} }`
  return YAML.replace('admin: { ', `admin: { oidc: ${oidc}, `)
}

async function start(yaml = yamlOf(), options: Parameters<typeof startAdmin>[0] = {}): Promise<Running> {
  const running = await startAdmin({ yaml, ...options })
  gateways.push(running)
  provider.serveFor(...gateways.map(({ url }) => url))
  return running
}

/** What a page of this gateway sends. */
function fromPage({ url }: Running, cookies: readonly string[] = []): Record<string, string> {
  return { authorization: '', origin: url, 'sec-fetch-site': 'same-origin', cookie: cookies.join('; ') }
}

const cookiesOf = ({ headers }: Reply) => (headers['set-cookie'] ?? []).map((line) => line.split(';')[0] ?? '')

async function begin(gateway: Running) {
  const reply = await gateway.call('POST', '/api/session/provider', { headers: fromPage(gateway) })
  return { reply, to: String(reply.json.to), kept: cookiesOf(reply) }
}

const finish = (gateway: Running, returned: string, kept: readonly string[]) =>
  gateway.call('POST', '/api/session', { headers: fromPage(gateway, kept), body: { returned } })

/** The whole way of a browser. */
async function signIn(gateway: Running, at = gateway): Promise<Reply> {
  const { to, kept } = await begin(gateway)
  return finish(at, await provider.visit(to), kept)
}

const whoIs = async (gateway: Running, cookies: readonly string[]) =>
  (await gateway.call('GET', '/api/session', { headers: fromPage(gateway, cookies) })).json

describe('signing in by a provider', () => {
  test('signing in by a provider gives a session of an hour, in whose name the audit has what is changed', async () => {
    const gateway = await start()
    const reply = await signIn(gateway)
    const expiresAt = new Date(NOW + HOUR).toISOString()
    const host = new URL(provider.issuer).host
    const ann = { name: 'ann@example.org', role: 'admin', expiresAt, provider: host }
    expect(reply).toMatchObject({ status: 200, json: ann })
    expect(reply.headers['set-cookie']).toEqual([
      expect.stringMatching(/^tollgate_session=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=3600$/),
      'tollgate_sign_in=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0',
    ])
    const cookies = cookiesOf(reply)
    expect(await whoIs(gateway, cookies)).toEqual(ann)
    const change = { headers: fromPage(gateway, cookies), body: { mode: 'loose', reason: 'a busy day' } }
    expect((await gateway.call('PATCH', '/api/quota', change)).status).toBe(200)
    expect((await gateway.call('GET', '/api/audit')).json.entries).toMatchObject([{ who: 'ann@example.org' }])
  })

  test('signing in by a provider finds name and groups where the provider is asked for them, and by path', async () => {
    await provider.close()
    provider = await startPeopleProvider(['email', 'email_verified', 'groups'])
    const gateway = await start(yamlOf())
    provider.who = { ...ANN, groups: 'support' }
    expect((await signIn(gateway)).json).toMatchObject({ name: 'ann@example.org', role: 'viewer' })
    const nested = await start(yamlOf('name_claim: email', '{ claim: groups.here, values: { a: viewer } }'))
    provider.who = { ...ANN, groups: { here: ['a'] } }
    expect((await signIn(nested)).json).toMatchObject({ role: 'viewer' })
  })

  test('a viewer of a provider looks at everything and changes nothing', async () => {
    const gateway = await start()
    provider.who = { ...ANN, groups: ['support'] }
    const headers = fromPage(gateway, cookiesOf(await signIn(gateway)))
    expect((await gateway.call('GET', '/api/quota', { headers })).status).toBe(200)
    const refused = await gateway.call('PATCH', '/api/quota', { headers, body: { mode: 'loose' } })
    expect(refused).toMatchObject({ status: 403, json: { error: 'forbidden' } })
  })

  test('a person whose groups give no role is told which claim has what, and gets no session', async () => {
    const gateway = await start()
    const refusals: [object, string][] = [
      [
        { ...ANN, groups: ['dev', 'ops'] },
        'You are ann@example.org, and have no role here: the claim "groups" has "dev", "ops", and admin.oidc.roles names none of that.',
      ],
      [
        { ...ANN, groups: undefined },
        'You are ann@example.org, and have no role here: the claim "groups" has nothing, and admin.oidc.roles names none of that.',
      ],
      [{ ...ANN, email_verified: false }, 'gives you no name that can be used.'],
      [{ ...ANN, email: undefined }, 'gives you no name that can be used.'],
      [{ ...ANN, email_verified: 'false' }, 'gives you no name that can be used.'],
      ...['Admin', 'admin ', 'ad\u200bmin', 'ａdmin', 'comm\u00adand line', 'SCHEDULE'].map(
        (email): [object, string] => [
          { ...ANN, email },
          `Your name "${email}" is that of an admin token, or a word of the audit.`,
        ],
      ),
      [{ ...ANN, email: 'admin' }, 'Your name "admin" is that of an admin token, or a word of the audit.'],
      [{ ...ANN, email: 'schedule' }, 'Your name "schedule" is that of an admin token, or a word of the audit.'],
    ]
    for (const [who, msg] of refusals) {
      provider.who = who as typeof ANN
      const reply = await signIn(gateway)
      expect(reply).toMatchObject({ status: 403, json: { error: 'no_role', msg: expect.stringContaining(msg) } })
      expect(cookiesOf(reply)).toEqual(['tollgate_sign_in='])
    }
  })

  test('a provider is asked whether an e-mail address is verified if its ID token does not say so', async () => {
    await provider.close()
    provider = await startPeopleProvider(['email_verified'])
    const gateway = await start()
    provider.who = ANN
    expect(await signIn(gateway)).toMatchObject({ status: 200, json: { name: 'ann@example.org' } })
    provider.who = { ...ANN, email_verified: false }
    expect(await signIn(gateway)).toMatchObject({ status: 403, json: { error: 'no_role' } })
  })

  test('somebody who gives up at the provider is told so', async () => {
    const gateway = await start()
    provider.who = null
    expect(await signIn(gateway)).toMatchObject({
      status: 401,
      json: { error: 'sign_in_failed', msg: expect.stringContaining('did not sign you in here (access_denied)') },
    })
  })

  test('a session of a person ends with the hour, and when the group gives no role any more or the secret is another', async () => {
    let clock = NOW
    const gateway = await start(yamlOf(), { now: () => clock })
    const cookies = cookiesOf(await signIn(gateway))
    clock += HOUR
    expect(await whoIs(gateway, cookies)).toMatchObject({ name: null })
    clock -= HOUR
    expect(await whoIs(gateway, cookies)).toMatchObject({ role: 'admin' })
    const others = [
      ['viewer', yamlOf().replace('sre: admin', 'sre: viewer')],
      [null, yamlOf().replace('sre: admin', 'ops: admin')],
      [null, yamlOf().replace('name: desk', 'name: ann@example.org')],
      [null, yamlOf().replace(CLIENT_SECRET, `${CLIENT_SECRET}-2`)],
      [null, YAML],
    ] as const
    for (const [role, yaml] of others) expect(await whoIs(await start(yaml), cookies)).toMatchObject({ role })
  })
})

describe.each(['sqlite', 'redis'] as const)('two gateways over one store of %s', (kind) => {
  let store: Store
  beforeEach(async () => {
    store = closedAtEnd(await storeOver(kind, { url: redis.url, prefix: `people-${process.pid}` }, () => NOW))
  })

  test(`a sign-in that one gateway over ${kind} begins may end at the other, and signing out there ends the session at both`, async () => {
    const [one, other] = [await start(yamlOf(), { store }), await start(yamlOf(), { store })]
    // As a balancer does it: one address for both.
    const { to, kept } = await begin(one)
    const returned = await provider.visit(to)
    const headers = { ...fromPage(one, kept), host: new URL(one.url).host }
    const reply = await other.call('POST', '/api/session', { headers, body: { returned } })
    expect(reply.status).toBe(200)
    const cookies = cookiesOf(reply)
    for (const gateway of [one, other]) expect(await whoIs(gateway, cookies)).toMatchObject({ role: 'admin' })
    expect((await other.call('DELETE', '/api/session', { headers: fromPage(other, cookies) })).status).toBe(204)
    for (const gateway of [one, other]) {
      expect(await whoIs(gateway, cookies)).toMatchObject({ name: null })
      expect((await gateway.call('GET', '/api/quota', { headers: fromPage(gateway, cookies) })).status).toBe(401)
    }
  })
})

describe('a provider that is away', () => {
  test('while the provider is away a token signs in, and the page is told why the provider does not', async () => {
    const gateway = await start()
    provider.instead = (_path, request, response) => {
      says({ error: 'server_error' }, 503)(request, response)
      return true
    }
    const { reply } = await begin(gateway)
    expect(reply).toMatchObject({ status: 503, json: { error: 'provider_unavailable' } })
    expect(reply.json.msg).toContain('Sign in with an admin token meanwhile.')
    const body = { token: TOKEN }
    expect((await gateway.call('POST', '/api/session', { headers: fromPage(gateway), body })).status).toBe(200)
    provider.instead = null
    expect((await signIn(gateway)).status).toBe(200)
  })

  test('a provider that goes away between the two ends of a sign-in is told apart from one that refuses', async () => {
    const gateway = await start()
    const { to, kept } = await begin(gateway)
    const returned = await provider.visit(to)
    provider.instead = (path, request) => path === '/token' && request.destroy() !== undefined
    expect((await finish(gateway, returned, kept)).json).toMatchObject({ error: 'provider_unavailable' })
  })
})

describe('whoever attacks a sign-in', () => {
  const failed = { status: 401, json: { error: 'sign_in_failed' } }

  test('a code is good once, in the browser that began, and with the state that it got', async () => {
    const gateway = await start()
    const [mine, theirs] = [await begin(gateway), await begin(gateway)]
    const returned = await provider.visit(mine.to)
    const forged = new URLSearchParams(returned)
    forged.set('state', 'x'.repeat(43))
    expect(await finish(gateway, String(forged), mine.kept)).toMatchObject(failed)
    // Login CSRF: what the attacker's browser got is sent by another one, with its own cookie or none.
    expect(await finish(gateway, returned, theirs.kept)).toMatchObject(failed)
    expect(await finish(gateway, returned, [])).toMatchObject(failed)
    expect(await finish(gateway, returned, [...mine.kept, ...theirs.kept])).toMatchObject(failed)
    expect(await finish(gateway, returned, mine.kept)).toMatchObject({ status: 200 })
    expect(await finish(gateway, returned, mine.kept)).toMatchObject(failed)
  })

  test('a code with the verifier or the nonce of another sign-in is good for nothing', async () => {
    const gateway = await start()
    for (const part of [1, 2]) {
      const { to, kept } = await begin(gateway)
      const parts = String(kept[0]).split('.')
      parts[part] = 'A'.repeat(43)
      expect(await finish(gateway, await provider.visit(to), [parts.join('.')])).toMatchObject(failed)
    }
  })

  test('by TLS a sign-in is bound by a cookie that no page of a sibling domain can set', async () => {
    const gateway = await start(yamlOf(), { hosts: ['ops.test'] })
    const page = { authorization: '', host: 'ops.test', origin: 'https://ops.test', 'sec-fetch-site': 'same-origin' }
    provider.serveFor('https://ops.test')
    const reply = await gateway.call('POST', '/api/session/provider', { headers: page })
    const [cookie = ''] = cookiesOf(reply)
    expect(reply.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-tollgate_sign_in=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=600; Secure$/,
      ),
    ])
    const body = { returned: await provider.visit(reply.json.to) }
    const planted = { ...page, cookie: cookie.replace('__Host-', '') }
    expect(await gateway.call('POST', '/api/session', { headers: planted, body })).toMatchObject(failed)
    const good = await gateway.call('POST', '/api/session', { headers: { ...page, cookie }, body })
    expect(good).toMatchObject({ status: 200, json: { name: 'ann@example.org' } })
  })

  test('a page of another site, or one under a host that is not ours, neither begins nor ends a sign-in', async () => {
    const gateway = await start()
    const page = fromPage(gateway)
    const refusals: [Record<string, string>, number, string][] = [
      [{ ...page, 'sec-fetch-site': 'cross-site' }, 403, 'not_from_our_page'],
      [{ ...page, origin: 'https://evil.test', 'sec-fetch-site': '' }, 403, 'not_from_our_page'],
      [{ ...page, host: 'evil.test', origin: 'http://evil.test' }, 403, 'host_not_allowed'],
      // A script that lies of its browser: the provider is never sent to another host.
      [{ ...page, origin: 'https://evil.test' }, 400, 'bad_request'],
      [{ ...page, origin: 'null' }, 400, 'bad_request'],
      [{ ...page, origin: '' }, 400, 'bad_request'],
    ]
    for (const [headers, status, error] of refusals) {
      const begun = await gateway.call('POST', '/api/session/provider', { headers })
      expect(begun).toMatchObject({ status, json: { error } })
      const { to, kept } = await begin(gateway)
      const body = { returned: await provider.visit(to) }
      const ended = await gateway.call('POST', '/api/session', { headers: { ...headers, cookie: kept.join() }, body })
      expect(ended).toMatchObject({ status, json: { error } })
      expect(cookiesOf(ended).some((cookie) => cookie.startsWith('tollgate_session='))).toBe(false)
    }
  })

  test('whatever stands in the address by which the browser is back, it goes nowhere else', async () => {
    const gateway = await start()
    const { kept } = await begin(gateway)
    for (const returned of [
      'code=x&state=y&next=https://evil.test',
      '?#@evil.test/',
      '//evil.test',
      '%00',
      'a'.repeat(3001),
    ]) {
      const reply = await finish(gateway, returned, kept)
      expect([400, 401]).toContain(reply.status)
      expect(reply.headers.location).toBeUndefined()
    }
  })

  test('a session that a browser had before is not the one that it has after the sign-in', async () => {
    const gateway = await start()
    const { to, kept } = await begin(gateway)
    const planted = 'tollgate_session=1.planted.by-somebody'
    const reply = await finish(gateway, await provider.visit(to), [...kept, planted])
    expect(cookiesOf(reply)[0]).not.toBe(planted)
    expect(await whoIs(gateway, [planted])).toMatchObject({ name: null })
  })

  test('a session whose name, group or end was changed is none', async () => {
    const gateway = await start()
    provider.who = { ...ANN, groups: ['support'] }
    const [cookie = ''] = cookiesOf(await signIn(gateway))
    const [, expiry = '', payload = '', mac = ''] = /=(\d+)\.([\w-]+)\.([\w-]+)$/.exec(cookie) ?? []
    const forged = b64(['ann@example.org', 'sre'])
    expect(await whoIs(gateway, [cookie])).toMatchObject({ role: 'viewer' })
    for (const value of [`${expiry}.${forged}.${mac}`, `${Number(expiry) + 1}.${payload}.${mac}`, `${expiry}.${mac}`])
      expect(await whoIs(gateway, [`tollgate_session=${value}`]), value).toMatchObject({ name: null })
  })

  test('an ID token that the key of the provider did not sign, or that is for somebody else, signs nobody in', async () => {
    const gateway = await start()
    const key = ecKey('people')
    const good = { iss: provider.issuer, aud: 'tollgate', sub: 'eve', email: 'eve@example.org', groups: ['sre'] }
    const seconds = Math.floor(Date.now() / 1000)
    const times = { iat: seconds, exp: seconds + 300 }
    const none = (payload: object) => `${b64({ alg: 'none' })}.${b64(payload)}.`
    const forgeries: [string, (claims: object) => string][] = [
      ['signed by nobody', (claims) => none(claims)],
      ['signed by another key of the same name', (payload) => jwt({ key, payload })],
      ['signed with the secret of the client', (payload) => jwt({ key: CLIENT_SECRET, alg: 'HS256', payload })],
      ['for another client', (claims) => jwt({ key, payload: { ...claims, aud: 'another' } })],
      ['by another issuer', (claims) => jwt({ key, payload: { ...claims, iss: 'https://evil.test' } })],
      ['without the nonce', (claims) => jwt({ key, payload: { ...claims, nonce: undefined } })],
      ['that is over', (claims) => jwt({ key, payload: { ...claims, exp: seconds - 3600 } })],
    ]
    for (const [what, forge] of forgeries) {
      const { to, kept } = await begin(gateway)
      const returned = await provider.visit(to)
      const nonce = new URL(to).searchParams.get('nonce')
      const id_token = forge({ ...good, ...times, nonce })
      provider.instead = (path, request, response) => {
        if (path !== '/token') return false
        says({ access_token: 'x', token_type: 'Bearer', id_token })(request, response)
        return true
      }
      expect(await finish(gateway, returned, kept), what).toMatchObject(failed)
      provider.instead = null
    }
  })

  test('a token of the provider that is sent to the API is no admin token', async () => {
    const gateway = await start()
    const headers = { authorization: `Bearer ${jwt({ key: ecKey('people') })}` }
    expect((await gateway.call('GET', '/api/quota', { headers })).status).toBe(401)
  })
})

test('without a provider a sign-in by one is not found, and the session names none', async () => {
  const gateway = await start(YAML)
  expect((await begin(gateway)).reply).toMatchObject({ status: 404, json: { error: 'not_found' } })
  expect(await finish(gateway, 'code=x', ['tollgate_sign_in=a.b.c'])).toMatchObject({ status: 404 })
  expect(await whoIs(gateway, [])).toEqual({ name: null, role: null, expiresAt: null })
})
