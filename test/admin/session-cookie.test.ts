import { describe, expect, test } from 'vitest'
import { StoreError } from '../../src/quota/quota-store.ts'
import { NOW, type Running, startAdmin, TOKEN, VIEWER, YAML } from './running.ts'

let running: Running
let clock = NOW
async function start(yaml = YAML) {
  clock = NOW
  running = await startAdmin({ yaml, now: () => clock })
  return running
}

const HOURS = 3_600_000
const NOBODY = { name: null, role: null, expiresAt: null }
const noToken = { authorization: '' }
const ourPage = { ...noToken, 'sec-fetch-site': 'same-origin' }

async function signIn(token = TOKEN, headers: Record<string, string> = {}) {
  const reply = await running.call('POST', '/api/session', { headers: { ...noToken, ...headers }, body: { token } })
  const [line = ''] = reply.headers['set-cookie'] ?? []
  return { reply, line, cookie: line.split(';')[0] ?? '' }
}

/** A gateway has started, and this is the cookie of whoever signed in at it. */
async function signedIn(token?: string, yaml?: string): Promise<string> {
  await start(yaml)
  return (await signIn(token)).cookie
}

const whoami = (headers: Record<string, string>) => running.call('GET', '/api/session', { headers })

const looked = async (headers: Record<string, string>) =>
  (await running.call('GET', '/api/quota', { headers: { ...noToken, ...headers } })).status

const signOut = (cookie: string) => running.call('DELETE', '/api/session', { headers: { ...ourPage, cookie } })

const change = (cookie: string, headers: Record<string, string> = ourPage, body: unknown = { mode: 'loose' }) =>
  running.call('PATCH', '/api/quota', { headers: { ...headers, cookie }, body })

test('signing in sets a cookie that no script can read and no other site can send', async () => {
  await start()
  const { reply, line } = await signIn()
  expect(reply).toMatchObject({
    status: 200,
    json: { name: 'admin', role: 'admin', expiresAt: '2026-11-20T22:10:00.000Z' },
  })
  expect(line).toMatch(/^tollgate_session=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/)
  expect(line).not.toContain(TOKEN)
})

test.each([
  ['a page that came by TLS', { origin: 'https://ops.test', host: 'ops.test', 'sec-fetch-site': 'same-origin' }],
  ['a proxy that ended TLS', { 'x-forwarded-proto': 'https' }],
])('signing in sends the cookie by TLS only for %s', async (_who, headers) => {
  running = await startAdmin({ hosts: ['ops.test'] })
  expect((await signIn(TOKEN, headers)).line).toMatch(
    /^__Host-tollgate_session=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200; Secure$/,
  )
})

test('signing in opens the API, also to another replica and after a restart', async () => {
  const cookie = await signedIn()
  await running.stop()
  await start()
  expect((await whoami({ ...noToken, cookie })).json).toEqual({
    name: 'admin',
    role: 'admin',
    expiresAt: '2026-11-20T22:10:00.000Z',
  })
  expect((await change(cookie)).status).toBe(200)
})

test('signing in with a wrong token is a guess like any other, and with the right one succeeds after any number of them', async () => {
  await start()
  for (let i = 0; i < 10; i++) expect((await signIn('wrong')).reply.status).toBe(401)
  expect((await signIn('wrong')).reply).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } })
  expect((await signIn()).reply.status).toBe(200)
  clock += 60_000
  expect((await signIn('wrong')).reply.status).toBe(401)
})

test('signing in with wrong tokens is refused to the address that has guessed, and to no other', async () => {
  await start()
  const guess = { headers: noToken, body: { token: 'wrong' }, from: '127.0.0.2' }
  for (let i = 0; i < 10; i++) await running.call('POST', '/api/session', guess)
  expect((await running.call('POST', '/api/session', guess)).status).toBe(429)
  expect((await signIn('wrong')).reply.status).toBe(401)
})

