import { availableParallelism } from 'node:os'
import type { Config } from '../config/config.ts'

/** How many processes take requests. */
export function workerCount({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

/**
 * The configuration of one worker of several: the totals of the file are divided, rounded up. What is counted in the store
 * (windows, failures) needs no division.
 */
export function shareOf(config: Config, workers: number): Config {
  const part = (total: number): number => Math.ceil(total / workers)
  const partOrNone = (total: number | null): number | null => (total === null ? null : part(total))
  const { upstream, edge, quota } = config
  return {
    ...config,
    upstream: { ...upstream, maxConnections: part(upstream.maxConnections) },
    // In an outage each worker admits on counters of its own.
    quota: {
      ...quota,
      storeOutage: new Map([...quota.storeOutage].map(([category, share]) => [category, share / workers])),
    },
    edge: {
      ...edge,
      maxConnections: part(edge.maxConnections),
      maxConnectionsPerAddress: partOrNone(edge.maxConnectionsPerAddress),
      maxInFlight: part(edge.maxInFlight),
      maxInFlightPerUser: partOrNone(edge.maxInFlightPerUser),
      maxTunnels: part(edge.maxTunnels),
    },
  }
}
