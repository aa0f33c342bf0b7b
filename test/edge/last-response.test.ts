import { once } from 'node:events'
import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { statusesIn } from '../e2e/raw.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl, type Way } from '../setup/ways.ts'

/**
 * A response that ends its connection. What the client has sent behind it is nobody's request. It is read all the same:
 * closed on unread bytes, TCP resets the connection, and the client loses a response that it has not read yet (RFC 9112, 9.6).
 */

const certificates = makeCertificates()

const auth = `Authorization: Bearer ${jwtOf('alice')}\r\n`
const post = (path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: ${length}\r\n\r\n${'x'.repeat(length)}`

/** Closes each connection whose request is for `/api/lost`, and responds with `ok` to any other. */
async function start(way: Way) {
  const sockets = new Set<net.Socket>()
  const server = certificates.server(way, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      const path = /^[A-Z]+ (\S+) HTTP/.exec(bytes.toString('latin1'))?.[1]
      if (path === '/api/lost') socket.destroy()
      else if (path !== undefined) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  await listening(server)
  const rest = `routes: [{ match: "* /api/*", category: read, cost: 1 }]\n${certificates.listener(way)}`
  const app = await startApp(yaml(upstreamUrl(way, server), rest, 'sqlite::memory:', certificates.upstream(way)))
  return app
}

async function drain({ admin }: RunningApp): Promise<void> {
  const response = await fetch(`${admin}/drain`, { method: 'POST', headers: { 'X-Tollgate-Drain': 'yes' } })
  expect(response.status).toBe(200)
}

/** Responds when told, to all that have come. */
async function startHeld(way: Way) {
  const waiting = new Set<net.Socket>()
  const server = certificates.server(way, (socket) => {
    socket.on('error', () => {}).on('data', () => waiting.add(socket))
  })
  await listening(server)
  const rest = `unmatched: forward\n${certificates.listener(way)}`
  const app = await startApp(yaml(upstreamUrl(way, server), rest, 'sqlite::memory:', certificates.upstream(way)))
  function release(text: string): void {
    for (const socket of waiting) socket.write(text)
    waiting.clear()
  }
  return { app, waiting, release }
}

describe.each(BOTH_WAYS)('a request that is under way when its gateway begins to drain, by $name', (way) => {
  it.each(['', 'Expect: 100-continue\r\n'])(
    'a request that is under way when its gateway begins to drain has a response that says its connection ends (%j)',
    async (expects) => {
      const { app, waiting, release } = await startHeld(way)
      const socket = connectTo(app.url)
      let text = ''
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1')
      })
      socket.write(post('/api/a', 2).replace('Content-Length', `${expects}Content-Length`))
      await expect.poll(() => waiting.size).toBe(1)
      await drain(app)
      release('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      await expect.poll(() => socket.closed).toBe(true)
      expect(statusesIn(text).filter((status) => status !== 100)).toEqual([200])
      expect(text).toMatch(/\r\nConnection: close\r\n/)
      expect(text).not.toMatch(/keep-alive/i)
    },
  )

  it('a request that is under way when its gateway begins to drain has one that does not if others came behind it, of which the last one says it', async () => {
    const { app, waiting, release } = await startHeld(way)
    const socket = connectTo(app.url)
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
    })
    socket.write('GET /a HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3))
    await expect.poll(() => waiting.size).toBe(1)
    await drain(app)
    const releasing = setInterval(() => release('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), 20)
    await expect.poll(() => socket.closed).toBe(true)
    clearInterval(releasing)
    expect(statusesIn(text)).toEqual([200, 200, 200])
    expect(text.match(/^Connection: .*$/gm)).toEqual([
      'Connection: keep-alive',
      'Connection: keep-alive',
      'Connection: close',
    ])
  })

  it('a request that is under way when its gateway begins to drain keeps a connection whose response has begun, until the next one on it', async () => {
    const { app, waiting, release } = await startHeld(way)
    const socket = connectTo(app.url)
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
    })
    socket.write('GET /a HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => waiting.size).toBe(1)
    const [upstream] = waiting
    waiting.clear()
    upstream?.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no')
    await expect.poll(() => text).toContain('200 OK')
    await drain(app)
    upstream?.write('k')
    await expect.poll(() => text).toMatch(/ok$/)
    socket.write('GET /b HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => waiting.size).toBe(1)
    release('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    await expect.poll(() => socket.closed).toBe(true)
    expect(text.match(/^Connection: .*$/gm)).toEqual(['Connection: keep-alive', 'Connection: close'])
  })
})

describe.each(BOTH_WAYS)('a response that ends its connection reaches a client that reads late, by $name', (way) => {
  it.each([
    ['of an upload that is refused', post('/nothing', 286_459), 404],
    ['of a gateway that drains', post('/api/a', 2), 200],
  ])('%s', async (what, first, status) => {
    const app = await start(way)
    if (what.endsWith('drains')) await drain(app)
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    socket.pause()
    // Some requests come with the first, the others later. The client reads when it has sent all, which is more than waits on the way.
    socket.write(first + post('/api/b', 2).repeat(4))
    for (let i = 0; i < 12 && !socket.destroyed; i++) {
      await sleep(20)
      if (!socket.write(post('/api/b', 1_000_000))) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
    }
    expect(app.requests()).toHaveLength(1)
    const chunks: Buffer[] = []
    socket.on('data', (bytes: Buffer) => chunks.push(bytes)).resume()
    await expect.poll(() => socket.closed).toBe(true)
    expect(statusesIn(Buffer.concat(chunks).toString('latin1'))).toEqual([status])
    expect(app.requests()).toHaveLength(1)
  })

  it('a response that ends its connection reaches a client that reads late of an upload that the upstream breaks off, which ends its connection or leaves all behind it their responses', async () => {
    const app = await start(way)
    const socket = connectTo(app.url)
    atEnd(() => socket.destroy())
    socket.pause()
    socket.write(post('/api/lost', 286_459) + post('/api/b', 2).repeat(4))
    await expect.poll(() => app.requests().length).toBeGreaterThan(0)
    const chunks: Buffer[] = []
    socket.on('data', (bytes: Buffer) => chunks.push(bytes)).resume()
    const text = () => Buffer.concat(chunks).toString('latin1')
    await expect.poll(() => statusesIn(text()).length === 5 || socket.closed).toBe(true)
    const isLast = /^connection: close/im.test(text().split('\r\n\r\n')[0] ?? '')
    expect(statusesIn(text())).toEqual(isLast ? [502] : [502, 200, 200, 200, 200])
    expect(app.requests()).toHaveLength(isLast ? 1 : 5)
    expect(socket.closed).toBe(isLast)
  })
})
