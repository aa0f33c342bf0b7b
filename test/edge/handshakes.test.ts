import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import tls from 'node:tls'
import { expect, it } from 'vitest'
import { MOST_HANDSHAKES } from '../../src/edge/open-connections.ts'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { statusesIn } from '../e2e/raw.ts'
import { atEnd } from '../setup/at-end.ts'
import { BOTH_WAYS, makeCertificates } from '../setup/ways.ts'

const certificates = makeCertificates()

const byTls = BOTH_WAYS.find(({ clients }) => clients) ?? { clients: true, upstream: false, name: 'by TLS' }

async function start(): Promise<RunningApp> {
  const app = await startApp(yaml('http://127.0.0.1:1', certificates.listener(byTls)))
  return app
}

/** Connections on which nothing is sent. */
async function silent(app: RunningApp, count: number, addressOf: (i: number) => string): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let i = 0; i < count; i++) {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(app.url).port), localAddress: addressOf(i) })
    socket.on('error', () => {}).resume()
    sockets.push(socket)
    atEnd(() => socket.destroy())
    if (i % 100 === 99) await once(socket, 'connect')
  }
  return sockets
}

const closedOf = (sockets: readonly Socket[]): Socket[] => sockets.filter(({ destroyed }) => destroyed)

async function served(app: RunningApp, localAddress: string): Promise<tls.TLSSocket> {
  const raw = connect({ host: '127.0.0.1', port: Number(new URL(app.url).port), localAddress })
  const socket = tls.connect({ socket: raw, rejectUnauthorized: false })
  atEnd(() => socket.destroy())
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [bytes] = await once(socket, 'data')
  expect(statusesIn(String(bytes))).toEqual([404])
  return socket
}

it('connections by TLS that never shake hands stay as many as may, and the oldest of the fullest address goes first', async () => {
  const app = await start()
  const few = await silent(app, 200, () => '127.0.0.3')
  const many = await silent(app, MOST_HANDSHAKES - 100, () => '127.0.0.2')
  await expect.poll(() => closedOf(many).length, { timeout: 60_000 }).toBe(100)
  await served(app, '127.0.0.4')
  await expect.poll(() => closedOf(many).length, { timeout: 60_000 }).toBe(101)
  expect(closedOf(many)).toEqual(many.slice(0, 101))
  expect(closedOf(few)).toEqual([])
})

it('a connection whose hands are shaken counts as none of those, and stays', async () => {
  const app = await start()
  const kept = await Promise.all(Array.from({ length: 5 }, () => served(app, '127.0.0.4')))
  const many = await silent(app, MOST_HANDSHAKES + 5, (i) => `127.0.${2 + Math.floor(i / 250)}.${1 + (i % 250)}`)
  await expect.poll(() => closedOf(many).length, { timeout: 60_000 }).toBe(5)
  expect(kept.filter(({ destroyed }) => destroyed)).toEqual([])
})
