import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { giveBack } from '../../src/node/own-memory.ts'

it('the memory of a large piece of a body is its own, and is free once it is given back', async () => {
  const server = http.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  http.request({ port, host: '127.0.0.1', method: 'POST' }).end(Buffer.alloc(1_000_000, 'x'))
  const [req, res] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const pieces: Buffer[] = []
  req.on('data', (piece: Buffer) => pieces.push(piece))
  await once(req, 'end')
  const large = pieces.filter(({ length }) => length >= 16 * 1024)
  expect(large.length).toBeGreaterThan(0)
  expect(large.filter(({ length, buffer }) => buffer.byteLength !== length)).toEqual([])
  giveBack(large)
  expect(large.map(({ length, buffer }) => [length, buffer.byteLength])).toEqual(large.map(() => [0, 0]))
  res.end()
  server.close()
})

it('a piece that shares its memory with others is left alone', () => {
  const [first, second] = [Buffer.from('first'), Buffer.from('second')]
  expect(first.buffer).toBe(second.buffer)
  giveBack([first])
  expect([first.toString(), second.toString()]).toEqual(['first', 'second'])
})
