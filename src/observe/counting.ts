import type { Observation } from './observation.ts'

/** What is done with each type of observation, as the metrics count it. With a type that is missing nothing is done. */
export type Counting = {
  readonly [T in Observation['type']]?: (seen: Extract<Observation, { readonly type: T }>) => void
}

export function count<T extends Observation['type']>(
  counting: Counting,
  seen: Extract<Observation, { readonly type: T }>,
): void {
  counting[seen.type as T]?.(seen)
}

/** Bounds of histograms of what takes milliseconds, in seconds. */
export const SHORT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]

/** The same for requests as a whole. */
export const LONG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
