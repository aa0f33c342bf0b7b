import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkEdge } from '../../src/edge/head-rules.ts'
import { NAMES, startEdge, type TestEdge } from './edge-server.ts'

let edge: TestEdge
let lenient: TestEdge
beforeAll(async () => {
  edge = await startEdge()
  lenient = await startEdge({ insecureHTTPParser: true })
})

const HEAD = 'GET /a HTTP/1.1\r\nHost: example.org\r\n'
const POST = 'POST /a HTTP/1.1\r\nHost: example.org\r\n'

/** A request that nobody but an attacker would send behind the one under test. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: example.org\r\n\r\n'

/** Sends raw bytes; refused means: this status, nothing handled, the connection closed by the server. */
async function expectRefused(text: string, status: number, more: RegExp = /^/, on = edge): Promise<void> {
  const { statuses, accepted, closed, response } = await on.send(text + SMUGGLED)
  expect(statuses).toEqual([status])
  expect(response).toMatch(more)
  expect(accepted).toEqual([])
  expect(closed).toBe(true)
}

async function expectAccepted(text: string, handled: string, body = ''): Promise<void> {
  const { statuses, accepted, closed } = await edge.send(text)
  expect(statuses).toEqual([200])
  expect(accepted).toEqual([{ line: handled, body }])
  expect(closed).toBe(false)
}

describe('an ordinary request passes', () => {
  test.each([
    ['a browser', `${HEAD}Accept: */*\r\nCookie: a=1\r\nCookie: b=2\r\nAuthorization: Bearer x\r\n\r\n`],
    ['an IPv6 host with a port', 'GET /a HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n'],
    ['a name with an underscore and a port', 'GET /a HTTP/1.1\r\nHost: my_service:80\r\n\r\n'],
    ['an empty port', 'GET /a HTTP/1.1\r\nHost: example.org:\r\n\r\n'],
    ['an old client that nominates TE', `${HEAD}Connection: TE, keep-alive\r\nTE: trailers\r\n\r\n`],
    ['a header nominated that is the client\u2019s own', `${HEAD}Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\r\n`],
    ['two spaces in the request line, which we write anew', 'GET  /a  HTTP/1.1\r\nHost: example.org\r\n\r\n'],
  ])('%s', async (_, text) => {
    await expectAccepted(text, 'GET /a')
  })

  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'QUERY'])('%s with a body, framed exactly', async (method) => {
    const start = `${method} /a HTTP/1.1\r\nHost: example.org\r\n`
    await expectAccepted(`${start}Content-Length: 5\r\n\r\nhello`, `${method} /a`, 'hello')
    await expectAccepted(`${start}Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`, `${method} /a`, 'hello')
  })

  test('a chunked body with extensions and trailers; these become headers never', async () => {
    const trailers = 'Authorization: Bearer stolen\r\nHost: evil\r\n'
    await expectAccepted(
      `${POST}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n${trailers}\r\n`,
      'POST /a',
      'hello',
    )
  })

  test('an empty body, and the next request on the connection is a request of its own', async () => {
    const { accepted, statuses } = await edge.send(`${POST}Content-Length: 0\r\n\r\n${HEAD}\r\n`)
    expect(accepted.map(({ line }) => line)).toEqual(['POST /a', 'GET /a'])
    expect(statuses).toEqual([200, 200])
  })

  test('HTTP/1.0 without a Host', async () => {
    const { accepted, statuses } = await edge.send('GET /a HTTP/1.0\r\n\r\n')
    expect(accepted).toEqual([{ line: 'GET /a', body: '' }])
    expect(statuses).toEqual([200])
  })

  test('Expect: 100-continue, in any case', async () => {
    await expectAccepted(`${POST}Expect: 100-Continue\r\nContent-Length: 5\r\n\r\nhello`, 'POST /a', 'hello')
  })
})

describe('the version', () => {
  test.each(['GET / HTTP/2.0', 'POST / HTTP/2.0'])('%s is refused with 505', async (line) => {
    await expectRefused(`${line}\r\nHost: example.org\r\n\r\n`, 505, /version_not_supported/)
  })

  test.each(['GET /', 'GET / HTTP/0.9'])('%s, which names no version of HTTP/1, is refused with 400', async (line) => {
    await expectRefused(`${line}\r\n\r\n`, 400, /bad_request/)
  })
})

