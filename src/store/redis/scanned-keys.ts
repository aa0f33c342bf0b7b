import { everyStep } from '../../lib/steps.ts'
import { call, pairsOf, run, UNREADABLE } from './calls.ts'
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
  const step = await run<[next: string, keys: string[]]>(redis, 'scanKeys', [keys.version], [from, pattern, most])
  const [next, names] = step
  return { names: [...new Set(names)], next: next === '0' ? null : next }
}

/** All steps, one after the other. */
export async function* keysBeginning(redis: RedisClient, keys: Keys, prefix: string, most: number) {
  const steps = everyStep((from: string | null) => stepOfKeys(redis, keys, prefix, from, most))
  for await (const { names } of steps) yield names
}

/** How many fields of a hash one step looks at. */
const FIELDS = 500

/** One step of a hash. @param from where the last step ended, `null` to begin @param otherwise what is read if the key has another type */
export async function stepOfHash(
  redis: RedisClient,
  key: string,
  from: string | null,
  otherwise: string[] = ['', UNREADABLE],
) {
  const [next, flat] = await call<[cursor: string, flat: string[]]>(
    () => redis.hscan(key, from ?? '0', 'COUNT', FIELDS),
    () => ['0', otherwise],
  )
  return { pairs: pairsOf(flat), next: next === '0' ? null : next }
}
