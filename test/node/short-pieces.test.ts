import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { joinShortPieces } from '../../src/node/short-pieces.ts'

let server: http.Server
let client: net.Socket

beforeEach(async () => {
  server = http.createServer()
  server.prependListener('request', (req) => joinShortPieces(req))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
})
afterEach(() => {
  client.destroy()
  server.close()
})

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

async function request(): Promise<IncomingMessage> {
  const [req] = (await once(server, 'request')) as [IncomingMessage]
  return req
}

it('short pieces of a body are few pieces, though nobody reads them when they come', async () => {
  client.write(HEAD + 'abcdefghij'.repeat(500).split('').map(chunk).join(''))
  const req = await request()
  while (req.readableLength < 5000) await sleep(1)
  client.write('0\r\n\r\n')
  const pieces: string[] = []
  req.on('data', (piece: Buffer) => pieces.push(piece.toString()))
  await once(req, 'end')
  expect(pieces.join('')).toBe('abcdefghij'.repeat(500))
  expect(pieces.length).toBeLessThan(50)
  // However many came in one packet: no more of them are held at a time.
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(256)
})

it('short pieces of a body arrive whole and in order among long ones, at a slow reader', async () => {
  const texts = Array.from({ length: 60_000 }, (_, i) => `${i},`.padEnd(i % 100 === 0 ? 5000 : 1, '.'))
  client.write(HEAD + texts.map(chunk).join('') + chunk('end'))
  client.write('0\r\n\r\n')
  const req = await request()
  let body = ''
  let most = 0
  for await (const piece of req) {
    most = Math.max(most, req.readableLength)
    body += piece
    if (body.length % 7 === 0) await sleep(1)
  }
  expect(body).toBe(`${texts.join('')}end`)
  expect(most).toBeLessThan(4 * 64 * 1024)
})

it('short pieces of a body in packets of their own are few while nobody reads them', async () => {
  client.setNoDelay(true)
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n')
  const req = await request()
  const before = req.socket.bytesRead
  for (let i = 1; i < 3000; i++) {
    client.write(String(i % 10))
    while (req.socket.bytesRead < before + i) await new Promise((resolve) => setImmediate(resolve))
  }
  const pieces: string[] = []
  req.on('data', (piece: Buffer) => pieces.push(piece.toString()))
  client.write('0')
  await once(req, 'end')
  expect(pieces.join('')).toBe('1234567890'.repeat(300))
  expect(pieces.length).toBeLessThan(300)
})

it('a short piece of a body arrives soon, though the client sends no more', async () => {
  client.setNoDelay(true)
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\na')
  const req = await request()
  while (req.readableLength < 1) await sleep(1)
  client.write('b')
  await sleep(5)
  let body = ''
  req.on('data', (piece) => {
    body += piece
  })
  await expect.poll(() => body).toBe('ab')
})

it('short pieces of a client that leaves fail nothing', async () => {
  client.write(HEAD + chunk('a'))
  const req = await request()
  req.on('error', () => {})
  const closed = new Promise((resolve) => req.once('close', resolve))
  client.resetAndDestroy()
  await closed
  await sleep(5)
  expect(req.complete).toBe(false)
})
