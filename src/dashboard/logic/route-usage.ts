import type { RoutesResponse, UsageResponse } from '../../contract/api.ts'
import { boundOf, type LatencyBound } from './latency.ts'

/** The usage of each route in a range, with its configuration. Pure. */

/** Stands for all routes that are too rare for counts of their own. */
export const OTHER_ROUTES = 'other'

export type Rule = RoutesResponse['routes'][number]
type UsageRow = UsageResponse['rows'][number]

/**
 * The counts of a route. Forwarded requests with status 0 got no response; `gateway5xx` are responses of the gateway itself; tunnels
 * are not among the forwarded ones.
 */
export const COUNTS = [
  ...(['requests', 'tokens', 'refused', 'forwarded'] as const),
  ...(['status4xx', 'status5xx', 'status0', 'gateway5xx'] as const),
] as const

type Counts = Readonly<Record<(typeof COUNTS)[number], number>>

/** The counts of one route in a range, or of all together. */
export interface Counted extends Counts {
  /** 95 % of the forwarded requests took no longer. `null` if there were none. */
  readonly p95: LatencyBound | null
}

export interface RouteUsage extends Counted {
  /** The rule as in the configuration. */
  readonly match: string
  /** `null` if the rule is no longer configured, or if this stands for several. */
  readonly rule: Rule | null
}

/** All rules in the order of the configuration, and then those that only the range has. */
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

/** @returns 0 to 1; `null` if there is no whole */
export function shareOf(part: number, whole: number): number | null {
  return whole > 0 ? Math.min(1, part / whole) : null
}
