import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseDocument } from 'yaml'
import { SECRET } from '../e2e/harness.ts'
import { type GatewayProcess, spawnGateway } from '../e2e/process.ts'
import { freePort, sharedRedis } from '../setup/redis.ts'
import { ask } from './ask.ts'
import { credentialOf } from './credential.ts'
import { placed } from './deciding.ts'
import { blockOf, HOST } from './page.ts'
import type { AskingProxy } from './proxies.ts'
import { type Recorder, startRecorder } from './upstream.ts'

/** A proxy of a page, with its log, before a service that keeps what it got, and with a gateway that can be killed. */
export interface Agreement {
  readonly upstream: Recorder
  /** The port of the proxy. */
  readonly port: number
  /** Where the gateway itself serves clients. */
  readonly gateway: number
  /** The file of the log of the proxy, complete once it has stopped. */
  readonly log: string
  killGateway(): Promise<void>
  startGateway(): Promise<void>
  stopProxy(): Promise<void>
  /** The lines that the gateways have written of requests. */
  lines(): Record<string, unknown>[]
  stop(): Promise<void>
}

const ENV = { JWT_SECRET: SECRET, TOLLGATE_ADMIN_TOKEN: 'admin-token-of-the-guides-0000000' }

/** Tokens of each user by category, in an hour and in a day. */
type Limits = Readonly<Record<string, number>>

/** What differs from the page. */
export interface Changes {
  /** Of the configuration, by path. */
  readonly also?: readonly (readonly [path: readonly string[], value: unknown])[]
  /** Of the file of the proxy. */
  readonly file?: ((text: string) => string) | undefined
}

export async function startAgreement(
  page: AskingProxy,
  limits: Limits,
  { also: more = [], file = (text) => text }: Changes = {},
): Promise<Agreement> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-agreement-'))
  const [upstream, redis] = [await startRecorder(), await sharedRedis()]
  const [gateway, decisions, admin] = [await freePort(), await freePort(), await freePort()]
  const config = join(folder, 'tollgate.yaml')
  const document = parseDocument(blockOf(page.page, 'yaml'))
  const also: (readonly [path: readonly string[], value: unknown])[] = [
    [['listen'], `127.0.0.1:${gateway}`],
    [['decisions', 'listen'], `127.0.0.1:${decisions}`],
    [['admin', 'listen'], `127.0.0.1:${admin}`],
    [['upstream', 'url'], `http://127.0.0.1:${upstream.port}`],
    [['store'], redis.url],
    [['store_options', 'prefix'], redis.prefix],
    [['quota', 'shadow'], false],
    [['log'], { requests: 'all' }],
    // One address stands for many clients.
    [['edge', 'shares'], { address: 'none' }],
    ...more,
  ]
  for (const [path, value] of also) document.setIn(path, document.createNode(value))
  for (const [category, limit] of Object.entries(limits)) {
    document.setIn(['quota', 'baselines', 'personal', category], document.createNode({ '1h': limit, '1d': limit }))
  }
  document.addIn(['routes'], document.createNode(RETRIED))
  document.addIn(['routes'], document.createNode(PRICED))
  writeFileSync(config, document.toString())
  const processes: GatewayProcess[] = []
  const startGateway = async () => {
    processes.push(await spawnGateway(config, `http://127.0.0.1:${gateway}/me/quota`, ENV))
  }
  await startGateway()
  const log = join(folder, 'access.log')
  const text = placed(file(page.file()), { service: upstream.port, decisions, gateway })
  const proxy = await page.start(text, log)
  let stopped: Promise<void> | null = null
  const stopProxy = () => (stopped ??= proxy.stop())
  return {
    ...{ upstream, port: proxy.port, gateway, log, startGateway, stopProxy },
    killGateway: async () => {
      await processes.at(-1)?.end('SIGKILL')
    },
    lines: () => processes.flatMap((each) => each.lines()).filter(({ msg }) => msg === 'request'),
    async stop() {
      await stopProxy()
      for (const { child, end } of processes)
        if (child.exitCode === null && child.signalCode === null) await end('SIGTERM')
      await upstream.stop()
      await redis.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

/** What a client may send again. */
const RETRIED = {
  ...{ match: 'PUT /v1/orders/:id', category: 'write', cost: 3 },
  idempotency: { header: 'Idempotency-Key', replays: 100 },
}

/** What costs by its body. */
const PRICED = {
  ...{ match: 'POST /v1/priced', category: 'write' },
  cost: { body: 'n', values: { 1: 9 }, otherwise: 2 },
}

/** Tokens that a user has taken in this hour, by category. */
export async function usedBy(gateway: number, user: string): Promise<Record<string, number>> {
  const headers = { authorization: credentialOf(user) }
  const { text } = await ask({ port: gateway, origin: `http://${HOST}` }, { path: '/me/quota', headers })
  const { windows } = JSON.parse(text) as { windows: Record<string, { window: string; used: number }[]> }
  const hours = Object.entries(windows).map(([category, all]) => [
    category,
    all.find(({ window }) => window === '1h')?.used ?? 0,
  ])
  return Object.fromEntries(hours)
}

/** Runs something for each number below `count`, so many at a time. */
export async function inParallel(count: number, lanes: number, run: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) await run(next++)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
}

/** @returns the status; 0 where the connection ended without one */
export function send(agent: http.Agent, port: number, { method, path, headers }: Sent): Promise<number> {
  return new Promise((resolve) => {
    const request = http.request({ host: '127.0.0.1', port, agent, method, path, headers: { host: HOST, ...headers } })
    request.on('response', (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', () => resolve(0))
    })
    request.on('error', () => resolve(0))
    request.end(method === 'POST' || method === 'PUT' ? '{"n":1}' : undefined)
  })
}
