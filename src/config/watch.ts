import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRegular } from '../lib/regular-file.ts'
import { repeat } from '../lib/repeat.ts'
import { hashText } from './hash.ts'

export interface WatchOptions {
  /** For how many milliseconds the content must stay the same before it counts, so that nothing is read half-written. Default 200. */
  readonly debounceMs?: number
  /** For how many milliseconds the file must be missing before that counts, because editors rewrite it. Default 2000. */
  readonly missingMs?: number
  /** Milliseconds between two looks at the file without an event. Default 5000. */
  readonly pollMs?: number
  /** `hashText` of the loaded content, so that a change before the watch began is noticed. Default the content at the start. */
  readonly loadedHash?: string
}

export interface ConfigWatch {
  /** After this there are no further calls. */
  close(): void
}

/**
 * Calls `onChange` when the content of a file has changed. The file may be rewritten, replaced by a rename, or reached by a
 * link that is swapped, as in a ConfigMap. A file that disappears or comes back has changed too. Events of the folder show most
 * changes at once. Polling finds the others, because links lead out of the folder, and some file systems report nothing.
 * Without an event, the file is read only if its marks have changed, or once a minute.
 */
export function watchConfig(file: string, onChange: () => void, options: WatchOptions = {}): ConfigWatch {
  return new FileWatch(file, onChange, options)
}

/** Content that changes within this time after its last change may have the same marks. */
const RESTED_MS = 5000
/** How often a file with the same marks is read, because some file systems keep no marks. */
const READ_MS = 60_000

/**
 * | State | an event, or the time to look | the content is another | it stays the same |
 * |---|---|---|---|
 * | idle | looking | | |
 * | looking | looks once more afterwards | settling | idle |
 * | settling | looks once more afterwards | settling | `onChange`, idle |
 *
 * After `close` it calls nobody.
 */
class FileWatch implements ConfigWatch {
  readonly #file: string
  readonly #onChange: () => void
  readonly #debounceMs: number
  readonly #missingMs: number
  readonly #watcher: FSWatcher | null
  readonly #stopPolling: () => void
  #known: string | null | undefined
  /** The file's marks when it was read as `#known`; `null` if a change may not show in them. */
  #marks: string | null = null
  #readAt = 0
  #isLooking = false
  #isAskedAgain = false
  #isClosed = false

  constructor(file: string, onChange: () => void, options: WatchOptions) {
    const { debounceMs = 200, missingMs = 2000, pollMs = 5000, loadedHash } = options
    this.#file = file
    this.#onChange = onChange
    this.#debounceMs = debounceMs
    this.#missingMs = missingMs
    this.#known = loadedHash
    const look = () => void this.#look()
    this.#watcher = watchFolder(file, look)
    this.#stopPolling = repeat(() => void this.#poll(), pollMs)
    look()
  }

  close(): void {
    this.#isClosed = true
    this.#stopPolling()
    this.#watcher?.close()
  }

  async #poll(): Promise<void> {
    const isKnown = this.#marks !== null && performance.now() < this.#readAt + READ_MS
    if (isKnown && this.#marks === (await marksOf(this.#file))) return
    await this.#look()
  }

  async #look(): Promise<void> {
    this.#isAskedAgain = this.#isLooking
    if (this.#isLooking || this.#isClosed) return
    this.#isLooking = true
    await this.#lookOnce()
    this.#isLooking = false
    // An event that came meanwhile may report a later change than the one that was read.
    if (this.#isAskedAgain) await this.#look()
  }

  async #lookOnce(): Promise<void> {
    const marks = await marksOf(this.#file)
    let hash = await hashOf(this.#file)
    this.#marks = hash === this.#known ? marks : null
    this.#readAt = performance.now()
    if (this.#known === undefined) this.#known = hash
    while (hash !== this.#known && !this.#isClosed) {
      const again = hash === null ? await this.#returned() : await this.#hashAfter(this.#debounceMs)
      if (again === hash) this.#settle(hash)
      hash = again
    }
  }

  /** Waits for the return of a missing file. */
  async #returned(): Promise<string | null> {
    const until = performance.now() + this.#missingMs
    let hash = null
    while (hash === null && performance.now() < until && !this.#isClosed) {
      hash = await this.#hashAfter(this.#debounceMs)
    }
    return hash
  }

  async #hashAfter(ms: number): Promise<string | null> {
    await sleep(ms, undefined, { ref: false })
    return hashOf(this.#file)
  }

  #settle(hash: string | null): void {
    this.#known = hash
    if (!this.#isClosed) this.#onChange()
  }
}

/** The link that the kubelet swaps when a ConfigMap changes. */
const CONFIG_MAP_LINK = '..data'

function watchFolder(file: string, look: () => void): FSWatcher | null {
  try {
    const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
      if (name === null || name === basename(file) || name === CONFIG_MAP_LINK) look()
    })
    // The folder has disappeared, so only polling is left.
    return watcher.on('error', () => watcher.close())
  } catch {
    return null
  }
}

/** The parts of a file's status that a change affects. `null` without a file, or right after a change. */
async function marksOf(file: string): Promise<string | null> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await stat(file, { bigint: true })
    if (Math.abs(Date.now() - Number(ctimeMs)) < RESTED_MS) return null
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch {
    return null
  }
}

/** `null` also for a file that cannot be read, which would otherwise end the watch. */
async function hashOf(file: string): Promise<string | null> {
  try {
    return hashText((await readRegular(file)).toString())
  } catch {
    return null
  }
}
