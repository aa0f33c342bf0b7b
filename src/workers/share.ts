import { availableParallelism } from 'node:os'
import type { Config, Part, PartsConfig } from '../config/config.ts'

/** The number of processes that take requests. */
export function workerCount({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

/**
 * The configuration of one worker of several: the totals of the file are divided, rounded up. Values that the store
 * counts (windows, failures) are not divided. The quota stays unchanged, so that replicas with other numbers of workers
 * can be compared.
 */
export function shareOf(config: Config, workers: number): Config {
  const part = (total: number): number => Math.ceil(total / workers)
  const partOrNone = (total: number | null): number | null => (total === null ? null : part(total))
  /** A percentage refers to a total that is already divided. */
  const numberOf = (share: Part): Part => (share !== null && 'most' in share ? { most: part(share.most) } : share)
  const partsOf = ({ address, user, strangers }: PartsConfig): PartsConfig => ({
    address: numberOf(address),
    user: numberOf(user),
    strangers: numberOf(strangers),
  })
  const { upstream, edge } = config
  return {
    ...config,
    sharedBy: workers,
    upstream: {
      ...upstream,
      maxConnections: part(upstream.maxConnections),
      bufferTotal: part(upstream.bufferTotal),
    },
    edge: {
      ...edge,
      maxConnections: part(edge.maxConnections),
      maxConnectionsPerAddress: partOrNone(edge.maxConnectionsPerAddress),
      maxInFlight: part(edge.maxInFlight),
      maxInFlightPerUser: partOrNone(edge.maxInFlightPerUser),
      maxTunnels: part(edge.maxTunnels),
      shares: {
        connections: { strangers: numberOf(edge.shares.connections.strangers) },
        requests: partsOf(edge.shares.requests),
        bodies: partsOf(edge.shares.bodies),
        upstreamConnections: partsOf(edge.shares.upstreamConnections),
        tunnels: partsOf(edge.shares.tunnels),
        // Each worker has its own thread pool with all 256 places.
        checks: edge.shares.checks,
        // The numbers are so small that parts of them would refuse a page that asks for two things at once.
        usage: edge.shares.usage,
      },
    },
  }
}
