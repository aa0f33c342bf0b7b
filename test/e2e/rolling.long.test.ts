import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type Asked, Client, readJson } from '../faults/client.ts'
import { type Gateway, startGateway, untilReady } from '../faults/gateway.ts'
import { type LoggingUpstream, startLoggingUpstream } from '../faults/upstream.ts'
import { tempFolder } from '../setup/at-end.ts'
import { type Balancer, startBalancer } from '../setup/balancer.ts'
import { listening } from '../setup/listening.ts'
import { sharedRedis } from '../setup/redis.ts'
import { bearer } from './jwt.ts'

const COST = 3

let redis: Awaited<ReturnType<typeof sharedRedis>>
let folder: string
let gateways: Gateway[]
beforeEach(async () => {
  redis = await sharedRedis()
  folder = tempFolder()
  gateways = []
})

async function start(upstream: string, drain: string): Promise<Gateway> {
  const config = `
upstream: { url: "${upstream}" }
store: "${redis.url}"
store_options: { prefix: "${redis.prefix}", deadline: 2s }
quota:
  windows: { 1d: 1d }
  baselines: { personal: { c: { 1d: 1000000 } }, global: { c: { 1d: 10000000 } } }
routes: [{ match: "POST /c/:id", category: c, cost: ${COST} }, { match: "GET /live", category: c, cost: ${COST} }]
drain: { ${drain} }
`
  const gateway = await startGateway({ file: join(folder, `${gateways.length}.yaml`), config })
  gateways.push(gateway)
  await untilReady(gateway)
  return gateway
}

const BY_MACHINE = { method: 'POST', headers: { 'x-tollgate-drain': 'yes' } }

/** As the kubelet does it: the preStop hook first, then the signal. */
async function takeDown({ admin, process }: Gateway): Promise<number | null> {
  expect((await fetch(`${admin}/drain?state=on`, BY_MACHINE)).status).toBe(200)
  return process.end('SIGTERM')
}

async function used(gateway: Gateway, user: string): Promise<number> {
  const { windows } = await readJson<{ windows: { c: { used: number }[] } }>(`${gateway.url}/me/quota`, user)
  return windows.c[0]?.used ?? -1
}

