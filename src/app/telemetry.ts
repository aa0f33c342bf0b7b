import { getHeapStatistics } from 'node:v8'
import type { Config } from '../config/config.ts'
import { createEventLoopDelay, type EventLoopDelay } from '../lib/event-loop-delay.ts'
import { missingInNode } from '../node/hooks.ts'
import { createLog, type Log } from '../observe/log.ts'
import { createMetrics, type GaugeSource, type Metrics } from '../observe/metrics.ts'
import type { Observer } from '../observe/observation.ts'
import { missingInMetrics } from '../observe/registry.ts'
import { fanOut } from '../observe/tee.ts'

/** One Observer and its readers. */
export interface Telemetry {
  readonly observe: Observer
  readonly log: Log
  readonly metrics: Metrics
  /** It runs until the caller stops it, at the end of the process. */
  readonly delay: EventLoopDelay
  /** Adds a reader of everything that is reported from now on. */
  follow(reader: Observer): void
}

export interface TelemetryOptions {
  readonly config: Pick<Config, 'log' | 'metrics' | 'routes'>
  readonly version: string
  /** Number of the worker process for its log lines; absent in a gateway of one process. */
  readonly worker?: number
  readonly gauges: readonly GaugeSource[]
}

export function createTelemetry({ config, version, worker, gauges }: TelemetryOptions): Telemetry {
  const readers: Observer[] = []
  const observe = fanOut(readers)
  const log = createLog({ ...config.log, ...(worker !== undefined && { worker }), observe })
  const delay = createEventLoopDelay()
  const metrics = createMetrics({ version, gauges: [HEAP, ...gauges], delay, byRoute: isByRoute(config) })
  readers.push(log.observer, metrics.observer)
  for (const missing of [...missingInNode(), ...missingInMetrics()]) observe({ type: 'hook_missing', ...missing })
  return { observe, log, metrics, delay, follow: (reader) => void readers.push(reader) }
}

/** With more rules each has series of its own only on request, because a scrape of 10,000 rules would be 20 MB. */
const MOST_RULES = 100

export function isByRoute({ metrics: { byRoute }, routes }: TelemetryOptions['config']): boolean {
  return byRoute === 'auto' ? routes.length <= MOST_RULES : byRoute === 'always'
}

/** At 1 the process ends. `nodejs_heap_*` of several processes are sums, which do not show that. */
export const HEAP: GaugeSource = {
  name: 'heap_used_ratio',
  help: 'Share of the heap that V8 allows and that is in use, in the process with the highest share. At 1 the process ends.',
  together: 'max',
  read() {
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    return used_heap_size / heap_size_limit
  },
}
