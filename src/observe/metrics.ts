import { createEventLoopDelay, type EventLoopDelay } from '../lib/event-loop-delay.ts'
import { connectionMetrics } from './connection-metrics.ts'
import { type Counting, count } from './counting.ts'
import { gatewayMetrics } from './gateway-metrics.ts'
import type { Observer } from './observation.ts'
import { quotaMetrics } from './quota-metrics.ts'
import { createMeter, type GaugeSource, type Meter, type Snapshot } from './registry.ts'
import { requestMetrics } from './request-metrics.ts'
import { storeMetrics } from './store-metrics.ts'

export type { GaugeSource, Sample, Snapshot } from './registry.ts'

export interface MetricsOptions {
  /** The version of Tollgate, for `tollgate_build_info`. */
  readonly version: string
  readonly gauges?: readonly GaugeSource[]
  /** Measures the event loop. Default one of its own. */
  readonly delay?: Pick<EventLoopDelay, 'takeFigures'>
  /** Whether requests are also counted for each rule. Default yes. */
  readonly byRoute?: boolean
  /** A clock in milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number
}

export interface Metrics {
  readonly observer: Observer
  /** All metrics in the Prometheus text format. */
  render(): Promise<string>
  /** The same as figures, for `aggregate.ts`. */
  snapshot(): Promise<Snapshot>
  readonly contentType: string
}

/** The reader of observations that counts. Each call has its own registry. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { version, gauges = [], delay = createEventLoopDelay(), byRoute = true, now = Date.now } = options
  const meter = createMeter(delay)
  for (const source of gauges) meter.gaugeSource(source)
  buildMetrics(meter, version)

  const counting: Counting = {
    ...requestMetrics(meter, byRoute),
    ...quotaMetrics(meter),
    ...storeMetrics(meter),
    ...connectionMetrics(meter),
    ...gatewayMetrics(meter, now),
  }
  return {
    observer: (observation) => count(counting, observation),
    render: () => meter.render(),
    snapshot: () => meter.snapshot(),
    contentType: meter.contentType,
  }
}

/** The metrics of the build that runs. */
export function buildMetrics(meter: Meter, version: string): void {
  const help = 'Always 1. The labels name the version of Tollgate and of Node.'
  const build = meter.gauge('build_info', help, ['version', 'node_version'], 'max')
  build.set({ version, node_version: process.version }, 1)
}
