import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sessionCookie } from '../../src/admin/session-cookie.ts'
import { nameProblem } from '../../src/config/headers.ts'
import { ADMIN_SESSION } from '../../src/control/admin-session.ts'
import { encodeFact, type Origin } from '../../src/forward/client-info.ts'
import { headerRules } from '../../src/forward/field-fates.ts'
import { fieldsOf, headersToClient, outgoingHead, responseTrailers } from '../../src/forward/headers.ts'
import { assertNoSurprises, callerNamed } from './support.ts'

assertNoSurprises()

const CALLER: Origin = {
  peer: '192.0.2.7',
  encrypted: false,
  httpVersion: '1.1',
  caller: callerNamed('alice'),
  requestId: 'req-1',
  method: 'GET',
}
const STRANGER: Origin = { ...CALLER, peer: '192.0.2.8' }
const PLAIN = headerRules({ headers: {}, passAuthorization: false })
const TRUSTING = headerRules({ headers: {}, passAuthorization: false, trustedProxies: (a) => a === '192.0.2.7' })

const IDENTITY = ['X-Remote-User', 'X-Tenant', 'X-Plan', 'X-User-Email', 'X-Made-Up', 'X-Forwarded-User']
const NAMING = headerRules({
  headers: {},
  passAuthorization: false,
  trustedProxies: (a) => a === '192.0.2.7',
  identity: new Map([
    ['X-Remote-User', { kind: 'user' }],
    ['X-Tenant', { kind: 'organisation' }],
    ['X-Plan', { kind: 'plan' }],
    ['X-User-Email', { kind: 'claim', path: 'email' }],
    // Every object has something of this name.
    ['X-Made-Up', { kind: 'claim', path: 'constructor' }],
    ['X-Forwarded-User', { kind: 'user' }],
  ]),
})

it('a request on its way to the upstream keeps names, values, order and repetition of ordinary fields', () => {
  const raw = ['Accept', 'a', 'X-Custom', '1', 'accept', 'b', 'Cookie', 'c=1', 'X-Custom', '2']
  expect(outgoingHead(raw, CALLER, PLAIN).headers.slice(0, raw.length)).toEqual(raw)
})

it.each([
  ['tollgate_session=a.1.b', undefined],
  ['__Host-tollgate_session=a.1.b; theme=dark', ['theme=dark']],
  ['tollgate_session=a.1.b; theme=dark', ['theme=dark']],
  ['theme=dark; tollgate_session=a.1.b;tollgate_session=c; x=1', ['theme=dark; x=1']],
  ['my_tollgate_session=1; x=tollgate_session=2', ['my_tollgate_session=1; x=tollgate_session=2']],
])(
  'a request on its way to the upstream never carries the session of an administrator, which browsers send to every port of a host: %s',
  (sent, kept) => {
    expect(groupedFields(['Cookie', sent]).cookie).toEqual(kept)
  },
)

it('a request on its way to the upstream takes it out by the name under which the dashboard sets it', () => {
  const token = { name: 'a', role: 'admin', token: 'a-token-of-the-tests' } as const
  expect(sessionCookie(token, 1, false).startsWith(`${ADMIN_SESSION}=`)).toBe(true)
})

it('a request on its way to the upstream loses the fields of its own connection and those that Connection names', () => {
  const raw = [
    'Connection',
    'close, X-Secret ,  te',
    'x-secret',
    '1',
    'Keep-Alive',
    '5',
    'Proxy-Connection',
    'a',
    'Upgrade',
    'h2c',
  ]
  raw.push(
    'HTTP2-Settings',
    'AA',
    'Trailer',
    'x',
    'Proxy-Authorization',
    'Basic x',
    'Expect',
    '100-continue',
    'X-Kept',
    '1',
  )
  expect(groupedFields(raw)).toMatchObject({ 'x-kept': ['1'] })
  const names = Object.keys(groupedFields(raw))
  for (const gone of ['connection', 'x-secret', 'keep-alive', 'upgrade', 'http2-settings', 'trailer', 'expect']) {
    expect(names).not.toContain(gone)
  }
  expect(names.filter((name) => name.startsWith('proxy-'))).toEqual([])
})