test('signing in works with the longest name that a token may have', async () => {
  const cookie = await signedIn(VIEWER, YAML.replace('name: desk', `name: "${'😀'.repeat(64)}"`))
  expect((await whoami({ ...noToken, cookie })).json).toMatchObject({ name: '😀'.repeat(64), role: 'viewer' })
})

test.each([
  ['nothing', {}, ''],
  ['a number', { token: 7 }, 'token'],
  ['another field', { token: TOKEN, tokn: 1 }, 'tokn'],
  ['no object', 'null', ''],
])('signing in with %s is refused with the place', async (_what, body, path) => {
  await start()
  const reply = await running.call('POST', '/api/session', { headers: noToken, body })
  expect(reply).toMatchObject({ status: 400, json: { error: 'bad_request', problems: [{ path }] } })
})

test('signing in with a body of more than 4 KiB is refused unread', async () => {
  await start()
  const post = (size: number) => {
    const body = `{"tokn":"${'x'.repeat(size - 11)}"}`
    return running.call('POST', '/api/session', { headers: noToken, body })
  }
  expect(await post(4096)).toMatchObject({ status: 400, json: { error: 'bad_request' } })
  const msg = 'The body may have at most 4096 bytes.'
  expect(await post(4097)).toMatchObject({ status: 413, json: { error: 'payload_too_large', msg } })
})

test('signing in is not done by a page of another site', async () => {
  await start()
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'http://evil.test' },
    { referer: 'http://evil.test/' },
  ])
    expect((await signIn(TOKEN, headers as Record<string, string>)).reply).toMatchObject({
      status: 403,
      json: { error: 'not_from_our_page' },
    })
})

test('signing in is refused if no token is configured', async () => {
  await start(YAML.replace(/^admin:.*\n/m, ''))
  expect((await signIn()).reply).toMatchObject({ status: 403, json: { error: 'no_admin_token' } })
})

test('GET /api/session names nobody, without an error, before anybody has signed in and after the session is over', async () => {
  await start()
  expect(await whoami(noToken)).toMatchObject({ status: 200, json: NOBODY })
  const { cookie } = await signIn()
  expect((await whoami({ ...noToken, cookie })).json).toMatchObject({ name: 'admin' })
  clock += 12 * HOURS
  expect(await whoami({ ...noToken, cookie })).toMatchObject({ status: 200, json: NOBODY })
})

test('GET /api/session names the owner of the token that was sent, and a wrong one is refused and counts as a guess', async () => {
  await start()
  expect((await whoami({ authorization: `Bearer ${VIEWER}` })).json).toEqual({
    name: 'desk',
    role: 'viewer',
    expiresAt: null,
  })
  const { cookie } = await signIn()
  for (let i = 0; i < 10; i++)
    expect(await whoami({ authorization: 'Bearer wrong', cookie })).toMatchObject({ status: 401 })
  expect(await whoami({ authorization: 'Bearer wrong', cookie })).toMatchObject({ status: 429 })
})

test('GET /api/session is refused if no token is configured', async () => {
  await start(YAML.replace(/^admin:.*\n/m, ''))
  expect(await whoami(noToken)).toMatchObject({ status: 403, json: { error: 'no_admin_token' } })
})

