import type { HistoryScope, HistoryStore, OwnerHistory } from '../../quota/history-store.ts'
import { eachPackedRun } from '../packed-history.ts'
import { call, milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import { readCounters } from './form/section.ts'
import type { Keys } from './keys.ts'
import { shareReads } from './shared-reads.ts'

/** Keys of the database that one step looks at: SCAN holds Redis for 0.4 milliseconds, of 1000 for 1.7. */
const STEP = 250
/** Owners that one command reads. With 35 days of a category of three windows each it holds Redis for 0.3 milliseconds. */
const MOST_READS = 128

interface Reading {
  readonly at: number
  readonly owners: readonly OwnerHistory[]
}

export function redisHistory(redis: RedisClient, keys: Keys): HistoryStore {
  /**
   * Counters and history of each in one command: a run that moves from one into the other is in one of them. The commands go to Redis together: to
   * send each costs more than to write it.
   */
  async function read(scope: HistoryScope, ids: readonly string[]): Promise<Reading> {
    const parts = partsOf(ids)
    const [time, ...values] = await reading<[[string, string], ...(Buffer | null)[][]]>(redis, (commands) => {
      commands.time()
      for (const part of parts) commands.mgetBuffer(...namesOf(keys, scope, part))
    })
    const owners = parts.flatMap((part, i) =>
      part.map((id, k) => historyOf(id, values[i]?.[k] ?? null, values[i]?.[part.length + k] ?? null)),
    )
    return { at: milliseconds(time), owners }
  }

  /** Those who are asked for in one turn of the event loop are read together: at 64 connections Redis spends a fifth on each. */
  const readTogether = (scope: HistoryScope) =>
    shareReads(async (ids: readonly string[]) => {
      const { at, owners } = await read(scope, ids)
      return owners.map((history) => ({ at, history }))
    }, MOST_READS)
  const readShared = { personal: readTogether('personal'), organisation: readTogether('organisation') }

  return {
    noteCounted: (names) => call(() => redis.noteCounted(keys.counted, ...names)).then(() => undefined),

    async readCounted() {
      const [time, found] = await reading<[[string, string], Record<string, string>]>(redis, (commands) => {
        commands.time().hgetall(keys.counted)
      })
      const since = Object.entries(found).map(([name, at]) => [name, Number(at)] as const)
      return { at: milliseconds(time), since: new Map(since) }
    },

    readHistory: (scope, id) => readShared[scope](id),

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

function partsOf(ids: readonly string[]): (readonly string[])[] {
  const parts: (readonly string[])[] = []
  for (let i = 0; i < ids.length; i += MOST_READS) parts.push(ids.slice(i, i + MOST_READS))
  return parts
}

function namesOf(keys: Keys, scope: HistoryScope, ids: readonly string[]): string[] {
  return [...ids.map((id) => countersKey(keys, scope, id)), ...ids.map((id) => historyKey(keys, scope, id))]
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
    eachRun(from, to, visit, only) {
      if (history !== null) eachPackedRun(history, from, to, visit, only ?? null)
      for (const [category, counter] of readCounters(counters)) {
        for (const { seconds, startedAt, used } of counter) {
          if (only !== undefined && seconds !== only) continue
          if (used > 0 && startedAt >= from && startedAt < to) visit(category, seconds, startedAt, used, true)
        }
      }
    },
  }
}
