import type { SessionStore } from '../../control/session-store.ts'
import { call, lookedUp } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** One key for each session that was signed out. It expires with the session. */
export function redisSessions(redis: RedisClient, keys: Keys): SessionStore {
  return {
    endSession: (id, forMs) => call(() => redis.set(keys.endedSession(id), '1', 'PX', forMs)).then(() => undefined),
    isSessionEnded: async (id) => (await lookedUp(() => redis.get(keys.endedSession(id)))) !== null,
  }
}
