import type { UsageStore, UsedStep } from '../../quota/quota-store.ts'
import { readingAt } from './calls.ts'
import type { RedisClient } from './client.ts'
import { readCounters } from './form/section.ts'
import type { Keys } from './keys.ts'
import { stepOfKeys } from './scanned-keys.ts'

/** How many keys of the database one step looks at. A step then holds Redis and our event loop for at most two milliseconds. */
const STEP = 250

export function redisUsage(redis: RedisClient, keys: Keys): UsageStore {
  return {
    scanUsers: (cursor) => scan(redis, keys, keys.user(''), cursor),
    scanOrganisations: (cursor) => scan(redis, keys, keys.organisation(''), cursor),
  }
}

async function scan(redis: RedisClient, keys: Keys, prefix: string, cursor: string | null): Promise<UsedStep> {
  const step = await stepOfKeys(redis, keys, prefix, cursor, STEP)
  // The key without an id belongs to nobody.
  const names = step.names.filter((name) => name !== prefix)
  const [at, values = []] = await readingAt<[(Buffer | null)[]?]>(redis, (commands) => {
    if (names.length > 0) commands.mgetBuffer(names)
  })
  const owners = names.flatMap((name, i) => {
    const counters = readCounters(values[i])
    return counters.size === 0 ? [] : [{ id: name.slice(prefix.length), counters }]
  })
  return { at, owners, next: step.next }
}
