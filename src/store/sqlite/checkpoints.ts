import { extname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { fileIdentity } from '../../lib/file-identity.ts'
import type { Observer } from '../../observe/observation.ts'

/** Batches from one copy to the next: about 1,000 pages of 4 KiB. */
const EVERY_BATCHES = 256
/** Pages in the log from which on it shall begin anew: 32 MiB. */
const LONG_LOG = 8192
/** Pages from which on SQLite itself copies within a commit: 64 MiB. By default 1,000. */
const TOO_LONG_LOG = 16_384

const THREAD = new URL(`./checkpoint-thread${extname(import.meta.filename)}`, import.meta.url)

/** Copies the log of a database into its file beside the work of the process. */
export interface Checkpoints {
  /** A batch was committed. */
  written(): void
  close(): Promise<void>
}

/**
 * A checkpoint waits for the disk, twice. SQLite makes it within a commit, and the event loop stands still meanwhile:
 * milliseconds, six times a second at 2,000 batches a second. A thread makes it while the log grows on. A log begins
 * anew only when the file has every page of it. So the last pages of a long one are copied here, which are few. The
 * thread is started when it has something to do.
 */
export function checkpointsOf(database: DatabaseSync, file: string, observe: Observer, thread = THREAD): Checkpoints {
  if (file === ':memory:') return { written: () => {}, close: async () => {} }
  const opened = fileIdentity(file)
  let worker: Worker | null = null
  let state: 'idle' | 'copying' | 'over' = 'idle'
  let batches = 0

  function start(): Worker {
    database.exec(`PRAGMA wal_autocheckpoint = ${TOO_LONG_LOG}`)
    const started = new Worker(thread, { workerData: file })
    started.unref()
    started.on('message', onCopied)
    started.on('error', giveUp)
    return started
  }

  /** SQLite does it within a commit, as it does by default. */
  function giveUp(error: unknown): void {
    state = 'over'
    observe({ type: 'internal_error', where: 'checkpoints', error })
    if (database.isOpen) database.exec('PRAGMA wal_autocheckpoint = 1000')
  }

  function onCopied(pages: number): void {
    if (state === 'over') return
    state = 'idle'
    if (pages >= LONG_LOG) copyTheRest()
  }

  /** A disk that is full or broken is reported by the next batch. */
  function copyTheRest(): void {
    try {
      database.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch {}
  }

  return {
    written() {
      batches++
      if (state !== 'idle' || batches < EVERY_BATCHES) return
      batches = 0
      // A file that was taken away or replaced, as the store reports, is none of ours.
      if (worker === null && fileIdentity(file) !== opened) return
      state = 'copying'
      try {
        worker ??= start()
        worker.postMessage('copy')
      } catch (error) {
        // The batch is charged all the same: no thread is to be had.
        giveUp(error)
      }
    },
    async close() {
      const isRunning = worker !== null && state !== 'over'
      state = 'over'
      if (worker === null || !isRunning) return
      const { promise: exit, resolve } = Promise.withResolvers<void>()
      // It comes after an error, too.
      worker.once('exit', () => resolve())
      worker.ref()
      worker.postMessage('close')
      await exit
    },
  }
}
