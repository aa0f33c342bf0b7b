import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type BodyPieces, bodyPiecesOf } from '../../src/node/body-pieces.ts'

let server: http.Server
let port: number
let pieces: BodyPieces | null

let endsAtMany: (() => boolean) | null

beforeEach(async () => {
  endsAtMany = null
  server = http.createServer()
  server.on('connection', (socket: Socket) => {
    pieces = bodyPiecesOf(socket)
    if (pieces !== null && endsAtMany !== null) pieces.endsAtMany = endsAtMany
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => server.close())

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n'
const chunks = (count: number): string => `${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`

/** @returns the pieces that the parser has handed over in the turn in which the body came */
async function countOf(sent: string): Promise<number | undefined> {
  const client = net.connect(port, '127.0.0.1')
  client.write(sent)
  const count = new Promise<number | undefined>((resolve) => {
    // Before the turn ends: the pieces come behind this event.
    server.once('request', (_req, res: http.ServerResponse) => {
      setImmediate(() => resolve(pieces?.ofTurn))
      setImmediate(() => res.end())
    })
  })
  await count
  client.resume()
  await once(client, 'close')
  return count
}

it('the chunks of one turn are counted, though nobody reads them, and those of an earlier connection of the parser are not', async () => {
  expect(await countOf(HEAD + chunks(700))).toBe(700)
  expect(await countOf(HEAD + chunks(3))).toBe(3)
  expect(pieces?.ofTurn).toBe(0)
})

it('a body that ends at many pieces is handed over no further and never complete, and the next connection of the parser has all of its own', async () => {
  endsAtMany = () => true
  const client = net.connect(port, '127.0.0.1')
  client.write(HEAD + chunks(5000))
  const [req] = (await once(server, 'request')) as [http.IncomingMessage]
  let bytes = 0
  req.on('data', (piece: Buffer) => (bytes += piece.length)).on('error', () => {})
  await new Promise((resolve) => setImmediate(resolve))
  await expect.poll(() => bytes).toBe(1000)
  expect([req.complete, req.socket.bytesRead]).toEqual([false, HEAD.length + chunks(5000).length])
  client.destroy()
  await once(req.socket, 'close')
  endsAtMany = null
  expect(await countOf(HEAD + chunks(5000))).toBe(5000)
})

it('a body whose end nobody wants arrives whole, however many pieces it has', async () => {
  let asked = 0
  endsAtMany = () => asked++ < 0
  expect(await countOf(HEAD + chunks(5000))).toBe(5000)
  expect(asked).toBe(1)
})
