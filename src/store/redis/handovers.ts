import type { HandoverStore } from '../../control/handover-store.ts'
import { call, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** One key for each link, which expires by itself. */
export function redisHandovers(redis: RedisClient, keys: Keys): HandoverStore {
  return {
    putHandover: (id, sealed, forMs) =>
      call(() => redis.set(keys.handover(id), sealed, 'PX', forMs)).then(() => undefined),
    async takeHandover(id) {
      const key = keys.handover(id)
      const [sealed] = await transaction<[string | null, number]>(redis, (multi) => multi.get(key).del(key))
      return sealed
    },
  }
}
