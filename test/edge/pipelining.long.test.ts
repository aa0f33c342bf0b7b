import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { connectTo, makeCertificates, upstreamUrl, WAYS, type Way } from '../setup/ways.ts'

/** Several requests of one connection, sent before their responses have come. */

const certificates = makeCertificates()

const LENGTH = 20_000_000
const auth = (user: string): string => `Authorization: Bearer ${jwtOf(user)}\r\n`
const get = (path: string, user = 'alice'): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${auth(user)}\r\n`

/** Responds with 20 MB to `/api/big`, with a broken response to `/api/broken`, and with `ok` to anything else. */
async function start(way: Way, upstream: string) {
  const seen: string[] = []
  const sockets = new Set<net.Socket>()
  const server = certificates.server(way, (socket) => {
    sockets.add(socket)
    socket
      .on('error', () => {})
      .on('data', (bytes: Buffer) => {
        const path = /^[A-Z]+ (\S+) HTTP/.exec(bytes.toString('latin1'))?.[1]
        if (path === undefined) return
        seen.push(path)
        const length = path === '/api/big' ? LENGTH : 2
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path === '/api/broken' ? 100_000 : length}\r\n\r\n`)
        socket.write(path === '/api/big' ? Buffer.alloc(LENGTH, 'x') : 'ok')
        // Later than the head, which the client is to have.
        if (path === '/api/broken') setTimeout(() => socket.destroy(), 100)
      })
  })
  await listening(server)
  const more = ['queue_timeout: 1m', upstream, certificates.upstream(way)].filter(Boolean).join(', ')
  // A share of so few would be one.
  const edge = 'edge: { max_lag: 1m, shares: { address: none, user: none } }'
  const rest = `${edge}\nroutes: [{ match: "* /api/*", category: read, cost: 1 }]\n${certificates.listener(way)}`
  const app = await startApp(yaml(upstreamUrl(way, server), rest, 'sqlite::memory:', more))
  return { app, seen }
}

function open(app: RunningApp) {
  const socket = connectTo(app.url)
  atEnd(() => socket.destroy())
  const chunks: Buffer[] = []
  socket.on('data', (bytes: Buffer) => chunks.push(bytes))
  const text = (): string => Buffer.concat(chunks).toString('latin1')
  return { socket, text, statuses: () => statusesIn(text()) }
}

describe.each(WAYS)('requests of one connection, by $name', (way) => {
  it('requests of one connection hold one connection to the upstream, so that others get one where nothing is read', async () => {
    const { app, seen } = await start(way, 'max_connections: 3')
    for (const user of ['alice', 'bob']) {
      const { socket } = open(app)
      socket.pause()
      socket.write(get('/api/big', user).repeat(32))
    }
    await expect.poll(() => seen).toEqual(['/api/big', '/api/big'])
    for (let i = 0; i < 3; i++) expect(statusesIn(await rawExchange(app.url, get('/api/a', 'carol')))).toEqual([200])
    expect(seen.filter((path) => path === '/api/big')).toHaveLength(2)
  })

  it('requests of one connection are forwarded in their order, also where the first one takes longer to be admitted', async () => {
    const { app, seen } = await start(way, 'max_connections: 1')
    const client = open(app)
    const first = `POST /api/a HTTP/1.1\r\nHost: a\r\n${auth('alice')}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n`
    client.socket.write(first + get('/api/big') + get('/api/b'))
    await expect.poll(() => client.text().length).toBeGreaterThan(LENGTH)
    await expect.poll(client.statuses).toEqual([200, 200, 200])
    expect(seen).toEqual(['/api/a', '/api/big', '/api/b'])
  })

  it('requests of one connection arrive whole where so much of the responses before them waits that nobody reads', async () => {
    const { app, seen } = await start(way, '')
    const client = open(app)
    client.socket.pause()
    client.socket.write(get('/api/big'))
    await expect.poll(() => seen).toEqual(['/api/big'])
    // By TLS several records, which come in one read.
    const body = 'x'.repeat(60_000)
    const upload = `POST /api/a HTTP/1.1\r\nHost: a\r\n${auth('alice')}Content-Length: ${body.length}\r\n\r\n${body}`
    for (let i = 0; i < 5; i++) {
      await sleep(100)
      client.socket.write(upload)
    }
    await sleep(100)
    client.socket.resume()
    await expect.poll(client.statuses).toEqual(Array(6).fill(200))
    expect(app.requests().map(({ outcome }) => outcome)).toEqual(Array(6).fill('forwarded'))
  })

  it('requests of one connection are read on where one of them came while nobody read, and nothing with it', async () => {
    const { app, seen } = await start(way, '')
    const client = open(app)
    client.socket.pause()
    client.socket.write(get('/api/big'))
    await expect.poll(() => seen).toEqual(['/api/big'])
    await sleep(100)
    client.socket.write(get('/api/a'))
    await sleep(100)
    client.socket.resume()
    await expect.poll(client.statuses).toEqual([200, 200])
    client.socket.write(get('/api/b'))
    await expect.poll(client.statuses).toEqual([200, 200, 200])
    expect(seen).toEqual(['/api/big', '/api/a', '/api/b'])
  })

  it('requests of one connection leave the responses before them whole where the upstream breaks one off', async () => {
    const { app } = await start(way, '')
    const client = open(app)
    client.socket.pause()
    client.socket.write(get('/api/a') + get('/api/broken') + get('/api/b'))
    await expect.poll(() => app.requests().map(({ outcome }) => outcome)).toContain('failed')
    client.socket.resume()
    await expect.poll(() => client.socket.closed).toBe(true)
    expect(client.statuses()).toEqual([200, 200])
    expect(client.text()).toMatch(/\r\n\r\nokHTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nok$/)
  })
})
