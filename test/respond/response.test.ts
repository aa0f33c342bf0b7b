import { beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { rawExchange } from '../e2e/raw.ts'

let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startUpstream((seen, res) => {
    if (seen.url === '/v1/breaks') res.destroy()
    else res.end('of the service')
  })
  const rest = `quota: { baselines: { personal: { read: { 1h: 1 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: "* /v1/*", category: read, cost: 1 }, { match: "GET /free", public: true }, { match: "GET /v1/breaks", public: true }]
cors: { origins: [https://app.example.org], preflight: answer }
public: { failure_rate: true, prices: true }
reference: { path: /reference }
errors: { no_route: { body: "<h1>{{msg}}</h1>", content_type: text/html } }`
  app = await startApp(yaml(upstream.url, rest))
})

const USER = `Authorization: ${bearer('alice').authorization}\r\n`
const SPENT = `Authorization: ${bearer('bob').authorization}\r\n`
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

async function send(line: string, fields = ''): Promise<{ status: number; head: string }> {
  const text = await rawExchange(app.url, `${line} HTTP/1.1\r\nHost: x\r\n${fields}\r\n`)
  const [head = ''] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head }
}

const NOSNIFF = /^X-Content-Type-Options: (.*)$/gim
const given = (head: string): string[] => [...head.matchAll(NOSNIFF)].map(([, value = '']) => value.trim())

test.each([
  ['a denial', 'GET /v1/x', '', 401],
  ['a denial to HEAD', 'HEAD /v1/x', '', 401],
  ['a denial by a body of the operator’s', 'GET /nowhere', '', 404],
  ['a denial of what the parser refused', 'GET /v1/x', 'no field\r\n', 400],
  ['a denial before the edge', 'GET /v1/x', 'Content-Length: 1\r\nContent-Length: 2\r\n', 400],
  ['a denial to whoever still sends a body', 'POST /v1/x', 'Content-Length: 9999999\r\n', 401],
  ['a denied handshake', 'GET /v1/x', UPGRADE, 401],
  ['a failure of the upstream', 'GET /v1/breaks', '', 502],
  ['what a caller has left', 'GET /me/quota', USER, 200],
  ['what a caller used', 'GET /me/usage', USER, 200],
  ['a price list', 'GET /quota/prices', '', 200],
  ['a page of the reference', 'GET /reference', '', 200],
])('%s names its type for good, and once', async (_what, line, fields, status) => {
  const response = await send(line, fields)
  expect(response.status).toBe(status)
  expect(given(response.head)).toEqual(['nosniff'])
})

test.each([
  ['JSON', ''],
  ['a problem document', 'Accept: application/problem+json\r\n'],
])('a refusal of the quota as %s names its type for good', async (_what, accept) => {
  await send('GET /v1/x', SPENT)
  const response = await send('GET /v1/x', SPENT + accept)
  expect(response.status).toBe(429)
  expect(given(response.head)).toEqual(['nosniff'])
})

test('responses without a body, and those of the upstream, get no field for their type', async () => {
  const preflight = 'Origin: https://app.example.org\r\nAccess-Control-Request-Method: GET\r\n'
  const free = [await send('OPTIONS /v1/x', preflight), await send('OPTIONS *'), await send('GET /free')]
  expect(free.map(({ status }) => status)).toEqual([204, 204, 200])
  expect(free.map(({ head }) => given(head))).toEqual([[], [], []])
})