describe('the framing', () => {
  test.each(['gzip, chunked', 'identity, chunked', ', chunked', 'chunked,', 'gzip,chunked'])(
    'Transfer-Encoding: %s is refused',
    async (coding) => {
      await expectRefused(`${POST}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`, 400)
    },
  )

  test('Transfer-Encoding in HTTP/1.0 is refused', async () => {
    const start = 'POST /a HTTP/1.0\r\nHost: example.org\r\nConnection: keep-alive\r\n'
    await expectRefused(`${start}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400, /HTTP\/1\.0/)
  })

  test.each(['05', '00', '0000000000000000005', '1000000000000000'])(
    'Content-Length: %s is refused',
    async (length) => {
      await expectRefused(`${POST}Content-Length: ${length}\r\n\r\nhello`, 400, /plain decimal/)
    },
  )

  test('what the lenient parser lets pass is refused all the same', async () => {
    await expectRefused(`${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`, 400, /both/, lenient)
    await expectRefused(
      `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      /only one/,
      lenient,
    )
    await expectRefused(`${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`, 400, /chunked/, lenient)
  })

  test('lengths that no parser of ours lets pass are refused too', () => {
    for (const length of ['', '+5', '-5', '5, 5', '0x5', ' 5', '5 ', '1e1', '\u0665']) {
      expect(judge('Content-Length', length)).toMatchObject({ code: 'bad_request', reason: 'framing' })
    }
    expect(judge('Content-Length', '5', 'content-length', '5')).toMatchObject({ reason: 'duplicate_header' })
    expect(judge('Transfer-Encoding', 'chunked', 'content-length', '0')).toMatchObject({ reason: 'framing' })
    expect(judge('Content-Length', '999999999999999')).toBeNull()
  })

  /** A parsed request, made by hand where Node's parser would not make it. */
  function judge(...headers: string[]) {
    const req = new IncomingMessage(new Socket())
    Object.assign(req, { method: 'POST', url: '/a', httpVersion: '1.1', rawHeaders: ['Host', 'a', ...headers] })
    return checkEdge(req, NAMES)
  }
})

test.each([
  '',
  ' ',
  'a b',
  'a, b',
  'a,b',
  'a/c',
  'u@d',
  'a b/c@d',
  '[::1',
  '::1',
  'a:b',
  'a:80:80',
  'a:123456',
  'a?b',
  'a#b',
  'a\\b',
  'é',
  'http://a',
])('the Host %j is refused', async (host) => {
  await expectRefused(`GET /a HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 400, /Host header is not valid/)
})

test('the Host is not valid in HTTP/1.0 either', async () => {
  await expectRefused('GET /a HTTP/1.0\r\nHost: a b\r\n\r\n', 400)
})

test('the Host must be there in HTTP/1.1, also where Node does not ask for it', async () => {
  const relaxed = await startEdge({ requireHostHeader: false })
  await expectRefused('GET /a HTTP/1.1\r\n\r\n', 400, /must have a Host/, relaxed)
})

describe('a header that must be the only one', () => {
  test.each([
    ['Host', 'example.org'],
    ['Authorization', 'Bearer x'],
    ['Content-Type', 'application/json'],
    ['Content-Encoding', 'gzip'],
    ['Expect', '100-continue'],
  ])('%s twice is refused, in any case of letters and with equal values', async (name, value) => {
    const host = name === 'Host' ? '' : 'Host: example.org\r\n'
    const text = `POST /a HTTP/1.1\r\n${host}${name}: ${value}\r\nX-Between: 1\r\n${name.toUpperCase()}: ${value}\r\n\r\n`
    await expectRefused(text, 400, new RegExp(`only one ${name} header`))
  })
})

describe('a header name', () => {
  test.each(['X_Tollgate_User', 'Content_Length', '_', 'X.Tollgate.User', "X'a", 'X~', 'X|a'])(
    '%s is refused: to some backends it is another header',
    async (name) => {
      await expectRefused(`${HEAD}${name}: 1\r\n\r\n`, 400, /letters, digits and hyphens/)
    },
  )
})

test.each([
  'authorization',
  'Authorization',
  'keep-alive, Cookie',
  'close,content-length',
  'Content-Type',
  'Content-Encoding',
  'transfer-encoding',
  'host',
  'expect',
  'Forwarded',
  'X-Forwarded-For',
  'x-forwarded-anything',
  'X-Real-IP',
  'X-Request-Id',
  'keep-alive,\tX-Tollgate-User\t',
  'X-Tollgate-Anything',
])('a Connection header must not name %s', async (value) => {
  await expectRefused(`${HEAD}Connection: ${value}\r\n\r\n`, 400, /Connection must not name/)
})

test('a Connection header must not name one in a second line either', async () => {
  await expectRefused(
    `${HEAD}Connection: keep-alive\r\nConnection: authorization\r\n\r\n`,
    400,
    /Connection must not name/,
  )
})

describe('the method', () => {
  test.each(['TRACE /a HTTP/1.1', 'DESCRIBE /a RTSP/1.0', 'PLAY /a RTSP/1.0', 'GET_PARAMETER /a RTSP/1.0'])(
    '%s is refused with 405 and Allow',
    async (line) => {
      await expectRefused(`${line}\r\nHost: example.org\r\n\r\n`, 405, /\r\nAllow: GET, HEAD, /)
    },
  )

  test.each(['example.org:443', '/a', '127.0.0.1:80'])('CONNECT %s is refused with 405 and Allow', async (target) => {
    await expectRefused(`CONNECT ${target} HTTP/1.1\r\nHost: example.org\r\n\r\n`, 405, /\r\nAllow: GET, HEAD, /)
  })
})

describe('the target', () => {
  test.each([
    'GET http://evil/a',
    'GET https://example.com/a',
    'GET ftp://evil/a',
    'GET HTTP://evil',
    'GET *',
    'POST *',
    'GET a:b',
    'GET tollgate:/a',
  ])('the line %s is refused', async (line) => {
    await expectRefused(`${line} HTTP/1.1\r\nHost: example.org\r\n\r\n`, 400)
  })
})

describe('an expectation', () => {
  test.each([
    'y 100-continue',
    '100-continue, y',
    'x, 100-continue',
    '100-continue=1',
    '100-continued',
    'nonsense',
    '',
  ])('%j is refused with 417, and no 100 Continue is sent', async (value) => {
    await expectRefused(`${POST}Expect: ${value}\r\nContent-Length: 5\r\n\r\nhello`, 417, /expectation_failed/)
  })

  test('an expectation of HTTP/1.0, which Node ignores, is refused alike', async () => {
    await expectRefused('POST /a HTTP/1.0\r\nExpect: y\r\nContent-Length: 5\r\n\r\nhello', 417)
  })
})

test('the process answers an ordinary request after all of that', async () => {
  await expectAccepted(`${HEAD}\r\n`, 'GET /a')
})
