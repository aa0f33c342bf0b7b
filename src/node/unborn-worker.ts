import cluster, { type Worker } from 'node:cluster'

/**
 * Forgets a worker for which there was no process, as for want of a file descriptor. Node forgets one when its process ends, and this
 * one never was (26.10, `lib/internal/cluster/primary.js`): each further try would be kept for ever.
 */
export function forgetUnborn(worker: Worker): void {
  if (worker.process.pid === undefined) delete cluster.workers?.[worker.id]
}
