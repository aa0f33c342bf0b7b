import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { countedFrom } from '../../quota/books.ts'
import { endsAt } from '../../quota/counter.ts'
import { mostKept, type Retention } from '../../quota/history.ts'
import type { Counted, HistoryScope, HistoryStore, KeptStates, OwnerHistory } from '../../quota/history-store.ts'
import { keptChanges, UNSWEPT } from '../../quota/kept.ts'
import { oldestDay } from '../../usage/series.ts'
import { ownerHistory, type WindowVisitor } from '../owner-history.ts'
import { addRuns, packedHistoryEnds, type Shown } from '../packed-history.ts'
import { eachPackedWindow, unpack } from '../packed-value.ts'
import { shareReads } from '../shared-reads.ts'
import { type OwnedCounter, SCOPE_NUMBERS, someCounters } from './counter-rows.ts'
import { attempt, type SqliteFile } from './database.ts'
import { forgetDays } from './usage-log.ts'

/** How many users one step reads. A step holds our event loop for at most two milliseconds. */
const STEP = 500

/** How many users and organisations one reading covers. It holds our event loop for at most two milliseconds. */
const MOST_READS = 128

interface Owner {
  readonly scope: HistoryScope
  readonly id: string
}

interface HistoryRow {
  readonly user: string
  readonly runs: Uint8Array
}

/** The rows of one owner. */
interface Read {
  readonly counters: Pick<OwnedCounter, 'category' | 'windows'>[]
  runs: Uint8Array | null
}

/** @param retention how long runs are kept. By default unknown, so everything in the store is shown */
export function sqliteHistory(file: SqliteFile, clock: () => number, retention?: () => Retention): HistoryStore {
  const { database } = file
  const statements = { personal: prepare(database, 0), organisation: prepare(database, 2) }

  function shownOf(scope: HistoryScope, id: string): Shown | null {
    return retention === undefined ? null : { now: clock(), mostSeconds: mostKept(retention(), scope, id) }
  }

  function readNow(scope: HistoryScope, id: string): OwnerHistory {
    const { counters, history } = statements[scope].one
    const rows = counters.all(id) as unknown as OwnedCounter[]
    const { runs = null } = (history.get(id) ?? {}) as { runs?: Uint8Array }
    return historyOf(id, { counters: rows, runs }, shownOf(scope, id))
  }

  const readShared = shareReads((asked: readonly Owner[]) => file.read(() => readAll(asked)), MOST_READS)

  function readAll(asked: readonly Owner[]) {
    const [at, counted] = [clock(), whatIsCounted()]
    return asked.map(({ scope, id }) => ({ at, counted, history: readNow(scope, id) }))
  }

  function scanNow(scope: HistoryScope, cursor: string) {
    const { counters, history } = statements[scope].some
    const ofCounters = counters.all(cursor) as unknown as OwnedCounter[]
    const ofHistory = history.all(cursor) as unknown as HistoryRow[]
    const found = new Map<string, Read>()
    const of = (user: string): Read => {
      const known = found.get(user) ?? { counters: [], runs: null }
      found.set(user, known)
      return known
    }
    // Each list is complete up to its last owner. Whatever lies beyond the lower of the two is left to the next step.
    const ends = [
      endOf(ofCounters, new Set(ofCounters.map(({ user }) => user)).size),
      endOf(ofHistory, ofHistory.length),
    ]
    const isHere = (user: string): boolean => ends.every((end) => end === null || compare(user, end) <= 0)
    for (const row of ofCounters) if (isHere(row.user)) of(row.user).counters.push(row)
    for (const { user, runs } of ofHistory) if (isHere(user)) of(user).runs = runs
    const next = ends.reduce((a, b) => (a === null || (b !== null && compare(b, a) < 0) ? b : a))
    return { at: clock(), owners: [...found].map(([id, read]) => historyOf(id, read, shownOf(scope, id))), next }
  }

  const whatIsCounted = countedReader(file)

  function noteNow(names: readonly string[], isAnew: boolean): boolean {
    const { since: known, keeping } = whatIsCounted()
    const gone = [...known.keys()].filter((name) => !names.includes(name))
    for (const name of gone) file.run('DELETE FROM counted WHERE name = ?', name)
    for (const name of names) {
      if (!known.has(name)) file.put('counted', { name, since: countedFrom(name, gone, clock()) })
    }
    if (retention === undefined) return false
    const changes = keptChanges(keeping, retention(), clock(), isAnew)
    noteKept(file, changes)
    return keeping.has(UNSWEPT) || changes.has(UNSWEPT)
  }

  async function forgetRuns(): Promise<void> {
    if (retention === undefined) return
    const unswept = () => whatIsCounted().keeping.get(UNSWEPT)
    const due = await attempt(unswept)
    const steps = forgettingSteps(file, retention, clock)
    for (const step of steps) {
      while (await file.write(step)) await turn()
    }
    await attempt(() => {
      if (unswept()?.changedAt === due?.changedAt) file.run('DELETE FROM kept WHERE name = ?', UNSWEPT)
    })
  }

  return {
    noteCounted: (names, isAnew = true) => file.write(() => noteNow(names, isAnew)),
    forgetRuns,
    readCounted: () => attempt(() => ({ at: clock(), ...whatIsCounted() })),
    readHistory: (scope, id) => readShared({ scope, id }),
    scanHistory: (scope, cursor) => file.read(() => scanNow(scope, cursor ?? '')),
  }
}

