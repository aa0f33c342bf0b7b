import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import type { IncomingRequest } from '../../src/edge/connection.ts'
import { createListener } from '../../src/edge/listener.ts'
import { createShares, type ShareRules, THINGS } from '../../src/edge/shares.ts'
import { nameRules } from '../../src/inputs/inputs.ts'

const NO_BOUNDS = { address: null, network: null, user: null, strangers: null, total: null }
const shares = Object.fromEntries(THINGS.map((thing) => [thing, NO_BOUNDS])) as ShareRules
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Sent {
  /** Of the response. */
  readonly text: string
  /** What came as far as the gateway. */
  readonly requests: readonly IncomingRequest[]
  /** Why the connection itself refused what came. */
  readonly denials: readonly (string | null)[]
}

async function sent(head: string): Promise<Sent> {
  const requests: IncomingRequest[] = []
  const denials: (string | null)[] = []
  const gateway = {
    handle: async (request: IncomingRequest) => {
      requests.push(request)
      request.res.end('ok')
    },
    handleUpgrade: async () => {},
    inFlight: () => 0,
  }
  const listener = createListener({
    listen: { host: '127.0.0.1', port: 0 },
    certificate: null,
    gateway,
    observe: (each) => {
      if (each.type === 'bad_connection') denials.push(each.refused?.reason ?? null)
    },
    shares: createShares(),
    maxHeaderSize: 16 * 1024,
    headersTimeoutMs: 10_000,
    keepAliveTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
    maxConnections: 10,
    limits: () => ({
      shares,
      isProxy: () => false,
      readsProxyProtocol: false,
      uploads: { minBytesPerSecond: 0, graceMs: 1000 } as never,
      maxUrl: 8192,
      answersHalfClosed: false,
      names: nameRules({}, false),
      presentation: null,
    }),
  })
  const { hostname, port } = new URL(await listener.start())
  cleanups.push(() => listener.stop(0))
  const socket = connect(Number(port), hostname).on('error', () => {})
  cleanups.push(() => socket.destroy())
  socket.write(head)
  const [bytes] = await once(socket, 'data')
  return { text: String(bytes), requests, denials }
}

const withFields = (count: number): string =>
  `GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: count - 1 }, (_, i) => `a${i}: b\r\n`).join('')}\r\n`

it('a head of 1,000 fields is refused at the 202nd, before anything is made of it', async () => {
  const { text, denials } = await sent(withFields(1000))
  expect(text).toMatch(/^HTTP\/1\.1 431 .*"A request may have at most 200 header fields\."/s)
  expect(denials).toEqual(['fields'])
})

it('a head of 200 fields has all of them', async () => {
  const { text, requests } = await sent(withFields(200))
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
  expect(requests.map(({ req }) => Object.keys(req.headers).length)).toEqual([200])
})
