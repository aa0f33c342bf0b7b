import { availableParallelism } from 'node:os'
import type { Config, Part, PartsConfig } from '../config/config.ts'

/** How many processes take requests. */
export function workerCount({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

/**
 * The configuration of one worker of several: the totals of the file are divided, rounded up. What is counted in the
 * store (windows, failures) needs no division. The quota stays as it is, so that replicas with other numbers of workers
 * can be compared.
 */
export function shareOf(config: Config, workers: number): Config {
  const part = (total: number): number => Math.ceil(total / workers)
  const partOrNone = (total: number | null): number | null => (total === null ? null : part(total))
  /** A percentage is one of a total that is divided already. */
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
        // Each worker has a thread pool, and all 256, of its own.
        checks: edge.shares.checks,
        // So few that a part of them would refuse a page that asks for two things at once.
        usage: edge.shares.usage,
      },
    },
  }
}
