import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { bytesOf, differenceIn } from '../integrity/pattern.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl, type Way } from '../setup/ways.ts'
import { createRandom, type Random } from '../simulate/random.ts'

/** Every byte of a tunnel arrives, in its order, whoever reads slowly and whoever ends first. */

const certificates = makeCertificates()

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const ACCEPTS = `HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`
const ASKS = [
  'GET /live HTTP/1.1',
  'Host: a',
  `Authorization: Bearer ${jwtOf('alice')}`,
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${KEY}`,
].join('\r\n')

/** More than the kernels take on the way, so that whoever reads slowly stops whoever sends. */
const LENGTH = 16_000_000

/** One end of a tunnel: it looks at each byte that comes behind the head of the handshake. */
class End {
  readonly socket: net.Socket
  received = 0
  difference: string | null = null
  #head: string | null = ''

  /** @param comes which bytes come @param onHead called once the head is there */
  constructor(socket: net.Socket, comes: number, onHead: () => void = () => {}) {
    this.socket = socket
    socket
      .on('error', () => {})
      .on('data', (piece: Buffer) => {
        const bytes = this.#head === null ? piece : this.#behindHead(piece, onHead)
        this.difference ??= differenceIn(comes, this.received, bytes, () => false)
        this.received += bytes.length
      })
  }

  #behindHead(piece: Buffer, onHead: () => void): Buffer {
    const head = this.#head + piece.toString('latin1')
    const end = head.indexOf('\r\n\r\n')
    this.#head = end < 0 ? head : null
    if (end < 0) return Buffer.alloc(0)
    onHead()
    return Buffer.from(head.slice(end + 4), 'latin1')
  }

  /** In pieces by chance, each as soon as the kernel takes more. */
  async send(id: number, length: number, random: Random): Promise<void> {
    for (let at = 0; at < length && !this.socket.destroyed; ) {
      const piece = bytesOf(id, at, Math.min(length - at, random.pick([1, 100, 5000, 70_000, 300_000])))
      at += piece.length
      if (!this.socket.write(piece)) await Promise.race([once(this.socket, 'drain'), once(this.socket, 'close')])
    }
  }

  /** Stops reading for a while, again and again. */
  readSlowly(random: Random): void {
    const timer = setInterval(() => {
      this.socket.pause()
      setTimeout(() => this.socket.resume(), random.integer(10, 60))
    }, 100)
    this.socket.once('close', () => clearInterval(timer))
  }
}

const [UP, DOWN] = [1, 2]

async function start(way: Way) {
  const upstream = Promise.withResolvers<End>()
  const server = certificates.server(way, (socket) => {
    // Whoever is told of the end may still send.
    Object.assign(socket, { allowHalfOpen: true })
    atEnd(() => socket.destroy())
    const end = new End(socket, UP, () => {
      socket.write(ACCEPTS)
      upstream.resolve(end)
    })
  })
  await listening(server)
  const rest = `routes: [{ match: GET /live, category: read, cost: 1 }]\n${certificates.listener(way)}`
  const app = await startApp(yaml(upstreamUrl(way, server), rest, 'sqlite::memory:', certificates.upstream(way)))
  const opened = Promise.withResolvers<void>()
  const client = new End(connectTo(app.url, { allowHalfOpen: true }), DOWN, () => opened.resolve())
  atEnd(() => client.socket.destroy())
  client.socket.write(`${ASKS}\r\n\r\n`)
  await opened.promise
  return { app, client, upstream: await upstream.promise }
}

const seen = ({ received, difference }: End) => ({ received, difference })
const WHOLE = { received: LENGTH, difference: null }

describe.each(BOTH_WAYS)('the bytes of a tunnel, by $name', (way) => {
  it('the bytes of a tunnel arrive both ways at a time, where both ends read slowly', async () => {
    const random = createRandom(1)
    const { app, client, upstream } = await start(way)
    client.readSlowly(random)
    upstream.readSlowly(random)
    await Promise.all([client.send(UP, LENGTH, random), upstream.send(DOWN, LENGTH, random)])
    await expect.poll(() => [seen(client), seen(upstream)]).toEqual([WHOLE, WHOLE])
    client.socket.end()
    await expect.poll(() => upstream.socket.readableEnded).toBe(true)
    upstream.socket.end()
    await expect.poll(() => app.requests()).toMatchObject([{ httpStatus: 101, outcome: 'forwarded' }])
  })

  it('the bytes of a tunnel arrive one way while the other end reads nothing', async () => {
    const random = createRandom(2)
    const { client, upstream } = await start(way)
    client.socket.pause()
    const down = upstream.send(DOWN, LENGTH, random)
    await client.send(UP, LENGTH, random)
    await expect.poll(() => seen(upstream)).toEqual(WHOLE)
    client.socket.resume()
    await down
    await expect.poll(() => seen(client)).toEqual(WHOLE)
  })

  it('the bytes of a tunnel arrive before the end of a client that ends its side behind them, and the response to that end arrives, too', async () => {
    const random = createRandom(3)
    const { client, upstream } = await start(way)
    upstream.socket.pause()
    const up = client.send(UP, LENGTH, random).then(() => client.socket.end())
    upstream.socket.on('end', () => {
      upstream.socket.write(bytesOf(DOWN, 0, 100_000))
      upstream.socket.end()
    })
    await sleep(300)
    upstream.socket.resume()
    await up
    await expect.poll(() => client.socket.readableEnded).toBe(true)
    expect(seen(upstream)).toEqual(WHOLE)
    expect(seen(client)).toEqual({ received: 100_000, difference: null })
  })

  it('the bytes of a tunnel arrive before the end of an upstream that ends its side behind them, where the client reads slowly', async () => {
    const random = createRandom(4)
    const { client, upstream } = await start(way)
    client.readSlowly(random)
    await upstream.send(DOWN, LENGTH, random)
    upstream.socket.end()
    await expect.poll(() => client.socket.readableEnded).toBe(true)
    expect(seen(client)).toEqual(WHOLE)
  })
})

it('the bytes of a tunnel arrive from a client that sends hundreds of short records, and that rests between them', async () => {
  const length = 400_000
  const { app, client, upstream } = await start({ name: '', clients: true, upstream: false })
  const socket = client.socket as TLSSocket
  socket.setMaxSendFragment(512)
  socket.write(bytesOf(UP, 0, length))
  await expect.poll(() => upstream.received).toBeGreaterThan(0)
  // Others get their turn meanwhile.
  await fetch(`${app.admin}/livez`)
  expect(upstream.received).toBeLessThan(length)
  await expect.poll(() => seen(upstream)).toEqual({ received: length, difference: null })
})