describe('a session', () => {
  test('a session takes no gateway out of service, from wherever it comes', async () => {
    const turned: boolean[] = []
    running = await startAdmin({ drain: { isOn: () => false, turn: (on) => turned.push(on) } })
    const { cookie } = await signIn()
    const drain = async (headers: Record<string, string>) =>
      (await running.call('POST', '/drain', { headers: { ...headers, cookie, 'x-tollgate-drain': 'yes' } })).status
    expect([await drain({ ...noToken, via: '1.1 proxy' }), await drain(ourPage)]).toEqual([401, 403])
    expect(turned).toEqual([])
  })

  test.each([
    ['is good on a replica whose clock is up to five minutes behind', 5 * 60_000, 200],
    ['that begins while the clock is further ahead is none when it is right again', 5 * 60_000 + 1, 401],
  ])('%s', async (_, ahead, status) => {
    await start()
    clock += ahead
    const { cookie } = await signIn()
    expect((await change(cookie)).status).toBe(200)
    clock -= ahead
    expect((await change(cookie)).status).toBe(status)
    clock += ahead
    expect((await change(cookie)).status).toBe(200)
  })

  test('a session ends after 12 hours', async () => {
    const cookie = await signedIn()
    clock += 12 * HOURS - 1
    expect(await looked({ cookie })).toBe(200)
    clock += 1
    expect(await looked({ cookie })).toBe(401)
  })

  test('a session is looked for among five cookies of its name, not among any number', async () => {
    const cookie = await signedIn()
    const behind = async (others: number) => {
      const cookies = `${'tollgate_session=a.1.b; '.repeat(others)}${cookie}`
      return (await whoami({ ...noToken, cookie: cookies })).json
    }
    expect(await behind(4)).toMatchObject({ name: 'admin' })
    expect(await behind(5)).toEqual(NOBODY)
  })

  test.each([
    ['replaced', (yaml: string) => yaml.replace(TOKEN, `${TOKEN}-2`)],
    ['taken away', (yaml: string) => yaml.replace(`token: ${TOKEN}, `, '')],
  ])('a session ends when its token is %s', async (_how, edit) => {
    const cookie = await signedIn()
    await running.stop()
    await start(edit(YAML))
    expect(await whoami({ ...noToken, cookie })).toMatchObject({ status: 200, json: NOBODY })
  })

  test('a session goes on under the new name of its token, which the audit has from then on', async () => {
    const cookie = await signedIn(VIEWER)
    await running.stop()
    await start(YAML.replace('name: desk', 'name: "Zoë at the desk"').replace('role: viewer', 'role: admin'))
    expect((await whoami({ ...noToken, cookie })).json).toMatchObject({ name: 'Zoë at the desk', role: 'admin' })
    expect((await change(cookie)).status).toBe(200)
    expect((await running.call('GET', '/api/audit')).json.entries).toMatchObject([{ who: 'Zoë at the desk' }])
  })

  test('a session has the role that its token has now', async () => {
    const cookie = await signedIn(VIEWER, YAML.replace('role: viewer', 'role: admin'))
    expect((await change(cookie)).status).toBe(200)
    await running.stop()
    await start()
    expect(await change(cookie)).toMatchObject({ status: 403, json: { error: 'forbidden' } })
  })

  test('a session cannot be made or changed by whoever does not have the token', async () => {
    const cookie = await signedIn(VIEWER)
    const [, expiry = '', mac = ''] = /=(.+)\.(.+)$/.exec(cookie) ?? []
    for (const forged of [
      `${Buffer.from('admin').toString('base64url')}.${expiry}.${mac}`,
      `${Number(expiry) + 1}.${mac}`,
      `${expiry}.${mac.slice(0, -1)}${mac.endsWith('A') ? 'E' : 'A'}`,
      `${expiry}.`,
      `${expiry}.${'A'.repeat(43)}`,
      '',
      '..',
      mac,
    ]) {
      const headers = { ...noToken, cookie: `tollgate_session=${forged}` }
      expect((await whoami(headers)).json, forged).toEqual(NOBODY)
      expect(await looked(headers), forged).toBe(401)
    }
    expect((await whoami({ ...noToken, cookie })).json).toMatchObject({ name: 'desk', role: 'viewer' })
  })

  test('a session that is good is found beside one that is not, and beside other cookies', async () => {
    const cookie = await signedIn()
    const headers = { ...noToken, cookie: `a=b; tollgate_session=old.1.x; __Host-${cookie}; tollgate_session_x=1` }
    expect((await whoami(headers)).json).toMatchObject({ name: 'admin' })
  })

  test('a session under the plain name is none by TLS, where a page of a sibling domain may have set it, and goes behind that of this host', async () => {
    await start()
    const [theirs, own] = [await signIn(VIEWER), await signIn(TOKEN, { 'x-forwarded-proto': 'https' })]
    const who = async (headers: Record<string, string>) => (await whoami({ ...noToken, ...headers })).json.name
    expect(await who({ cookie: theirs.cookie })).toBe('desk')
    expect(await who({ cookie: `${theirs.cookie}; ${own.cookie}` })).toBe('admin')
    expect(await who({ cookie: theirs.cookie, 'x-forwarded-proto': 'https' })).toBeNull()
    expect(await who({ cookie: own.cookie, 'x-forwarded-proto': 'https' })).toBe('admin')
  })

  test('a session that is signed out takes the others of its browser with it, under either name', async () => {
    await start()
    const cookies = [(await signIn()).cookie, (await signIn(VIEWER, { 'x-forwarded-proto': 'https' })).cookie]
    expect((await signOut(cookies.join('; '))).status).toBe(204)
    for (const cookie of cookies) expect(await looked({ cookie })).toBe(401)
  })

  test('a session that is over is no guess: a page left open does not lock its owner out', async () => {
    const cookie = await signedIn()
    clock += 13 * HOURS
    for (const path of Array<string[]>(30).fill(['/api/now', '/api/session']).flat())
      await running.call('GET', path, { headers: { ...noToken, cookie } })
    expect((await signIn()).reply.status).toBe(200)
  })

  test('a session does not help whoever sends a wrong token with it', async () => {
    const cookie = await signedIn()
    expect(await looked({ authorization: 'Bearer wrong', cookie })).toBe(401)
  })

  test('a session is taken from the browser when one signs out', async () => {
    const cookie = await signedIn()
    const reply = await signOut(cookie)
    expect(reply.status).toBe(204)
    expect(reply.headers['set-cookie']).toEqual(['tollgate_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0'])
  })

  test('a session that is signed out is good at no gateway any more, whoever has a copy of its cookie', async () => {
    await start()
    const other = await startAdmin({ now: () => clock, store: running.store })
    const [{ cookie }, kept] = [await signIn(), await signIn(VIEWER)]
    const whose = async (gateway: Running, of: string) => {
      const headers = { ...noToken, cookie: of }
      const { json } = await gateway.call('GET', '/api/session', { headers })
      return [json.name, (await gateway.call('GET', '/api/quota', { headers })).status]
    }
    expect(await whose(other, cookie)).toEqual(['admin', 200])
    expect((await signOut(cookie)).status).toBe(204)
    for (const gateway of [running, other]) {
      expect(await whose(gateway, cookie)).toEqual([null, 401])
      expect(await whose(gateway, kept.cookie)).toEqual(['desk', 200])
      expect((await gateway.call('DELETE', '/api/session', { headers: { ...ourPage, cookie } })).status).toBe(204)
    }
  })

  test('a session is over at this gateway also if the store is out, which the response tells', async () => {
    const out = () => Promise.reject(new StoreError('down', 'connection', 'no'))
    running = await startAdmin({ broken: { endSession: out, isSessionEnded: out } })
    const { cookie } = await signIn()
    expect(await looked({ cookie })).toBe(200)
    const reply = await signOut(cookie)
    expect(reply).toMatchObject({ status: 503, json: { error: 'store_unavailable' } })
    expect(reply.headers['set-cookie']).toEqual([expect.stringContaining('tollgate_session=; ')])
    expect(await looked({ cookie })).toBe(401)
  })

  test('a session is not ended by a page of another site', async () => {
    await start()
    const headers = { ...noToken, origin: 'http://evil.test' }
    const reply = await running.call('DELETE', '/api/session', { headers })
    expect(reply).toMatchObject({ status: 403, json: { error: 'not_from_our_page' } })
    expect(reply.headers['set-cookie']).toBeUndefined()
  })
})

