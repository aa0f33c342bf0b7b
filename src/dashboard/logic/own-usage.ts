import { RANGE_MINUTES, type Range } from './range.ts'
import { daysOf, pointsOf, type SeriesPoint, type UsageRow } from './series.ts'

/** What one user, or one organisation, used over time. Pure. */

interface OwnUsage {
  /** In the order of their names. */
  readonly categories: readonly string[]
  /** Each has the sum of all categories, and behind it each category by itself. */
  readonly points: readonly SeriesPoint[]
}

type Response = Parameters<typeof pointsOf>[0]

/**
 * The question to GET /api/usage. Runs are counted where they begin; those that do in the range are read, with half an hour more.
 * @param kind whose usage it is
 */
export function ownUsagePath(kind: 'user' | 'organisation', id: string, range: Range): string {
  const from = `${RANGE_MINUTES[range] + 30}m`
  return `/api/usage?${new URLSearchParams({ by: kind, [kind]: id, step: ownStep(range), from, limit: '1000' })}`
}

/** Of a week hours are asked for, which the page adds up to days of its own clock: the days of the API are those of UTC. */
function ownStep(range: Range): '30m' | '1h' {
  return range === '7d' || range === '24h' ? '1h' : '30m'
}

/**
 * @param range of a week each point is a day by the clock of the browser: only the runs of a long window may be kept of it, and an hour
 *   has none of its own
 */
export function ownUsageOf(response: Response, range: Range): OwnUsage {
  const categories = [...new Set(response.rows.map(({ category = '' }) => category))].sort()
  const each = categories.map((name) => {
    const rows = response.rows.filter(({ category = '' }) => category === name)
    return pointsOf({ ...response, rows }, tokensOf)
  })
  const points = pointsOf({ ...response, rows: [] }, tokensOf).map((point, i) => {
    const values = each.map((of) => of[i]?.values[0] ?? 0)
    return { ...point, values: [values.reduce((sum, value) => sum + value, 0), ...values] }
  })
  return { categories, points: range === '7d' ? daysOf(points) : points }
}

const tokensOf = ({ tokens }: UsageRow) => [tokens]
