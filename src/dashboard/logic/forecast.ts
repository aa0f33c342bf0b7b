import type { UsageResponse, WindowResponse } from '../../contract/api.ts'

/** When a shared window will be full, if its tokens go on being used as in the latest half hour. Pure. */

const HALF_HOUR_MS = 1_800_000

/** A window that began a moment ago says nothing about what comes. */
const LEAST_MS = 60_000

export type Forecast =
  /** No token is left. */
  | { readonly kind: 'full' }
  /** About then no token will be left, in milliseconds since the epoch. */
  | { readonly kind: 'at'; readonly at: number }
  /** It ends before it is full. */
  | { readonly kind: 'notBefore' }
  /** Nothing is used in it, so it has not begun. */
  | { readonly kind: 'notRunning' }
  /** Too little is known of how fast its tokens are used. */
  | { readonly kind: 'unknown' }

type Run = Pick<WindowResponse, 'limit' | 'over' | 'used' | 'remaining' | 'startedAt' | 'resetAt'>

interface ForecastSources {
  /** Tokens used in a millisecond; `null` if it is not known. */
  readonly rate: number | null
  /** The time of the store, in milliseconds since the epoch. */
  readonly at: number
  /** Other windows of the same category: none lets more pass than it has room for. Default none. */
  readonly shorter?: readonly Run[]
  /** The least that a request costs: with less left the window is full. Default 1. */
  readonly least?: number
}

export function forecastOf(run: Run, { rate, at, shorter: others = [], least = 1 }: ForecastSources): Forecast {
  const { remaining, resetAt } = withOver(run)
  const shorter = others.map(withOver)
  if (remaining < least) return { kind: 'full' }
  if (resetAt === null) return { kind: 'notRunning' }
  if (rate === null) return { kind: 'unknown' }
  if (rate === 0) return { kind: 'notBefore' }
  const wanted = Math.max(...[...shorter.map((other) => passedAt(other, remaining, rate, at)), at + remaining / rate])
  return wanted < Date.parse(resetAt) ? { kind: 'at', at: wanted } : { kind: 'notBefore' }
}

/** A window is full once nothing passes beyond its limit either. */
function withOver(run: Run): Run {
  const { limit, over = 0, used } = run
  return over === 0 ? run : { ...run, limit: limit + over, remaining: Math.max(0, limit + over - used) }
}

/** When a window has let so many tokens pass, in this run and the next ones. @returns Infinity if it never does */
function passedAt({ limit, remaining, startedAt, resetAt }: Run, tokens: number, rate: number, at: number): number {
  if (startedAt === null || resetAt === null) return limit > 0 ? at : Number.POSITIVE_INFINITY
  const end = Date.parse(resetAt)
  const now = Math.min(remaining, rate * (end - at))
  if (now >= tokens) return at + tokens / rate
  const ofRun = Math.min(limit, rate * (end - Date.parse(startedAt)))
  if (ofRun <= 0) return Number.POSITIVE_INFINITY
  const runs = Math.ceil((tokens - now) / ofRun) - 1
  return end + runs * (end - Date.parse(startedAt)) + (tokens - now - runs * ofRun) / rate
}

/**
 * Tokens of a category that are used in a millisecond: of the latest half hour. If even the oldest run is younger than that, all that was
 * used in it.
 * @param windows those of the category
 * @param recent tokens of the latest half hour; `null` if they are not known
 * @returns `null` if no run is old enough
 */
export function rateOf(windows: readonly Run[], recent: number | null, at: number): number | null {
  const running = windows.flatMap(({ used, startedAt }) =>
    startedAt === null ? [] : [{ used, age: at - Date.parse(startedAt) }],
  )
  const oldest = running.reduce((a, b) => (b.age > a.age ? b : a), { used: 0, age: 0 })
  if (oldest.age < LEAST_MS) return null
  if (oldest.age < HALF_HOUR_MS) return oldest.used / oldest.age
  return recent === null ? null : Math.max(0, recent) / HALF_HOUR_MS
}

/** What is asked of GET /api/usage for `recentTokens`: this half hour, and the one before. */
export const RECENT_PATH = '/api/usage?by=category&step=30m&from=60m&limit=1000'

/** Tokens that a category used in the latest 30 minutes: of the half hour before this one the part that lies in them. */
export function recentTokens({ rows }: Pick<UsageResponse, 'rows'>, category: string, at: number): number {
  const current = Math.floor(at / HALF_HOUR_MS) * HALF_HOUR_MS
  const weights = new Map([
    [current, 1],
    [current - HALF_HOUR_MS, 1 - (at - current) / HALF_HOUR_MS],
  ])
  return rows
    .filter((row) => row.category === category)
    .reduce((sum, { start, tokens }) => sum + tokens * (weights.get(Date.parse(start)) ?? 0), 0)
}
