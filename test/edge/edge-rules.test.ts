import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { isCharged } from '../observe/settled.ts'
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts'

/**
 * Everything that the edge refuses, sent to the whole gateway with a good credential, a bad one and none. It makes no
 * difference: nobody has looked at it, nothing is charged, and not a byte reaches the upstream.
 */
const CREDENTIALS: readonly (readonly [string, string])[] = [
  ['a good credential', `Authorization: Bearer ${jwtOf('alice')}\r\n`],
  ['a bad credential', `Authorization: Bearer ${jwtOf('alice').slice(0, -8)}AAAAAAAA\r\n`],
  ['none', ''],
]

let upstream: RawUpstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startRawUpstream()
  app = await startApp(config())
})
beforeEach(() => {
  app.observations.length = 0
  upstream.lines.length = 0
  upstream.received.length = 0
})

function config(): string {
  return yaml(
    upstream.url,
    `
quota: { baselines: { personal: { read: { 1h: 1000000 } }, global: { read: { 1h: 1000000 } } } }
routes: [{ match: "* /api/*", category: read, cost: 3 }]
unmatched: forward`,
  )
}

const SMUGGLED = 'GET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
const EMPTY_CHUNKS = '0\r\n\r\n'
const fields = (count: number): string => Array.from({ length: count }, (_, i) => `h${i}: 1\r\n`).join('')
const many = fields(2100)

/** Hosts with a colon that leads to no port. */
const PORTS = ['[::1', '::1', 'a:b', 'a:80:80', 'a:123456']

/** `§` stands for the credential. */
const get = (more: string): string => `GET /api/x HTTP/1.1\r\nHost: a\r\n§${more}\r\n`
const post = (more: string, body = ''): string => `POST /api/x HTTP/1.1\r\nHost: a\r\n§${more}\r\n${body}`
const line = (first: string): string => `${first}\r\nHost: a\r\n§\r\n`
const chunks = (body: string): string => post('Transfer-Encoding: chunked\r\n', body)
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const VERSION = 'Sec-WebSocket-Version: 13\r\n'
const upgrade = (more: string): string => get(`Connection: Upgrade\r\nUpgrade: websocket\r\n${more}`)
const handshake = (more = ''): string => upgrade(KEY + VERSION + more)

