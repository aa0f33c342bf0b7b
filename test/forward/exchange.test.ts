import { describe, expect, it } from 'vitest'
import {
  assertNoSurprises,
  CLOSE,
  exchangeRaw,
  gatewayTo,
  get,
  OK,
  overEachTransport,
  rawClient,
  until,
} from './support.ts'

assertNoSurprises()

overEachTransport(({ httpUpstream, rawUpstream }) => {
  it('a request and its answer arrive with method, target and body as they were sent', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { user: 'zoë' })
    const request = `POST /a%2Fb?x=1&&y=%20 HTTP/1.1\r\nHost: shop.example\r\n${CLOSE}Content-Length: 05\r\n\r\nhello`
    const { text } = await exchangeRaw(gateway.port, request)
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text).toContain('X-Request-Id: req-1')
    const [sent = ''] = upstream.received
    expect(sent).toMatch(/^POST \/a%2Fb\?x=1&&y=%20 HTTP\/1\.1\r\n/)
    expect(sent).toMatch(/\r\n\r\nhello$/)
    expect(sent.match(/content-length: .*/gi)).toEqual(['Content-Length: 5'])
    expect(sent.match(/^host: .*/gim)).toEqual(['Host: shop.example'])
    expect(sent).toContain('X-Tollgate-User: zo%C3%AB')
    expect(sent).toContain('X-Forwarded-Host: shop.example')
    expect(sent).toContain('X-Forwarded-For: 127.0.0.1')
    expect(await gateway.settled()).toEqual({
      httpStatus: 200,
      outcome: 'forwarded',
      error: null,
      reached: true,
      headSent: true,
      reason: null,
      lenient: [],
    })
  })

  it('a request and its answer carry no user on a public route', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { user: null })
    await exchangeRaw(gateway.port, get('/', `X-Tollgate-User: forged\r\n${CLOSE}`))
    expect(upstream.received[0]).not.toContain('X-Tollgate-User')
  })

  it.each(['GET', 'DELETE', 'OPTIONS', 'POST'])(
    'a request and its answer of %s with a chunked body stay one request',
    async (method) => {
      const seen: string[] = []
      const upstream = await httpUpstream(async (req, res) => {
        const body = Buffer.concat(await req.toArray()).toString()
        seen.push(`${req.method} ${req.url} ${body}`)
        res.end('ok')
      })
      const gateway = await gatewayTo(upstream.url)
      const smuggled = 'GET /admin HTTP/1.1\r\nHost: x\r\n\r\n'
      const chunk = `${smuggled.length.toString(16)};ext=1\r\n${smuggled}\r\n0\r\nAuthorization: Bearer trailer\r\n\r\n`
      const { text } = await exchangeRaw(
        gateway.port,
        `${method} /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${get('/two', CLOSE)}`,
      )
      expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
      expect(seen).toHaveLength(2)
      expect(seen).toContain(`${method} /one ${smuggled}`)
      expect(seen).toContain('GET /two ')
    },
  )

  it('a request and its answer send a body that was read before unchanged', async () => {
    const upstream = await httpUpstream((req, res) => void req.pipe(res))
    const gateway = await gatewayTo(upstream.url, { readBody: true })
    const response = await fetch(gateway.url, { method: 'POST', body: '{"chargeId": 2}  ' })
    expect(await response.text()).toBe('{"chargeId": 2}  ')
  })

  it('a request and its answer send a body that is still arriving as it arrives', async () => {
    const upstream = await httpUpstream((req, res) => void req.pipe(res))
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(
      gateway.port,
      `POST / HTTP/1.1\r\nHost: x\r\n${CLOSE}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n`,
    )
    await client.until('first')
    client.socket.write('6\r\nsecond\r\n0\r\n\r\n')
    await client.until('second')
    await until(() => client.ending() === 'end')
    expect(client.text()).toMatch(/0\r\n\r\n$/)
  })

  it('a request and its answer keep every Set-Cookie and drop what belongs to the upstream’s connection', async () => {
    const head =
      'Set-Cookie: a=1\r\nConnection: X-Internal\r\nX-Internal: 1\r\nSet-Cookie: b=2\r\nRateLimit: "burst";r=3'
    const upstream = await rawUpstream((s) => s.write(`HTTP/1.1 200 OK\r\n${head}\r\nContent-Length: 0\r\n\r\n`))
    const gateway = await gatewayTo(upstream.url, { responseHeaders: ['RateLimit', '"1h";r=5;t=60'] })
    const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(text.match(/Set-Cookie: .*/g)).toEqual(['Set-Cookie: a=1', 'Set-Cookie: b=2'])
    expect(text.match(/RateLimit: .*/g)).toEqual(['RateLimit: "burst";r=3, "1h";r=5;t=60'])
    expect(text).not.toContain('X-Internal')
  })

  it.each([
    ['that goes on', '', 'Connection: Upgrade', 2],
    ['that is to close', CLOSE, 'Connection: close, Upgrade', 1],
  ])(
    'a request and its answer keep the Upgrade of a 426, on a connection %s',
    async (_what, field, connection, responses) => {
      const head = 'HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\nUpgrade: TLS/1.3, HTTP/1.1\r\n'
      const upstream = await rawUpstream((socket, text) =>
        socket.write(text.includes('/next') ? OK : `${head}Content-Length: 2\r\n\r\nno`),
      )
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, get('/', field) + (field === '' ? get('/next', CLOSE) : ''))
      expect(text).toMatch(/^HTTP\/1\.1 426 .*\r\nUpgrade: TLS\/1\.3, HTTP\/1\.1\r\n/s)
      expect(text.match(/^Connection: .*(?=\r)/gm)?.[0]).toBe(connection)
      expect(text.match(/HTTP\/1\.1 \d/g)).toHaveLength(responses)
    },
  )

  it('a request and its answer keep no Upgrade of another answer', async () => {
    const fields = 'Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2'
    const upstream = await rawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\nok`))
    const gateway = await gatewayTo(upstream.url)
    expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).not.toMatch(/upgrade/i)
  })

  it.each([
    ['HEAD', '200 OK', 'Content-Length: 5', /Content-Length: 5/],
    ['GET', '304 Not Modified', 'Content-Length: 5', /Content-Length: 5/],
    ['GET', '204 No Content', 'ETag: "1"', /ETag: "1"/],
  ])(
    'a request and its answer of %s end without a body on %s, and leave the connection usable',
    async (method, status, field, expected) => {
      const upstream = await rawUpstream((socket, head) => {
        socket.write(head.includes('/next') ? OK : `HTTP/1.1 ${status}\r\n${field}\r\n\r\n`)
      })
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, `${method} / HTTP/1.1\r\nHost: x\r\n\r\n${get('/next', CLOSE)}`)
      const [, first, second] = text.split(/(?=HTTP\/1\.1 )/).length === 2 ? ['', ...text.split(/(?=HTTP\/1\.1 )/)] : []
      expect(first).toMatch(expected)
      expect(first).toMatch(/\r\n\r\n$/)
      expect(second).toMatch(/ok$/)
    },
  )

  it('answer a client of HTTP/1.0 without chunks', async () => {
    const upstream = await httpUpstream((_req, res) => {
      res.write('a')
      res.end('b')
    })
    const gateway = await gatewayTo(upstream.url)
    const { text, ending } = await exchangeRaw(gateway.port, 'GET / HTTP/1.0\r\n\r\n')
    expect(text).toMatch(/\r\n\r\nab$/)
    expect(ending).toBe('end')
  })

  it('a request and its answer send the head before the first event of a stream', async () => {
    const upstream = await rawUpstream((s) => s.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'))
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, get('/'))
    await client.until('\r\n\r\n')
    upstream.sockets[0]?.write('data: 1\n\n')
    await client.until('data: 1')
  })

  it('a request and its answer serve thousands of requests on one connection without piling up listeners', async () => {
    const upstream = await httpUpstream((_req, res) => void res.end('ok'))
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port)
    for (let i = 1; i <= 3_000; i++) {
      client.socket.write(i % 2 ? get('/') : 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx')
      await until(() => gateway.results.length >= i - 20)
    }
    await gateway.settled(3_000)
    expect(gateway.results.every((r) => r.outcome === 'forwarded')).toBe(true)
    const [socket] = await new Promise<[import('node:net').Socket]>((resolve) => {
      gateway.server.once('request', (req) => resolve([req.socket]))
      client.socket.write(get('/'))
    })
    expect(socket.listenerCount('close') + socket.listenerCount('error') + socket.listenerCount('drain')).toBeLessThan(
      15,
    )
  })

  describe('interim answers', () => {
    const link = 'Link: </a.css>; rel=preload; as=style\r\n'

    it('interim answers are passed on with their own fields, in their order, and none of them is in the response', async () => {
      const hop = 'Connection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 3\r\n'
      const interim = [102, 103, 104, 199].map((status) => `HTTP/1.1 ${status} x\r\nX-Of: ${status}\r\n${hop}\r\n`)
      const upstream = await rawUpstream((s) => s.write(interim.join('') + OK))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
      const heads = text.split('\r\n\r\n').map((head) => head.replace(/^HTTP\/1\.1 (\d+).*/, '$1'))
      expect(heads.slice(0, 4)).toEqual(['102', '103', '104', '199'].map((status) => `${status}\r\nX-Of: ${status}`))
      expect(heads[4]).toMatch(/^200/)
      expect(heads[4]).not.toContain('X-Of')
    })

    it('interim answers come before the upstream has its response', async () => {
      const upstream = await rawUpstream((s) => s.write(`HTTP/1.1 102 Processing\r\n\r\n`))
      const gateway = await gatewayTo(upstream.url)
      const client = rawClient(gateway.port, get('/'))
      await client.until('HTTP/1.1 102 Processing\r\n\r\n')
      upstream.sockets[0]?.write(OK)
      await client.until('ok')
    })

    it('interim answers are not sent to a client of HTTP/1.0', async () => {
      const upstream = await rawUpstream((s) => s.write(`HTTP/1.1 103 Early Hints\r\n${link}\r\n${OK}`))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, 'GET / HTTP/1.0\r\n\r\n')
      expect(text).toMatch(/^HTTP\/1\.1 200/)
    })

    it('100 Continue that nobody asked for is dropped: RFC 9110 section 15.2 wants every client to bear it', async () => {
      const upstream = await rawUpstream((s) => s.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
      expect(text).toMatch(/^HTTP\/1\.1 200/)
      expect(text).not.toMatch(/Continue/)
    })

    it('interim answers without end are a bad answer', async () => {
      const upstream = await rawUpstream((s) => s.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_100) + OK))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
      expect(text).toMatch(/HTTP\/1\.1 502/)
    })
  })

  describe('trailers', () => {
    const chunked =
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\nSet-Cookie: a=1\r\n\r\n'

    it('trailers reach a client that takes them, without those that may not be there', async () => {
      const upstream = await rawUpstream((socket) => socket.write(chunked))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, get('/', `TE: trailers\r\nConnection: TE, close\r\n`))
      expect(text).toMatch(/0\r\nX-Sum: 7\r\n\r\n$/)
      expect(upstream.received[0]).toContain('TE: trailers')
    })

    it('trailers do not reach others', async () => {
      const upstream = await rawUpstream((socket) => socket.write(chunked))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
      expect(text).toMatch(/2\r\nok\r\n0\r\n\r\n$/)
    })
  })
})
