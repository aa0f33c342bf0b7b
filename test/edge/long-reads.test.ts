import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import net, { type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import tls from 'node:tls'
import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, makeCertificates, type Way } from '../setup/ways.ts'

/** What a connection brings before it waits for its turn. */
const LONG = 256 * 1024
const READ = 64 * 1024
/** More than a connection brings in one turn, and as much as the kernel takes at once. */
const SENT = 2_000_000
const CONNECTIONS = 8
const POST = (path: string, ...fields: string[]) => [`POST ${path} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n')

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const ACCEPTS = `HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`
const HANDSHAKE = `GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`

const certificates = makeCertificates()

async function startGateway(way: Way): Promise<RunningApp> {
  const upstream: Server = createServer((req, res) => {
    let bytes = 0
    req.on('data', (piece: Buffer) => (bytes += piece.length)).on('end', () => res.end(String(bytes)))
  })
  upstream.on('upgrade', (_req, socket: Socket) => {
    socket
      .on('error', () => {})
      .resume()
      .write(ACCEPTS)
    atEnd(() => socket.destroy())
  })
  const port = await listening(upstream)
  const routes = 'routes: [{ match: POST /pub, public: true }, { match: GET /ws, public: true }]'
  const app = await startApp(yaml(`http://127.0.0.1:${port}`, `${routes}\n${certificates.listener(way)}`))
  return app
}

/** Connections that the gateway has accepted from now on. */
function acceptedBy(app: RunningApp): Socket[] {
  const sockets: Socket[] = []
  const port = Number(new URL(app.url).port)
  const add = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    if (socket.localPort === port) sockets.push(socket)
  }
  subscribe('net.server.socket', add)
  atEnd(() => unsubscribe('net.server.socket', add))
  return sockets
}

async function open(app: RunningApp, localAddress: string, head: string): Promise<Socket> {
  const { hostname: host, port, protocol } = new URL(app.url)
  const raw = net.connect({ host, port: Number(port), localAddress })
  const isTls = protocol === 'https:'
  const socket = isTls ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw
  atEnd(() => socket.destroy())
  socket.on('error', () => {}).resume()
  await once(socket, isTls ? 'secureConnect' : 'connect')
  socket.write(head)
  if (head === HANDSHAKE) await once(socket, 'data')
  return socket
}

describe.each(BOTH_WAYS)('by $name', (way) => {
  it.each([
    ['line ends without a request', '', '\r\n'],
    ['bodies that nobody looks at', POST('/none', 'Content-Length: 9000000000'), 'xx'],
    ['bodies that are forwarded', POST('/pub', 'Content-Length: 9000000'), 'xx'],
    ['frames of WebSockets', HANDSHAKE, 'xx'],
  ])(
    'all strangers together bring little more than one of them in a turn of the event loop: %s',
    async (_what, head, piece) => {
      const app = await startGateway(way)
      const accepted = acceptedBy(app)
      const clients: Socket[] = []
      for (let i = 0; i < CONNECTIONS; i++) clients.push(await open(app, `127.0.1.${i + 1}`, head))
      await expect.poll(() => accepted.length).toBe(CONNECTIONS)
      const bytes = Buffer.from(piece.repeat(SENT / 2))
      for (const client of clients) client.write(bytes)
      const total = (): number => accepted.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
      const turns: number[] = []
      for (let before = total(), i = 0; i < 200; i++) {
        await nextTurn()
        turns.push(total() - before)
        before = total()
      }
      // Nobody has waited yet in the turn in which the first bytes of all of them come.
      const [first = 0, ...others] = turns.sort((a, b) => b - a)
      expect(first).toBeLessThanOrEqual(CONNECTIONS * (LONG + READ))
      // One has its turn, while what the kernel had not yet taken comes of another that has had its own.
      expect(others[CONNECTIONS]).toBeLessThanOrEqual(2 * (LONG + READ))
    },
  )

  it('a body that is longer than many reads arrives whole', async () => {
    const app = await startGateway(way)
    const client = await open(app, '127.0.1.1', POST('/pub', 'Content-Length: 5000000', 'Connection: close'))
    let received = ''
    client.on('data', (piece: Buffer) => (received += piece.toString()))
    client.write(Buffer.alloc(5_000_000))
    await once(client, 'end')
    expect([received.slice(0, 15), received.slice(-7)]).toEqual(['HTTP/1.1 200 OK', '5000000'])
  })
})
