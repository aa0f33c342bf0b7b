import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { fingerprint } from '../config/fingerprint.ts'
import { emptiedBy } from '../control/control-store.ts'
import type { ControlKeeper } from '../control/keeper.ts'
import { type ConnectionLimits, createListener, type Listener } from '../edge/listener.ts'
import { createShares, type Shares } from '../edge/shares.ts'
import type { Adaptive } from '../failures/adaptive.ts'
import { createTallyKeeper } from '../failures/recorder.ts'
import { createLagMeter } from '../gateway/event-loop-lag.ts'
import { createGateway, type Gateway } from '../gateway/gateway.ts'
import { ONE_ADDRESS } from '../gateway/one-address.ts'
import type { Certificate } from '../lib/tls.ts'
import { letHeapGrow } from '../node/heap.ts'
import type { GaugeSource } from '../observe/metrics.ts'
import type { Observer } from '../observe/observation.ts'
import { createLedger } from '../quota/ledger/ledger.ts'
import { isSilence, StoreError, type StoreFailure } from '../quota/quota-store.ts'
import { createHeartbeat } from '../replicas/heartbeat.ts'
import type { Store } from '../store/store.ts'
import { openCertificate } from './certificate.ts'
import { restingChanges } from './limits-in-force.ts'
import { createFollowing } from './live-policy.ts'
import { openFilesProblem } from './open-files.ts'
import { createParts, type Parts, retire } from './runtime.ts'
import { createScarcity } from './scarcity.ts'
import { SetupError } from './setup-error.ts'
import { createStoreClock } from './store-clock.ts'
import type { Observing } from './telemetry.ts'

/** The part of the gateway that takes requests: its listener, its ledger, and the parts of one configuration. */
export interface Serving {
  /**
   * Opens the listener. @returns its URL
   * @param problems why the last configuration file was not taken, if it is not the one that this began with
   */
  start(problems?: readonly string[]): Promise<string>
  /** Does nothing from `stop` on. @throws Error when a part cannot be made; the old configuration then stays */
  reload(config: Config, hash: string): Promise<void>
  /** A configuration file was not taken, by the process that reads it for this one. */
  rejected(problems: readonly string[]): void
  /** The configuration in force. */
  configuration(): Config
  /** Follows what administrators change at run time, between `start` and `stop`. */
  readonly control: ControlKeeper
  /** The adaptive factor that it goes by, and why; in every mode. */
  adaptive(): Adaptive
  /** @param startup where it is only asked whether it has begun, as a new process would lack the store too */
  ready(startup?: boolean): Readiness
  /** Whether the store takes no charges, or does not answer who asks it every second. */
  lacksStore(): boolean
  inFlight(): number
  readonly drain: Drain
  /**
   * Lets requests finish, settles what was charged, closes everything but the store.
   * @param limits instead of those of the configuration
   */
  stop(limits?: Config['drain']): Promise<void>
}

/** Takes a gateway out of service and back: while it drains it is not ready, and every response closes its connection. */
export interface Drain {
  isOn(): boolean
  /** One that stops drains to its end. */
  turn(on: boolean): void
}

export interface Readiness {
  readonly ready: boolean
  /** Why not, or where it is ready all the same: what is missing. */
  readonly reasons: string[]
}

export interface ServingOptions {
  readonly config: Config
  readonly hash: string
  /** Of Tollgate. */
  readonly version: string
  readonly store: Store
  readonly observing: Pick<Observing, 'observe' | 'follow'>
}

const FULL = 'all connections to the backend are taken: requests wait for one, or have waited in vain'

const LATE = 'the event loop is lastingly late (edge.max_lag): requests are refused'

/** Begins the reason of a process that lacks its store. */
const STORE = 'the quota store'

/** Whether a reason of `Readiness` is that the store is lacking. */
export function isOfStore(reason: string): boolean {
  return reason.startsWith(STORE)
}