it('a request on its way to the upstream cannot have our own fields taken off by naming them in Connection', () => {
  const fields = groupedFields(['Connection', 'x-tollgate-user, x-forwarded-for, x-request-id'])
  expect(fields).toMatchObject({
    'x-tollgate-user': ['alice'],
    'x-forwarded-for': ['192.0.2.7'],
    'x-request-id': ['req-1'],
  })
})

it.each([
  'X-Forwarded-For',
  'X-Forwarded-Prefix',
  'Forwarded',
  'X-Real-IP',
  'True-Client-IP',
  'Client-IP',
  'X-Forwarded',
  'Forwarded-For',
  'WL-Proxy-Client-IP',
  'X-Envoy-External-Address',
  'X-Scheme',
  'X-Url-Scheme',
  'Front-End-Https',
  'CloudFront-Forwarded-Proto',
  'X-Real-Port',
  'Client-Cert',
  'X-SSL-Client-Verify',
  'SSL-Client-Subject-DN',
  'X-Original-URL',
  'X-Original-Path',
  'X-Envoy-Original-Path',
  'X-Override-URL',
  'X-Rewrite-URL',
  'X-HTTP-Method-Override',
  'X-HTTP-Method',
  'X-Method-Override',
  'X-Tollgate-User',
  'X-Tollgate-Anything',
  'X-Request-Id',
  'X_Tollgate_User',
  'Content_Length',
  'Proxy',
  'Authorization',
])('a request on its way to the upstream does not carry the client’s %s', (name) => {
  expect(Object.values(groupedFields([name, 'forged'])).flat()).not.toContain('forged')
})

it('a request on its way to the upstream carries the Authorization only where that is configured', () => {
  const passing = headerRules({ headers: {}, passAuthorization: true })
  expect(outgoingHead(['Authorization', 'Bearer t'], CALLER, passing).headers).toContain('Bearer t')
})

it('a request on its way to the upstream gets fixed fields that the client cannot set', () => {
  const headers = { 'X-Backend-Secret': 's3cret', Cookie: 'key=s3cret' }
  const rules = headerRules({ headers, passAuthorization: true })
  const head = outgoingHead(['x-backend-secret', 'forged', 'cookie', 'key=forged'], CALLER, rules)
  expect(grouped(head.headers)).toMatchObject({ 'x-backend-secret': ['s3cret'], cookie: ['key=s3cret'] })
})

it('a request on its way to the upstream gets no fixed field that a head cannot hold', () => {
  expect(() => headerRules({ headers: { 'X-Bad': 'a\u0000b' }, passAuthorization: false })).toThrow(TypeError)
  expect(() => headerRules({ headers: { 'X-Bad': 'a\r\nX-B: c' }, passAuthorization: false })).toThrow(TypeError)
  expect(() => headerRules({ headers: { 'X Bad': 'a' }, passAuthorization: false })).toThrow()
})

it('a request on its way to the upstream names the caller in the fields of the configuration, percent-encoded where it is not plain ASCII', () => {
  const caller = {
    user: 'zoë',
    organisation: 'acme inc',
    plan: null,
    claims: { email: 'z@example.org', 'app.id': '7' },
  }
  const head = outgoingHead([], { ...CALLER, caller }, NAMING).headers
  expect(grouped(head)).toMatchObject({
    'x-tollgate-user': ['zo%C3%AB'],
    'x-remote-user': ['zo%C3%AB'],
    'x-tenant': ['acme%20inc'],
    'x-user-email': ['z@example.org'],
  })
  expect(head).toContain('X-Remote-User')
  expect(Object.keys(grouped(head))).not.toContain('x-plan')
  expect(Object.keys(grouped(head))).not.toContain('x-made-up')
})

