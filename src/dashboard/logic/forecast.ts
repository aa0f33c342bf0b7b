import type { UsageResponse, WindowResponse } from '../../contract/api.ts'
import {
  type Forecast,
  type ForecastSources,
  forecastOf as forecastOfRun,
  LEAST_AGE_MS,
  type Run,
} from '../../quota/forecast.ts'
import { HALF_HOUR_MS } from './half-hour.ts'

export type { Forecast }

/** When a shared window will be full if its tokens are used as in the latest half hour. Pure. */

type Window = Pick<WindowResponse, 'limit' | 'over' | 'used' | 'startedAt' | 'resetAt'>

/** The forecast for a window in the form of the API. */
export function forecastOf(
  window: Window,
  { shorter = [], ...sources }: Omit<ForecastSources, 'shorter'> & { readonly shorter?: readonly Window[] },
): Forecast {
  return forecastOfRun(runOf(window), { ...sources, shorter: shorter.map(runOf) })
}

/** The limit of the run includes the tokens beyond a soft limit, because only then the window refuses. */
function runOf({ limit, over = 0, used, startedAt, resetAt }: Window): Run {
  return { limit: limit + over, used, startedAt: timeOf(startedAt), endsAt: timeOf(resetAt) }
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text)
}

/**
 * Tokens of a category used per millisecond in the latest half hour, or in the oldest run if that is younger.
 * @param windows of the category
 * @param recent tokens of the latest half hour; `null` if unknown
 * @returns `null` if no run is old enough, or if `recent` is needed and unknown
 */
export function rateOf(windows: readonly Window[], recent: number | null, at: number): number | null {
  const running = windows.flatMap(({ used, startedAt }) =>
    startedAt === null ? [] : [{ used, age: at - Date.parse(startedAt) }],
  )
  const oldest = running.reduce((a, b) => (b.age > a.age ? b : a), { used: 0, age: 0 })
  if (oldest.age < LEAST_AGE_MS) return null
  if (oldest.age < HALF_HOUR_MS) return oldest.used / oldest.age
  return recent === null ? null : Math.max(0, recent) / HALF_HOUR_MS
}

/** The question to GET /api/usage for `recentTokens`: this half hour and the previous one. */
export const RECENT_PATH = '/api/usage?by=category&step=30m&from=60m&limit=1000'

/** About how many tokens a category used in the latest 30 minutes: those of this half hour, and a part of the previous one's. */
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
