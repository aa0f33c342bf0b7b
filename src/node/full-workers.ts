import type { Server } from 'node:net'

/**
 * Lets a worker of a cluster close the connections above its `maxConnections`.
 *
 * Otherwise Node gives them back to the primary, which hands them to the next worker, and full workers pass them round for ever.
 * Node's documentation names `dropMaxConnection`, its types do not (26.10, @types/node 26).
 */
export function closeAboveMaximum(server: Server): void {
  Object.assign(server, { dropMaxConnection: true })
}