describe('a rolling update of two replicas behind a load balancer', () => {
  let upstream: LoggingUpstream
  let balancer: Balancer
  beforeEach(async () => {
    upstream = await startLoggingUpstream((_seen, req, res) => {
      req.resume()
      setTimeout(() => res.end('ok'), Math.random() * 40)
    })
    balancer = await startBalancer()
  })

  it('a rolling update of two replicas behind a load balancer fails no request, and charges each once', async () => {
    const bring = async (): Promise<Gateway> => {
      const gateway = await start(`http://127.0.0.1:${upstream.port}`, 'delay: 3s, timeout: 20s')
      balancer.add(gateway)
      await expect.poll(() => balancer.ready().includes(gateway), { timeout: 30_000 }).toBe(true)
      return gateway
    }
    const old = [await bring(), await bring()]
    const users = ['alice', 'bob', 'carol', 'dave']
    const clients = users.map(() => new Client())
    const asked: Asked[] = []
    let stopped = false
    const load = users.map(async (user, i) => {
      while (!stopped) {
        asked.push((await clients[i]?.ask(balancer.url, 'c', user)) as Asked)
        await sleep(5)
      }
    })
    await expect.poll(() => asked.length, { timeout: 30_000 }).toBeGreaterThan(100)
    const young: Gateway[] = []
    for (const leaving of old) {
      young.push(await bring())
      const before = asked.length
      expect(await takeDown(leaving)).toBe(0)
      expect(asked.length).toBeGreaterThan(before)
      expect(leaving.process.output()).not.toMatch(/"outcome":"(failed|aborted)"|internal error/)
    }
    const soFar = asked.length
    await expect.poll(() => asked.length, { timeout: 30_000 }).toBeGreaterThan(soFar + 100)
    stopped = true
    await Promise.all(load)
    for (const client of clients) client.close()

    expect(asked.filter(({ status }) => status !== 200)).toEqual([])
    expect(upstream.seen.map(({ id }) => id).sort()).toEqual(asked.map(({ id }) => id).sort())
    for (const user of users) {
      const own = asked.filter((one) => one.user === user).length
      expect(await used(young[0] as Gateway, user)).toBe(own * COST)
    }
    // All four have served, so that nothing was shown by replicas that stood idle.
    for (const { process } of gateways) expect(process.output()).toContain('"outcome":"forwarded"')
  }, 120_000)

  it('a rolling update of two replicas behind a load balancer begins with /drain, after which a replica is not ready, goes on serving and says "close" to its clients, until a second call', async () => {
    const [gateway, other] = [
      await start(`http://127.0.0.1:${upstream.port}`, 'timeout: 20s'),
      await start(`http://127.0.0.1:${upstream.port}`, 'timeout: 20s'),
    ]
    const client = new Client()
    expect((await client.ask(gateway.url, 'c', 'alice')).headers.connection).toBe('keep-alive')
    const turn = async (): Promise<unknown> => (await fetch(`${gateway.admin}/drain`, BY_MACHINE)).json()
    expect(await turn()).toMatchObject({ draining: true })
    expect(await gateway.readiness()).toBe('503 draining')
    expect((await fetch(`${gateway.admin}/livez`)).status).toBe(200)
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await client.ask(gateway.url, 'c', 'alice')
      expect([status, headers.connection]).toEqual([200, 'close'])
    }
    expect(await turn()).toMatchObject({ draining: false })
    expect(await gateway.readiness()).toBe('200')
    expect((await client.ask(gateway.url, 'c', 'alice')).headers.connection).toBe('keep-alive')
    expect(gateway.process.child.exitCode).toBeNull()
    expect(await gateway.process.end('SIGTERM')).toBe(0)
    expect(await other.readiness()).toBe('200')
    expect(await used(other, 'alice')).toBe(5 * COST)
    client.close()
  }, 120_000)
})

describe('a WebSocket through a replica that is taken down', () => {
  let server: http.Server
  let sockets: WebSocketServer
  beforeEach(async () => {
    server = http.createServer()
    sockets = new WebSocketServer({ server })
    sockets.on('connection', (ws) => ws.on('message', (data) => ws.send(`echo ${data}`)))
    await listening(server)
  })

  async function open(gateway: Gateway): Promise<WebSocket> {
    const ws = new WebSocket(`${gateway.url.replace('http', 'ws')}/live`, { headers: bearer('alice') })
    ws.on('error', () => {})
    await once(ws, 'open')
    return ws
  }
  async function echoed(ws: WebSocket, text: string): Promise<string> {
    ws.send(text)
    const [data] = await once(ws, 'message')
    return String(data)
  }
  const upstream = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  it('a WebSocket through a replica that is taken down goes on while it drains, and the replica ends as soon as the last one is closed', async () => {
    const gateway = await start(upstream(), 'timeout: 1h')
    const ws = await open(gateway)
    gateway.process.child.kill('SIGTERM')
    await expect.poll(() => gateway.process.lines().map((line) => line.msg)).toContain('draining')
    expect(await echoed(ws, 'still there')).toBe('echo still there')
    ws.close()
    expect(await gateway.process.ended).toBe(0)
  }, 120_000)

  it('a WebSocket through a replica that is taken down is broken off at the end of drain.timeout, at both ends, and stays charged', async () => {
    const gateway = await start(upstream(), 'timeout: 1s')
    const other = await start(upstream(), 'timeout: 1s')
    const ws = await open(gateway)
    const atUpstream = [...sockets.clients][0] as WebSocket
    const closed = Promise.all([once(ws, 'close'), once(atUpstream, 'close')])
    expect(await takeDown(gateway)).toBe(0)
    // 1006: the connection went away without a closing frame.
    expect((await closed).map(([code]) => code)).toEqual([1006, 1006])
    expect(await used(other, 'alice')).toBe(COST)
  }, 120_000)
})
