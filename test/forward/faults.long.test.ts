import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { listening } from '../setup/listening.ts'
import { freePort } from '../setup/redis.ts'
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

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const SHORT = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'

overEachTransport(({ scheme, httpUpstream, rawUpstream, tcpServer }) => {
  it.each([
    ['two equal lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\nok'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['an unknown transfer coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxx'],
    ['a coding under the chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['a folded field', 'HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok'],
    ['a NUL', 'HTTP/1.1 200 OK\r\nX-A: \0\r\nContent-Length: 2\r\n\r\nok'],
    ['a space in a name', 'HTTP/1.1 200 OK\r\nX A: 1\r\nContent-Length: 2\r\n\r\nok'],
    ['a bad chunk size, together with the head', `${CHUNKED}xyz\r\n`],
    ['a bad chunk size, together with the head and a chunk', `${CHUNKED}3\r\nabc\r\nxyz\r\n`],
    ['a bad end of a chunk, together with the head', `${CHUNKED}3\r\nabcXYZ`],
    ['a bad trailer, together with the head', `${CHUNKED}0\r\nX-A\r\n\r\n`],
    ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['a control character in a value', 'HTTP/1.1 200 OK\r\nX-A: \x01\r\nContent-Length: 2\r\n\r\nok'],
    ['status 999', 'HTTP/1.1 999 No\r\nContent-Length: 2\r\n\r\nok'],
    ['status 600', 'HTTP/1.1 600 No\r\nContent-Length: 2\r\n\r\nok'],
    ['status 099', 'HTTP/1.1 099 No\r\nContent-Length: 2\r\n\r\nok'],
    ['status 000', 'HTTP/1.1 000 No\r\nContent-Length: 2\r\n\r\nok'],
    ['an unsolicited 101', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a 101 without an upgrade', `HTTP/1.1 101 Switching Protocols\r\n\r\n${OK}`],
    ['2100 fields', `HTTP/1.1 200 OK\r\n${'a: 1\r\n'.repeat(2_100)}Content-Length: 2\r\n\r\nok`],
    ['too long a head', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(40_000)}\r\nContent-Length: 2\r\n\r\nok`],
    ['another protocol', '220 smtp.example ESMTP\r\n'],
  ])('an upstream that answers nonsense before the body is answered with 502: %s', async (_what, response) => {
    const upstream = await rawUpstream((socket) => socket.end(Buffer.from(response, 'latin1')))
    const gateway = await gatewayTo(upstream.url)
    const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(text).toMatch(/^HTTP\/1\.1 502 /)
    expect(text).not.toMatch(/X-A/i)
    expect(await gateway.settled()).toMatchObject({
      httpStatus: 0,
      outcome: 'failed',
      error: 'bad_upstream_answer',
      reached: true,
      headSent: false,
    })
  })

  it('an upstream that answers nonsense before the body behind a head that waits for its turn is answered with 502, and the connection goes on', async () => {
    const upstream = await rawUpstream(async (socket, head) => {
      if (head.includes('/first')) await sleep(100)
      socket.write(head.includes('/broken') ? `${CHUNKED}xyz\r\n` : OK)
    })
    const gateway = await gatewayTo(upstream.url)
    const { text } = await exchangeRaw(gateway.port, get('/first') + get('/broken') + get('/last', CLOSE))
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 502', 'HTTP/1.1 200'])
  })

  it('an upstream that answers nonsense before the body may pad the size of a chunk, and put blanks before a colon, which are removed', async () => {
    const response = 'HTTP/1.1 200 OK\r\nX-A : 1\r\nTransfer-Encoding: chunked\r\n\r\n2     \r\nok\r\n0\r\n\r\n'
    const upstream = await rawUpstream((socket) => socket.write(response))
    const gateway = await gatewayTo(upstream.url)
    const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(text).toMatch(/^HTTP\/1\.1 200 .*\r\nX-A: 1\r\n.*\r\n2\r\nok\r\n0\r\n\r\n$/s)
  })

  it('an upstream that answers nonsense before the body may use a head of 17 KB', async () => {
    const head = `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(17_000)}\r\nContent-Length: 2\r\n\r\nok`
    const upstream = await rawUpstream((socket) => socket.write(head))
    const gateway = await gatewayTo(upstream.url)
    expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/^HTTP\/1\.1 200 /)
  })

  it.each(['204 No Content', '304 Not Modified'])(
    'an upstream that answers nonsense before the body with a body on %s does no harm to the next client',
    async (status) => {
      const upstream = await rawUpstream((socket, head) => {
        socket.write(head.includes('/second') ? OK : `HTTP/1.1 ${status}\r\nContent-Length: 5\r\n\r\nHTTP/`)
      })
      const gateway = await gatewayTo(upstream.url)
      const first = await exchangeRaw(gateway.port, get('/first', CLOSE))
      expect(first.text).toMatch(/^HTTP\/1\.1 [23]04 .*\r\n\r\n$/s)
      expect((await exchangeRaw(gateway.port, get('/second', CLOSE))).text).toMatch(/ok$/)
    },
  )

  it.each([
    ['garbage', `${OK}garbage`],
    ['a second answer', `${OK}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison`],
  ])(
    'an upstream that answers nonsense before the body and sends %s after it cannot poison the next client',
    async (_what, response) => {
      const upstream = await rawUpstream((socket, head) =>
        socket.write(head.includes('/first') ? response : OK.replace('ok', 'me')),
      )
      const gateway = await gatewayTo(upstream.url, { maxConnections: 1 })
      const [first, second] = await Promise.all([
        exchangeRaw(gateway.port, get('/first', CLOSE)),
        sleep(1).then(() => exchangeRaw(gateway.port, get('/second', CLOSE))),
      ])
      expect(first.text).toMatch(/ok$/)
      expect(second.text).toMatch(/me$/)
    },
  )

  it.each([
    ['a length and FIN', SHORT, 'fin'],
    ['a length and RST', SHORT, 'rst'],
    ['a truncated chunk', `${CHUNKED}5\r\nabc`, 'fin'],
    ['a bad chunk size', `${CHUNKED}3\r\nabc\r\n`, 'xyz\r\n'],
    ['chunks without the last one', `${CHUNKED}3\r\nabc\r\n`, 'fin'],
    ['chunks and RST', `${CHUNKED}3\r\nabc\r\n`, 'rst'],
    ['no length and RST', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc', 'rst'],
  ])('an upstream that breaks off its body never looks whole to the client: %s', async (_what, response, how) => {
    const upstream = await rawUpstream(async (socket) => {
      socket.write(response)
      await sleep(30)
      if (how === 'rst') socket.resetAndDestroy()
      else socket.end(how === 'fin' ? '' : how)
    })
    const gateway = await gatewayTo(upstream.url)
    const { ending } = await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(ending).toBe('ECONNRESET')
    expect(await gateway.settled()).toMatchObject({
      httpStatus: 200,
      outcome: 'failed',
      error: 'bad_upstream_answer',
      headSent: true,
    })
  })

  it('an upstream that breaks off its body does no harm to the next answer', async () => {
    const upstream = await rawUpstream(async (socket, head) => {
      socket.write(head.includes('/second') ? OK : SHORT)
      await sleep(20)
      if (head.includes('/first')) socket.resetAndDestroy()
    })
    const gateway = await gatewayTo(upstream.url)
    await exchangeRaw(gateway.port, get('/first', CLOSE))
    expect((await exchangeRaw(gateway.port, get('/second', CLOSE))).text).toMatch(/ok$/)
    expect((await gateway.settled(2)).outcome).toBe('forwarded')
  })

  it('an upstream that breaks off its body does not look whole to a client of HTTP/1.0 either, where only a reset tells', async () => {
    const upstream = await rawUpstream(async (socket) => {
      socket.write(`${CHUNKED}3\r\nabc\r\n`)
      await sleep(30)
      socket.end()
    })
    const gateway = await gatewayTo(upstream.url)
    expect((await exchangeRaw(gateway.port, 'GET / HTTP/1.0\r\n\r\n')).ending).toBe('ECONNRESET')
  })

  it('an upstream that breaks off its body is no such backend when it ends a body without a length by closing', async () => {
    const upstream = await rawUpstream((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nwhole'))
    const gateway = await gatewayTo(upstream.url)
    const { text, ending } = await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(text).toContain('whole')
    expect(ending).toBe('end')
    expect((await gateway.settled()).outcome).toBe('forwarded')
  })

  it('an upstream that breaks off its body is cut after the idle timeout, and the client with it', async () => {
    const upstream = await rawUpstream((socket) => socket.write(SHORT))
    const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 200 })
    expect((await exchangeRaw(gateway.port, get('/'))).ending).toBe('ECONNRESET')
    expect(await gateway.settled()).toMatchObject({ httpStatus: 200, outcome: 'failed', error: 'upstream_timeout' })
  })

  describe('an upstream that does not answer', () => {
    it('an upstream that does not answer because nobody listens is unreachable, and was certainly not reached', async () => {
      const gateway = await gatewayTo(`${scheme}://127.0.0.1:${await freePort()}`)
      const { text } = await exchangeRaw(
        gateway.port,
        `POST / HTTP/1.1\r\nHost: x\r\n${CLOSE}Content-Length: 4\r\n\r\nbody`,
      )
      expect(text).toMatch(/^HTTP\/1\.1 502 /)
      expect(await gateway.settled()).toMatchObject({
        httpStatus: 0,
        outcome: 'failed',
        error: 'upstream_unreachable',
        reached: false,
        headSent: false,
        reason: expect.stringContaining('ECONNREFUSED'),
      })
    })

    it('an upstream that does not answer because nobody listens leaves the client’s connection usable, with the rest of a body unread', async () => {
      const gateway = await gatewayTo(`${scheme}://127.0.0.1:${await freePort()}`)
      const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nabc')
      await client.until('502')
      client.socket.write(Buffer.alloc(299_997))
      client.socket.write(get('/next', CLOSE))
      await until(() => client.ending() !== 'closed')
      expect(client.text().match(/HTTP\/1\.1 502/g)).toHaveLength(2)
      expect(gateway.results.every((result) => !result.reached)).toBe(true)
    })

    it('an upstream that does not answer because its name is unknown is unreachable', async () => {
      const gateway = await gatewayTo(`${scheme}://nobody.invalid:80`)
      await exchangeRaw(gateway.port, get('/', CLOSE))
      expect(await gateway.settled()).toMatchObject({ error: 'upstream_unreachable', reached: false })
    })

    it.each([
      ['FIN', (s: Socket) => s.end()],
      ['RST', (s: Socket) => s.resetAndDestroy()],
    ])('but closes with %s gives 502 and may have been reached', async (_what, close) => {
      const upstream = await rawUpstream((socket) => close(socket))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
      expect(text).toMatch(/^HTTP\/1\.1 502 /)
      expect(await gateway.settled()).toMatchObject({ error: 'bad_upstream_answer', reached: true, headSent: false })
      expect(upstream.received).toHaveLength(1)
    })

    it('in time gives 504', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 200 })
      const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
      expect(text).toMatch(/^HTTP\/1\.1 504 /)
      expect(await gateway.settled()).toMatchObject({ httpStatus: 0, error: 'upstream_timeout', reached: true })
    })

    it('in the time of its own rule gives 504, however long others may take', async () => {
      const upstream = await rawUpstream(() => {})
      const patience = { responseTimeoutMs: 200, idleTimeoutMs: 60_000 }
      const gateway = await gatewayTo(upstream.url, { patience, shortestMs: 200 })
      const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
      expect(text).toMatch(/^HTTP\/1\.1 504 /)
    })

    it('in time gives 504 also while it does not read a large body', async () => {
      const upstream = await rawUpstream((socket) => socket.pause())
      const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 300 })
      const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n')
      client.socket.write(Buffer.alloc(50_000_000))
      expect(await gateway.settled()).toMatchObject({ error: 'upstream_timeout', reached: true })
      await client.until('504')
      // What is left of the body is read to nowhere, so that the connection goes on.
      client.socket.write(get('/next', CLOSE))
      await until(() => client.ending() !== 'closed')
      expect(client.text().match(/HTTP\/1\.1 504/g)).toHaveLength(2)
    })
  })

  it('a client that keeps the upstream waiting for its body is waited for longer than for an answer, which has its whole time from then on', async () => {
    const upstream = await rawUpstream(() => {})
    const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 1000 })
    const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc')
    await sleep(2000)
    expect(gateway.results).toEqual([])
    client.socket.write('def')
    await sleep(100)
    upstream.sockets[0]?.write(OK)
    await client.until('ok')
    expect(await gateway.settled()).toMatchObject({ outcome: 'forwarded', httpStatus: 200 })
  })

  it('a client that keeps the upstream waiting for its body gets 504 where no answer comes after its last byte', async () => {
    const upstream = await rawUpstream(() => {})
    const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 300 })
    const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    await sleep(600)
    client.socket.write('1\r\nx\r\n0\r\n\r\n')
    await client.until('504')
    expect(await gateway.settled()).toMatchObject({ error: 'upstream_timeout', reached: true })
  })

  /** Answers the first request of each connection, and closes when the second one arrives. */
  const flaky = () => {
    const served = new WeakSet<object>()
    return rawUpstream((socket) => {
      if (served.has(socket)) socket.resetAndDestroy()
      else socket.write(OK)
      served.add(socket)
    })
  }

  it.each(['GET', 'OPTIONS'])(
    'an idle connection that the upstream closes just now is replaced, and %s sent once more',
    async (method) => {
      const upstream = await flaky()
      const gateway = await gatewayTo(upstream.url)
      for (let i = 0; i < 2; i++) {
        const { text } = await exchangeRaw(gateway.port, `${method} / HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`)
        expect(text).toMatch(/ok$/)
      }
      expect(upstream.received.join('').match(/^(GET|OPTIONS) /gm)).toHaveLength(3)
    },
  )

  it('an idle connection that the upstream closes just now is replaced by a new one, not by another that may be closed too', async () => {
    const heads: string[] = []
    // Answered when both are there, so that there are two connections.
    const waiting: Socket[] = []
    const upstream = await rawUpstream((socket, head, nth) => {
      heads.push(head)
      if (nth > 2) socket.resetAndDestroy()
      else if (waiting.push(socket) === 2) for (const each of waiting) each.write(OK)
    })
    const gateway = await gatewayTo(upstream.url)
    await Promise.all([exchangeRaw(gateway.port, get('/', CLOSE)), exchangeRaw(gateway.port, get('/', CLOSE))])
    expect(upstream.sockets).toHaveLength(2)
    expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/^HTTP\/1\.1 502/)
    expect(heads).toHaveLength(4)
    expect(upstream.sockets).toHaveLength(3)
  })

  it('an idle connection that the upstream closes just now is told as an upstream that cannot be reached where it takes no new one, of a request that it may have seen', async () => {
    let heads = 0
    const server = tcpServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', () => {
        if (++heads === 1) return void socket.write(OK)
        server.close()
        socket.resetAndDestroy()
      })
    })
    const gateway = await gatewayTo(`${scheme}://127.0.0.1:${await listening(server)}`)
    await exchangeRaw(gateway.port, get('/', CLOSE))
    expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/^HTTP\/1\.1 502/)
    expect(await gateway.settled(2)).toMatchObject({ error: 'upstream_unreachable', reached: true })
    expect(heads).toBe(2)
  })

  it('an idle connection that the upstream closes just now is replaced for one more attempt only', async () => {
    const upstream = await rawUpstream((socket, _head, nth) =>
      nth === 1 ? socket.write(OK) : socket.resetAndDestroy(),
    )
    const gateway = await gatewayTo(upstream.url)
    await exchangeRaw(gateway.port, get('/', CLOSE))
    const { text } = await exchangeRaw(gateway.port, get('/', CLOSE))
    expect(text).toMatch(/^HTTP\/1\.1 502/)
    expect(upstream.received.join('').match(/^GET /gm)).toHaveLength(3)
    expect((await gateway.settled(2)).reached).toBe(true)
  })

  it.each([
    ['POST', 'Content-Length: 0', false],
    ['DELETE', 'X: 1', false],
    ['GET', 'Content-Length: 2\r\nX: 1', true],
    ['GET', 'Content-Length: 2\r\nX: 1', false],
  ])(
    'an idle connection that the upstream closes just now is an error for %s with %s (body read before: %s): it may have been done',
    async (method, field, readBody) => {
      const upstream = await flaky()
      const gateway = await gatewayTo(upstream.url, { readBody })
      await exchangeRaw(gateway.port, get('/', CLOSE))
      const body = field.startsWith('Content-Length: 2') ? 'ab' : ''
      const { text } = await exchangeRaw(
        gateway.port,
        `${method} / HTTP/1.1\r\nHost: x\r\n${CLOSE}${field}\r\n\r\n${body}`,
      )
      expect(text).toMatch(/^HTTP\/1\.1 502/)
      expect(upstream.received.join('').match(new RegExp(`^${method} /`, 'gm'))).toHaveLength(method === 'GET' ? 2 : 1)
    },
  )

  it('an idle connection that the upstream closes just now is no reason to send again where the upstream keeps it open and is only slow', async () => {
    const upstream = await rawUpstream((socket, _head, nth) => nth === 1 && socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 200 })
    await exchangeRaw(gateway.port, get('/', CLOSE))
    expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/^HTTP\/1\.1 504/)
    expect(upstream.received.join('').match(/^GET /gm)).toHaveLength(2)
  })

  it('an idle connection that the upstream closes just now is no reason to send again where the answer had begun, or on a new connection', async () => {
    const upstream = await rawUpstream((socket, _head, nth) => {
      if (nth === 1) socket.write(OK)
      else socket.write('HTTP/1.1 2', () => setTimeout(() => socket.resetAndDestroy(), 30))
    })
    const gateway = await gatewayTo(upstream.url)
    await exchangeRaw(gateway.port, get('/', CLOSE))
    expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/^HTTP\/1\.1 502/)
    expect(upstream.received.join('').match(/^GET /gm)).toHaveLength(2)
  })

  it.each(['closes', 'keeps the connection'])(
    'an upstream that answers before it has read the body and %s gets its answer passed on',
    async (what) => {
      const upstream = await rawUpstream((socket) => {
        const response = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig'
        if (what === 'closes') socket.end(response)
        else socket.write(response)
      })
      const gateway = await gatewayTo(upstream.url)
      const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n')
      client.socket.write(Buffer.alloc(10_000))
      await client.until('big')
      client.socket.write(Buffer.alloc(2_990_000))
      client.socket.write(get('/next', CLOSE))
      await until(() => client.ending() !== 'closed')
      expect(client.text().match(/HTTP\/1\.1 413/g)).toHaveLength(2)
      expect(await gateway.settled()).toMatchObject({ httpStatus: 413, outcome: 'forwarded' })
    },
  )

  it('an upstream that answers before it has read the body with an error of ours leaves the connection usable too', async () => {
    const upstream = await rawUpstream((socket) => socket.end('nonsense\r\n\r\n'))
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nabc')
    await client.until('502')
    client.socket.write(Buffer.alloc(299_997))
    client.socket.write(get('/next', CLOSE))
    await until(() => client.ending() !== 'closed')
    expect(client.text().match(/HTTP\/1\.1 502/g)).toHaveLength(2)
  })

  it('a client that goes on sending although the upstream answered early is let go after some seconds', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nabc')
    await client.until('ok')
    const drip = setInterval(() => client.socket.write('x'), 100)
    await until(() => client.socket.closed)
    clearInterval(drip)
    expect(gateway.results).toMatchObject([{ outcome: 'forwarded', httpStatus: 200 }])
  })

  describe('a client that leaves', () => {
    it('within its upload ends the request to the upstream', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url)
      const client = rawClient(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc')
      await until(() => upstream.received[0]?.endsWith('abc') === true)
      client.socket.destroy()
      expect(await gateway.settled()).toMatchObject({ httpStatus: 0, outcome: 'aborted', error: null, reached: true })
      await until(() => upstream.sockets[0]?.readableEnded === true || upstream.sockets[0]?.destroyed === true)
    })

    it('within the download ends the request to the upstream', async () => {
      const upstream = await rawUpstream((socket) => socket.write(SHORT))
      const gateway = await gatewayTo(upstream.url)
      const client = rawClient(gateway.port, get('/'))
      await client.until('abc')
      client.socket.destroy()
      expect(await gateway.settled()).toMatchObject({ httpStatus: 200, outcome: 'aborted', headSent: true })
      await until(() => upstream.sockets[0]?.readableEnded === true || upstream.sockets[0]?.destroyed === true)
    })

    it('while the answer is awaited ends the request to the upstream', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url)
      const client = rawClient(gateway.port, get('/1'))
      await until(() => upstream.sockets.length === 1)
      client.socket.resetAndDestroy()
      expect(await gateway.settled()).toMatchObject({ outcome: 'aborted' })
      await until(() => upstream.sockets[0]?.readableEnded === true || upstream.sockets[0]?.destroyed === true)
    })

    it('before its request is sent never reaches the upstream', async () => {
      const upstream = await rawUpstream(() => {})
      let admit = (): void => {}
      const admitted = new Promise<void>((resolve) => {
        admit = resolve
      })
      const gateway = await gatewayTo(upstream.url, { admit: () => admitted })
      const client = rawClient(gateway.port, get('/'))
      await until(() => (gateway.server as unknown as { _connections: number })._connections === 1)
      await sleep(20)
      client.socket.destroy()
      await sleep(20)
      admit()
      expect(await gateway.settled()).toMatchObject({ outcome: 'aborted', reached: false, headSent: false })
      expect(upstream.received).toEqual([])
    })

    it('while it waits for a connection never reaches the upstream, and costs none of the others theirs', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url, { maxConnections: 1 })
      rawClient(gateway.port, get('/first'))
      await until(() => upstream.sockets.length === 1)
      const second = rawClient(gateway.port, get('/second'))
      const third = rawClient(gateway.port, get('/third', CLOSE))
      await sleep(30)
      second.socket.destroy()
      expect(await gateway.settled()).toMatchObject({ outcome: 'aborted', reached: false })
      upstream.sockets[0]?.write(OK)
      await until(() => upstream.received.join('').includes('/third'))
      upstream.sockets[0]?.write(OK)
      await third.until('ok')
      expect(upstream.received.join('')).not.toContain('/second')
      expect(upstream.sockets).toHaveLength(1)
    })

    it('while it waits for a connection leaves no timer behind', async () => {
      // Timers of the tests before end meanwhile: so many wait here that those make no difference.
      const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url, { maxConnections: 1, responseTimeoutMs: 600_000 })
      rawClient(gateway.port, get('/first'))
      await until(() => upstream.sockets.length === 1)
      const waiting = Array.from({ length: 200 }, () => rawClient(gateway.port, get('/next')))
      await until(() => timers() >= 200)
      for (const { socket } of waiting) socket.destroy()
      await gateway.settled(200)
      await until(() => timers() < 100)
    })

    it('a client that leaves by reading nothing for the idle timeout is let go', async () => {
      const upstream = await httpUpstream((_req, res) => {
        res.writeHead(200, { 'content-length': 100_000_000 })
        const more = (): void => {
          while (res.write(Buffer.alloc(65_536)));
          res.once('drain', more)
        }
        more()
      })
      // Long enough that an upstream on a busy machine is not taken for one that stopped in the middle.
      const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 1000 })
      const client = rawClient(gateway.port, get('/'))
      client.socket.pause()
      expect(await gateway.settled()).toMatchObject({
        outcome: 'aborted',
        reason: expect.stringContaining('stopped reading'),
      })
    })
  })

  describe('when every connection is busy', () => {
    it('requests wait their turn, in order', async () => {
      let open = 0
      let most = 0
      const order: string[] = []
      const upstream = await httpUpstream(async (req, res) => {
        most = Math.max(most, ++open)
        order.push(req.url ?? '')
        await sleep(10)
        open--
        res.end('ok')
      })
      const gateway = await gatewayTo(upstream.url, { maxConnections: 2 })
      const paths = Array.from({ length: 10 }, (_, i) => `/${i}`)
      await Promise.all(paths.map((path) => fetch(gateway.url + path).then((r) => r.text())))
      expect(most).toBe(2)
      expect(order).toHaveLength(10)
    })

    it('a request that gets none in time was certainly not sent', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url, { maxConnections: 1, responseTimeoutMs: 250 })
      rawClient(gateway.port, get('/first'))
      await until(() => upstream.sockets.length === 1)
      const { text } = await exchangeRaw(gateway.port, get('/second', CLOSE))
      await gateway.settled(2)
      expect(text).toMatch(/^HTTP\/1\.1 50[24]/)
      expect(
        gateway.results.filter((r) => !r.reached).length + upstream.received.join('').split('/second').length - 1,
      ).toBe(1)
    })
  })
})
