import { existsSync } from 'node:fs'
import type { StoreConfig } from '../config/config.ts'
import { messageOf } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import type { Copyable } from '../store/copy.ts'
import { openRedisCopyable } from '../store/redis/copy.ts'
import { openSqliteCopyable } from '../store/sqlite/copy.ts'
import { cureOf } from '../store/sqlite/cures.ts'

/**
 * Opens a store to copy it.
 * @param exists whether it must be there already: a file that is missing would be made, and be empty
 * @param observe hears of records that are left out, since they cannot be read
 * @throws Error with the cure, if a file cannot be used
 */
export function openCopyable(
  { location, prefix }: Pick<StoreConfig, 'location' | 'prefix'>,
  exists: boolean,
  observe: Observer = () => {},
): Copyable {
  if (location.kind === 'redis') return openRedisCopyable({ url: location.url, prefix }, observe)
  if (exists && !existsSync(location.path)) throw new Error(`there is no file ${location.path}: check the path`)
  try {
    return openSqliteCopyable(location.path, Date.now, observe)
  } catch (cause) {
    const why = messageOf(cause)
    const cure = cureOf(why) ?? 'name a database of Tollgate in a folder that can be written'
    throw new Error(`cannot open ${location.path} (${why}): ${cure}`, { cause })
  }
}
