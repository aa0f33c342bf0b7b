import { once } from 'node:events'
import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { statusesIn } from '../e2e/raw.ts'
import { isCharged } from '../observe/settled.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl } from '../setup/ways.ts'
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts'

/** What ends slowly, or late, at the edge of the whole gateway, over raw sockets. */

const certificates = makeCertificates()

const auth = `Authorization: Bearer ${jwtOf('alice')}`
const request = (line: string, ...fields: string[]): string => [line, 'Host: a', auth, ...fields, '', ''].join('\r\n')

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
routes: [{ match: "* /api/*", category: read, cost: 3 }, { match: GET /open, public: true }]`,
    )
  })

  const startIn = (url: string, rest: string): Promise<RunningApp> =>
    startApp(yaml(url, `${rest}\n${certificates.listener(way)}`, 'sqlite::memory:', certificates.upstream(way)))

  function charged(): number {
    return app.observations.filter(isCharged).length
  }

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
