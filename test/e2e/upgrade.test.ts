import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { isCharged, isGivenBack } from '../observe/settled.ts'
import { listening } from '../setup/listening.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

let server: http.Server
let upgrades: http.IncomingMessage[]
let app: RunningApp
beforeEach(async () => {
  upgrades = []
  server = http.createServer((_req, res) => res.writeHead(426).end('no'))
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (req, socket, head) => {
    upgrades.push(req)
    if (req.url === '/no') return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
    sockets.handleUpgrade(req, socket, head, (ws) => ws.on('message', (data) => ws.send(`echo ${data}`)))
  })
  await listening(server)
  app = await startApp(text())
})

function text(quota = '', upstream = ''): string {
  return yaml(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    `
quota: { ${quota} baselines: { personal: { read: { 1h: 10, 5h: 50, 1d: 100 } }, global: { read: { 1h: 99, 5h: 99, 1d: 99 } } } }
routes: [{ match: GET /live, category: read, cost: 6 }, { match: GET /no, category: read, cost: 1 }]
drain: { timeout: 100ms }`,
    undefined,
    upstream,
  )
}

function open(path: string, headers: Record<string, string> = bearer('alice')): WebSocket {
  const ws = new WebSocket(app.url.replace('http', 'ws') + path, { headers })
  ws.on('error', () => {})
  return ws
}
async function refusalOf(ws: WebSocket): Promise<{ status: number | undefined; body: string }> {
  const [, res] = (await once(ws, 'unexpected-response')) as [unknown, http.IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk as Buffer)
  return { status: res.statusCode, body: Buffer.concat(chunks).toString() }
}
const charged = (): number => app.observations.filter(isCharged).length

describe('a WebSocket handshake', () => {
  it('a WebSocket handshake is admitted like a request: charged once, and the upstream learns the user', async () => {
    const ws = open('/live')
    await once(ws, 'open')
    ws.send('hello')
    const [data] = await once(ws, 'message')
    expect(String(data)).toBe('echo hello')
    expect(upgrades[0]?.headers).toMatchObject({ 'x-tollgate-user': 'alice' })
    expect(upgrades[0]?.headers.authorization).toBeUndefined()
    expect(charged()).toBe(1)
    ws.close()
    await once(ws, 'close')
    await expect.poll(() => app.requests()).toHaveLength(1)
    expect(app.requests()[0]).toMatchObject({ httpStatus: 101, cost: 6, outcome: 'forwarded' })
  })

  it('a WebSocket handshake opens a tunnel that may be silent for longer than any other connection', async () => {
    await app.reload(text('', 'connect_timeout: 100ms, response_timeout: 100ms, idle_timeout: 100ms'))
    const ws = open('/live')
    await once(ws, 'open')
    await sleep(11_500)
    ws.send('still here')
    expect(String((await once(ws, 'message'))[0])).toBe('echo still here')
    ws.close()
  })

  it('a WebSocket handshake beyond the quota gets the 429 of the contract', async () => {
    const first = open('/live')
    await once(first, 'open')
    const { status, body } = await refusalOf(open('/live'))
    expect(status).toBe(429)
    expect(JSON.parse(body)).toMatchObject({ error: 'quota_exceeded', quota: { used: 6, requested: 6 } })
    expect(upgrades).toHaveLength(1)
    first.terminate()
  })

  it('a WebSocket handshake beyond the quota is let through in shadow, uncharged, and says so', async () => {
    await app.reload(text('shadow: true,'))
    const tunnels = [open('/live'), open('/live')]
    const responses = await Promise.all(
      tunnels.map(async (ws) => (await once(ws, 'upgrade'))[0] as http.IncomingMessage),
    )
    const told = responses.map(({ headers }) => headers['x-tollgate-shadow'] ?? null)
    expect(told.sort()).toEqual([null, 'would-refuse'].sort())
    expect(charged()).toBe(1)
    for (const ws of tunnels) ws.terminate()
    await expect
      .poll(() =>
        app
          .requests()
          .map(({ shadowed }) => shadowed)
          .sort(),
      )
      .toEqual([false, true])
  })

  it.each([
    ['without a credential', '/live', {}, 401],
    ['to an unknown path', '/nothing', bearer('alice'), 404],
  ])('%s never reaches the upstream', async (_what, path, headers, expected) => {
    expect((await refusalOf(open(path, headers as Record<string, string>))).status).toBe(expected)
    expect(upgrades).toEqual([])
    expect(charged()).toBe(0)
  })

  it('a WebSocket handshake that the upstream declines is answered as the upstream did', async () => {
    expect(await refusalOf(open('/no'))).toEqual({ status: 403, body: 'no' })
    expect(charged()).toBe(1)
  })

  it('to an upstream that is gone is answered 502 and given back', async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
    expect((await refusalOf(open('/live'))).status).toBe(502)
    expect(app.observations.filter(isGivenBack)).toHaveLength(1)
    await expect.poll(() => app.requests()[0]).toMatchObject({ outcome: 'failed', httpStatus: 0, clientStatus: 502 })
  })

  it('a WebSocket handshake is counted as open until it is over', async () => {
    const told = (type: string) => app.observations.filter((o) => o.type === type).length
    await refusalOf(open('/no'))
    await expect.poll(() => [told('upgrade_opened'), told('upgrade_closed')]).toEqual([1, 1])
  })
})

it('any other upgrade is an ordinary request: h2c is not passed on', async () => {
  const req = http.get(`${app.url}/live`, {
    headers: {
      ...bearer('alice'),
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABk',
    },
  })
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  expect(res.statusCode).toBe(426)
  res.resume()
  expect(upgrades).toEqual([])
})
