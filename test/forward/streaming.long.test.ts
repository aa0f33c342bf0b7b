import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertNoSurprises, gatewayTo, get, overEachTransport, rawClient, until } from './support.ts'

assertNoSurprises()

const MB = 1024 * 1024
const SIZE = 300 * MB
/** All three parties live in this process; a proxy that buffered would grow by the size of the body. */
const GROWTH = 150 * MB

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

overEachTransport(({ httpUpstream }) => {
  it('a body of 300 MB goes up to an upstream that reads slowly, through flat memory', async () => {
    let received = 0
    const upstream = await httpUpstream(async (req, res) => {
      for await (const chunk of req) {
        received += chunk.length
        if (received % (64 * MB) < chunk.length) await sleep(300)
      }
      res.end('done')
    })
    const gateway = await gatewayTo(upstream.url)
    const peak = watchMemory()
    const upload = request(gateway.url, { method: 'POST' })
    zeros(SIZE).pipe(upload)
    const [response] = await once(upload, 'response')
    response.resume()
    await once(response, 'end')
    expect(received).toBe(SIZE)
    expect(peak()).toBeLessThan(GROWTH)
  })

  it('a body of 300 MB comes down to a client that reads slowly, through flat memory', async () => {
    const upstream = await httpUpstream((_req, res) => void zeros(SIZE).pipe(res))
    const gateway = await gatewayTo(upstream.url)
    const peak = watchMemory()
    const [response] = await once(request(gateway.url).end(), 'response')
    let received = 0
    for await (const chunk of response) {
      received += chunk.length
      if (received % (64 * MB) < chunk.length) await sleep(300)
    }
    expect(received).toBe(SIZE)
    expect(peak()).toBeLessThan(GROWTH)
  })

  it('a body of 300 MB with a declared length arrives with it', async () => {
    let length: string | undefined
    const upstream = await httpUpstream((req, res) => {
      length = req.headers['content-length']
      req.resume().on('end', () => res.writeHead(200, { 'content-length': 20 * MB }).end(Buffer.alloc(20 * MB)))
    })
    const gateway = await gatewayTo(upstream.url)
    const upload = request(gateway.url, { method: 'PUT', headers: { 'content-length': 20 * MB } })
    zeros(20 * MB).pipe(upload)
    const [response] = await once(upload, 'response')
    const body = await response.toArray()
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

overEachTransport(({ httpUpstream, rawUpstream }) => {
  /** The same octets for the same seed, of which no two stretches are alike. */
  function octets({ seed, size, pieces }: { seed: number; size: number; pieces: readonly number[] }): Readable {
    let at = 0
    let nth = 0
    return new Readable({
      read() {
        const length = Math.min(size - at, pieces[nth++ % pieces.length] as number)
        const piece = Buffer.allocUnsafe(length)
        for (let i = 0; i < length; i++) piece[i] = Math.imul(seed + at + i, 2_654_435_761) >>> 24
        at += length
        this.push(length === 0 ? null : piece)
      },
    })
  }

  const near64k = fc.integer({ min: 65_480, max: 65_560 })

  /** Chance likes small numbers: now and then it wants ten million pieces of one octet, which are sent for a minute. */
  const isSoonSent = (pieces: readonly number[]): boolean =>
    pieces.reduce((sum, n) => sum + n, 0) >= 100 * pieces.length

  /** Reads in bursts. */
  async function slowHash(stream: Readable | IncomingMessage): Promise<string> {
    const hash = createHash('sha256')
    let read = 0
    for await (const piece of stream) {
      hash.update(piece)
      read += piece.length
      if (read % MB < piece.length) await sleep(2)
    }
    return hash.digest('hex')
  }

  /** One chunk of a body, of `size` bytes. */
  function chunk(size: number): string {
    return `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
  }

  /** An upstream whose last chunk comes together with the end, when the client's connection is full already. */
  async function fullAtTheEnd(idleTimeoutMs: number) {
    let response: ServerResponse | undefined
    const upstream = await rawUpstream(async (socket, head) => {
      if (!head.includes('/big')) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      socket.setNoDelay()
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      for (let waits = 0; waits < 52_000; waits = response?.socket?.writableLength ?? 0) {
        socket.write(chunk(waits > 0 ? 5_000 : 20_000))
        await sleep(1)
      }
      await sleep(20)
      // Over TLS two records, of which one read brings the last bytes of the first and all of the second.
      socket.write(`${chunk(17_000)}0\r\n\r\n`)
    })
    const gateway = await gatewayTo(upstream.url, { idleTimeoutMs })
    gateway.server.on('request', (_req, res) => {
      response ??= res
    })
    const client = rawClient(gateway.port, get('/big'))
    client.socket.pause()
    await until(() => gateway.given.length === 1)
    return { upstream, gateway, client }
  }

  it('a client that reads slowly does not leave a connection to the upstream behind that nobody reads', async () => {
    const { upstream, gateway } = await fullAtTheEnd(10_000)
    const other = rawClient(gateway.port, get('/small'))
    await other.until('ok')
    expect(upstream.sockets).toHaveLength(1)
  })

  it('a client that reads slowly gets the rest of an answer that the upstream has finished', async () => {
    const { client, gateway } = await fullAtTheEnd(10_000)
    client.socket.resume()
    await client.until('\r\n0\r\n\r\n')
    expect((await gateway.settled()).outcome).toBe('forwarded')
  })

  it('a client that reads slowly is let go where it reads nothing more of an answer that the upstream has finished, whatever it sends meanwhile', async () => {
    // Longer than a busy machine may stand still in the middle of the answer.
    const { client, gateway } = await fullAtTheEnd(4_000)
    // Empty lines before a request are no beginning of one, so no timeout of a head counts either.
    const drip = setInterval(() => client.socket.write('\r\n'), 50)
    expect(await gateway.settled()).toMatchObject({
      outcome: 'aborted',
      reason: expect.stringContaining('stopped reading'),
    })
    clearInterval(drip)
  })

  it('a client that reads slowly has its whole time for each part of the rest, where all of that is buffered', async () => {
    const upstream = await httpUpstream((_req, res) => {
      res.writeHead(200, { 'content-length': 16 * MB }).end(Buffer.alloc(16 * MB, 'x'))
    })
    const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 6_000, buffer: 32 * MB })
    const { socket } = rawClient(gateway.port, get('/'))
    socket.pause()
    await until(() => gateway.given.length === 1)
    let read = 0
    socket.on('data', ({ length }) => {
      if (Math.floor((read + length) / MB) > Math.floor(read / MB)) {
        socket.pause()
        setTimeout(() => socket.resume(), 600)
      }
      read += length
    })
    socket.resume()
    expect(await gateway.settled()).toMatchObject({ outcome: 'forwarded', reason: null })
    await until(() => read > 16 * MB)
  })

  it('a client that reads slowly has its whole time for an answer behind another, from its turn on', async () => {
    const upstream = await rawUpstream((socket, head) => {
      const response = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
      if (head.includes('/first')) setTimeout(() => socket.write(response), 900)
      else socket.write(response)
    })
    const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 300 })
    const client = rawClient(gateway.port, get('/first') + get('/second'))
    await gateway.settled(2)
    expect(gateway.results.map(({ outcome }) => outcome)).toEqual(['forwarded', 'forwarded'])
    await until(() => client.text().split('\r\n\r\nok').length === 3)
  })

  it('a client that reads slowly does not excuse an upstream that then stops for good', async () => {
    let response: ServerResponse | undefined
    let full = false
    const upstream = await rawUpstream(async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      // A machine that stands still for as long as the gateway waits ends the answer before it is full, in the same way.
      while (response?.writableNeedDrain !== true && response?.destroyed !== true) {
        socket.write(chunk(20_000))
        await sleep(5)
      }
      full = true
    })
    const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 2_000 })
    gateway.server.on('request', (_req, res) => {
      response ??= res
    })
    const client = rawClient(gateway.port, get('/'))
    client.socket.pause()
    await until(() => full)
    client.socket.resume()
    expect(await gateway.settled()).toMatchObject({ outcome: 'failed', error: 'upstream_timeout', headSent: true })
  })

  /** Memory of the gateway is used again for the next piece; a side that is slow must never see that. */
  describe('bytes on their way to a slow side', () => {
    const body = fc.record({
      seed: fc.nat(1_000_000),
      /** More than the kernel keeps for a reader that does not read. */
      size: fc.integer({ min: 7 * MB, max: 10 * MB }),
      /** Of what its sender writes at a time; around what one read takes, and what is copied. */
      pieces: fc
        .array(fc.oneof(fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 16_300, max: 16_400 }), near64k), {
          minLength: 1,
          maxLength: 5,
        })
        .filter(isSoonSent),
      framed: fc.boolean(),
    })
    const bodies = fc.array(body, { minLength: 2, maxLength: 4 })
    type Body = typeof body extends fc.Arbitrary<infer T> ? T : never

    it('bytes on their way to a slow side arrive unchanged, however an answer is cut and however many come at once', async () => {
      const known = new Map<string, Body>()
      const upstream = await httpUpstream((req, res) => {
        const { framed, size, ...rest } = known.get(req.url ?? '') as Body
        if (framed) res.setHeader('content-length', size)
        octets({ size, ...rest }).pipe(res)
      })
      const gateway = await gatewayTo(upstream.url)
      let stalled = 0
      const responses = new Map<string | undefined, ServerResponse>()
      gateway.server.on('request', (req, res) => void responses.set(req.url, res))
      const agent = new Agent({ keepAlive: true })
      const download = async (what: Body, path: string): Promise<void> => {
        known.set(path, what)
        const [response] = await once(request(gateway.url + path, { agent }).end(), 'response')
        // Most are more than the kernel takes, and have to wait for their reader.
        await until(
          () => responses.get(path)?.writableNeedDrain === true || responses.get(path)?.writableFinished === true,
        )
        if (responses.get(path)?.writableNeedDrain) stalled++
        expect(await slowHash(response)).toBe(await slowHash(octets(what)))
      }
      await fc.assert(
        fc.asyncProperty(bodies, async (all) => {
          await Promise.all(all.map((what, i) => download(what, `/${i}`)))
        }),
        { numRuns: 4 },
      )
      agent.destroy()
      expect(stalled).toBeGreaterThan(0)
    })

    it('bytes on their way to a slow side arrive unchanged, however a request is cut and however many come at once', async () => {
      const upstream = await httpUpstream(async (req, res) => {
        await sleep(20)
        res.end(await slowHash(req))
      })
      const gateway = await gatewayTo(upstream.url)
      const agent = new Agent({ keepAlive: true })
      const upload = async (what: Body): Promise<void> => {
        const headers = what.framed ? { 'content-length': what.size } : {}
        const sent = octets(what).pipe(request(gateway.url, { method: 'POST', agent, headers }))
        const [response] = await once(sent, 'response')
        expect(Buffer.concat(await response.toArray()).toString()).toBe(await slowHash(octets(what)))
      }
      await fc.assert(
        fc.asyncProperty(bodies, async (all) => {
          await Promise.all(all.map(upload))
        }),
        { numRuns: 4 },
      )
      agent.destroy()
    })

    it('cost no more memory than they are, in an answer of many short pieces', async () => {
      let full = false
      // So many short chunks as may wait for one client, each in a packet of its own.
      const upstream = await rawUpstream(async (socket) => {
        socket.setNoDelay()
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        while (!response?.writableNeedDrain) {
          // What nobody reads fills the kernel's buffers first.
          socket.write(chunk(response?.writableLength ? 20 : 20_000))
          await sleep(1)
        }
        full = true
        socket.write('0\r\n\r\n')
      })
      const gateway = await gatewayTo(upstream.url)
      let response: ServerResponse | undefined
      gateway.server.on('request', (_req, res) => {
        response = res
      })
      const client = rawClient(gateway.port, get('/'))
      client.socket.pause()
      await until(() => full || (response?.writableLength ?? 0) > 0)
      const before = process.memoryUsage().arrayBuffers
      await until(() => full)
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * MB)
      client.socket.resume()
      await client.until('\r\n0\r\n\r\n')
    })
  })
})
