import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'
import tls from 'node:tls'
import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { statusesIn } from '../e2e/raw.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, makeCertificates } from '../setup/ways.ts'

const certificates = makeCertificates()
const PLAIN = { clients: false, upstream: false, name: '' }

/** Responses to `/slow` wait here. */
const pending: ServerResponse[] = []

async function startGateway(edge: string, way = PLAIN): Promise<RunningApp> {
  const upstream: Server = createServer((req, res) => void (req.url === '/slow' ? pending.push(res) : res.end('ok')))
  await listening(upstream)
  const routes = 'routes: [{ match: GET /slow, public: true }, { match: GET /mine, category: read, cost: 1 }]'
  const { port } = upstream.address() as AddressInfo
  const rest = `edge: { ${edge} }\n${routes}\n${certificates.listener(way)}`
  const app = await startApp(yaml(`http://127.0.0.1:${port}`, rest))
  return app
}

interface Client {
  readonly socket: Socket
  readonly statuses: () => number[]
  readonly isClosed: () => boolean
  ask(path: string, user?: string): void
}

function connect(app: RunningApp, localAddress: string): Client {
  const { hostname: host, port, protocol } = new URL(app.url)
  const raw = net.connect({ host, port: Number(port), localAddress })
  const socket = protocol === 'https:' ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw
  let text = ''
  let isClosed = false
  socket.on('error', () => {}).on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
  socket.once('close', () => (isClosed = true))
  atEnd(() => socket.destroy())
  const ask = (path: string, user?: string) =>
    void socket.write(
      `GET ${path} HTTP/1.1\r\nHost: a\r\n${user === undefined ? '' : `Authorization: Bearer ${jwtOf(user)}\r\n`}\r\n`,
    )
  return { socket, statuses: () => statusesIn(text), isClosed: () => isClosed, ask }
}

/** A connection that has had its response and says no more. */
async function silent(app: RunningApp, address: string, user?: string): Promise<Client> {
  const client = connect(app, address)
  client.ask(user === undefined ? '/nothing' : '/mine', user)
  await expect.poll(client.statuses).toEqual([user === undefined ? 404 : 200])
  return client
}

async function manySilent(app: RunningApp, count: number, address: string): Promise<Client[]> {
  const clients: Client[] = []
  for (let i = 0; i < count; i++) clients.push(await silent(app, address))
  return clients
}

const closedOf = (clients: readonly Client[]) => clients.filter(({ isClosed }) => isClosed()).length
const troubles = ({ observations }: RunningApp) =>
  observations.flatMap((o) => (o.type === 'bad_connection' ? [o.code] : []))

describe.each(BOTH_WAYS)('when connections run out, by $name', (way) => {
  it('those that say nothing are closed for new ones, the first of the address that has most of them', async () => {
    const app = await startGateway('max_connections: 10, shares: { connections: { strangers: none } }', way)
    const many = await manySilent(app, 6, '127.0.0.2')
    const few = await manySilent(app, 3, '127.0.0.3')
    for (let i = 0; i < 3; i++) await silent(app, '127.0.0.4')
    await expect.poll(() => closedOf(many)).toBe(3)
    expect([many[0]?.isClosed(), many[5]?.isClosed(), closedOf(few)]).toEqual([true, false, 0])
    expect(troubles(app)).toEqual(Array(3).fill('made_room'))
  })

  it('one on which a credential was accepted stays while strangers have any that say nothing', async () => {
    const app = await startGateway('max_connections: 10', way)
    const user = await silent(app, '127.0.0.2', 'alice')
    for (let i = 0; i < 30; i++) await silent(app, `127.0.1.${i}`)
    user.ask('/mine', 'alice')
    await expect.poll(user.statuses).toEqual([200, 200])
  })
})

it('the connection that is silent longest of more than one address may have makes room, and none that has a request', async () => {
  const app = await startGateway('max_connections_per_address: 2')
  const busy = connect(app, '127.0.0.2')
  busy.ask('/slow')
  await expect.poll(() => pending.length).toBe(1)
  const idle = await silent(app, '127.0.0.2')
  const third = await silent(app, '127.0.0.2')
  await expect.poll(idle.isClosed).toBe(true)
  pending.splice(0)[0]?.end('ok')
  await expect.poll(busy.statuses).toEqual([200])
  expect(third.isClosed()).toBe(false)
})

it('an address that opens hundreds of connections in a rush has few closed for them, and the connections of others find room', async () => {
  const app = await startGateway('max_connections_per_address: 2')
  await manySilent(app, 2, '127.0.0.3')
  const rush = Array.from({ length: 500 }, () => connect(app, '127.0.0.2'))
  const other = connect(app, '127.0.0.3')
  other.ask('/nothing')
  await expect.poll(other.statuses).toEqual([404])
  await expect.poll(() => closedOf(rush)).toBe(498)
  const codes = troubles(app)
  // Before the rush is one each turn makes room, which are 128.
  expect(codes.filter((code) => code === 'too_fast').length).toBeGreaterThan(300)
  expect(codes.filter((code) => code === 'made_room').length).toBeGreaterThan(128)
  expect(other.isClosed()).toBe(false)
})

it('strangers make room for each other when they have their share, and the rest is there for others', async () => {
  const app = await startGateway('max_connections: 100, shares: { connections: { strangers: 5 } }')
  const strangers: Client[] = []
  for (let i = 0; i < 8; i++) strangers.push(await silent(app, `127.0.1.${i}`))
  await expect.poll(() => closedOf(strangers)).toBe(3)
  const users: Client[] = []
  for (let i = 0; i < 8; i++) users.push(await silent(app, '127.0.2.1', `user${i}`))
  expect(closedOf(users)).toBe(0)
})

it('the administrator sees that connections were closed to make room', async () => {
  const app = await startGateway('max_connections: 4')
  for (let i = 0; i < 6; i++) await silent(app, `127.0.1.${i}`)
  const ready = (await (await fetch(`${app.admin}/readyz`)).json()) as { ready: boolean; degraded?: string[] }
  expect(ready.ready).toBe(true)
  expect(JSON.stringify(ready)).toContain('idle ones are closed for new ones')
})

it('an idle connection is kept for a shorter time the fewer places are left, and for a second at least', async () => {
  const app = await startGateway(
    'max_connections: 10, keep_alive_timeout: 60s, shares: { connections: { strangers: none } }',
  )
  const announced: string[] = []
  for (let i = 0; i < 9; i++) {
    const client = connect(app, `127.0.1.${i}`)
    client.socket.on('data', (bytes: Buffer) => announced.push(/timeout=(\d+)/.exec(bytes.toString())?.[1] ?? ''))
    client.ask('/nothing')
    await expect.poll(() => announced.length).toBe(i + 1)
  }
  expect(announced).toEqual(['60', '60', '60', '60', '60', '48', '36', '24', '12'])
})
