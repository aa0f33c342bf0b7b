import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { freePort } from '../setup/redis.ts'
import { testCertificate } from './certificate.ts'
import {
  assertNoSurprises,
  CLOSE,
  exchangeRaw,
  type Gateway,
  type GatewayOptions,
  gatewayTo,
  get,
  rawClient,
  tcpServer,
  until,
} from './support.ts'

assertNoSurprises()

const SERVICE = join(import.meta.dirname, 'restarting-service.mjs')
/** Longer than any test. */
const LONG_MS = 100_000
/** Long enough for a growing pause to have come to several attempts. */
const A_WHILE_MS = 400

interface Restarting {
  readonly url: string
  readonly socket: string | null
  start(): Promise<void>
  /** As by `kill -9`: nothing is ended in order. */
  kill(): Promise<void>
}

async function restarting(scheme: 'http' | 'https', place: 'port' | 'socket'): Promise<Restarting> {
  const at = place === 'port' ? await freePort() : join(tempFolder(), 'app.sock')
  const { cert, key } = testCertificate()
  const service = JSON.stringify({ listen: at, certificate: scheme === 'https' ? { cert, key } : null })
  let child: ChildProcess | null = null
  async function kill(): Promise<void> {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
    // Its file would be in the way of the next one.
    if (typeof at === 'string') rmSync(at)
  }
  atEnd(kill)
  return {
    url: typeof at === 'number' ? `${scheme}://127.0.0.1:${at}` : `${scheme}://localhost`,
    socket: typeof at === 'number' ? null : at,
    kill,
    start: async () => {
      child = spawn(process.execPath, [SERVICE, service], { stdio: ['ignore', 'pipe', 'inherit'] })
      if (child.stdout !== null) await once(child.stdout, 'data')
    },
  }
}

async function gatewayOf(upstream: Restarting, options: GatewayOptions = {}): Promise<Gateway> {
  const socket = upstream.socket === null ? {} : { socket: upstream.socket }
  return await gatewayTo(upstream.url, { connectRetryMs: LONG_MS, ...socket, ...options })
}

const chunked =
  'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
const post = 'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'

async function echoOf(gateway: Gateway): Promise<string> {
  const socket = new WebSocket(gateway.url.replace('http', 'ws'))
  atEnd(() => socket.terminate())
  await once(socket, 'open')
  socket.send('hi')
  const [echo] = await once(socket, 'message')
  return String(echo)
}

const HANDSHAKE = `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`

describe.each([
  ['over TCP', 'http', 'port'],
  ['over TLS', 'https', 'port'],
  ['on a Unix socket', 'http', 'socket'],
] as const)('an upstream %s that restarts', (_name, scheme, place) => {
  it('an upstream that restarts gets every request that came meanwhile, of whatever method, once, and every WebSocket', async () => {
    const upstream = await restarting(scheme, place)
    await upstream.start()
    const gateway = await gatewayOf(upstream)
    await exchangeRaw(gateway.port, get('/', CLOSE))
    await upstream.kill()
    const requests = Array.from({ length: 30 }, (_, i) =>
      exchangeRaw(gateway.port, [get('/', CLOSE), post, chunked][i % 3] as string),
    )
    const sockets = Array.from({ length: 10 }, () => echoOf(gateway))
    await sleep(A_WHILE_MS)
    expect(gateway.results).toHaveLength(1)
    await upstream.start()
    const texts = (await Promise.all(requests)).map(({ text }) => text)
    expect(texts.map((text) => text.slice(0, 15))).toEqual(Array(30).fill('HTTP/1.1 200 OK'))
    // In each of three, the bodies came whole.
    expect(texts.map((text) => /[A-Z]+ (\d+) \d+\s*(0\s*)?$/.exec(text)?.[1])).toEqual(
      Array(10).fill(['0', '5', '3']).flat(),
    )
    // The upstream numbers what it sees, so that a request that came twice would leave a gap.
    const numbers = texts.map((text) => Number(/[A-Z]+ \d+ (\d+)\s*(0\s*)?$/.exec(text)?.[1]))
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1))
    expect(await Promise.all(sockets)).toEqual(Array(10).fill('echo hi'))
  })

  it('an upstream that restarts is given up once the time is over, as one that was never sent anything', async () => {
    const upstream = await restarting(scheme, place)
    const gateway = await gatewayOf(upstream, { connectRetryMs: 200 })
    const { text } = await exchangeRaw(gateway.port, post)
    expect(text).toContain('upstream_unreachable')
    expect(gateway.results).toMatchObject([{ outcome: 'failed', error: 'upstream_unreachable', reached: false }])
    await expect(echoOf(gateway)).rejects.toThrow('502')
    expect(gateway.results[1]).toMatchObject({ outcome: 'failed', error: 'upstream_unreachable', reached: false })
  })

  it('an upstream that restarts is waited for no longer by a client that leaves', async () => {
    const upstream = await restarting(scheme, place)
    const gateway = await gatewayOf(upstream)
    const client = rawClient(gateway.port, get('/'))
    const handshake = new WebSocket(gateway.url.replace('http', 'ws'))
    handshake.on('error', () => {})
    await sleep(A_WHILE_MS)
    expect(gateway.results).toEqual([])
    client.socket.destroy()
    handshake.terminate()
    await gateway.settled(2)
    expect(gateway.results).toMatchObject(Array(2).fill({ outcome: 'aborted', reached: false, error: null }))
    await gateway.forwarder.close()
  })
})