/** The last user of a full step, which may have left others for the next step; `null` if the step is not full. */
function endOf(rows: readonly { readonly user: string }[], users: number): string | null {
  return users < STEP ? null : (rows.at(-1)?.user ?? null)
}

/** Compares texts as SQLite does, by their bytes in UTF-8. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The text contains the number of the scope, because SQLite uses a partial index only then. */
function prepare(database: DatabaseSync, scope: (typeof SCOPE_NUMBERS)[HistoryScope]) {
  const counters = `SELECT user, category, windows FROM counters WHERE scope = ${scope} AND user`
  const history = `SELECT user, runs FROM history WHERE scope = ${scope} AND user`
  return {
    one: { counters: database.prepare(`${counters} = ?`), history: database.prepare(`${history} = ?`) },
    some: {
      counters: someCounters(database, scope, STEP),
      history: database.prepare(`${history} > ? ORDER BY user LIMIT ${STEP}`),
    },
  }
}

function historyOf(id: string, { counters, runs }: Read, shown: Shown | null): OwnerHistory {
  const bytes = runs === null ? null : Buffer.from(runs.buffer, runs.byteOffset, runs.length)
  const eachWindow = (visit: WindowVisitor): void => {
    for (const { category, windows } of counters) {
      eachPackedWindow(windows, (seconds, startedAt, used) => visit(category, seconds, startedAt, used))
    }
  }
  return ownerHistory(id, bytes, eachWindow, shown)
}

/** The states hardly ever change, so they are read as two texts, and each text is parsed once. */
export function countedReader({ database }: SqliteFile): () => Counted {
  const read = database.prepare(
    `SELECT (SELECT json_group_object(name, since) FROM counted) AS since,
       (SELECT json_group_object(name, json_array(seconds, least, changed)) FROM kept) AS keeping`,
  )
  let [sinceText, keepingText] = ['{}', '{}']
  let counted: Counted = { since: new Map(), keeping: new Map() }
  return () => {
    const { since, keeping } = read.get() as { since: string; keeping: string }
    if (since === sinceText && keeping === keepingText) return counted
    sinceText = since
    keepingText = keeping
    counted = { since: new Map(Object.entries(JSON.parse(since))), keeping: statesIn(JSON.parse(keeping)) }
    return counted
  }
}

function statesIn(states: Record<string, readonly [seconds: number, least: number, changed: number]>): KeptStates {
  return new Map(
    Object.entries(states).map(([name, [keptSeconds, leastSeconds, changedAt]]) => [
      name,
      { keptSeconds, leastSeconds, changedAt },
    ]),
  )
}

/** Notes states of how long runs are kept. */
export function noteKept(file: SqliteFile, states: KeptStates): void {
  for (const [name, { keptSeconds, leastSeconds, changedAt }] of states) {
    file.put('kept', { name, seconds: keptSeconds, least: leastSeconds, changed: changedAt })
  }
}

/** How many rows one step looks at. */
const FORGET_STEP = 500

/** Functions for histories, for counters and for days of series. Each handles the next rows and returns whether there are more. */
function forgettingSteps(file: SqliteFile, retention: () => Retention, clock: () => number): (() => boolean)[] {
  const most = (scope: number, user: string): number =>
    mostKept(retention(), scope === SCOPE_NUMBERS.personal ? 'personal' : 'organisation', user)
  type Row = OwnedCounter & HistoryRow & { readonly rowid: number; readonly scope: number; readonly ends: number }
  let behind = 0
  let after: [string, number, string] = ['', -1, '']
  return [
    () => {
      const next = `SELECT rowid, scope, user, runs FROM history WHERE rowid > ? ORDER BY rowid LIMIT ${FORGET_STEP}`
      const rows = file.all<Row>(next, behind)
      for (const { rowid, scope, user, runs } of rows) {
        behind = rowid
        const left = addRuns(Buffer.from(runs.buffer, runs.byteOffset, runs.length), '', [], clock(), most(scope, user))
        if (left.length === 0) file.run('DELETE FROM history WHERE rowid = ?', rowid)
        else if (!left.equals(runs)) {
          file.run('UPDATE history SET runs = ?, ends = ? WHERE rowid = ?', left, packedHistoryEnds(left), rowid)
        }
      }
      return rows.length === FORGET_STEP
    },
    () => {
      const rows = file.all<Row>(
        `SELECT category, scope, user, windows, ends FROM counters WHERE scope <> ${SCOPE_NUMBERS.global} AND (category, scope, user) > (?, ?, ?)
         ORDER BY category, scope, user LIMIT ${FORGET_STEP}`,
        ...after,
      )
      for (const { category, scope, user, windows, ends } of rows) {
        after = [category, scope, user]
        const sooner = endsAt(unpack(windows)) + 1000 * most(scope, user)
        const here = 'WHERE category = ? AND scope = ? AND user = ?'
        if (sooner <= clock()) file.run(`DELETE FROM counters ${here}`, ...after)
        else if (sooner < ends) file.run(`UPDATE counters SET ends = ? ${here}`, sooner, ...after)
      }
      return rows.length === FORGET_STEP
    },
    () => {
      forgetDays(file, oldestDay(clock(), retention()))
      return false
    },
  ]
}
