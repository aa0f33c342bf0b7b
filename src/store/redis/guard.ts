import { addedUp, type GuardCounts, type GuardStore } from '../../control/guard-tally.ts'
import { call, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** A guard lasts for a day at most. */
const KEEP_MS = 2 * 86_400_000

/** What processes have counted for a guard: a hash of instances, each with its two numbers. */
export function redisGuard(redis: RedisClient, keys: Keys): GuardStore {
  return {
    async countForGuard(guard, instance, { requests, refused }) {
      const key = keys.guard(guard)
      const [, , counted] = await transaction<[number, number, Record<string, string>]>(redis, (multi) => {
        multi.hset(key, instance, `${requests} ${refused}`).pexpire(key, KEEP_MS).hgetall(key)
      })
      return sumOf(counted)
    },
    readGuard: async (guard) => sumOf(await call(() => redis.hgetall(keys.guard(guard)))),
  }
}

function sumOf(counted: Record<string, string>): GuardCounts {
  return addedUp(
    Object.values(counted).map((text) => {
      const [requests = 0, refused = 0] = text.split(' ').map(Number)
      return { requests, refused }
    }),
  )
}