/** @throws Error when a part of the configuration cannot be made */
export async function createServing(options: ServingOptions): Promise<Serving> {
  const { config, version, store, observing } = options
  const { observe, follow } = observing
  letHeapGrow()
  const instance = randomBytes(12).toString('base64url')
  // Before anybody follows: a store that connects while the parts are made is reported at once.
  const state = { started: false, draining: false, stopping: false, hash: options.hash }
  const certificate = config.tls === null ? null : openCertificate(config.tls, 'gateway', observe)
  const health = watchStore(store, follow)
  const tally = createTallyKeeper({ store, observe })
  follow(tally.observer)
  const ledger = createLedger({
    store,
    instance,
    deadlineMs: config.store.deadlineMs,
    outageShare: (category) => outageShareOf(current.config, category),
    observe,
  })
  follow(({ type }) => {
    if (type === 'store_connected' && state.started) void ledger.ask()
  })
  const following = createFollowing({
    store,
    observe,
    current: () => ({
      quota: current.config.quota,
      enforcement: current.enforcement,
      gatewayTokens: current.config.auth.gatewayTokens,
    }),
  })
  const { control, accessKeys } = following
  let current = await createParts(config, null, accessKeys, observe).catch(async (error: unknown) => {
    certificate?.close()
    health.stop()
    await tally.close()
    throw error
  })
  const lag = createLagMeter()
  const scarcity = createScarcity()
  follow(scarcity.observer)
  const shares = createShares()
  const gateway = createGateway({ rules: () => current.rules, ledger, store, observe, lag: lag.lasting, shares })
  const listener = openListener({ config, certificate, gateway, observe, shares, current: () => current })
  control.followChanges((change) => {
    const emptied = emptiedBy(change, current.config.quota.windows)
    if (emptied !== null) ledger.emptied(emptied.category, emptied.seconds)
  })
  const heartbeat = createHeartbeat({
    store,
    instance,
    version,
    state: () => ({
      hash: fingerprint(current.config),
      controlVersion: control.state().version,
      ...noticed(ready()),
      inFlight: gateway.inFlight(),
    }),
  })
  follow(heartbeat.observer)
  const storeClock = createStoreClock({ store, observe })

  async function start(problems: readonly string[] = []): Promise<string> {
    await health.patience()
    await following.start()
    const url = await listener.start().catch(addressProblem('listen'))
    reportLoaded()
    // A store that answers may take no charges all the same: that is not for the first client to find out.
    if (health.failure() === null) await ledger.ask()
    state.started = true
    // After what was just reported, which would take them for mended.
    heartbeat.configProblems(problems)
    heartbeat.start()
    storeClock.start()
    return url
  }

  function reportLoaded(): void {
    const { file, quota } = current.config
    const shares = [...quota.storeOutage.keys()].map((it) => [it, outageShareOf(current.config, it)] as const)
    const rules = fingerprint(current.config)
    observe({ type: 'config_loaded', file, hash: state.hash, rules, storeOutage: new Map(shares) })
    const tooFew = openFilesProblem(current.config)
    const warnings = [...(tooFew === null ? [] : [tooFew]), ...restingChanges(quota, control.state())]
    for (const problem of warnings) observe({ type: 'config_warning', file, problem })
  }

  function ready(startup = false): Readiness {
    const reasons = [...(state.started ? [] : ['starting']), ...(state.draining ? ['draining'] : [])]
    const failure = storeFailure()
    if (failure === null) return { ready: reasons.length === 0, reasons: [...reasons, ...lacking()] }
    return {
      ready: reasons.length === 0 && (startup || admitsAlone()),
      reasons: [...reasons, reasonOf(failure), ...lacking()],
    }
  }

  /** For want of what requests wait or are refused. Other processes may lack the same, so this one stays ready. */
  function lacking(): string[] {
    const { forwarder, rules } = current
    return [
      ...(forwarder.isFull() ? [FULL] : []),
      ...(lag.lasting() > rules.maxLagMs ? [LATE] : []),
      ...scarcity.reasons(),
    ]
  }

  /** With what only administrators need to know. */
  function noticed({ ready, reasons }: Readiness): Readiness {
    const address = gateway.oneAddress()
    return { ready, reasons: address === null ? reasons : [...reasons, `${address}: ${ONE_ADDRESS}`] }
  }

  function storeFailure(): StoreFailure | null {
    return health.failure() ?? ledger.outage()
  }

  /** With a share to admit while the store is out there is work for us: every replica has lost the same store. */
  function admitsAlone(): boolean {
    return [...current.config.quota.storeOutage.values()].some((share) => share > 0)
  }

  async function reload(next: Config, nextHash: string): Promise<void> {
    if (state.stopping) return
    const parts = await createParts(next, current, accessKeys, observe)
    // Nobody would end what they ask for: an identity provider may keep that waiting, and the process with it.
    if (state.stopping) return retire(parts, current)
    following.bring(parts.enforcement)
    const old = current
    current = parts
    state.hash = nextHash
    listener.setIdleTimeout(idleTimeoutOf(next))
    await following.adapt()
    retire(old, parts)
    reportLoaded()
  }

  function drain(on: boolean): void {
    state.draining = on
    listener.drain(on)
  }

  async function stop({ delayMs, timeoutMs } = current.config.drain): Promise<void> {
    state.stopping = true
    if (state.started) {
      drain(true)
      // Load balancers need a moment to see that we are not ready.
      if (delayMs > 0) await sleep(delayMs)
      await listener.stop(timeoutMs)
    }
    following.close()
    storeClock.stop()
    await current.forwarder.destroy()
    const graceMs = 2 * config.store.deadlineMs
    await Promise.all([heartbeat.leave(graceMs), ledger.close(graceMs)])
    await tally.close()
    certificate?.close()
    health.stop()
    lag.stop()
    current.authenticator.close()
  }

  return {
    start,
    reload,
    rejected: heartbeat.configProblems,
    configuration: () => current.config,
    control,
    adaptive: following.adaptive,
    ready,
    lacksStore: () => storeFailure() !== null,
    inFlight: () => gateway.inFlight(),
    drain: { isOn: () => state.draining, turn: (on) => state.stopping || drain(on) },
    stop,
  }
}

