import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import type { OpenPage } from '../setup/browser.ts'
import { sharedBrowser } from './stage.ts'

/** A page in a real browser, which can set no field of a WebSocket's handshake, opens one that is charged. */

const JWT = jwtOf('wanda')
let handshakes: http.IncomingMessage[]
let server: http.Server
let foreign: Upstream
let app: RunningApp
let open: OpenPage

const FROM = 'from: [bearer, { cookie: session }, { query: access_token }, { websocket_protocol: bearer }]'

beforeAll(async () => {
  server = http.createServer((_req, res) => res.setHeader('Content-Type', 'text/html').end('<title>a page</title>'))
  const sockets = new WebSocketServer({ server, handleProtocols: (offered) => (offered.has('chat') ? 'chat' : false) })
  sockets.on('connection', (ws, req) => {
    handshakes.push(req)
    ws.on('message', (data) => ws.send(`echo ${data}`)).on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  foreign = await startUpstream((_seen, res) => res.setHeader('Content-Type', 'text/html').end('<title>theirs</title>'))
  const limits = 'baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 1000 } } }'
  const text = yaml(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    `quota: { ${limits} }
routes: [{ match: GET /live, category: read, cost: 2 }, { match: GET /page, public: true }]
drain: { timeout: 100ms }`,
  )
  app = await startApp(text.replace('gateway_tokens: true', `gateway_tokens: true\n  ${FROM}`))
  open = await (await sharedBrowser()).open()
})
beforeEach(async () => {
  handshakes = []
  await open.page.goto(`${app.url}/page`)
  await setCookie('session=; Max-Age=0')
})
afterAll(async () => {
  await open.close()
  await app.stop()
  await foreign.close()
  server.closeAllConnections()
  server.close()
})

interface Got {
  readonly protocol: string
  readonly message: string
}

/** What a script of the page gets; `null` if there is no WebSocket. */
function talk(path: string, protocols: string[] = []): Promise<Got | null> {
  return open.page.evaluate(
    ({ url, protocols }) =>
      new Promise<Got | null>((resolve) => {
        const ws = new WebSocket(url, protocols)
        ws.onerror = () => resolve(null)
        ws.onopen = () => ws.send('hello')
        ws.onmessage = ({ data }) => {
          resolve({ protocol: ws.protocol, message: String(data) })
          ws.close()
        }
      }),
    { url: app.url.replace('http', 'ws') + path, protocols },
  )
}

async function setCookie(text: string): Promise<void> {
  await open.page.evaluate(`document.cookie = ${JSON.stringify(text)}`)
}

const signIn = () => setCookie(`session=${JWT}`)

/** All that the upstream was told by the last handshake. */
function told(): string {
  const { url, rawHeaders } = handshakes.at(-1) ?? {}
  return [url, ...(rawHeaders ?? [])].join('\n')
}

const SECRET_PART = JWT.split('.')[2] ?? 'none'

describe('a page opens a WebSocket with a credential', () => {
  test('a page opens a WebSocket with a credential behind a subprotocol, which is the one that is chosen', async () => {
    expect(await talk('/live', ['bearer', JWT])).toEqual({ protocol: 'bearer', message: 'echo hello' })
    expect(told()).not.toMatch(/sec-websocket-protocol/i)
    expect(told()).toContain('wanda')
  })

  test('a page opens a WebSocket with a credential behind a subprotocol beside another one, of which the upstream chooses', async () => {
    expect(await talk('/live', ['chat', 'bearer', JWT])).toEqual({ protocol: 'chat', message: 'echo hello' })
    expect(told()).toMatch(/^chat$/m)
    expect(told()).not.toContain(SECRET_PART)
  })

  test('in the query, which is forwarded without it', async () => {
    expect(await talk(`/live?room=1&access_token=${JWT}`)).toEqual({ protocol: '', message: 'echo hello' })
    expect(handshakes[0]?.url).toBe('/live?room=1')
    expect(told()).not.toContain(SECRET_PART)
  })

  test('in a cookie of its own host', async () => {
    expect(await talk('/live')).toBeNull()
    await signIn()
    expect(await talk('/live')).toEqual({ protocol: '', message: 'echo hello' })
    expect(told()).not.toContain(SECRET_PART)
  })

  test('a page opens a WebSocket with a credential that is good, and with no other', async () => {
    expect(await talk('/live', ['bearer', `${JWT}x`])).toBeNull()
    expect(await talk('/live?access_token=gw_none')).toBeNull()
    expect(await talk('/live', ['bearer'])).toBeNull()
    expect(handshakes).toEqual([])
  })
})

test('a page of another origin opens no WebSocket by the cookie of its visitor', async () => {
  await signIn()
  await open.page.goto(foreign.url)
  expect(await talk('/live')).toBeNull()
  expect(handshakes).toEqual([])
  expect(app.requests().at(-1)?.reason).toBe('a cookie or certificate that a page of another origin has sent')
  // A page that knows the credential needs no cookie.
  expect(await talk('/live', ['bearer', JWT])).toEqual({ protocol: 'bearer', message: 'echo hello' })
})
