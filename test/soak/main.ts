import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { SECRET } from '../e2e/harness.ts'
import { type GatewayProcess, spawnGateway } from '../e2e/process.ts'
import { freePort, startRedis } from '../setup/redis.ts'
import { growth, type Sample, sample } from './gauge.ts'
import { type Counts, runTraffic } from './traffic.ts'

/**
 * `npm run soak -- --minutes 10 --store sqlite|redis`: one gateway under all kinds of traffic at once, with a reload
 * every five seconds. Prints what must not grow every half minute, and fails where it did (`BOUNDS` in gauge.ts).
 */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, store: { type: 'string', default: 'sqlite' } },
})
const minutes = Number(values.minutes)
const folder = mkdtempSync(join(tmpdir(), 'tollgate-soak-'))
const file = join(folder, 'tollgate.yaml')
const upstream = await startUpstream()
const store = values.store === 'redis' ? await redisStore() : sqliteStore()
const [port, adminPort] = [await freePort(), await freePort()]
const [url, admin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`]
write(0)
const gateway = await spawnGateway(file, `${admin}/readyz`)

const counts: Counts = { done: new Map(), statuses: new Map() }
const stop = new AbortController()
const traffic = runTraffic(url, counts, stop.signal)
const reloads = setInterval(() => write(Date.now()), 5_000)
const samples: Sample[] = []
// A sample each second looks at the whole, one line each half minute tells of it.
const until = performance.now() + 60_000 * minutes
const line = (name: string, cells: readonly (string | number)[]): void =>
  console.log([name.padStart(7), ...cells.map((cell) => String(cell).padStart(9))].join(' '))
line('time', ['rss MB', 'handles', 'sockets', 'in flight', 'keys', 'actions'])
for (let next = performance.now() + 30_000; performance.now() < until && gateway.child.exitCode === null; ) {
  await sleep(1000)
  samples.push(await sample(gateway.child.pid ?? 0, admin, store.keys))
  if (performance.now() < next) continue
  next += 30_000
  const { rssMb, handles, sockets, inFlight, keys } = samples.at(-1) as Sample
  const actions = [...counts.done.values()].reduce((sum, count) => sum + count, 0)
  const seconds = Math.round((performance.now() - until) / 1000 + 60 * minutes)
  line(`${seconds} s`, [rssMb, handles, sockets, inFlight, keys, actions])
}
clearInterval(reloads)
stop.abort()
await traffic
const problems = [...growth(samples), ...(await end(gateway))]
console.log(
  [...counts.statuses]
    .sort()
    .map(([what, count]) => `${what}: ${count}`)
    .join('\n'),
)
await store.close()
upstream.closeAllConnections()
upstream.close()
rmSync(folder, { recursive: true })
for (const problem of problems) console.error(problem)
console.log(problems.length === 0 ? `${minutes} minutes on ${values.store}: nothing grew beyond its bound` : 'FAILED')
process.exitCode = problems.length === 0 ? 0 : 1

/** Every reload changes a limit, so that it is one. */
function write(nth: number): void {
  const limits = `{ 1h: ${1_000_000_000 + (nth % 1000)} }`
  writeFileSync(
    file,
    `
listen: 127.0.0.1:${port}
upstream: { url: "http://127.0.0.1:${(upstream.address() as AddressInfo).port}" }
store: "${store.url}"
admin: { listen: "127.0.0.1:${adminPort}", token: test-admin-token-0001 }
auth: { jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }] }
log: { requests: none }
edge: { headers_timeout: 1s, upload_grace: 1s, max_in_flight_per_user: 50, max_connections_per_address: 1000 }
quota: { baselines: { personal: { read: ${limits}, dear: { 1h: 5 } }, global: { read: ${limits}, dear: { 1h: 5 } } } }
routes:
  - { match: "* /api/*", category: read, cost: 1 }
  - { match: GET /dear, category: dear, cost: 2 }
`,
  )
}

/** @returns what was wrong with the end, and with the log */
async function end(process: GatewayProcess): Promise<string[]> {
  const code = process.child.exitCode ?? (await process.end('SIGTERM'))
  const loud = process.lines().filter(({ level }) => Number(level) >= 50)
  // A store that was too slow for its deadline on a busy machine is told, and no fault of the gateway.
  const [ofStore, others] = [loud.filter(isOfStore), loud.filter((entry) => !isOfStore(entry))]
  if (ofStore.length > 0) console.log(`the store was out ${ofStore.length} times`)
  return [
    ...(code === 0 ? [] : [`the gateway ended with ${code}`]),
    ...others.slice(0, 5).map((entry) => `logged: ${JSON.stringify(entry)}`),
  ]
}

function isOfStore({ msg }: Record<string, unknown>): boolean {
  return String(msg).includes('store')
}

async function startUpstream(): Promise<http.Server> {
  const big = Buffer.alloc(2_000_000, 'y')
  const server = http.createServer((req, res) => {
    req.resume()
    req.on('error', () => {})
    req.on('end', () => {
      if (req.url === '/api/big') res.end(big)
      else if (req.url === '/api/slow') setTimeout(() => res.end('ok'), 200)
      else res.end('ok')
    })
  })
  server.on('upgrade', (req, socket) => {
    socket.on('error', () => {})
    const key = `${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function sqliteStore() {
  const path = join(folder, 'quota.db')
  return {
    url: `sqlite:${path}`,
    keys: async (): Promise<number> => {
      const database = new DatabaseSync(path, { readOnly: true })
      const tables = database
        .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`)
        .all()
      const sizes = tables.map(({ name }) => database.prepare(`SELECT count(*) AS n FROM "${name}"`).get()?.n)
      database.close()
      return sizes.reduce<number>((sum, n) => sum + Number(n), 0)
    },
    close: async (): Promise<void> => {},
  }
}

async function redisStore() {
  const server = await startRedis()
  const client = new Redis(server.url)
  return {
    url: server.url,
    keys: () => client.dbsize(),
    close: async (): Promise<void> => {
      client.disconnect()
      await server.stop()
    },
  }
}
