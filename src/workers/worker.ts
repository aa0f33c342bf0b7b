import { createServing, type Serving, servingGauges } from '../app/data-plane.ts'
import { openStore } from '../app/stores.ts'
import { createObserving } from '../app/telemetry.ts'
import type { Config } from '../config/config.ts'
import { messageOf } from '../errors.ts'
import type { Report, ToWorker } from './messages.ts'

/** What takes requests in one process of several: a gateway without the administrators' listener. */
export interface Worker {
  /** @returns the URL of the gateway, the same for all */
  start(): Promise<string>
  /** Puts another configuration in force. @returns why it was not taken; the one before stays */
  reload(config: Config, hash: string): Promise<string | null>
  /** A configuration file was not taken: the primary reads it for all. */
  rejected(problems: readonly string[]): void
  report(): Promise<Report>
  drain(on: boolean): void
  /** @param limits instead of those of the configuration */
  stop(limits?: Config['drain']): Promise<void>
}

export async function createWorker(begin: Extract<ToWorker, { type: 'begin' }>): Promise<Worker> {
  const { worker, version, config, hash } = begin
  let current: Serving | null = null
  const gauges = servingGauges(() => current)
  const observing = createObserving({ log: config.log, version, worker, gauges })
  const { observe, log, metrics } = observing
  const store = await openStore(config.store, observe)
  const serving = await createServing({ config, hash, version, store, observing }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  current = serving

  async function start(): Promise<string> {
    return serving.start(begin.problems)
  }

  async function reload(next: Config, nextHash: string): Promise<string | null> {
    try {
      await serving.reload(next, nextHash)
      return null
    } catch (error) {
      const problem = messageOf(error)
      observe({ type: 'config_rejected', file: next.file, problems: [problem] })
      return problem
    }
  }

  async function stop(limits?: Config['drain']): Promise<void> {
    await serving.stop(limits)
    await store.close()
    observe({ type: 'stopped' })
    await log.close()
  }

  return {
    start,
    reload,
    rejected: serving.rejected,
    report: async () => ({ ...serving.ready(), adaptive: serving.adaptive(), metrics: await metrics.snapshot() }),
    drain: serving.drain.turn,
    stop,
  }
}
