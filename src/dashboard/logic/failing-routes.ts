import { COUNTS, type Counted, countedIn } from './route-usage.ts'
import { totalOf, type UsageRow } from './series.ts'

/** The routes with failures, and failures without a route. Pure. */

export interface FailingRoute extends Counted {
  /** `null` for requests without a route. */
  readonly route: string | null
}

/**
 * Routes with failed requests, most failures first.
 * @param rows one for each route @param all for all requests together. The difference becomes a row of its own
 */
export function failingRoutes(rows: readonly UsageRow[], all: UsageRow | undefined): readonly FailingRoute[] {
  const routes = rows.map((row) => ({ route: row.route ?? '', ...countedIn(row) }))
  return [...routes, withoutRoute(routes, countedIn(all))]
    .filter((row) => failedOf(row) > 0)
    .sort((a, b) => failedOf(b) - failedOf(a))
}

function failedOf({ status5xx, status0, gateway5xx }: Counted): number {
  return status5xx + status0 + gateway5xx
}

/** The routes and the whole are read a moment apart, so the sum of the routes may even be above the whole. */
function withoutRoute(routes: readonly Counted[], all: Counted): FailingRoute {
  const rest = COUNTS.map((field) => [field, Math.max(0, all[field] - totalOf(routes.map((row) => row[field])))])
  return { ...all, ...Object.fromEntries(rest), route: null, p95: null }
}
