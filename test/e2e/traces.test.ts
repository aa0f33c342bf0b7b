import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { listening } from '../setup/listening.ts'
import { type Collector, startCollector } from './collector.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange } from './raw.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const RULES = `
quota: { baselines: { personal: { read: { 1h: 3 } } } }
routes:
  - { match: GET /items, category: read, cost: 2 }
  - { match: GET /live, category: read, cost: 1 }
`

/** The heads that the upstream saw. */
let seen: http.IncomingMessage[]
let server: http.Server
let app: RunningApp
let collector: Collector
beforeEach(async () => {
  seen = []
  const sockets = new WebSocketServer({ noServer: true })
  server = http.createServer((req, res) => {
    seen.push(req)
    res.end('ok')
  })
  server.on('upgrade', (req, socket, head) => {
    seen.push(req)
    sockets.handleUpgrade(req, socket, head, (ws) => ws.close())
  })
  await listening(server)
  collector = await startCollector()
  app = await startApp(config())
})

function config(telemetry = '', rules = RULES): string {
  return yaml(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, `${rules}\n${telemetry}`)
}

/** With a gateway that sends spans. */
async function restart(telemetry: string, keys: (text: string) => string = (text) => text): Promise<void> {
  await app.stop()
  app = await startApp(keys(config(`telemetry: { otlp: "${collector.url}", ${telemetry} }`)))
}

const get = (fields: Record<string, string>) =>
  fetch(`${app.url}/items`, { headers: { ...bearer('alice'), ...fields } })
const traceparents = () => seen.map(({ headers }) => headers.traceparent)
const recorded = () => app.requests().map(({ traceparent }) => traceparent)

describe('without telemetry', () => {
  it('a traceparent goes to the upstream as it came, with its tracestate, and is recorded', async () => {
    await get({ traceparent: TRACEPARENT, tracestate: 'vendor=1' })
    expect(traceparents()).toEqual([TRACEPARENT])
    expect(seen[0]?.headers.tracestate).toBe('vendor=1')
    await expect.poll(recorded).toEqual([TRACEPARENT])
  })

  it('a request without a traceparent has none at the upstream either, as a made one would decide what that samples', async () => {
    await get({})
    expect(traceparents()).toEqual([undefined])
    await expect.poll(recorded).toEqual([null])
  })

  it('a refusal is recorded with its traceparent', async () => {
    await get({})
    const refused = await get({ traceparent: TRACEPARENT })
    expect([refused.status, seen.length]).toEqual([429, 1])
    await expect.poll(recorded).toEqual([null, TRACEPARENT])
  })

  it('one that is not valid, and two of them, count as none', async () => {
    const { authorization } = bearer('alice') as { authorization: string }
    const fields = [TRACEPARENT.toUpperCase(), `${TRACEPARENT}\r\ntraceparent: ${TRACEPARENT}`]
    for (const field of fields) {
      const head = `GET /items HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nConnection: close`
      await rawExchange(app.url, `${head}\r\ntraceparent: ${field}\r\n\r\n`)
    }
    await expect.poll(recorded).toEqual([null, null])
  })

  it('a WebSocket is recorded with the traceparent of its handshake, which the upstream gets', async () => {
    const headers = { ...bearer('alice'), traceparent: TRACEPARENT }
    await once(new WebSocket(`${app.url.replace('http', 'ws')}/live`, { headers }), 'close')
    expect(traceparents()).toEqual([TRACEPARENT])
    await expect.poll(recorded).toEqual([TRACEPARENT])
  })
})

