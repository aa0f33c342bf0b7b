import net, { type AddressInfo } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { listening } from '../setup/listening.ts'
import { type RunningApp, SECRET, startApp } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

/** Who asks, wherever the request says it: by the bytes that the upstream gets. */

let seen: Buffer[]
let upstream: net.Server
let app: RunningApp
beforeEach(async () => {
  seen = []
  upstream = net.createServer((socket) => {
    let head = ''
    socket
      .on('error', () => {})
      .on('data', (piece: Buffer) => {
        seen.push(piece)
        head += piece.toString('latin1')
        for (let end = head.indexOf('\r\n\r\n'); end >= 0; end = head.indexOf('\r\n\r\n')) {
          head = head.slice(end + 4)
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        }
      })
  })
  await listening(upstream)
})

const PROXY = 'edge: { trusted_proxies: [127.0.0.0/8] }'

function text(auth: string, rest = ''): string {
  const port = (upstream.address() as AddressInfo).port
  return `
listen: 127.0.0.1:0
upstream: { url: "http://127.0.0.1:${port}" }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }], ${auth} }
log: { level: fatal, requests: none }
quota: { baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 100000 } } } }
routes:
  - { match: "* /*", category: read }
  - { match: "* /pub/*", public: true }
  - { match: "* /known", category: read, anonymous: false }
  - { match: "* /open", category: read, anonymous: true }
${rest}`
}

async function start(auth: string, rest?: string): Promise<void> {
  app = await startApp(text(auth, rest))
}

interface Asked {
  readonly status: number
  readonly head: string
  /** What the upstream got of it. */
  readonly sent: string
}

async function ask(path: string, fields: readonly string[] = [], method = 'GET'): Promise<Asked> {
  const before = seen.length
  const request = [`${method} ${path} HTTP/1.1`, 'Host: api.test', ...fields, 'Connection: close', '', ''].join('\r\n')
  const response = await rawExchange(app.url, Buffer.from(request))
  const sent = Buffer.concat(seen.slice(before)).toString('latin1')
  return { status: statusesIn(response)[0] ?? 0, head: response.split('\r\n\r\n')[0] ?? '', sent }
}

const userOf = ({ sent }: Asked): string | undefined => /^X-Tollgate-User: (.*)\r$/m.exec(sent)?.[1]
const charged = (): (string | null)[] => app.requests().map(({ user }) => user)
const challenge = ({ head }: Asked): string | undefined => /^WWW-Authenticate: (.*)$/im.exec(head)?.[1]?.trim()
const reasons = (): (string | null)[] => app.requests().map(({ reason }) => reason)

const JWT = jwtOf('alice')
const OTHER = jwtOf('bob')

const ALL =
  'from: [bearer, { header: X-API-Key }, { header: Authorization, scheme: Token }, { cookie: session }, { query: access_token }]'

