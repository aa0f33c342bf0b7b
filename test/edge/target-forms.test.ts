import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { isCharged } from '../observe/settled.ts'
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts'

/** Every form of a target that RFC 9112 section 3.2 has, and what the upstream gets of it. */

let upstream: RawUpstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startRawUpstream()
  app = await startApp(
    yaml(
      upstream.url,
      `
quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 1000 } } } }
routes:
  - { match: "* /api/*", category: read, cost: 3 }
  - { match: "GET /", category: read, cost: 2 }
  - { match: "GET /list[]", category: read, cost: 5 }
  - { match: "OPTIONS /free/*", public: true }`,
    ),
  )
})
beforeEach(() => {
  app.observations.length = 0
  upstream.lines.length = 0
  upstream.received.length = 0
})

const ALICE = `Authorization: Bearer ${jwtOf('alice')}`
const send = (line: string, ...fields: string[]): Promise<string> =>
  rawExchange(app.url, [line, 'Host: a:8080', ...fields, '', ''].join('\r\n'))
const charged = (): number[] => app.observations.flatMap((o) => (isCharged(o) ? o.tokens : []))

describe('a URL whose authority is Host', () => {
  it.each([
    ['GET http://a:8080/api/x?y=1', 'GET /api/x?y=1', 3],
    ['GET https://a:8080/api/x', 'GET /api/x', 3],
    ['GET HTTP://a:8080/api/x', 'GET /api/x', 3],
    ['GET http://A:8080/api/x', 'GET /api/x', 3],
    ['GET http://a:8080/api/http://b/x'.replace('//b', '%2F%2Fb'), null, 0],
    ['POST http://a:8080/api/%78', 'POST /api/%78', 3],
    ['GET http://a:8080', 'GET /', 2],
    ['GET http://a:8080/', 'GET /', 2],
    ['GET http://a:8080?q', 'GET /?q', 2],
  ])('%s is served as the path and query alone', async (line, forwarded, cost) => {
    const response = await send(`${line} HTTP/1.1`, ALICE)
    expect(statusesIn(response)).toEqual([forwarded === null ? 400 : 200])
    expect(upstream.lines).toEqual(forwarded === null ? [] : [`${forwarded} HTTP/1.1`])
    expect(charged()).toEqual(cost === 0 ? [] : [cost])
  })

  it.each([
    ['http://h:80/api/x', 'h', 200],
    ['http://h/api/x', 'H:80', 200],
    ['http://h:/api/x', 'h', 200],
    ['https://h:443/api/x', 'h', 200],
    ['https://h:80/api/x', 'h', 400],
    ['http://h:8080/api/x', 'h', 400],
    ['http://h.test/api/x', 'h', 400],
    ['http://u@h/api/x', 'h', 400],
  ])('%s with Host: %s gets %i: one authority in another spelling is the same', async (url, host, status) => {
    const head = [`GET ${url} HTTP/1.1`, `Host: ${host}`, ALICE, '', ''].join('\r\n')
    expect(statusesIn(await rawExchange(app.url, head))).toEqual([status])
  })

  it('a URL whose authority is Host opens a WebSocket too', async () => {
    const fields = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
    expect(statusesIn(await send('GET http://a:8080/api/live HTTP/1.1', ALICE, key, ...fields))).toEqual([101])
    expect(upstream.lines).toEqual(['GET /api/live HTTP/1.1'])
  })
})

describe('a request for the options of the gateway', () => {
  it.each([
    ['OPTIONS *', []],
    ['OPTIONS http://a:8080', []],
    ['OPTIONS /api/x', ['Max-Forwards: 0']],
    ['OPTIONS /free/x', ['Max-Forwards: 00']],
    ['OPTIONS *', ['Max-Forwards: 7']],
    ['OPTIONS *', ['Authorization: Bearer nobody']],
    ['OPTIONS *', ['Content-Length: 2']],
  ])('%s %s is answered by it, without a credential and without a charge', async (line, fields) => {
    const body = fields.some((field) => field.startsWith('Content-Length')) ? 'ok' : ''
    const sent = [`${line} HTTP/1.1`, 'Host: a:8080', ...fields, '', body].join('\r\n')
    const response = await rawExchange(app.url, `${sent}GET /me/quota HTTP/1.1\r\nHost: a\r\n\r\n`)
    // The connection goes on behind it.
    expect(statusesIn(response)).toEqual([204, 401])
    const [head] = response.split('\r\n\r\n')
    expect(head).toMatch(/^Allow: GET, HEAD, POST, /m)
    expect(head).toMatch(/^X-Request-Id: /m)
    expect(head).not.toMatch(/^(Content-Length|Transfer-Encoding):/im)
    expect(upstream.received).toEqual([])
    expect(charged()).toEqual([])
    expect(app.requests()[0]).toMatchObject({ route: null, user: null, cost: 0, clientStatus: 204 })
  })

  it.each([
    ['1', '0'],
    ['10', '9'],
    ['007', '6'],
    ['99999999999999999999', '9007199254740990'],
    ['-1', '-1'],
    ['x', 'x'],
  ])(
    'a request for the options of the gateway may go on for Max-Forwards: %s, with one less: %s',
    async (sent, left) => {
      expect(statusesIn(await send('OPTIONS /free/x HTTP/1.1', `Max-Forwards: ${sent}`))).toEqual([200])
      expect(upstream.received.join('')).toContain(`\r\nMax-Forwards: ${left}\r\n`)
    },
  )

  it('a request for the options of the gateway is none by another method, whose Max-Forwards is passed on as it is', async () => {
    for (const count of ['0', '3']) {
      expect(statusesIn(await send('GET /api/x HTTP/1.1', ALICE, `Max-Forwards: ${count}`))).toEqual([200])
      expect(upstream.received.at(-1)).toContain(`\r\nMax-Forwards: ${count}\r\n`)
    }
  })
})

describe('a path of another spelling', () => {
  it.each([
    ['/api/a[1]', 3],
    ['/%61pi/%7Euser/x%2Dy', 3],
    ['/api/a%3ab%e4%b8%ad', 3],
    ['/api/a|b^c', 3],
    ['/list[]', 5],
    ['/list%5b%5D?x[]=1|2', 5],
  ])('%s is priced by its one spelling and forwarded as it came', async (path, cost) => {
    expect(statusesIn(await send(`GET ${path} HTTP/1.1`, ALICE))).toEqual([200])
    expect(upstream.lines).toEqual([`GET ${path} HTTP/1.1`])
    expect(charged()).toEqual([cost])
  })
})
