import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import tls from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { sessionCookie } from '../../src/admin/session-cookie.ts'
import { startApp, startUpstream, yaml } from '../e2e/harness.ts'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'
import { NOW, type Running, startAdmin, TOKEN, VIEWER, YAML } from './running.ts'

/** Who holds connections of the admin listener, and who gets in all the same. */

interface Connection {
  readonly socket: Socket
  /** Sends a request, and waits for the first line of its response. */
  ask(path: string, fields?: string): Promise<string>
  /** What has come since the last request was sent. */
  received(): string
}

/** @param from our address of the connection */
function open(url: string, from = '127.0.0.1'): Connection {
  const { protocol, port } = new URL(url)
  const raw = connect({ port: Number(port), host: '127.0.0.1', localAddress: from })
  const socket = protocol === 'https:' ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw
  atEnd(() => socket.destroy())
  let received = ''
  socket.on('error', () => {}).on('data', (bytes) => (received += bytes))
  return {
    socket,
    received: () => received,
    ask(path, fields = '') {
      received = ''
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`)
      return new Promise((resolve) => {
        const look = () => received.includes('\r\n') && resolve(received.split('\r\n', 1)[0] ?? '')
        socket.on('data', look)
        socket.once('close', () => resolve('closed'))
      })
    },
  }
}

/** The first line of the response to a request on a connection of its own. */
const ask = (url: string, path: string, fields?: string): Promise<string> => open(url).ask(path, fields)

const OK = 'HTTP/1.1 200 OK'
/** Of the organisation acme. */
const LEAD = 'lead-of-acme-00000000000000000000'
const ADMIN = `Authorization: Bearer ${TOKEN}\r\n`

async function keptAlive(url: string, from?: string): Promise<Socket> {
  const connection = open(url, from)
  await connection.ask('/livez')
  return connection.socket
}

async function slowHead(url: string, from?: string): Promise<Socket> {
  const { socket } = open(url, from)
  socket.write('GET /')
  await once(socket, 'secureConnect' in socket ? 'secureConnect' : 'connect')
  return socket
}

const EIGHT = Array.from({ length: 8 }, (_, i) => `127.0.2.${i + 1}`)

/** The listener, all places of all addresses or of the one taken by requests that wait for the store until `goOn`. */
async function crowded(...[count, addresses]: [number, readonly string[]]) {
  const answer = Promise.withResolvers<Awaited<ReturnType<Running['store']['readTallies']>>>()
  let isAsked = () => {}
  const readTallies = () => {
    isAsked()
    return answer.promise
  }
  const lead = `{ name: carol, role: "lead:acme", token: ${LEAD} }`
  const yaml = YAML.replace('tokens: [', `tokens: [${lead}, `)
  const running = await startAdmin({ yaml, broken: { readTallies } })
  const { url } = running
  const waiting: Promise<string>[] = []
  // One after the other: a connection whose head has not been read yet is idle, and may go for the next one.
  for (let i = 0; i < count; i++) {
    const { promise, resolve } = Promise.withResolvers<void>()
    isAsked = resolve
    waiting.push(open(url, addresses[i % addresses.length]).ask('/api/failures', ADMIN))
    await promise
  }
  const goOn = async () => {
    answer.resolve({ at: NOW, buckets: [] })
    return new Set(await Promise.all(waiting))
  }
  return { ...running, goOn }
}

describe.each([
  ['that are kept alive behind a request', keptAlive],
  ['whose head never ends', slowHead],
])('connections %s', (_what, hold) => {
  test.each([
    ['205 of one address', ['127.0.0.1']],
    ['205 of eight addresses', EIGHT],
  ])('%s keep nobody out', async (_who, addresses) => {
    const { url } = await startAdmin()
    for (let i = 0; i < 205; i++) await hold(url, addresses[i % addresses.length])
    for (let i = 0; i < 3; i++) {
      expect(await ask(url, '/livez')).toBe(OK)
      expect(await ask(url, '/readyz')).toBe(OK)
      expect(await ask(url, '/metrics')).toBe(OK)
      expect(await ask(url, '/api/tokens', ADMIN)).toBe(OK)
    }
  })
})

describe('when all connections have a request under way', () => {
  const ALL: [number, string[]] = [184, EIGHT]
  const OF_ONE: [number, string[]] = [50, ['127.0.0.1']]

  test.each([
    ['of all addresses', ALL],
    ['of one address', OF_ONE],
  ])('those %s keep out neither probes nor an administrator, and each of them gets its response', async (_who, all) => {
    const { url, goOn } = await crowded(...all)
    for (const path of ['/livez', '/readyz', '/readyz?startup=1']) expect(await ask(url, path)).toBe(OK)
    for (const token of [TOKEN, VIEWER, LEAD]) {
      expect(await ask(url, '/api/tokens', `Authorization: Bearer ${token}\r\n`)).toBe(OK)
    }
    expect(await goOn()).toEqual(new Set([OK]))
    expect(await ask(url, '/metrics')).toBe(OK)
  })

  test('a session of the dashboard is let in as its token is', async () => {
    const { url, goOn } = await crowded(...ALL)
    const cookie = sessionCookie({ name: 'admin', role: 'admin', token: TOKEN }, NOW + 60_000, false)
    expect(await ask(url, '/api/tokens', `Cookie: ${cookie.split(';', 1)[0]}\r\n`)).toBe(OK)
    await goOn()
  })

  test('others are told what is served, and every late connection is closed behind its response', async () => {
    const { url, goOn } = await crowded(...ALL)
    for (const [path, fields, status] of [
      ['/metrics', '', 503],
      ['/', '', 503],
      ['/api/tokens', 'Authorization: Bearer wrong\r\n', 503],
      ['/livez', '', 200],
      ['/api/tokens', ADMIN, 200],
    ] as const) {
      const late = open(url)
      const end = once(late.socket, 'end')
      expect(await late.ask(path, fields)).toContain(` ${status} `)
      await end
      expect(late.received()).toMatch(/^connection: close/im)
      if (status === 503) expect(late.received()).toMatch(/^retry-after: 1\r\n[\s\S]*"error":"overloaded"/im)
    }
    await goOn()
  })

  test('there are 200 in all, and late ones that bring nothing go before another late one has to', async () => {
    const { url, goOn } = await crowded(...ALL)
    const late: Socket[] = []
    for (let i = 0; i < 40; i++) late.push(await slowHead(url))
    await expect.poll(() => late.filter(({ closed }) => closed).length, { timeout: 20_000 }).toBe(40 - 16)
    expect(await ask(url, '/livez')).toBe(OK)
    expect(await ask(url, '/api/tokens', ADMIN)).toBe(OK)
    await goOn()
  })
})

test('an address that has its share gives up its own connections, and no other loses one', async () => {
  const { url } = await startAdmin()
  const others = await Promise.all([keptAlive(url, '127.0.3.1'), slowHead(url, '127.0.3.2')])
  const own: Socket[] = []
  for (let i = 0; i < 60; i++) own.push(await keptAlive(url))
  await expect.poll(() => own.filter(({ closed }) => closed).length, { timeout: 20_000 }).toBe(10)
  expect(own.slice(0, 10).every(({ closed }) => closed)).toBe(true)
  expect(others.some(({ closed }) => closed)).toBe(false)
})

test('a connection that nobody uses is closed after five seconds, and its client is told so', async () => {
  const { url } = await startAdmin()
  const idle = open(url)
  await idle.ask('/livez')
  expect(idle.received()).toMatch(/^keep-alive: timeout=5\r$/im)
  await once(idle.socket, 'close')
})

describe('by TLS', () => {
  let folder: string
  beforeAll(() => {
    folder = tempFolder()
  })

  test.each([
    ['kept alive', keptAlive],
    ['with a slow head', slowHead],
    ['without a handshake', async (url: string) => once(open(url.replace('https', 'http')).socket, 'connect')],
  ])('205 connections %s keep nobody out', async (_what, hold) => {
    const { certFile, keyFile } = makeCertificate(folder, 'one', makeCa(folder, 'ca'), 'IP:127.0.0.1', 400)
    const upstream = await startUpstream()
    const text = yaml(upstream.url, '').replace('admin: {', `admin: { tls: { cert: "${certFile}", key: "${keyFile}" },`)
    const { admin: url } = await startApp(text)
    for (let i = 0; i < 205; i++) await hold(url)
    expect(await ask(url, '/livez')).toBe(OK)
    expect(await ask(url, '/api/tokens', 'Authorization: Bearer test-admin-token-0001\r\n')).toBe(OK)
  })
})
