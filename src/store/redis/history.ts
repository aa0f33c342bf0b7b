import { mostKept, type Retention } from '../../quota/history.ts'
import type { HistoryScope, HistoryStore, KeptSince, KeptStates, OwnerHistory } from '../../quota/history-store.ts'
import { keptChanges, UNSWEPT } from '../../quota/kept.ts'
import { eachPackedRun, oldestShown, type Shown } from '../packed-history.ts'
import { call, milliseconds, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import { readCounters } from './form/section.ts'
import type { Keys } from './keys.ts'
import { stepOfKeys } from './scanned-keys.ts'
import { shareReads } from './shared-reads.ts'
import { forgetDays } from './usage-log.ts'

/** Keys of the database that one step looks at: SCAN holds Redis for less than a millisecond. */
const STEP = 250
/** Owners that one command reads: it holds Redis for less than a millisecond. */
const MOST_READS = 128

interface Reading {
  readonly at: number
  readonly owners: readonly OwnerHistory[]
}

/** @param retention how long runs are kept. Default: nobody says, and all that is there is shown */
export function redisHistory(redis: RedisClient, keys: Keys, retention?: () => Retention): HistoryStore {
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
    const at = milliseconds(time)
    const owners = parts.flatMap((part, i) =>
      part.map((id, k) => {
        const shown = retention === undefined ? null : { now: at, mostSeconds: mostKept(retention(), scope, id) }
        return historyOf(id, values[i]?.[k] ?? null, values[i]?.[part.length + k] ?? null, shown)
      }),
    )
    return { at, owners }
  }

  /** Those who are asked for in one turn of the event loop are read together: at 64 connections Redis spends a fifth on each. */
  const readTogether = (scope: HistoryScope) =>
    shareReads(async (ids: readonly string[]) => {
      const { at, owners } = await read(scope, ids)
      return owners.map((history) => ({ at, history }))
    }, MOST_READS)
  const readShared = { personal: readTogether('personal'), organisation: readTogether('organisation') }

  async function readCounted() {
    const [time, found] = await reading<[[string, string], Record<string, string>]>(redis, (commands) => {
      commands.time().hgetall(keys.counted)
    })
    const since = Object.entries(found).filter(([name]) => !name.startsWith(KEEP))
    return {
      at: milliseconds(time),
      since: new Map(since.map(([name, at]) => [name, Number(at)] as const)),
      keeping: statesIn(found),
    }
  }

  async function noteCounted(names: readonly string[], isAnew = true): Promise<boolean> {
    await call(() => redis.noteCounted(keys.counted, ...names))
    if (retention === undefined) return false
    const { at, keeping } = await readCounted()
    const changes = keptChanges(keeping, retention(), at, isAnew)
    if (changes.size > 0) await call(() => redis.hset(keys.counted, textsOf(changes)))
    return keeping.has(UNSWEPT) || changes.has(UNSWEPT)
  }

  async function forgetRuns(): Promise<void> {
    if (retention === undefined) return
    const due = (await readCounted()).keeping.get(UNSWEPT)
    for (const scope of ['personal', 'organisation'] as const) {
      let cursor: string | null = null
      do {
        const { ids, next } = await scan(scope, cursor)
        for (const part of partsOf(ids)) await forgetOf(scope, part, retention())
        cursor = next
      } while (cursor !== null)
    }
    await forgetDays(redis, keys, retention())
    const isSame = (await readCounted()).keeping.get(UNSWEPT)?.changedAt === due?.changedAt
    if (isSame) await call(() => redis.hdel(keys.counted, KEEP + UNSWEPT))
  }

  async function forgetOf(scope: HistoryScope, ids: readonly string[], kept: Retention): Promise<void> {
    const names = ids.flatMap((id) => [countersKey(keys, scope, id), historyKey(keys, scope, id)])
    await call(() => redis.forgetRuns(names.length, ...names, ...ids.map((id) => mostKept(kept, scope, id))))
  }

  async function scan(scope: HistoryScope, cursor: string | null) {
    const prefix = countersKey(keys, scope, '')
    const { names, next } = await stepOfKeys(redis, keys, prefix, cursor, STEP)
    // The key without an id is nobody's.
    return { ids: names.filter((name) => name !== prefix).map((name) => name.slice(prefix.length)), next }
  }

  return {
    noteCounted,
    forgetRuns,
    readCounted,
    readHistory: (scope, id) => readShared[scope](id),

    async scanHistory(scope, cursor) {
      const { ids, next } = await scan(scope, cursor)
      return { ...(await read(scope, ids)), next }
    },
  }
}

/** In the hash of the windows that are counted, before the name of what is noted of how long runs are kept. */
const KEEP = 'keep '

function statesIn(hash: Record<string, string>): KeptStates {
  const states = new Map<string, KeptSince>()
  for (const [name, text] of Object.entries(hash)) {
    const [, keptSeconds, leastSeconds, changedAt] = /^(\d{1,16}) (\d{1,16}) (\d{1,16})$/.exec(text) ?? []
    if (!name.startsWith(KEEP) || changedAt === undefined) continue
    const state = { keptSeconds: Number(keptSeconds), leastSeconds: Number(leastSeconds), changedAt: Number(changedAt) }
    states.set(name.slice(KEEP.length), state)
  }
  return states
}

/** As fields of that hash. */
export function textsOf(states: KeptStates): Record<string, string> {
  return Object.fromEntries(
    [...states].map(([name, state]) => [KEEP + name, `${state.keptSeconds} ${state.leastSeconds} ${state.changedAt}`]),
  )
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

function historyOf(id: string, counters: Buffer | null, history: Buffer | null, shown: Shown | null): OwnerHistory {
  return {
    id,
    eachRun(from, to, visit, only) {
      if (history !== null) eachPackedRun(history, from, to, visit, only ?? null, shown)
      for (const [category, counter] of readCounters(counters)) {
        for (const { seconds, startedAt, used } of counter) {
          if (only !== undefined && seconds !== only) continue
          const oldest = shown === null ? from : Math.max(from, oldestShown(seconds, shown.mostSeconds, shown))
          if (used > 0 && startedAt >= oldest && startedAt < to) visit(category, seconds, startedAt, used, true)
        }
      }
    },
  }
}
