import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import WebSocket, { WebSocketServer } from 'ws'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { testCertificate } from './certificate.ts'
import { assertNoSurprises, CLOSE, exchangeRaw, gatewayTo, get, httpUpstream } from './support.ts'

assertNoSurprises()

const SAYS: RequestListener = (req, res) => void res.end(`${req.method} ${req.url}`)

/** The path of a Unix socket, with a server that listens there if there is one. */
async function onSocket(server?: Server): Promise<string> {
  const path = join(tempFolder(), 'app.sock')
  if (server === undefined) return path
  server.listen(path)
  await once(server, 'listening')
  atEnd(() => {
    server.close()
    server.closeAllConnections()
  })
  return path
}

/** The first message of a WebSocket, which is the target that the server saw, and an echo. */
async function chat(port: number, target: string): Promise<string[]> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${target}`)
  atEnd(() => socket.terminate())
  const [seen] = await once(socket, 'message')
  socket.send('hello')
  const [echo] = await once(socket, 'message')
  return [String(seen), String(echo)]
}

function echoAt(server: Server): Server {
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, req) => {
    socket.send(String(req.url))
    socket.on('message', (text) => socket.send(String(text)))
  })
  atEnd(() => {
    for (const client of sockets.clients) client.terminate()
  })
  return server
}

it('an upstream on a Unix socket gets requests, several on one connection, with the bytes of a large body', async () => {
  const server = createServer(async (req, res) => {
    const length = (await req.toArray()).reduce((sum, piece: Buffer) => sum + piece.length, 0)
    res.end(`${req.url} ${length} ${'x'.repeat(200_000)}`)
  })
  let connections = 0
  server.on('connection', () => connections++)
  const socket = await onSocket(server)
  const gateway = await gatewayTo('http://localhost', { socket })
  const body = Buffer.alloc(3_000_000)
  for (const path of ['/a', '/b']) {
    const response = await fetch(gateway.url + path, { method: 'POST', body })
    const text = await response.text()
    expect([response.status, text.slice(0, 10), text.length]).toEqual([200, `${path} 3000000`, 200_011])
  }
  expect(connections).toBe(1)
})

it('an upstream on a Unix socket can open a WebSocket', async () => {
  const socket = await onSocket(echoAt(createServer()))
  const gateway = await gatewayTo('http://localhost/base', { socket })
  expect(await chat(gateway.port, '/room?a')).toEqual(['/base/room?a', 'hello'])
})

it('an upstream on a Unix socket may be reached by TLS, under the name of its URL', async () => {
  const { ca, name, ...certificate } = testCertificate()
  const names: unknown[] = []
  const server = createHttpsServer(certificate, (req, res) => {
    names.push((req.socket as TLSSocket).servername)
    res.end('ok')
  })
  const socket = await onSocket(echoAt(server as unknown as Server))
  const gateway = await gatewayTo(`https://${name}`, { socket, tls: { ca } })
  expect(await (await fetch(gateway.url)).text()).toBe('ok')
  expect(await chat(gateway.port, '/')).toEqual(['/', 'hello'])
  expect(names).toEqual([name])
  const other = await gatewayTo('https://other.test', { socket, tls: { ca } })
  expect((await fetch(other.url)).status).toBe(502)
})

it('an upstream on a Unix socket that is not there is 502, with a cure in the reason, and is found when it comes', async () => {
  const path = await onSocket()
  const gateway = await gatewayTo('http://localhost', { socket: path })
  expect((await fetch(gateway.url)).status).toBe(502)
  expect(await gateway.settled()).toMatchObject({
    error: 'upstream_unreachable',
    reached: false,
    reason: `connect ENOENT ${path}: start the upstream, or name its socket under upstream.socket`,
  })
  const server = createServer(SAYS).listen(path)
  await once(server, 'listening')
  atEnd(() => server.close())
  expect((await fetch(gateway.url)).status).toBe(200)
})

it('the path of the URL stands before the target of each request, which keeps its bytes', async () => {
  const { url } = await httpUpstream(SAYS)
  const gateway = await gatewayTo(`${url}/base/v1/`)
  for (const target of ['/', '/x?', '/a%2Fb/?q=//', '/?']) {
    const { text } = await exchangeRaw(gateway.port, get(target, CLOSE))
    expect(text).toContain(`GET /base/v1${target}`)
  }
})

it('the path of the URL stands before that of a WebSocket', async () => {
  const server = echoAt(createServer())
  const gateway = await gatewayTo(`http://127.0.0.1:${await listening(server)}/base`)
  expect(await chat(gateway.port, '/room?a=1')).toEqual(['/base/room?a=1', 'hello'])
})

it('an upstream by TLS learns the name of its URL, which is also the one that its certificate must have', async () => {
  const { ca, ...certificate } = testCertificate()
  const names: unknown[] = []
  const server = createHttpsServer({
    ...certificate,
    SNICallback(name, done) {
      names.push(name)
      done(null)
    },
  })
  const port = await listening(echoAt(server as unknown as Server))
  const gateway = await gatewayTo(`https://localhost:${port}`, { tls: { ca } })
  expect((await fetch(gateway.url)).status).toBe(502)
  expect(names).toEqual(['localhost'])
})
