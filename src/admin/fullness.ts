import { type Counter, usageOf } from '../quota/counter.ts'
import { forecastOf, paceOf, type Run } from '../quota/forecast.ts'
import { overOf } from '../quota/refusal.ts'
import { beginOf, endOf, type Limit, NOT_RUNNING, promised } from '../quota/window.ts'
import type { LimitsOf } from '../usage/beyond.ts'
import { iso, isoOrNull } from './http.ts'

/** How full the windows of one user or organisation are, and when they will be full. These functions are pure. */

export interface Fullness {
  /** The window nearest to its limit; `null` if nothing is used and no limit is 0. */
  readonly worst: Place | null
  /** The used part of the limit of `worst`: 0 or more, infinite for a limit of 0. */
  readonly share: number
  /** The sum of tokens in the longest windows of all categories. */
  readonly tokens: number
  /** Whether one of the windows has no room for the cheapest request of its category. */
  readonly isFull: boolean
  /** The window that will be full first at the present pace, and when; `null` for none. */
  readonly forecast: (Pick<Place, 'category' | 'limit'> & { readonly at: number }) | null
}

interface Place {
  readonly category: string
  readonly limit: Limit
  readonly run: Run
}

export interface FullnessRules {
  readonly categories: readonly string[]
  /** By category, the cost of the cheapest request. */
  readonly cheapest: ReadonlyMap<string, number>
  /** The store's time, in milliseconds since the epoch. */
  readonly at: number
}

/** @param limitsOf the limits of each category, shortest window first */
export function fullnessOf(
  counters: ReadonlyMap<string, Counter>,
  limitsOf: LimitsOf,
  { categories, cheapest, at }: FullnessRules,
): Fullness {
  const found = {
    worst: null as Place | null,
    share: 0,
    tokens: 0,
    isFull: false,
    forecast: null as Fullness['forecast'],
  }
  for (const category of categories) {
    const limits = limitsOf(category) ?? []
    const counter = counters.get(category) ?? []
    const runs = limits.map((limit) => runOf(limit, counter, at))
    const least = cheapest.get(category)
    const rate = runs[0] === undefined ? null : paceOf(runs[0], at)
    for (const [i, limit] of limits.entries()) {
      const run = runs[i] as Run
      const share = shareOf(limit, run.used)
      if (share > found.share) Object.assign(found, { worst: { category, limit, run }, share })
      if (least === undefined) continue
      const forecast = forecastOf(run, { rate, at, shorter: runs.slice(0, i), least })
      if (forecast.kind === 'full') found.isFull = true
      if (forecast.kind === 'at' && forecast.at < (found.forecast?.at ?? Number.POSITIVE_INFINITY))
        found.forecast = { category, limit, at: forecast.at }
    }
    found.tokens += runs.at(-1)?.used ?? 0
  }
  return found
}

function shareOf(limit: Limit, used: number): number {
  const whole = promised(limit)
  return whole > 0 ? used / whole : Number.POSITIVE_INFINITY
}

function runOf({ limit, window }: Limit, counter: Counter, at: number): Run {
  const usage = usageOf(counter, window, at)
  if (usage === NOT_RUNNING) return { limit, used: 0, startedAt: null, endsAt: null }
  const endsAt = endOf(window, beginOf(window, usage.startedAt))
  return { limit, used: usage.used, startedAt: usage.startedAt, endsAt }
}

/** How full windows are, in the form of the API. */
export function fullnessShown({ worst, tokens, forecast }: Fullness) {
  return {
    worst: worst && {
      category: worst.category,
      window: worst.limit.window.name,
      used: worst.run.used,
      limit: promised(worst.limit),
      ...overOf(worst.limit),
      resetAt: isoOrNull(worst.run.endsAt),
    },
    forecast: forecast && {
      category: forecast.category,
      window: forecast.limit.window.name,
      fullAt: iso(forecast.at),
    },
    tokens,
  }
}
