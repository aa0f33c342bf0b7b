import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { fingerprint } from '../config/fingerprint.ts'
import type { ChangeFollower } from '../control/change-follower.ts'
import { emptiedBy } from '../control/control-store.ts'
import { storedOf } from '../control/state.ts'
import { idOf } from '../decisions/ids.ts'
import { createReceipts } from '../decisions/receipts.ts'
import type { Listener } from '../edge/listener.ts'
import { createShares } from '../edge/shares.ts'
import type { Adaptive } from '../failures/adaptive.ts'
import { createFailureRecorder, type FailureRecorder } from '../failures/recorder.ts'
import type { Decides } from '../gateway/context.ts'
import { createGateway, type Gateway } from '../gateway/gateway.ts'
import { createOwnUsage } from '../gateway/own-usage.ts'
import type { Rules } from '../gateway/snapshot.ts'
import type { EventLoopDelay } from '../lib/event-loop-delay.ts'
import type { Certificate } from '../lib/tls.ts'
import { letHeapGrow } from '../node/heap.ts'
import type { Observer, Witness } from '../observe/observation.ts'
import type { Calendar } from '../quota/calendar.ts'
import { KnownUsers } from '../quota/known-users.ts'
import { createLedger } from '../quota/ledger/ledger.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import { Memberships } from '../quota/memberships.ts'
import { createHeartbeat, type Heartbeat } from '../replicas/heartbeat.ts'
import type { Store } from '../store/store.ts'
import { createUsageRecorder, type UsageRecorder } from '../usage/recorder.ts'
import { type Alerts, createAlerts } from './alerts.ts'
import { openCertificate } from './certificate.ts'
import { openClientAuthorities } from './client-authorities.ts'
import { type CountedNotes, createCountedNotes } from './counted-notes.ts'
import { createFirstCharge, type FirstCharge } from './first-charge.ts'
import { createFirstCredentials, type FirstCredentials } from './first-credentials.ts'
import { addressProblem, idleTimeoutOf, openDecisionsListener, openGatewayListener } from './gateway-listener.ts'
import { limitLines } from './limit-lines.ts'
import { restingChanges } from './limits-in-force.ts'
import { createLivePolicy, type LivePolicy } from './live-policy.ts'
import { memoryProblem } from './memory-limit.ts'
import { openFilesProblem } from './open-files.ts'
import { admitsAlone, noticed, type Readiness, readinessOf, storeFailure } from './readiness.ts'
import { booksOf, countedBy } from './retention.ts'
import { createRuntime, type Runtime, retire, type Surroundings } from './runtime.ts'
import { createScarcity, type Scarcity } from './scarcity.ts'
import { createStandingFaults, type StandingFaults } from './standing-faults.ts'
import { createStoreClock, type StoreClock } from './store-clock.ts'
import { type StoreHealth, watchStore } from './store-health.ts'
import type { Telemetry } from './telemetry.ts'

/** The part of the gateway that serves requests: its listeners, its ledger, and the parts of one configuration. */
export interface DataPlane {
  /**
   * Opens the listeners. @returns the URL of the listener for clients
   * @param problems why the last configuration file was refused. Default none: that file is in force
   */
  start(problems?: readonly string[]): Promise<string>
  /**
   * Does nothing after `stop`. @throws Error if a part cannot be made, or by `take`; the old configuration then stays
   * @param take makes the store follow the new configuration, once its parts are made. Default nothing
   */
  reload(config: Config, hash: string, take?: () => Promise<void>): Promise<void>
  /** Notes that a configuration file was refused by the process that reads it. */
  rejected(problems: readonly string[]): void
  /** The configuration in force. */
  configuration(): Config
  /** Follows changes by administrators between `start` and `stop`. */
  readonly control: ChangeFollower
  readonly knownUsers: KnownUsers
  /** The adaptive factor in use and its reason, in every mode. */
  adaptive(): Adaptive
  /** Once ready it stays ready until it drains. @param startup whether only the start counts, without the store and credential providers */
  ready(startup?: boolean): Readiness
  /** Whether the store accepts no charges, or does not respond to the ping of every second. */
  lacksStore(): boolean
  inFlight(): number
  /** Bytes of responses that wait for slow clients. */
  responseBuffer(): number
  readonly drain: Drain
  /**
   * Lets requests finish, settles what was charged, and closes everything but the store.
   * @param limits in place of those of the configuration
   */
  stop(limits?: Config['drain']): Promise<void>
}

/** Takes a gateway out of service and back. While it drains it is not ready, and every response closes its connection. */
export interface Drain {
  isOn(): boolean
  /** Does nothing once the gateway stops, because it then drains until its end. */
  turn(on: boolean): void
}

