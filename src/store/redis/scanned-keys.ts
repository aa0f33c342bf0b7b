import { call } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/**
 * One step of the keys whose names begin so, each once in it. SCAN may give a key again in another step.
 * @param cursor of the step before, `null` to begin. Anything else begins anew: to Redis it would be an error, and to the caller a store
 *   that is out
 * @param most keys of the database that the step looks at
 * @returns `next` is `null` behind the last step
 */
export async function stepOfKeys(redis: RedisClient, keys: Keys, prefix: string, cursor: string | null, most: number) {
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}*`
  const from = cursor !== null && /^\d{1,20}$/.test(cursor) ? cursor : '0'
  const [next, names] = await call(() => redis.scanKeys(keys.version, from, pattern, most))
  return { names: [...new Set(names)], next: next === '0' ? null : next }
}

/** All steps, one after the other. */
export async function* keysBeginning(redis: RedisClient, keys: Keys, prefix: string, most: number) {
  let cursor: string | null = null
  do {
    const step: { names: string[]; next: string | null } = await stepOfKeys(redis, keys, prefix, cursor, most)
    yield step.names
    cursor = step.next
  } while (cursor !== null)
}
