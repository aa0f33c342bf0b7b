/** Figures of a metric as prom-client takes them. */
export interface Figures {
  readonly name: string
  readonly help: string
  readonly type: string
  /** How processes are put together. */
  readonly aggregator: string
  readonly values: readonly { readonly metricName: string; readonly labels: object; readonly value: number }[]
}

/**
 * Registers a histogram whose figures are kept elsewhere.
 *
 * A histogram of prom-client cannot be given counts. A registry asks a metric for its `name` and `get()` only (prom-client 15.1,
 * `lib/registry.js`), which its types do not say (docs/contributing/decisions/metric-series.md).
 */
export function registerFigures(registry: { registerMetric(metric: never): void }, get: () => Figures): void {
  const metric = { name: get().name, get: async () => get() }
  registry.registerMetric(metric as never)
}

/**
 * Says how processes make one figure of a metric that prom-client has made. Nothing for one that this system has not.
 *
 * Its default metrics take no such option. A metric reads its property `aggregator` at each `get()` (prom-client 15.1, `lib/gauge.js`), which
 * its types do not say.
 */
export function putTogether(metric: object | undefined, aggregator: string): void {
  if (metric !== undefined) Object.assign(metric, { aggregator })
}
