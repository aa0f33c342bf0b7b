import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { atEnd } from '../setup/at-end.ts'
import { startRedis } from '../setup/redis.ts'
import { type RunningApp, type Seen, startApp, startUpstream, yaml } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'
import { statusesIn } from './raw.ts'

/** Whoever has no accepted credential, from whatever number of addresses, against users. */

const ROUTES = `routes:
  - { match: GET /pub, public: true }
  - { match: POST /pub, public: true }
  - { match: GET /slow, public: true }
  - { match: GET /ws, public: true }
  - { match: "* /mine", category: read, cost: 1 }
  - { match: GET /anyone, category: read, cost: 1, anonymous: true }
`

async function start(edge: string, upstreamKeys = '', redis?: string): Promise<RunningApp & { waiting: () => number }> {
  let waiting = 0
  const upstream = await startUpstream(({ url }: Seen, res) => {
    if (url !== '/slow') return void res.end('ok')
    waiting++
  })
  const text = yaml(upstream.url, `edge: { ${edge} }\n${ROUTES}`, redis, upstreamKeys)
  const app = await startApp(redis === undefined ? text : `${text}store_options: { deadline: 10s }\n`)
  return { ...app, waiting: () => waiting }
}

function send(app: RunningApp, localAddress: string, text: string): () => string {
  const { hostname: host, port } = new URL(app.url)
  const socket = net.connect({ host, port: Number(port), localAddress })
  let received = ''
  socket.on('error', () => {}).on('data', (bytes: Buffer) => (received += bytes.toString('latin1')))
  atEnd(() => socket.destroy())
  socket.write(text)
  return () => received
}

const head = (line: string, ...fields: string[]) => `${line} HTTP/1.1\r\n${['Host: a', ...fields].join('\r\n')}\r\n\r\n`
const asAlice = (line: string, ...fields: string[]) => head(line, `Authorization: Bearer ${jwtOf('alice')}`, ...fields)

it('bodies that never come, from whatever number of addresses, keep no user from sending his', async () => {
  const app = await start('max_in_flight: 20')
  for (let i = 0; i < 16; i++) send(app, `127.0.1.${i}`, head('POST /pub', 'Content-Length: 10'))
  await expect.poll(() => app.requests().length).toBe(6)
  const refused = send(app, '127.0.2.1', `${head('POST /pub', 'Content-Length: 2')}{}`)
  const user = send(app, '127.0.1.1', `${asAlice('POST /mine', 'Content-Length: 2')}{}`)
  await expect.poll(() => statusesIn(user())).toEqual([200])
  await expect.poll(() => statusesIn(refused())).toEqual([503])
  expect(refused()).toContain(
    'Clients without an accepted credential have as many requests whose body is still to come as',
  )
  expect(refused()).toContain('\r\nRetry-After: 1\r\n')
})

it('a GET with a body on a public route waits for no place', async () => {
  const app = await start('max_in_flight: 20')
  for (let i = 0; i < 10; i++) send(app, `127.0.1.${i}`, head('POST /pub', 'Content-Length: 10'))
  const get = send(app, '127.0.2.1', `${head('GET /pub', 'Content-Length: 2')}{}`)
  await expect.poll(() => statusesIn(get())).toEqual([200])
})

it('responses that never come leave half of the upstream connections to users', async () => {
  const app = await start('', 'max_connections: 4, queue_timeout: 200ms')
  for (let i = 0; i < 6; i++) send(app, `127.0.1.${i}`, head('GET /slow'))
  await expect.poll(app.waiting).toBe(2)
  await expect.poll(() => app.requests().map(({ clientStatus }) => clientStatus)).toEqual(Array(4).fill(503))
  const user = send(app, '127.0.1.1', asAlice('GET /mine'))
  await expect.poll(() => statusesIn(user())).toEqual([200])
})

it('callers without a credential count among strangers, though each has a quota of its own', async () => {
  const app = await start('max_in_flight: 4')
  for (let i = 0; i < 2; i++) send(app, `127.0.1.${i}`, head('GET /slow'))
  await expect.poll(app.waiting).toBe(2)
  const anyone = send(app, '127.0.2.1', head('GET /anyone'))
  await expect.poll(() => statusesIn(anyone())).toEqual([503])
  const user = send(app, '127.0.2.1', asAlice('GET /anyone'))
  await expect.poll(() => statusesIn(user())).toEqual([200])
})

it('users who ask for their quota and usage take no place of the strangers', async () => {
  const server = await startRedis()
  const app = await start('max_in_flight: 6, shares: { requests: { address: 3 } }', '', server.url)
  // Redis replies to nobody, so three keep their places, which are known to be taken when the fourth is refused.
  process.kill(server.pid, 'SIGSTOP')
  const paths = ['/me/quota', '/me/usage', '/me/quota', '/me/usage']
  const users = paths.map((path) => send(app, '127.0.1.1', asAlice(`GET ${path}`)))
  const statuses = () => users.flatMap((received) => statusesIn(received()))
  await expect.poll(statuses).toEqual([429])
  const stranger = send(app, '127.0.2.1', head('GET /pub'))
  await expect.poll(() => statusesIn(stranger())).toEqual([200])
  process.kill(server.pid, 'SIGCONT')
  await expect.poll(() => statuses().toSorted()).toEqual([200, 200, 200, 429])
})

it('strangers have all places where the file accepts no credential', async () => {
  const upstream = await startUpstream((_seen, _res) => {})
  const file = `listen: 127.0.0.1:0
upstream: { url: "${upstream.url}" }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth: { gateway_tokens: false }
log: { level: fatal }
edge: { max_in_flight: 4, shares: { address: none } }
unmatched: forward
`
  const app = await startApp(file)
  for (let i = 0; i < 4; i++) send(app, '127.0.1.1', head('GET /slow'))
  await expect.poll(() => upstream.seen.length).toBe(4)
})

it('a WebSocket without an accepted credential ends where nobody says anything on it, and that of a user stays', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket) => socket.on('message', (message) => socket.send(message)))
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const app = await startApp(yaml(`http://127.0.0.1:${port}`, ROUTES, undefined, 'idle_timeout: 1s'))
  atEnd(() => server.close())
  const url = app.url.replace('http', 'ws')
  const open = async (path: string, headers = {}): Promise<WebSocket> => {
    const socket = new WebSocket(url + path, { headers }).on('error', () => {})
    atEnd(() => socket.terminate())
    await new Promise((resolve) => socket.once('open', resolve))
    return socket
  }
  const [silent, busy, user] = [await open('/ws'), await open('/ws'), await open('/mine', bearer('alice'))]
  const closed: string[] = []
  silent.once('close', () => closed.push('silent'))
  busy.once('close', () => closed.push('busy'))
  user.once('close', () => closed.push('user'))
  for (let i = 0; i < 12; i++) {
    busy.send('still here')
    await sleep(200)
  }
  await expect.poll(() => closed).toEqual(['silent'])
  expect(app.observations).toContainEqual({ type: 'tunnel_ended', why: 'silence' })
})
