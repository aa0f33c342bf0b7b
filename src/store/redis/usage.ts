import type { UsageStore, UsedStep } from '../../quota/quota-store.ts'
import { call, milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import { readCounters } from './form/section.ts'
import type { Keys } from './keys.ts'

/** Keys of the database that one step looks at: a step holds Redis and our event loop for a millisecond or two at most. */
const STEP = 250

export function redisUsage(redis: RedisClient, keys: Keys): UsageStore {
  return {
    scanUsers: (cursor) => scan(redis, keys, keys.user(''), cursor),
    scanOrganisations: (cursor) => scan(redis, keys, keys.organisation(''), cursor),
  }
}

async function scan(redis: RedisClient, keys: Keys, prefix: string, cursor: string | null): Promise<UsedStep> {
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}*`

  async function read(names: readonly string[]): Promise<Omit<UsedStep, 'next'>> {
    const [time, values = []] = await reading<[[string, string], (Buffer | null)[]?]>(redis, (commands) => {
      commands.time()
      if (names.length > 0) commands.mgetBuffer([...names])
    })
    const owners = names.flatMap((name, i) => {
      const counters = readCounters(values[i])
      return counters.size === 0 ? [] : [{ id: name.slice(prefix.length), counters }]
    })
    return { at: milliseconds(time), owners }
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
