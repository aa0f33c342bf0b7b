import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { EventLoopDelay } from '../lib/event-loop-delay.ts'
import { openFiles, openFilesLimit } from '../lib/open-files.ts'
import { putTogether, registerFigures } from '../node/custom-metric.ts'
import { type MissingHook, missingAmong } from '../node/hooks.ts'
import { DELAY_NAMES, delayGauges } from './delay-gauges.ts'
import { Counts, Distribution } from './series.ts'

/** A value that is read at a scrape, for a state that is no event. */
export interface GaugeSource {
  /** The name without the prefix `tollgate_`, in base units, for example `inflight_requests`. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** How the values of several processes are combined. Default their sum. */
  readonly together?: Together
  /** A number, or one sample for each label set. If the read fails, the gauge is left out of this scrape. */
  readonly read: () => number | readonly Sample[] | Promise<number | readonly Sample[]>
}

export interface Sample {
  /** Names and values. They never have a user, a token or a raw path. */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Makes the metrics of Tollgate, each with the prefix `tollgate_`, in its own registry. */
export interface Meter {
  /** @param labelNames default none @param most how many series there may be; further ones are counted as `other`. Default 500 */
  counter(name: string, help: string, labelNames?: string[], most?: number): Counts
  /** @param together how the values of several processes are combined. Default their sum */
  gauge(name: string, help: string, labelNames?: string[], together?: Together): Gauge
  gaugeSource(source: GaugeSource): void
  /** @param most as for `counter` */
  histogram(name: string, help: string, buckets: number[], labelNames?: string[], most?: number): Distribution
  /** All metrics, and those of the process, in the Prometheus text format. */
  render(): Promise<string>
  /** The same as figures, which can be added to those of other processes. */
  snapshot(): Promise<Snapshot>
  readonly contentType: string
}

export type Together = 'sum' | 'min' | 'max'

/** All figures of one process at a moment, as plain data. */
export type Snapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/**
 * The combined figures of several processes: counters, histograms and most gauges are added. A gauge that names its own
 * way is combined in that way.
 */
export function sumSnapshots(snapshots: readonly Snapshot[]): {
  text(): Promise<string>
  figures(): Promise<Snapshot>
} {
  const registry = AggregatorRegistry.aggregate([...snapshots])
  return { text: () => registry.metrics(), figures: () => registry.getMetricsAsJSON() }
}

const PREFIX = 'tollgate_'
/**
 * Gauges that prom-client would add, average or leave out for several processes. If one process fills up or falls behind, a sum or a mean
 * with idle ones would hide it.
 */
const TOGETHER: Readonly<Record<string, Together>> = {
  process_open_fds: 'max',
  process_max_fds: 'min',
  process_start_time_seconds: 'min',
}

/** Gauges with the name of a counter, which `promtool check metrics` rejects. The gauges without `_total` have the same numbers by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * The interval of prom-client's own measure of the event loop, in milliseconds: never. At its 10 ms an idle process is awake 100 times
 * a second.
 */
const NEVER = 2 ** 31 - 1

export function createMeter(delay: Pick<EventLoopDelay, 'takeFigures'>): Meter {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER })
  for (const name of [...MISNAMED, ...DELAY_NAMES]) registry.removeSingleMetric(name)
  lookAtOpenFiles(registry)
  for (const [name, together] of Object.entries(TOGETHER)) putTogether(registry.getSingleMetric(name), together)
  delayGauges(registry, delay)
  return {
    counter: (name, help, labelNames, most) =>
      plainCounter(registry, PREFIX + name, help, new Counts(labelNames, most)),
    gauge: (name, help, labelNames = [], together = 'sum') => plainGauge(registers, name, help, labelNames, together),
    gaugeSource: (source) => addGaugeSource(registry, source),
    histogram: (name, help, bounds, labelNames, most) =>
      plainHistogram(registry, PREFIX + name, help, new Distribution(bounds, labelNames, most)),
    render: () => registry.metrics(),
    snapshot: () => registry.getMetricsAsJSON(),
    contentType: registry.contentType,
  }
}

/** Replaces the gauge of prom-client, which keeps its last value when no descriptor is free, and so hides that a process is full. */
function lookAtOpenFiles(registry: Registry): void {
  const name = 'process_open_fds'
  const limit = openFilesLimit()
  if (registry.getSingleMetric(name) === undefined) return
  registry.removeSingleMetric(name)
  new Gauge({
    name,
    help: 'Number of open file descriptors.',
    registers: [registry],
    collect() {
      const open = openFiles(limit)
      if (open !== null) this.set(open)
    },
  })
}

function plainGauge(
  registers: Registry[],
  name: string,
  help: string,
  labelNames: string[],
  aggregator: Together,
): Gauge {
  const gauge = new Gauge({ name: PREFIX + name, help, labelNames, registers, aggregator })
  // A gauge begins as 0. In a process that never sets it, that would be the least or the most of all processes.
  if (aggregator !== 'sum' && labelNames.length === 0) gauge.remove()
  return gauge
}

/** Counts as plain numbers, which prom-client gets when it collects. */
function plainCounter(registry: Registry, name: string, help: string, counts: Counts): Counts {
  new Counter({
    name,
    help,
    labelNames: [...counts.labelNames],
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, value } of counts.series) this.inc(labels, value.count)
    },
  })
  return counts
}

/** Checks once the internals of prom-client that are used here. */
export function missingInMetrics(): MissingHook[] {
  const registry = new Registry()
  const figures = { name: 'x', help: 'x', type: 'histogram', aggregator: 'sum', values: [] }
  registerFigures(registry, () => figures)
  const gauge = new Gauge({ name: 'y', help: 'y', registers: [registry] })
  return missingAmong(registry, [
    [
      'metrics of our own in a Registry of prom-client',
      'histograms',
      () => registry.getSingleMetric('x') !== undefined,
    ],
    ['Gauge#aggregator of prom-client', 'figures of several workers', () => 'aggregator' in gauge],
  ])
}

function plainHistogram(registry: Registry, name: string, help: string, distribution: Distribution): Distribution {
  const values = () => bucketValues(name, distribution)
  registerFigures(registry, () => ({ name, help, type: 'histogram', aggregator: 'sum', values: values() }))
  return distribution
}

/** The lines of the text format: cumulative buckets, the sum, the count. */
function bucketValues(name: string, { bounds, series }: Distribution) {
  return [...series].flatMap(({ labels, value: { sum, counts } }) => {
    let count = 0
    const buckets = counts.map((inBucket, i) => {
      count += inBucket
      return { metricName: `${name}_bucket`, labels: { ...labels, le: bounds[i] ?? '+Inf' }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  })
}

function addGaugeSource(registry: Registry, { name, help, labels = [], together = 'sum', read }: GaugeSource): void {
  new Gauge({
    name: PREFIX + name,
    help,
    labelNames: [...labels],
    registers: [registry],
    aggregator: together,
    async collect() {
      this.reset()
      try {
        const value = await read()
        if (typeof value === 'number') this.set(value)
        else for (const sample of value) this.set({ ...sample.labels }, sample.value)
      } catch {
        // A store that does not respond must not hide all other figures from the operator at such a time.
        if (labels.length === 0) this.remove()
      }
    },
  })
}
