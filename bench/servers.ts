import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { configurationFor } from './checkout.ts'
import { type NginxLimits, quotaConfig, upstreamConfig } from './nginx/config.ts'
import { freePort, LOADING_CORE, type Server, startServer, TESTED_CORE } from './processes.ts'
import { AUDIENCE, ISSUER, SECRET } from './requests.ts'
import { until } from './until.ts'

/** The place where `npm run build` leaves the program, from the folder of a checkout. */
export const BUILT = 'dist/main.js'

/** Ten seconds: the 200 ms of the watch and the reading, on a machine that is busy elsewhere. */
const TAKEN_TRIES = 200

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** A server for requests or charges. */
export interface Running extends Server {
  readonly port: number
}

export interface RunningGateway extends Running {
  /** The port of its administrators' listener. */
  readonly admin: number
  /** Writes its configuration anew, with these sections replaced. Resolves when it is in force in all processes. */
  reconfigure(change: object): Promise<void>
}

/** The same server without and with its access log. */
export interface Pair {
  readonly off: Running
  readonly on: Running
}

/** The servers of one group of measurements. Each group starts its own, so that none depends on another. */
export interface Stage {
  /** Without persistence: a snapshot in the middle of a round would be counted to the measured row. */
  redis(): Promise<Running>
  /** The upstream of every row, an nginx on the core of the load, with files of these sizes. Default none. */
  upstream(files?: readonly { readonly file: string; readonly bytes: number }[]): Promise<Running>
  nginx(options: NginxQuota): Promise<Running>
  /** @param log whether each request gets a line in a file; default no */
  httpProxy(upstream: Running, log?: boolean): Promise<Running>
  gateway(options: Gateway): Promise<RunningGateway>
  /** Any other server, on the tested core. */
  server(command: readonly string[], port: number): Promise<Running>
  /** An empty folder. */
  folder(name: string): string
  stop(): Promise<void>
}

export interface NginxQuota {
  readonly upstream: Running
  readonly redis: Running
  /** Whether each request gets a line in a file. Default no. */
  readonly log?: boolean
  /** File with one line for each user: its id, a space, its credential. */
  readonly known: string
  /** Default as many connections as the load has. */
  readonly limits?: NginxLimits
}

export interface Gateway {
  readonly upstream: Running
  /** Redis, or the URL of a store. */
  readonly store: Running | string
  /** Whether each request gets a line in a file. Default no. */
  readonly log?: boolean
  /** Replaces whole sections of the configuration. */
  readonly change?: object
  /** More options of Node, for example `--cpu-prof`. */
  readonly flags?: readonly string[]
  /** Default the tested core. */
  readonly cores?: string
  /** Whether to start the result of `npm run build` with the settings of the image, instead of the source. Default no. */
  readonly built?: boolean
  /** Folder of another checkout whose gateway is started. Default this one. */
  readonly checkout?: string
}

export function createStage(parent: string): Stage {
  const started: Server[] = []
  let folders = 0
  let compiled: string | undefined

  function folder(name: string): string {
    const path = join(parent, `${name}-${++folders}`)
    mkdirSync(path)
    return path
  }

  async function start(command: readonly string[], cores: string, port: number, output: string): Promise<Running> {
    const server = await startServer(command, { cores, port, output: join(output, 'output') })
    started.push(server)
    return { ...server, port }
  }

  async function redis(): Promise<Running> {
    const own = folder('redis')
    const port = await freePort()
    const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', own]
    return start(['redis-server', ...options], TESTED_CORE, port, own)
  }

  async function startNginx(name: string, cores: string, configOf: (port: number, folder: string) => string) {
    const own = folder(name)
    const port = await freePort()
    const config = join(own, 'nginx.conf')
    writeFileSync(config, configOf(port, own))
    return start(['nginx', '-p', own, '-e', 'stderr', '-c', config, '-g', 'daemon off;'], cores, port, own)
  }

  function nginx({ upstream, redis, known, log, limits }: NginxQuota): Promise<Running> {
    return startNginx('nginx', TESTED_CORE, (port, own) =>
      quotaConfig({
        port,
        upstream: upstream.port,
        redis: redis.port,
        users: known,
        accessLog: log ? join(own, 'access.log') : null,
        limits: limits ?? null,
      }),
    )
  }

  async function httpProxy(upstream: Running, log = false): Promise<Running> {
    const own = folder('http-proxy')
    const port = await freePort()
    const command = [process.execPath, file('http-proxy.ts'), `${port}`, `${upstream.port}`]
    return start(log ? [...command, join(own, 'access.log')] : command, TESTED_CORE, port, own)
  }

  async function gateway({
    cores = TESTED_CORE,
    flags = [],
    built,
    checkout,
    ...options
  }: Gateway): Promise<RunningGateway> {
    const own = folder('gateway')
    const [port, admin] = [await freePort(), await freePort()]
    const config = join(own, 'tollgate.yaml')
    const write = (change?: object): string =>
      writeConfiguration(config, gatewayConfig(port, admin, { ...options, ...(change && { change }) }), checkout)
    write()
    const main = join(checkout ?? file('..'), built ? BUILT : 'src/main.ts')
    if (built) compiled ??= folder('compiled')
    const node = compiled !== undefined && built ? nodeOfTheImage(compiled) : [process.execPath]
    const running = await start([...node, ...flags, main, 'serve', '-c', config], cores, port, own)
    const reconfigure = (change: object): Promise<void> => taken(write(change), join(own, 'output'))
    return { ...running, admin, reconfigure }
  }

  return {
    redis,
    upstream: (files = []) =>
      startNginx('backend', LOADING_CORE, (port, own) => {
        mkdirSync(join(own, 'files'))
        for (const { file, bytes } of files) writeFileSync(join(own, 'files', file), Buffer.alloc(bytes, 'x'))
        return upstreamConfig(port, own)
      }),
    nginx,
    httpProxy,
    gateway,
    server: (command, port) => start(command, TESTED_CORE, port, folder('server')),
    folder,
    stop: async () => {
      await Promise.all(started.map((server) => server.stop()))
    },
  }
}

