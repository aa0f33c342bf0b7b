import { KEEP_KEY_SET_MS, type KeySetStore } from '../../control/kept-key-sets.ts'
import { call, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** One key for each set, which expires with it. Its time to live says when the issuer sent the set, by the clock of Redis. */
export function redisKeySets(redis: RedisClient, keys: Keys): KeySetStore {
  return {
    async keepKeySet(id, text, ageMs) {
      await call(() => redis.keepKeySet(keys.keySet(id), text, KEEP_KEY_SET_MS - ageMs))
    },
    async readKeySet(id) {
      const key = keys.keySet(id)
      const [text, leftMs] = await reading<[string | null, number]>(
        redis,
        (commands) => commands.get(key).pttl(key),
        () => null,
      )
      return text === null || leftMs < 0 ? null : { text, ageMs: Math.max(0, KEEP_KEY_SET_MS - leftMs) }
    },
  }
}
