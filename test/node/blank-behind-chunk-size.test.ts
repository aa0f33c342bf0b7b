import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { takeBlanksBehindChunkSizes } from '../../src/node/blank-behind-chunk-size.ts'

/** What a server reads of a chunked body, or the code of its parser's error. */
async function read(body: string, onConnection: (server: http.Server, socket: Socket) => void): Promise<string> {
  const server = http.createServer()
  onTestFinished(() => void server.close())
  server.on('connection', (socket: Socket) => onConnection(server, socket))
  const result = new Promise<string>((resolve) => {
    server.on('request', (req, res) => {
      text(req).then(resolve, () => {})
      res.end()
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      resolve(error.code ?? '')
      socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  onTestFinished(() => void client.destroy())
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
  return await result
}

const PADDED = '2  \r\nab\r\n3 \t\r\ncde\r\n0 \r\n\r\n'

it('a parser that takes blanks behind a chunk size reads the chunk by its size', async () => {
  expect(await read(PADDED, takeBlanksBehindChunkSizes)).toBe('abcde')
})

it('Node takes no blank behind a chunk size otherwise', async () => {
  expect(await read(PADDED, () => {})).toBe('HPE_INVALID_CHUNK_SIZE')
})

it.each([
  ['a size that is none', 'x\r\nab\r\n0\r\n\r\n'],
  ['a line that ends in LF alone', '2\nab\r\n0\r\n\r\n'],
  ['a chunk longer than its size', '1\r\nab\r\n0\r\n\r\n'],
  ['a blank before a size', ' 2\r\nab\r\n0\r\n\r\n'],
])('a parser that takes blanks behind a chunk size still refuses %s', async (_what, body) => {
  expect(await read(body, takeBlanksBehindChunkSizes)).toMatch(/^HPE_/)
})
