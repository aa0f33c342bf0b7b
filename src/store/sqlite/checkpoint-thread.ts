import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Where `checkpoints.ts` has the log copied, on a connection of the thread's own. It waits for nobody. It makes no file:
 * an empty one would take the log of the one that was taken away along with it.
 */
const file = pathToFileURL(workerData as string)
file.searchParams.set('mode', 'rw')
const database = new DatabaseSync(file, { timeout: 0 })
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')

parentPort?.on('message', (message: 'copy' | 'close') => {
  if (message === 'close') {
    database.close()
    parentPort?.close()
    return
  }
  parentPort?.postMessage(copy())
})

/** A disk that is full or broken is reported by the next batch. @returns how many pages the log has */
function copy(): number {
  try {
    return (checkpoint.get() as { log: number }).log
  } catch {
    return 0
  }
}
