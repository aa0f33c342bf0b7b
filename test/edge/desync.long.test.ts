import { once } from 'node:events'
import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { isCharged } from '../observe/settled.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl } from '../setup/ways.ts'
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts'

/**
 * The edge of the whole gateway, over raw sockets. The oracle: requests that the upstream saw == charges == requests
 * accepted; and whatever is ambiguous is refused before it is authenticated.
 */
const COST = 3

const certificates = makeCertificates()

const auth = `Authorization: Bearer ${jwtOf('alice')}`
const request = (line: string, ...fields: string[]): string => [line, 'Host: a', auth, ...fields, '', ''].join('\r\n')

const SMUGGLED = 'GET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\n'

describe.each(BOTH_WAYS)('$name', (way) => {
  let backend: RawUpstream
  let app: RunningApp
  beforeAll(async () => {
    backend = await startRawUpstream(certificates.server, way)
  })
  beforeEach(async () => {
    backend.lines.length = 0
    app = await startIn(
      backend.url,
      `
quota:
  baselines:
    personal: { read: { 1h: 1000, 5h: 1000, 1d: 1000 } }
    global: { read: { 1h: 1000, 5h: 1000, 1d: 1000 } }
routes: [{ match: "* /api/*", category: read, cost: ${COST} }, { match: GET /open, public: true }]`,
    )
  })

  const startIn = (url: string, rest: string): Promise<RunningApp> =>
    startApp(yaml(url, `${rest}\n${certificates.listener(way)}`, 'sqlite::memory:', certificates.upstream(way)))

  function charged(): number {
    return app.observations.filter(isCharged).length
  }

  function expectNothingPassed(): void {
    expect(backend.lines).toEqual([])
    expect(charged()).toBe(0)
    expect(app.observations.filter((o) => o.type === 'credential_checked')).toEqual([])
  }

  describe('what is ambiguous is refused before it is authenticated, and nothing on the connection is trusted after it', () => {
    it.each([
      [
        'Content-Length and Transfer-Encoding',
        `${request('POST /api/x HTTP/1.1', 'Content-Length: 4', 'Transfer-Encoding: chunked')}0\r\n\r\n${SMUGGLED}`,
      ],
      [
        'identity, chunked',
        `${request('POST /api/x HTTP/1.1', 'Transfer-Encoding: identity, chunked')}0\r\n\r\n${SMUGGLED}`,
      ],
      [
        'Transfer-Encoding on HTTP/1.0',
        `${request('POST /api/x HTTP/1.0', 'Transfer-Encoding: chunked')}0\r\n\r\n${SMUGGLED}`,
      ],
      ['a bare line feed', 'GET /api/x HTTP/1.1\nHost: a\n\n'],
      ['two Hosts', request('GET /api/x HTTP/1.1', 'Host: b') + SMUGGLED],
      ['two credentials', request('GET /api/x HTTP/1.1', auth) + SMUGGLED],
      ['HTTP/0.9', 'GET /api/x\r\n\r\n'],
      ['a proxied absolute target', request('GET http://evil/api/x HTTP/1.1')],
      ['an unknown expectation', request('POST /api/x HTTP/1.1', 'Content-Length: 5', 'Expect: y 100-continue')],
      ['CONNECT', 'CONNECT evil:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n'],
      [
        'a bad chunk size',
        request('POST /api/x HTTP/1.1', 'Transfer-Encoding: chunked').replace('/api/x', '/nothing') +
          `0x1\r\na\r\n0\r\n\r\n${SMUGGLED}`,
      ],
    ])('%s', async (_what, bytes) => {
      const statuses = statusesIn(await rawExchange(app.url, bytes))
      expect(statuses).toHaveLength(1)
      expect([400, 404, 405, 417, 501, 505]).toContain(statuses[0])
      expectNothingPassed()
    })

    it.each([
      '//api/x',
      '/api//x',
      '/api/./x',
      '/x/../api/y',
      '/x/%2e%2e/api/y',
      '/x/..%2fapi/y',
      '/api%2fx',
      '/api/x%00',
      '/api\\x',
      '/api/x#frag',
      '/api/%zz',
      '/api/%c0%af',
      '/api/..;/x',
      '/api/x;y',
      '/api/%252e',
      '*',
    ])('the path %s', async (path) => {
      const statuses = statusesIn(await rawExchange(app.url, request(`GET ${path} HTTP/1.1`)))
      expect(statuses).toEqual([400])
      expectNothingPassed()
    })
  })

  describe('requests, charges and what the upstream saw agree', () => {
    it('for two requests in one write', async () => {
      const bytes = request('POST /api/a HTTP/1.1', 'Content-Length: 0') + request('GET /api/b HTTP/1.1')
      expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([200, 200])
      expect(backend.lines.sort()).toEqual(['GET /api/b HTTP/1.1', 'POST /api/a HTTP/1.1'])
      expect(charged()).toBe(2)
    })

    it('where the second has no credential', async () => {
      const bytes = request('GET /api/a HTTP/1.1') + SMUGGLED
      expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([200, 401])
      expect(backend.lines).toEqual(['GET /api/a HTTP/1.1'])
      expect(charged()).toBe(1)
    })

    it.each(['GET', 'DELETE', 'OPTIONS', 'PUT'])(
      'for %s with a chunked body that looks like a request',
      async (method) => {
        const bytes = `${request(`${method} /api/a HTTP/1.1`, 'Transfer-Encoding: chunked')}${SMUGGLED.length.toString(16)};ext=1\r\n${SMUGGLED}\r\n0\r\nX-Trailer: 1\r\n\r\n`
        expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([200])
        expect(backend.lines).toEqual([`${method} /api/a HTTP/1.1`])
        expect(charged()).toBe(1)
      },
    )

    it('for a body of announced length that looks like a request', async () => {
      const bytes = request('POST /api/a HTTP/1.1', `Content-Length: ${SMUGGLED.length}`) + SMUGGLED
      expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([200])
      expect(backend.lines).toEqual(['POST /api/a HTTP/1.1'])
      expect(charged()).toBe(1)
    })

    it('when a refused upload is followed by another request', async () => {
      const bytes = `${request('POST /nothing HTTP/1.1', `Content-Length: ${SMUGGLED.length}`)}${SMUGGLED}${request('GET /api/b HTTP/1.1')}`
      expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([404, 200])
      expect(backend.lines).toEqual(['GET /api/b HTTP/1.1'])
      expect(charged()).toBe(1)
    })

    it('when a large refused upload, after which the connection is closed, is followed by another request', async () => {
      const body = 'x'.repeat(100_000)
      const upload = `${request('POST /nothing HTTP/1.1', `Content-Length: ${body.length}`)}${body}`
      expect(statusesIn(await rawExchange(app.url, upload + request('GET /api/b HTTP/1.1')))).toEqual([404])
      expect([backend.lines, charged()]).toEqual([[], 0])
    })

    it('when a refused request whose answer ends the connection is followed by garbage, which gets no answer of its own', async () => {
      const refused = 'POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n'
      const text = await rawExchange(app.url, `${refused}ab\0garbage\r\n\r\n`, 1500)
      expect(statusesIn(text)).toEqual([401])
      expect(text).toMatch(/\r\nConnection: close\r\n/)
    })

    it('for escapes of plain letters, which are matched in one spelling and forwarded as they came', async () => {
      expect(statusesIn(await rawExchange(app.url, request('GET /%61pi/%73earch HTTP/1.1')))).toEqual([200])
      expect(backend.lines).toEqual(['GET /%61pi/%73earch HTTP/1.1'])
      expect(charged()).toBe(1)
    })
  })

  it('a request before garbage on the same connection gets its answer, and the garbage gets a 400', async () => {
    const text = await rawExchange(app.url, `${request('GET /api/a HTTP/1.1')}GARBAGE\r\n\r\n`)
    expect(statusesIn(text)).toEqual([200, 400])
    expect(backend.lines).toEqual(['GET /api/a HTTP/1.1'])
  })

  it.each([
    [
      'a WebSocket handshake',
      request(
        'GET /api/socket HTTP/1.1',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ),
    ],
    ['CONNECT', request('CONNECT a:1 HTTP/1.1')],
  ])('%s in one packet behind what is ambiguous is not looked at', async (_what, behind) => {
    const text = await rawExchange(app.url, request('GET /api/x HTTP/1.1', 'Host: b') + behind)
    expect(statusesIn(text)).toEqual([400])
    expectNothingPassed()
    expect(app.observations.filter((o) => o.type === 'request')).toHaveLength(1)
  })

  it('32 of a hundred requests in one packet are served, the next is refused, and the others are not looked at', async () => {
    const text = await rawExchange(app.url, request('GET /api/a HTTP/1.1').repeat(100))
    expect(statusesIn(text)).toEqual([...Array(32).fill(200), 429])
    expect(backend.lines).toHaveLength(32)
    expect(charged()).toBe(32)
  })

  it('a body that turns out to be malformed is told so, and is no request to the upstream', async () => {
    for (const chunk of ['0x1\r\na\r\n', '+1\r\na\r\n', '1;a\nb\r\n', '1\r\nab\r\n']) {
      const bytes = `${request('POST /api/a HTTP/1.1', 'Transfer-Encoding: chunked')}${chunk}0\r\n\r\n`
      expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([400])
    }
    expect(backend.lines).toEqual([])
  })

  it('a body that turns out to be malformed behind the beginning of its answer ends the connection without a word', async () => {
    let upstream: net.Socket | undefined
    const early = certificates.server(way, (socket) => {
      upstream = socket
      socket
        .on('error', () => {})
        .once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\nthe beginning\r\n')
        })
    })
    await listening(early)
    const open = await startIn(upstreamUrl(way, early), 'routes: [{ match: POST /open, public: true }]')
    const socket = connectTo(open.url)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    // More than `upstream.unchunk` waits for.
    const chunk = `11170\r\n${'a'.repeat(0x11170)}\r\n`
    socket.write(`POST /open HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`)
    await expect.poll(() => text).toContain('the beginning')
    const before = text
    socket.write('no size\r\n')
    await expect.poll(() => socket.closed).toBe(true)
    expect(text).toBe(before)
    await open.stop()
    upstream?.destroy()
  })

  it('a small upload that comes slowly reaches the upstream, and is charged, only when it is complete', async () => {
    const socket = connectTo(app.url)
    socket.write(`${request('POST /api/a HTTP/1.1', 'Content-Length: 2')}x`)
    await sleep(200)
    expect(backend.lines).toEqual([])
    expect(charged()).toBe(0)
    socket.write('y')
    await once(socket, 'data')
    expect(backend.lines).toEqual(['POST /api/a HTTP/1.1'])
    expect(charged()).toBe(1)
    socket.destroy()
  })

  it('a small upload that comes slowly and breaks off is charged nothing', async () => {
    const socket = connectTo(app.url)
    socket.write(`${request('POST /api/a HTTP/1.1', 'Content-Length: 2')}x`)
    await sleep(100)
    socket.destroy()
    await expect.poll(() => app.requests()[0]).toMatchObject({ outcome: 'aborted', clientStatus: 499, cost: 0 })
    expect(charged()).toBe(0)
    expect(backend.lines).toEqual([])
  })

  it('an upload that waits for 100 Continue is told to go on only after it was admitted', async () => {
    const text = await rawExchange(
      app.url,
      request('POST /api/a HTTP/1.1', 'Content-Length: 2', 'Expect: 100-continue'),
    )
    expect(statusesIn(text)).toEqual([100])
    const refused = await rawExchange(
      app.url,
      'POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n',
    )
    expect(statusesIn(refused)).toEqual([401])
  })

  it('a head that is too large is answered 431 with a body of ours', async () => {
    const text = await rawExchange(app.url, request('GET /api/x HTTP/1.1', `X-Large: ${'x'.repeat(20_000)}`))
    expect(statusesIn(text)).toEqual([431])
    expect(text).toContain('"error":"headers_too_large"')
    expect(text).toMatch(/x-request-id/i)
    expectNothingPassed()
  })

  describe('an answer that ends the connection arrives whole, and once, where the client goes on sending', () => {
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    it.each([
      ['behind too large a head', 431, 'GET / HTTP/1.1\r\nX-Large: '],
      ['behind what is not HTTP', 400, 'nonsense\r\n\r\n'],
      [
        'behind a WebSocket handshake that is refused',
        404,
        request('GET / HTTP/1.1', ...upgrade, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='),
      ],
    ])('%s', async (_what, status, head) => {
      const socket = connectTo(app.url)
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.write(head)
      socket.end(Buffer.alloc(8_000_000, 'x'))
      // Rejects where it is reset.
      await once(socket, 'close')
      const text = Buffer.concat(chunks).toString()
      expect(statusesIn(text)).toEqual([status])
      expect(text).toMatch(/"\}$/)
      expect(backend.lines).toEqual([])
      expect(app.observations.filter((o) => o.type === 'bad_connection')).toHaveLength(status === 404 ? 0 : 1)
    })

    it('an answer that ends the connection arrives whole, and once, where the client goes on sending and what comes behind it is no request, also the rest of a head that came too slowly', async () => {
      const routes = 'routes: [{ match: "* /api/*", category: read, cost: 1 }]'
      const slow = await startIn(backend.url, `edge: { headers_timeout: 100ms }\n${routes}`)
      const socket = connectTo(slow.url, { allowHalfOpen: true })
      const [head, end] = [request('GET /api/x HTTP/1.1').slice(0, -2), '\r\n']
      socket.write(head)
      await once(socket.resume(), 'end')
      socket.end(`${end}${head}${end}`)
      await once(socket, 'close')
      await slow.stop()
      expect(backend.lines).toEqual([])
      expect(slow.observations.filter((o) => isCharged(o) || o.type === 'request')).toEqual([])
    })

    it('an answer that ends the connection arrives whole, and once, where the client goes on sending and is closed in the end where the client never ends it', async () => {
      const socket = connectTo(app.url, { allowHalfOpen: true })
      socket.write('nonsense\r\n\r\n')
      await once(socket.resume(), 'end')
      // Until a reset tells that nobody is there.
      while (!socket.closed) {
        socket.write('x')
        await sleep(50)
      }
    })
  })
})
