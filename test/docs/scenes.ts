import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { vi } from 'vitest'
import { SECRET, startApp, startUpstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { freePort } from '../setup/redis.ts'
import type { Scene } from './follow.ts'

/** What of a checkout the demo and the documents need. */
const CLONE = ['src', 'services', 'config', 'build', 'docs', 'node_modules', 'package.json']

/** An empty folder on a machine where the command `tollgate` is installed. */
export async function emptyFolder(): Promise<Scene> {
  const machine = mkdtempSync(join(tmpdir(), 'tollgate-docs-'))
  const folder = join(machine, 'folder')
  mkdirSync(folder)
  return {
    folder,
    env: { ...process.env, PATH: withCommand(machine) },
    instead: await otherPorts(['8080', '9090', '9000']),
    close: async () => rmSync(machine, { recursive: true, force: true }),
  }
}

/** The PATH with the command before everything else. That the package brings it is shown by test/deploy/package.test.ts. */
function withCommand(machine: string): string {
  const bin = join(machine, 'bin')
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'node'))
  writeFileSync(join(bin, 'tollgate'), `#!/bin/sh\nexec '${process.execPath}' '${resolve('src/main.ts')}' "$@"\n`)
  chmodSync(join(bin, 'tollgate'), 0o755)
  return `${bin}${delimiter}${process.env.PATH}`
}

/** `:8080` and the like, each by a port that nobody listens on. */
async function otherPorts(written: readonly string[]): Promise<Record<string, string>> {
  const ports = await Promise.all(written.map(() => freePort()))
  return Object.fromEntries(
    written.flatMap((port, i) => [
      [`:${port}`, `:${ports[i]}`],
      [`(${port},`, `(${ports[i]},`],
    ]),
  )
}

/** A checkout in which `npm start` has just been run for the first time. */
export async function demo(): Promise<Scene> {
  const machine = mkdtempSync(join(tmpdir(), 'tollgate-docs-'))
  const folder = join(machine, 'checkout')
  mkdirSync(folder)
  for (const name of CLONE) symlinkSync(resolve(name), join(folder, name))
  const names = ['TOLLGATE_LISTEN', 'TOLLGATE_ADMIN_LISTEN', 'SCORE_LISTEN', 'SYNC_LISTEN', 'CHART_LISTEN']
  const ports = await Promise.all(names.map(() => freePort()))
  const listen = Object.fromEntries(names.map((name, i) => [name, `127.0.0.1:${ports[i]}`]))
  const env = { ...process.env, ...listen, PATH: withCommand(machine) }
  // `npm start` itself is run by test/e2e/tour.test.ts.
  const child = spawn(process.execPath, ['services/demo/main.ts'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  const end = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
    rmSync(machine, { recursive: true, force: true })
  }
  await vi
    .waitUntil(() => printed.includes('Try it in a second terminal'), { timeout: 100_000 })
    .catch(async (error: unknown) => {
      await end()
      throw error
    })
  return {
    folder,
    env,
    instead: { '127.0.0.1:8080': listen.TOLLGATE_LISTEN ?? '', '127.0.0.1:9090': listen.TOLLGATE_ADMIN_LISTEN ?? '' },
    close: end,
  }
}

/** A folder with a configuration whose user `alice` has used 119 tokens of `read`, and no gateway that runs. */
export async function used(): Promise<Scene> {
  const scene = await emptyFolder()
  writeFileSync(join(scene.folder, 'tollgate.yaml'), USED)
  const upstream = await startUpstream()
  const store = `sqlite:${join(scene.folder, 'tollgate.db')}`
  const app = await startApp(yaml(upstream.url, USED.slice(USED.indexOf('quota:')), store))
  const { status } = await fetch(`${app.url}/all`, { headers: bearer('alice') })
  await app.stop()
  await upstream.close()
  if (status !== 200) throw new Error(`the use of alice got ${status}`)
  return scene
}

const USED = `listen: 127.0.0.1:8080
upstream: { url: http://127.0.0.1:9000 }
store: sqlite:tollgate.db
quota:
  global: { enabled: true, multiplier: 2 }
  baselines:
    personal:
      read: { 1h: 120, 5h: 400 }

    global:
      read: { 1h: 1200, 5h: 4000 }
routes:
  - { match: GET /v1/health, public: true }
  - { match: GET /all, category: read, cost: 119 }
  - { match: "POST /v1/user/:what", category: read, cost: 2 }
store_options: { deadline: 10s } # no outage on a busy machine
`

/** A gateway with the log `gateway.log`, whose users have used and been refused something in the last minute. */
export async function busy(): Promise<Scene> {
  const scene = await emptyFolder()
  const upstream = await startUpstream(({ url }, res) => res.writeHead(url === '/broken' ? 500 : 200).end())
  const listen = scene.instead[':8080'] ?? ''
  const admin = `http://127.0.0.1${scene.instead[':9090']}`
  writeFileSync(join(scene.folder, 'tollgate.yaml'), busyYaml(upstream.url, listen, scene.instead[':9090'] ?? ''))
  const log = openSync(join(scene.folder, 'gateway.log'), 'w')
  const args = [resolve('src/main.ts'), 'serve', '-c', 'tollgate.yaml']
  const child = spawn(process.execPath, args, { cwd: scene.folder, stdio: ['ignore', log, 'inherit'] })
  const ended = once(child, 'exit')
  const close = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
    await upstream.close()
    await scene.close()
  }
  try {
    await until(async () => (await fetch(`${admin}/readyz`)).ok)
    await traffic(`http://127.0.0.1${listen}`)
    await reported(admin)
  } catch (error) {
    await close()
    throw error
  }
  return { ...scene, env: { ...scene.env, TOLLGATE_ADMIN_TOKEN: ADMIN_TOKEN }, close }
}

