import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { statusesIn } from '../e2e/raw.ts'
import { isCharged } from '../observe/settled.ts'

/** `slowhttptest` against the whole gateway, each time with somebody else who wants to be served meanwhile. */

let backend: Upstream
let app: RunningApp

const BIG = Buffer.alloc(4_000_000, 'x')
const CLIENTS = 200

async function start(edge: string, upstream = ''): Promise<void> {
  backend = await startUpstream(({ url }, res) => void res.end(url.startsWith('/open') ? BIG : 'ok'))
  const routes = '[{ match: "* /api/*", category: read, cost: 1 }, { match: "* /open", public: true }]'
  const limits = 'baselines: { personal: { read: { 1h: 100000 } }, global: { read: { 1h: 100000 } } }'
  app = await startApp(
    yaml(backend.url, `edge: { ${edge} }\nquota: { ${limits} }\nroutes: ${routes}`, undefined, upstream),
  )
}

/** Runs to its end. @param mode `-H` slow heads, `-B` slow bodies, `-X` slow reading */
async function attack(mode: string, path: string, ...more: string[]): Promise<void> {
  const args = [mode, '-u', app.url + path, '-c', String(CLIENTS), '-r', String(CLIENTS), '-l', '4', '-p', '5', ...more]
  const child = spawn('slowhttptest', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.resume()
  child.stderr.resume()
  await once(child, 'exit')
}

/** What one honest client, of another address, gets for a request on a connection of its own. */
async function honest(): Promise<number | undefined> {
  const { hostname, port } = new URL(app.url)
  const socket = net.connect({ host: hostname, port: Number(port), localAddress: '127.0.0.2' })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.write(`GET /api/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${jwtOf('alice')}\r\nConnection: close\r\n\r\n`)
  await new Promise((resolve) => socket.once('close', resolve))
  return statusesIn(text)[0]
}

interface Watched {
  /** Of the honest client's requests. */
  readonly statuses: number[]
  /** The most sockets that this process, with gateway and backend in it, had at a time. */
  readonly sockets: number
  readonly grownMb: number
}

const socketsNow = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length
const megabytes = (): number => process.memoryUsage().rss / 1_000_000

/** Of the honest client's requests; how long each may take is for the machine to say. */
const ENOUGH = 5

/** Asks as an honest client, one request after the other, while there are attacks: one, and more until it was served so often. */
async function meanwhile(attackOnce: () => Promise<void>): Promise<Watched> {
  await honest()
  const [before, statuses] = [megabytes(), [] as number[]]
  let [sockets, most] = [0, before]
  while (statuses.length < ENOUGH) {
    let over = false
    const attacking = attackOnce().finally(() => {
      over = true
    })
    while (!over) {
      statuses.push((await honest()) ?? 0)
      sockets = Math.max(sockets, socketsNow())
      most = Math.max(most, megabytes())
      await sleep(10)
    }
    await attacking
  }
  return { statuses, sockets, grownMb: most - before }
}

function expectServed({ statuses }: Watched): void {
  expect(statuses.filter((status) => status !== 200)).toEqual([])
}

/** Nothing is charged but what the honest client asked, and the upstream saw nothing else of the charged route. */
function expectExact({ statuses }: Watched): void {
  const charged = app.observations.filter(isCharged).length
  expect(charged).toBe(statuses.length + 1)
  expect(backend.seen.filter(({ url }) => url === '/api/x')).toHaveLength(charged)
}

const codes = (): Set<string> => new Set(app.observations.flatMap((o) => (o.type === 'bad_connection' ? [o.code] : [])))

it('clients that send their heads slowly are ended after headers_timeout; others are served, and nothing is charged or forwarded for them', async () => {
  await start('headers_timeout: 1s')
  const watched = await meanwhile(() => attack('-H', '/api/slow', '-i', '1'))
  expectServed(watched)
  expectExact(watched)
  expect(codes()).toContain('request_timeout')
  await expect.poll(socketsNow).toBeLessThan(CLIENTS / 2)
})

it('clients that send their heads slowly cannot take all connections where each address has its share', async () => {
  await start('max_connections: 100, max_connections_per_address: 50')
  const watched = await meanwhile(() => attack('-H', '/api/slow', '-i', '1'))
  expectServed(watched)
  expectExact(watched)
  expect(watched.sockets).toBeLessThan(110)
  // Those of the fullest address that wait for nothing make room first.
  expect(codes()).toContain('made_room')
  expect(codes()).not.toContain('too_many')
})

it('clients that send their bodies slowly hold no connection to the upstream while a body is small, and pay nothing', async () => {
  await start('', 'max_connections: 2')
  const watched = await meanwhile(() => attack('-B', '/open', '-i', '1', '-s', '4096', '-x', '10'))
  expectServed(watched)
  expectExact(watched)
  expect(backend.seen.filter(({ method }) => method === 'POST')).toEqual([])
})

it('clients that send their bodies slowly are ended by min_upload_rate where it is large, so that the connections to the upstream come free', async () => {
  await start('upload_grace: 500ms, shares: { address: none }', 'max_connections: 4, queue_timeout: 30s')
  const attacking = attack('-B', '/open', '-i', '1', '-s', '1000000', '-x', '10')
  await expect.poll(codes).toContain('slow_upload')
  await attacking
  expect(await honest()).toBe(200)
  expect(backend.seen.filter(({ method }) => method === 'POST')).toEqual([])
  await expect.poll(() => app.requests().filter(({ outcome }) => outcome === 'aborted').length).toBeGreaterThan(50)
})

it('clients that read their answers slowly do not fill the memory, and others are served', async () => {
  await start('')
  const watched = await meanwhile(() => attack('-X', '/open', '-w', '512', '-y', '1024', '-n', '1', '-z', '32'))
  expectServed(watched)
  expectExact(watched)
  // 800 MB of answers are asked for.
  expect(watched.grownMb).toBeLessThan(300)
})
