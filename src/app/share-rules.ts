import type { Config, Part, PartsConfig } from '../config/config.ts'
import type { Bounds, ShareRules } from '../edge/shares.ts'

/** Checks of signatures that take long: of ES512 this is 0.3 s of CPU, which whoever comes next waits for. */
const MAX_CHECKS = 256

/** The bounds that a configuration sets, in numbers. A part of a total is at least one. */
export function shareRulesOf({ edge, upstream }: Pick<Config, 'edge' | 'upstream'>): ShareRules {
  const { shares } = edge
  return {
    connections: { total: null, address: edge.maxConnectionsPerAddress, user: null },
    in_flight: { total: null, address: null, user: edge.maxInFlightPerUser },
    requests: bounds(edge.maxInFlight, shares.requests),
    bodies: bounds(edge.maxInFlight, shares.bodies),
    // Whoever comes when all are taken waits in the order of arrival (forward/client/pool.ts).
    upstream_connections: { ...bounds(upstream.maxConnections, shares.upstreamConnections), total: null },
    tunnels: bounds(edge.maxTunnels, shares.tunnels),
    checks: { total: MAX_CHECKS, address: most(MAX_CHECKS, shares.checks.address), user: null },
  }
}

function bounds(total: number, { address, user }: PartsConfig): Bounds {
  return { total, address: most(total, address), user: most(total, user) }
}

function most(total: number, part: Part): number | null {
  if (part === null) return null
  return 'most' in part ? part.most : Math.max(1, Math.floor(total * part.part))
}
