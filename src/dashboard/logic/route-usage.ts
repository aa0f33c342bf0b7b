import type { RoutesResponse, UsageResponse } from '../../contract/api.ts'
import { boundOf, type LatencyBound } from './latency.ts'

/** What was asked of each route in a range, beside what the configuration says of it. Pure. */

/** All routes together that are too seldom for counts of their own. */
export const OTHER_ROUTES = 'other'

export type Rule = RoutesResponse['routes'][number]
type UsageRow = UsageResponse['rows'][number]

/**
 * What is counted of a route. Forwarded requests with the status 0 got no response; `gateway5xx` are those to which the gateway itself
 * responded so; tunnels are not among the forwarded ones.
 */
export const COUNTS = [
  ...(['requests', 'tokens', 'refused', 'forwarded'] as const),
  ...(['status4xx', 'status5xx', 'status0', 'gateway5xx'] as const),
] as const

type Counts = Readonly<Record<(typeof COUNTS)[number], number>>

/** What a range had of one route, or of all together. */
export interface Counted extends Counts {
  /** Of the forwarded requests 95 % took no longer. `null` if there were none. */
  readonly p95: LatencyBound | null
}

export interface RouteUsage extends Counted {
  /** The rule as the configuration has it. */
  readonly match: string
  /** `null` if the configuration has it no more, or if it stands for several. */
  readonly rule: Rule | null
}

/** All rules, in the order of the configuration, and behind them those that only the range has. */
export function routeUsages(rules: readonly Rule[], rows: readonly UsageRow[]): readonly RouteUsage[] {
  const byMatch = new Map(rows.map((row) => [row.route ?? '', row]))
  const known = new Set(rules.map(({ match }) => match))
  const gone = rows.filter(({ route = '' }) => !known.has(route))
  return [
    ...rules.map((rule) => ({ match: rule.match, rule, ...countedIn(byMatch.get(rule.match)) })),
    ...gone.map((row) => ({ match: row.route ?? '', rule: null, ...countedIn(row) })),
  ]
}

/** @param row of a range; `undefined` if nothing was counted */
export function countedIn(row: Partial<UsageRow> = {}): Counted {
  const { requests = 0, tokens = 0, status4xx = 0, status5xx = 0, status0 = 0, gateway5xx = 0, latency = [] } = row
  const { refusedPersonal = 0, refusedOrganisation = 0, refusedGlobal = 0 } = row
  return {
    ...{ requests, status4xx, status5xx, status0, gateway5xx },
    tokens: Math.max(0, tokens),
    refused: refusedPersonal + refusedOrganisation + refusedGlobal,
    forwarded: latency.reduce((sum, count) => sum + count, 0),
    p95: boundOf(latency, 0.95),
  }
}

/** @returns 0 to 1; `null` of nothing */
export function shareOf(part: number, whole: number): number | null {
  return whole > 0 ? Math.min(1, part / whole) : null
}
