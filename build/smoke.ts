import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Checks that the build works: `dist/` makes a token, serves a charged request, a tunnel and the dashboard, and stops, on the
 * present Node.
 */

/** The key in the sample handshake of RFC 6455. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const folder = mkdtempSync(join(tmpdir(), 'tollgate-smoke-'))
const file = join(folder, 'tollgate.yaml')
const upstream = http.createServer((_req, res) => res.end('ok')).listen(0, '127.0.0.1')
upstream.on('upgrade', (_req, socket) =>
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
  ),
)
await once(upstream, 'listening')
const [port, adminPort] = [await freePort(), await freePort()]
writeFileSync(
  file,
  `listen: 127.0.0.1:${port}
upstream: { url: "http://127.0.0.1:${(upstream.address() as AddressInfo).port}" }
store: sqlite:${join(folder, 'quota.db')}
admin: { listen: "127.0.0.1:${adminPort}" }
auth: { gateway_tokens: true }
quota: { baselines: { personal: { read: { 1h: 1 } }, global: { read: { 1h: 9 } } } }
routes:
  - { match: GET /tunnel, category: read, cost: 0 }
  - { match: "GET /*", category: read, cost: 1 }
`,
)
try {
  const token = (await run('token', 'create', '--user', 'alice', '--name', 'smoke')).trim()
  const gateway = spawn(process.execPath, ['dist/main.js', 'serve', '-c', file], { stdio: 'ignore' })
  const ended = once(gateway, 'exit')
  const statuses = [await first(token), await get(token), await tunnel(token), await page()]
  gateway.kill('SIGTERM')
  const [code] = await ended
  if (statuses.join() !== '200,429,101,200' || code !== 0) throw new Error(`answers ${statuses}, exit code ${code}`)
  console.log(`dist runs on Node ${process.version}: ${statuses.join(', ')}, exit code ${code}`)
} finally {
  upstream.close()
  rmSync(folder, { recursive: true, force: true })
}

async function run(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ['dist/main.js', ...args, '-c', file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = await child.stdout.toArray()
  return Buffer.concat(output).toString()
}

async function first(token: string): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const status = await get(token).catch(() => 0)
    if (status !== 0) return status
    await sleep(50)
  }
  return 0
}

async function get(token: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/x`, { headers: { authorization: `Bearer ${token}` } })).status
}

async function tunnel(token: string): Promise<number | undefined> {
  const handshake = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': KEY,
  }
  const headers = { authorization: `Bearer ${token}`, ...handshake }
  const request = http.get({ port, path: '/tunnel', headers })
  const [response, socket] = await Promise.race([once(request, 'upgrade'), once(request, 'response')])
  socket?.destroy()
  return response.statusCode
}

async function page(): Promise<number> {
  return (await fetch(`http://127.0.0.1:${adminPort}/`)).status
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
