import { once } from 'node:events'
import { createServer } from 'node:http'
import net, { type Socket } from 'node:net'
import tls from 'node:tls'
import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { statusesIn } from '../e2e/raw.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, makeCertificates, type Way } from '../setup/ways.ts'

/** Chunks of one byte from many addresses that nobody has seen. What is counted is work: each piece of a body takes a microsecond. */

const ADDRESSES = 40
/** With so many such addresses in a minute the others are refused. */
const MANY = 8
/** In one read: 64 KiB of chunks of one byte in the clear, and four records of 16 KiB by TLS. */
const PIECES_OF_READ = Math.ceil((64 * 1024) / 6)
/** Of a body that is refused for them. */
const PIECES_OF_REFUSED = 1000
const CHUNKS = '1\r\nx\r\n'.repeat(50_000)

const certificates = makeCertificates()

/** @returns the gateway, and how many bytes of bodies its upstream has had */
async function start(way: Way): Promise<{ app: RunningApp; bytes: () => number }> {
  let bytes = 0
  const upstream = createServer((req, res) => {
    req.on('data', (piece: Buffer) => (bytes += piece.length)).on('error', () => {})
    req.on('end', () => res.end('ok'))
  })
  const port = await listening(upstream)
  const routes = 'routes: [{ match: "* /pub", public: true }, { match: "* /mine", category: read, cost: 1 }]'
  const app = await startApp(yaml(`http://127.0.0.1:${port}`, `${routes}\n${certificates.listener(way)}`))
  return { app, bytes: () => bytes }
}

interface Client {
  readonly socket: Socket
  readonly statuses: () => number[]
}

async function open({ url }: RunningApp, localAddress: string): Promise<Client> {
  const { hostname: host, port, protocol } = new URL(url)
  const raw = net.connect({ host, port: Number(port), localAddress })
  const socket = protocol === 'https:' ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw
  let text = ''
  socket.on('error', () => {}).on('data', (piece: Buffer) => (text += piece.toString('latin1')))
  atEnd(() => socket.destroy())
  await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect')
  return { socket, statuses: () => statusesIn(text) }
}

const post = (path: string, user?: string): string => {
  const credential = user === undefined ? '' : `Authorization: Bearer ${jwtOf(user)}\r\n`
  return `POST ${path} HTTP/1.1\r\nHost: a\r\n${credential}Transfer-Encoding: chunked\r\n\r\n`
}

async function openMany(app: RunningApp): Promise<Client[]> {
  const clients: Client[] = []
  for (let i = 0; i < ADDRESSES; i++) clients.push(await open(app, `127.0.3.${i + 1}`))
  return clients
}

describe.each(BOTH_WAYS)('chunks of one byte that come from many unseen addresses in one moment, by $name', (way) => {
  it('chunks of one byte that come from many unseen addresses in one moment are worked through of eight of them, and of each other one a thousand: then it is refused', async () => {
    const { app, bytes } = await start(way)
    const clients = await openMany(app)
    for (const { socket } of clients) socket.write(post('/pub') + CHUNKS)
    const refused = () => clients.filter(({ statuses }) => statuses()[0] === 503).length
    await expect.poll(refused, { timeout: 30_000 }).toBe(ADDRESSES)
    // One that rested has another read, in which it is refused.
    const most = MANY * (PIECES_OF_READ + PIECES_OF_REFUSED) + (ADDRESSES - MANY) * PIECES_OF_REFUSED
    expect(bytes()).toBeLessThanOrEqual(most)
    const reasons = app.requests().map(({ error, reason }) => `${error}: ${reason}`)
    expect([...new Set(reasons)]).toEqual(['overloaded: body in many pieces'])
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    const counted = Number(/tollgate_bad_connections_total\{code="short_pieces"\} (\d+)/.exec(metrics)?.[1])
    expect(counted).toBeGreaterThanOrEqual(ADDRESSES)
  })

  it('where nobody reads them any more, end the connection', async () => {
    const { app } = await start(way)
    const clients = await openMany(app)
    const ended = Promise.all(clients.map(({ socket }) => once(socket, 'end')))
    for (const { socket } of clients) socket.write(post('/none') + CHUNKS)
    await ended
    expect(clients.map(({ statuses }) => statuses())).toEqual(clients.map(() => [404]))
  })

  it('cost no user his own: on his connection, and on a new one from his address, such a body arrives whole', async () => {
    const { app } = await start(way)
    const user = await open(app, '127.0.4.1')
    user.socket.write(`${post('/mine', 'alice')}0\r\n\r\n`)
    await expect.poll(user.statuses).toEqual([200])
    const clients = await openMany(app)
    for (const { socket } of clients) socket.write(post('/pub') + CHUNKS)
    await expect
      .poll(() => clients.filter(({ statuses }) => statuses()[0] === 503).length, { timeout: 30_000 })
      .toBe(ADDRESSES)
    const another = await open(app, '127.0.4.1')
    const body = `${'1\r\nx\r\n'.repeat(15_000)}0\r\n\r\n`
    for (const { socket } of [user, another]) socket.write(post('/mine', 'alice') + body)
    await expect.poll(user.statuses, { timeout: 30_000 }).toEqual([200, 200])
    await expect.poll(another.statuses, { timeout: 30_000 }).toEqual([200])
  })
})
