import type { HistoryScope, HistoryStore, OwnerHistory } from '../../quota/history-store.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { eachPackedRun } from '../packed-history.ts'
import { call } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { readCounters } from './sections.ts'

/** Keys of the database that one step looks at: SCAN holds Redis for 0.2 milliseconds. */
const STEP = 1000
/**
 * Bytes after which a reading begins no other history: one of 35 days has a kilobyte for each category of three windows. Redis is held
 * for 0.5 milliseconds.
 */
const READ_BYTES = 262_144

/** Behind the time and the number of owners. */
const HEAD = 10

interface Reading {
  readonly at: number
  readonly owners: readonly OwnerHistory[]
}

export function redisHistory(redis: RedisClient, keys: Keys): HistoryStore {
  async function read(scope: HistoryScope, ids: readonly string[]): Promise<Reading> {
    const names = ids.flatMap((id) => [countersKey(keys, scope, id), historyKey(keys, scope, id)])
    const owners: OwnerHistory[] = []
    for (;;) {
      const from = String(owners.length + 1)
      const reply = await call(() => redis.readHistoriesBuffer(names.length, ...names, from, String(READ_BYTES)))
      const { at, count } = readOwners(reply, ids, owners)
      if (owners.length >= ids.length) return { at, owners }
      if (count === 0) throw new StoreError('unexpected reply of read-histories.lua', 'other', 'no')
    }
  }

  return {
    async readHistory(scope, id) {
      const { at, owners } = await read(scope, [id])
      return { at, history: owners[0] as OwnerHistory }
    },

    async scanHistory(scope, cursor) {
      const prefix = countersKey(keys, scope, '')
      const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}*`
      const from = /^\d{1,20}$/.test(cursor ?? '') ? (cursor as string) : '0'
      const [next, names] = await call(() => redis.scanKeys(keys.version, from, pattern, STEP))
      // SCAN may give a key twice, and the key without an id is nobody's.
      const ids = [...new Set(names)].filter((name) => name !== prefix).map((name) => name.slice(prefix.length))
      return { ...(await read(scope, ids)), next: next === '0' ? null : next }
    },
  }
}

function countersKey(keys: Keys, scope: HistoryScope, id: string): string {
  return scope === 'personal' ? keys.user(id) : keys.organisation(id)
}

export function historyKey(keys: Keys, scope: HistoryScope, id: string): string {
  return scope === 'personal' ? keys.history(id) : keys.organisationHistory(id)
}

/** Adds those of a reply of read-histories.lua. */
function readOwners(
  reply: unknown,
  ids: readonly string[],
  owners: OwnerHistory[],
): { readonly at: number; readonly count: number } {
  if (!Buffer.isBuffer(reply) || reply.length < HEAD) {
    throw new StoreError('unexpected reply of read-histories.lua', 'other', 'no')
  }
  const at = reply.readUIntBE(0, 6)
  const count = reply.readUInt32BE(6)
  let place = HEAD
  for (let i = 0; i < count; i++) {
    const counters = place + 8
    const history = counters + reply.readUInt32BE(place)
    const end = history + reply.readUInt32BE(place + 4)
    owners.push(historyOf(ids[owners.length] ?? '', reply, counters, history, end))
    place = end
  }
  return { at, count }
}

/** @param counters where in the bytes its counters begin, @param history then its history, @param end what follows */
function historyOf(id: string, bytes: Buffer, counters: number, history: number, end: number): OwnerHistory {
  return {
    id,
    eachRun(from, to, visit) {
      eachPackedRun(bytes, from, to, visit, history, end)
      for (const [category, counter] of readCounters(bytes.subarray(counters, history))) {
        for (const { seconds, startedAt, used } of counter) {
          if (used > 0 && startedAt >= from && startedAt < to) visit(category, seconds, startedAt, used, true)
        }
      }
    },
  }
}
