import type { Config } from '../config/config.ts'
import type { Observer, Witness } from '../observe/observation.ts'
import { openAdminPlane } from './admin-plane.ts'
import { checkPairs } from './certificate.ts'
import { createDataPlane, type DataPlane } from './data-plane.ts'
import { dataPlaneGauges } from './data-plane-gauges.ts'
import { addressProblem, freeSocketOf } from './gateway-listener.ts'
import { globalWindowGauges } from './global-window-gauges.ts'
import { needRestart, untilRestart } from './restart-warnings.ts'
import { retentionOf } from './retention.ts'
import { openSpans } from './spans.ts'
import { openStore } from './stores.ts'
import { createTelemetry } from './telemetry.ts'

/** A running gateway made from one configuration, in this process or in several (`workers/primary.ts`). */
export interface App {
  /** Opens the listeners. @returns the URLs of the gateway and of the admin listener */
  start(): Promise<{ gateway: string; admin: string }>
  /**
   * A code for the dashboard's sign-in link, which gives a session of `admin.token`. It works once, within 10 minutes, in this
   * process, and replaces the earlier code. `null` without `admin.token`.
   */
  signInCode(): string | null
  /**
   * Puts another configuration in force completely, from one request to the next. Counters stay. Parts that cannot
   * change in a running process are reported as warnings and wait for a restart.
   * @param warnings warnings about the file, which are reported too. Default none
   * @throws Error if a part cannot be made (a key set file, a certificate); the old configuration then stays
   */
  reload(config: Config, hash: string, warnings?: readonly string[]): Promise<void>
  /** Reports that a configuration was refused. */
  reject(file: string, problems: readonly string[]): void
  /** Lets requests finish, settles what was charged, closes everything. */
  stop(): Promise<void>
  /** For the immediate end of the process: removes everything that would outlive it. */
  abandon(): void
}

export interface AppOptions {
  readonly config: Config
  /** A hash of the configuration and its files. It shows whether replicas differ. */
  readonly hash: string
  readonly version: string
  /** Another reader of the observations. Default none. */
  readonly observe?: Observer | undefined
  /** Is called with each request and its target, in a gateway of one process. Default none. */
  readonly witness?: Witness | undefined
}

/** A gateway in one process. */
export async function createApp({ config, hash, version, observe: also, witness }: AppOptions): Promise<App> {
  checkPairs(config)
  let dataPlane: DataPlane | null = null
  const gauges = [...dataPlaneGauges(() => dataPlane), ...globalWindowGauges(() => admin.globalWindows())]
  const telemetry = createTelemetry({ config, version, gauges })
  const { observe, log, metrics } = telemetry
  if (also !== undefined) telemetry.follow(also)
  const closeSpans = await openSpans(config, version, telemetry)
  const store = await openStore(config.store, observe, retentionOf(config))
  const made = await createDataPlane({ config, hash, version, store, telemetry, witness }).catch(
    async (error: unknown) => {
      await store.close()
      throw error
    },
  )
  dataPlane = made
  const { control, knownUsers, configuration, ready, adaptive, lacksStore, drain } = made
  const admin = openAdminPlane({
    current: configuration,
    store,
    control,
    knownUsers,
    observe,
    metrics,
    ready,
    adaptive,
    lacksStore,
    drain,
    version,
  })

  async function start(): Promise<{ gateway: string; admin: string }> {
    const { url } = await admin.listen().catch(addressProblem('admin', 'listen'))
    observe({ type: 'listening', what: 'admin', url })
    await freeSocketOf(config)
    return { admin: url, gateway: await made.start() }
  }

  async function reload(next: Config, nextHash: string, warnings: readonly string[] = []): Promise<void> {
    const possible = untilRestart(config, next)
    await made.reload(possible, nextHash, () => store.reload(possible.store, retentionOf(possible)))
    for (const problem of [...warnings, ...needRestart(config, next)])
      observe({ type: 'config_warning', file: next.file, problem })
  }

  async function stop(): Promise<void> {
    await made.stop()
    await closeSpans()
    await admin.close()
    await store.close()
    observe({ type: 'stopped' })
    telemetry.delay.stop()
    await log.close()
  }

  return {
    start,
    signInCode: admin.signInCode,
    reload,
    stop,
    reject: (file, problems) => observe({ type: 'config_rejected', file, problems }),
    abandon: () => {},
  }
}
