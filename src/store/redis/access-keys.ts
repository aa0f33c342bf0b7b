import type { AccessKeyRecord, AccessKeyStore, AccessKeysStep } from '../../control/access-key-record.ts'
import { call, reading, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** An access key is found by its SHA-256, and that by its id. */
export function writeToken(multi: ReturnType<RedisClient['multi']>, keys: Keys, record: AccessKeyRecord): void {
  multi.hset(keys.tokens, record.hash, JSON.stringify(record)).hset(keys.tokenIds, record.id, record.hash)
}

/** Access keys that one step of HSCAN looks at. */
const STEP = 500

export async function readTokens(redis: RedisClient, keys: Keys, from: string | null): Promise<AccessKeysStep> {
  const [next, flat] = await call(() => redis.hscan(keys.tokens, from ?? '0', 'COUNT', STEP))
  return { records: flat.filter((_, i) => i % 2 === 1).map(parse), next: next === '0' ? null : next }
}

export function redisAccessKeys(redis: RedisClient, keys: Keys): AccessKeyStore {
  async function insertToken(record: AccessKeyRecord): Promise<void> {
    await transaction(redis, (multi) => {
      writeToken(multi, keys, record)
    })
    // Only a hint, as of other changes: the audit had its entry before.
    redis.publish(keys.changes, '').catch(() => {})
  }

  async function findTokens(ids: readonly string[]): Promise<readonly AccessKeyRecord[]> {
    const hashes = await eachOf(keys.tokenIds, ids)
    return (await eachOf(keys.tokens, hashes)).map(parse)
  }

  /** What is there of some fields of a hash. One by one: users of Redis may lack the right to HMGET. */
  async function eachOf(key: string, fields: readonly string[]): Promise<string[]> {
    if (fields.length === 0) return []
    const values = await reading<(string | null)[]>(redis, (commands) => {
      for (const field of fields) commands.hget(key, field)
    })
    return values.filter((value) => value !== null)
  }

  async function listTokens(): Promise<readonly AccessKeyRecord[]> {
    const records = await call(() => redis.hvals(keys.tokens))
    return records.map(parse).sort(newestFirst)
  }

  async function revokeToken(id: string, at: number): Promise<boolean> {
    const [record] = await findTokens([id])
    if (record === undefined) return false
    if (record.revokedAt === null) await insertToken({ ...record, revokedAt: at })
    return true
  }

  return { insertToken, findTokens, readTokens: (from) => readTokens(redis, keys, from), listTokens, revokeToken }
}

function parse(text: string): AccessKeyRecord {
  return JSON.parse(text) as AccessKeyRecord
}

function newestFirst(a: AccessKeyRecord, b: AccessKeyRecord): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)
}
