import type { UsageResponse, WindowResponse } from '../../admin/api.ts'

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

type Run = Pick<WindowResponse, 'limit' | 'used' | 'remaining' | 'startedAt' | 'resetAt'>

/** @param rate tokens used in a millisecond; `null` if it is not known @param at the time of the store, in milliseconds since the epoch */
export function forecastOf({ remaining, resetAt }: Run, rate: number | null, at: number): Forecast {
  if (remaining === 0) return { kind: 'full' }
  if (resetAt === null) return { kind: 'notRunning' }
  if (rate === null) return { kind: 'unknown' }
  const fullAt = at + remaining / rate
  return rate > 0 && fullAt < Date.parse(resetAt) ? { kind: 'at', at: fullAt } : { kind: 'notBefore' }
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
