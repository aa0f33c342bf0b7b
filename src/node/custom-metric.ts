/** The figures of a metric in the form of prom-client. */
export interface Figures {
  readonly name: string
  readonly help: string
  readonly type: string
  /** The way to combine the figures of several processes. */
  readonly aggregator: string
  readonly values: readonly { readonly metricName: string; readonly labels: object; readonly value: number }[]
}

/**
 * Registers a histogram whose figures are kept elsewhere.
 *
 * A histogram of prom-client accepts no counts. A registry asks a metric for its `name` and `get()` only (prom-client 15.1,
 * `lib/registry.js`), which its types do not say (docs/contributing/decisions/metric-series.md).
 */
export function registerFigures(registry: { registerMetric(metric: never): void }, get: () => Figures): void {
  const metric = { name: get().name, get: async () => get() }
  registry.registerMetric(metric as never)
}

/**
 * Sets how the figures of several processes are combined, for a metric of prom-client. A missing metric is ignored.
 *
 * The default metrics have no such option. A metric reads its property `aggregator` at each `get()` (prom-client 15.1, `lib/gauge.js`),
 * which its types do not say.
 */
export function putTogether(metric: object | undefined, aggregator: string): void {
  if (metric !== undefined) Object.assign(metric, { aggregator })
}
