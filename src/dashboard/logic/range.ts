/** How far back a page looks. */

export const RANGES = ['1h', '6h', '24h', '7d'] as const
export type Range = (typeof RANGES)[number]

const USUAL: Range = '24h'

/** What the address has; anything else is the default. */
export function rangeOf(text: string | undefined): Range {
  return RANGES.find((range) => range === text) ?? USUAL
}

/** Minutes of it. */
export const RANGE_MINUTES = { '1h': 60, '6h': 360, '24h': 1440, '7d': 10_080 } as const

/**
 * What is asked of GET /api/usage. The store counts by half hours, and those that begin in the range are read: the one that is still
 * counted, and as many before it as the range has room for.
 */
export function usageFrom(range: Range): string {
  return `${RANGE_MINUTES[range]}m`
}

/** The step of a chart: of 7 days one bar for each half hour would be thinner than a pencil. */
export function stepOf(range: Range): '30m' | '1h' {
  return range === '7d' ? '1h' : '30m'
}