it.each(IDENTITY)(
  'a request on its way to the upstream carries no %s of a client, trusted or not, verified or not, however it is spelt',
  (name) => {
    const spellings = [name, name.toLowerCase(), name.toUpperCase(), name.replaceAll('-', '_'), name.replace('-', '_')]
    for (const spelt of spellings)
      for (const peer of [CALLER.peer, STRANGER.peer])
        for (const caller of [null, callerNamed('alice')]) {
          const raw = [spelt, 'forged']
          expect(outgoingHead(raw, { ...CALLER, peer, caller }, NAMING).headers).not.toContain('forged')
          const named = outgoingHead([...raw, 'Connection', name], { ...CALLER, peer, caller }, NAMING).headers
          expect(named).toEqual(outgoingHead([], { ...CALLER, peer, caller }, NAMING).headers)
        }
  },
)

it('a request on its way to the upstream carries nothing that a server of variables takes for a field with underscores of the configuration', () => {
  const identity = new Map([['X_Remote_User', { kind: 'user' }]] as const)
  const rules = headerRules({ headers: {}, passAuthorization: false, identity, removeHeaders: ['X_Debug'] })
  const fields = outgoingHead(['X-Remote-User', 'forged', 'X-Debug', 'forged'], CALLER, rules).headers
  expect(fields).not.toContain('forged')
  expect(fields).toContain('X_Remote_User')
})

it('a request on its way to the upstream loses the fields that are to be removed, those of the gateway too', () => {
  const removeHeaders = ['X-Legacy-Debug', 'via', 'Cookie', 'X-Forwarded-For', 'X-Request-ID']
  const rules = headerRules({ headers: {}, passAuthorization: false, removeHeaders, trustedProxies: () => true })
  const raw = ['x-legacy-debug', '1', 'Via', '1.1 a', 'Cookie', 'a=1', 'X-Forwarded-For', '1.1.1.1', 'X-Kept', '1']
  const fields = grouped(outgoingHead(raw, CALLER, rules).headers)
  expect(Object.keys(fields)).toEqual(['x-kept', 'x-forwarded-proto', 'x-tollgate-user'])
})

it('a request on its way to the upstream says where it came from', () => {
  const fields = groupedFields(['Host', 'shop.example', 'X-Forwarded-For', '1.1.1.1', 'X-Forwarded-Proto', 'https'])
  expect(fields).toMatchObject({
    'x-forwarded-for': ['192.0.2.7'],
    'x-forwarded-proto': ['http'],
    'x-forwarded-host': ['shop.example'],
  })
  expect(fields.host).toBeUndefined()
})

it('a request on its way to the upstream has the Via of the client, and of the gateway only if the configuration asks for it', () => {
  const viaOf = (raw: string[], via?: boolean) =>
    grouped(outgoingHead(raw, CALLER, headerRules({ headers: {}, passAuthorization: false, via })).headers).via
  expect([viaOf([]), viaOf([], true)]).toEqual([undefined, ['1.1 tollgate']])
  expect([viaOf(['Via', '1.0 a']), viaOf(['Via', '1.0 a'], true)]).toEqual([['1.0 a'], ['1.0 a', '1.1 tollgate']])
})

it('a request on its way to the upstream continues the chain of a trusted proxy, and of nobody else', () => {
  const raw = ['Host', 'h', 'X-Forwarded-For', '1.1.1.1', 'X-Forwarded-For', '2.2.2.2', 'X-Forwarded-Proto', 'HTTPS']
  raw.push('X-Forwarded-Host', 'shop.example')
  const trusted = grouped(outgoingHead(raw, CALLER, TRUSTING).headers)
  expect(trusted['x-forwarded-for']).toEqual(['1.1.1.1, 2.2.2.2, 192.0.2.7'])
  expect(trusted['x-forwarded-proto']).toEqual(['https'])
  expect(trusted['x-forwarded-host']).toEqual(['shop.example'])
  const stranger = grouped(outgoingHead(raw, STRANGER, TRUSTING).headers)
  expect(stranger['x-forwarded-for']).toEqual(['192.0.2.8'])
})

