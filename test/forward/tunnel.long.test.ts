import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { UpgradeExchange } from '../../src/forward/contract.ts'
import { atEnd } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'
import {
  assertNoSurprises,
  callerNamed,
  exchangeRaw,
  type Gateway,
  gatewayTo,
  overEachTransport,
  type RawUpstream,
  rawClient,
  until,
} from './support.ts'

assertNoSurprises()

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const SWITCH = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`

function handshake(path = '/', more = ''): string {
  const fields = `Connection: keep-alive, Upgrade, X-Secret\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`
  return `GET ${path} HTTP/1.1\r\nHost: gateway.test\r\n${fields}${more}\r\n`
}

function dial(gateway: Gateway, path = '/'): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}${path}`, 'chat', {
    headers: { 'X-Forwarded-For': '6.6.6.6' },
  })
  atEnd(() => socket.terminate())
  socket.on('error', () => {})
  return socket
}

const LEAVE: [string, (socket: Socket) => unknown][] = [
  ['FIN', (socket) => socket.end()],
  ['RST', (socket) => socket.resetAndDestroy()],
]

const PIECE = Buffer.alloc(16 * 1024)

/** The next handshake, which the caller forwards. */
function nextUpgrade({ server }: Gateway): Promise<UpgradeExchange> {
  const admitted = {
    target: '/',
    caller: callerNamed('alice'),
    passCredentials: false,
    requestId: 'req-1',
    trace: null,
    exposed: null,
    patience: null,
    responseHeaders: [],
  }
  server.removeAllListeners('upgrade')
  return new Promise((resolve) => {
    server.once('upgrade', (req, socket, head) => resolve({ ...admitted, req, socket, head }))
  })
}

/** Sends from the upstream until nobody reads on from it, since the client takes no more. */
async function fill(upstreams: readonly Socket[], client: Socket): Promise<void> {
  // The upstream's head is through.
  await until(() => client.bytesWritten > 0)
  const [upstream] = upstreams as [Socket]
  while (!client.destroyed && (!client.writableNeedDrain || upstream.writableLength < 1_000_000)) {
    upstream.write(Buffer.alloc(1_000_000))
    await sleep(5)
  }
}

/** A handshake whose client reads nothing, when so much waits for it that the gateway has stopped reading the upstream. */
async function unread(upstream: RawUpstream, idleTimeoutMs: number) {
  const gateway = await gatewayTo(upstream.url, { idleTimeoutMs })
  const upgraded = nextUpgrade(gateway)
  const reader = rawClient(gateway.port, handshake(), true)
  reader.socket.pause()
  const exchange = await upgraded
  const forwarded = gateway.forwarder.upgrade(exchange)
  await fill(upstream.sockets, exchange.socket as Socket)
  return { reader, forwarded, client: exchange.socket as Socket }
}

