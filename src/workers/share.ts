import { availableParallelism } from 'node:os'
import type { Config } from '../config/config.ts'

/** How many processes take requests. */
export function workerCount({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

/**
 * The configuration of one worker of several: the totals of the file are divided, rounded up. What is counted in the store
 * (windows, failures) needs no division. The quota stays as it is: by it replicas with other numbers of workers are compared.
 */
export function shareOf(config: Config, workers: number): Config {
  const part = (total: number): number => Math.ceil(total / workers)
  const partOrNone = (total: number | null): number | null => (total === null ? null : part(total))
  const { upstream, edge } = config
  return {
    ...config,
    sharedBy: workers,
    upstream: { ...upstream, maxConnections: part(upstream.maxConnections) },
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
