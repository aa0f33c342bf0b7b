import { everyStep } from '../../lib/steps.ts'
import { mostKept, type Retention } from '../../quota/history.ts'
import type {
  Counted,
  HistoryScope,
  HistoryStore,
  KeptSince,
  KeptStates,
  OwnerHistory,
} from '../../quota/history-store.ts'
import { keptChanges, UNSWEPT } from '../../quota/kept.ts'
import { ownerHistory } from '../owner-history.ts'
import { shareReads } from '../shared-reads.ts'
import { call, readingAt, run } from './calls.ts'
import type { RedisClient } from './client.ts'
import { eachWindow } from './form/section.ts'
import { type Keys, keyOf } from './keys.ts'
import { stepOfKeys } from './scanned-keys.ts'
import { forgetDays } from './usage-log.ts'

/** How many keys of the database one step looks at. SCAN then holds Redis for less than a millisecond. */
const STEP = 250
/** How many owners one command reads. It then holds Redis for less than a millisecond. */
const MOST_READS = 128

type Bytes = Buffer | null

interface Owner {
  readonly scope: HistoryScope
  readonly id: string
}

/** @param retention how long runs are kept. By default unknown, so everything in the store is shown */
export function redisHistory(redis: RedisClient, keys: Keys, retention?: () => Retention): HistoryStore {
  const historyOf = (at: number, { scope, id }: Owner, counters: Bytes, history: Bytes): OwnerHistory => {
    const shown = retention === undefined ? null : { now: at, mostSeconds: mostKept(retention(), scope, id) }
    return ownerHistory(id, history, (visit) => eachWindow(counters, visit), shown)
  }

  /**
   * Owners requested in one turn of the event loop are read together. At 64 connections each request then costs Redis a fifth, and shares
   * two thirds of its allocations with the others.
   */
  const readShared = shareReads(async (asked: readonly Owner[]) => {
    const names = namesOf(keys, asked)
    const [at, found, values] = await readingAt<[Record<string, string>, Bytes[]]>(redis, (commands) =>
      commands.hgetall(keys.counted).mgetBuffer(...names),
    )
    const counted = countedIn(found)
    return asked.map((owner, i) => {
      const history = historyOf(at, owner, values[i] ?? null, values[asked.length + i] ?? null)
      return { at, counted, history }
    })
  }, MOST_READS)

  async function readCounted() {
    const [at, found] = await readingAt<[Record<string, string>]>(redis, (commands) => commands.hgetall(keys.counted))
    return { at, ...countedIn(found) }
  }

  async function noteCounted(names: readonly string[], isAnew = true): Promise<boolean> {
    await run(redis, 'noteCounted', [keys.counted], names)
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
      for await (const { ids } of everyStep((cursor: string | null) => scan(scope, cursor))) {
        for (const part of partsOf(ids)) await forgetOf(scope, part, retention())
      }
    }
    await forgetDays(redis, keys, retention())
    const isSame = (await readCounted()).keeping.get(UNSWEPT)?.changedAt === due?.changedAt
    if (isSame) await call(() => redis.hdel(keys.counted, KEEP + UNSWEPT))
  }

  async function forgetOf(scope: HistoryScope, ids: readonly string[], kept: Retention): Promise<void> {
    const names = ids.flatMap((id) => [keyOf(keys, scope, id), historyKey(keys, scope, id)])
    const seconds = ids.map((id) => mostKept(kept, scope, id))
    await run(redis, 'forgetRuns', names, seconds)
  }

  async function scan(scope: HistoryScope, cursor: string | null) {
    const prefix = keyOf(keys, scope, '')
    const { names, next } = await stepOfKeys(redis, keys, prefix, cursor, STEP)
    // The key without an id belongs to nobody.
    return { ids: names.filter((name) => name !== prefix).map((name) => name.slice(prefix.length)), next }
  }

  return {
    noteCounted,
    forgetRuns,
    readCounted,
    readHistory: (scope, id) => readShared({ scope, id }),

    /** The commands go to Redis together, because sending a command by itself costs more than encoding it. */
    async scanHistory(scope, cursor) {
      const { ids, next } = await scan(scope, cursor)
      const parts = partsOf(ids.map((id) => ({ scope, id })))
      const [at, ...values] = await readingAt<Bytes[][]>(redis, (commands) => {
        for (const part of parts) commands.mgetBuffer(...namesOf(keys, part))
      })
      const owners = parts.flatMap((part, i) =>
        part.map((owner, k) => historyOf(at, owner, values[i]?.[k] ?? null, values[i]?.[part.length + k] ?? null)),
      )
      return { at, owners, next }
    },
  }
}

/** The prefix of fields that say how long runs are kept, in the hash of counted windows. */
const KEEP = 'keep '

const KEPT = /^(\d{1,16}) (\d{1,16}) (\d{1,16})$/

function countedIn(hash: Record<string, string>): Counted {
  const since = new Map<string, number>()
  const keeping = new Map<string, KeptSince>()
  for (const [name, text] of Object.entries(hash)) {
    if (!name.startsWith(KEEP)) since.set(name, Number(text))
    else {
      const [, keptSeconds, leastSeconds, changedAt] = KEPT.exec(text) ?? []
      if (changedAt === undefined) continue
      const state = {
        keptSeconds: Number(keptSeconds),
        leastSeconds: Number(leastSeconds),
        changedAt: Number(changedAt),
      }
      keeping.set(name.slice(KEEP.length), state)
    }
  }
  return { since, keeping }
}

/** The states as fields of the hash of counted windows. */
export function textsOf(states: KeptStates): Record<string, string> {
  return Object.fromEntries(
    [...states].map(([name, state]) => [KEEP + name, `${state.keptSeconds} ${state.leastSeconds} ${state.changedAt}`]),
  )
}

function partsOf<T>(all: readonly T[]): (readonly T[])[] {
  const parts: (readonly T[])[] = []
  for (let i = 0; i < all.length; i += MOST_READS) parts.push(all.slice(i, i + MOST_READS))
  return parts
}

/** Counters and history of each owner are read by one command, so a run that moves between them is in one of them. */
function namesOf(keys: Keys, owners: readonly Owner[]): string[] {
  const names = owners.map(({ scope, id }) => keyOf(keys, scope, id))
  for (const { scope, id } of owners) names.push(historyKey(keys, scope, id))
  return names
}

export function historyKey(keys: Keys, scope: HistoryScope, id: string): string {
  return scope === 'personal' ? keys.history(id) : keys.organisationHistory(id)
}