describe('a credential counts in each place that auth.from names, and stays at the gateway', () => {
  const places: [string, string, string[]][] = [
    ['Bearer', '/a', [`Authorization: bEARER   ${JWT}`]],
    ['a field of its own', '/a', [`x-api-KEY: ${JWT}`]],
    ['another scheme', '/a', [`Authorization: tOKEN ${JWT}`]],
    ['a cookie', '/a', [`Cookie: a=1; session=${JWT}; b=2`]],
    ['a cookie in quotes', '/a', [`Cookie: session="${JWT}"`]],
    ['a cookie of a second line', '/a', ['Cookie: a=1', `Cookie: session=${JWT}`]],
    ['a parameter', `/a?x=%20&access_token=${JWT}&y`, []],
    ['a parameter whose name is encoded', `/a?%61ccess%5Ftoken=${JWT}`, []],
    ['a parameter whose value is encoded', `/a?access_token=${JWT.replaceAll('.', '%2E')}`, []],
    ['a parameter that is there twice', `/a?access_token=${JWT}&x&access_token=${JWT}`, []],
    ['two places', `/a?access_token=${JWT}`, [`X-API-Key: ${JWT}`]],
  ]
  it.each(places)('%s', async (_what, path, fields) => {
    await start(ALL)
    const asked = await ask(path, fields)
    expect(asked.status).toBe(200)
    expect(userOf(asked)).toBe('alice')
    expect(asked.sent).not.toContain(JWT.split('.')[2])
    expect((await ask(`/pub/${path}`, fields)).sent).not.toContain(JWT.split('.')[2])
  })

  it('what stands beside it is forwarded byte for byte', async () => {
    await start(ALL)
    const { sent } = await ask(`/a?x=%2f&&access_token=${JWT}&y=a+b&z`, [`Cookie: a=1;b=2; session=${JWT}; c="3"`])
    expect(sent).toContain('GET /a?x=%2f&&y=a+b&z HTTP/1.1')
    expect(sent).toContain('Cookie: a=1;b=2; c="3"\r\n')
    expect((await ask(`/a?access_token=${JWT}`)).sent).toContain('GET /a HTTP/1.1')
  })

  it.each([
    ['a parameter behind a semicolon', `/a?x;access_token=${JWT}`, []],
    ['a parameter of another letter case', `/a?ACCESS_TOKEN=${JWT}`, []],
    ['a parameter that PHP takes for it', `/a?access.token=${JWT}`, []],
    ['an element of a list', `/a?access_token[]=${JWT}`, []],
    ['a cookie of another letter case', '/a', [`Cookie: a=1; Session=${JWT}`]],
    ['a cookie behind a blank', '/a', [`Cookie: a=1 session=${JWT}`]],
    ['a cookie of octets that Python decodes', '/a', [`Cookie: session="${JWT.replace('e', '\\145')}"`]],
  ])('as %s it is 400, and no public rule forwards it', async (_what, path, fields) => {
    await start(ALL)
    const refused = await ask(path, fields)
    expect([refused.status, refused.sent]).toEqual([400, ''])
    const open = await ask(`/pub${path}`, fields)
    expect([open.status, open.sent.includes(JWT.split('.')[2] ?? '')]).toEqual([200, false])
  })

  it('a Referer shows no parameter either', async () => {
    await start(ALL)
    const { sent } = await ask(`/a?access_token=${JWT}`, [`Referer: https://api.test/p?a=1&access_token=${JWT}#x`])
    expect(sent).toContain('Referer: https://api.test/p?a=1#x')
  })

  it('pass_authorization shows the upstream all of it', async () => {
    app = await startApp(text(ALL).replace('upstream: {', 'upstream: { pass_authorization: true,'))
    const { sent } = await ask(`/a?access_token=${JWT}`, [`X-API-Key: ${JWT}`, `Cookie: session=${JWT}`])
    expect(sent.split(JWT)).toHaveLength(4)
  })

  it('where no place is Authorization, the one of the client passes', async () => {
    await start('from: [{ header: X-API-Key }]')
    const asked = await ask('/a', [`X-API-Key: ${JWT}`, 'Authorization: Basic YTpi'])
    expect(userOf(asked)).toBe('alice')
    expect(asked.sent).toContain('Authorization: Basic YTpi')
  })

  it('an access key and a JWT of one user share one quota wherever they are', async () => {
    await start(ALL)
    const made = await fetch(`${app.admin}/api/tokens`, {
      method: 'POST',
      headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
      body: JSON.stringify({ user: 'alice', name: 'n' }),
    })
    const { token } = (await made.json()) as { token: string }
    expect((await ask('/a', [`X-API-Key: ${token}`])).status).toBe(200)
    expect((await ask('/a', [`Cookie: session=${JWT}`])).status).toBe(200)
    expect(charged()).toEqual(['alice', 'alice'])
  })

  it('a body is not read for one', async () => {
    await start(ALL)
    const form = `access_token=${JWT}`
    const fields = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${form.length}`]
    const raw = `POST /a HTTP/1.1\r\nHost: api.test\r\n${fields.join('\r\n')}\r\nConnection: close\r\n\r\n${form}`
    expect(statusesIn(await rawExchange(app.url, raw))).toEqual([401])
  })
})

describe('a request with a credential that does not do', () => {
  it('two different ones are 400, and 200 with several: first', async () => {
    await start(ALL)
    const both = [`Authorization: Bearer ${OTHER}`, `X-API-Key: ${JWT}`]
    expect((await ask('/a', both)).status).toBe(400)
    expect((await ask('/a', [`Cookie: session=${JWT}; session=${OTHER}`])).status).toBe(400)
    expect((await ask('/a', [`X-API-Key: ${JWT}`, `X-API-Key: ${OTHER}`])).status).toBe(400)
    expect((await ask(`/a?access_token=${JWT}&access_token=${OTHER}`)).status).toBe(400)
    expect(seen).toEqual([])
    await app.reload(text(`${ALL}, several: first`))
    expect(userOf(await ask('/a', both))).toBe('bob')
    expect((await ask('/a', [`Cookie: session=${JWT}; session=${OTHER}`])).status).toBe(400)
  })

  it('a bad one is 401, although another source, or an address, would do', async () => {
    await start(`${ALL}, anonymous: {}`)
    for (const fields of [
      ['X-API-Key: nonsense'],
      ['Authorization: Token'],
      ['Cookie: session=gw_no'],
      ['Authorization: Bearer a,b'],
    ])
      expect((await ask('/a', fields)).status, fields[0]).toBe(401)
    expect((await ask('/a', ['Authorization: Basic YTpi'])).status).toBe(200)
  })

  it('a bad one is 401 also with no place but Bearer, whoever else is let in', async () => {
    await start('anonymous: {}, trusted: { user: X-User }', PROXY)
    expect((await ask('/a', ['Authorization: Bearer nonsense'])).status).toBe(401)
    expect((await ask('/a', ['Authorization: Bearer a,b', 'X-User: alice'])).status).toBe(401)
    expect((await ask('/a', ['Authorization: Basic YTpi'])).status).toBe(200)
  })

  it('a 401 names each scheme that is accepted, once', async () => {
    await start(ALL)
    expect(challenge(await ask('/a'))).toBe(
      'Bearer realm="tollgate", ApiKey realm="tollgate", header="X-API-Key", Token realm="tollgate"',
    )
    const invalid = challenge(await ask('/a', [`X-API-Key: ${JWT}x`]))
    expect(invalid).toContain('Bearer realm="tollgate", error="invalid_token"')
    expect(invalid).toContain(', Token realm="tollgate"')
    await app.reload(text('from: [{ header: Authorization, scheme: Token }]'))
    expect(challenge(await ask('/a'))).toBe('Token realm="tollgate"')
  })
})

describe('a cookie is a credential for pages of the own host only', () => {
  const cookie = `Cookie: session=${JWT}`
  it.each([
    ['no page at all', 'POST', [], 200],
    ['a page of the own host', 'POST', ['Origin: https://API.test'], 200],
    ['a page that only reads', 'GET', ['Origin: https://evil.test'], 200],
    ['a page of another host', 'POST', ['Origin: https://evil.test'], 401],
    ['a page of a host that begins alike', 'DELETE', ['Origin: https://api.test.evil.test'], 401],
    ['a page of another port', 'POST', ['Origin: https://api.test:8443'], 401],
    ['a page without an origin', 'POST', ['Origin: null'], 401],
    ['a host that only the client says', 'POST', ['Origin: https://evil.test', 'X-Forwarded-Host: evil.test'], 401],
  ])('%s', async (_what, method, fields, status) => {
    await start(ALL)
    expect((await ask('/a', [cookie, ...fields], method)).status).toBe(status)
    expect((await ask('/a', [`X-API-Key: ${JWT}`, ...fields], method)).status).toBe(200)
  })

  it('a cookie is a credential for pages of the own host only behind a trusted proxy the host that it reports', async () => {
    await start(ALL, PROXY)
    const page = [cookie, 'Origin: https://app.test']
    expect((await ask('/a', [...page, 'X-Forwarded-Host: app.test'], 'POST')).status).toBe(200)
    expect((await ask('/a', [...page, 'Forwarded: for=1.1.1.1;host="app.test"'], 'POST')).status).toBe(200)
    expect((await ask('/a', [...page, 'Forwarded: host=app.test', 'X-Forwarded-For: 1.1.1.1'], 'POST')).status).toBe(
      401,
    )
  })
})

describe('keys that only the upstream can check', () => {
  it('each is a user of its own, is forwarded, and stands nowhere else', async () => {
    await start('unverified_keys: { header: X-API-Key }')
    const one = await ask('/a', ['X-API-Key: the-key'])
    expect([one.status, userOf(one)]).toEqual([200, undefined])
    expect(one.sent).toContain('X-API-Key: the-key')
    await ask('/a', ['X-API-Key: another'])
    await ask('/a', ['X-API-Key: the-key'])
    const [a, b, c] = charged()
    expect(a).toMatch(/^key:[\w-]{43}$/)
    expect([a === b, a === c]).toEqual([false, true])
    expect(JSON.stringify(app.observations)).not.toContain('the-key')
    expect(app.requests()[0]?.kind).toBe('unverified_key')
  })

  it('a JWT that nobody verified is the user whom its claim names, while nobody is refused', async () => {
    const watched = text('unverified_keys: { header: Authorization, scheme: Token, user_claim: sub }')
    app = await startApp(watched.replace('quota: {', 'quota: { shadow: true,'))
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const key of [
      `${part({ alg: 'none' })}.${part({ sub: 'ann' })}.x`,
      `${part({ alg: 'ES256' })}.${part({ sub: 'ann', exp: 1 })}.y`,
      `${part({ alg: 'ES256' })}.${part({ sub: 42 })}.`,
      `${part({ alg: 'ES256' })}.${part({ sub: ['ann'] })}.x`,
      `${part({ alg: 'ES256' })}.${part({ name: 'ann' })}.x`,
      `${part({ alg: 'ES256' })}.${part({ sub: 'a'.repeat(250) })}.x`,
      'the-key',
    ]) {
      expect((await ask('/a', [`Authorization: Token ${key}`])).status).toBe(200)
    }
    const hash = expect.stringMatching(/^key:[\w-]{43}$/) as string
    expect(charged()).toEqual(['key:jwt:ann', 'key:jwt:ann', 'key:jwt:42', hash, hash, hash, hash])
    expect(app.requests().map(({ kind }) => kind)).toEqual(Array.from({ length: 7 }, () => 'unverified_key'))

    // Once the quota refuses at run time, anybody could use up the limits of ann.
    const { status } = await fetch(`${app.admin}/api/quota`, {
      method: 'PATCH',
      headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
      body: JSON.stringify({ shadow: false }),
    })
    expect(status).toBe(200)
    await ask('/a', [`Authorization: Token ${part({ alg: 'none' })}.${part({ sub: 'ann' })}.x`])
    expect(charged().at(-1)).toEqual(hash)
  })

  it('a scheme beside Bearer is forwarded, and Bearer is not', async () => {
    await start('unverified_keys: { header: Authorization, scheme: Basic }')
    expect((await ask('/a', ['Authorization: Basic YTpi'])).sent).toContain('Authorization: Basic YTpi')
    expect((await ask('/a', [`Authorization: Bearer ${JWT}`])).sent).not.toContain('Authorization')
    expect((await ask('/pub/a', [`Authorization: Bearer ${JWT}`])).sent).not.toContain('Authorization')
    expect(challenge(await ask('/a'))).toBe('Bearer realm="tollgate", Basic realm="tollgate"')
  })

  it.each([
    ['{ header: X-API-Key }', 'X-API-Key: k1', ['X-API-Key: \xa0k1', 'X-API-Key: k1\x85', 'X-API-Key: k  1']],
    [
      '{ header: Authorization, scheme: Token }',
      'Authorization: Token k1',
      ['Authorization: Token \tk1', 'Authorization: Token k1 x'],
    ],
    [
      '{ header: Authorization, scheme: Basic }',
      'Authorization: Basic YTo=',
      ['Authorization: Basic YTo', 'Authorization: Basic YTp=', 'Authorization: Basic YTo=.', 'Authorization: Basic'],
    ],
    ['{ cookie: sid }', 'Cookie: sid=k1', ['Cookie: sid=k1%A0', 'Cookie: sid=%20k1', 'Cookie: sid=k1%C2%85']],
    ['{ query: key }', '?key=k1', ['?key=k1%20', '?key=%C2%A0k1', '?key=%C5%81']],
  ])('another spelling of one is no other user: %s', async (source, plain, others) => {
    await start(`unverified_keys: ${source}`)
    const by = (key: string) => (key.startsWith('?') ? ask(`/a${key}`) : ask('/a', [key]))
    expect((await by(plain)).status).toBe(200)
    for (const other of others) expect([other, (await by(other)).status]).toEqual([other, 401])
  })

  it('a cookie is one key however it is escaped', async () => {
    await start('unverified_keys: { cookie: sid }')
    for (const spelt of ['k1', '%6B1', '"k%31"']) await ask('/a', [`Cookie: sid=${spelt}`])
    expect(new Set(charged()).size).toBe(1)
  })

  it.each([
    ['{ query: key }', ['?key=r1&key=', '?KEY=r1', '?key=r1;x', '?key=r1;key=k1', '?x;key=k1', '?a&key[]=k1', '?key=']],
    [
      '{ query: api_key }',
      [
        '?api_key=r1&api.key=REAL',
        '?api_key=r1&api%20key=REAL',
        '?api_key=r7;api_key=REAL',
        '?api_key[]=r1&api_key=r2',
      ],
    ],
    [
      '{ cookie: sid }',
      ['Cookie: sid="\\153\\061"', 'Cookie: sid=r1; SID=k1', 'Cookie: sid=; sid=k1', 'Cookie: sid=k,1'],
    ],
    ['{ cookie: sid }', ['Cookie: sid=a\\142c', 'Cookie: sid="a,b"', 'Cookie: sid=a b', 'Cookie: sid="abc']],
    [
      '{ cookie: sess_id }',
      ['Cookie: sess.id=REAL; sess_id=r1', 'Cookie: sess_id=r1; sess[id=REAL', 'Cookie: SESS_ID=REAL; sess_id=r1'],
    ],
    ['{ header: X-API-Key }', ['X-API-Key: r1\r\nX-API-Key: k1', 'X-API-Key: k1\r\nX-API-Key:']],
  ])('what a service could read as another key is 400, also where none is needed: %s', async (source, others) => {
    await start(`unverified_keys: ${source}, anonymous: {}`)
    for (const other of others) {
      const asked = other.startsWith('?') ? await ask(`/a${other}`) : await ask('/a', [other])
      expect([other, asked.status]).toEqual([other, other === '?key=' ? 200 : 400])
    }
    expect(charged().filter((user) => user !== null)).toEqual(others.includes('?key=') ? ['address:127.0.0.1'] : [])
  })

  it('one in a cookie is none for a page of another host', async () => {
    await start('unverified_keys: { cookie: sid }')
    const page = (origin: string) => ask('/a', ['Cookie: sid=k1', `Origin: ${origin}`], 'POST')
    expect([(await page('https://evil.test')).status, (await page('https://api.test')).status]).toEqual([401, 200])
  })

  it('a user whom a credential calls like a key is refused', async () => {
    await start('unverified_keys: { header: X-API-Key }')
    await ask('/a', ['X-API-Key: the-key'])
    const [user] = charged()
    expect((await ask('/a', [`Authorization: Bearer ${jwtOf(user ?? '')}`])).status).toBe(401)
    expect((await ask('/a', [`Authorization: Bearer ${jwtOf('keys:1')}`])).status).toBe(200)
  })
})

describe('callers whom a trusted proxy names', () => {
  const trusted = 'trusted: { user: X-Forwarded-User, organisation: X-Org }'
  it('callers whom a trusted proxy names are its users, in UTF-8, and its fields pass on', async () => {
    await start(trusted, PROXY)
    const asked = await ask('/a', ['X-Forwarded-User: j\u00f6rg', 'X-Org: acme'])
    expect(userOf(asked)).toBe('j%C3%B6rg')
    expect(asked.sent).toContain('X-Org: acme')
    expect(app.requests()[0]).toMatchObject({ user: 'j\u00f6rg', kind: 'trusted' })
  })

  it.each([
    ['a list', ['X-Forwarded-User: alice, bob'], 400],
    ['two lines', ['X-Forwarded-User: alice', 'X-Forwarded-User: alice'], 400],
    ['a list of organisations', ['X-Forwarded-User: alice', 'X-Org: a,b'], 400],
    ['nothing', ['X-Forwarded-User:'], 401],
    ['no id', ['X-Forwarded-User: ..'], 401],
  ])('a caller whom a trusted proxy names by %s is refused', async (_what, fields, status) => {
    await start(trusted, PROXY)
    expect((await ask('/a', fields)).status).toBe(status)
  })

  const percent = 'trusted: { user: X-Forwarded-User, organisation: X-Org, encoding: percent }'
  it('callers whom a trusted proxy names are read percent-encoded where the proxy writes them so, and the upstream gets what it wrote', async () => {
    await start(percent, PROXY)
    const asked = await ask('/a', ['X-Forwarded-User: J%C3%BCrgen', 'X-Org: a%20b'])
    expect([userOf(asked), asked.sent]).toEqual(['J%C3%BCrgen', expect.stringContaining('X-Org: a%20b')])
    expect(asked.sent).toContain('X-Forwarded-User: J%C3%BCrgen')
    await ask('/a', ['X-Forwarded-User: %4A%c3%bcrgen'])
    expect(charged()).toEqual(['J\u00fcrgen', 'J\u00fcrgen'])
    const jwt = `Authorization: Bearer ${jwtOf('J\u00fcrgen')}`
    expect((await ask('/a', [jwt, 'X-Forwarded-User: J%C3%BCrgen'])).sent).toContain('X-Forwarded-User: J%C3%BCrgen')
    expect((await ask('/a', [jwt, 'X-Forwarded-User: J%C3%BCrg'])).sent).not.toContain('X-Forwarded-User')
  })

  it.each(['%00', 'a%00b', 'a%0Ab', 'J%25C3%25BCrgen', '%C0%AF', '%FC', '100%', '%2E%2e', 'a%7F', '%61'.repeat(257)])(
    'percent-encoded %s names nobody',
    async (value) => {
      await start(percent, PROXY)
      for (const field of [`X-Forwarded-User: ${value}`, `X-Forwarded-User: alice\r\nX-Org: ${value}`]) {
        const asked = await ask('/a', [field])
        expect([asked.status, asked.sent]).toEqual([401, ''])
      }
      expect(charged()).toEqual([null, null])
    },
  )

  it('bytes that are no UTF-8 are refused', async () => {
    await start(trusted, PROXY)
    const raw = Buffer.from(
      'GET /a HTTP/1.1\r\nHost: a\r\nX-Forwarded-User: j\u00f6rg\r\nConnection: close\r\n\r\n',
      'latin1',
    )
    expect(statusesIn(await rawExchange(app.url, raw))).toEqual([401])
  })

  it('callers whom a trusted proxy names are charged by that name, whatever key they add: nobody has a new user by a key that is made up', async () => {
    await start(`${trusted}, unverified_keys: { header: X-API-Key }`, PROXY)
    for (const key of ['r1', 'r2']) await ask('/a', ['X-Forwarded-User: bob', `X-API-Key: ${key}`])
    expect(charged()).toEqual(['bob', 'bob'])
    expect((await ask('/a', ['X-Forwarded-User: a, b', 'X-API-Key: r1'])).status).toBe(400)
    await ask('/a', ['X-Forwarded-User:', 'X-API-Key: r1'])
    expect(charged().at(-1)).toMatch(/^key:/)
  })

  it('callers whom a trusted proxy names are not those of another credential: the upstream is told of the one whom the request was charged to', async () => {
    await start('trusted: { user: X-Forwarded-User, organisation: X-Org, plan: X-Plan }', PROXY)
    const two = await ask('/a', [
      `Authorization: Bearer ${JWT}`,
      'X-Forwarded-User: bob',
      'X-Org: acme',
      'X-Plan: gold',
    ])
    expect([userOf(two), /bob|acme|gold/.test(two.sent)]).toEqual(['alice', false])
    const one = await ask('/a', [`Authorization: Bearer ${jwtOf('j\u00f6rg')}`, 'X-Forwarded-User: j\u00f6rg'])
    expect([userOf(one), /^X-Forwarded-User: j/m.test(one.sent)]).toEqual(['j%C3%B6rg', true])
    const open = await ask('/pub/a', [`Authorization: Bearer ${JWT}`, 'X-Forwarded-User: bob'])
    expect(open.sent).toContain('X-Forwarded-User: bob')
  })

  it('callers whom a trusted proxy names of anybody else the fields are nothing, and are dropped, also on a public rule', async () => {
    await start(trusted, 'edge: { trusted_proxies: [10.0.0.0/8] }')
    const fields = ['X-Forwarded-User: alice', 'X-Org: acme']
    expect((await ask('/a', fields)).status).toBe(401)
    expect((await ask('/pub/a', fields)).sent).not.toMatch(/alice|acme/)
    const own = await ask('/a', [`Authorization: Bearer ${OTHER}`, ...fields])
    expect([userOf(own), /alice|acme/.test(own.sent)]).toEqual(['bob', false])
  })

  it('callers whom a trusted proxy names of anybody else the log says why they are nothing, in shadow too', async () => {
    const strange = 'no credential: edge.trusted_proxies does not have the peer that sent the field of auth.trusted'
    await start(trusted, 'edge: { trusted_proxies: [10.0.0.0/8] }')
    const { head, status } = await ask('/a', ['X-Forwarded-User: alice'])
    expect([status, head]).toEqual([401, expect.not.stringContaining('trusted')])
    await ask('/a')
    expect(reasons()).toEqual([strange, 'no credential'])
    await app.stop()
    await start(`${trusted}, shadow: true`, 'edge: { trusted_proxies: [10.0.0.0/8] }')
    await ask('/a', ['X-Forwarded-User: alice'])
    expect(app.requests()[0]).toMatchObject({ user: 'address:127.0.0.1', kind: 'address', letIn: strange })
    expect(await (await fetch(`${app.admin}/metrics`)).text()).toContain(
      'tollgate_auth_shadow_total{reason="missing"} 1\n',
    )
  })
})

describe('callers without a credential', () => {
  it('callers without a credential are users of their address on every charged rule but those that refuse them, and see their quota', async () => {
    await start('anonymous: {}')
    const asked = await ask('/a')
    expect([asked.status, userOf(asked)]).toEqual([200, undefined])
    expect((await ask('/known')).status).toBe(401)
    const quota = await fetch(`${app.url}/me/quota`)
    expect(((await quota.json()) as { windows: { read: { used: number }[] } }).windows.read[0]?.used).toBe(1)
    expect(app.requests()[0]).toMatchObject({ user: 'address:127.0.0.1', kind: 'address' })
  })

  it('callers without a credential without auth.anonymous only the rules that say so let them in', async () => {
    await start('gateway_tokens: true')
    expect([(await ask('/a')).status, (await ask('/open')).status]).toEqual([401, 200])
    expect((await fetch(`${app.url}/me/quota`)).status).toBe(200)
  })

  it('callers without a credential cannot send X-Tollgate-User along', async () => {
    await start('anonymous: {}')
    expect((await ask('/a', ['X-Tollgate-User: admin'])).sent).not.toContain('admin')
  })

  it('X-Forwarded-For counts of a trusted proxy only, and there its last untrusted element', async () => {
    await start('anonymous: { ipv4: 24, ipv6: 48 }')
    await ask('/a', ['X-Forwarded-For: 9.9.9.9'])
    await app.reload(text('anonymous: { ipv4: 24, ipv6: 48 }', PROXY))
    await ask('/a', ['X-Forwarded-For: 9.9.9.9, 198.51.100.7'])
    await ask('/a', ['X-Forwarded-For: 2001:db8:1:2::3'])
    await ask('/a', ['X-Forwarded-For: ::ffff:c633:6407'])
    await ask('/a')
    expect(charged()).toEqual([
      'address:127.0.0.0/24',
      'address:198.51.100.0/24',
      'address:2001:db8:1::/48',
      'address:198.51.100.0/24',
      'address:127.0.0.0/24',
    ])
  })

  it('Forwarded of a trusted proxy counts where there is no X-Forwarded-For, and the upstream is told one story', async () => {
    await start('anonymous: {}', PROXY)
    const forwarded = 'Forwarded: for=1.1.1.1;host=app.test;proto=https, for="[2001:db8::7]:1", for=127.0.0.3'
    const { sent } = await ask('/a', [forwarded])
    expect(sent).toContain(forwarded)
    expect(sent).toContain('X-Forwarded-For: 1.1.1.1, [2001:db8::7]:1, 127.0.0.3, 127.0.0.1\r\n')
    expect(sent).toContain('X-Forwarded-Proto: https\r\nX-Forwarded-Host: app.test\r\n')
    const both = await ask('/a', [forwarded, 'X-Forwarded-For: 198.51.100.7'])
    expect(both.sent).toContain(
      'X-Forwarded-For: 198.51.100.7, 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: api.test\r\n',
    )
    await app.reload(text('anonymous: {}'))
    const stranger = await ask('/a', [forwarded])
    expect(stranger.sent).toContain('X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\n')
    expect(charged()).toEqual(['address:2001:db8::/64', 'address:198.51.100.7', 'address:127.0.0.1'])
  })

  it('no verified user has the id of an address', async () => {
    await start(`anonymous: {}, trusted: { user: X-User }`, PROXY)
    expect((await ask('/a', [`Authorization: Bearer ${jwtOf('address:127.0.0.1')}`])).status).toBe(401)
    expect((await ask('/a', ['X-User: address:127.0.0.1'])).status).toBe(401)
    expect((await ask('/a', ['X-User: addressee'])).status).toBe(200)
    expect(reasons()[0]).toBe('the user id begins as that of a user of another kind')
  })
})

const api = async (path: string, init: { method?: string; body?: string } = {}) => {
  const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
  const response = await fetch(`${app.admin}/api/${path}`, { ...init, headers })
  return { status: response.status, body: response.status === 204 ? null : ((await response.json()) as Json) }
}
type Json = Record<string, unknown>

it.each([
  ['an address', 'anonymous: {}', [], 'address:2001:db8::/64'],
  ['a key', 'unverified_keys: { header: X-Key }', ['X-Key: k'], 'key:'],
  ['somebody whom a proxy names', 'trusted: { user: X-User }', ['X-User: a/b c'], 'a/b c'],
])(
  'an administrator sees, explains and blocks %s as any user, who reads its own quota',
  async (_what, auth, fields, begins) => {
    await start(auth, PROXY)
    const all = [...fields, 'X-Forwarded-For: 2001:db8::1']
    expect((await ask('/a', all)).status).toBe(200)
    const user = charged()[0] ?? ''
    expect(user.startsWith(begins)).toBe(true)
    expect((await ask('/me/quota', all)).status).toBe(200)
    const id = encodeURIComponent(user)
    expect((await api(`users/${id}`)).body).toMatchObject({ user })
    expect((await api(`explain?user=${id}&method=GET&path=/a`)).body).toMatchObject({ user, decision: 'accept' })
    const block = { read: { '1h': 0 }, reason: 'test' }
    expect((await api(`users/${id}/override`, { method: 'PUT', body: JSON.stringify(block) })).status).toBeLessThan(300)
    expect((await ask('/a', all)).status).toBe(429)
    expect((await api(`explain?user=${id}&method=GET&path=/a`)).body).toMatchObject({ decision: 'refuse' })
  },
)

describe('with auth.shadow and quota.shadow', () => {
  const shadow = `${ALL}, unverified_keys: { header: X-Key }, shadow: true`
  const withQuota = (yaml: string) => yaml.replace('quota: {', 'quota: { shadow: true,').replace('1h: 100 ', '1h: 5 ')

  it('nobody of 200 who bring anything is refused, and each is told', async () => {
    app = await startApp(withQuota(text(shadow)))
    const bring = [
      () => [],
      () => ['Authorization: Bearer nonsense'],
      () => ['Authorization: Bearer'],
      () => ['Authorization: Basic YTpi'],
      () => [`X-API-Key: ${JWT}`, `Authorization: Bearer ${OTHER}`],
      () => [`X-API-Key: ${'k'.repeat(9000)}`],
      () => [`Cookie: session=${Math.random()}; session=${Math.random()}`],
      () => [`Cookie: session=${JWT}`, 'Origin: https://evil.test'],
      () => [`Authorization: Bearer ${jwtOf(`user ${Math.random()}`)}`],
      () => [`Authorization: Bearer ${jwtOf('x', { exp: 1 })}`],
      () => [`Authorization: Token gw_${Math.random()}`],
      () => [`X-Key: ${Math.random()}`],
    ]
    for (let i = 0; i < 200; i++) {
      const fields = bring[Math.floor(Math.random() * bring.length)]?.() ?? []
      expect((await ask(`/a?i=${i}`, fields, i % 2 ? 'POST' : 'GET')).status, String(fields)).toBe(200)
    }
    const all = app.requests()
    const letIn = all.filter((done) => done.letIn !== null)
    expect(all).toHaveLength(200)
    expect(letIn.every(({ user, kind }) => user === 'address:127.0.0.1' && kind === 'address')).toBe(true)
    expect(letIn.length).toBeGreaterThan(100)
    expect(app.observations.filter((o) => o.type === 'caller_let_in')).toHaveLength(letIn.length)
  }, 120_000)

  it('a credential that was not taken is forwarded, and one that was taken is not', async () => {
    await start(shadow)
    const { sent } = await ask('/a?access_token=theirs', ['Authorization: Bearer nonsense'])
    expect(sent).toContain('access_token=theirs')
    expect(sent).toContain('Authorization: Bearer nonsense')
    expect((await ask('/a', [`Authorization: Bearer ${JWT}`])).sent).not.toContain(JWT)
  })

  it('the reasons are few', async () => {
    await start(shadow)
    await ask('/a')
    await ask('/a', ['Authorization: Bearer nonsense'])
    await ask('/a', [`X-API-Key: ${JWT}`, `Authorization: Bearer ${OTHER}`])
    const why = app.observations.flatMap((o) => (o.type === 'caller_let_in' ? o.why : []))
    expect(why).toEqual(['missing', 'invalid', 'ambiguous'])
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    expect(metrics).toContain('tollgate_auth_shadow_total{reason="missing"} 1')
  })
})