export interface DataPlaneOptions {
  readonly config: Config
  readonly hash: string
  /** The version of Tollgate. */
  readonly version: string
  readonly store: Store
  readonly telemetry: Pick<Telemetry, 'observe' | 'follow' | 'delay'>
  /** Default none. */
  readonly witness?: Witness | undefined
}

/** The parts of a running gateway. */
interface Plane extends DataPlaneOptions {
  readonly state: State
  readonly certificate: Certificate | null
  readonly around: Surroundings
  readonly credentials: FirstCredentials
  readonly firstCharge: FirstCharge
  readonly health: StoreHealth
  readonly recorder: FailureRecorder
  readonly usage: UsageRecorder
  readonly ledger: Ledger
  readonly knownUsers: KnownUsers
  readonly memberships: Memberships
  readonly alerts: Alerts
  readonly livePolicy: LivePolicy
  readonly delay: EventLoopDelay
  readonly scarcity: Scarcity
  readonly faults: StandingFaults
  readonly gateway: Gateway
  /** The gateway that decides for other proxies; `null` for none. */
  readonly deciding: Gateway | null
  /** The listener of clients comes first. */
  readonly listeners: readonly [Listener, ...Listener[]]
  readonly heartbeat: Heartbeat
  readonly storeClock: StoreClock
  readonly counted: CountedNotes
}

/** The parts that change. */
interface State {
  /** The parts of the configuration in force; its hash is `hash`. */
  current: Runtime
  hash: string
  /** Whether any configuration so far admits requests in an outage. A process that such a configuration made ready stays ready. */
  mayAdmitAlone: boolean
  started: boolean
  draining: boolean
  stopping: boolean
}

/** @throws Error if a part of the configuration cannot be made */
export async function createDataPlane(options: DataPlaneOptions): Promise<DataPlane> {
  const plane = await assemble(options)
  const { state, heartbeat, livePolicy } = plane
  return {
    start: (problems) => start(plane, problems),
    reload: (config, hash, take) => reload(plane, config, hash, take),
    rejected: heartbeat.configProblems,
    configuration: () => state.current.config,
    control: livePolicy.control,
    knownUsers: plane.knownUsers,
    adaptive: livePolicy.adaptive,
    ready: (startup) => readinessOf(plane, startup),
    lacksStore: () => storeFailure(plane) !== null,
    inFlight: () => inFlight(plane),
    responseBuffer: () => state.current.forwarder.held.bytes,
    drain: { isOn: () => state.draining, turn: (on) => state.stopping || drain(plane, on) },
    stop: (limits) => stop(plane, limits),
  }
}

async function assemble(options: DataPlaneOptions): Promise<Plane> {
  const { config, hash, version, store, telemetry } = options
  const { observe, follow, delay } = telemetry
  letHeapGrow()
  const instance = randomBytes(12).toString('base64url')
  // `current` is set when it is made. Nobody reads it before.
  const mayAdmitAlone = admitsAlone(config)
  const state = { hash, mayAdmitAlone, started: false, draining: false, stopping: false } as State
  const { certificate, clients } = certificatesOf(config, observe)
  const readers = createReaders(options, instance, () => livePolicy.control.heardAt())
  const { alerts, health, recorder, usage } = readers
  const ledger = createLedger({
    store,
    instance,
    deadlineMs: config.store.deadlineMs,
    outageShare: (category) => outageShareOf(state.current.config, category),
    observe,
  })
  follow(({ type }) => {
    if (type !== 'store_connected' || !state.started) return
    void ledger.ask()
    void state.current.authenticator.prepare()
  })
  const current = () => livePartsOf(state.current)
  const livePolicy = createLivePolicy({ store, observe, current, onHistory: alerts.noteFailures })
  follow(livePolicy.observer)
  const knownUsers = new KnownUsers({ store, reserve: () => state.current.config.quota.reserve })
  const namesMatter = () => state.current.rules.policy().namesMatter || state.current.hasLeads
  const memberships = new Memberships({ store, namesMatter })
  follow(knownUsers.observer)
  follow(memberships.observer)
  const around: Surroundings = {
    tokens: livePolicy.accessKeys,
    observe,
    isKnown: knownUsers.isKnown,
    certificates: clients?.rules,
    failures: livePolicy.failures,
    keySets: store,
  }
  const runtime = createRuntime(config, null, around)
  state.current = await runtime.catch(async (error: unknown) => {
    certificate?.close()
    health.stop()
    await Promise.all([recorder.close(), usage.close(0)])
    throw error
  })
  const gateways = createGateways(options, state, certificate, { ledger, knownUsers, livePolicy })
  livePolicy.control.followChanges((change) => {
    const emptied = emptiedBy(change, state.current.config.quota.windows)
    if (emptied !== null) ledger.emptied(emptied.category, emptied.seconds, emptied.organisation)
  })
  const heartbeat = createHeartbeat({ store, instance, version, state: () => reportOf(plane) })
  follow(heartbeat.observer)
  const storeClock = createStoreClock({ store, observe })
  const firstCharge = createFirstCharge(ledger, health)
  const credentials = createFirstCredentials(() => state.current)
  const counted = createCountedNotes(store, () => countedBy(state.current.config))
  const followers = { ...readers, ledger, knownUsers, memberships, livePolicy, heartbeat, storeClock, counted }
  const parts = { certificate, around, credentials, firstCharge, delay, ...gateways }
  const plane: Plane = { ...options, ...followers, ...parts, state }
  return plane
}

