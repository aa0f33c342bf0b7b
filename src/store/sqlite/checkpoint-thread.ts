import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * The thread in which `checkpoints.ts` has the log copied, by a connection of its own that waits for nobody. The connection makes no
 * file, because a new and empty file in the place of one that was moved away would destroy the log that belongs to the old one.
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