test.each([
  ['our page', { 'sec-fetch-site': 'same-origin' }],
  ['our page over plain HTTP, where browsers say less', { origin: 'http://10.1.2.3:9090', host: '10.1.2.3:9090' }],
])('a change by a session is made from %s', async (_where, headers) => {
  const cookie = await signedIn()
  expect((await change(cookie, { ...noToken, ...headers })).status).toBe(200)
})

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['another port of this host', { 'sec-fetch-site': 'same-site' }],
  ['a page that says our origin and another site', { 'sec-fetch-site': 'cross-site', origin: 'http://localhost' }],
  ['another port, over plain HTTP', { origin: 'http://10.1.2.3:8080', host: '10.1.2.3:9090' }],
  ['a sandboxed frame', { origin: 'null' }],
  ['nowhere that it names', {}],
  ['a page that names itself only as the referrer', { referer: 'http://localhost/' }],
])('a change by a session is not made from %s', async (_where, headers) => {
  const cookie = await signedIn()
  expect(await change(cookie, { ...noToken, ...headers })).toMatchObject({
    status: 403,
    json: { error: 'not_from_our_page', msg: expect.stringContaining('Authorization: Bearer') },
  })
  expect((await running.call('GET', '/api/quota')).json.mode).toBe('normal')
})

