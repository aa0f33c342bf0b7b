import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { describe, expect, it } from 'vitest'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, makeCertificates, upstreamUrl, type Way } from '../setup/ways.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { statusesIn } from './raw.ts'

/** Clients that ask for more than their connections take, and read nothing. Others share the upstream with them. */

/** More than the kernel keeps for a client that does not read. */
const BIG = Buffer.alloc(8_000_000, 'x')
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const certificates = makeCertificates()

/** @returns its URL, and how many large responses it was asked for */
async function startUpstream(way: Way) {
  const sockets = new Set<net.Socket>()
  let asked = 0
  const server = certificates.server(way, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (!bytes.includes('/pub/big')) return void socket.write(OK)
      asked++
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${BIG.length}\r\n\r\n`)
      socket.write(BIG)
    })
  })
  await listening(server)
  return { url: upstreamUrl(way, server), asked: () => asked }
}

function configuration(way: Way, url: string, upstream: string): string {
  const more = [certificates.upstream(way), 'max_connections: 4', upstream].filter(Boolean)
  const routes = 'routes: [{ match: "* /pub/*", public: true }]'
  return yaml(url, `${routes}\n${certificates.listener(way)}`, undefined, more.join(', '))
}

async function start(way: Way, url: string, upstream: string): Promise<RunningApp> {
  const app = await startApp(configuration(way, url, upstream))
  return app
}

function connect(app: RunningApp, localAddress: string): net.Socket {
  const { hostname: host, port, protocol } = new URL(app.url)
  const place = { host, port: Number(port), localAddress }
  const socket = protocol === 'https:' ? tls.connect({ ...place, rejectUnauthorized: false }) : net.connect(place)
  atEnd(() => socket.destroy())
  return socket.on('error', () => {})
}

/** Each of two addresses asks for four, which is as many as the upstream has connections. */
function askAndReadNothing(app: RunningApp): net.Socket[] {
  return ['127.0.0.3', '127.0.0.4'].flatMap((address) =>
    Array.from({ length: 4 }, () => {
      const socket = connect(app, address).pause()
      socket.write('GET /pub/big HTTP/1.1\r\nHost: a\r\n\r\n')
      return socket
    }),
  )
}

/** The status that somebody else gets. */
async function other(app: RunningApp): Promise<number | undefined> {
  const socket = connect(app, '127.0.0.5')
  let text = ''
  socket.on('data', (piece) => {
    text += piece.toString('latin1')
  })
  socket.write('GET /pub/now HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await once(socket, 'close')
  return statusesIn(text)[0]
}

async function buffered(app: RunningApp): Promise<number> {
  const headers = { authorization: 'Bearer test-admin-token-0001' }
  const text = await (await fetch(`${app.admin}/metrics`, { headers })).text()
  return Number(/^tollgate_response_buffer_bytes (\d+)$/m.exec(text)?.[1])
}

const poll = <T>(read: () => T) => expect.poll(read, { interval: 20 })

describe.each(BOTH_WAYS)('two addresses that ask for more than they read, $name,', (way) => {
  it('two addresses that ask for more than they read leave the upstream to others where their responses fit into the buffer', async () => {
    const upstream = await startUpstream(way)
    const app = await start(way, upstream.url, 'buffer: 16MiB, buffer_total: 256MiB, queue_timeout: 60s')
    const sockets = askAndReadNothing(app)
    await poll(upstream.asked).toBe(8)
    expect(await other(app)).toBe(200)
    expect(await buffered(app)).toBeGreaterThan(0)
    for (const socket of sockets.slice(0, 4)) socket.destroy()
    for (const socket of sockets.slice(4)) {
      let left = BIG.length
      socket.on('data', ({ length }) => {
        left -= length
      })
      socket.resume()
      await poll(() => left < 0).toBe(true)
    }
    await poll(() => app.requests().filter(({ outcome }) => outcome === 'forwarded').length).toBe(5)
    await poll(() => buffered(app)).toBe(0)
  })

  it.each([
    ['are larger than the buffer', 'buffer: 256KiB'],
    ['are more than the buffer of all holds', 'buffer: 16MiB, buffer_total: 1MiB'],
    ['are not buffered', 'buffer: 0'],
  ])(
    'two addresses that ask for more than they read hold what their shares allow where their responses %s',
    async (_what, keys) => {
      const upstream = await startUpstream(way)
      const app = await start(way, upstream.url, `queue_timeout: 500ms, ${keys}`)
      askAndReadNothing(app)
      await poll(upstream.asked).toBe(4)
      expect(await other(app)).toBe(503)
      expect(upstream.asked()).toBe(4)
      expect(await buffered(app)).toBeLessThan(4_000_000)
    },
  )
})

it('what waits is counted on by the configuration that comes next', async () => {
  const [way] = BOTH_WAYS as [Way]
  const upstream = await startUpstream(way)
  const app = await start(way, upstream.url, '')
  askAndReadNothing(app)
  await poll(upstream.asked).toBe(4)
  // How much lies over the buffer of each is how much came with its last read, which may be nothing.
  await poll(() => buffered(app)).toBeGreaterThanOrEqual(4 * 256 * 1024)
  await app.reload(configuration(way, upstream.url, 'buffer: 128KiB'))
  expect(await buffered(app)).toBeGreaterThanOrEqual(4 * 256 * 1024)
})
