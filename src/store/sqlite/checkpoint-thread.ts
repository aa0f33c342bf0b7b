import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * The thread in which `checkpoints.ts` has the log copied, on a connection of its own that never waits. It must not create a file,
 * because if the database was moved away, a new empty file in its place would destroy the log of the old one.
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

/** The next batch reports a disk that is full or broken. @returns how many pages the log has */
function copy(): number {
  try {
    return (checkpoint.get() as { log: number }).log
  } catch {
    return 0
  }
}