/** About a second in all, after which the gateway starts without its store. */
const START_TRIES = 40
const START_PAUSE_MS = 25
const CHECK_MS = 1000

/** A store that answers and takes no charges is reported as such: whoever looks at the store will find it well. */
function reasonOf(failure: StoreFailure): string {
  return isSilence(failure) ? `${STORE} does not answer` : `${STORE} takes no charges: ${failure}`
}

/** Why the store does not answer, `null` while it does: asked every second, and when it has connected. */
function watchStore(store: Pick<Store, 'ping'>, follow: Observing['follow']) {
  let failure: StoreFailure | null = 'connection'
  const timer = setInterval(check, CHECK_MS).unref()
  follow(({ type }) => {
    if (type === 'store_connected') void check()
  })

  async function check(): Promise<void> {
    failure = await store.ping().then(
      () => null,
      (error: unknown) => (error instanceof StoreError ? error.reason : 'other'),
    )
  }

  /** A Redis store connects in the background: who comes first shall not be refused for that. */
  async function patience(): Promise<void> {
    for (let tries = 0; tries < START_TRIES && failure !== null; tries++) {
      await check()
      if (failure !== null) await sleep(START_PAUSE_MS)
    }
  }

  return { failure: () => failure, patience, stop: () => clearInterval(timer) }
}

interface ListenerParts {
  readonly config: Config
  readonly certificate: Certificate | null
  readonly gateway: Gateway
  readonly observe: Observer
  readonly shares: Shares
  readonly current: () => Parts
}

function openListener({ config, certificate, gateway, observe, shares, current }: ListenerParts): Listener {
  const { maxHeaderSize, headersTimeoutMs, keepAliveTimeoutMs, maxConnections } = config.edge
  return createListener({
    listen: config.listen,
    certificate,
    gateway,
    observe,
    shares,
    maxHeaderSize,
    headersTimeoutMs,
    keepAliveTimeoutMs,
    idleTimeoutMs: idleTimeoutOf(config),
    maxConnections,
    limits: () => connectionLimits(current()),
  })
}

/** Longer than the upstream may keep a client waiting: for a connection, its opening, the answer, the next piece of it. */
function idleTimeoutOf({ upstream }: Config): number {
  const { connectTimeoutMs, responseTimeoutMs, idleTimeoutMs } = upstream
  return Math.max(connectTimeoutMs + 2 * responseTimeoutMs, idleTimeoutMs) + 10_000
}

function connectionLimits({ config: { edge }, rules, isProxy }: Parts): ConnectionLimits {
  return {
    shares: rules.shares,
    maxUrl: edge.maxUrl,
    isProxy,
    uploads: { minRate: edge.minUploadRate, graceMs: edge.uploadGraceMs },
    answersHalfClosed: edge.halfClose === 'answer',
  }
}

/** In an outage each worker admits on counters of its own: a part of what the gateway may. */
function outageShareOf({ quota, sharedBy = 1 }: Config, category: string): number {
  return (quota.storeOutage.get(category) ?? 0) / sharedBy
}

/** @param path the key that names the address which cannot be had @throws SetupError */
export function addressProblem(...path: readonly string[]): (error: Error) => never {
  return (cause: NodeJS.ErrnoException) => {
    const cure =
      cause.code === 'EACCES'
        ? 'choose a port from 1024 on, or give the gateway the right to lower ones (CAP_NET_BIND_SERVICE)'
        : 'choose an address of this machine whose port is free'
    throw new SetupError(path, `${cause.message}: ${cure}`, cause)
  }
}

/** Read by whoever scrapes, also before there is anything to read. */
export function servingGauges(serving: () => Pick<Serving, 'inFlight' | 'lacksStore'> | null): GaugeSource[] {
  return [
    {
      name: 'inflight_requests',
      help: 'Requests and tunnels under way.',
      read: () => serving()?.inFlight() ?? 0,
    },
    {
      name: 'store_silent',
      help: 'Processes that lack their store, as /readyz tells it: asked every second, also without charges.',
      read: () => (serving()?.lacksStore() ? 1 : 0),
    },
  ]
}
