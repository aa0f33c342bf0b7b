import { once } from 'node:events'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { boundRecords } from '../../src/node/short-records.ts'
import { openRecordClient, type RecordClient } from '../edge/records.ts'
import { testCertificate } from '../forward/certificate.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const ADDRESS = '127.0.0.1'

let server: https.Server
let port: number
let floods = 0
/** The address of each request, in the order in which they came. */
let seen: string[]
const clients: { destroy(): void }[] = []

beforeEach(async () => {
  floods = 0
  seen = []
  server = https.createServer(testCertificate(), (req, res) => {
    seen.push(req.socket.remoteAddress ?? '')
    res.end()
  })
  boundRecords(server, { onFlood: () => floods++ })
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

/** Line ends, one record each, until the connection is ended. */
async function flood({ socket, bytes }: RecordClient): Promise<void> {
  socket.write(bytes('\r\n'.repeat(300)))
  await once(socket, 'close')
}

async function get(client: tls.TLSSocket): Promise<void> {
  client.write(GET)
  await once(client, 'data')
}

it('a connection that rests when its address floods again is read only when its second rest is over', async () => {
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
  vi.advanceTimersByTime(500)
  await get(elsewhere)
  await get(elsewhere)
  expect(seen).toEqual(['127.0.0.2', '127.0.0.2'])
  vi.advanceTimersByTime(1000)
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
