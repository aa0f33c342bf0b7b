import type { KnownUserStore } from '../../quota/known-users.ts'
import type { RecordList, Records } from '../records.ts'
import { shareReads } from '../shared-reads.ts'
import { call, lookedUp, milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** How many users one command looks up. */
const MOST_READS = 256

/** The value that known-users.lua writes: when the user first charged, and when this is forgotten. */
interface KnownUser {
  readonly first: number
  readonly ends: number
}

export function knownUserRecords(redis: RedisClient, keys: Keys, records: Records): RecordList<string, KnownUser> {
  return records.list({
    kind: 'known_user',
    list: keys.known(''),
    parse(text: string) {
      const [, first, ends] = /^(\d{1,15}) (\d{1,15})$/.exec(text) ?? []
      return first === undefined ? null : { first: Number(first), ends: Number(ends) }
    },
    look: (user) => lookedUp(() => redis.get(keys.known(user))),
  })
}

export function writeKnownUser({ first, ends }: KnownUser): string {
  return `${first} ${ends}`
}

/** One key for each user, which expires by itself. */
export function redisKnownUsers(redis: RedisClient, keys: Keys, lists: Records): KnownUserStore {
  const records = knownUserRecords(redis, keys, lists)

  async function read(users: readonly string[]): Promise<(number | null)[]> {
    const [time, values] = await reading<[[string, string], (string | null)[]]>(redis, (commands) => {
      commands.time().mget(users.map(keys.known))
    })
    const now = milliseconds(time)
    return values.map((text, i) => {
      const known = text === null ? null : records.read(users[i] ?? '', text)
      return known === null ? null : Math.max(0, now - known.first)
    })
  }

  async function noteUsers(users: readonly string[], rememberMs: number): Promise<readonly number[]> {
    if (users.length === 0) return []
    return call(() => redis.noteUsers(users.length, ...users.map(keys.known), String(rememberMs)))
  }

  return { noteUsers, knownFor: shareReads(read, MOST_READS) }
}
