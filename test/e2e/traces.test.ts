import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  app = await startApp(yaml(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, RULES))
})
afterEach(async () => {
  await app.stop()
  server.closeAllConnections()
  server.close()
  expect(app.observations.filter((o) => o.type === 'internal_error')).toEqual([])
})

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
