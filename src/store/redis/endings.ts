import type { EndingList, Endings } from '../endings.ts'
import { call, lookedUp, reading, readingAt, run, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** Each entry has a key, which expires by itself. */
export function redisEndings(redis: RedisClient, keys: Keys): Endings {
  const namesOf = (list: EndingList, ids: readonly string[]) => ids.map((id) => keys.ending(list, id))
  return {
    placeOf: (list) => keys.ending(list, ''),
    look: (list, id) => lookedUp(() => redis.get(keys.ending(list, id))),
    read: (list, ids) => call(() => redis.mget(namesOf(list, ids))),
    async readAt(list, ids) {
      const names = namesOf(list, ids)
      const [at, texts] = await readingAt<[(string | null)[]]>(redis, (commands) => commands.mget(names))
      return { at, texts }
    },
    async readOne(list, id) {
      const key = keys.ending(list, id)
      const [text, leftMs] = await reading<[string | null, number]>(
        redis,
        (commands) => commands.get(key).pttl(key),
        () => null,
      )
      return text === null || leftMs < 0 ? null : { text, leftMs }
    },
    async put(entries, forMs) {
      await transaction(redis, (multi) => {
        for (const [list, id, text] of entries) {
          if (text === null) multi.del(keys.ending(list, id))
          else multi.set(keys.ending(list, id), text, 'PX', forMs)
        }
      })
    },
    async putLater(list, id, text, forMs, mostMs) {
      await run(redis, 'putLater', [keys.ending(list, id)], [text, forMs, mostMs])
    },
    async take(list, id) {
      const key = keys.ending(list, id)
      const [text] = await transaction<[string | null, number]>(redis, (multi) => multi.get(key).del(key))
      return text
    },
    noteTimes: (list, ids, forMs) => run(redis, 'noteTimes', namesOf(list, ids), [forMs]),
  }
}