describe('with telemetry', () => {
  const spans = async (count: number) => {
    await expect.poll(() => collector.spans.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(count)
    return collector.spans
  }
  const TRACE_ID = TRACEPARENT.slice(3, 35)

  it('a request has one span, which is the child of its client’s and the parent of the upstream’s', async () => {
    await restart('sample: parent')
    const before = BigInt(Date.now()) * 1_000_000n
    const response = await get({ traceparent: TRACEPARENT, tracestate: 'vendor=1' })
    const [span] = await spans(1)
    expect(span).toMatchObject({
      traceId: TRACE_ID,
      parentId: '00f067aa0ba902b7',
      name: 'GET /items',
      kind: 2,
      status: 0,
      service: { 'service.name': 'tollgate', 'service.version': 'test' },
    })
    expect(span?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.route': '/items',
      'http.response.status_code': 200,
      'tollgate.request_id': response.headers.get('x-request-id'),
      'tollgate.outcome': 'forwarded',
      'tollgate.category': 'read',
      'tollgate.cost': 2,
      'tollgate.charged': 2,
    })
    expect(traceparents()).toEqual([`00-${TRACE_ID}-${span?.spanId}-01`])
    expect(seen[0]?.headers.tracestate).toBe('vendor=1')
    expect(recorded()).toEqual(traceparents())
    const { start = 0n, end = 0n } = span ?? {}
    expect([start >= before - 1_000_000n, end >= start, end <= BigInt(Date.now() + 1000) * 1_000_000n]).toEqual([
      true,
      true,
      true,
    ])
    expect([collector.requests[0]?.method, collector.requests[0]?.url]).toEqual(['POST', '/v1/traces'])
  })

  it('a request without a traceparent begins a trace, and no tracestate of another one passes', async () => {
    await restart('')
    const response = await get({ tracestate: 'vendor=1' })
    const [span] = await spans(1)
    expect(span).toMatchObject({ traceId: response.headers.get('x-request-id')?.replaceAll('-', ''), parentId: '' })
    expect(traceparents()).toEqual([`00-${span?.traceId}-${span?.spanId}-01`])
    expect(seen[0]?.headers.tracestate).toBeUndefined()
  })

  it('the flag of the client decides, and the upstream hears so', async () => {
    await restart('sample: parent')
    await get({ traceparent: TRACEPARENT.replace(/01$/, '00') })
    await get({ traceparent: TRACEPARENT })
    expect((await spans(1)).map(({ attributes }) => attributes['tollgate.outcome'])).toEqual(['refused'])
    expect(traceparents()).toEqual([expect.stringMatching(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`))])
  })

  it('a share is taken by the trace id that a trusted proxy gives, whatever its flag says', async () => {
    await restart('sample: 0.5', (text) => `${text}\nedge: { trusted_proxies: [127.0.0.1] }`)
    const [low, high] = [`00-${'1'.repeat(32)}-00f067aa0ba902b7-01`, `00-${'f'.repeat(32)}-00f067aa0ba902b7-00`]
    await get({ traceparent: low })
    await get({ traceparent: high })
    expect((await spans(1)).map(({ traceId }) => traceId)).toEqual(['f'.repeat(32)])
    expect(traceparents().map((text) => text?.slice(-2))).toEqual(['00'])
  })

  it('a refusal says which limit refused it, and no user', async () => {
    await restart('')
    await get({})
    await get({})
    const refused = (await spans(2))[1]
    expect(refused?.attributes).toMatchObject({
      'http.response.status_code': 429,
      'tollgate.outcome': 'refused',
      'tollgate.cost': 2,
      'tollgate.charged': 0,
      'tollgate.refused_by': 'Personal 1h',
    })
    expect(refused?.status).toBe(0)
    expect(JSON.stringify(collector.spans, (_key, value) => String(value))).not.toContain('alice')
  })

  it('a forward that fails is an error with the code of the gateway', async () => {
    await restart('')
    server.closeAllConnections()
    server.close()
    expect((await get({})).status).toBe(502)
    const [span] = await spans(1)
    expect(span).toMatchObject({
      status: 2,
      attributes: { 'error.type': 'upstream_unreachable', 'tollgate.charged': 0 },
    })
  })

  it('a span has the user, the address and the path if the configuration says so, and fields of it go to the collector', async () => {
    const keys = (text: string) => text.replace('requests: none', 'requests: none, address: true, path: true')
    await restart('user: true, headers: { Authorization: Bearer collector-token }', keys)
    await get({})
    const [span] = await spans(1)
    expect(span?.attributes).toMatchObject({
      'tollgate.user': 'alice',
      'client.address': '127.0.0.1',
      'url.path': '/items',
    })
    expect(collector.requests[0]?.headers.authorization).toBe('Bearer collector-token')
  })

  it('a WebSocket has one span, from its handshake to its end, and its upstream is a child of that', async () => {
    await restart('')
    await once(new WebSocket(`${app.url.replace('http', 'ws')}/live`, { headers: bearer('alice') }), 'close')
    const [span] = await spans(1)
    expect(span).toMatchObject({ name: 'GET /live', attributes: { 'http.response.status_code': 101 } })
    expect(traceparents()).toEqual([`00-${span?.traceId}-${span?.spanId}-01`])
  })

  it('spans that are not sent yet are sent when the gateway stops', async () => {
    await restart('')
    await get({})
    await app.stop()
    expect(collector.spans).toHaveLength(1)
    app = await startApp(config())
  })
})

describe('a collector', () => {
  const counted = async (): Promise<string[]> => {
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    return metrics.split('\n').filter((line) => /^tollgate_spans_total/.test(line) && !line.endsWith(' 0'))
  }
  const lost = () => app.observations.filter((seen) => seen.type === 'spans_sent')

  it('a collector that is away costs requests nothing, and what it does not get is counted', async () => {
    collector.close()
    await restart('')
    expect((await get({})).status).toBe(200)
    await expect.poll(counted, { timeout: 30_000 }).toEqual(['tollgate_spans_total{outcome="failed"} 1'])
    expect(lost()).toMatchObject([{ spans: 1, failed: expect.stringContaining('ECONNREFUSED') }])
  })

  it.each([
    ['refuses spans', 500, 'failed'],
    ['sends a redirect, which is not followed,', 302, 'failed'],
    ['answers nonsense', 200, 'sent'],
  ])('a collector that %s costs requests nothing, and its spans are counted', async (_what, status, outcome) => {
    const odd = await startCollector(
      (res) => void res.writeHead(status, { location: `${collector.url}/v1/traces` }).end('\0nonsense'),
    )
    await app.stop()
    app = await startApp(config(`telemetry: { otlp: "${odd.url}" }`))
    expect((await get({})).status).toBe(200)
    await expect.poll(counted, { timeout: 30_000 }).toEqual([`tollgate_spans_total{outcome="${outcome}"} 1`])
    expect(collector.spans).toEqual([])
  })

  it('a collector that never answers holds a bounded number of spans, and neither requests nor the end of the gateway', async () => {
    const silent = await startCollector(() => {})
    const free = 'routes: [{ match: GET /items, public: true }]'
    const isFull = () => lost().some(({ noRoom }) => noRoom > 0)
    // On a slow machine the batches that fail make room, so it takes more requests.
    for (let each = 125; !isFull(); each *= 2) {
      await app.stop()
      app = await startApp(config(`telemetry: { otlp: "${silent.url}" }`, free))
      const loops = Array.from({ length: 20 }, async () => {
        for (let i = 0; i < each; i++) expect((await get({})).status).toBe(200)
      })
      await Promise.all(loops)
      await app.stop()
      const dropped = lost().reduce((sum, { spans, failed, noRoom }) => sum + noRoom + (failed === null ? 0 : spans), 0)
      expect(dropped).toBe(20 * each)
    }
    silent.close()
    app = await startApp(config())
  })
})
