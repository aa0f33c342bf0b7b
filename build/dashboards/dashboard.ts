/**
 * What a dashboard of the chart is made of. In expressions `{@}` stands for the variables of the dashboard, and `{@job}` for
 * those that a recorded series has.
 */

export interface Query {
  readonly expr: string
  /** What a line is called. */
  readonly legend: string
}

export interface Panel {
  readonly title: string
  /** What it shows and what to make of it, in a sentence or two. */
  readonly about: string
  readonly unit: 'reqps' | 'percentunit' | 's' | 'short' | 'bytes' | 'none' | 'cps' | 'dateTimeFromNow'
  readonly queries: readonly Query[]
  /** Default `lines`. `table` shows the labels of each series. */
  readonly kind?: 'lines' | 'stack' | 'number' | 'bars' | 'table'
  /** From these values on it is orange, and red. */
  readonly limits?: readonly [orange: number, red: number]
}

export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly rows: readonly Row[]
}

/** One query. */
export const q = (legend: string, expr: string): Query => ({ legend, expr })

/** How fast a counter grows, by one of its labels. */
export const rateBy = (label: string, counter: string): Query =>
  q(`{{${label}}}`, `sum by (${label}) (rate(${counter}{@}[$__rate_interval]))`)

/** The median and the 99th percentile of a histogram. */
export const percentiles = (histogram: string): Query[] =>
  [0.5, 0.99].map((part) =>
    q(`p${part * 100}`, `histogram_quantile(${part}, sum by (le) (rate(${histogram}_bucket{@}[$__rate_interval])))`),
  )
