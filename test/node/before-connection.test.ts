import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { beforeConnection } from '../../src/node/before-connection.ts'

it('a server begins with a connection only when somebody else is done with it, and with what was put back', async () => {
  const server = http.createServer((req, res) => res.end(req.url))
  const events: string[] = []
  server.on('connection', () => events.push('server'))
  beforeConnection(server, (socket, go) => {
    socket.once('readable', () => {
      events.push('first')
      socket.unshift((socket.read() as Buffer).subarray(3))
      process.nextTick(go, socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('latin1')
  client.write('xyzGET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const text = (await client.toArray()).join('')
  expect(text.endsWith('/a')).toBe(true)
  expect(events).toEqual(['first', 'server'])
  server.close()
})
