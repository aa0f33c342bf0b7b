import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAdmin } from './admin/listener.ts'
import type { Config, StoreConfig } from './config/config.ts'
import { adaptiveFactor } from './failures/adaptive.ts'
import { createGateway } from './gateway/gateway.ts'
import { createListener } from './gateway/listener.ts'
import { fanOut } from './observe/fan-out.ts'
import { createLog } from './observe/log.ts'
import { createMetrics } from './observe/metrics.ts'
import type { Observer } from './observe/observation.ts'
import { createTallyKeeper } from './observe/tally.ts'
import { createParts, retire, same } from './parts.ts'
import { createLedger } from './quota/ledger.ts'
import { openRedisStore } from './store/redis/store.ts'
import { openSqliteStore } from './store/sqlite/store.ts'
import type { Store } from './store/store.ts'

/** A running gateway, made of one configuration; the only place that chooses implementations. */
export interface App {
  /** Opens both listeners. @returns their URLs */
  start(): Promise<{ gateway: string; admin: string }>
  /**
   * Puts another configuration in force: whole, from one request to the next. Counters stay.
   * What cannot change in a running process is told as a warning and waits for a restart.
   * @throws Error when a part cannot be made (a key set file, a certificate); the old configuration then stays
   */
  reload(config: Config, hash: string): Promise<void>
  /** Tells that a configuration was not taken. */
  reject(file: string, problems: readonly string[]): void
  /** Lets requests finish, settles what was charged, closes everything. */
  stop(): Promise<void>
}

export interface AppOptions {
  readonly config: Config
  /** Of the configuration's text: replicas that disagree show different ones. */
  readonly hash: string
  readonly version: string
  /** One more reader of the observations, for tests. */
  readonly observe?: Observer
}

export async function createApp({ config, hash, version, observe: also }: AppOptions): Promise<App> {
  const log = createLog(config.log)
  const metrics = createMetrics({
    version,
    gauges: [
      {
        name: 'inflight_requests',
        help: 'Requests and tunnels under way.',
        read: () => gateway.inFlight(),
      },
    ],
  })
  // Declared before the store is opened: it may connect while the parts are still being made.
  let storeAnswers = false
  let tally: ReturnType<typeof createTallyKeeper> | undefined
  const observe = fanOut([
    log.observer,
    metrics.observer,
    (observation) => tally?.observer(observation),
    ({ type }) => {
      if (type === 'store_connected') void checkStore()
    },
    ...(also === undefined ? [] : [also]),
  ])
  const store = openStore(config.store, observe)
  tally = createTallyKeeper({ store, observe })
  const ledger = createLedger({
    store,
    instance: randomBytes(12).toString('base64url'),
    deadlineMs: config.store.deadlineMs,
    observe,
  })
  let current = await createParts(config, null, store, observe).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  const gateway = createGateway({ rules: () => current.rules, ledger, store, observe })
  const listener = createListener({
    listen: config.listen,
    gateway,
    observe,
    maxHeaderSize: config.edge.maxHeaderSize,
    headersTimeoutMs: config.edge.headersTimeoutMs,
    keepAliveTimeoutMs: config.edge.keepAliveTimeoutMs,
    idleTimeoutMs: idleTimeoutOf(config),
    maxConnections: config.edge.maxConnections,
  })
  const state = { started: false, draining: false }
  const admin = createAdmin({
    listen: config.admin.listen,
    token: config.admin.token,
    live: () => true,
    ready,
    metrics,
    failures: () => store.readTallies(),
    tokens: store,
    now: Date.now,
    observe,
    drain,
  })
  const timers = [setInterval(checkStore, 1000).unref(), setInterval(adapt, ADAPT_MS).unref()]

  async function checkStore(): Promise<void> {
    storeAnswers = await store.ping().then(
      () => true,
      () => false,
    )
  }

  /** A Redis store connects in the background: who comes first shall not be refused for that. */
  async function storeOrPatience(): Promise<void> {
    for (let tries = 0; tries < START_TRIES && !storeAnswers; tries++) {
      await checkStore()
      if (!storeAnswers) await sleep(START_PAUSE_MS)
    }
  }

  /** Mode `adaptive`: the same histogram gives every replica the same factor. Without the store the last one stays. */
  async function adapt(): Promise<void> {
    if (current.config.quota.mode !== 'adaptive') return
    const history = await store.readTallies().catch(() => null)
    if (history !== null) current.adapt(adaptiveFactor(history.buckets, history.at))
  }

  function ready(): { ready: boolean; reasons: string[] } {
    const reasons = [
      ...(state.started ? [] : ['starting']),
      ...(state.draining ? ['draining'] : []),
      ...(storeAnswers ? [] : ['the quota store does not answer']),
    ]
    return { ready: reasons.length === 0, reasons }
  }

  async function start(): Promise<{ gateway: string; admin: string }> {
    await storeOrPatience()
    await adapt()
    const { url } = await admin.listen().catch(addressProblem('admin.listen'))
    observe({ type: 'listening', what: 'admin', url })
    const started = { admin: url, gateway: await listener.start().catch(addressProblem('listen')) }
    state.started = true
    observe({ type: 'config_loaded', file: config.file, hash })
    return started
  }

  async function reload(next: Config, nextHash: string): Promise<void> {
    const parts = await createParts(next, current, store, observe)
    for (const problem of needRestart(config, next)) observe({ type: 'config_warning', file: next.file, problem })
    const old = current
    current = parts
    listener.setIdleTimeout(idleTimeoutOf(next))
    await adapt()
    retire(old, parts)
    observe({ type: 'config_loaded', file: next.file, hash: nextHash })
  }

  function drain(): void {
    state.draining = true
    listener.drain()
  }

  async function stop(): Promise<void> {
    if (state.started) drain()
    const { delayMs, timeoutMs } = current.config.drain
    // Load balancers need a moment to see that we are not ready.
    if (state.started && delayMs > 0) await sleep(delayMs)
    if (state.started) await listener.stop(timeoutMs)
    await current.forwarder.destroy()
    await ledger.close(2 * config.store.deadlineMs)
    await tally?.close()
    timers.forEach(clearInterval)
    current.authenticator.close()
    await admin.close()
    await store.close()
    observe({ type: 'stopped' })
    await log.close()
  }

  return {
    start,
    reload,
    stop,
    reject: (file, problems) => observe({ type: 'config_rejected', file, problems }),
  }
}

