import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { FloodRests } from '../../src/node/flood-rests.ts'
import { holdPausedRecords } from '../../src/node/paused-records.ts'
import { boundRecords } from '../../src/node/short-records.ts'
import { openRecordClient, type RecordClient } from '../edge/records.ts'
import { testCertificate } from '../forward/certificate.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const ADDRESS = '127.0.0.1'

let server: https.Server
let port: number
let floods = 0
let serve: RequestListener
/** The address of each request, in the order in which they came. */
let seen: string[]
const clients: { destroy(): void }[] = []

beforeEach(async () => {
  floods = 0
  seen = []
  serve = (_req, res) => res.end()
  server = https.createServer(testCertificate(), (req, res) => {
    seen.push(req.socket.remoteAddress ?? '')
    serve(req, res)
  })
  boundRecords(server, new FloodRests(server, {}, true), () => floods++)
  server.listen(0, ADDRESS)
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const client of clients.splice(0)) client.destroy()
  server.close()
})

async function openFlooder(): Promise<RecordClient> {
  const client = await openRecordClient(port, ADDRESS)
  clients.push(client.socket)
  return client
}

async function openOther(localAddress: string): Promise<tls.TLSSocket> {
  const options = { port, host: ADDRESS, localAddress, rejectUnauthorized: false }
  const client = tls.connect(options)
  clients.push(client)
  await once(client, 'secureConnect')
  return client
}

/** However the connection ends: one with bytes that are not read is reset. */
function untilClosed({ socket }: RecordClient): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

/** Line ends, one record each, until the connection is ended. */
async function flood(client: RecordClient): Promise<void> {
  client.socket.write(client.bytes('\r\n'.repeat(300)))
  await untilClosed(client)
}

async function get(client: tls.TLSSocket): Promise<void> {
  client.write(GET)
  await once(client, 'data')
}

it('a connection that rests when its address floods again is read when its rest is over: a flood without end keeps no neighbour unread', async () => {
  const first = await openFlooder()
  const second = await openFlooder()
  const resting = await openOther(ADDRESS)
  const elsewhere = await openOther('127.0.0.2')
  // How long each rests: the second flooder goes on while the third connection still rests.
  vi.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValueOnce(0).mockReturnValueOnce(0.9)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await flood(first)
  vi.advanceTimersByTime(1000)
  await flood(second)
  expect(floods).toBe(2)
  const served = get(resting)
  await get(elsewhere)
  await get(elsewhere)
  expect(seen).toEqual(['127.0.0.2', '127.0.0.2'])
  vi.advanceTimersByTime(500)
  await served
  expect(seen.at(-1)).toBe(ADDRESS)
})

it('a connection that comes while its address rests is read when the rest is over', async () => {
  const flooder = await openFlooder()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await flood(flooder)
  const served = openOther(ADDRESS).then(get)
  const elsewhere = await openOther('127.0.0.2')
  await get(elsewhere)
  await get(elsewhere)
  expect(seen).toEqual(['127.0.0.2', '127.0.0.2'])
  vi.advanceTimersByTime(1500)
  await served
  expect(seen.at(-1)).toBe(ADDRESS)
})

/** Requests of one record each. */
const requests = ({ whole }: RecordClient, count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => whole(GET)))

/** Responses wait behind the first of their connection, until Node reads no more of it. @returns the first one */
async function fillResponses(client: RecordClient): Promise<ServerResponse> {
  const held: ServerResponse[] = []
  serve = (req, res) => {
    holdPausedRecords(req.socket)
    if (held.length === 0) held.push(res)
    else res.end('x'.repeat(1000))
  }
  client.socket.write(requests(client, 100))
  await expect.poll(() => held[0]?.req.socket.isPaused(), { timeout: 20_000 }).toBe(true)
  return held[0] as ServerResponse
}

it('a connection that somebody listens to is ended by a flood as any other, and the process goes on', async () => {
  const flooder = await openFlooder()
  serve = ({ socket }, res) => {
    socket.on('data', () => {})
    res.end()
  }
  flooder.socket.write(flooder.whole(GET))
  await expect.poll(() => seen, { timeout: 20_000 }).toHaveLength(1)
  await flood(flooder)
  expect(floods).toBe(1)
})

it('requests of one record each are all served that came while their connection was not read, and those behind them', async () => {
  const client = await openFlooder()
  const first = await fillResponses(client)
  client.socket.write(requests(client, 3000))
  await expect.poll(() => first.req.socket.readableLength, { timeout: 20_000 }).toBeGreaterThan(256 * GET.length)
  first.end()
  await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(3100)
  for (let count = 3101; count <= 3400; count++) {
    client.socket.write(requests(client, 1))
    await expect.poll(() => seen.length, { interval: 1, timeout: 20_000 }).toBe(count)
  }
  expect(floods).toBe(0)
})

it('a connection that is not read takes few short records, and is ended when it is read again', async () => {
  const client = await openFlooder()
  const first = await fillResponses(client)
  const { socket } = first.req
  client.socket.write(client.bytes('\r\n'.repeat(25_000)))
  await expect.poll(() => socket.readableLength, { timeout: 20_000 }).toBeGreaterThan(256)
  const other = await openOther('127.0.0.2')
  for (let i = 0; i < 50; i++) await get(other)
  // What one read brings.
  expect(socket.readableLength).toBeLessThan(6000)
  const closed = untilClosed(client)
  first.end()
  await closed
  expect(floods).toBe(1)
})
