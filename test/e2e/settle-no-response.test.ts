import type { Socket } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { listening } from '../setup/listening.ts'
import { sharedRedis } from '../setup/redis.ts'
import { BOTH_WAYS, makeCertificates, upstreamUrl } from '../setup/ways.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

/**
 * What a request costs that reached its upstream and got no response. Its client may have brought that about when the work was done,
 * so the reserve stands unless the rule says otherwise.
 */

const RESERVE = 20
const OK = 'HTTP/1.1 200 OK\r\n'

/** By the last segment of the path: what the upstream does with the request. */
const UPSTREAM: Readonly<Record<string, (socket: Socket) => void>> = {
  slow: () => {},
  large: (socket) => socket.write(`${OK}X-Echo: ${'x'.repeat(2000)}\r\nContent-Length: 2\r\n\r\nok`),
  closed: (socket) => socket.end(),
  malformed: (socket) => socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`),
  failed: (socket) => socket.write('HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 2\r\n\r\nno'),
}

const certificates = makeCertificates()

const WAYS = BOTH_WAYS.flatMap((way) => ['the embedded store', 'Redis'].map((store) => ({ way, store })))

describe.each(WAYS)('by $way.name, on $store', ({ way, store }) => {
  const redis = store === 'Redis' ? sharedRedis() : null
  const server = certificates.server(way, (socket) => {
    socket.on('error', () => {})
    socket.on('data', (piece) => {
      const [, name = ''] = /^GET \/\w+\/(\w+) /.exec(String(piece)) ?? []
      UPSTREAM[name]?.(socket)
    })
  })
  let app: RunningApp

  beforeAll(async () => {
    await listening(server)
    const shared = await redis
    const options = shared === null ? '' : `store_options: { prefix: ${shared.prefix} }`
    const rest = `${options}
quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 100000 } } } }
routes:
  - { match: GET /reserved/*, category: read, cost: ${RESERVE}, settle: { status: { 5xx: 0 }, header: X-Cost, max: 50, missing: 0 } }
  - { match: GET /otherwise/*, category: read, cost: ${RESERVE}, settle: { status: { 2xx: 1 }, otherwise: 0 } }
  - { match: GET /free/*, category: read, cost: ${RESERVE}, settle: { status: { 5xx: 3, gateway: 0 } } }
  - { match: GET /dear/*, category: read, cost: ${RESERVE}, settle: { status: { 5xx: 0, gateway: 45 } } }
${certificates.listener(way)}`
    const upstream = `${certificates.upstream(way) || 'keep_alive: 4s'}, response_timeout: 500ms, max_header_size: 1KiB`
    app = await startApp(yaml(upstreamUrl(way, server), rest, shared?.url, upstream))
  })

  /** Sends a GET as the user whose name is `user`. */
  function get(target: string, user: string): Promise<string> {
    const fields = `Host: a\r\nAuthorization: Bearer ${jwtOf(user)}\r\nConnection: close`
    return rawExchange(app.url, `GET ${target} HTTP/1.1\r\n${fields}\r\n\r\n`, 3000)
  }

  async function used(user: string): Promise<number> {
    const status = await get('/me/quota', user)
    const { windows } = JSON.parse(status.slice(status.indexOf('{')))
    return windows.read[0].used
  }

  /** One request by each rule costs these tokens: its client is told so, and so does the counter of its user say. */
  async function expectCosts(name: string, status: number, costs: Readonly<Record<string, number>>): Promise<void> {
    await Promise.all(
      Object.entries(costs).map(async ([rule, tokens]) => {
        const path = `/${rule}/${name}`
        const text = await get(path, path)
        expect([statusesIn(text), /^X-Tollgate-Charged: (\d+)\r$/im.exec(text)?.[1]], path).toEqual([
          [status],
          `${tokens}`,
        ])
        await expect.poll(() => used(path), { message: path }).toBe(tokens)
      }),
    )
  }

  it.each([
    ['does not come in time', 'slow', 504],
    ['has a head that is too large', 'large', 502],
    ['is a closed connection', 'closed', 502],
    ['is malformed behind its head', 'malformed', 502],
  ])('a response that %s leaves the reserve, or what the rule has for gateway', async (_what, name, status) => {
    await expectCosts(name, status, { reserved: RESERVE, otherwise: RESERVE, free: 0, dear: 45 })
  })

  it('a 504 of the upstream itself costs what the rule has for its status, whatever it has for gateway', async () => {
    await expectCosts('failed', 504, { reserved: 0, otherwise: 0, free: 3, dear: 0 })
  })
})
