import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { ClientLeft, readBody } from '../../src/gateway/body.ts'

it('a body whose client left before anybody read it is not waited for', async () => {
  const read = Promise.withResolvers<unknown>()
  const server = http.createServer((req, res) => {
    req.once('close', () => readBody(req, res, 1_000_000).then(read.resolve, read.reject))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nthe beginning')
  await once(server, 'request')
  client.destroy()
  await expect(read.promise).rejects.toThrow(ClientLeft)
  server.close()
})
