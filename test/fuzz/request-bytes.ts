import fc from 'fast-check'

/** Bytes that are nearly HTTP requests: valid ones first, then bent, with what is known to divide servers. */

export interface Sending {
  /** Latin-1. */
  readonly text: string
  /** Where the text is cut into packets. */
  readonly cuts: readonly number[]
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'get', 'TRACE', 'CONNECT', 'QUERY', 'PRI']
const VERSIONS = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', '']
const TARGETS = [
  '/api/a',
  '/api/b?q=1',
  '/api/%61',
  '/api//x',
  '/open/x',
  '//evil',
  'http://evil/api/a',
  '*',
  '/me/quota',
]

const HIDDEN = 'GET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n'

/** Of any length, and now and then a request of its own. */
const BODY = fc.oneof(fc.constant(''), fc.string({ maxLength: 20 }), fc.constant('hello'), fc.constant(HIDDEN))

const FIELD = fc.constantFrom(
  ...[
    'Connection: close',
    'Connection: keep-alive',
    'Connection: Content-Length',
    'Connection: Upgrade',
    'Proxy-Connection: Upgrade',
    'Upgrade: h2c',
  ],
  ...[
    'Expect: 100-continue',
    'Expect: y 100-continue',
    'Content-Type: application/json',
    'TE: trailers',
    'Cookie: a=b',
  ],
  ...[
    'X-Tollgate-User: root',
    'X_Tollgate_User: root',
    'X-Forwarded-For: 1.2.3.4',
    'Trailer: X-A',
    'X-A: b',
    'X-Long: yes',
  ],
  ...['Content-Length: 5', 'Content-Length: 0', 'Content-Length: 05', 'Content-Length: +5', 'Content-Length: 5, 5'],
  ...[
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:\tchunked',
  ],
  ...[
    'Host: b',
    'Host:',
    'Sec-WebSocket-Version: 13',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ],
)

const EXTENSION = fc.constantFrom('', '', '', ';a', ';a=b', ';a="b"', ' ;a', '\t', ';\n', ';a\n', ' ')
const TRAILERS = fc.constantFrom('', '', '', 'X-A: b\r\n', 'Authorization: Bearer x\r\n', 'X-A: b\n', ' X: y\r\n')

function inChunks(body: string, sizes: readonly number[], extensions: readonly string[], trailers: string): string {
  const pieces: string[] = []
  let at = 0
  for (const [i, size] of sizes.entries()) {
    const piece = body.slice(at, at + size)
    at += size
    if (piece !== '') pieces.push(`${piece.length.toString(16)}${extensions[i] ?? ''}\r\n${piece}\r\n`)
  }
  const rest = body.slice(at)
  if (rest !== '') pieces.push(`${rest.length.toString(16)}\r\n${rest}\r\n`)
  return `${pieces.join('')}0\r\n${trailers}\r\n`
}

const FRAMED = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ field: '', body: '' }) },
  { weight: 3, arbitrary: BODY.map((body) => ({ field: `Content-Length: ${body.length}\r\n`, body })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        BODY,
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 4 }),
        fc.array(EXTENSION, { maxLength: 4 }),
        TRAILERS,
      )
      .map(([body, sizes, extensions, trailers]) => ({
        field: 'Transfer-Encoding: chunked\r\n',
        body: inChunks(body, sizes, extensions, trailers),
      })),
  },
)

const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 15, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

/** @param credential what authenticates, as a field line without its end */
function request(credential: string): fc.Arbitrary<string> {
  return fc
    .record({
      method: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom('GET', 'POST') },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      target: mostly('/api/a', ...TARGETS),
      version: mostly('HTTP/1.1', ...VERSIONS),
      host: mostly('Host: a\r\n', '', 'Host: a\r\nHost: a\r\n', 'Host: a b\r\n'),
      credential: mostly(`${credential}\r\n`, '', 'Authorization: Bearer x\r\n', `${credential}\r\n${credential}\r\n`),
      more: fc.oneof(
        { weight: 2, arbitrary: fc.constant<string[]>([]) },
        { weight: 1, arbitrary: fc.array(FIELD, { maxLength: 2 }) },
      ),
      framed: FRAMED,
    })
    .map(({ method, target, version, host, credential, more, framed }) => {
      const fields = more.map((field) => `${field}\r\n`).join('')
      return `${method} ${target} ${version}\r\n${host}${credential}${fields}${framed.field}\r\n${framed.body}`
    })
}

const SPLINTER = fc.constantFrom(
  ...[
    '\r\n',
    '\n',
    '\r',
    ' ',
    '\t',
    ':',
    '\0',
    '\x0b',
    '\x7f',
    '\xa0',
    ';',
    '0',
    '5',
    '\r\n\r\n',
    '0\r\n\r\n',
    '\r\n ',
    HIDDEN,
  ],
  ...[
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Host: b\r\n',
    'Connection: close\r\n',
    'X: \x01\r\n',
    '  ',
  ],
)

type Change = (text: string) => string

const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), SPLINTER).map(
    ([at, splinter]): Change =>
      (text) => {
        const i = Math.floor(at * text.length)
        return text.slice(0, i) + splinter + text.slice(i)
      },
  ),
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 4 })).map(
    ([at, length]): Change =>
      (text) => {
        const i = Math.floor(at * text.length)
        return text.slice(0, i) + text.slice(i + length)
      },
  ),
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 255 })).map(
    ([at, byte]): Change =>
      (text) => {
        const i = Math.floor(at * text.length)
        return text.slice(0, i) + String.fromCharCode(byte) + text.slice(i + 1)
      },
  ),
)

export function sendings(credential: string): fc.Arbitrary<Sending> {
  return fc
    .record({
      requests: fc.array(request(credential), { minLength: 1, maxLength: 4 }),
      changes: fc.oneof(
        { weight: 3, arbitrary: fc.constant<Change[]>([]) },
        { weight: 2, arbitrary: fc.array(CHANGE, { maxLength: 3 }) },
      ),
      cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
    })
    .map(({ requests, changes, cuts }) => {
      const text = changes.reduce((bent, change) => change(bent), requests.join(''))
      return { text, cuts: cuts.map((cut) => Math.floor(cut * text.length)).sort((a, b) => a - b) }
    })
}
