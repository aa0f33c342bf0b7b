import { once } from 'node:events'
import http, { IncomingMessage } from 'node:http'
import net, { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ClientLeft, readBody } from '../../../src/edge/body/read-body.ts'
import { listening } from '../../setup/listening.ts'

it.each([
  ['in its middle', 'Content-Length: 100000\r\n\r\nthe beginning'],
  ['behind it', 'Content-Length: 9\r\n\r\nall of it'],
  ['behind it, which came in chunks', 'Transfer-Encoding: chunked\r\n\r\n9\r\nall of it\r\n0\r\n\r\n'],
])('a body whose client left %s before anybody read it is not waited for', async (_where, sent) => {
  const read = Promise.withResolvers<unknown>()
  const server = http.createServer((req, res) => {
    req.once('close', () => readBody(req, res, 1_000_000).then(read.resolve, read.reject))
  })
  const client = net.connect(await listening(server), '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\nHost: a\r\n${sent}`)
  await once(server, 'request')
  client.destroy()
  await expect(read.promise).rejects.toThrow(ClientLeft)
})

describe('how long a body may take', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())

  function reading(length: number) {
    const req = new IncomingMessage(new Socket())
    req.headers['content-length'] = String(length)
    const read = readBody(req, null, 1_000_000)
    req.emit('data', Buffer.from('hello'))
    return { req, read }
  }

  it('how long a body may take is 30 seconds where it is short', async () => {
    const { read } = reading(65_536)
    vi.advanceTimersByTime(29_999)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1)
    expect(await read).toMatchObject({ code: 'request_timeout', headers: { Connection: 'close' } })
  })

  it('how long a body may take does not count where nobody reads the connection, since answers before it wait for their client', async () => {
    const { req, read } = reading(65_536)
    vi.advanceTimersByTime(10_000)
    req.socket.pause()
    vi.advanceTimersByTime(60_000)
    req.socket.resume()
    vi.advanceTimersByTime(19_999)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1)
    expect(await read).toMatchObject({ code: 'request_timeout' })
  })

  it('how long a body may take has no end where it is long: it must keep up a rate', () => {
    reading(65_537)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('how long a body may take does not matter any more when it has come: it is not kept for as long', async () => {
    const { req, read } = reading(5)
    req.emit('end')
    expect(await read).toEqual(Buffer.from('hello'))
    expect(vi.getTimerCount()).toBe(0)
  })
})

it('a body in chunks of one byte takes little more memory than it has bytes', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const req = new IncomingMessage(new Socket())
  req.headers = { 'transfer-encoding': 'chunked' }
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