const ADMIN_TOKEN = 'admin-token-of-the-cookbook-'.padEnd(40, '0')

const busyYaml = (upstream: string, listen: string, admin: string): string => `listen: 127.0.0.1${listen}
upstream: { url: "${upstream}" }
store: sqlite:tollgate.db
store_options: { deadline: 10s } # no outage on a busy machine
admin: { listen: "127.0.0.1${admin}", token: ${ADMIN_TOKEN} }
auth:
  jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }]
  gateway_tokens: true
quota:
  plans: { free: {} }
  default_plan: free
  baselines:
    personal: { read: { 1h: 100, 1d: 120 } }
    global: { read: { 1h: 1000, 1d: 10000 } }
routes:
  - { match: GET /items, category: read, cost: 1 }
  - { match: GET /report, category: read, cost: 10 }
  - { match: GET /broken, category: read, cost: 1 }
  - { match: GET /export, category: read, cost: 70, shadow: true }
`

/** alice uses 23 tokens, bob all of his 100 and is refused twice, carol meets two failures, and mallory uses 40 and would have been refused once. */
async function traffic(url: string): Promise<void> {
  const send = async (user: string, path: string, times: number, expected = 200): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const response = await fetch(`${url}${path}`, { headers: bearer(user) })
      await response.arrayBuffer()
      if (response.status !== expected) throw new Error(`${path} of ${user} got ${response.status}`)
    }
  }
  await send('alice', '/items', 3)
  await send('alice', '/report', 2)
  await send('bob', '/report', 10)
  await send('bob', '/report', 2, 429)
  await send('carol', '/broken', 2, 500)
  await send('mallory', '/items', 40)
  await send('mallory', '/export', 1)
}

/** The gateway reports to its store every few seconds. */
async function reported(admin: string): Promise<void> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  // biome-ignore lint/suspicious/noExplicitAny: whatever the gateway sent
  const get = async (path: string): Promise<any> => (await fetch(`${admin}${path}`, { headers })).json()
  await until(async () => (await get('/api/refusals')).refusals[0]?.count === 2)
  await until(async () => (await get('/api/usage?by=all')).rows[0]?.requests === 60)
  await until(async () => (await get('/api/now')).counts.requests === 60)
  await until(async () => (await get('/api/now')).backend.requests === 58)
  await until(async () => (await get('/api/refusals?shadow=true')).refusals.length === 1)
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  await vi.waitUntil(() => condition().catch(() => false), { timeout: 90_000, interval: 200 })
}