const ADAPT_MS = 10_000
/** About a second in all, after which the gateway starts without its store. */
const START_TRIES = 40
const START_PAUSE_MS = 25

function addressProblem(key: string): (error: Error) => never {
  return (cause) => {
    throw new Error(`${key}: ${cause.message}: choose an address of this machine whose port is free`, { cause })
  }
}

/** Longer than the backend may keep a client waiting: for a connection, its opening, the answer, the next piece of it. */
function idleTimeoutOf({ upstream }: Config): number {
  const { connectTimeoutMs, responseTimeoutMs, idleTimeoutMs } = upstream
  return Math.max(connectTimeoutMs + 2 * responseTimeoutMs, idleTimeoutMs) + 10_000
}

export function openStore({ location, prefix, deadlineMs }: StoreConfig, observe: Observer): Store {
  if (location.kind === 'redis') return openRedisStore({ url: location.url, prefix, deadlineMs, observe })
  try {
    return openSqliteStore({ file: location.path })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const cure = 'name a file in a folder that exists and can be written, or a database that Tollgate made'
    throw new Error(`store: cannot open ${location.path} (${why}): ${cure}`, { cause })
  }
}

const NEEDS_RESTART = ['listen', 'store', 'admin', 'log'] as const

/** Of `edge`: what the listener was opened with. */
const EDGE_NEEDS_RESTART = ['maxHeaderSize', 'headersTimeoutMs', 'keepAliveTimeoutMs', 'maxConnections'] as const

function needRestart(running: Config, next: Config): string[] {
  const sections = NEEDS_RESTART.filter((key) => !same(running[key], next[key]))
  const edge = EDGE_NEEDS_RESTART.some((key) => running.edge[key] !== next.edge[key])
  return [...sections, ...(edge ? ['edge (limits of connections and heads)'] : [])].map(
    (what) => `${what}: this change takes effect at the next restart`,
  )
}
