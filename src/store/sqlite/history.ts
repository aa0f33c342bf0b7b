import type { DatabaseSync } from 'node:sqlite'
import type { Counter } from '../../quota/counter.ts'
import type { HistoryScope, HistoryStore, OwnerHistory } from '../../quota/history-store.ts'
import { eachPackedRun } from '../packed-history.ts'
import { unpack } from '../packed-value.ts'
import type { SCOPE_NUMBERS } from './counter-rows.ts'
import { attempt, transactions } from './database.ts'

/** Users that one step reads. With 35 days of a category of three windows a step takes 1.5 milliseconds of CPU. */
const STEP = 500

interface CounterRow {
  readonly user: string
  readonly category: string
  readonly windows: Uint8Array
}

interface HistoryRow {
  readonly user: string
  readonly runs: Uint8Array
}

/** What is read of one owner. */
interface Read {
  readonly counters: { readonly category: string; readonly counter: Counter }[]
  runs: Uint8Array | null
}

export function sqliteHistory(database: DatabaseSync, clock: () => number): HistoryStore {
  const { writing, reading } = transactions(database)
  const statements = { personal: prepare(database, 0), organisation: prepare(database, 2) }

  function readNow(scope: HistoryScope, id: string): OwnerHistory {
    const { counters, history } = statements[scope].one
    const rows = counters.all(id) as unknown as CounterRow[]
    const { runs = null } = (history.get(id) ?? {}) as { runs?: Uint8Array }
    return historyOf(id, { counters: rows.map(counterOf), runs })
  }

  function scanNow(scope: HistoryScope, cursor: string) {
    const { counters, history } = statements[scope].some
    const ofCounters = counters.all(cursor) as unknown as CounterRow[]
    const ofHistory = history.all(cursor) as unknown as HistoryRow[]
    const found = new Map<string, Read>()
    const of = (user: string): Read => {
      const known = found.get(user) ?? { counters: [], runs: null }
      found.set(user, known)
      return known
    }
    // Either is whole up to its last one; what lies beyond the nearer of these is for the next step.
    const ends = [
      endOf(ofCounters, new Set(ofCounters.map(({ user }) => user)).size),
      endOf(ofHistory, ofHistory.length),
    ]
    const isHere = (user: string): boolean => ends.every((end) => end === null || compare(user, end) <= 0)
    for (const row of ofCounters) if (isHere(row.user)) of(row.user).counters.push(counterOf(row))
    for (const { user, runs } of ofHistory) if (isHere(user)) of(user).runs = runs
    const next = ends.reduce((a, b) => (a === null || (b !== null && compare(b, a) < 0) ? b : a))
    return { at: clock(), owners: [...found].map(([id, read]) => historyOf(id, read)), next }
  }

  const counted = {
    all: database.prepare('SELECT name, since FROM counted'),
    add: database.prepare('INSERT INTO counted (name, since) VALUES (?, ?)'),
    forget: database.prepare('DELETE FROM counted WHERE name = ?'),
  }
  const countedNow = (): Map<string, number> =>
    new Map((counted.all.all() as unknown as { name: string; since: number }[]).map(({ name, since }) => [name, since]))

  function noteNow(names: readonly string[]): void {
    const known = countedNow()
    for (const name of known.keys()) if (!names.includes(name)) counted.forget.run(name)
    for (const name of names) if (!known.has(name)) counted.add.run(name, clock())
  }

  return {
    noteCounted: (names) => attempt(() => writing(() => noteNow(names))),
    readCounted: () => attempt(() => ({ at: clock(), since: countedNow() })),
    readHistory: (scope, id) => attempt(() => reading(() => ({ at: clock(), history: readNow(scope, id) }))),
    scanHistory: (scope, cursor) => attempt(() => reading(() => scanNow(scope, cursor ?? ''))),
  }
}

/** The last user of a step that may have left others for the next one. */
function endOf(rows: readonly { readonly user: string }[], users: number): string | null {
  return users < STEP ? null : (rows.at(-1)?.user ?? null)
}

/** As SQLite orders texts: by the bytes of UTF-8. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The number of the scope stands in the text: an index of some rows is used only by a query that says which. */
function prepare(database: DatabaseSync, scope: (typeof SCOPE_NUMBERS)[HistoryScope]) {
  const counters = `SELECT user, category, windows FROM counters WHERE scope = ${scope} AND user`
  const history = `SELECT user, runs FROM history WHERE scope = ${scope} AND user`
  const some = `SELECT DISTINCT user FROM counters WHERE scope = ${scope} AND user > ? ORDER BY user LIMIT ${STEP}`
  return {
    one: { counters: database.prepare(`${counters} = ?`), history: database.prepare(`${history} = ?`) },
    some: {
      counters: database.prepare(`${counters} IN (${some}) ORDER BY user`),
      history: database.prepare(`${history} > ? ORDER BY user LIMIT ${STEP}`),
    },
  }
}

function counterOf({ category, windows }: CounterRow): Read['counters'][number] {
  return { category, counter: unpack(windows) }
}

function historyOf(id: string, { counters, runs }: Read): OwnerHistory {
  return {
    id,
    eachRun(from, to, visit, only) {
      if (runs !== null) {
        eachPackedRun(Buffer.from(runs.buffer, runs.byteOffset, runs.length), from, to, visit, only ?? null)
      }
      for (const { category, counter } of counters) {
        for (const { seconds, startedAt, used } of counter) {
          if (only !== undefined && seconds !== only) continue
          if (used > 0 && startedAt >= from && startedAt < to) visit(category, seconds, startedAt, used, true)
        }
      }
    },
  }
}