/** The gateway for clients, and the one for other proxies if the configuration has `decisions`. */
function createGateways(
  { config, version, store, telemetry: { observe, delay }, witness }: DataPlaneOptions,
  state: State,
  certificate: Certificate | null,
  { livePolicy, ...charging }: Pick<Plane, 'ledger' | 'knownUsers' | 'livePolicy'>,
): Pick<Plane, 'gateway' | 'deciding' | 'listeners'> {
  const { decisions } = config
  const shares = createShares()
  const ownUsage = createOwnUsage(store, () => storedOf(livePolicy.control.state()).grants)
  const parts = { ...charging, store, ownUsage, observe, witness, lag: delay.ofRequest, shares }
  const opening = { config, observe, shares, current: () => state.current }
  const gateway = createGateway({ ...parts, rules: () => state.current.rules })
  const listener = openGatewayListener({ ...opening, certificate, gateway })
  if (decisions === null) return { gateway, deciding: null, listeners: [listener] }
  const { token } = decisions
  const receipts = token === null ? null : createReceipts(token)
  const decides: Decides = { idOf: (exchange) => (receipts === null ? null : idOf(receipts, exchange)) }
  const deciding = createGateway({ ...parts, rules: () => decidingOf(state), decides })
  const other = openDecisionsListener({
    ...opening,
    decisions,
    gateway: deciding,
    charging: { ...charging, observe },
    receipts,
    version,
  })
  return { gateway, deciding, listeners: [listener, other] }
}

/** Whether there is a listener for other proxies is decided at the start, so every later configuration has rules for it. */
function decidingOf({ current: { deciding } }: State): Rules {
  if (deciding === null) throw new Error('a decision by a configuration without decisions')
  return deciding
}

function inFlight({ gateway, deciding }: Pick<Plane, 'gateway' | 'deciding'>): number {
  return gateway.inFlight() + (deciding?.inFlight() ?? 0)
}

/** The readers of all observations. They start before the first wait, so that a store that connects early is reported. */
function createReaders({ config, store, telemetry }: DataPlaneOptions, instance: string, heardAt: () => number) {
  const { observe, follow } = telemetry
  const health = watchStore(store, follow, heardAt)
  const faults = createStandingFaults()
  const recorder = createFailureRecorder({ store, observe })
  const usage = createUsageRecorder({ store, instance, observe })
  const alerts = createAlerts({ store, observe, alerts: config.alerts })
  const scarcity = createScarcity()
  for (const { observer } of [faults, recorder, usage, alerts, scarcity]) follow(observer)
  usage.keepDays(daysOf(config))
  return { health, faults, recorder, usage, alerts, scarcity }
}

function certificatesOf({ tls, auth }: Config, observe: Observer) {
  const own = tls === null ? null : openCertificate(tls, 'gateway', observe)
  const clients = auth.clientCertificate === null ? null : openClientAuthorities(auth.clientCertificate, observe)
  return { certificate: own === null || clients === null ? own : clients.asking(own), clients }
}

/** The calendar for sums of plans, categories and routes. */
function daysOf(config: Config): Calendar | null {
  return booksOf(config)?.window.calendar ?? null
}

function livePartsOf({ config, limits }: Runtime) {
  return { quota: config.quota, limits, gatewayTokens: config.auth.gatewayTokens }
}

/** What this process reports to the others, besides its counts. */
function reportOf(plane: Plane) {
  const { state, livePolicy, gateway, usage } = plane
  return {
    hash: fingerprint(state.current.config),
    controlVersion: livePolicy.control.state().version,
    ...noticed(readinessOf(plane), gateway.oneAddress()),
    inFlight: inFlight(plane),
    unsent: usage.unsent(),
  }
}

