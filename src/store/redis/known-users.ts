import type { KnownUserStore } from '../../quota/known-users.ts'
import { call, milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { shareReads } from './shared-reads.ts'

/** Users who are looked up by one command. */
const MOST_READS = 256

/** What known-users.lua writes: when the user charged first, and when that is forgotten. */
export function readKnownUser(text: string): { readonly first: number; readonly ends: number } {
  const [first = 0, ends = 0] = text.split(' ').map(Number)
  return { first, ends }
}

export function writeKnownUser({ first, ends }: ReturnType<typeof readKnownUser>): string {
  return `${first} ${ends}`
}

/** A key for each user, which ends by itself. */
export function redisKnownUsers(redis: RedisClient, keys: Keys): KnownUserStore {
  async function read(users: readonly string[]): Promise<(number | null)[]> {
    const [time, values] = await reading<[[string, string], (string | null)[]]>(redis, (commands) => {
      commands.time().mget(users.map(keys.known))
    })
    const now = milliseconds(time)
    return values.map((text) => (text === null ? null : Math.max(0, now - readKnownUser(text).first)))
  }

  async function noteUsers(users: readonly string[], rememberMs: number): Promise<readonly number[]> {
    if (users.length === 0) return []
    return call(() => redis.noteUsers(users.length, ...users.map(keys.known), String(rememberMs)))
  }

  return { noteUsers, knownFor: shareReads(read, MOST_READS) }
}
