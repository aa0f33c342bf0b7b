import { statSync } from 'node:fs'
import type { StoreConfig } from '../config/config.ts'
import { messageOf } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import { cureOf } from '../store/sqlite/cures.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import { SetupError } from './setup-error.ts'

/** Opens the store that a configuration names, for a gateway. @throws SetupError with the cure, where the file of the embedded store cannot be used */
export async function openStore(config: StoreConfig, observe: Observer): Promise<Store> {
  return open(config, observe, true)
}

/** The same for a command, which may do with a file that it can only read. */
export async function openStoreToLook(config: StoreConfig): Promise<Store> {
  return open(config, () => {}, false)
}

/** The client of Redis is loaded with its store: 10 MB and 50 ms of CPU that a gateway with the embedded one does not spend. */
async function open(
  { location, prefix, deadlineMs }: StoreConfig,
  observe: Observer,
  toWrite: boolean,
): Promise<Store> {
  if (location.kind === 'redis') {
    const { openRedisStore } = await import('../store/redis/redis-store.ts')
    return openRedisStore({ url: location.url, prefix, deadlineMs, observe })
  }
  try {
    return reportingItsFile(openSqliteStore({ file: location.path, toWrite, observe }), location.path, observe)
  } catch (cause) {
    const why = messageOf(cause)
    throw new SetupError(['store'], `cannot open ${location.path} (${why}): ${cureOf(why) ?? ANOTHER_FILE}`, cause)
  }
}

/** Not where the file has a cure of its own: another one would be empty, with full quotas for everybody and no tokens. */
const ANOTHER_FILE = 'name a file in a folder that exists and can be written, or a database that Tollgate made'

/**
 * SQLite goes on in a file that was taken away or replaced, and answers as if nothing were wrong: what is charged and changed
 * from then on is gone with the process, and nobody else sees it. Whether it is there still is looked at with each ping.
 */
function reportingItsFile(store: Store, path: string, observe: Observer): Store {
  const opened = identityOf(path)
  let reported = false
  return {
    ...store,
    async ping() {
      await store.ping()
      const lost = identityOf(path) !== opened
      if (lost && !reported) observe({ type: 'store_warning', message: lostFile(path) })
      reported = lost
    },
  }
}

function lostFile(path: string): string {
  return `${path} is gone, or another file, and the one before is still in use: its charges and tokens end with this process; put it back, or restart the gateway`
}

/** `null` without a file that can be looked at, as of a store in memory. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
