import type { StoreConfig } from './config/config.ts'
import type { Observer } from './observe/observation.ts'
import { openRedisStore } from './store/redis/store.ts'
import { openSqliteStore } from './store/sqlite/store.ts'
import type { Store } from './store/store.ts'

/** Opens the store that a configuration names. @throws Error with the cure, where the file of the embedded store cannot be used */
export function openStore({ location, prefix, deadlineMs }: StoreConfig, observe: Observer): Store {
  if (location.kind === 'redis') return openRedisStore({ url: location.url, prefix, deadlineMs, observe })
  try {
    return openSqliteStore({ file: location.path })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const cure = 'name a file in a folder that exists and can be written, or a database that Tollgate made'
    throw new Error(`store: cannot open ${location.path} (${why}): ${cure}`, { cause })
  }
}
