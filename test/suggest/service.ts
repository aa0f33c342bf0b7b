import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'

/** A service of some twenty shapes, and what its clients send and get. */

/** For the key of RFC 6455, section 1.3. */
const SWITCHED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n'

const SEEN = ['authorization', 'x-api-key', 'cookie', 'host', 'api_key', 'x.trace', 'content-type']

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** What it was asked, with each header that a gateway could keep from it. */
const echo =
  (status: number, fields: Record<string, string | string[]> = {}): Handler =>
  ({ method, url, headers }, response, body) => {
    const seen = Object.fromEntries(SEEN.map((name) => [name, headers[name]]))
    response.writeHead(status, { 'content-type': 'application/json', ...fields })
    response.end(JSON.stringify({ method, url, seen, body }))
  }

const ROUTES: readonly (readonly [pattern: RegExp, handler: Handler])[] = [
  [/^GET \/$/, echo(200, { 'content-type': 'text/html; charset=utf-8' })],
  [/^(GET|HEAD) \/healthz$/, echo(200, { 'cache-control': 'no-store' })],
  [/^OPTIONS /, echo(204, { 'access-control-allow-origin': '*', allow: 'GET, POST' })],
  [/^GET \/api\/users\/\w+\/orders(\?|$)/, echo(200, { etag: '"orders"', 'x-total': '3' })],
  [/^POST \/api\/users\/\w+\/orders$/, echo(201, { location: '/api/users/1/orders/2' })],
  [/^GET \/api\/products\/\d+$/, echo(200, { vary: 'accept' })],
  [/^(PUT|PATCH) \/api\/products\/\d+$/, echo(200)],
  [/^DELETE \/api\/products\/\d+$/, (_, response) => response.writeHead(204).end()],
  [/^GET \/search/, echo(200, { 'x-ratelimit-limit': '10' })],
  [/^GET \/static\/\w+\.(css|js)$/, echo(200, { 'content-type': 'text/css', 'cache-control': 'max-age=60' })],
  [/^GET \/old$/, echo(302, { location: '/new?from=old' })],
  [/^POST \/login$/, echo(200, { 'set-cookie': ['session=1; Path=/', 'theme=dark'] })],
  [/^GET \/files\//, echo(200)],
  [/^GET \/\/double\/\/slash$/, echo(200)],
  [/^GET \/calc\/a;v=/, echo(200)],
  [/^PROPFIND \/dav/, echo(207)],
  [/^GET \/caf/, echo(200)],
  [
    /^GET \/zipped$/,
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('a'.repeat(5000))),
  ],
  [/^GET \/stream$/, (_, response) => void response.writeHead(200).write('one\n', () => response.end('two\n'))],
  [/^GET \/boom$/, echo(500, { 'x-error': 'yes' })],
  [/^GET \/private$/, echo(401, { 'www-authenticate': 'Basic realm="service"' })],
]

/** @returns the service, listening on a port of the loopback */
export async function startService(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer(async (request, response) => {
    const body = await text(request)
    // As RFC 9112 section 3.2.2 wants of any server.
    request.url = request.url?.replace(/^http:\/\/[^/]+/, '')
    const [, handler = echo(404, { 'x-powered-by': 'the service' })] =
      ROUTES.find(([pattern]) => pattern.test(`${request.method} ${request.url}`)) ?? []
    handler(request, response, body)
  })
  server.on('upgrade', (_, socket) => void socket.on('error', () => {}).end(`${SWITCHED}hello`))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

/** A request as bytes, whatever a library would make of it. */
export function rawRequest(line: string, fields: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`]
  const connection = fields.some((field) => /^connection:/i.test(field)) ? [] : ['Connection: close']
  return [`${line} HTTP/1.1`, 'Host: shop.example.org', ...connection, ...fields, ...length, '', body].join('\r\n')
}

export interface Received {
  readonly status: string
  /** With names in lower case, and without those of one connection, and the date. */
  readonly fields: readonly string[]
  readonly body: string
}

const OF_CONNECTION = /^(?:date|connection|keep-alive|transfer-encoding|content-length):/i

/** Sends a request to a port of the loopback. */
export async function send(port: number, bytes: string): Promise<Received> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.write(bytes, 'latin1')
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const received = Buffer.concat(chunks).toString('latin1')
  const end = received.indexOf('\r\n\r\n')
  const [status = '', ...fields] = received.slice(0, end).split('\r\n')
  const isChunked = fields.some((field) => /^transfer-encoding: *chunked/i.test(field))
  const body = received.slice(end + 4)
  return {
    status,
    fields: fields
      .filter((field) => !OF_CONNECTION.test(field))
      .map((field) => field.replace(/^[^:]+/, (name) => name.toLowerCase()))
      .sort(),
    body: isChunked ? unchunked(body) : body,
  }
}

function unchunked(body: string): string {
  let [text, rest] = ['', body]
  for (;;) {
    const end = rest.indexOf('\r\n')
    const length = Number.parseInt(rest.slice(0, end), 16)
    if (!(length > 0)) return text
    text += rest.slice(end + 2, end + 2 + length)
    rest = rest.slice(end + 4 + length)
  }
}
