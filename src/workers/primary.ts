import { type AdminPlane, type AdminPlaneOptions, openAdminPlane } from '../app/admin-plane.ts'
import type { App, AppOptions } from '../app/app.ts'
import { checkPairs } from '../app/certificate.ts'
import { closingMs } from '../app/closing.ts'
import type { Drain } from '../app/data-plane.ts'
import { addressProblem, freeSocketOf } from '../app/gateway-listener.ts'
import { globalWindowGauges } from '../app/global-window-gauges.ts'
import type { Readiness } from '../app/readiness.ts'
import { needRestart, untilRestart } from '../app/restart-warnings.ts'
import { retentionOf } from '../app/retention.ts'
import { tryRuntime } from '../app/runtime.ts'
import { createStandingFaults, type StandingFaults } from '../app/standing-faults.ts'
import { isOfStore } from '../app/store-health.ts'
import { type GatewayStore, openStore } from '../app/stores.ts'
import { createTelemetry, type Telemetry } from '../app/telemetry.ts'
import type { Config } from '../config/config.ts'
import { fingerprint } from '../config/fingerprint.ts'
import { type ChangeFollower, createChangeFollower } from '../control/change-follower.ts'
import { type Adaptive, UNREAD } from '../failures/adaptive.ts'
import { repeat } from '../lib/repeat.ts'
import { createSums, type Sums } from '../observe/aggregate.ts'
import type { GaugeSource, Metrics } from '../observe/metrics.ts'
import { KnownUsers } from '../quota/known-users.ts'
import { shareOf, workerCount } from './share.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

/** How often the workers are asked for their state, in milliseconds. If a worker is killed, its later counts are lost. */
const ASK_MS = 1000
/** How long a scrape waits for a worker that does not respond, in milliseconds. Then its last figures are used. */
const SCRAPE_MS = 500
/** The time for a worker to settle and close, beyond delay and timeout of the drain, in milliseconds. */
const GRACE_MS = 15_000

/** The parts of the primary. */
interface Primary {
  /** The configuration at the start, and its hash. */
  readonly config: Config
  readonly hash: string
  readonly telemetry: Telemetry
  readonly store: GatewayStore
  readonly control: ChangeFollower
  readonly supervisor: Supervisor
  readonly admin: AdminPlane
  /** Stops the repeated questions to the workers. */
  readonly stopAsking: () => void
  readonly state: State
}

/** The only values that change. */
interface State {
  /** The configuration in force, with which a worker begins, and why a later file was not accepted. */
  current: { readonly config: Config; readonly hash: string; readonly problems: readonly string[] }
  /** The value that a worker reported last. Every worker computes it by itself from the same figures in the store. */
  adaptive: Adaptive
  started: boolean
  draining: boolean
  stopping: boolean
}

/**
 * A gateway in several processes. The workers take the requests. This process starts and watches them, reads the
 * configuration for all, and has the administrators' listener, on which all of them look like one.
 * @throws as `createApp`
 */
export async function createPrimary(options: AppOptions): Promise<App> {
  checkPairs(options.config)
  await tryRuntime(options.config)
  const primary = await assemble(options)
  return {
    start: () => start(primary),
    signInCode: primary.admin.signInCode,
    reload: (config, hash, warnings) => reload(primary, config, hash, warnings),
    stop: () => stop(primary),
    reject: (file, problems) => reject(primary, file, problems),
    abandon: primary.supervisor.kill,
  }
}

export function workersGauge(read: () => number): GaugeSource {
  return { name: 'workers', help: 'Worker processes that are ready for requests.', read }
}

async function assemble({ config, hash, version, observe: also }: AppOptions): Promise<Primary> {
  const state: State = {
    current: { config, hash, problems: [] },
    adaptive: UNREAD,
    started: false,
    draining: false,
    stopping: false,
  }
  const gauges = [
    workersGauge(() => supervisor.states().filter(({ ready }) => ready).length),
    ...globalWindowGauges(() => admin.globalWindows()),
  ]
  const telemetry = createTelemetry({ config, version, gauges })
  const { observe } = telemetry
  if (also !== undefined) telemetry.follow(also)
  const faults = createStandingFaults()
  telemetry.follow(faults.observer)
  const store = await openStore(config.store, observe, retentionOf(config))
  const sums = createSums()
  const supervisor = superviseWorkers(state, sums, version, telemetry)
  const control = createChangeFollower({ store, observe })
  const admin: AdminPlane = openAdminPlane({
    current: () => state.current.config,
    store,
    control,
    // The primary looks users up by itself, because each worker knows only the users that came to it.
    knownUsers: new KnownUsers({ store, reserve: () => state.current.config.quota.reserve }),
    observe,
    metrics: metricsOfAll(sums, supervisor, telemetry.metrics),
    ready: (startup) => readiness(state, supervisor, faults, startup),
    adaptive: () => state.adaptive,
    lacksStore: () => supervisor.states().some(({ reasons }) => reasons.some(isOfStore)),
    drain: drainOf(state, supervisor),
    version,
  })
  const stopAsking = repeat(() => void supervisor.ask(ASK_MS), ASK_MS)
  return { config, hash, telemetry, store, control, supervisor, admin, stopAsking, state }
}