it.each([
  ['wss', 'https'],
  ['WSS', 'https'],
  ['ws', 'http'],
  ['https,http', 'https'],
  ['https, https', 'https'],
  ['http, https', 'http'],
  [' https ,', 'https'],
  [', https', 'http'],
  ['gopher', 'http'],
  ['constructor', 'http'],
  ['', 'http'],
])(
  'a request on its way to the upstream has the scheme that a trusted proxy reports as "%s": %s',
  (reported, proto) => {
    const fields = grouped(outgoingHead(['X-Forwarded-Proto', reported], CALLER, TRUSTING).headers)
    expect(fields['x-forwarded-proto']).toEqual([proto])
    const ours = grouped(
      outgoingHead(['X-Forwarded-Proto', reported], { ...STRANGER, encrypted: true }, TRUSTING).headers,
    )
    expect(ours['x-forwarded-proto']).toEqual(['https'])
  },
)

it('a request on its way to the upstream has host, port and prefix as the first of a chain of trusted proxies saw them', () => {
  const raw = ['Host', 'inner', 'X-Forwarded-Host', 'shop.example, middle', 'X-Forwarded-Port', '443, 8080']
  raw.push('X-Forwarded-Prefix', '/shop, /b', 'X-Forwarded-Prefix', '/c', 'x-forwarded-proto', 'https')
  raw.push('X-Forwarded-Proto', 'http')
  const fields = grouped(outgoingHead(raw, CALLER, TRUSTING).headers)
  expect(fields).toMatchObject({
    'x-forwarded-host': ['shop.example'],
    'x-forwarded-port': ['443'],
    'x-forwarded-prefix': ['/shop'],
    'x-forwarded-proto': ['https'],
  })
  const empty = grouped(outgoingHead(['Host', 'inner', 'X-Forwarded-Host', ' , b'], CALLER, TRUSTING).headers)
  expect(empty['x-forwarded-host']).toEqual(['inner'])
})

it.each([
  ['Forwarded', 'for=1.1.1.1;proto=https, for=2.2.2.2'],
  ['X-Real-IP', '1.1.1.1'],
  ['CF-Connecting-IP', '1.1.1.1'],
  ['True-Client-IP', '1.1.1.1'],
  ['X-Forwarded-Client-Cert', 'Hash=a,Hash=b'],
  ['X-Forwarded-User', 'bob'],
  ['X-Forwarded-Access-Token', 't'],
  ['X-Scheme', 'https'],
  ['Front-End-Https', 'on'],
  ['Client-Cert', ':AA==:'],
  ['SSL-Client-Verify', 'SUCCESS'],
])(
  'a request on its way to the upstream has the %s of a trusted proxy as it came, and nobody else’s',
  (name, value) => {
    const raw = [name, value]
    const passed = (caller: Origin) => grouped(outgoingHead(raw, caller, TRUSTING).headers)[name.toLowerCase()]
    expect(passed(CALLER)).toEqual([value])
    expect(passed(STRANGER)).toBeUndefined()
  },
)

it.each([
  'X-Tollgate-User',
  'X-Tollgate-Shadow',
  'X_Forwarded_User',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-HTTP-Method-Override',
  'X-Host',
  'X-Request-Id',
  'Proxy',
  'Authorization',
])(
  'a request on its way to the upstream does not carry the %s of a trusted proxy either, which may be its client’s',
  (name) => {
    expect(outgoingHead([name, 'forged'], CALLER, TRUSTING).headers).not.toContain('forged')
  },
)

