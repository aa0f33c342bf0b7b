import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { beforeEach, expect, it } from 'vitest'
import { answerHalfClosed } from '../../src/node/half-closed-clients.ts'
import { closedAtEnd } from '../setup/at-end.ts'

let server: http.Server
beforeEach(async () => {
  server = closedAtEnd(http.createServer())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

/** What a client gets that ends its side behind its request, when the server responds after that. */
async function responseTo(on: boolean): Promise<string> {
  answerHalfClosed(server, on)
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  client.on('data', (piece) => {
    text += piece
  })
  client.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [req, res] = (await once(server, 'request')) as [http.IncomingMessage, http.ServerResponse]
  await once(req.socket, 'end')
  res.end('here')
  await once(client, 'close')
  return text
}

it('a client that has ended its side gets its response if that is said, and nothing otherwise', async () => {
  expect(await responseTo(true)).toMatch(/^HTTP\/1\.1 200 OK.*here/s)
  expect(await responseTo(false)).toBe('')
  // Also on a server that has said otherwise before.
  expect(await responseTo(true)).toMatch(/^HTTP\/1\.1 200 OK.*here/s)
})
