import type { Config, UpstreamConfig } from '../config/config.ts'
import type { Patience } from '../forward/forwarder.ts'

/** The times in a rule of the route map; `null` for those of `upstream`. */
interface Times {
  readonly responseTimeoutMs: number | null
  readonly idleTimeoutMs: number | null
}

/** How long the upstream may be silent for a rule; `null` for the general values. */
export function patienceOf({ responseTimeoutMs, idleTimeoutMs }: Times, upstream: UpstreamConfig): Patience | null {
  if (responseTimeoutMs === null && idleTimeoutMs === null) return null
  return {
    responseTimeoutMs: responseTimeoutMs ?? upstream.responseTimeoutMs,
    idleTimeoutMs: idleTimeoutMs ?? upstream.idleTimeoutMs,
  }
}

/** The times of `upstream`, and of each rule that has its own. */
export function patiencesOf({ upstream, routes, unmatched }: Config): Patience[] {
  const rules: Times[] = unmatched.kind === 'charge' ? [...routes, unmatched] : [...routes]
  return [upstream, ...rules.map((times) => patienceOf(times, upstream)).filter((patience) => patience !== null)]
}

/** The shortest of all these times, in milliseconds. */
export function shortestOf(config: Config): number {
  const all = patiencesOf(config).map(({ responseTimeoutMs, idleTimeoutMs }) =>
    Math.min(responseTimeoutMs, idleTimeoutMs),
  )
  return all.reduce((a, b) => Math.min(a, b))
}