it.each([
  ['app.test', '8443', '/api', 'app.test:8443', '/api'],
  ['app.test', '8443, 9000', '/api/, /b', 'app.test:8443', '/api'],
  ['[::1]', '8443', '/a/b', '[::1]:8443', '/a/b'],
  ['app.test:444', '8443', '', 'app.test:444', ''],
  ['app.test', '443', '/', 'app.test', ''],
  ['app.test', '80', '//evil.test', 'app.test', ''],
  ['app.test', '8443@evil.test', 'api', 'app.test', ''],
  ['app.test', '99999', '/a;Domain=example.org;SameSite=None', 'app.test', ''],
  ['app.test', '0443', "/a'", 'app.test', ''],
  ['app.test', '65535', '/a/../b', 'app.test:65535', ''],
  ['app.test', '65536', '/..', 'app.test', ''],
  ['app.test', '1', '/a/.b/c..', 'app.test:1', '/a/.b/c..'],
])(
  'a request on its way to the upstream knows how the client reaches %s with port %s and prefix %s, of a trusted proxy',
  (host, port, prefix, ...known) => {
    const raw = ['X-Forwarded-Host', host, 'X-Forwarded-Port', port, 'X-Forwarded-Prefix', prefix]
    const { authority, prefix: path } = outgoingHead(raw, CALLER, TRUSTING)
    expect([authority, path]).toEqual(known)
    const stranger = outgoingHead(['Host', 'a', ...raw], STRANGER, TRUSTING)
    expect([stranger.authority, stranger.prefix]).toEqual(['a', ''])
  },
)

it('a request on its way to the upstream has a fixed field once, in the place of what a trusted proxy or the gateway says', () => {
  const headers = { 'X-Forwarded-Proto': 'https', 'x-forwarded-port': '443', 'X-Real-IP': 'hidden' }
  const rules = headerRules({ headers, passAuthorization: false, trustedProxies: () => true })
  const raw = ['X-Forwarded-Proto', 'http', 'X-Forwarded-Port', '80', 'X-Real-IP', '1.1.1.1']
  expect(grouped(outgoingHead(raw, CALLER, rules).headers)).toMatchObject({
    'x-forwarded-proto': ['https'],
    'x-forwarded-port': ['443'],
    'x-real-ip': ['hidden'],
  })
})

it('a request on its way to the upstream has each fixed field once, whatever the client sends and the gateway says itself', () => {
  const said = outgoingHead(['Host', 'a', 'TE', 'trailers'], CALLER, PLAIN).headers.filter((_, i) => i % 2 === 0)
  // The configuration takes no fixed field of the other names.
  const names = said.filter((name) => nameProblem(name) === null)
  expect(names).toEqual(expect.arrayContaining(['X-Forwarded-Proto', 'X-Request-Id', 'X-Forwarded-For']))
  for (const name of names) {
    const rules = headerRules({ headers: { [name]: 'fixed' }, passAuthorization: true, trustedProxies: () => true })
    const { headers } = outgoingHead(['Host', 'a', name, 'of-the-client'], CALLER, rules)
    expect(grouped(headers)[name.toLowerCase()], name).toEqual(['fixed'])
  }
})

it('a request on its way to the upstream has the length of its body in canonical digits', () => {
  const lengthOf = (text: string) => outgoingHead(['Content-Length', text], CALLER, PLAIN)
  expect(lengthOf('05')).toMatchObject({ contentLength: '5', hasBody: true })
  expect(lengthOf('000')).toMatchObject({ contentLength: '0', hasBody: false })
  expect(outgoingHead([], CALLER, PLAIN)).toMatchObject({ contentLength: null, hasBody: false })
  expect(outgoingHead(['transfer-encoding', 'chunked'], CALLER, PLAIN).hasBody).toBe(true)
})

