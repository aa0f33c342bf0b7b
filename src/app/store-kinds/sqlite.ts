import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { isInMemory } from '../../config/addresses.ts'
import { messageOf } from '../../errors.ts'
import { fileIdentity } from '../../lib/file-identity.ts'
import { repeat } from '../../lib/repeat.ts'
import type { StoreWarning } from '../../observe/observation.ts'
import { openSqliteCopyable } from '../../store/sqlite/copy.ts'
import { cureOf } from '../../store/sqlite/cures.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import { whyUnusable } from '../../store/sqlite/unusable.ts'
import type { Store } from '../../store/store.ts'
import { SetupError } from '../setup-error.ts'
import type { StoreWarnings } from '../store-warnings.ts'
import type { LocationOf, StoreKind } from './kind.ts'

/** The embedded store, which is a file. */
export const sqlite: StoreKind<LocationOf<'sqlite'>> = {
  name: (location) => (isInMemory(location) ? location.path : resolve(location.path)),
  place: ({ path }) => path,
  file: ({ path }) => fileIdentity(path),
  isYetToBeMade: (location) => !isInMemory(location) && !existsSync(location.path),
  remove({ path }) {
    // Includes the files that SQLite has beside it.
    const files = ['', '-wal', '-shm'].map((suffix) => path + suffix)
    for (const file of files.filter((file) => existsSync(file))) rmSync(file)
  },
  whyUnusable: ({ path }) => whyUnusable(path),
  access: () => null,
  async open({ location: { path } }, { warnings, toWrite, retention }) {
    const kept = retention === undefined ? {} : { retention }
    try {
      const store = openSqliteStore({ file: path, toWrite, ...kept, observe: warnings.observe })
      return reportingItsFile(store, path, warnings)
    } catch (cause) {
      const why = messageOf(cause)
      throw new SetupError(['store'], `cannot open ${path} (${why}): ${cureOf(why) ?? ANOTHER_FILE}`, cause)
    }
  },
  async tried({ location }) {
    const unusable = await whyUnusable(location.path)
    const good = isInMemory(location) ? 'is in memory' : `${resolve(location.path)} can be written`
    return [{ path: ['store'], result: unusable === null ? 'good' : 'failed', message: unusable ?? good }]
  },
  async openCopyable({ location: { path } }, exists, observe) {
    if (exists && !existsSync(path)) throw new Error(`there is no file ${path}: check the path`)
    try {
      return openSqliteCopyable(path, Date.now, observe)
    } catch (cause) {
      const why = messageOf(cause)
      const cure = cureOf(why) ?? 'name a database of Tollgate in a folder that can be written'
      throw new Error(`cannot open ${path} (${why}): ${cure}`, { cause })
    }
  },
}

/** The cure where `cureOf` has none. Another file would be empty, with full quotas and without access keys. */
const ANOTHER_FILE = 'name a file in a folder that exists and can be written, or a database that Tollgate made'

/**
 * SQLite goes on with a file that was removed or replaced, and responds as if nothing had happened. Later charges and
 * changes would disappear with the process, and nobody else would see them. So the file is checked every second, with
 * each ping, and at the end.
 */
function reportingItsFile(store: Store, path: string, { observe, begin, only }: StoreWarnings): Store {
  const opened = fileIdentity(path)
  const isLost = (): boolean => fileIdentity(path) !== opened
  const stopLooking = repeat(look, LOOK_MS)

  function look(): void {
    if (isLost()) begin('file_gone', lostFile(path))
    else only(NO_WARNINGS)
  }

  return {
    ...store,
    async ping() {
      await store.ping()
      look()
    },
    async close() {
      stopLooking()
      if (isLost()) observe({ type: 'store_lost', file: path })
      await store.close()
    },
  }
}

/** The time between two looks at the file of an embedded store, in milliseconds. */
const LOOK_MS = 1000

const NO_WARNINGS = new Set<StoreWarning>()

function lostFile(path: string): string {
  return `${path} is gone, or another file, and the one before is still in use: its charges and tokens end with this process; put it back, or restart the gateway`
}
