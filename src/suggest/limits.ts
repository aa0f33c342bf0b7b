import { MAX_LIMIT } from '../quota/policy.ts'

/** How limits are computed from past usage. */
export interface Margin {
  /** The percentage of users whose busiest run the limit covers, above 0 to 100. */
  readonly percentile: number
  /** A factor on that value, at least 1. */
  readonly headroom: number
}

/** If fewer users than this can use up a global limit, `check` warns. */
export const FEW = 10

/** The value that so many percent of the numbers do not exceed. @param sorted the least first, at least one */
export function percentileOf(sorted: readonly number[], percentile: number): number {
  const rank = Math.max(1, Math.ceil((percentile / 100) * sorted.length))
  return sorted[Math.min(rank, sorted.length) - 1] ?? 0
}

/** Rounds up to the next number of two digits and zeros. */
export function roundedUp(tokens: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, tokens))) - 1)
  return Math.min(MAX_LIMIT, Math.ceil(Number((tokens / unit).toPrecision(12))) * unit)
}
