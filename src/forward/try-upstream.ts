import { ConnectionPool } from './client/pool.ts'
import type { ForwardOptions } from './contract.ts'
import { destinationFor } from './forwarder.ts'

/** Makes a connection as for a request, but sends nothing. @returns why that failed; `null` if it succeeded */
export async function tryUpstream(options: ForwardOptions): Promise<Error | null> {
  const { connectTimeoutMs } = options
  const pool = new ConnectionPool({
    ...options,
    destination: destinationFor(options),
    shortestMs: connectTimeoutMs,
    connectRetryMs: 0,
    maxConnections: 1,
  })
  try {
    return await new Promise((resolve) => {
      pool.acquireNew({ start: () => resolve(null), expire: resolve })
    })
  } finally {
    pool.destroy(new Error('it was tried'))
  }
}
