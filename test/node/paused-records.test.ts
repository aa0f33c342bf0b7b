import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { expect, it } from 'vitest'
import { holdPausedRecords, readOn } from '../../src/node/paused-records.ts'
import { statusesIn } from '../e2e/raw.ts'
import { testCertificate } from '../forward/certificate.ts'

const BIG = Buffer.alloc(20_000_000, 'x')
/** Several records, of 16 KiB at most each. */
const BODY = 'x'.repeat(60_000)
const UPLOAD = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const UPLOADS = 5

interface Outcome {
  readonly statuses: readonly number[]
  /** What the parser refuses. */
  readonly errors: readonly string[]
}

/** What becomes of uploads behind a request for much, of which the client reads nothing until it has sent all. */
async function exchange(onRequest: (socket: tls.TLSSocket) => void): Promise<Outcome> {
  const errors: string[] = []
  const { cert, key } = testCertificate()
  const server = https.createServer({ cert, key }, (req: IncomingMessage, res: ServerResponse) => {
    onRequest(req.socket as tls.TLSSocket)
    req.resume().once('end', () => res.end(req.method === 'POST' ? 'ok' : BIG))
  })
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    errors.push(code)
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = tls.connect({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false })
  client.on('error', () => {}).pause()
  const pieces: Buffer[] = []
  client.on('data', (piece: Buffer) => pieces.push(piece)).pause()
  const statuses = (): number[] => statusesIn(Buffer.concat(pieces).toString('latin1'))
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(server, 'request')
  for (let i = 0; i < UPLOADS; i++) {
    client.write(UPLOAD)
    await sleep(20)
  }
  client.resume()
  await expect.poll(() => client.closed || statuses().length > UPLOADS).toBe(true)
  client.destroy()
  server.close()
  return { statuses: statuses(), errors }
}

it('uploads by TLS arrive whole while responses wait before them, which Node refuses otherwise', async () => {
  expect(await exchange(holdPausedRecords)).toEqual({ statuses: Array(UPLOADS + 1).fill(200), errors: [] })
  expect((await exchange(() => {})).errors).toContain('HPE_PAUSED')
})

it('a connection by TLS is not read on while Node waits for its responses to be taken', async () => {
  const held: ServerResponse[] = []
  let served = 0
  const { cert, key } = testCertificate()
  const server = https.createServer({ cert, key }, (req, res) => {
    holdPausedRecords(req.socket)
    if (served++ === 0) held.push(res)
    else res.end('x'.repeat(1000))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = tls.connect({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false })
  client.on('error', () => {}).resume()
  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
  client.write(get)
  await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1)
  const [first] = held as [ServerResponse]
  const { socket } = first.req
  while (!socket.isPaused()) {
    client.write(get)
    await once(server, 'request')
  }
  client.write(get)
  await expect.poll(() => socket.readableLength, { timeout: 20_000 }).toBe(get.length)
  const before = served
  readOn(socket)
  client.write(get)
  await expect.poll(() => socket.readableLength, { timeout: 20_000 }).toBe(2 * get.length)
  first.end()
  await expect.poll(() => served, { timeout: 20_000 }).toBe(before + 2)
  client.destroy()
  server.close()
})
