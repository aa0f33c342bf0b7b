import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childrenOf } from './cpu.ts'
import { backendConfig, quotaConfig } from './nginx/config.ts'
import { freePort, LOADING_CORE, type Server, startServer, TESTED_CORE } from './processes.ts'
import { AUDIENCE, ISSUER, SECRET } from './users.ts'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** A server that requests or charges are sent to. */
export interface Running extends Server {
  readonly port: number
  /** All whose CPU time is its cost. */
  readonly pids: readonly number[]
}

/** A folder for each server, so that their files never meet. */
function folderOf(parent: string, name: string): string {
  const folder = join(parent, name)
  mkdirSync(folder)
  return folder
}

/** Without persistence: a snapshot in the middle of a round would be counted to whoever is being measured. */
export async function startRedis(parent: string): Promise<Running> {
  const folder = folderOf(parent, 'redis')
  const port = await freePort()
  const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  const output = join(folder, 'output')
  const server = await startServer(['redis-server', ...options], { core: TESTED_CORE, port, output })
  return { ...server, port, pids: [server.pid] }
}

export function askRedis(port: number, ...command: string[]): string {
  return execFileSync('redis-cli', ['-h', '127.0.0.1', '-p', `${port}`, ...command], { encoding: 'utf8' })
}

async function startNginx(parent: string, name: string, core: number, configOf: (port: number) => string) {
  const folder = folderOf(parent, name)
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, configOf(port))
  const command = ['nginx', '-p', folder, '-e', 'stderr', '-c', config, '-g', 'daemon off;']
  const server = await startServer(command, { core, port, output: join(folder, 'output') })
  return { ...server, port, pids: [server.pid, ...childrenOf(server.pid)] }
}

export function startBackend(parent: string): Promise<Running> {
  return startNginx(parent, 'backend', LOADING_CORE, backendConfig)
}

export interface QuotaServer {
  readonly backend: number
  readonly redis: number
  /** Whether each request gets its line in a file. */
  readonly log: boolean
}

export function startNginxQuota(parent: string, { log, ...options }: QuotaServer, users: string): Promise<Running> {
  const name = log ? 'nginx-log' : 'nginx'
  return startNginx(parent, name, TESTED_CORE, (port) =>
    quotaConfig({ ...options, port, users, accessLog: log ? join(parent, name, 'access.log') : null }),
  )
}

export async function startHttpProxy(parent: string, backend: number): Promise<Running> {
  const folder = folderOf(parent, 'http-proxy')
  const port = await freePort()
  const command = [process.execPath, file('http-proxy.ts'), `${port}`, `${backend}`]
  const server = await startServer(command, { core: TESTED_CORE, port, output: join(folder, 'output') })
  return { ...server, port, pids: [server.pid] }
}

/** @param flags more options of Node, for example `--cpu-prof` */
export async function startGateway(parent: string, options: QuotaServer, flags: string[] = []): Promise<Running> {
  const folder = folderOf(parent, options.log ? 'gateway-log' : 'gateway')
  const port = await freePort()
  const config = join(folder, 'tollgate.yaml')
  writeFileSync(config, JSON.stringify(gatewayConfig(port, await freePort(), options), null, 2))
  const command = [process.execPath, ...flags, file('../src/main.ts'), 'serve', '-c', config]
  const server = await startServer(command, { core: TESTED_CORE, port, output: join(folder, 'output') })
  return { ...server, port, pids: [server.pid] }
}

const windows = (limit: number) => ({ '1h': limit, '5h': limit, '1d': limit })
const PLENTY = 1e12

/** What the file does not name is left at its default. JSON is YAML. */
function gatewayConfig(port: number, admin: number, { backend, redis, log }: QuotaServer) {
  const plenty = windows(PLENTY)
  return {
    listen: `127.0.0.1:${port}`,
    upstream: { url: `http://127.0.0.1:${backend}` },
    store: `redis://127.0.0.1:${redis}`,
    // A machine that is busy elsewhere must not turn charges into refusals.
    store_options: { deadline: '2s' },
    admin: { listen: `127.0.0.1:${admin}` },
    auth: { jwt: [{ issuer: ISSUER, audience: AUDIENCE, secret: SECRET, algorithms: ['HS256'] }] },
    quota: {
      baselines: {
        personal: { read: plenty, write: plenty, spent: windows(1) },
        global: { read: plenty, write: plenty, spent: plenty },
      },
    },
    routes: [
      { match: 'GET /public', public: true },
      { match: 'GET /read', category: 'read', cost: 1 },
      { match: 'GET /write', category: 'write', cost: 1 },
      { match: 'GET /spent', category: 'spent', cost: 1 },
    ],
    log: { requests: log ? 'all' : 'none' },
  }
}
