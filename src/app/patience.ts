import type { Config, UpstreamConfig } from '../config/config.ts'
import type { Patience } from '../forward/forwarder.ts'

/** What a rule of the route map says of times; `null` for what `upstream` says. */
interface Times {
  readonly responseTimeoutMs: number | null
  readonly idleTimeoutMs: number | null
}

/** For how long the upstream may be silent at a rule; `null` for as long as elsewhere. */
export function patienceOf({ responseTimeoutMs, idleTimeoutMs }: Times, upstream: UpstreamConfig): Patience | null {
  if (responseTimeoutMs === null && idleTimeoutMs === null) return null
  return {
    responseTimeoutMs: responseTimeoutMs ?? upstream.responseTimeoutMs,
    idleTimeoutMs: idleTimeoutMs ?? upstream.idleTimeoutMs,
  }
}

/** All that a configuration has: that of `upstream`, and those of the rules. */
export function patiencesOf({ upstream, routes, unmatched }: Config): Patience[] {
  const rules: Times[] = unmatched.kind === 'charge' ? [...routes, unmatched] : [...routes]
  return [upstream, ...rules.map((times) => patienceOf(times, upstream)).filter((patience) => patience !== null)]
}

/** The shortest time of all, in milliseconds. */
export function shortestOf(config: Config): number {
  const all = patiencesOf(config).map(({ responseTimeoutMs, idleTimeoutMs }) =>
    Math.min(responseTimeoutMs, idleTimeoutMs),
  )
  return all.reduce((a, b) => Math.min(a, b))
}