function superviseWorkers(state: State, sums: Sums, version: string, { observe, log }: Telemetry): Supervisor {
  const count = workerCount(state.current.config)
  return createSupervisor({
    count,
    begin: () => ({ ...state.current, version, config: shareOf(state.current.config, count) }),
    onReport(worker, report) {
      state.adaptive = report.adaptive
      sums.take(worker, report.metrics)
    },
    onEnd: (worker) => void sums.bury(worker),
    write: log.pass,
    observe,
  })
}

function metricsOfAll(sums: Sums, supervisor: Supervisor, own: Metrics): AdminPlaneOptions['metrics'] {
  return {
    async render() {
      await supervisor.ask(SCRAPE_MS)
      return sums.render(await own.snapshot())
    },
    contentType: own.contentType,
  }
}

function drainOf(state: State, supervisor: Supervisor): Drain {
  return {
    isOn: () => state.draining,
    turn(on) {
      if (state.stopping) return
      state.draining = on
      supervisor.drain(on)
    },
  }
}

async function start({
  config,
  hash,
  telemetry,
  control,
  supervisor,
  admin,
  state,
}: Primary): ReturnType<App['start']> {
  const { observe } = telemetry
  const { url } = await admin.listen().catch(addressProblem('admin', 'listen'))
  observe({ type: 'listening', what: 'admin', url })
  await freeSocketOf(config)
  const gateway = await supervisor.start()
  // The workers wait for the store at their start. An earlier question to a store that connects would be reported as its failure.
  void control.start() // It never rejects.
  await supervisor.ask(ASK_MS)
  state.started = true
  observe({ type: 'config_loaded', file: config.file, hash, rules: fingerprint(config) })
  return { admin: url, gateway }
}

/** Makes the parts of the configuration once and discards them, because its problems show only then. If one fails, nothing changes. */
async function reload(
  { config, telemetry, store, supervisor, state }: Primary,
  next: Config,
  hash: string,
  warnings: readonly string[] = [],
): Promise<void> {
  const { observe } = telemetry
  const possible = untilRestart(config, next)
  await tryRuntime(next)
  await store.reload(possible.store, retentionOf(possible))
  state.current = { config: possible, hash, problems: [] }
  const problems = await supervisor.reload()
  // Reported even if some workers did not accept it: their own figures show this for as long as it lasts.
  observe({ type: 'config_loaded', file: next.file, hash, rules: fingerprint(next) })
  if (problems.length > 0) observe({ type: 'config_partly', file: next.file, problems })
  for (const problem of [...warnings, ...needRestart(config, next)])
    observe({ type: 'config_warning', file: next.file, problem })
}

function reject({ telemetry, supervisor, state }: Primary, file: string, problems: readonly string[]): void {
  state.current = { ...state.current, problems }
  telemetry.observe({ type: 'config_rejected', file, problems })
  supervisor.rejected(problems)
}

async function stop({ telemetry, store, control, supervisor, admin, stopAsking, state }: Primary): Promise<void> {
  state.stopping = true
  state.draining = true
  const { config } = state.current
  const { delayMs, timeoutMs } = config.drain
  await supervisor.stop(delayMs + timeoutMs + Math.max(GRACE_MS, 2 * closingMs(config)))
  stopAsking()
  control.close()
  await admin.close()
  await store.close()
  telemetry.observe({ type: 'stopped' })
  telemetry.delay.stop()
  await telemetry.log.close()
}

/** One ready worker is enough: a worker that has ended or hangs gets no connections. The reasons of all workers are reported. */
function readiness(
  { started, draining }: State,
  supervisor: Supervisor,
  faults: StandingFaults,
  startup = false,
): Readiness {
  const own = [...(started ? [] : ['starting']), ...(draining ? ['draining'] : [])]
  if (own.length > 0) return { ready: false, reasons: own }
  const workers = supervisor.states()
  const ofWorkers = workers.flatMap(({ worker, reasons }) => reasons.map((reason) => `worker ${worker}: ${reason}`))
  return { ready: startup || workers.some(({ ready }) => ready), reasons: [...faults.reasons(), ...ofWorkers] }
}
