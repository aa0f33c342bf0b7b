import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'

/** What a connection brings before it waits for its turn. */
const LONG = 256 * 1024
const READ = 64 * 1024
/** More than a connection brings in one turn, and as much as the kernel takes at once. */
const SENT = 2_000_000
const CONNECTIONS = 8
const POST = (path: string, ...fields: string[]) => [`POST ${path} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n')

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function startGateway(): Promise<RunningApp> {
  const upstream: Server = createServer((req, res) => {
    let bytes = 0
    req.on('data', (piece: Buffer) => (bytes += piece.length)).on('end', () => res.end(String(bytes)))
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as AddressInfo
  const app = await startApp(yaml(`http://127.0.0.1:${port}`, 'routes: [{ match: POST /pub, public: true }]'))
  cleanups.push(
    () => upstream.close(),
    () => upstream.closeAllConnections(),
    () => app.stop(),
  )
  return app
}

/** Connections that the gateway has accepted from now on. */
function acceptedBy(app: RunningApp): Socket[] {
  const sockets: Socket[] = []
  const port = Number(new URL(app.url).port)
  const add = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    if (socket.localPort === port) sockets.push(socket)
  }
  subscribe('net.server.socket', add)
  cleanups.push(() => unsubscribe('net.server.socket', add))
  return sockets
}

async function open(app: RunningApp, localAddress: string, head: string): Promise<Socket> {
  const { hostname: host, port } = new URL(app.url)
  const socket = net.connect({ host, port: Number(port), localAddress })
  cleanups.push(() => socket.destroy())
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  socket.write(head)
  return socket
}

it.each([
  ['line ends without a request', '', '\r\n'],
  ['bodies that nobody looks at', POST('/none', 'Content-Length: 9000000000'), 'xx'],
  ['bodies that are forwarded', POST('/pub', 'Content-Length: 9000000'), 'xx'],
])(
  'all strangers together bring little more than one of them in a turn of the event loop: %s',
  async (_what, head, piece) => {
    const app = await startGateway()
    const accepted = acceptedBy(app)
    const clients: Socket[] = []
    for (let i = 0; i < CONNECTIONS; i++) clients.push(await open(app, `127.0.1.${i + 1}`, head))
    await expect.poll(() => accepted.length).toBe(CONNECTIONS)
    const bytes = Buffer.from(piece.repeat(SENT / 2))
    for (const client of clients) client.write(bytes)
    const total = (): number => accepted.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
    const turns: number[] = []
    for (let before = total(), i = 0; i < 200; i++) {
      await nextTurn()
      turns.push(total() - before)
      before = total()
    }
    // Nobody has waited yet in the turn in which the first bytes of all of them come.
    const [first = 0, ...others] = turns.sort((a, b) => b - a)
    expect(first).toBeLessThanOrEqual(CONNECTIONS * (LONG + READ))
    // One has its turn, while what the kernel had not yet taken comes of another that has had its own.
    expect(others[CONNECTIONS]).toBeLessThanOrEqual(2 * (LONG + READ))
  },
)

it('a body that is longer than many reads arrives whole', async () => {
  const app = await startGateway()
  const response = await fetch(`${app.url}/pub`, { method: 'POST', body: new Uint8Array(5_000_000) })
  expect([response.status, await response.text()]).toEqual([200, '5000000'])
})
