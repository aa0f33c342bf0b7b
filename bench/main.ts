import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CpuRows, cpuFigures, median } from './figures.ts'
import { latencyFigure, measureLatency } from './latency.ts'
import { describeMachine, ensurePackages } from './machine.ts'
import { measureMemory } from './memory.ts'
import { HELP, type Options, optionsOf } from './options.ts'
import { endAll } from './processes.ts'
import { report, writeInto } from './report.ts'
import { measureRounds, type Row } from './rows.ts'
import { type Running, startBackend, startGateway, startHttpProxy, startNginxQuota, startRedis } from './servers.ts'
import { type UserFiles, writeUsers } from './users.ts'

/** `npm run bench`: what a request costs, side by side in one run. docs/benchmarks.md tells how to read it. */

interface Servers {
  readonly redis: Running
  readonly backend: Running
  readonly httpProxy: Running
  readonly gateway: Pair
  readonly nginx: Pair
}

/** The same server without and with its access log. */
interface Pair {
  readonly off: Running
  readonly on: Running
}

async function startAll(folder: string, users: UserFiles, started: Running[]): Promise<Servers> {
  const keep = async (server: Promise<Running>): Promise<Running> => {
    const running = await server
    started.push(running)
    return running
  }
  const redis = await keep(startRedis(folder))
  const backend = await keep(startBackend(folder))
  const ports = { redis: redis.port, backend: backend.port }
  const both = async (start: (log: boolean) => Promise<Running>): Promise<Pair> => ({
    off: await keep(start(false)),
    on: await keep(start(true)),
  })
  return {
    redis,
    backend,
    httpProxy: await keep(startHttpProxy(folder, backend.port)),
    gateway: await both((log) => startGateway(folder, { ...ports, log })),
    nginx: await both((log) => startNginxQuota(folder, { ...ports, log }, users.known)),
  }
}

interface Rows {
  readonly off: CpuRows
  readonly on: CpuRows
  readonly httpProxy: Row
}

function rowsOf({ gateway, nginx, httpProxy }: Servers, credentials: string): Rows {
  const row = (name: string, server: Running, path: string, log: boolean): Row => {
    const target = { port: server.port, path, credentials }
    return { name, log, server, target, refused: path === '/spent' }
  }
  const rows = (log: boolean, [ours, theirs]: [Running, Running]): CpuRows => ({
    refused: row('gateway, refusal (429)', ours, '/spent', log),
    forward: row('gateway, bare forward', ours, '/public', log),
    accepted: row('gateway, accepted charge', ours, '/read', log),
    nginx: row('nginx + Lua, accepted charge', theirs, '/read', log),
  })
  return {
    off: rows(false, [gateway.off, nginx.off]),
    on: rows(true, [gateway.on, nginx.on]),
    httpProxy: row('http-proxy-3, no quota', httpProxy, '/public', false),
  }
}

async function measureAll(servers: Servers, users: UserFiles, { rounds, seconds }: Options): Promise<string> {
  const machine = describeMachine()
  const { off, on, httpProxy } = rowsOf(servers, users.loading)
  // Rows that are compared stand next to each other.
  const rows = [...Object.values(off), httpProxy, ...Object.values(on)]
  const samples = await measureRounds(rows, servers.redis, rounds, seconds)

  const saturation = median((samples.get(on.accepted) ?? []).map(({ rate }) => rate))
  const through = on.accepted.target
  const targets = { gateway: through, direct: { ...through, port: servers.backend.port } }
  const latency = await measureLatency(targets, Math.round(saturation / 2), rounds, seconds)

  const each = { ...off.accepted.target, credentials: users.all }
  const memory = await measureMemory(servers.redis.port, each, { ...each, path: '/write' })
  const cpu = [off, on].flatMap((group) => cpuFigures(group, httpProxy, samples))
  return report({ machine, rounds, seconds, samples, latency, figures: [...cpu, latencyFigure(latency), ...memory] })
}

async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2))
  if (options === null) return console.log(HELP)
  ensurePackages()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const started: Running[] = []
  try {
    const users = writeUsers(folder)
    const text = await measureAll(await startAll(folder, users, started), users, options)
    console.log(text)
    if (options.write) writeInto(new URL('../docs/benchmarks.md', import.meta.url), text)
  } finally {
    await Promise.all(started.map((server) => server.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

// The measurement under way then fails, and everything is cleaned up as after any failure. A second signal ends at once.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, endAll)

try {
  await main()
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
