import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { connectTo, makeCertificates, type Way } from '../setup/ways.ts'

/** CONNECT makes Node let go of a connection, with all that it listened to. */

const certificates = makeCertificates()

const PLAIN: Way = { name: 'in the clear', clients: false, upstream: false }
const TLS: Way = { name: 'by TLS', clients: true, upstream: false }

const BIG = Buffer.alloc(8_000_000, 'x')
let upstream: Upstream
let app: RunningApp
const sockets = new Set<net.Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
})

async function start(way: Way = PLAIN): Promise<void> {
  upstream = await startUpstream(({ url }, res) => void res.end(url === '/big' ? BIG : 'ok'))
  app = await startApp(yaml(upstream.url, `routes: [{ match: "GET /*", public: true }]\n${certificates.listener(way)}`))
}

function open(): net.Socket {
  const socket = connectTo(app.url, { allowHalfOpen: true })
  sockets.add(socket)
  return socket
}

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

async function inFlight(): Promise<number> {
  const text = await (await fetch(`${app.admin}/metrics`)).text()
  return Number(/^tollgate_inflight_requests (\d+)/m.exec(text)?.[1])
}

const served = async () =>
  expect(statusesIn(await rawExchange(app.url, 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n'))).toEqual([200])

it.each([
  ['an ambiguous request', 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
  [
    'an upgrade that is served as a plain request',
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n',
  ],
  ['a request that ends the connection', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ['what is no HTTP', 'nonsense\r\n\r\n'],
])('a CONNECT and a reset behind %s end nothing but their connection', async (_what, first) => {
  await start()
  for (let i = 0; i < 3; i++) {
    const socket = open()
    socket.write(first)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.write(CONNECT)
    await sleep(50)
    if (!socket.destroyed) socket.resetAndDestroy()
    await served()
  }
  await expect.poll(inFlight).toBe(0)
})

it('a CONNECT and a reset behind requests that wait for a large response leave none of them behind', async () => {
  await start()
  for (let i = 0; i < 20; i++) {
    const socket = open().pause()
    socket.write(get('/big') + get('/a').repeat(30) + CONNECT)
    await expect.poll(() => upstream.seen.filter(({ url }) => url === '/big').length).toBe(i + 1)
    socket.resetAndDestroy()
  }
  await served()
  await expect.poll(inFlight).toBe(0)
  await expect.poll(() => app.requests().length).toBe(20 * 31 + 1)
  expect(upstream.seen.filter(({ url }) => url === '/a').length).toBe(1)
})

describe('a CONNECT', () => {
  it.each([PLAIN, TLS])(
    '$name behind responses that are still to come gives them up when the client leaves',
    async (way) => {
      await start(way)
      const socket = open().pause()
      socket.write(get('/big').repeat(2) + CONNECT)
      await expect.poll(() => upstream.seen.length).toBe(1)
      await sleep(40)
      socket.destroy()
      await expect.poll(() => app.requests().map(({ outcome }) => outcome)).toEqual(['aborted', 'aborted'])
    },
  )

  it('a CONNECT behind requests is refused when all of them have their responses, also a large one', async () => {
    await start()
    const socket = open()
    const pieces: Buffer[] = []
    socket.on('data', (piece: Buffer) => pieces.push(piece))
    socket.write(get('/big') + get('/a') + CONNECT)
    await new Promise((resolve) => socket.once('end', resolve))
    const text = Buffer.concat(pieces).toString('latin1')
    expect(statusesIn(text)).toEqual([200, 200, 405])
    expect(text.length).toBeGreaterThan(BIG.length)
  })
})