describe.each<[string, number, readonly (readonly [string, string])[], RegExp?]>([
  [
    'the framing of a request',
    400,
    [
      ['CL+TE', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', EMPTY_CHUNKS)],
      ['TE+CL', post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', EMPTY_CHUNKS)],
      ['xchunked', post('Transfer-Encoding: xchunked\r\n', EMPTY_CHUNKS)],
      ['chunked, chunked', post('Transfer-Encoding: chunked, chunked\r\n', EMPTY_CHUNKS)],
      ['chunked, identity', post('Transfer-Encoding: chunked, identity\r\n', EMPTY_CHUNKS)],
      ['identity, chunked', post('Transfer-Encoding: identity, chunked\r\n', EMPTY_CHUNKS)],
      ['gzip, chunked', post('Transfer-Encoding: gzip, chunked\r\n', EMPTY_CHUNKS)],
      [', chunked', post('Transfer-Encoding: , chunked\r\n', EMPTY_CHUNKS)],
      ['chunked,', post('Transfer-Encoding: chunked,\r\n', EMPTY_CHUNKS)],
      ['identity', post('Transfer-Encoding: identity\r\n')],
      ['two TE', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', EMPTY_CHUNKS)],
      [
        'two TE of which one is no coding',
        post('Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n', EMPTY_CHUNKS),
      ],
      ['chunked;q=1', post('Transfer-Encoding: chunked;q=1\r\n', EMPTY_CHUNKS)],
      ['chunked behind a vertical tab', post('Transfer-Encoding: \x0bchunked\r\n', EMPTY_CHUNKS)],
      ['chunked in quotes', post('Transfer-Encoding: "chunked"\r\n', EMPTY_CHUNKS)],
      ['chunked with a byte behind it', post('Transfer-Encoding: chunked\xa0\r\n', EMPTY_CHUNKS)],
      ['an empty TE', post('Transfer-Encoding: \r\n', EMPTY_CHUNKS)],
      ['TE folded', post('Transfer-Encoding:\r\n chunked\r\n', EMPTY_CHUNKS)],
      ['TE on HTTP/1.0', chunks(EMPTY_CHUNKS).replace('HTTP/1.1', 'HTTP/1.0')],
      ['two CL', post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello')],
      ['two different CL', post('Content-Length: 5\r\nContent-Length: 0\r\n', 'hello')],
      ['CL 5, 5', post('Content-Length: 5, 5\r\n', 'hello')],
      ['CL +5', post('Content-Length: +5\r\n', 'hello')],
      ['CL -5', post('Content-Length: -5\r\n', 'hello')],
      ['CL 05', post('Content-Length: 05\r\n', 'hello')],
      ['CL 00', post('Content-Length: 00\r\n', 'hello')],
      ['CL 5 behind 18 zeros', post('Content-Length: 0000000000000000005\r\n', 'hello')],
      ['CL 10^15', post('Content-Length: 1000000000000000\r\n', 'hello')],
      ['CL 0x5', post('Content-Length: 0x5\r\n', 'hello')],
      ['CL 5_0', post('Content-Length: 5_0\r\n', 'hello')],
      ['CL 2^64 + 5', post('Content-Length: 18446744073709551621\r\n', 'hello')],
      ['an empty CL', post('Content-Length:\r\n', 'hello')],
      ['CL with a space in its name', post('Content-Length : 5\r\n', 'hello')],
      ['CL with an underscore', post('Content_Length: 5\r\n', 'hello')],
    ],
  ],
  [
    'the lines of a head',
    400,
    [
      ['a folded field', get('X-A: b\r\n c\r\n')],
      ['a bare LF after a field', get('X-A: b\nX-B: c\r\n')],
      ['a bare LF everywhere', 'GET /api/x HTTP/1.1\nHost: a\n\n'],
      ['a bare CR in a field', get('X-A: b\rc\r\n')],
      ['NUL in a value', get('X-A: b\0c\r\n')],
      ['NUL in a name', get('X\0A: b\r\n')],
      ['a control character in a value', get('X-A: b\x01c\r\n')],
      ['a space before the colon', get('X-A : b\r\n')],
      ['a tab before the colon', get('X-A\t: b\r\n')],
      ['a first field that begins with a space', 'GET /api/x HTTP/1.1\r\n Host: a\r\nX: y\r\n\r\n'],
      ['a field without a colon', get('X-A\r\n')],
      ['a field without a name', get(': b\r\n')],
      ['a name of other letters', get('X-\xc3\xa9: b\r\n')],
      ['X_User_Id', get('X_User_Id: root\r\n')],
      ['X_Tollgate_User', get('X_Tollgate_User: root\r\n')],
      ['X.Forwarded.For', get('X.Forwarded.For: 1.2.3.4\r\n')],
      ...['_', "X'a", 'X~', 'X|a'].map((name) => [`the name ${name}`, get(`${name}: 1\r\n`)] as const),
    ],
  ],
  [
    'the size of a head',
    431,
    [
      ['a field of 17 KB', get(`X-A: ${'a'.repeat(17_000)}\r\n`)],
      ['2100 fields', get(many)],
      ['more than 200 fields', get(fields(200))],
    ],
  ],
  [
    'Host',
    400,
    [
      ['none', 'GET /api/x HTTP/1.1\r\n§\r\n'],
      ['two', get('Host: b\r\n')],
      ...[
        '',
        ' ',
        'a b',
        'a, b',
        'a,b',
        'a b/c@d',
        'u@d',
        'a/b',
        'http://a',
        'a?b',
        'a#b',
        'a\\b',
        '\xe9',
        ...PORTS,
      ].map((host) => [`"${host}"`, `GET /api/x HTTP/1.1\r\nHost: ${host}\r\n§\r\n`] as const),
      ['"a b" in HTTP/1.0', 'GET /api/x HTTP/1.0\r\nHost: a b\r\n§\r\n'],
    ],
    /Host header|a Host/,
  ],
  [
    'what must be the only one of its kind',
    400,
    [
      ['two credentials', get('Authorization: Bearer x\r\nAuthorization: Bearer x\r\n')],
      ['two credentials, apart and in other letters', get('Authorization: x\r\nX: 1\r\nAUTHORIZATION: x\r\n')],
      ['two content types', post('Content-Type: application/json\r\ncontent-type: text/plain\r\n')],
      ['two content codings', post('Content-Encoding: gzip\r\nContent-Encoding: identity\r\n')],
      ['two expectations', post('Expect: 100-continue\r\nExpect: 100-continue\r\n')],
    ],
    /only one .* header/,
  ],
  [
    'Connection',
    400,
    [
      ...['authorization', 'Authorization', 'cookie', 'content-length', 'Content-Type', 'Content-Encoding'],
      ...['transfer-encoding', 'host', 'expect', 'Forwarded', 'x-forwarded-for', 'x-forwarded-anything', 'X-Real-IP'],
      ...['X-Request-Id', 'x-tollgate-user', 'X-Tollgate-Anything', '\tX-Tollgate-User\t'],
      // In a line of its own.
      'keep-alive\r\nConnection: authorization',
    ].map((name) => [`that names ${name}`, get(`Connection: close, ${name}\r\n`)]),
    /Connection must not name/,
  ],
  [
    'the target',
    400,
    [
      ...[
        'http://evil/api/x',
        'https://evil/api/x',
        'HTTP://evil',
        'tollgate:/api/x',
        'http://a./api/x',
        'http://u@a/api/x',
        'http://a:@a/api/x',
        'http:///api/x',
        'http:/a/api/x',
        'ftp://a/api/x',
        '*',
        '**',
        'api/x',
        '?x',
        'a:b',
        'a:80',
      ].map((target) => [`GET ${target}`, line(`GET ${target} HTTP/1.1`)] as const),
      ['a URL without a Host, by HTTP/1.0', 'GET http://a/api/x HTTP/1.0\r\n§\r\n'],
      ['POST *', line('POST * HTTP/1.1')],
      ['OPTIONS **', line('OPTIONS ** HTTP/1.1')],
      ['NUL in it', line('GET /api/\0x HTTP/1.1')],
      ['a space in it', line('GET /api/x y HTTP/1.1')],
      ['a tab in it', line('GET /api/\tx HTTP/1.1')],
      ['DEL in it', line('GET /api/\x7fx HTTP/1.1')],
      ['UTF-8 in it', line('GET /api/\xc3\xa9 HTTP/1.1')],
    ],
  ],
  [
    'a method that the parser does not know',
    501,
    [
      ['in lower case', line('get /api/x HTTP/1.1')],
      ['unknown', line('FOO /api/x HTTP/1.1')],
    ],
  ],
  ['the method', 400, [['PRI, as in the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']]],
  [
    'a method that is not served',
    405,
    [
      'TRACE /api/x HTTP/1.1',
      'CONNECT evil:443 HTTP/1.1',
      'CONNECT 127.0.0.1:80 HTTP/1.1',
      'CONNECT /api/x HTTP/1.1',
      'DESCRIBE /api/x RTSP/1.0',
      'PLAY /api/x RTSP/1.0',
      'GET_PARAMETER /api/x RTSP/1.0',
    ].map((first) => [first, line(first)]),
    /\r\nAllow: GET, HEAD, /,
  ],
  [
    'the version',
    505,
    [
      ['the text HTTP/2.0', line('GET /api/x HTTP/2.0')],
      ['HTTP/1.2', line('GET /api/x HTTP/1.2')],
      ['HTTP/3.0', line('GET /api/x HTTP/3.0')],
    ],
  ],
  [
    'no version',
    400,
    [
      ['nothing in its place', 'GET /api/x\r\n\r\n'],
      ['fields behind that', line('GET /api/x')],
      ['a blank in its place', line('GET /api/x ')],
      ['HTTP/0.9', line('GET /api/x HTTP/0.9')],
      ['HTTP/1', line('GET /api/x HTTP/1')],
      ['HTTP/01.01', line('GET /api/x HTTP/01.01')],
      ['HTTP/1.11', line('GET /api/x HTTP/1.11')],
      ['HTTP/ 1.1', line('GET /api/x HTTP/ 1.1')],
      ['http/1.1', line('GET /api/x http/1.1')],
    ],
  ],
  [
    'an expectation',
    417,
    [
      ...['y 100-continue', '100-continue, y', 'x, 100-continue', '100-continue100-continue', '100-continue=1'].map(
        (value) => [`"${value}"`, post(`Expect: ${value}\r\nContent-Length: 5\r\n`, 'hello')] as const,
      ),
      ['nothing', post('Expect: \r\nContent-Length: 5\r\n', 'hello')],
      ['of HTTP/1.0', post('Expect: y\r\nContent-Length: 5\r\n', 'hello').replace('HTTP/1.1', 'HTTP/1.0')],
      ['of an upgrade', handshake('Expect: y\r\n')],
    ],
    /"expectation_failed"/,
  ],
  [
    'an upgrade of doubtful form',
    400,
    [
      ['without a Host', handshake().replace('Host: a\r\n', '')],
      ['with a bad Host', handshake().replace('Host: a', 'Host: a b')],
      ['with two credentials', handshake('Authorization: x\r\nAuthorization: y\r\n')],
      ['that names the credential in Connection', handshake('Connection: Authorization\r\n')],
      ['with a name with an underscore', handshake('X_Tollgate_User: root\r\n')],
      ['to another host', handshake().replace('/api/x', 'http://evil/api/x')],
    ],
  ],
])('%s (%i)', (_group, status, cases, said = /"error":/) => {
  it.each(cases)('%s', async (_what, text) => {
    for (const [credential, field] of CREDENTIALS) {
      const response = await rawExchange(app.url, Buffer.from(text.replace('§', field) + SMUGGLED, 'latin1'))
      expect([credential, statusesIn(response)]).toEqual([credential, [status]])
      expect(response).toMatch(said)
      // Whoever has the response finds its line in the log, and there why it was refused.
      const [line] = app.observations
        .flatMap((o) => (o.type === 'bad_connection' ? (o.refused ?? []) : o.type === 'request' ? o : []))
        .slice(-1)
      expect(line?.reason).toMatch(/../)
      expect(response).toContain(`X-Request-Id: ${line?.requestId}`)
    }
    expect(app.observations.filter((o) => o.type === 'credential_checked' || isCharged(o))).toEqual([])
    expect(app.observations.filter((o) => o.type === 'batch_settled' || o.type === 'internal_error')).toEqual([])
    expect(upstream.received).toEqual([])
    const counted = app.observations.filter((o) => o.type === 'bad_connection' || o.type === 'request')
    expect(counted.length).toBe(CREDENTIALS.length)
  })
})

describe('a path that two servers could read differently (400)', () => {
  it.each([
    ...['//evil/x', '/a\\..\\b', '/api/x#frag', '/api/x%00', '/api/../x', 'http://a//evil/x', 'http://a#/api/x'],
    ...['//api/x', '/api//x', '/api/./x', '/x/../api/y', '/x/%2e%2e/api/y', '/x/..%2fapi/y', '/api%2fx', '/api/%zz'],
    ...['/api/%c0%af', '/api/..;/x', '/api/x;y', '/api/%252e'],
  ])('%s', async (target) => {
    for (const [credential, field] of CREDENTIALS) {
      const response = await rawExchange(app.url, line(`GET ${target} HTTP/1.1`).replace('§', field), 50)
      expect([credential, statusesIn(response)]).toEqual([credential, [400]])
    }
    expect(app.observations.filter((o) => o.type === 'credential_checked' || isCharged(o))).toEqual([])
    expect(upstream.received).toEqual([])
  })
})

describe('a target that is too long (414)', () => {
  it.each([
    ['for targets', 'x'.repeat(9000)],
    ['for a whole head', 'x'.repeat(20_000)],
    ['and has a byte that no target may have', `${'x'.repeat(9000)}\xe9`],
  ])('%s', async (_what, name) => {
    for (const [credential, field] of CREDENTIALS) {
      const sent = line(`GET /api/${name} HTTP/1.1`).replace('§', field)
      const response = await rawExchange(app.url, sent)
      expect([credential, statusesIn(response)]).toEqual([credential, [414]])
      expect(response).toContain('"error":"uri_too_long"')
    }
    expect(app.observations.filter((o) => o.type === 'credential_checked' || isCharged(o))).toEqual([])
    expect(upstream.received).toEqual([])
  })
})

describe('what is unusual and clear is accepted, charged once, and forwarded in one form', () => {
  const [[, credential] = ['', '']] = CREDENTIALS
  const UPGRADE = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'

  const PLAIN = /^GET \/api\/x HTTP\/1\.1\r\n/

  it.each<[string, string, RegExp]>([
    ['RTSP in the place of HTTP', line('GET /api/x RTSP/1.1'), PLAIN],
    ['two spaces in the request line', line('GET  /api/x  HTTP/1.1'), PLAIN],
    [
      'a body of GET',
      `GET /api/x HTTP/1.1\r\nHost: a\r\n§Content-Length: 5\r\n\r\nhello`,
      /content-length: 5\r\n[\s\S]*hello$/i,
    ],
    ['a chunked body of GET', `${get('Transfer-Encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n`, /hello/],
    [
      'a body of DELETE',
      post('Content-Length: 5\r\n', 'hello').replace('POST', 'DELETE'),
      /^DELETE [\s\S]*content-length: 5\r\n[\s\S]*hello$/i,
    ],
    [
      'a chunked body of OPTIONS',
      chunks('5\r\nhello\r\n0\r\n\r\n').replace('POST', 'OPTIONS'),
      /^OPTIONS [\s\S]*hello/,
    ],
    ['a chunked body of HEAD', chunks('5\r\nhello\r\n0\r\n\r\n').replace('POST', 'HEAD'), /^HEAD [\s\S]*hello/],
    ['Content-Length: 0', post('Content-Length: 0\r\n'), /^POST \/api\/x HTTP\/1\.1\r\n/],
    ['a body of QUERY', post('Content-Length: 5\r\n', 'hello').replace('POST', 'QUERY'), /^QUERY [\s\S]*hello$/],
    ['h2c, as the plain request that it also is', get(UPGRADE), PLAIN],
    ['an unknown upgrade', get('Connection: Upgrade\r\nUpgrade: foo/2\r\n'), PLAIN],
    ['an upgrade that Connection does not name', get(`Upgrade: websocket\r\n${KEY}${VERSION}`), PLAIN],
    ['Connection: Upgrade without one', get('Connection: Upgrade\r\n'), PLAIN],
    ['a protocol that begins like a WebSocket', handshake().replace('websocket', 'websocket2'), PLAIN],
    ['a WebSocket of another version', upgrade(`${KEY}Sec-WebSocket-Version: 12\r\n`), PLAIN],
    ['a WebSocket of two versions, neither 13', upgrade(`${KEY}Sec-WebSocket-Version: 8, 113\r\n`), PLAIN],
    ['a WebSocket without a version', upgrade(KEY), PLAIN],
    ['a WebSocket without a key', upgrade(VERSION), PLAIN],
    ['a WebSocket with a key of 15 bytes', handshake().replace('ZQ==', ''), PLAIN],
    ['a WebSocket with a key that is not base64', handshake().replace('jZQ', '*ZQ'), PLAIN],
    ['a WebSocket by HTTP/1.0', handshake().replace('HTTP/1.1', 'HTTP/1.0'), PLAIN],
    ['a WebSocket by POST', handshake('Content-Length: 0\r\n').replace('GET', 'POST'), /^POST \/api\/x HTTP\/1\.1\r\n/],
    ['a WebSocket with a body', `${handshake('Content-Length: 5\r\n')}hello`, /content-length: 5/i],
    ['a WebSocket with chunks', `${handshake('Transfer-Encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n`, /hello$/],
    ['Transfer-Encoding: Chunked', post('Transfer-Encoding: Chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'), /hello/],
    ['an empty chunked body', chunks('0\r\nX-A: b\r\n\r\n'), /content-length: 0\r\n/i],
    [
      'a body in several chunks, which arrives whole',
      chunks('1\r\nh\r\n4\r\nello\r\n1\r\n!\r\n0\r\n\r\n'),
      /content-length: 6\r\n[\s\S]*\r\nhello!$/i,
    ],
    ['200 fields, with Host and the credential', get(fields(198)), /\r\nh197: 1\r\n/],
    ['HTTP/1.0', line('GET /api/x HTTP/1.0'), PLAIN],
    ['HTTP/1.0 without a Host', 'GET /api/x HTTP/1.0\r\n§\r\n', PLAIN],
    ...['[::1]:8080', 'my_service:80', 'example.org:'].map<[string, string, RegExp]>((host) => [
      `the Host ${host}`,
      get('').replace('Host: a', `Host: ${host}`),
      PLAIN,
    ]),
    [
      'a field that Connection names, of the client itself',
      get('Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\n'),
      PLAIN,
    ],
    ['TE, named as old clients do', get('Connection: TE, keep-alive\r\nTE: trailers\r\n'), PLAIN],
  ])('%s', async (_what, text, forwarded) => {
    expect(statusesIn(await rawExchange(app.url, text.replace('§', credential)))).toEqual([200])
    expect(upstream.lines).toHaveLength(1)
    expect(upstream.received.join('')).toMatch(forwarded)
    expect(upstream.received.join('')).not.toMatch(/upgrade|http2-settings|h2c/i)
    expect(app.observations.filter(isCharged)).toHaveLength(1)
  })

  it('chunk extensions and trailers do not reach the upstream, and no credential is read from a trailer', async () => {
    const body =
      '5;ext="a;b"\r\nhello\r\n0\r\nAuthorization: Bearer stolen\r\nHost: evil\r\nX-Tollgate-User: root\r\n\r\n'
    expect(statusesIn(await rawExchange(app.url, chunks(body).replace('§', credential)))).toEqual([200])
    expect(upstream.received.join('')).toContain('hello')
    expect(upstream.received.join('')).not.toMatch(/ext|stolen|evil|root/)
    const trailing = `5\r\nhello\r\n0\r\n${credential}\r\n`
    expect(statusesIn(await rawExchange(app.url, chunks(trailing).replace('§', '')))).toEqual([401])
    expect(upstream.lines).toHaveLength(1)
    expect(app.observations.filter(isCharged)).toHaveLength(1)
  })
})

describe('fields that a client may not set', () => {
  const OURS = ['X-Tollgate-User', 'X-Tollgate-Anything', 'X-Request-Id', 'Forwarded', 'X-Real-IP', 'True-Client-IP']
  const PATHS = ['X-Original-URL', 'X-Rewrite-URL', 'X-HTTP-Method-Override', 'X-Forwarded-Prefix', 'X-Forwarded-Uri']

  it.each([...OURS, ...PATHS])('%s does not reach the upstream with the value of the client', async (name) => {
    const [[, credential] = ['', '']] = CREDENTIALS
    const text = get(`${name}: forged\r\n`).replace('§', credential)
    expect(statusesIn(await rawExchange(app.url, text))).toEqual([200])
    expect(upstream.received.join('')).not.toContain('forged')
  })
})
