import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashText } from './hash.ts'

export interface WatchOptions {
  /** How long the content must stay the same before it counts, in milliseconds, so that nothing is read half written. Default 200. */
  readonly debounceMs?: number
  /** How long the file must be gone before that counts, in milliseconds: some editors take it away and write it anew. Default 2000. */
  readonly missingMs?: number
  /** Between two looks at the file where no event came, in milliseconds. Default 1000. */
  readonly pollMs?: number
  /** `hashText` of what was loaded, so that a change before the watch began is seen. Default: of what is there at the start. */
  readonly loadedHash?: string
}

export interface ConfigWatch {
  /** No call comes after it. */
  close(): void
}

/**
 * Calls `onChange` when the content of a file has become another one: rewritten, replaced by a rename, or by the swap of
 * a symbolic link on the way to it, as a ConfigMap does. A file that is gone is a change too, and so is its return.
 *
 * The folder's events make it quick, looking again and again makes it sure: links lead out of the folder, some file
 * systems report nothing, and a modification time can be the same after a change. A small file is cheap to read.
 */
export function watchConfig(file: string, onChange: () => void, options: WatchOptions = {}): ConfigWatch {
  const { debounceMs = 200, missingMs = 2000, pollMs = 1000 } = options
  let known: string | null | undefined = options.loadedHash
  let isLooking = false
  let isAskedAgain = false
  let isClosed = false

  async function look(): Promise<void> {
    isAskedAgain = isLooking
    if (isLooking || isClosed) return
    isLooking = true
    await lookOnce()
    isLooking = false
    // An event that came in between may tell of a later change than was seen.
    if (isAskedAgain) await look()
  }

  async function lookOnce(): Promise<void> {
    let hash = await hashOf(file)
    if (known === undefined) known = hash
    while (hash !== known && !isClosed) {
      const again = hash === null ? await returned() : await hashAfter(debounceMs)
      if (again === hash) settle(hash)
      hash = again
    }
  }

  /** Waits for a file that is gone. */
  async function returned(): Promise<string | null> {
    const until = performance.now() + missingMs
    let hash = null
    while (hash === null && performance.now() < until && !isClosed) hash = await hashAfter(debounceMs)
    return hash
  }

  async function hashAfter(ms: number): Promise<string | null> {
    await sleep(ms, undefined, { ref: false })
    return hashOf(file)
  }

  function settle(hash: string | null): void {
    known = hash
    if (!isClosed) onChange()
  }

  const watcher = watchFolder(file, look)
  const timer = setInterval(look, pollMs).unref()
  void look()
  return {
    close() {
      isClosed = true
      clearInterval(timer)
      watcher?.close()
    },
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

async function hashOf(file: string): Promise<string | null> {
  try {
    return hashText(await readFile(file, 'utf8'))
  } catch {
    return null
  }
}