describe('while an upstream takes no connections', () => {
  it('those for whom there is no place among the connections wait like all others', async () => {
    const upstream = await restarting('http', 'port')
    const gateway = await gatewayOf(upstream, { maxConnections: 2, queueTimeoutMs: 50 })
    const requests = Array.from({ length: 20 }, () => exchangeRaw(gateway.port, post))
    await sleep(A_WHILE_MS)
    expect(gateway.results).toEqual([])
    await upstream.start()
    const texts = (await Promise.all(requests)).map(({ text }) => text.slice(0, 15))
    // Both connections serve one after the other, each in less than the queue would wait for.
    expect(texts).toEqual(Array(20).fill('HTTP/1.1 200 OK'))
  })

  it.each([
    ['requests', get('/')],
    ['WebSockets', HANDSHAKE],
  ])('one connection after the other is tried for all %s that wait', async (_what, bytes) => {
    let attempts = 0
    const server = tcpServer((socket) => {
      attempts++
      socket.destroy()
    })
    // Over TLS a connection that is closed at once was never ready.
    const gateway = await gatewayTo(`https://127.0.0.1:${await listening(server)}`, { connectRetryMs: LONG_MS })
    const clients = Array.from({ length: 40 }, () => rawClient(gateway.port, bytes))
    await until(() => attempts >= 43)
    await sleep(A_WHILE_MS)
    expect(attempts).toBeLessThan(60)
    for (const { socket } of clients) socket.destroy()
    await gateway.settled(40)
  })

  it('a forwarder closes behind the last that waits, and one that is destroyed waits for nobody', async () => {
    const upstream = await restarting('http', 'port')
    const [closing, destroyed] = [await gatewayOf(upstream), await gatewayOf(upstream)]
    const first = exchangeRaw(closing.port, post)
    const others = [exchangeRaw(destroyed.port, post), echoOf(destroyed)]
    await sleep(A_WHILE_MS)
    await destroyed.forwarder.destroy()
    await Promise.allSettled(others)
    expect(destroyed.results).toMatchObject(Array(2).fill({ outcome: 'failed', reached: false }))
    const closed = closing.forwarder.close()
    await upstream.start()
    await closed
    expect(closing.results).toMatchObject([{ outcome: 'forwarded' }])
    await first
  })

  it('one that comes in no time is tried again, too', async () => {
    const upstream = await restarting('https', 'port')
    await upstream.start()
    let isStuck = true
    const carriers: Socket[] = []
    const front = tcpServer((carrier) => {
      carriers.push(carrier.on('error', () => {}))
      if (isStuck) return
      const behind = connect(Number(new URL(upstream.url).port), '127.0.0.1').on('error', () => {})
      carrier.pipe(behind).pipe(carrier)
    })
    const url = `https://127.0.0.1:${await listening(front)}`
    const gateway = await gatewayTo(url, { connectRetryMs: LONG_MS, connectTimeoutMs: 1_000 })
    const requests = [exchangeRaw(gateway.port, post), exchangeRaw(gateway.port, chunked)]
    const echo = echoOf(gateway)
    await until(() => carriers.length > 4)
    isStuck = false
    const texts = (await Promise.all(requests)).map(({ text }) => text.slice(0, 15))
    expect(texts).toEqual(Array(2).fill('HTTP/1.1 200 OK'))
    expect(await echo).toBe('echo hi')
  })

  it('a certificate that is not trusted is no reason to wait', async () => {
    const upstream = await restarting('https', 'port')
    await upstream.start()
    const gateway = await gatewayOf(upstream, { tls: {} })
    expect((await exchangeRaw(gateway.port, post)).text).toContain('upstream_unreachable')
    await expect(echoOf(gateway)).rejects.toThrow('502')
  })

  it('what a client sends behind its handshake reaches the upstream once', async () => {
    const upstream = await restarting('http', 'port')
    const gateway = await gatewayOf(upstream)
    const message = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
    const client = connect(gateway.port, '127.0.0.1').on('error', () => {})
    atEnd(() => client.destroy())
    let came = ''
    client.on('data', (bytes) => {
      came += bytes.toString('latin1')
    })
    client.write(Buffer.concat([Buffer.from(HANDSHAKE), message]))
    await sleep(A_WHILE_MS)
    await upstream.start()
    await until(() => came.includes('echo hi'))
    client.write(message)
    await until(() => came.split('echo hi').length === 3)
  })
})
