import { extname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { fileIdentity } from '../../lib/file-identity.ts'
import type { Observer } from '../../observe/observation.ts'

/** How many batches pass from one copy to the next. They make about 1,000 pages of 4 KiB. */
const EVERY_BATCHES = 256
/** From this many pages on the log should begin anew: 32 MiB. */
const LONG_LOG = 8192
/** From this many pages on SQLite itself copies within a commit: 64 MiB. By default it would be 1,000. */
const TOO_LONG_LOG = 16_384

const THREAD = new URL(`./checkpoint-thread${extname(import.meta.filename)}`, import.meta.url)

/** Copies the log of a database into its file beside the work of the process. */
export interface Checkpoints {
  /** Notes that a batch was committed. */
  written(): void
  close(): Promise<void>
}

/**
 * A checkpoint waits for the disk twice. By default SQLite makes it within a commit, which stops the event loop for
 * milliseconds, six times a second at 2,000 batches a second. So a thread makes it while the log grows. A log begins
 * anew only when all its pages are in the file, so the last few pages of a long log are copied here. The thread is
 * started when it is first needed.
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

  /** From now on SQLite makes checkpoints within a commit again, as it does by default. */
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

  /** The next batch reports a disk that is full or broken. */
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
      // The store reports a file that was taken away or replaced. Such a file must not be touched.
      if (worker === null && fileIdentity(file) !== opened) return
      state = 'copying'
      try {
        worker ??= start()
        worker.postMessage('copy')
      } catch (error) {
        // No thread could be started, but the batch is charged all the same.
        giveUp(error)
      }
    },
    async close() {
      const isRunning = worker !== null && state !== 'over'
      state = 'over'
      if (worker === null || !isRunning) return
      const { promise: exit, resolve } = Promise.withResolvers<void>()
      // The event comes after an error too.
      worker.once('exit', () => resolve())
      worker.ref()
      worker.postMessage('close')
      await exit
    },
  }
}
