import type { Observation } from './observation.ts'

/** How the metrics count each type of observation. A type that is missing is not counted. */
export type Counting = {
  readonly [T in Observation['type']]?: (seen: Extract<Observation, { readonly type: T }>) => void
}

/** Bounds of histograms of what takes milliseconds, in seconds. */
export const SHORT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]

/** The same of requests as a whole. */
export const LONG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
