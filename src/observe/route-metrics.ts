import { UNMATCHED } from '../replicas/presence.ts'
import { LONG_SECONDS } from './counting.ts'
import { codeClass, joined } from './labels.ts'
import type { RequestDone } from './observation.ts'
import type { Meter } from './registry.ts'

/** The most label sets, whatever rules a reload brings: 10,000 rules have about 30,000 with `always`. */
const MOST_SERIES = 50_000

/** Names of routes that are no rules. A rule has a blank, so it has none of these names. */
const OF_GATEWAY = 'gateway'
const NONE = 'none'

/** Counts requests and their durations by the matching rule. The configuration bounds the number of rules. */
export function routeMetrics(meter: Meter): (done: RequestDone) => void {
  const key = joined()
  const total = meter.counter(
    'route_requests_total',
    'Requests by the rule that matched. Instead of a rule: gateway (pages of its own), unmatched (no rule), none (denied before).',
    ['route', 'outcome', 'code_class'],
    MOST_SERIES,
  )
  const duration = meter.histogram(
    'route_request_duration_seconds',
    'Time from the request to the end of its response by the rule that matched, without WebSockets.',
    LONG_SECONDS,
    ['route'],
    MOST_SERIES,
  )
  return (done) => {
    const { outcome, clientStatus, durationMs } = done
    const route = routeOf(done)
    total.add(key(key(route, outcome), codeClass(clientStatus)))
    // The end of a WebSocket only says how long people talked.
    if (done.httpStatus !== 101) duration.observe(route, durationMs / 1000)
  }
}

function routeOf({ route, outcome, error }: RequestDone): string {
  if (route !== null) return route
  if (outcome === 'answered') return OF_GATEWAY
  return error === 'no_route' ? UNMATCHED : NONE
}
