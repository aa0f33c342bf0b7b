import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { Backlog } from '../../src/forward/backlog.ts'
import {
  assertNoSurprises,
  CLOSE,
  exchangeRaw,
  type Gateway,
  type GatewayOptions,
  gatewayTo,
  get,
  overEachWay,
  rawClient,
  until,
} from './support.ts'

assertNoSurprises()

const KIB = 1024
const MIB = 1024 * KIB

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** What of memory is alive. Buffers are freed behind a collection, and found free by the next one. */
async function alive(): Promise<NodeJS.MemoryUsage> {
  for (let i = 0; i < 3; i++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return process.memoryUsage()
}

/** A body of which no two stretches are alike. */
function octets(size: number): Buffer {
  const body = Buffer.allocUnsafe(size)
  for (let i = 0; i < size; i++) body[i] = 97 + ((Math.imul(i, 2_654_435_761) >>> 24) % 26)
  return body
}

const LARGE = octets(64 * MIB)

overEachWay(({ rawUpstream, httpUpstream }) => {
  /**
   * A response whose client reads nothing, from the moment on at which its connection takes no more: what follows can only wait
   * in the gateway.
   */
  async function unread(options: GatewayOptions & { framing?: string; line?: string }) {
    const { framing = 'Transfer-Encoding: chunked', line = get('/', ''), ...rest } = options
    const isChunked = framing.startsWith('Transfer')
    const frame = (piece: Buffer) =>
      isChunked ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]) : piece
    let body = ''
    let socket: Socket | undefined
    let response: ServerResponse | undefined
    const upstream = await rawUpstream((connection) => {
      socket = connection
      connection.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`)
    })
    const gateway = await gatewayTo(upstream.url, rest)
    gateway.server.on('request', (_req, res) => {
      response = res
    })
    const client = rawClient(gateway.port, line)
    client.socket.pause()
    await until(() => socket !== undefined && response?.headersSent === true)
    const res = response as ServerResponse
    const connection = socket as Socket
    connection.on('error', () => {})
    const send = (size: number) => {
      const piece = octets(size)
      body += piece.toString('latin1')
      return connection.write(frame(piece))
    }
    while (!res.writableNeedDrain) {
      const before = res.writableLength
      send(before > 0 ? 8 * KIB : 60 * KIB)
      await until(() => connection.writableLength === 0)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return { upstream, gateway, client, res, socket: connection, send, body: () => body }
  }

  const held = (gateway: Gateway): number => gateway.forwarder.held.bytes

  /** Sends until the upstream's own connection is full as well. */
  async function sendTillFull({ send, socket }: Awaited<ReturnType<typeof unread>>): Promise<void> {
    for (let left = 64 * MIB; left > 0 && socket.writableLength < MIB; left -= 256 * KIB) {
      send(256 * KIB)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  it('a client that reads nothing leaves the connection to the upstream to others, once the rest of its response fits', async () => {
    const { upstream, gateway, client, socket, send, body } = await unread({ maxConnections: 1 })
    send(100 * KIB)
    await until(() => held(gateway) > 100 * KIB)
    const other = rawClient(gateway.port, get('/next', CLOSE))
    socket.write('0\r\n\r\n')
    await until(() => upstream.received.join('').includes('/next'))
    expect(upstream.sockets).toHaveLength(1)
    expect(gateway.given).toEqual(['upstream_connections'])
    expect(gateway.results).toEqual([])
    client.socket.resume()
    await client.until('\r\n0\r\n\r\n')
    expect(dechunked(client.text())).toBe(body())
    expect(await gateway.settled()).toMatchObject({ outcome: 'forwarded', reason: null })
    other.socket.destroy()
    await gateway.settled(2)
    expect(held(gateway)).toBe(0)
  })

  it.each([
    ['is larger than the buffer of a response', { buffer: 256 * KIB }, 256 * KIB],
    ['is larger than what is left of the buffer of all', { buffer: MIB, bufferTotal: 256 * KIB }, 256 * KIB],
    ['would be buffered, with buffer: 0', { buffer: 0 }, 64 * KIB],
  ])('a response that %s keeps its connection, and the upstream waits', async (_what, options, most) => {
    const slow = await unread({ maxConnections: 1, queueTimeoutMs: 300, ...options })
    const { gateway, client, socket, body } = slow
    await sendTillFull(slow)
    // One read above the bound, and over TLS the records that came with it.
    expect(held(gateway)).toBeGreaterThanOrEqual(most)
    expect(held(gateway)).toBeLessThan(most + 192 * KIB)
    expect(await exchangeRaw(gateway.port, get('/next', CLOSE))).toMatchObject({
      text: expect.stringMatching('no_conn'),
    })
    socket.write('0\r\n\r\n')
    client.socket.resume()
    await client.until('\r\n0\r\n\r\n')
    expect(dechunked(client.text())).toBe(body())
    await gateway.settled(2)
    expect(held(gateway)).toBe(0)
  })

  it('what one response holds is counted against the total of all, and given back when its client leaves', async () => {
    const gateway = await two({ bufferTotal: 300 * KIB, buffer: 280 * KIB })
    await until(() => held(gateway) > 300 * KIB)
    expect(held(gateway)).toBeLessThan(900 * KIB)
    for (const client of clients.splice(0)) client.socket.destroy()
    await gateway.settled(2)
    expect(held(gateway)).toBe(0)
  })

  const clients: ReturnType<typeof rawClient>[] = []
  async function two(options: GatewayOptions): Promise<Gateway> {
    const upstream = await httpUpstream((_req, res) => {
      res.writeHead(200, { 'content-length': 64 * MIB }).end(LARGE)
    })
    const gateway = await gatewayTo(upstream.url, options)
    for (let i = 0; i < 2; i++) {
      const client = rawClient(gateway.port, get('/'))
      client.socket.pause()
      clients.push(client)
    }
    return gateway
  }

  it.each([
    ['of announced length', `Content-Length: ${8 * MIB}`, get('/'), false],
    ['that ends with its connection', 'Connection: close', get('/', CLOSE), true],
    ['for a client of HTTP/1.0', 'Connection: close', 'GET / HTTP/1.0\r\n\r\n', true],
  ])(
    'the rest of a response %s reaches its client whole, though the upstream is done',
    async (_what, framing, line, ends) => {
      const { gateway, client, socket, send, body } = await unread({ framing, line, buffer: 16 * MIB })
      send(200 * KIB)
      if (ends) socket.end()
      else send(8 * MIB - body().length)
      await until(() => held(gateway) > 200 * KIB)
      if (ends) await until(() => socket.destroyed)
      expect(gateway.results).toEqual([])
      client.socket.resume()
      expect(await gateway.settled()).toMatchObject({ outcome: 'forwarded' })
      await until(() => client.text().length > body().length)
      if (ends) await until(() => client.socket.destroyed)
      const [, got] = client.text().split('\r\n\r\n')
      const whole = line.includes('1.0') || !ends ? got : dechunked(client.text())
      expect(whole === body()).toBe(true)
      expect(held(gateway)).toBe(0)
    },
  )

  it('trailers come behind the rest of the response', async () => {
    const line = get('/', 'TE: trailers\r\nConnection: TE\r\n')
    const { gateway, client, socket, send, body } = await unread({ line })
    send(100 * KIB)
    await until(() => held(gateway) > 100 * KIB)
    socket.write('0\r\nX-Sum: 5\r\n\r\n')
    client.socket.resume()
    await client.until('\r\n0\r\nX-Sum: 5\r\n\r\n')
    expect(dechunked(client.text())).toBe(body())
  })

  it.each([
    ['in chunks', get('/')],
    ['for a client of HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
  ])(
    'a response %s whose upstream breaks off while its client reads slowly never ends cleanly',
    async (_what, line) => {
      const { gateway, client, socket, send, body } = await unread({ line })
      send(100 * KIB)
      await until(() => held(gateway) > 100 * KIB)
      socket.resetAndDestroy()
      expect(await gateway.settled()).toMatchObject({ outcome: 'failed', headSent: true })
      expect(held(gateway)).toBe(0)
      client.socket.resume()
      await until(() => client.socket.destroyed)
      expect(client.text()).not.toContain('\r\n0\r\n')
      expect(client.text().length).toBeLessThan(body().length)
      if (!('encrypted' in client.socket)) expect(client.ending()).toBe('ECONNRESET')
    },
  )

  it('a client that leaves ends what the upstream still sends', async () => {
    const { gateway, client, socket, send } = await unread({})
    send(100 * KIB)
    await until(() => held(gateway) > 100 * KIB)
    client.socket.destroy()
    expect(await gateway.settled()).toMatchObject({ outcome: 'aborted', reason: expect.stringMatching('client left') })
    await until(() => socket.destroyed)
    expect(held(gateway)).toBe(0)
  })

  it.each(['goes on', 'is done'])('a client that reads nothing is let go, where the upstream %s', async (what) => {
    const { gateway, socket, send } = await unread({ idleTimeoutMs: 3_000 })
    send(100 * KIB)
    if (what === 'is done') socket.write('0\r\n\r\n')
    const more = setInterval(() => what === 'goes on' && send(1), 50)
    expect(await gateway.settled()).toMatchObject({
      outcome: 'aborted',
      reason: expect.stringContaining('stopped reading'),
    })
    clearInterval(more)
    expect(held(gateway)).toBe(0)
  })

  it('pieces that fill a part of a read keep no more than twice what they count for', async () => {
    const { gateway, send } = await unread({ buffer: 16 * MIB })
    const before = (await alive()).arrayBuffers - held(gateway)
    while (held(gateway) < 8 * MIB) {
      const sofar = held(gateway)
      send(17 * KIB)
      await until(() => held(gateway) > sofar)
    }
    expect((await alive()).arrayBuffers - before).toBeLessThan(2 * held(gateway))
  })

  it('events come one by one again as soon as their client reads', async () => {
    const { gateway, client, socket, send, body } = await unread({})
    send(100 * KIB)
    await until(() => held(gateway) > 100 * KIB)
    client.socket.resume()
    await until(() => dechunked(client.text()).length === body().length)
    expect(held(gateway)).toBe(0)
    for (let i = 0; i < 5; i++) {
      socket.write(`8\r\nevent ${i}\n\r\n`)
      await client.until(`event ${i}\n`)
    }
    expect(held(gateway)).toBe(0)
  })
})

it('short pieces keep no more than twice what they count for, whatever lies beside them in memory', async () => {
  const backlog = new Backlog(new ServerResponse(new IncomingMessage(new Socket())))
  const before = await alive()
  for (let i = 0; i < 200_000; i++) {
    backlog.add(Buffer.from(`event ${i}`))
    backlog.add(`and ${i}`)
    if (i % 5 === 0) Buffer.from('x'.repeat(10_000))
  }
  expect(backlog.bytes).toBeGreaterThan(200_000 * 'event 1 and 1'.length)
  const { arrayBuffers, heapUsed } = await alive()
  expect(arrayBuffers - before.arrayBuffers + heapUsed - before.heapUsed).toBeLessThan(2 * backlog.bytes)
})

const CRLF = Buffer.from('\r\n')

function dechunked(text: string): string {
  let at = text.indexOf('\r\n\r\n') + 4
  let body = ''
  for (;;) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    if (!(size > 0)) return body
    body += text.slice(end + 2, end + 2 + size)
    at = end + 4 + size
  }
}
