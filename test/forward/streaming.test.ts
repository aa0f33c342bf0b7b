import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { assertNoSurprises, gatewayTo, get, httpBackend, rawBackend, rawClient, until } from './support.ts'

assertNoSurprises()

const MB = 1024 * 1024
const SIZE = 300 * MB
/** All three parties live in this process; a proxy that buffered would grow by the size of the body. */
const GROWTH = 150 * MB

describe('a body of 300 MB', () => {
  it('goes up to a backend that reads slowly, through flat memory', async () => {
    let received = 0
    const backend = await httpBackend(async (req, res) => {
      for await (const chunk of req) {
        received += chunk.length
        if (received % (64 * MB) < chunk.length) await sleep(300)
      }
      res.end('done')
    })
    const gateway = await gatewayTo(backend.url)
    const peak = watchMemory()
    const upload = request(gateway.url, { method: 'POST' })
    zeros(SIZE).pipe(upload)
    const [answer] = await once(upload, 'response')
    answer.resume()
    await once(answer, 'end')
    expect(received).toBe(SIZE)
    expect(peak()).toBeLessThan(GROWTH)
  })

  it('comes down to a client that reads slowly, through flat memory', async () => {
    const backend = await httpBackend((_req, res) => void zeros(SIZE).pipe(res))
    const gateway = await gatewayTo(backend.url)
    const peak = watchMemory()
    const [answer] = await once(request(gateway.url).end(), 'response')
    let received = 0
    for await (const chunk of answer) {
      received += chunk.length
      if (received % (64 * MB) < chunk.length) await sleep(300)
    }
    expect(received).toBe(SIZE)
    expect(peak()).toBeLessThan(GROWTH)
  })

  it('with a declared length arrives with it', async () => {
    let length: string | undefined
    const backend = await httpBackend((req, res) => {
      length = req.headers['content-length']
      req.resume().on('end', () => res.writeHead(200, { 'content-length': 20 * MB }).end(Buffer.alloc(20 * MB)))
    })
    const gateway = await gatewayTo(backend.url)
    const upload = request(gateway.url, { method: 'PUT', headers: { 'content-length': 20 * MB } })
    zeros(20 * MB).pipe(upload)
    const [answer] = await once(upload, 'response')
    const body = await answer.toArray()
    expect(length).toBe(String(20 * MB))
    expect(Buffer.concat(body).length).toBe(20 * MB)
  })
})

it('the measure itself sees a proxy that buffers', async () => {
  const peak = watchMemory()
  const kept = await zeros(SIZE).toArray()
  await sleep(30)
  expect(kept.length).toBeGreaterThan(0)
  expect(peak()).toBeGreaterThan(GROWTH)
})

/** New memory for each piece, so that keeping pieces shows. */
function zeros(size: number): Readable {
  let left = size
  return new Readable({
    read() {
      const length = Math.min(left, 64 * 1024)
      left -= length
      this.push(length === 0 ? null : Buffer.alloc(length, 1))
    },
  })
}

/** The growth of the resident set from now to its peak, in bytes. */
function watchMemory(): () => number {
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 10)
  return () => {
    clearInterval(timer)
    return Math.max(peak, process.memoryUsage.rss()) - before
  }
}

/** One chunk of a body, of `size` bytes. */
function chunk(size: number): string {
  return `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
}

describe('a client that reads slowly', () => {
  /** A backend whose last chunk comes together with the end, when the client's connection is full already. */
  async function fullAtTheEnd(idleTimeoutMs: number) {
    let answer: ServerResponse | undefined
    const backend = await rawBackend(async (socket, head) => {
      if (!head.includes('/big')) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      while ((answer?.socket?.writableLength ?? 0) < 30_000) {
        socket.write(chunk(20_000))
        await sleep(1)
      }
      await sleep(20)
      socket.write(`${chunk(45_000)}0\r\n\r\n`)
    })
    const gateway = await gatewayTo(backend.url, { idleTimeoutMs })
    gateway.server.on('request', (_req, res) => {
      answer ??= res
    })
    const client = rawClient(gateway.port, get('/big'))
    client.socket.pause()
    await until(() => answer?.writableEnded === true)
    return { backend, gateway, client }
  }

  it('does not leave a connection to the backend behind that nobody reads', async () => {
    const { backend, gateway } = await fullAtTheEnd(10_000)
    const other = rawClient(gateway.port, get('/small'))
    await other.until('ok')
    expect(backend.sockets).toHaveLength(1)
  })

  it('gets the rest of an answer that the backend has finished, however long it takes', async () => {
    const { client, gateway } = await fullAtTheEnd(100)
    await sleep(300)
    client.socket.resume()
    await client.until('\r\n0\r\n\r\n')
    expect((await gateway.settled()).outcome).toBe('forwarded')
  })
})
