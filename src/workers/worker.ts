import { createDataPlane, type DataPlane } from '../app/data-plane.ts'
import { dataPlaneGauges } from '../app/data-plane-gauges.ts'
import { retentionOf } from '../app/retention.ts'
import { openSpans } from '../app/spans.ts'
import { openStore } from '../app/stores.ts'
import { createTelemetry } from '../app/telemetry.ts'
import type { Config } from '../config/config.ts'
import { messageOf } from '../errors.ts'
import type { Report, ToWorker } from './messages.ts'

/** Takes requests in one process of several: a gateway without the administrators' listener. */
export interface Worker {
  /** @returns the URL of the gateway, which is the same for all workers */
  start(): Promise<string>
  /** Puts another configuration in force. @returns why it was not accepted, so that the old one stays; `null` if it was */
  reload(config: Config, hash: string): Promise<string | null>
  /** Notes that the primary, which reads the file for all workers, did not accept it. */
  rejected(problems: readonly string[]): void
  report(): Promise<Report>
  drain(on: boolean): void
  /** @param limits used instead of `drain` of the configuration */
  stop(limits?: Config['drain']): Promise<void>
}

export async function createWorker(begin: Extract<ToWorker, { type: 'begin' }>): Promise<Worker> {
  const { worker, version, config, hash } = begin
  let current: DataPlane | null = null
  const gauges = dataPlaneGauges(() => current)
  const telemetry = createTelemetry({ config, version, worker, gauges })
  const { observe, log, metrics } = telemetry
  const closeSpans = await openSpans(config, version, telemetry)
  const store = await openStore(config.store, observe, retentionOf(config))
  const dataPlane = await createDataPlane({ config, hash, version, store, telemetry }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  current = dataPlane

  async function start(): Promise<string> {
    return dataPlane.start(begin.problems)
  }

  async function reload(next: Config, nextHash: string): Promise<string | null> {
    try {
      await dataPlane.reload(next, nextHash, () => store.reload(next.store, retentionOf(next)))
      return null
    } catch (error) {
      const problem = messageOf(error)
      observe({ type: 'config_rejected', file: next.file, problems: [problem] })
      return problem
    }
  }

  async function stop(limits?: Config['drain']): Promise<void> {
    await dataPlane.stop(limits)
    await closeSpans()
    await store.close()
    observe({ type: 'stopped' })
    telemetry.delay.stop()
    await log.close()
  }

  return {
    start,
    reload,
    rejected: dataPlane.rejected,
    report: async () => ({ ...dataPlane.ready(), adaptive: dataPlane.adaptive(), metrics: await metrics.snapshot() }),
    drain: dataPlane.drain.turn,
    stop,
  }
}
