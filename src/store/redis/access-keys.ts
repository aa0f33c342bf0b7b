import { randomUUID } from 'node:crypto'
import {
  type AccessKeyRecord,
  type AccessKeyStore,
  type AccessKeysStep,
  endOfToken,
  type FoundAccessKey,
} from '../../control/access-key-store.ts'
import { accessKeyOf } from '../../control/record-forms.ts'
import { everyStep } from '../../lib/steps.ts'
import type { RecordList, Records } from '../records.ts'
import { lookedUp, reading, run, transaction, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { stepOfHash } from './scanned-keys.ts'

/** Writes an access key, by its SHA-256, and the SHA-256 by its id. For a copy; control.lua writes the same. */
export function writeToken(multi: ReturnType<RedisClient['multi']>, keys: Keys, record: AccessKeyRecord): void {
  const { usedAt, ...kept } = record
  multi.hset(keys.tokens, record.hash, JSON.stringify(kept)).hset(keys.tokenIds, record.id, record.hash)
  if (usedAt !== undefined) multi.hset(keys.tokenUses, record.hash, usedAt)
}

export function redisAccessKeys(redis: RedisClient, keys: Keys, lists: Records): AccessKeyStore {
  const records = lists.list<string, AccessKeyRecord>({
    kind: 'access_key',
    list: keys.tokens,
    parse: (text, hash) => accessKeyOf(JSON.parse(text), hash),
    look: (hash) => lookedUp(() => redis.hget(keys.tokens, hash)),
  })
  const hashesById = lists.list<string, string>({
    kind: 'access_key',
    list: keys.tokenIds,
    parse: (hash) => (hash === UNREADABLE ? null : hash),
    look: (id) => lookedUp(() => redis.hget(keys.tokenIds, id)),
  })

  async function readTokens(from: string | null): Promise<AccessKeysStep> {
    const { pairs, next } = await stepOfHash(redis, keys.tokens, from)
    return { records: records.readAll(pairs), next }
  }

  async function findTokens(ids: readonly string[]): Promise<readonly FoundAccessKey[]> {
    const hashes = await eachOf(keys.tokenIds, ids, hashesById)
    const texts = await eachOf(
      keys.tokens,
      hashes.map((hash) => hash ?? ''),
      records,
    )
    return ids.flatMap((id, i) => {
      const [hash, text] = [hashes[i] ?? null, texts[i] ?? null]
      return hash === null || text === null ? [] : [{ id, hash, record: records.read(hash, text) }]
    })
  }

  async function findTokenByHash(hash: string): Promise<FoundAccessKey | null> {
    const [text = null] = await eachOf(keys.tokens, [hash], records)
    if (text === null) return null
    const record = records.read(hash, text)
    // The id of an unreadable record is unknown, so it gets one.
    return { id: record?.id ?? randomUUID(), hash, record }
  }

  /** The values of some fields of a hash, read one by one because a Redis user may lack the right to HMGET. */
  async function eachOf(
    key: string,
    fields: readonly string[],
    list: RecordList<string, unknown>,
  ): Promise<(string | null)[]> {
    if (fields.length === 0) return []
    return reading<(string | null)[]>(
      redis,
      (commands) => {
        for (const field of fields) commands.hget(key, field)
      },
      () => list.read('', UNREADABLE),
    )
  }

  async function listTokens(): Promise<readonly AccessKeyRecord[]> {
    const [all, uses] = await reading<[Record<string, string>, Record<string, string>]>(
      redis,
      (commands) => commands.hgetall(keys.tokens).hgetall(keys.tokenUses),
      (place) => (place === 0 ? { '': UNREADABLE } : {}),
    )
    return records
      .readAll(Object.entries(all))
      .map((record) => withUse(record, uses))
      .sort(newestFirst)
  }

  async function noteUses(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size > 0) await run(redis, 'noteUses', [keys.tokens, keys.tokenUses], [...uses].flat())
  }

  async function removeTokens(endedBefore: number): Promise<void> {
    for await (const { records } of everyStep(readTokens)) {
      const ended = records.filter((record) => endOfToken(record) < endedBefore)
      if (ended.length === 0) continue
      await transaction(redis, (multi) => {
        for (const { hash, id } of ended)
          multi.hdel(keys.tokens, hash).hdel(keys.tokenIds, id).hdel(keys.tokenUses, hash)
      })
    }
  }

  return { findTokens, findTokenByHash, readTokens, listTokens, removeTokens, noteUses }
}

/** @param uses when each access key was last used, by its SHA-256 */
export function withUse(record: AccessKeyRecord, uses: Readonly<Record<string, string>>): AccessKeyRecord {
  const text = uses[record.hash] ?? ''
  return /^\d{1,15}$/.test(text) ? { ...record, usedAt: Number(text) } : record
}

function newestFirst(a: AccessKeyRecord, b: AccessKeyRecord): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)
}
