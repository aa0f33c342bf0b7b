import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atEnd } from './at-end.ts'
import type { WallClock } from './wall-clock.ts'

/** A real redis-server of our own on a free port of the loopback, with nothing on disk. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Of the process that runs, or ran last. */
  readonly pid: number
  /** Ends the process with a signal and waits for it. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** After `kill`: starts it again on the same port with the same files, and for this time with more arguments. */
  restart(args?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/**
 * A Redis to share with others: that of `REDIS_URL` where it is given, or one of our own. A test that stops its server or
 * looks at all keys starts one of its own.
 */
export async function sharedRedis(): Promise<{ url: string; prefix: string; stop(): Promise<void> }> {
  const prefix = `test-${randomUUID()}`
  const url = process.env.REDIS_URL
  if (url !== undefined) return { url, prefix, stop: async () => {} }
  const own = await startRedis()
  return { url: own.url, prefix, stop: () => own.stop() }
}

const given = new Set<number>()

/** Below those that Linux gives to connections and to port 0, one of which would take it before it is used. */
const FIRST = 10_000
const LAST = 32_000
/**
 * Files of tests that run at once draw from ports of their own. What is given is listened on a second later, when a gateway
 * has started, or not at all, where a Redis is killed: to the others it is free, and the one that comes second would talk to
 * the Redis of the first.
 */
const LANES = 8
const LANE = Number(process.env.VITEST_POOL_ID ?? 0) % LANES
const drawn = (): number => randomInt(FIRST / LANES, LAST / LANES) * LANES + LANE

/** A port that nobody listens on; none is given twice. `draw` names the next one to try. */
export async function freePort(draw = drawn): Promise<number> {
  for (;;) {
    const port = draw()
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/**
 * Arguments of a Redis whose file has every write before its reply goes out, so that one that is killed comes back with
 * all that it acknowledged. It waits for no disk, which only a machine without power needs and which takes its time where
 * many share it.
 */
export const PERSISTENT: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'no']

/** Arguments of a Redis of which gateways warn, as it keeps nothing on disk. */
export const FORGETFUL: readonly string[] = ['--save', '']

export interface RedisOptions {
  readonly port?: number
  readonly args?: readonly string[]
  /** Whose time it takes for that of the machine. */
  readonly clock?: Pick<WallClock, 'env'>
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  // Before anything is waited for: a server that is started where tests are collected is ready while some test runs, and is not that test's.
  let end = async (): Promise<void> => {}
  const stop = atEnd(() => end())
  const port = options.port ?? (await freePort())
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-redis-'))
  // A save point, as Redis has by default, so that no gateway warns of it. Nothing is saved that soon, nor at its end.
  const saving = ['--save', '3600 1', '--shutdown-on-sigterm', 'nosave']
  const args = ['--port', String(port), '--bind', '127.0.0.1', ...saving, '--appendonly', 'no', '--dir', folder]
  // By itself a cluster would take the port 10,000 above its own for its bus, which may be another's.
  if (options.args?.includes('--cluster-enabled')) args.push('--cluster-port', String(await freePort()))
  const env = { ...process.env, ...options.clock?.env }
  let child: ChildProcess
  let exited: Promise<unknown>
  async function start(more: readonly string[] = []): Promise<void> {
    child = spawn('redis-server', [...args, ...(options.args ?? []), ...more], { stdio: 'ignore', env })
    exited = once(child, 'exit')
    await accepting(port, child)
  }
  async function kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    child.kill(signal)
    await exited
  }
  await start()
  end = async () => {
    if (child.exitCode === null && child.signalCode === null) await kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? 0
    },
    kill,
    restart: start,
    stop,
  }
}

async function accepting(port: number, child: { exitCode: number | null }): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`)
    if (await accepts(port)) return
    await sleep(25)
  }
  throw new Error(`redis-server did not listen on ${port}`)
}

/** Whether somebody listens on a port of the loopback. */
export async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1')
  const connected = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  return connected
}
