import type {
  AccessKeyRecord,
  AccessKeyStore,
  AccessKeysStep,
  FoundAccessKey,
} from '../../control/access-key-record.ts'
import { call, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** An access key is found by its SHA-256, and that by its id. For a copy; control.lua does the same. */
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
  async function findTokens(ids: readonly string[]): Promise<readonly FoundAccessKey[]> {
    const hashes = await eachOf(keys.tokenIds, ids)
    const texts = await eachOf(
      keys.tokens,
      hashes.map((hash) => hash ?? ''),
    )
    return ids.flatMap((id, i) => found(id, hashes[i] ?? null, texts[i] ?? null))
  }

  async function findTokenByHash(hash: string): Promise<FoundAccessKey | null> {
    const [text = null] = await eachOf(keys.tokens, [hash])
    if (text === null) return null
    const record = parse(text)
    return { id: record.id, hash, record }
  }

  /** What is there of some fields of a hash. One by one: users of Redis may lack the right to HMGET. */
  async function eachOf(key: string, fields: readonly string[]): Promise<(string | null)[]> {
    if (fields.length === 0) return []
    return reading<(string | null)[]>(redis, (commands) => {
      for (const field of fields) commands.hget(key, field)
    })
  }

  async function listTokens(): Promise<readonly AccessKeyRecord[]> {
    const records = await call(() => redis.hvals(keys.tokens))
    return records.map(parse).sort(newestFirst)
  }

  return { findTokens, findTokenByHash, readTokens: (from) => readTokens(redis, keys, from), listTokens }
}

function found(id: string, hash: string | null, text: string | null): FoundAccessKey[] {
  return hash === null || text === null ? [] : [{ id, hash, record: parse(text) }]
}

function parse(text: string): AccessKeyRecord {
  return JSON.parse(text) as AccessKeyRecord
}

function newestFirst(a: AccessKeyRecord, b: AccessKeyRecord): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)
}
