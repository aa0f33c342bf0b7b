import { addedUp, type GuardCounts, type GuardStore } from '../../control/guard-tally.ts'
import type { Records } from '../records.ts'
import { call, lookedUp, transaction, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** How long counts are kept, in milliseconds. A guard lasts for a day at most. */
const KEEP_MS = 2 * 86_400_000

/** What processes have counted for a guard, as a hash of instances with two numbers each. */
export function redisGuard(redis: RedisClient, keys: Keys, lists: Records): GuardStore {
  const records = lists.list({
    kind: 'guard',
    list: keys.guard(''),
    parse: countsOf,
    look: (place) => {
      const [guard = '', ...instance] = place.split(' ')
      return lookedUp(() => redis.hget(keys.guard(guard), instance.join(' ')))
    },
  })

  function sumOf(guard: string, counted: Record<string, string>): GuardCounts {
    return addedUp(records.readAll(Object.entries(counted).map(([instance, text]) => [`${guard} ${instance}`, text])))
  }

  return {
    async countForGuard(guard, instance, { requests, refused }) {
      const key = keys.guard(guard)
      const [, , counted] = await transaction<[number, number, Record<string, string>]>(redis, (multi) => {
        multi.hset(key, instance, `${requests} ${refused}`).pexpire(key, KEEP_MS).hgetall(key)
      })
      return sumOf(guard, counted)
    },
    async readGuard(guard) {
      const counted = await call(
        () => redis.hgetall(keys.guard(guard)),
        () => ({ '': UNREADABLE }),
      )
      return sumOf(guard, counted)
    },
  }
}

function countsOf(text: string): GuardCounts | null {
  const [requests = Number.NaN, refused = Number.NaN, ...more] = text.split(' ').map(Number)
  return requests >= 0 && refused >= 0 && Number.isFinite(requests + refused) && more.length === 0
    ? { requests, refused }
    : null
}