it('a request on its way to the upstream asks for trailers only where the client does', () => {
  expect(outgoingHead(['TE', 'gzip, Trailers'], CALLER, PLAIN)).toMatchObject({ takesTrailers: true })
  expect(groupedFields(['TE', 'gzip, trailers']).te).toEqual(['trailers'])
  expect(groupedFields(['TE', 'gzip']).te).toBeUndefined()
})

it('a request on its way to the upstream never carries a forged field, however it is spelt, repeated or nominated', () => {
  const ours = [
    'x-tollgate-user',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'x-request-id',
    'via',
    'x-secret',
  ]
  const rules = headerRules({ headers: { 'X-Secret': 'fixed' }, passAuthorization: false })
  const name = fc.constantFrom(
    ...ours.slice(0, 5),
    'x-secret',
    'authorization',
    'x_tollgate_user',
    'connection',
    'accept',
  )
  const spelt = fc.tuple(name, fc.array(fc.boolean())).map(([text, ups]) => randomCase(text, ups))
  const value = fc.oneof(
    fc.constant('forged'),
    fc.subarray(ours).map((names) => names.join(', ')),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(spelt, value)), (pairs) => {
      const raw = pairs.flat()
      const before = [...raw]
      const fields = grouped(outgoingHead(raw, CALLER, rules).headers)
      expect(raw).toEqual(before)
      expect(fields['x-tollgate-user']).toEqual(['alice'])
      expect(fields['x-forwarded-for']).toEqual(['192.0.2.7'])
      expect(fields['x-request-id']).toEqual(['req-1'])
      expect(fields['x-secret']).toEqual(['fixed'])
      for (const gone of ['authorization', 'connection', 'x_tollgate_user', 'x-forwarded-host'])
        expect(fields[gone]).toBeUndefined()
    }),
  )
})

it('what is remembered of addresses has a bound, whoever comes', () => {
  let asked = 0
  const trustedProxies = (): boolean => ++asked < 0
  const { trusted } = headerRules({ headers: {}, passAuthorization: false, trustedProxies })
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 1000; i++) expect(trusted(`2001:db8::${i}`)).toBe(false)
    expect(asked).toBe(1000)
  }
  trusted('192.0.2.1')
  trusted('2001:db8::0')
  expect(asked).toBe(1002)
})

it('the user id in a field is itself where it is plain ASCII', () => {
  expect(encodeFact('auth0|64:a@b.c')).toBe('auth0|64:a@b.c')
})

it('the user id in a field is percent-encoded otherwise, with the percent sign', () => {
  expect(encodeFact('100%')).toBe('100%25')
  expect(encodeFact('王 a')).toBe('%E7%8E%8B%20a')
  expect(encodeFact('a\r\nX: 1')).toBe('a%0D%0AX:%201')
})

it('the user id in a field always decodes to the same id, and is always a legal value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (user) => {
      expect(encodeFact(user)).toMatch(/^[\x21-\x7e]+$/)
      expect(decodeURIComponent(encodeFact(user))).toBe(user)
    }),
  )
})

const response = (raw: string[], ours: string[] = [], status = 200) => headersToClient(fieldsOf(status, raw), ours)

it('an answer on its way to the client keeps every Set-Cookie, the order, and bytes beyond ASCII', () => {
  const raw = ['Set-Cookie', 'a=1', 'X-A', 'caf\xe9', 'Set-Cookie', 'b=2', 'Set-Cookie', 'a=3']
  expect(response(raw)).toEqual(raw)
})

it('an answer on its way to the client loses the fields of the upstream’s connection and those that Connection names', () => {
  const raw = [
    'Connection',
    'X-Internal, close',
    'X-Internal',
    '1',
    'Keep-Alive',
    'timeout=5',
    'Transfer-Encoding',
    'chunked',
  ]
  raw.push('Upgrade', 'h2c', 'Proxy-Authenticate', 'Basic', 'Trailer', 'X-T', 'ETag', '"1"')
  expect(response(raw)).toEqual(['ETag', '"1"'])
})

