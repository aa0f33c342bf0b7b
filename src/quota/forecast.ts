/**
 * When a window will be full if its tokens are used at one pace. These functions are pure. They serve the windows of users, organisations
 * and everybody, and the dashboard calls them too.
 */

/** The present state of a window. Times are in milliseconds since the epoch. */
export interface Run {
  /** Tokens that pass in one run, including those over a soft limit. */
  readonly limit: number
  readonly used: number
  /** `null` for a window that is not running. */
  readonly startedAt: number | null
  readonly endsAt: number | null
}

export type Forecast =
  /** Fewer tokens are left than the cheapest request costs. */
  | { readonly kind: 'full' }
  /** No token will be left at about this moment, in milliseconds since the epoch. */
  | { readonly kind: 'at'; readonly at: number }
  /** The run ends before it is full. */
  | { readonly kind: 'notBefore' }
  /** The window is not running, because nothing is used in it. */
  | { readonly kind: 'notRunning' }
  /** The pace is not known well enough. */
  | { readonly kind: 'unknown' }

export interface ForecastSources {
  /** The pace in tokens per millisecond; `null` if it is not known. */
  readonly rate: number | null
  /** The time of the store, in milliseconds since the epoch. */
  readonly at: number
  /** Other windows of the same category. They can slow this one down by letting less pass. Default none. */
  readonly shorter?: readonly Run[]
  /** The lowest cost of a request. The window is full if less is left. Default 1. */
  readonly least?: number
}

/** The least age of a run in milliseconds from which its pace is judged. */
export const LEAST_AGE_MS = 60_000

export function forecastOf(run: Run, { rate, at, shorter = [], least = 1 }: ForecastSources): Forecast {
  const left = leftIn(run)
  if (left < least) return { kind: 'full' }
  if (run.endsAt === null) return { kind: 'notRunning' }
  if (rate === null) return { kind: 'unknown' }
  if (rate === 0) return { kind: 'notBefore' }
  const wanted = Math.max(...[...shorter.map((other) => passedAt(other, left, rate, at)), at + left / rate])
  return wanted < run.endsAt ? { kind: 'at', at: wanted } : { kind: 'notBefore' }
}

/**
 * Tokens used per millisecond in the run of the shortest window. If the window does not run, the pace is 0.
 * @returns `null` if the run is too young to say
 */
export function paceOf({ used, startedAt }: Pick<Run, 'used' | 'startedAt'>, at: number): number | null {
  if (startedAt === null) return 0
  return at - startedAt < LEAST_AGE_MS ? null : used / (at - startedAt)
}

function leftIn({ limit, used }: Run): number {
  return Math.max(0, limit - used)
}

/** When a window has let this many tokens pass, in this run and the following ones. @returns Infinity if it never does */
function passedAt(run: Run, tokens: number, rate: number, at: number): number {
  const { limit, startedAt, endsAt } = run
  if (startedAt === null || endsAt === null) return limit > 0 ? at : Number.POSITIVE_INFINITY
  const now = Math.min(leftIn(run), rate * (endsAt - at))
  if (now >= tokens) return at + tokens / rate
  const ofRun = Math.min(limit, rate * (endsAt - startedAt))
  if (ofRun <= 0) return Number.POSITIVE_INFINITY
  const runs = Math.ceil((tokens - now) / ofRun) - 1
  return endsAt + runs * (endsAt - startedAt) + (tokens - now - runs * ofRun) / rate
}
