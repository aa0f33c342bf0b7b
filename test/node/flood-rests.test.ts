import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import tls from 'node:tls'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FloodRests } from '../../src/node/flood-rests.ts'
import { boundReads } from '../../src/node/long-reads.ts'
import { testCertificate } from '../forward/certificate.ts'
import { closedAtEnd } from '../setup/at-end.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
const CHUNKS = '1\r\nx\r\n'.repeat(4000)

let server: http.Server
let port: number
let rests: FloodRests
/** What was read, in its order: a flood, or the target of a request. */
let read: string[]
/** Floods of each turn of the event loop. */
let floodsOfTurn: number
let mostFloods: number
/** Ports of clients on whose connections a credential was accepted. */
let accepted: Set<number>
const clients: Socket[] = []

beforeEach(async () => {
  ;[read, floodsOfTurn, mostFloods, accepted] = [[], 0, 0, new Set()]
  server = closedAtEnd(
    http.createServer((req, res) => {
      read.push(req.socket.remoteAddress ?? '')
      req.resume()
      if (req.method === 'GET') res.end()
    }),
  )
  rests = new FloodRests(server, { isAccepted: (raw) => accepted.has(raw.remotePort ?? 0) }, false)
  server.on('connection', (socket: Socket) =>
    boundReads(socket, { take: () => nextTurn(), onManyPieces: () => flooded(rests, socket) }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  vi.useRealTimers()
  for (const client of clients.splice(0)) client.destroy()
})

function flooded(rests: FloodRests, socket: Socket): void {
  rests.flooded(socket)
  read.push('flood')
  if (floodsOfTurn++ === 0)
    setImmediate(() => {
      mostFloods = Math.max(mostFloods, floodsOfTurn)
      floodsOfTurn = 0
    })
}

async function open(localAddress: string, head: string): Promise<Socket> {
  const client = net.connect({ port, host: '127.0.0.1', localAddress })
  clients.push(client)
  await once(client, 'connect')
  const before = read.length
  client.write(head)
  while (read.length === before) await nextTurn()
  if (head === GET) await once(client, 'data')
  return client
}

it('each turn of the event loop has one of the floods that come in one moment from eight addresses, and others are read in between', async () => {
  const floods: Socket[] = []
  for (let i = 2; i < 10; i++) floods.push(await open(`127.0.0.${i}`, POST))
  const other = await open('127.0.0.20', GET)
  read.length = 0
  for (const client of floods) client.write(CHUNKS)
  other.write(GET)
  while (read.filter((it) => it === 'flood').length < floods.length) await nextTurn()
  await nextTurn()
  expect(mostFloods).toBe(1)
  expect(read.indexOf('127.0.0.20')).toBeGreaterThanOrEqual(0)
})

it('behind a flood the strangers of its address rest, but not those on whose connections a credential was accepted', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const flooding = await open('127.0.0.2', POST)
  const stranger = await open('127.0.0.2', GET)
  const user = await open('127.0.0.2', GET)
  accepted.add(user.localPort ?? 0)
  flooding.write(CHUNKS)
  while (!read.includes('flood')) await nextTurn()
  read.length = 0
  stranger.write(GET)
  user.write(GET)
  await once(user, 'data')
  await nextTurn()
  expect(read).toEqual(['127.0.0.2'])
  vi.advanceTimersByTime(1500)
  await once(stranger, 'data')
  expect(read).toEqual(['127.0.0.2', '127.0.0.2'])
})

it('floods count as coming from many for at least a minute after each, however long ago the first one came', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const flood = async (address: string): Promise<void> => {
    const client = await open(address, POST)
    read.length = 0
    client.write(CHUNKS)
    while (!read.includes('flood')) await nextTurn()
  }
  await flood('127.0.0.2')
  vi.advanceTimersByTime(59_000)
  for (let i = 3; i < 11; i++) await flood(`127.0.0.${i}`)
  vi.advanceTimersByTime(59_000)
  expect(rests.comeFromMany).toBe(true)
  vi.advanceTimersByTime(120_000)
  expect(rests.comeFromMany).toBe(false)
})

describe('by TLS', () => {
  let secure: https.Server
  beforeEach(async () => {
    secure = closedAtEnd(
      https.createServer(testCertificate(), (req, res) => {
        read.push(req.url ?? '')
        res.end()
      }),
    )
    rests = new FloodRests(secure, {}, true)
    secure.listen(0, '127.0.0.1')
    await once(secure, 'listening')
  })

  function begin(localAddress: string): tls.TLSSocket {
    const raw = net.connect({ port: (secure.address() as AddressInfo).port, host: '127.0.0.1', localAddress })
    const client = tls.connect({ socket: raw, rejectUnauthorized: false })
    clients.push(raw)
    client.on('error', () => {})
    return client
  }

  it('a connection whose address floods within its handshake rests in the middle of it, and is served behind that', async () => {
    begin('127.0.0.2')
    const [flooding] = (await once(secure, 'secureConnection')) as [tls.TLSSocket]
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const client = begin('127.0.0.2')
    const [raw] = (await once(secure, 'connection')) as [Socket]
    while (raw.bytesRead === 0) await nextTurn()
    rests.flooded(flooding)
    client.write('GET /behind HTTP/1.1\r\nHost: a\r\n\r\n')
    const other = begin('127.0.0.3')
    other.write('GET /other HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(other, 'data')
    expect(read).toEqual(['/other'])
    vi.advanceTimersByTime(1500)
    await once(client, 'data')
    expect(read).toEqual(['/other', '/behind'])
  })
})
