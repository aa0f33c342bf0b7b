import type { Counter } from '../../quota/counter.ts'
import type { UsageStore } from '../../quota/quota-store.ts'
import { call, milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import { readCounters } from './form/section.ts'
import type { Keys } from './keys.ts'

/** Keys of the database that one step looks at: a step holds Redis and our event loop for a millisecond or two at most. */
const STEP = 250

export function redisUsage(redis: RedisClient, keys: Keys): UsageStore {
  return {
    async scanUsers(cursor) {
      const { at, found, next } = await scan(redis, keys, keys.user(''), cursor)
      return { at, users: found.map(([user, counters]) => ({ user, counters })), next }
    },
    async scanOrganisations(cursor) {
      const { at, found, next } = await scan(redis, keys, keys.organisation(''), cursor)
      return { at, organisations: found.map(([organisation, counters]) => ({ organisation, counters })), next }
    },
  }
}

/** The counters of each that has any, by its id. */
type Found = readonly (readonly [id: string, counters: ReadonlyMap<string, Counter>])[]

async function scan(redis: RedisClient, keys: Keys, prefix: string, cursor: string | null) {
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}*`

  async function read(names: readonly string[]): Promise<{ at: number; found: Found }> {
    const [time, values = []] = await reading<[[string, string], (Buffer | null)[]?]>(redis, (commands) => {
      commands.time()
      if (names.length > 0) commands.mgetBuffer([...names])
    })
    const found = names.flatMap((name, i) => {
      const counters = readCounters(values[i])
      return counters.size === 0 ? [] : [[name.slice(prefix.length), counters] as const]
    })
    return { at: milliseconds(time), found }
  }

  const [next, names] = await call(() => redis.scanKeys(keys.version, isCursor(cursor) ? cursor : '0', pattern, STEP))
  // SCAN may give a key twice, and the key without an id is nobody's.
  const ours = [...new Set(names)].filter((name) => name !== prefix)
  return { ...(await read(ours)), next: next === '0' ? null : next }
}

/** Whoever sends something else begins anew: to Redis it would be an error, and to the caller a store that is out. */
function isCursor(cursor: string | null): cursor is string {
  return /^\d{1,20}$/.test(cursor ?? '')
}
