import { once } from 'node:events'
import http, { IncomingMessage } from 'node:http'
import net, { type AddressInfo, Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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

it('a body that has come is not kept for as long as it might have taken', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const read = Promise.withResolvers<unknown>()
  const server = http.createServer((req, res) => {
    const before = timers()
    readBody(req, res, 1_000_000).then((body) => read.resolve([body, timers() - before]), read.reject)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel')
  await once(server, 'request')
  client.write('lo')
  expect(await read.promise).toEqual([Buffer.from('hello'), 0])
  client.destroy()
  server.close()
})

it('a body in chunks of one byte takes little more memory than it has bytes', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const req = new IncomingMessage(new Socket())
  const bytes = 200_000
  const read = readBody(req, null, bytes)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < bytes; i++) req.emit('data', Buffer.from(new Uint8Array([i]).buffer))
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * bytes)
  req.emit('end')
  expect(await read).toEqual(Buffer.from(Uint8Array.from({ length: bytes }, (_, i) => i)))
})
