import { openAdminPlane } from '../app/admin-plane.ts'
import type { App, AppOptions } from '../app/app.ts'
import { checkPairs } from '../app/certificate.ts'
import type { Drain, Readiness } from '../app/data-plane.ts'
import { addressProblem } from '../app/gateway-listener.ts'
import { globalWindowGauges } from '../app/global-window-gauges.ts'
import { needRestart, untilRestart } from '../app/restart-warnings.ts'
import { tryRuntime } from '../app/runtime.ts'
import { isOfStore } from '../app/store-health.ts'
import { openStore } from '../app/stores.ts'
import { createTelemetry } from '../app/telemetry.ts'
import type { Config } from '../config/config.ts'
import { fingerprint } from '../config/fingerprint.ts'
import { createChangeFollower } from '../control/change-follower.ts'
import { UNREAD } from '../failures/adaptive.ts'
import { createSums } from '../observe/aggregate.ts'
import { KnownUsers } from '../quota/known-users.ts'
import { shareOf, workerCount } from './share.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

/** How often the workers are asked for their state, in milliseconds: a worker that is killed takes with it what it counted since. */
const ASK_MS = 1000
/** How long whoever scrapes waits for a worker that does not answer, in milliseconds; then its last figures stand. */
const SCRAPE_MS = 500
/** Beyond delay and timeout of the drain, for a worker to settle and close, in milliseconds. */
const GRACE_MS = 15_000

/**
 * A gateway in several processes: the workers take the requests; this one starts and watches them, reads the configuration
 * for all, and has the administrators' listener, where all of them look like one.
 * @throws as `createApp`
 */
export async function createPrimary({ config, hash, version, observe: also }: AppOptions): Promise<App> {
  const count = workerCount(config)
  checkPairs(config)
  await tryRuntime(config)
  const gauges = [
    { name: 'workers', help: 'Worker processes that are ready for requests.', read: () => readyWorkers() },
    ...globalWindowGauges(() => admin.globalWindows()),
  ]
  const telemetry = createTelemetry({ log: config.log, version, gauges })
  const { observe, log, metrics } = telemetry
  if (also !== undefined) telemetry.follow(also)
  const store = await openStore(config.store, observe)
  const sums = createSums()
  /** As a worker reported last: each draws it by itself, from what all share. */
  let adaptive = UNREAD
  let current: { config: Config; hash: string; problems: readonly string[] } = { config, hash, problems: [] }
  const supervisor = createSupervisor({
    count,
    begin: () => ({ ...current, version, config: shareOf(current.config, count) }),
    onReport(worker, report) {
      adaptive = report.adaptive
      sums.take(worker, report.metrics)
    },
    onEnd: (worker) => void sums.bury(worker),
    write: log.pass,
    observe,
  })
  const state = { started: false, draining: false, stopping: false }
  const readyWorkers = (): number => supervisor.states().filter(({ ready }) => ready).length
  const together = { render: renderAll, contentType: metrics.contentType }
  const ready = (startup: boolean) => readiness(state, supervisor, startup)
  const control = createChangeFollower({ store, observe })
  const drain: Drain = { isOn: () => state.draining, turn }
  const admin = openAdminPlane({
    current: () => current.config,
    store,
    control,
    // Of its own: each worker knows those that came to it.
    knownUsers: new KnownUsers({ store, reserve: () => current.config.quota.reserve }),
    observe,
    metrics: together,
    ready,
    adaptive: () => adaptive,
    lacksStore: () => supervisor.states().some(({ reasons }) => reasons.some(isOfStore)),
    drain,
    version,
  })
  const asking = setInterval(supervisor.ask, ASK_MS, ASK_MS).unref()

  async function renderAll(): Promise<string> {
    await supervisor.ask(SCRAPE_MS)
    return sums.render(await metrics.snapshot())
  }

  async function start(): Promise<{ gateway: string; admin: string }> {
    const { url } = await admin.listen().catch(addressProblem('admin', 'listen'))
    observe({ type: 'listening', what: 'admin', url })
    const gateway = await supervisor.start()
    // Workers wait for the store when they start; asked before that, it would count as one that fails.
    void control.start() // never rejects
    await supervisor.ask(ASK_MS)
    state.started = true
    observe({ type: 'config_loaded', file: config.file, hash, rules: fingerprint(config) })
    return { admin: url, gateway }
  }

  /** All or none: what is wrong with a configuration shows when its parts are made, here first. */
  async function reload(next: Config, nextHash: string, warnings: readonly string[] = []): Promise<void> {
    await tryRuntime(next)
    current = { config: untilRestart(config, next), hash: nextHash, problems: [] }
    const problems = await supervisor.reload()
    // Also if not all have it: the others show that in their own figures, for as long as it is so.
    observe({ type: 'config_loaded', file: next.file, hash: nextHash, rules: fingerprint(next) })
    if (problems.length > 0) observe({ type: 'config_partly', file: next.file, problems })
    for (const problem of [...warnings, ...needRestart(config, next)])
      observe({ type: 'config_warning', file: next.file, problem })
  }

  function reject(file: string, problems: readonly string[]): void {
    current = { ...current, problems }
    observe({ type: 'config_rejected', file, problems })
    supervisor.rejected(problems)
  }

  function turn(on: boolean): void {
    if (state.stopping) return
    state.draining = on
    supervisor.drain(on)
  }

  async function stop(): Promise<void> {
    state.stopping = true
    state.draining = true
    const { delayMs, timeoutMs } = current.config.drain
    await supervisor.stop(delayMs + timeoutMs + GRACE_MS)
    clearInterval(asking)
    control.close()
    await admin.close()
    await store.close()
    observe({ type: 'stopped' })
    await log.close()
  }

  return {
    start,
    reload,
    stop,
    reject,
    abandon: supervisor.kill,
  }
}

/** One worker that is ready is enough: those that are not get no connections. What keeps the others is reported all the same. */
function readiness(
  state: { started: boolean; draining: boolean },
  supervisor: Supervisor,
  startup: boolean,
): Readiness {
  const own = [...(state.started ? [] : ['starting']), ...(state.draining ? ['draining'] : [])]
  if (own.length > 0) return { ready: false, reasons: own }
  const workers = supervisor.states()
  return {
    ready: startup || workers.some(({ ready }) => ready),
    reasons: workers.flatMap(({ worker, reasons }) => reasons.map((reason) => `worker ${worker}: ${reason}`)),
  }
}
