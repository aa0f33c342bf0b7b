import type { HistoryScope, HistoryStore, OwnerHistory } from '../../quota/history-store.ts'
import { eachPackedRun } from '../packed-history.ts'
import { call, milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { readCounters } from './sections.ts'

/** Keys of the database that one step looks at: SCAN holds Redis for 0.4 milliseconds. */
const STEP = 1000
/** Owners that one command reads. With 35 days of a category of three windows each it holds Redis for 0.3 milliseconds. */
const MOST_READS = 128

interface Reading {
  readonly at: number
  readonly owners: readonly OwnerHistory[]
}

export function redisHistory(redis: RedisClient, keys: Keys): HistoryStore {
  /** Counters and history of each in one command: a run that moves from one into the other is in one of them. */
  async function readSome(scope: HistoryScope, ids: readonly string[]): Promise<Reading> {
    const names = [...ids.map((id) => countersKey(keys, scope, id)), ...ids.map((id) => historyKey(keys, scope, id))]
    const [time, values = []] = await reading<[[string, string], (Buffer | null)[]?]>(redis, (commands) => {
      commands.time()
      if (names.length > 0) commands.mgetBuffer(names)
    })
    const owners = ids.map((id, i) => historyOf(id, values[i] ?? null, values[ids.length + i] ?? null))
    return { at: milliseconds(time), owners }
  }

  async function read(scope: HistoryScope, ids: readonly string[]): Promise<Reading> {
    const { at, owners } = await readSome(scope, ids.slice(0, MOST_READS))
    const all = [...owners]
    for (let i = MOST_READS; i < ids.length; i += MOST_READS) {
      all.push(...(await readSome(scope, ids.slice(i, i + MOST_READS))).owners)
    }
    return { at, owners: all }
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

function historyOf(id: string, counters: Buffer | null, history: Buffer | null): OwnerHistory {
  return {
    id,
    eachRun(from, to, visit) {
      if (history !== null) eachPackedRun(history, from, to, visit)
      for (const [category, counter] of readCounters(counters)) {
        for (const { seconds, startedAt, used } of counter) {
          if (used > 0 && startedAt >= from && startedAt < to) visit(category, seconds, startedAt, used, true)
        }
      }
    },
  }
}
