import http from 'node:http'
import { beforeAll, expect, it } from 'vitest'
import WebSocket, { WebSocketServer } from 'ws'
import { startNginx } from '../setup/nginx.ts'
import type { SystemProxy } from '../setup/system-proxy.ts'
import { type RunningApp, startApp, startUpstream, yaml } from './harness.ts'

/** What the upstream learns of the host that a client asks for, and what its own names become on their way back. */

let nginx: SystemProxy
let app: RunningApp
beforeAll(async () => {
  nginx = await startNginx(`
    location = /docs { return 301 /docs/; }
    location = /host { return 200 $http_host; }
    location = /cookie { add_header Set-Cookie "s=1; Domain=127.0.0.1; Path=/"; return 204; }
    location /base/ { location = /base/docs { return 302 /base/docs/?next=http://127.0.0.1/; } }
    location /sso { return 302 https://sso.test/?back=http://127.0.0.1:$server_port/x; }`)
})

interface Response {
  readonly status: number | undefined
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

async function ask(path: string, headers: http.OutgoingHttpHeaders = { host: 'shop.example' }): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  http.get(app.url + path, { headers, agent: false }, resolve).on('error', reject)
  const response = await promise
  return { status: response.statusCode, headers: response.headers, body: (await response.toArray()).join('') }
}

const start = async (upstream: string, { path = '', edge = '', url = `http://127.0.0.1:${nginx.port}` } = {}) => {
  app = await startApp(yaml(url + path, `unmatched: forward\n${edge}`, undefined, upstream))
}

it.each([
  ['host: preserve', 'shop.example'],
  ['host: upstream', undefined],
  ['host: inner.test', 'inner.test'],
])(
  'an nginx behind that redirects never shows its address with %s',
  async (upstream, sent = `127.0.0.1:${nginx.port}`) => {
    await start(upstream)
    expect((await ask('/host')).body).toBe(sent)
    expect(await ask('/docs')).toMatchObject({ status: 301, headers: { location: 'http://shop.example/docs/' } })
    const elsewhere = `https://sso.test/?back=http://127.0.0.1:${nginx.port}/x`
    expect((await ask('/sso')).headers.location).toBe(elsewhere)
    const { port } = new URL(app.url)
    const own = { host: `127.0.0.1:${port}` }
    expect((await ask('/docs', own)).headers.location).toBe(`${app.url}/docs/`)
  },
)

it('an nginx behind that redirects is the https host of a trusted proxy in front, and of nobody else', async () => {
  const forwarded = { host: 'inner', 'x-forwarded-host': 'shop.example:8443', 'x-forwarded-proto': 'https' }
  await start('host: upstream', { edge: 'edge: { trusted_proxies: [127.0.0.1] }' })
  expect((await ask('/docs', forwarded)).headers.location).toBe('https://shop.example:8443/docs/')
  await app.stop()
  await start('host: upstream')
  expect((await ask('/docs', forwarded)).headers.location).toBe('http://inner/docs/')
})

it('an nginx behind that redirects has the path of the URL taken away, and the Domain of its cookies turned into the host that the client asked for', async () => {
  await start('host: upstream', { path: '/base' })
  expect((await ask('/docs')).headers.location).toBe('http://shop.example/docs/?next=http://127.0.0.1/')
  await app.stop()
  await start('host: preserve', { path: '/base' })
  expect((await ask('/docs')).headers.location).toBe('http://shop.example/docs/?next=http://127.0.0.1/')
  await app.stop()
  await start('host: upstream')
  expect((await ask('/cookie')).headers['set-cookie']).toEqual(['s=1; Domain=shop.example; Path=/'])
})

it('a WebSocket has the same Host, and a redirect instead of it is rewritten, too', async () => {
  const server = http.createServer((req, res) => {
    res.writeHead(302, { location: `http://${req.headers.host}/b` }).end()
  })
  const sockets = new WebSocketServer({
    server,
    verifyClient: ({ req }: { req: http.IncomingMessage }) => req.url !== '/refused',
  })
  sockets.on('connection', (socket, req) => socket.send(String(req.headers.host)))
  server.listen(0, '127.0.0.1')
  const { port } = await new Promise<{ port: number }>((resolve) =>
    server.once('listening', () => resolve(server.address() as never)),
  )
  try {
    await start('host: preserve', { url: `http://127.0.0.1:${port}` })
    const headers = { host: 'shop.example' }
    const first = new WebSocket(app.url.replace('http', 'ws'), { headers })
    expect(String(await new Promise((resolve) => first.once('message', resolve)))).toBe('shop.example')
    first.terminate()
    await app.reload(yaml(`http://127.0.0.1:${port}`, 'unmatched: forward', undefined, 'host: upstream'))
    const second = new WebSocket(app.url.replace('http', 'ws'), { headers })
    expect(String(await new Promise((resolve) => second.once('message', resolve)))).toBe(`127.0.0.1:${port}`)
    second.terminate()
    expect((await ask('/a')).headers.location).toBe('http://shop.example/b')
  } finally {
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    server.close()
  }
})

it('a request of HTTP/1.0 without Host gets that of the upstream', async () => {
  const upstream = await startUpstream()
  await start('', { url: upstream.url })
  const { port } = new URL(app.url)
  const { connect } = await import('node:net')
  const socket = connect(Number(port), '127.0.0.1', () => socket.write('GET / HTTP/1.0\r\n\r\n'))
  expect((await socket.toArray()).join('')).toMatch(/ 200 /)
  expect(upstream.seen[0]?.headers.host).toBe(new URL(upstream.url).host)
})
