import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { endAsNode, endInstead } from '../../src/node/connection-end.ts'

let server: http.Server
let client: Socket
let ends: number
let onConnection: (socket: Socket) => void
beforeEach(async () => {
  ends = 0
  server = http.createServer((_, res) => res.end('here'))
  server.on('connection', (socket) => onConnection(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
})
afterEach(() => {
  client.destroy()
  server.close()
})

/** What the client gets, until its connection is closed. */
async function ask(connection: string): Promise<string> {
  let text = ''
  client.on('data', (piece) => {
    text += piece
  })
  client.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n\r\n`)
  await once(client, 'close')
  return text
}

it('the end of a connection behind its last response is ours to make', async () => {
  onConnection = (socket) =>
    endInstead(socket, () => {
      ends++
      socket.end('and more')
    })
  expect(await ask('close')).toMatch(/here\r?\n?.*and more$/s)
  expect(ends).toBe(1)
})

it('a response that is not the last of its connection ends nothing', async () => {
  onConnection = (socket) =>
    endInstead(socket, (asNode) => {
      ends++
      asNode()
    })
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(client, 'data')
  expect(ends).toBe(0)
  expect(await ask('close')).toContain('here')
  expect(ends).toBe(1)
})

it('a connection that is given back to Node ends without us', async () => {
  onConnection = (socket) => {
    endInstead(socket, () => ends++)
    endAsNode(socket)
  }
  expect(await ask('close')).toContain('here')
  expect(ends).toBe(0)
})