/** Resolves when the log reports that a configuration is in force. A line that names a worker is about that worker alone. */
function taken(text: string, log: string): Promise<void> {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  const line = new RegExp(`^(?!.*"worker").*"hash":"${hash}".*"configuration loaded"`, 'm')
  return until(async () => {
    if (!line.test(readFileSync(log, 'utf8'))) throw new Error('the configuration was not taken')
  }, TAKEN_TRIES)
}

/**
 * Writes a file for the gateway of a checkout. Keys that are left out are reported, because they may be the reason for a
 * lower cost.
 * @returns its text
 */
function writeConfiguration(file: string, wanted: object, checkout?: string): string {
  const { fitting, left } = checkout === undefined ? { fitting: wanted, left: [] } : configurationFor(checkout, wanted)
  if (left.length > 0) process.stderr.write(`bench: the other checkout does not know ${left.join(', ')}\n`)
  const text = JSON.stringify(fitting)
  writeFileSync(file, text)
  return text
}

export async function offAndOn(start: (log: boolean) => Promise<Running>): Promise<Pair> {
  return { off: await start(false), on: await start(true) }
}

/** In the background Redis moves a table that has grown, and frees buffers of its clients. */
const SETTLE_MS = 3000

/** The memory that Redis uses when it has come to rest, in bytes. */
export async function usedMemory({ port }: Running): Promise<number> {
  await sleep(SETTLE_MS)
  return Number(/^used_memory:(\d+)/m.exec(askRedis(port, 'INFO', 'memory'))?.[1])
}

export function askRedis(port: number, ...command: string[]): string {
  return execFileSync('redis-cli', ['-h', '127.0.0.1', '-p', `${port}`, ...command], { encoding: 'utf8' })
}

/** The issuers that the gateway accepts. */
export const ISSUERS = [{ issuer: ISSUER, audience: AUDIENCE, secret: SECRET, algorithms: ['HS256'] }]

/** The windows of every limit. */
export const windows = (limit: number) => ({ '1h': limit, '5h': limit, '1d': limit })
/** A limit above what a run uses. It is below 2^30 as real limits are, because larger numbers cost V8 more to write. */
export const PLENTY = 1e9

/** Keys that are not set keep their default. JSON is YAML. */
function gatewayConfig(
  port: number,
  admin: number,
  { upstream, store, log, change }: Pick<Gateway, 'upstream' | 'store' | 'log' | 'change'>,
) {
  const plenty = windows(PLENTY)
  return {
    listen: `127.0.0.1:${port}`,
    upstream: { url: `http://127.0.0.1:${upstream.port}` },
    store: typeof store === 'string' ? store : `redis://127.0.0.1:${store.port}`,
    // A machine that is busy elsewhere must not turn charges into refusals.
    store_options: { deadline: '2s' },
    admin: { listen: `127.0.0.1:${admin}` },
    auth: { jwt: ISSUERS },
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
      { match: 'GET /files/:name', category: 'read', cost: 1 },
      { match: 'POST /upload', category: 'read', cost: 1 },
    ],
    log: { requests: log ? 'all' : 'none' },
    // The load is one address and stands for many.
    edge: { max_connections_per_address: 'none', shares: { address: 'none' } },
    ...change,
  }
}

/** Node as in the image, except for the bound of the heap, with a folder of compiled code that the first start fills. */
function nodeOfTheImage(compiled: string): string[] {
  const settings = ['NODE_ENV=production', 'NODE_OPTIONS=--max-semi-space-size=4', `NODE_COMPILE_CACHE=${compiled}`]
  return ['env', ...settings, process.execPath, '--min-semi-space-size=4']
}