async function start(plane: Plane, problems: readonly string[] = []): Promise<string> {
  const { state, health, livePolicy, listeners, heartbeat, storeClock } = plane
  await health.patience()
  plane.credentials.start()
  await livePolicy.start()
  const [first, ...others] = listeners
  const url = await first.start().catch(addressProblem('listen'))
  for (const other of others) await other.start().catch(addressProblem('decisions', 'listen'))
  reportLoaded(plane)
  // A store that responds may still refuse charges, and the first client should not find that out.
  await plane.firstCharge.start()
  state.started = true
  // Set after `reportLoaded`, whose `config_loaded` would otherwise clear the problems.
  heartbeat.configProblems(problems)
  heartbeat.start()
  storeClock.start()
  await plane.counted.start()
  plane.alerts.start()
  return url
}

function reportLoaded({ state, livePolicy, telemetry: { observe } }: Plane): void {
  const { config } = state.current
  const { file, quota } = config
  const storeOutage = new Map([...quota.storeOutage.keys()].map((it) => [it, outageShareOf(config, it)]))
  const changes = livePolicy.control.state().settings.value
  observe({
    ...{ type: 'config_loaded', file, hash: state.hash, rules: fingerprint(config), storeOutage },
    limits: limitLines(config, changes, livePolicy.adaptive().factor),
    shadow: changes.shadow ?? quota.shadow,
    timeZone: config.timeZone,
  })
  const tooFew = [openFilesProblem(config), memoryProblem()].filter((problem) => problem !== null)
  const warnings = [...tooFew, ...restingChanges(quota, livePolicy.control.state())]
  for (const problem of warnings) observe({ type: 'config_warning', file, problem })
}

async function reload(plane: Plane, config: Config, hash: string, take = async () => {}): Promise<void> {
  const { state, livePolicy, listeners } = plane
  if (state.stopping) return
  const next = await createRuntime(config, state.current, plane.around)
  if (!state.stopping)
    await take().catch((error: unknown) => {
      retire(next, state.current)
      throw error
    })
  // Otherwise nobody would end the requests of the new parts, and a slow identity provider would keep the process alive.
  if (state.stopping) return retire(next, state.current)
  livePolicy.bring(next.limits)
  const old = state.current
  state.current = next
  state.hash = hash
  state.mayAdmitAlone ||= admitsAlone(config)
  plane.usage.keepDays(daysOf(config))
  plane.alerts.configure(config.alerts)
  for (const listener of listeners) listener.setIdleTimeout(idleTimeoutOf(config))
  retire(old, next)
  await plane.counted.note()
  await livePolicy.adapt()
  if (plane.state.stopping) return
  // Not awaited, because missing parts of a new configuration do not make a serving process unready.
  void next.authenticator.prepare()
  reportLoaded(plane)
}

function drain({ state, listeners }: Plane, on: boolean): void {
  state.draining = on
  for (const listener of listeners) listener.drain(on)
}

/** Ends the requests first, then settles their charges, and then closes the parts that store what happened. */
async function stop(plane: Plane, limits = plane.state.current.config.drain): Promise<void> {
  const { config, state, listeners, livePolicy, storeClock, heartbeat, ledger, knownUsers, memberships } = plane
  state.stopping = true
  if (state.started) {
    drain(plane, true)
    // Load balancers need a moment to notice that the gateway is not ready.
    if (limits.delayMs > 0) await sleep(limits.delayMs)
    await Promise.all(listeners.map((listener) => listener.stop(limits.timeoutMs)))
  }
  const isKnownWhatWasUsed = livePolicy.close()
  storeClock.stop()
  plane.counted.stop()
  await state.current.forwarder.destroy()
  const graceMs = 2 * config.store.deadlineMs
  await ledger.close(graceMs)
  // A command takes at most four deadlines, and two may follow each other. But `closingMs` has only these six for a silent store.
  const kept = Promise.all([
    knownUsers.close(),
    memberships.close(),
    isKnownWhatWasUsed,
    plane.alerts.close(graceMs),
    plane.recorder.close(),
  ])
  const isSent = plane.usage.close(graceMs)
  const late = sleep(3 * graceMs, undefined, { ref: false })
  const hasSentAll = await Promise.race([kept.then(() => isSent), late.then(() => false)])
  await heartbeat.leave(hasSentAll, graceMs)
  plane.certificate?.close()
  plane.health.stop()
  plane.credentials.stop()
  plane.firstCharge.stop()
  state.current.authenticator.close()
}

/** During an outage each worker admits on its own counters, so it gets a part of the gateway's share. */
function outageShareOf({ quota, sharedBy = 1 }: Config, category: string): number {
  return (quota.storeOutage.get(category) ?? 0) / sharedBy
}