overEachTransport(({ scheme, httpUpstream, rawUpstream }) => {
  async function echoUpstream() {
    const { url, server } = await httpUpstream((_req, res) => void res.end('plain'))
    const sockets = new WebSocketServer({ server, handleProtocols: () => 'chat' })
    sockets.on('connection', (socket, req) => {
      socket.on('message', (data, binary) => socket.send(data, { binary }))
      socket.send(`${req.url} ${req.headers['x-tollgate-user']} ${req.headers['x-forwarded-for']}`)
    })
    atEnd(() => {
      for (const client of sockets.clients) client.terminate()
    })
    return { url, sockets }
  }

  /** A tunnel. @param stays an end that does not end its side with the other */
  async function opened(stays: { upstreamStays?: boolean; clientStays?: boolean } = {}) {
    const upstream = await rawUpstream((socket) => socket.write(SWITCH), stays.upstreamStays)
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, handshake(), stays.clientStays)
    await client.until('101')
    return { upstream, gateway, client }
  }

  it('a WebSocket through the gateway carries messages both ways, and tells the upstream who it is', async () => {
    const { url } = await echoUpstream()
    const gateway = await gatewayTo(url)
    const socket = dial(gateway, '/room?a=1&b')
    const [welcome] = await once(socket, 'message')
    expect(String(welcome)).toBe('/room?a=1&b alice 127.0.0.1')
    expect(socket.protocol).toBe('chat')
    const big = Buffer.alloc(3_000_000, 'x')
    socket.send(big)
    const [echo] = await once(socket, 'message')
    expect(big.equals(echo as Buffer)).toBe(true)
    socket.close(4001, 'bye')
    await once(socket, 'close')
    expect(await gateway.settled()).toEqual({
      httpStatus: 101,
      outcome: 'forwarded',
      error: null,
      reached: true,
      headSent: true,
      reason: null,
      lenient: [],
    })
  })

  it('a WebSocket through the gateway asks the upstream with a head of our making, to the byte', async () => {
    const upstream = await rawUpstream((socket) => socket.write(SWITCH))
    const gateway = await gatewayTo(upstream.url)
    const forged =
      'X-Secret: 1\r\nX-Tollgate-User: forged\r\nAuthorization: Bearer t\r\nX-Twice: 1\r\nX-Twice: 2\r\n__proto__: x\r\n'
    const client = rawClient(gateway.port, handshake('/a//b?x?y=%20&', forged))
    await client.until('101')
    const sent = upstream.received[0] ?? ''
    expect(sent).toMatch(/^GET \/a\/\/b\?x\?y=%20& HTTP\/1\.1\r\n/)
    expect(sent.match(/^host: .*$/gim)).toEqual(['host: gateway.test'])
    expect(sent.match(/^connection: .*$/gim)).toEqual(['connection: Upgrade'])
    expect(sent.match(/^x-twice: .*$/gim)).toHaveLength(2)
    expect(sent).toContain('x-tollgate-user: alice')
    for (const gone of ['x-secret', 'authorization', 'forged', '__proto__'])
      expect(sent.toLowerCase()).not.toContain(gone)
  })

  it('a WebSocket through the gateway asks for the very target, an empty query too', async () => {
    const upstream = await rawUpstream((socket) => socket.write(SWITCH))
    const gateway = await gatewayTo(upstream.url)
    await rawClient(gateway.port, handshake('/a?')).until('101')
    expect(upstream.received[0]).toMatch(/^GET \/a\? HTTP/)
  })

  it('a WebSocket through the gateway gets a 101 with our fields and without the upstream’s hop-by-hop ones', async () => {
    const upstream = await rawUpstream((socket) => {
      socket.write(
        SWITCH.replace(
          '\r\n\r\n',
          '\r\nKeep-Alive: timeout=5\r\nX-Request-Id: theirs\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n',
        ),
      )
    })
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, handshake())
    await client.until('\r\n\r\n')
    expect(client.text()).toMatch(/^HTTP\/1\.1 101 /)
    expect(client.text().toLowerCase()).toContain('x-request-id: req-1')
    expect(client.text().toLowerCase()).toContain(`sec-websocket-accept: ${ACCEPT.toLowerCase()}`)
    expect(client.text().match(/set-cookie/gi)).toHaveLength(2)
    expect(client.text()).not.toMatch(/keep-alive|theirs/i)
  })

  it('a WebSocket through the gateway is opened by an upstream that writes WebSocket in other letters', async () => {
    const upstream = await rawUpstream((socket) => socket.write(SWITCH.replace('websocket', 'WebSocket')))
    const gateway = await gatewayTo(upstream.url)
    await rawClient(gateway.port, handshake()).until('101')
  })

  it('a WebSocket through the gateway has its time to connect and its time for an answer one after the other', async () => {
    const upstream = await rawUpstream((socket) => setTimeout(() => socket.write(SWITCH), 300))
    const gateway = await gatewayTo(upstream.url, { connectTimeoutMs: 100 })
    await rawClient(gateway.port, handshake()).until('101')
  })

  it('a WebSocket through the gateway leaves no timer behind, opened or not', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    // Timers of the tests before end meanwhile: there are so many here that those make no difference.
    for (const response of [SWITCH, '']) {
      const upstream = await rawUpstream((socket) => socket.write(response))
      const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 600_000 })
      const clients = Array.from({ length: 200 }, () => rawClient(gateway.port, handshake()))
      await until(() => upstream.received.filter((text) => text.includes('\r\n\r\n')).length === 200)
      if (response === '') for (const { socket } of clients) socket.resetAndDestroy()
      else await Promise.all(clients.map((client) => client.until('101')))
      await until(() => timers() < 100)
    }
  })

  it('a WebSocket through the gateway delivers what either side sends together with its handshake', async () => {
    const upstream = await rawUpstream((socket) => socket.write(`${SWITCH}early-down`))
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, `${handshake()}early-up`)
    await client.until('early-down')
    await until(() => upstream.received[0]?.endsWith('early-up') === true)
  })

  it('a WebSocket through the gateway passes nothing on before the upstream has agreed', async () => {
    const upstream = await rawUpstream(() => {})
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, `${handshake()}GET /admin HTTP/1.1\r\n\r\n`)
    await until(() => upstream.received[0]?.includes('\r\n\r\n') === true)
    await sleep(50)
    expect(upstream.received[0]).not.toContain('/admin')
    client.socket.destroy()
  })

  it('a WebSocket through the gateway is not cut for being idle', async () => {
    const { url } = await echoUpstream()
    const gateway = await gatewayTo(url, { idleTimeoutMs: 50, responseTimeoutMs: 50, connectTimeoutMs: 50 })
    const socket = dial(gateway)
    await once(socket, 'message')
    await sleep(300)
    socket.send('still here')
    const [echo] = await once(socket, 'message')
    expect(String(echo)).toBe('still here')
  })

  describe('an upstream that does not open the tunnel', () => {
    it.each([
      [
        'with a length',
        'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\r\nno',
      ],
      ['in chunks', 'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n'],
      ['until it closes', 'HTTP/1.1 403 Forbidden\r\n\r\nno'],
    ])(
      'an upstream that does not open the tunnel has its answer %s passed on as a plain one, and the connection is closed',
      async (_what, response) => {
        const upstream = await rawUpstream((socket) =>
          response.includes('\r\n\r\nno') && !response.includes('Length')
            ? socket.end(response)
            : socket.write(response),
        )
        const gateway = await gatewayTo(upstream.url)
        const { text, ending } = await exchangeRaw(gateway.port, handshake())
        expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/)
        expect(text).toMatch(/\r\nConnection: close\r\n\r\nno$/)
        expect(text).toContain('X-Request-Id: req-1')
        expect(text).not.toMatch(/X-Hop|chunked/)
        expect(ending).toBe('end')
        expect(await gateway.settled()).toMatchObject({ httpStatus: 403, outcome: 'forwarded', headSent: true })
      },
    )

    it('an upstream that does not open the tunnel because it wants another version says so by the Upgrade of its 426', async () => {
      const fields = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0'
      const upstream = await rawUpstream((socket) => socket.write(`HTTP/1.1 426 Upgrade Required\r\n${fields}\r\n\r\n`))
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, handshake())
      expect(text).toMatch(/^HTTP\/1\.1 426 .*\r\nUpgrade: websocket\r\n/s)
      expect(text).toMatch(/\r\nConnection: close, Upgrade\r\n\r\n$/)
    })

    it('an upstream that does not open the tunnel and takes longer over the body of its answer than over the head has all of it passed on', async () => {
      const upstream = await rawUpstream(async (socket) => {
        socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n')
        await sleep(1500)
        socket.write('no')
      })
      const gateway = await gatewayTo(upstream.url, { responseTimeoutMs: 700 })
      expect((await exchangeRaw(gateway.port, handshake())).text).toMatch(/^HTTP\/1\.1 403 [\s\S]*\r\n\r\nno$/)
      expect(await gateway.settled()).toMatchObject({ httpStatus: 403, outcome: 'forwarded' })
    })

    it.each([
      [30_000, '403'],
      [40_000, '502'],
    ])(
      'an upstream that does not open the tunnel and answers with a head of %i bytes: up to maxHeaderSize it is passed on',
      async (length, status) => {
        const long = `X-Long: ${'x'.repeat(length)}`
        const upstream = await rawUpstream((socket) =>
          socket.write(`HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n${long}\r\n\r\nno`),
        )
        const gateway = await gatewayTo(upstream.url, { maxHeaderSize: 32 * 1024 })
        const { text } = await exchangeRaw(gateway.port, handshake())
        expect([text.slice(9, 12), text.includes(long)]).toEqual([status, status === '403'])
      },
    )

    it('an upstream that does not open the tunnel and breaks its answer off breaks off the client', async () => {
      const upstream = await rawUpstream(async (socket) => {
        socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 20\r\n\r\nno')
        await sleep(20)
        socket.end()
      })
      const gateway = await gatewayTo(upstream.url)
      expect((await exchangeRaw(gateway.port, handshake())).ending).toBe('ECONNRESET')
      expect(await gateway.settled()).toMatchObject({
        httpStatus: 403,
        outcome: 'failed',
        error: 'bad_upstream_answer',
      })
    })

    it.each([
      ['closes', ''],
      ['talks nonsense', 'nonsense\r\n\r\n'],
      ['has a status that is none', 'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n'],
      ['switches without saying to what', 'HTTP/1.1 101 Switching Protocols\r\n\r\nxxxxxx'],
      ['accepts no WebSocket', SWITCH.replace(/Sec-WebSocket-Accept.*\r\n/, '')],
      ['accepts another WebSocket', SWITCH.replace(ACCEPT, createHash('sha1').update('other').digest('base64'))],
      ['accepts two', SWITCH.replace('\r\n\r\n', `\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`)],
      ['switches to something else', SWITCH.replace('websocket', 'h2c')],
      ['does not name Upgrade in Connection', SWITCH.replace('Connection: Upgrade', 'Connection: keep-alive')],
    ])('an upstream that does not open the tunnel because it %s is answered by the caller', async (_what, response) => {
      const upstream = await rawUpstream((socket) => socket.end(response))
      const gateway = await gatewayTo(upstream.url)
      expect((await exchangeRaw(gateway.port, handshake())).text).toMatch(/^HTTP\/1\.1 502 /)
      expect(await gateway.settled()).toMatchObject({
        httpStatus: 0,
        error: 'bad_upstream_answer',
        reached: true,
        headSent: false,
      })
    })

    it('an upstream that does not open the tunnel because its 101 is no acceptance gets and gives not a byte more', async () => {
      const upstream = await rawUpstream((socket) =>
        socket.write(`${SWITCH.replace(ACCEPT, 'x')}HTTP/1.1 200 OK\r\n\r\n`),
      )
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, `${handshake()}GET /admin HTTP/1.1\r\n\r\n`)
      expect(text).not.toMatch(/101|200 OK/)
      await until(() => upstream.sockets[0]?.destroyed === true)
      expect(upstream.received[0]).not.toContain('/admin')
    })

    it('an upstream that does not open the tunnel and stops in the middle of its answer is cut after the idle timeout, and the client with it', async () => {
      const upstream = await rawUpstream((socket) =>
        socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nno'),
      )
      const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 80 })
      const { text } = await exchangeRaw(gateway.port, handshake())
      expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*no$/)
      expect(await gateway.settled()).toMatchObject({ httpStatus: 403, outcome: 'failed', headSent: true })
      await until(() => upstream.sockets[0]?.destroyed === true)
    })

    it.each([
      ['reads all of its answer, if late', true, 'forwarded', 'end'],
      ['reads nothing of its answer', false, 'aborted', 'ECONNRESET'],
    ] as const)(
      'an upstream that does not open the tunnel and whose client %s',
      async (_what, reads, outcome, ending) => {
        const upstream = await rawUpstream((socket) =>
          socket.write('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n'),
        )
        const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: reads ? 60_000 : 300 })
        const upgraded = nextUpgrade(gateway)
        const reader = rawClient(gateway.port, handshake(), true)
        reader.socket.pause()
        const exchange = await upgraded
        const forwarded = gateway.forwarder.upgrade(exchange)
        const client = exchange.socket as Socket
        await until(() => client.bytesWritten > 0)
        const head = client.bytesWritten
        let sent = 0
        // Until the kernels take no more, and a little waits.
        while (client.writableLength === 0) {
          upstream.sockets[0]?.write(`4000\r\n${PIECE.toString('latin1')}\r\n`, 'latin1')
          sent += PIECE.length
          await until(() => client.bytesWritten === head + sent)
        }
        upstream.sockets[0]?.write('0\r\n\r\n')
        await until(() => client.writableEnded)
        if (reads) reader.socket.resume()
        expect(await forwarded).toMatchObject({ httpStatus: 403, outcome })
        reader.socket.resume()
        await until(() => reader.socket.readableEnded || reader.socket.destroyed)
        expect(reader.ending()).toBe(ending)
        if (reads) expect(reader.text()).toHaveLength(head + sent)
      },
    )

    it('an upstream that does not open the tunnel and whose client stops reading in the middle of its answer is not to blame', async () => {
      const upstream = await rawUpstream((socket) =>
        socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000000\r\n\r\n'),
      )
      const { reader, forwarded } = await unread(upstream, 3000)
      expect(await forwarded).toMatchObject({
        httpStatus: 403,
        outcome: 'aborted',
        error: null,
        reason: expect.stringContaining('stopped reading'),
      })
      await until(() => upstream.sockets[0]?.destroyed === true)
      reader.socket.resume()
      await until(() => reader.socket.destroyed)
      expect(reader.ending()).toBe('ECONNRESET')
    })

    it('an upstream that does not open the tunnel because it sends interim answers without end is given up', async () => {
      const upstream = await rawUpstream((socket) => {
        const storm = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50)), 1)
        socket.once('close', () => clearInterval(storm))
      })
      const gateway = await gatewayTo(upstream.url)
      const { text } = await exchangeRaw(gateway.port, handshake())
      expect(text.replaceAll('HTTP/1.1 103 Early Hints\r\n\r\n', '')).toMatch(/^HTTP\/1\.1 502 /)
      expect(await gateway.settled()).toMatchObject({ error: 'bad_upstream_answer', reached: true, headSent: false })
      await until(() => upstream.sockets[0]?.destroyed === true)
    })

    it('an upstream that does not open the tunnel because nobody listens was certainly not reached', async () => {
      const gateway = await gatewayTo(`${scheme}://127.0.0.1:${await freePort()}`)
      expect((await exchangeRaw(gateway.port, handshake())).text).toMatch(/^HTTP\/1\.1 502 /)
      expect(await gateway.settled()).toMatchObject({ error: 'upstream_unreachable', reached: false, headSent: false })
    })

    it.each([
      ['in time', { responseTimeoutMs: 100 }],
      ['in the time of its own rule', { patience: { responseTimeoutMs: 100, idleTimeoutMs: 60_000 } }],
    ])('%s gives a timeout', async (_what, options) => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url, options)
      await exchangeRaw(gateway.port, handshake())
      const reason = 'UPSTREAM_TIMEOUT: no answer in time'
      expect(await gateway.settled()).toMatchObject({ error: 'upstream_timeout', reached: true, reason })
    })

    it('an upstream that does not open the tunnel because it cannot be asked is a failure, and no exception', async () => {
      const gateway = await gatewayTo(`${scheme}://127.0.0.1:1`)
      const upgraded = nextUpgrade(gateway)
      rawClient(gateway.port, handshake())
      const result = await gateway.forwarder.upgrade({ ...(await upgraded), target: '/a b' })
      expect(result).toMatchObject({ outcome: 'failed', reached: false, reason: expect.stringContaining('UNESCAPED') })
    })

    it('an upstream that does not open the tunnel is not asked where the client has left while it was admitted', async () => {
      const upstream = await rawUpstream((socket) => socket.write(SWITCH))
      const gateway = await gatewayTo(upstream.url)
      const upgraded = nextUpgrade(gateway)
      rawClient(gateway.port, handshake())
      const exchange = await upgraded
      exchange.socket.destroy()
      await once(exchange.socket, 'close')
      const left = await gateway.forwarder.upgrade(exchange)
      expect(left).toMatchObject({ outcome: 'aborted', error: null, reached: false, headSent: false })
      expect(upstream.sockets).toEqual([])
    })

    it.each(LEAVE.flatMap(([what, leave]) => ['', 'early'].map((ahead) => [what, ahead, leave] as const)))(
      'before the client leaves by %s, having sent %j ahead, is left alone too',
      async (_what, ahead, leave) => {
        const upstream = await rawUpstream(() => {})
        const gateway = await gatewayTo(upstream.url)
        const client = rawClient(gateway.port, handshake())
        await until(() => upstream.sockets.length === 1)
        client.socket.write(ahead)
        await sleep(20)
        leave(client.socket)
        expect(await gateway.settled()).toMatchObject({ outcome: 'aborted', headSent: false })
        await until(() => client.socket.destroyed)
        await until(() => upstream.sockets[0]?.destroyed === true || upstream.sockets[0]?.readableEnded === true)
      },
    )

    it('an upstream that does not open the tunnel gets nothing of a client that sends more than 16 KiB ahead, which is closed', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url)
      const client = rawClient(gateway.port, handshake())
      await until(() => upstream.received[0]?.includes('\r\n\r\n') === true)
      client.socket.write(PIECE)
      client.socket.write('and more')
      await until(() => client.socket.destroyed)
      expect(await gateway.settled()).toMatchObject({ outcome: 'aborted', headSent: false })
      expect(upstream.received[0]).not.toContain('and more')
    })

    it('an upstream that does not open the tunnel because the client had ended its side while it was admitted is left alone', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url)
      const upgraded = nextUpgrade(gateway)
      const client = rawClient(gateway.port, handshake(), true)
      const exchange = await upgraded
      client.socket.end()
      await until(() => (exchange.socket as Socket).readableEnded)
      expect(await gateway.forwarder.upgrade(exchange)).toMatchObject({ outcome: 'aborted', headSent: false })
      await until(() => client.socket.readableEnded)
    })

    it('an upstream that does not open the tunnel does, and is given what the client has sent ahead', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url)
      const upgraded = nextUpgrade(gateway)
      const client = rawClient(gateway.port, handshake())
      const exchange = await upgraded
      void gateway.forwarder.upgrade(exchange)
      await until(() => upstream.received[0]?.includes('\r\n\r\n') === true)
      const early = once(exchange.socket, 'data')
      client.socket.write('early')
      await early
      upstream.sockets[0]?.write(SWITCH)
      await until(() => upstream.received[0]?.endsWith('\r\n\r\nearly') === true)
      client.socket.write(', late')
      await until(() => upstream.received[0]?.endsWith('early, late') === true)
    })
  })

  it.each(LEAVE)('the end of a tunnel by %s of the client closes the upstream’s side', async (_what, close) => {
    const { upstream, gateway, client } = await opened()
    close(client.socket)
    await until(() => upstream.sockets[0]?.destroyed === true)
    expect(await gateway.settled()).toMatchObject({ httpStatus: 101, outcome: 'forwarded' })
  })

  it.each(LEAVE)('the end of a tunnel by %s of the upstream closes the client’s side', async (_what, close) => {
    const { upstream, gateway, client } = await opened()
    close(upstream.sockets[0] as Socket)
    await until(() => client.socket.destroyed)
    expect(await gateway.settled()).toMatchObject({ httpStatus: 101, outcome: 'forwarded' })
  })

  it.each(LEAVE)(
    'the end of a tunnel by %s of the client leaves nothing half open where the upstream ignores it',
    async (_what, close) => {
      const { gateway, client } = await opened({ upstreamStays: true })
      close(client.socket)
      expect((await gateway.settled()).outcome).toBe('forwarded')
    },
  )

  it('the end of a tunnel leaves nothing half open where the client ignores the upstream’s', async () => {
    const { upstream, gateway } = await opened({ clientStays: true })
    upstream.sockets[0]?.end()
    expect((await gateway.settled()).outcome).toBe('forwarded')
  })

  it('the end of a tunnel is told once the client’s side is closed, also where it reads nothing of what is left', async () => {
    const upstream = await rawUpstream((socket) => socket.write(SWITCH))
    const gateway = await gatewayTo(upstream.url)
    const upgraded = nextUpgrade(gateway)
    rawClient(gateway.port, handshake(), true).socket.pause()
    const exchange = await upgraded
    const forwarded = gateway.forwarder.upgrade(exchange)
    const client = exchange.socket as Socket
    await until(() => client.bytesWritten > 0)
    // Until the kernels take no more, and a little waits; where much does, nobody reads on and so sees the upstream's end.
    for (let sent = client.bytesWritten; client.writableLength === 0; sent += PIECE.length) {
      upstream.sockets[0]?.write(PIECE)
      await until(() => client.bytesWritten === sent + PIECE.length)
    }
    upstream.sockets[0]?.end()
    const result = await forwarded
    expect(client.closed).toBe(true)
    expect(result).toMatchObject({ httpStatus: 101, outcome: 'forwarded' })
  })

  it.each(LEAVE)(
    'the end of a tunnel by %s of the upstream ends it also where the client reads nothing of what waits',
    async (_what, close) => {
      const upstream = await rawUpstream((socket) => socket.write(SWITCH))
      const { forwarded } = await unread(upstream, 1000)
      close(upstream.sockets[0] as Socket)
      expect(await forwarded).toMatchObject({
        httpStatus: 101,
        outcome: 'aborted',
        reason: expect.stringContaining('stopped reading'),
      })
    },
  )

  it('the end of a tunnel goes on where the client reads what waits before its time is over', async () => {
    const upstream = await rawUpstream((socket) => socket.write(SWITCH))
    const { reader, client } = await unread(upstream, 4000)
    reader.socket.resume()
    await until(() => client.writableLength === 0 && upstream.sockets[0]?.writableLength === 0)
    await sleep(5000)
    upstream.sockets[0]?.write('last words')
    await until(() => reader.text().endsWith('last words'))
  })

  it.each(LEAVE)(
    'the end of a tunnel comes where the upstream reads nothing, also after %s of the client',
    async (_what, close) => {
      const upstream = await rawUpstream((socket) => {
        socket.pause()
        socket.write(SWITCH)
      })
      const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 1000 })
      const client = rawClient(gateway.port, handshake(), true)
      await client.until('101')
      // Until the gateway reads no more, since the upstream does not.
      while (client.socket.writableLength < 1_000_000) {
        client.socket.write(Buffer.alloc(1_000_000))
        await sleep(5)
      }
      close(client.socket)
      expect(await gateway.settled()).toMatchObject({
        httpStatus: 101,
        outcome: 'failed',
        error: 'upstream_timeout',
        reason: expect.stringContaining('stopped reading'),
      })
      await until(() => upstream.sockets[0]?.resume().closed === true)
    },
  )

  it('the end of a tunnel delivers the last words', async () => {
    const upstream = await rawUpstream((socket) => {
      socket.write(SWITCH)
      socket.end(Buffer.alloc(2_000_000, 'z'))
    })
    const gateway = await gatewayTo(upstream.url)
    const { text } = await exchangeRaw(gateway.port, handshake())
    expect(text.length).toBeGreaterThan(2_000_000)
  })

  it('the end of a tunnel comes with destroy(), while close() waits for it', async () => {
    const { url } = await echoUpstream()
    const gateway = await gatewayTo(url)
    const socket = dial(gateway)
    await once(socket, 'message')
    let closed = false
    const closing = gateway.forwarder.close().then(() => {
      closed = true
    })
    await sleep(50)
    expect(closed).toBe(false)
    const gone = once(socket, 'close')
    await gateway.forwarder.destroy()
    await Promise.all([gone, closing])
  })

  it('the end of a tunnel comes with destroy() before the upstream has agreed, too', async () => {
    const upstream = await rawUpstream(() => {})
    const gateway = await gatewayTo(upstream.url)
    const client = rawClient(gateway.port, handshake())
    await until(() => upstream.received[0]?.includes('\r\n\r\n') === true)
    await gateway.forwarder.destroy()
    await client.until('HTTP/1.1 502')
    expect(await gateway.settled()).toMatchObject({ outcome: 'failed', reached: true, headSent: false })
    await until(() => upstream.sockets[0]?.destroyed === true)
  })

  it('the end of a tunnel survives a hundred abrupt ones at random moments', async () => {
    const { url } = await echoUpstream()
    const gateway = await gatewayTo(url)
    for (let i = 0; i < 100; i++) {
      const client = rawClient(gateway.port, handshake())
      setTimeout(() => (i % 2 ? client.socket.resetAndDestroy() : client.socket.destroy()), i % 10)
    }
    await until(() => gateway.results.length > 0)
    const socket = dial(gateway)
    await once(socket, 'message')
  })
})
