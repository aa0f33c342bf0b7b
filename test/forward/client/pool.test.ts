import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { UpstreamConnection } from '../../../src/forward/client/connection.ts'
import type { UpstreamClient } from '../../../src/forward/client/contract.ts'
import { createForwarder } from '../../../src/forward/forwarder.ts'
import {
  assertNoSurprises,
  CLOSE,
  clientOf,
  destinationOf,
  exchangeRaw,
  gatewayTo,
  get,
  OK,
  overEachTransport,
  rawClient,
  rawUpstream,
  until,
} from '../support.ts'

assertNoSurprises()

const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${CLOSE}Content-Length: ${body.length}\r\n\r\n${body}`

overEachTransport(({ rawUpstream }) => {
  describe('closing a forwarder', () => {
    /** Of an upstream that would keep its connections for as long as we do. */
    const KEPT = OK.replace('\r\n', '\r\nKeep-Alive: timeout=600\r\n')

    it('closing a forwarder waits for what is in flight and for those that wait for a connection', async () => {
      const upstream = await rawUpstream(() => {})
      const gateway = await gatewayTo(upstream.url, { maxConnections: 1 })
      const first = rawClient(gateway.port, get('/first'))
      await until(() => upstream.sockets.length === 1)
      const arrived = once(gateway.server, 'request')
      const second = rawClient(gateway.port, get('/second'))
      await arrived
      let closed = false
      const closing = gateway.forwarder.close().then(() => {
        closed = true
      })
      upstream.sockets[0]?.write(KEPT)
      await first.until('ok')
      await until(() => upstream.received.join('').includes('/second'))
      expect(closed).toBe(false)
      upstream.sockets.at(-1)?.write(KEPT)
      await second.until('ok')
      await closing
      expect(gateway.results.map((r) => r.outcome)).toEqual(['forwarded', 'forwarded'])
    })

    it('closing a forwarder closes idle connections', async () => {
      const upstream = await rawUpstream((socket) => socket.write(KEPT))
      const gateway = await gatewayTo(upstream.url)
      await exchangeRaw(gateway.port, get('/', CLOSE))
      await gateway.forwarder.close()
      await until(() => upstream.sockets[0]?.readableEnded === true || upstream.sockets[0]?.destroyed === true)
    })

    it('closing a forwarder still serves a straggler that was admitted before', async () => {
      const upstream = await rawUpstream((socket) => socket.write(KEPT))
      const gateway = await gatewayTo(upstream.url)
      await gateway.forwarder.close()
      expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/ok$/)
      await until(() => upstream.sockets[0]?.readableEnded === true || upstream.sockets[0]?.destroyed === true)
      await gateway.forwarder.close()
    })
  })

  it('what is left of a forwarder whose connections have ended is nothing: a reload makes another', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const upstream = await rawUpstream(() => {})
    async function ended(): Promise<WeakRef<UpstreamClient>> {
      const { client, opened } = clientOf(destinationOf(upstream.url), { maxConnections: 1 })
      client.onFree((await opened()) as UpstreamConnection)
      await client.close()
      return new WeakRef(client)
    }
    const left = await ended()
    await until(() => {
      collect()
      return left.deref() === undefined
    })
  })

  it('a connection that is free is closed before the upstream closes it, by what the upstream says', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK.replace('\r\n', '\r\nKeep-Alive: timeout=1\r\n')))
    // The clock of the connections ticks eight times within the shortest timeout.
    const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 80 })
    await exchangeRaw(gateway.port, get('/', CLOSE))
    const closed = until(() => upstream.sockets[0]?.readableEnded === true).then(() => 'closed')
    expect(await Promise.race([closed, sleep(1000, 'the upstream would close it now')])).toBe('closed')
  })

  it('a connection that is free is kept where the upstream says nothing, or a longer time', async () => {
    // The short one last: the others, free before it, would be closed before it too.
    const fields = ['', 'Keep-Alive: timeout=60\r\n', 'Keep-Alive: timeout=1\r\n']
    const upstream = await rawUpstream((socket, head) => head.includes('/wait') || socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { idleTimeoutMs: 80 })
    for (const i of fields.keys()) {
      rawClient(gateway.port, get(`/wait${i}`))
      await until(() => upstream.received[i]?.includes(`/wait${i}`) === true)
    }
    for (const [i, field] of fields.entries()) {
      upstream.sockets[i]?.write(OK.replace('\r\n', `\r\n${field}`))
      await gateway.settled(i + 1)
    }
    await until(() => upstream.sockets[2]?.readableEnded === true)
    await Promise.all(['/one', '/two'].map((path) => exchangeRaw(gateway.port, get(path, CLOSE))))
    expect(upstream.sockets.length).toBe(3)
  })

  it('a connection that is free is kept for keepAliveMs, also where the upstream would keep it for longer', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK.replace('\r\n', '\r\nKeep-Alive: timeout=60\r\n')))
    const gateway = await gatewayTo(upstream.url, { keepAliveMs: 200 })
    await exchangeRaw(gateway.port, get('/one', CLOSE))
    const closed = until(() => upstream.sockets[0]?.readableEnded === true).then(() => 'closed')
    expect(await Promise.race([closed, sleep(3_000, 'the default would close it a second later')])).toBe('closed')
    await exchangeRaw(gateway.port, get('/two', CLOSE))
    expect(upstream.sockets).toHaveLength(2)
  })

  it('a connection that is free retires by its age, also where it is always busy, and every request is served', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { connectionMaxAgeMs: 400 })
    let served = 0
    while (upstream.sockets.length < 4) {
      expect((await exchangeRaw(gateway.port, get('/', CLOSE))).text).toMatch(/^HTTP\/1\.1 200 .*ok$/s)
      served++
    }
    expect(served).toBeGreaterThan(4)
    await until(() => upstream.sockets.slice(0, 3).every((socket) => socket.readableEnded))
  })

  it('a connection that is free retires by its age where it is idle, too', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { connectionMaxAgeMs: 400, keepAliveMs: 60_000 })
    await exchangeRaw(gateway.port, get('/', CLOSE))
    await until(() => upstream.sockets[0]?.readableEnded === true)
  })

  it('a connection that is free retires by its age only when the exchange on it has ended, and whoever waits gets a new one', async () => {
    const upstream = await rawUpstream((socket, head) => head.includes('/slow') || socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { connectionMaxAgeMs: 200, maxConnections: 1 })
    const slow = rawClient(gateway.port, get('/slow'))
    await until(() => upstream.received[0]?.includes('/slow') === true)
    await sleep(1000)
    const waiting = rawClient(gateway.port, get('/waiting'))
    await sleep(50)
    upstream.sockets[0]?.write(OK)
    await Promise.all([slow.until('ok'), waiting.until('ok')])
    expect(upstream.sockets).toHaveLength(2)
    expect(upstream.received[0]).not.toContain('/waiting')
  })

  it('a connection that is free is used again, the one that was used last first', async () => {
    const upstream = await rawUpstream((socket, head) => {
      if (!head.includes('/wait')) socket.write(OK)
    })
    const gateway = await gatewayTo(upstream.url)
    const held = rawClient(gateway.port, get('/wait'))
    await until(() => upstream.received[0]?.includes('/wait') === true)
    await exchangeRaw(gateway.port, get('/other', CLOSE))
    upstream.sockets[0]?.write(OK)
    await held.until('ok')
    await exchangeRaw(gateway.port, get('/again', CLOSE))
    expect(upstream.sockets.length).toBe(2)
    expect(upstream.received[0]).toContain('/again')
  })

  it('a connection that is free is used again after a request with a body, by default', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url)
    await exchangeRaw(gateway.port, post('/one', 'ab'))
    await exchangeRaw(gateway.port, get('/two', CLOSE))
    expect(upstream.sockets.length).toBe(1)
    expect(upstream.received[0]).not.toContain('close')
  })

  it('a connection that is free is not used again after a request with a body where reuseAfterBody is false, and the upstream is told', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url, { reuseAfterBody: false })
    await exchangeRaw(gateway.port, get('/one', CLOSE))
    await exchangeRaw(gateway.port, post('/two', 'ab'))
    await exchangeRaw(gateway.port, post('/three', ''))
    await exchangeRaw(gateway.port, get('/four', CLOSE))
    const seen = upstream.received.map((text) => text.match(/^(GET|POST) \S+|^Connection: \S+/gm))
    expect(seen).toEqual([
      ['GET /one', 'Connection: keep-alive', 'POST /two', 'Connection: close'],
      ['POST /three', 'Connection: keep-alive', 'GET /four', 'Connection: keep-alive'],
    ])
  })

  it('a connection that is free and speaks unasked is closed', async () => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url)
    await exchangeRaw(gateway.port, get('/one', CLOSE))
    upstream.sockets[0]?.write(OK.replace('ok', 'no'))
    await until(() => upstream.sockets[0]?.readableEnded === true || upstream.sockets[0]?.destroyed === true)
    expect((await exchangeRaw(gateway.port, get('/two', CLOSE))).text).toMatch(/ok$/)
    expect(upstream.sockets.length).toBe(2)
  })

  it('a place for a connection that becomes free by a failure goes to who waits', async () => {
    const upstream = await rawUpstream((socket, head) => {
      if (head.includes('/broken')) socket.resetAndDestroy()
      else if (head.includes('/next')) socket.write(OK)
    })
    const gateway = await gatewayTo(upstream.url, { maxConnections: 1 })
    const [broken, next] = await Promise.all([
      exchangeRaw(gateway.port, `POST /broken HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`),
      exchangeRaw(gateway.port, get('/next', CLOSE)),
    ])
    expect(broken.text).toMatch(/^HTTP\/1\.1 502/)
    expect(next.text).toMatch(/ok$/)
  })

  it('destroying a forwarder settles everything: in flight, waiting, and coming later', async () => {
    const upstream = await rawUpstream(
      (socket, head) => head.includes('/begun') && socket.write(OK.replace('Length: 2', 'Length: 9')),
    )
    const gateway = await gatewayTo(upstream.url, { maxConnections: 2 })
    const begun = rawClient(gateway.port, get('/begun'))
    const silent = rawClient(gateway.port, get('/silent'))
    await begun.until('ok')
    await until(() => upstream.sockets.length === 2)
    const waiting = rawClient(gateway.port, get('/waiting'))
    await sleep(30)
    await gateway.forwarder.destroy()
    await gateway.settled(3)
    await until(() => begun.ending() === 'ECONNRESET')
    await Promise.all([silent.until('502'), waiting.until('502')])
    const late = await exchangeRaw(gateway.port, get('/late', CLOSE))
    expect(late.text).toMatch(/^HTTP\/1\.1 502/)
    expect(await gateway.settled(4)).toMatchObject({ error: 'upstream_unreachable', reached: false })
    await gateway.forwarder.close()
  })
})

// Over TCP, where whoever dials first is accepted first.
it('a place that becomes free while one is being opened for who waits opens no second one', async () => {
  const upstream = await rawUpstream(() => {})
  const { opened } = clientOf(destinationOf(upstream.url), { maxConnections: 2 })
  const first = await opened()
  const second = opened()
  first.abandon()
  await second
  // Whatever was opened with it is accepted before this one.
  const last = rawClient(upstream.port)
  await until(() => upstream.sockets.some(({ remotePort }) => remotePort === last.socket.localPort))
  expect(upstream.sockets).toHaveLength(3)
})

const limits = {
  connectTimeoutMs: 1,
  connectRetryMs: 0,
  responseTimeoutMs: 1,
  idleTimeoutMs: 1,
  keepAliveMs: 1,
  connectionMaxAgeMs: 1,
  maxConnections: 1,
  queueTimeoutMs: 30_000,
  maxHeaderSize: 1_000,
  buffer: 0,
  bufferTotal: 65_536,
}
const create = (url: string) =>
  createForwarder({ url, ...limits, headers: {}, passAuthorization: false, reuseAfterBody: true })

it.each(['http://h/?q', 'http://user:pw@h/', 'ftp://h', 'nonsense'])('the URL of an upstream is not %s', (url) => {
  expect(() => create(url)).toThrow(TypeError)
})

it.each(['http://h', 'https://h:8443/', 'http://[::1]:80', 'http://h/base/'])(
  'the URL of an upstream may be %s',
  (url) => {
    expect(() => create(url)).not.toThrow()
  },
)
