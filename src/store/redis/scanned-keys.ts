import { call } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/**
 * One step through the keys with a prefix. A key comes once in a step, but SCAN may return it again in a later one.
 * @param cursor of the step before, `null` to begin. Any other text begins anew, because Redis would return an error, which looks like
 * an outage
 * @param most how many keys of the database the step looks at
 * @returns `next` is `null` after the last step
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
