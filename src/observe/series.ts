/** The most label sets of a metric that sets no other number. Further ones are counted as `other`. */
const MAX_SERIES = 500

/**
 * The values of one metric, kept as plain numbers under the label values joined by a newline. prom-client gets them
 * only at a scrape: it hashes and checks the labels at each call, also of a child resolved beforehand
 * (docs/contributing/decisions/metric-series.md).
 */
class Series<T> {
  readonly #byKey = new Map<string, T>()
  readonly #labelNames: readonly string[]
  readonly #most: number
  readonly #create: () => T

  constructor(labelNames: readonly string[], most: number, create: () => T) {
    this.#labelNames = labelNames
    this.#most = most
    this.#create = create
    // A metric without labels exists from the start, as 0.
    if (labelNames.length === 0) this.at('')
  }

  at(key: string): T {
    return this.#byKey.get(key) ?? this.#add(key)
  }

  #add(key: string): T {
    const other = this.#labelNames.map(() => 'other').join('\n')
    if (this.#byKey.size >= this.#most && key !== other) return this.at(other)
    const value = this.#create()
    this.#byKey.set(key, value)
    return value
  }

  *[Symbol.iterator](): Generator<{ labels: Record<string, string>; value: T }> {
    for (const [key, value] of this.#byKey) {
      const values = key.split('\n')
      yield { labels: Object.fromEntries(this.#labelNames.map((name, i) => [name, values[i] ?? ''])), value }
    }
  }
}

/** A counter. */
export class Counts {
  readonly series: Series<{ count: number }>
  readonly labelNames: readonly string[]

  constructor(labelNames: readonly string[] = [], most = MAX_SERIES) {
    this.labelNames = labelNames
    this.series = new Series(labelNames, most, () => ({ count: 0 }))
  }

  /** @param key the label values, joined by a newline */
  add(key: string, by = 1): void {
    this.series.at(key).count += by
  }
}

/** A histogram. */
export class Distribution {
  /** One count for each bound, and one for values above all bounds; not cumulative. */
  readonly series: Series<{ sum: number; counts: number[] }>
  /** Upper bounds, ascending. A value equal to a bound belongs to it. */
  readonly bounds: readonly number[]

  constructor(bounds: readonly number[], labelNames: readonly string[] = [], most = MAX_SERIES) {
    this.bounds = bounds
    this.series = new Series(labelNames, most, () => ({ sum: 0, counts: Array<number>(bounds.length + 1).fill(0) }))
  }

  /** @param key the label values, joined by a newline; empty if there are none */
  observe(key: string, value: number): void {
    const { bounds } = this
    let i = 0
    while (i < bounds.length && value > (bounds[i] ?? 0)) i++
    const entry = this.series.at(key)
    entry.sum += value
    entry.counts[i] = (entry.counts[i] ?? 0) + 1
  }
}
