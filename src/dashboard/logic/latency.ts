/** How long requests took, from counts by bucket. Pure. */

/** Upper bounds of the buckets of GET /api/usage in milliseconds. One more bucket counts longer requests. */
export const LATENCY_BOUNDS = [25, 50, 100, 250, 500, 1000, 2500, 10_000] as const

/** A share of the requests took at most `ms`, or longer than `ms` if `isAbove`. */
export interface LatencyBound {
  readonly ms: number
  readonly isAbove: boolean
}

/**
 * The bound of the bucket in which a share of the requests is reached.
 * @param counts by bucket @param share above 0, up to 1 @returns `null` if nothing was counted
 */
export function boundOf(counts: readonly number[], share: number): LatencyBound | null {
  const all = counts.reduce((sum, count) => sum + count, 0)
  if (all === 0) return null
  let below = 0
  const at = counts.findIndex((count) => {
    below += count
    return below >= share * all
  })
  const bound = LATENCY_BOUNDS[at]
  return bound === undefined
    ? { ms: LATENCY_BOUNDS[LATENCY_BOUNDS.length - 1] as number, isAbove: true }
    : { ms: bound, isAbove: false }
}
