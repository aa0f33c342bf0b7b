import type { Observation } from './observation.ts'

/** A function for each type of observation that a reader counts. It ignores the types without a function. */
export type Counting = {
  readonly [T in Observation['type']]?: (seen: Extract<Observation, { readonly type: T }>) => void
}

export function count<T extends Observation['type']>(
  counting: Counting,
  seen: Extract<Observation, { readonly type: T }>,
): void {
  counting[seen.type as T]?.(seen)
}

/** Bounds of histograms for times of a few milliseconds, in seconds. */
export const SHORT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]

/** Bounds of histograms for the times of whole requests, in seconds. */
export const LONG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
