import cluster, { type Worker } from 'node:cluster'

/**
 * Forgets a worker that got no process, as for want of a file descriptor. Node forgets a worker when its process ends, and this one
 * never had one (26.10, `lib/internal/cluster/primary.js`). So without this each such worker would be kept for ever.
 */
export function forgetUnborn(worker: Worker): void {
  if (worker.process.pid === undefined) delete cluster.workers?.[worker.id]
}
