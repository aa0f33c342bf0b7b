import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRegular } from '../lib/regular-file.ts'
import { repeat } from '../lib/repeat.ts'
import { hashText } from './hash.ts'

export interface WatchOptions {
  /** How long the content must stay the same before it counts, in milliseconds, so that nothing is read half written. Default 200. */
  readonly debounceMs?: number
  /** How long the file must be gone before that counts, in milliseconds: some editors take it away and write it anew. Default 2000. */
  readonly missingMs?: number
  /** Between two looks at the file if no event comes, in milliseconds. Default 5000. */
  readonly pollMs?: number
  /** `hashText` of what was loaded, so that a change before the watch began is seen. Default: of what is there at the start. */
  readonly loadedHash?: string
}

export interface ConfigWatch {
  /** No call comes after it. */
  close(): void
}

/**
 * Calls `onChange` when the content of a file has become another one. The file may be rewritten, replaced by a rename,
 * or reached by a link that is swapped, as in a ConfigMap. A file that is gone is a change too, and so is its return.
 * The folder's events make it quick, and looking again and again makes it sure: links lead out of the folder, and some file
 * systems report nothing. A look without an event reads the file only if its marks are others than when it was read, or once a
 * minute.
 */
export function watchConfig(file: string, onChange: () => void, options: WatchOptions = {}): ConfigWatch {
  return new FileWatch(file, onChange, options)
}

/** Content that changes within this time of its last change can have the same marks. */
const RESTED_MS = 5000
/** Between two readings of a file whose marks stay the same: there are file systems that keep none. */
const READ_MS = 60_000

/**
 * | State | an event, or the time to look | the content is another | it stays the same |
 * |---|---|---|---|
 * | idle | looking | | |
 * | looking | looks once more afterwards | settling | idle |
 * | settling | looks once more afterwards | settling | `onChange`, idle |
 *
 * Closed, it calls nobody any more.
 */
class FileWatch implements ConfigWatch {
  readonly #file: string
  readonly #onChange: () => void
  readonly #debounceMs: number
  readonly #missingMs: number
  readonly #watcher: FSWatcher | null
  readonly #stopPolling: () => void
  #known: string | null | undefined
  /** Of the file when it was read as `#known`; `null` if a change need not show in them. */
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
    // An event that came in between may be of a later change than was seen.
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

  /** Waits for a file that is gone. */
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
    // The folder went away: what is left is polling.
    return watcher.on('error', () => watcher.close())
  } catch {
    return null
  }
}

/** What a change of a file changes. `null` without a file, or if its last change is so new that the next may look the same. */
async function marksOf(file: string): Promise<string | null> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await stat(file, { bigint: true })
    if (Math.abs(Date.now() - Number(ctimeMs)) < RESTED_MS) return null
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch {
    return null
  }
}

/** `null` also for what cannot be read to its end, which would end the watch. */
async function hashOf(file: string): Promise<string | null> {
  try {
    return hashText((await readRegular(file)).toString())
  } catch {
    return null
  }
}
