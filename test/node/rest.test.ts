import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'
import { expect, it } from 'vitest'
import { restBehindShortPieces } from '../../src/node/rest.ts'
import { testCertificate } from '../forward/certificate.ts'

/** The shortest records that Node writes. */
const RECORD = 512
const SENT = Array.from({ length: 700 }, (_, i) => String(i).padStart(RECORD, '.')).join('')

/** What arrives of short records behind a pipe, and how many of them one turn of the event loop has brought at most. */
async function pipe(rest: (source: net.Socket, reader: net.Socket) => void) {
  let received = ''
  const sink = net.createServer((socket) =>
    socket.setEncoding('latin1').on('data', (text) => {
      received += text
    }),
  )
  sink.listen(0, '127.0.0.1')
  await once(sink, 'listening')
  const turns: number[] = []
  const server = tls.createServer(testCertificate(), (source) => {
    const reader = net.connect((sink.address() as AddressInfo).port, '127.0.0.1')
    let pieces = 0
    source.on('data', () => {
      if (pieces++ > 0) return
      setImmediate(() => {
        turns.push(pieces)
        pieces = 0
      })
    })
    rest(source, reader)
    source.pipe(reader)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = tls.connect({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false })
  await once(client, 'secureConnect')
  client.setMaxSendFragment(RECORD)
  client.write(SENT)
  await expect.poll(() => received.length, { timeout: 20_000 }).toBe(SENT.length)
  client.end()
  await once(client, 'close')
  server.close()
  sink.close()
  return { isWhole: received === SENT, most: Math.max(...turns) }
}

it('a connection by TLS that brings hundreds of short records rests between them, and all of them arrive', async () => {
  // How many come in one turn is up to the machine.
  await expect.poll(async () => (await pipe(() => {})).most, { timeout: 20_000 }).toBeGreaterThan(256)
  const { isWhole, most } = await pipe(restBehindShortPieces)
  expect(isWhole).toBe(true)
  expect(most).toBeLessThanOrEqual(256)
})