test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
  'a change by a session is not made by a form, which sends %j',
  async (type) => {
    const cookie = await signedIn()
    const reply = await change(cookie, { ...ourPage, 'content-type': type }, '{"mode":"loose"}')
    expect(reply).toMatchObject({ status: 403, json: { error: 'not_from_our_page' } })
  },
)

test('a change by a session may be a DELETE without a body', async () => {
  const cookie = await signedIn()
  for (const type of [{}, { 'content-type': 'application/json' }]) {
    const headers = { ...ourPage, cookie, ...type }
    expect((await running.call('DELETE', '/api/users/alice/override', { headers })).status).toBe(404)
  }
})

test('a change by a session needs no page when it comes with the token itself', async () => {
  await start()
  const request = { headers: { 'sec-fetch-site': 'cross-site' }, body: { mode: 'loose' } }
  expect((await running.call('PATCH', '/api/quota', request)).status).toBe(200)
})

const viewer = { authorization: `Bearer ${VIEWER}` }

test.each([
  ['GET', '/api/session'],
  ['GET', '/api/quota'],
  ['GET', '/api/users'],
  ['GET', '/api/users/alice'],
  ['GET', '/api/explain?user=alice&method=GET&path=/v1/trial'],
  ['GET', '/api/now'],
  ['GET', '/api/routes'],
  ['GET', '/api/failures'],
  ['GET', '/api/tokens'],
  ['GET', '/api/audit'],
  ['POST', '/api/quota/preview', { mode: 'loose' }],
])('a viewer looks at what is there and at what a change would do: %s %s', async (method, path, body?: unknown) => {
  await start()
  expect((await running.call(method, path, { headers: viewer, body })).status).toBe(200)
})

test.each([
  ['PATCH', '/api/quota', { mode: 'loose' }],
  ['PUT', '/api/users/alice/override', { read: { '1h': 1 }, reason: 'r' }],
  ['DELETE', '/api/users/alice/override', undefined],
  ['POST', '/api/users/alice/reset', { reason: 'r' }],
  ['POST', '/api/quota/reset', { scope: 'global', category: 'read', reason: 'r' }],
  ['POST', '/api/tokens', { user: 'alice', name: 'n' }],
  ['DELETE', '/api/tokens/x', undefined],
])('a viewer does not change: %s %s', async (method, path, body) => {
  await start()
  const reply = await running.call(method, path, { headers: viewer, body })
  expect(reply).toMatchObject({ status: 403, json: { error: 'forbidden' } })
  expect(reply.json.msg).toContain('"desk"')
  expect((await running.call('GET', '/api/audit')).json.entries).toEqual([])
})