it('an answer on its way to the client has the fields of the gateway instead of those of the upstream', () => {
  const raw = ['x-request-id', 'theirs', 'X-Quota-Reset', 'theirs', 'ETag', '"1"']
  const ours = ['X-Request-Id', 'ours', 'RateLimit', '"a";r=1']
  expect(response(raw, ours)).toEqual(['ETag', '"1"', ...ours])
})

it('an answer on its way to the client has the limits of the upstream before those of the gateway, as one list in one line', () => {
  const theirs = ['ratelimit', '"burst";r=3;t=2', 'RateLimit', '', 'ETag', '"1"', 'RATELIMIT', '"day";r=9;t=2']
  theirs.push('RateLimit-Policy', '"burst";q=5;w=2')
  const ours = ['X-Request-Id', 'ours', 'RateLimit-Policy', '"a";q=4;w=60', 'RateLimit', '"a";r=1']
  expect(response(theirs, ours)).toEqual([
    ...['ETag', '"1"', 'X-Request-Id', 'ours', 'RateLimit-Policy', '"burst";q=5;w=2, "a";q=4;w=60'],
    ...['RateLimit', '"burst";r=3;t=2, "day";r=9;t=2, "a";r=1'],
  ])
})

it('an answer on its way to the client keeps the limits of the upstream where the gateway has none', () => {
  const theirs = ['RateLimit', '"burst";r=3;t=2', 'RateLimit-Policy', '"burst";q=5;w=2']
  const ours = ['X-Request-Id', 'ours']
  expect(response(theirs, ours)).toEqual([...theirs, ...ours])
})

it.each(['X-Tollgate-Shadow', 'X-Tollgate-Charged', 'x-tollgate-debug', 'X-Quota-Reset', 'X-Request-Id'])(
  'an answer on its way to the client has no %s of the upstream, also if the gateway sends none: a client takes it for the gateway’s',
  (name) => {
    expect(response([name, 'theirs', 'ETag', '"1"'])).toEqual(['ETag', '"1"'])
  },
)

it('an answer on its way to the client keeps the Retry-After of the upstream', () => {
  expect(response(['Retry-After', '5'], ['X-Request-Id', 'ours'], 503)).toEqual([
    'Retry-After',
    '5',
    'X-Request-Id',
    'ours',
  ])
})

it('an answer on its way to the client has no length on a 204, and keeps it on a 304', () => {
  expect(response(['Content-Length', '5'], [], 204)).toEqual([])
  expect(response(['Content-Length', '5'], [], 304)).toEqual(['Content-Length', '5'])
})

it('an answer on its way to the client has no trailer that belongs into the head, or is ours', () => {
  const raw = ['Set-Cookie', 'a=1', 'Content-Length', '5', 'Authorization', 'x', 'X-Checksum', 'abc', 'Host', 'evil']
  raw.push(
    'X-Request-Id',
    'theirs',
    'RateLimit',
    'theirs',
    'X-RateLimit-Remaining',
    'theirs',
    'X-Tollgate-Charged',
    'theirs',
    'X-Forwarded-For',
    '1',
    'X_Y',
    '1',
    'Transfer-Encoding',
    'chunked',
    'Server-Timing',
    'db;dur=1',
  )
  expect(responseTrailers(raw)).toEqual([
    ['X-Checksum', 'abc'],
    ['Server-Timing', 'db;dur=1'],
  ])
})

function groupedFields(raw: string[]): Record<string, string[]> {
  return grouped(outgoingHead(raw, CALLER, PLAIN).headers)
}

function grouped(raw: readonly string[]): Record<string, string[]> {
  const fields: Record<string, string[]> = {}
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    fields[name] = [...(fields[name] ?? []), raw[i + 1] as string]
  }
  return fields
}

function randomCase(text: string, ups: boolean[]): string {
  return [...text].map((c, i) => (ups[i] ? c.toUpperCase() : c)).join('')
}
