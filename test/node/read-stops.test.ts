import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import tls from 'node:tls'
import { expect, it } from 'vitest'
import { startReads, stopReads } from '../../src/node/read-stops.ts'
import { testCertificate } from '../forward/certificate.ts'

const SENT = 1_000_000
const HEAD = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${SENT}\r\n\r\n`

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn()
}

it.each([['in the clear'], ['by TLS']])(
  'a connection %s that is stopped for two reasons is read on when both are gone, whoever pauses and resumes it meanwhile',
  async (way) => {
    const isByTls = way === 'by TLS'
    const server = (isByTls ? https.createServer(testCertificate()) : http.createServer()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = isByTls ? tls.connect({ port, rejectUnauthorized: false }) : net.connect(port, '127.0.0.1')
    client.write(HEAD)
    const [req] = (await once(server, 'request')) as [IncomingMessage]
    const { socket } = req
    let received = 0
    req.on('data', (piece: Buffer) => (received += piece.length))
    stopReads(socket, 'one')
    stopReads(socket, 'another')
    client.write(Buffer.alloc(SENT))
    for (let i = 0; i < 3; i++) {
      socket.pause()
      await turns()
      socket.resume()
      await turns()
    }
    startReads(socket, 'one')
    await turns()
    expect(received).toBe(0)
    startReads(socket, 'another')
    await once(req, 'end')
    expect(received).toBe(SENT)
    client.destroy()
    server.close()
  },
)
