import type { Config, Part, PartsConfig } from '../config/config.ts'
import { type Bounds, type ShareRules, THINGS } from '../edge/shares.ts'

/** How many checks of signatures that take long may be under way. A new check waits for all of them. */
const MAX_CHECKS = 256

/**
 * How many questions of callers about their usage may be under way. A question is free, but as expensive as a charge. Each holds a
 * history of up to 1 MiB, so that all of them hold at most 64 MiB.
 */
const MAX_USAGE = 64

/** What an IPv6 /48 may hold, as a multiple of what one address may. */
const NETWORK = 1.5

/**
 * The bounds of a configuration as numbers. A part of a total is at least one. If no credential is ever accepted, all callers are
 * strangers, and no part is kept for other callers.
 */
export function shareRulesOf(config: Pick<Config, 'auth' | 'edge' | 'upstream' | 'routes' | 'unmatched'>): ShareRules {
  const rules = boundsOf(config)
  if (acceptsCredentials(config)) return rules
  return Object.fromEntries(THINGS.map((thing) => [thing, { ...rules[thing], strangers: null }])) as ShareRules
}

/** Whether some rule requires a credential, and some credential can be accepted. */
function acceptsCredentials({ auth, routes, unmatched }: Pick<Config, 'auth' | 'routes' | 'unmatched'>): boolean {
  const { jwt, introspection, gatewayTokens, trusted, clientCertificate } = auth
  const accepts =
    jwt.length > 0 || introspection.length > 0 || gatewayTokens || trusted !== null || clientCertificate !== null
  return accepts && (unmatched.kind === 'charge' || routes.some((route) => !route.public))
}

function boundsOf({ edge, upstream }: Pick<Config, 'edge' | 'upstream'>): ShareRules {
  const { shares } = edge
  const ofConnections = edge.maxConnectionsPerAddress
  return {
    connections: {
      total: null,
      address: ofConnections,
      network: widened(ofConnections),
      user: null,
      strangers: most(edge.maxConnections, shares.connections.strangers),
    },
    in_flight: { total: null, address: null, network: null, user: edge.maxInFlightPerUser, strangers: null },
    // Only a request whose credential is being checked holds one of these. Its user is not known yet, and all such requests are strangers.
    credentials: { ...bounds(edge.maxInFlight, shares.requests), user: null, strangers: null },
    requests: bounds(edge.maxInFlight, shares.requests),
    bodies: bounds(edge.maxInFlight, shares.bodies),
    // If all are taken, requests wait in the order of arrival (forward/client/pool.ts).
    upstream_connections: { ...bounds(upstream.maxConnections, shares.upstreamConnections), total: null },
    tunnels: bounds(edge.maxTunnels, shares.tunnels),
    checks: bounds(MAX_CHECKS, { ...shares.checks, user: null }),
    usage: bounds(MAX_USAGE, shares.usage),
  }
}

function bounds(total: number, { address, user, strangers }: PartsConfig): Bounds {
  const ofAddress = most(total, address)
  return {
    total,
    address: ofAddress,
    network: widened(ofAddress),
    user: most(total, user),
    strangers: most(total, strangers),
  }
}

function widened(ofAddress: number | null): number | null {
  return ofAddress === null ? null : Math.ceil(ofAddress * NETWORK)
}

function most(total: number, part: Part): number | null {
  if (part === null) return null
  return 'most' in part ? part.most : Math.max(1, Math.floor(total * part.part))
}
