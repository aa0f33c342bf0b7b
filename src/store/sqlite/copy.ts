import { setImmediate as turn } from 'node:timers/promises'
import { isTime } from '../../lib/shape.ts'
import type { Observer } from '../../observe/observation.ts'
import { type Counter, endsAt } from '../../quota/counter.ts'
import { KEEP_EPISODES_MS } from '../../usage/episodes.ts'
import { oldestStart } from '../../usage/series.ts'
import { type Copyable, type Lists, lastingOf, type Owner, type Portion, portionOf, type Refill } from '../copy.ts'
import { COPIED_LISTS, type Ending, type EndingList, endingRecords } from '../endings.ts'
import { packedHistoryEnds } from '../packed-history.ts'
import { pack, unpack } from '../packed-value.ts'
import { createRecords, type Records } from '../records.ts'
import { putToken, tokenRecords } from './access-keys.ts'
import { controlRows, SETTINGS } from './control.ts'
import { SCOPE_NUMBERS, scopeOf } from './counter-rows.ts'
import { attempt, openDatabase, SqliteFile } from './database.ts'
import { IN_FORCE } from './editions.ts'
import { endingRows, sqliteEndings } from './endings.ts'
import { COLUMNS, failureRecords } from './failures.ts'
import { countedReader, noteKept } from './history.ts'
import { sqliteReplicas } from './replicas.ts'
import { named, nameOf, plain, type Row } from './rows.ts'
import { putEpisode, putSeries, usageRecords } from './usage-log.ts'

/** How many rows a portion has. */
const STEP = 500

/**
 * A file of the embedded store, to be copied. It is read as it was at one moment, even while a gateway uses it. It is filled
 * in one transaction, so that a copy that breaks off leaves the file unchanged.
 * @param clock milliseconds since the epoch. Default: the process clock
 */
export function openSqliteCopyable(
  path: string,
  clock: () => number = Date.now,
  observe: Observer = () => {},
): Copyable {
  const database = openDatabase(path)
  const file = new SqliteFile(database)
  const records = createRecords(observe)
  const { listReplicas } = sqliteReplicas(file, clock)

  async function* portions(): AsyncGenerator<Portion, void> {
    await attempt(() => database.exec('BEGIN'))
    try {
      yield* reading(file, records, clock())
    } finally {
      database.exec('ROLLBACK')
    }
  }

  async function refill(): Promise<Refill> {
    await attempt(() => database.exec('BEGIN IMMEDIATE'))
    const put = putting(file, records)
    return {
      mark: null,
      clear: () => attempt(() => clear(file)),
      put: ({ kind, entries }) => attempt(() => void entries.forEach(put[kind] as (entry: unknown) => void)),
      done: () => attempt(() => database.exec('COMMIT')),
      abandon: () => attempt(() => database.exec('ROLLBACK')),
    }
  }

  return {
    ping: async () => {
      await attempt(() => database.prepare('SELECT 1').get())
    },
    listReplicas,
    portions,
    refill,
    unfinished: async () => null,
    // Closing rolls back an open transaction.
    close: async () => database.close(),
  }
}

/** Deletes everything but the edition in force and what running processes report and remember. */
function clear({ database }: SqliteFile): void {
  const tables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('editions', 'endings', 'replicas')`
  for (const { name } of database.prepare(tables).all()) database.exec(`DELETE FROM ${name}`)
  database.exec(`DELETE FROM editions WHERE ends IS NOT NULL; DELETE FROM endings WHERE list <> 'flush'`)
}

async function* reading(file: SqliteFile, records: Records, now: number): AsyncGenerator<Portion, void> {
  yield* owners(file, now)
  for (const { kind, sql, values, read } of rowLists(file, records, now)) {
    for await (const rows of inSteps<Row>(file, sql, values)) yield* portionOf(kind, await read(rows))
  }
}

/** For each list, the statement that reads its rows, and a function that makes entries of the rows that can be read. */
function rowLists(file: SqliteFile, records: Records, now: number) {
  const list = <K extends keyof Lists>(
    kind: K,
    sql: string,
    values: number[],
    read: (rows: readonly Row[]) => readonly Lists[K][] | Promise<readonly Lists[K][]>,
  ) => ({ kind, sql, values, read: read as (rows: readonly Row[]) => Promise<readonly never[]> })
  const control = controlRows(file, records)
  const usage = usageRecords(file, records)
  const remembered = endingRecords(
    sqliteEndings(file, () => now),
    records,
  )
  const tokens = tokenRecords(file, records)
  const failures = failureRecords(file, records)
  const since = oldestStart(now)
  const series = `series WHERE zone <> '' OR start >= ?`
  return [
    ...COPIED_LISTS.map((name) =>
      list(name, `SELECT id, text, ends FROM endings WHERE list = '${name}' AND ends > ?`, [now], (rows) =>
        rows
          .map(({ id, text, ends }) => ({ id: nameOf(id), text: String(text), ends: Number(ends) }))
          .filter(({ id, text, ends }) => isTime(ends) && remembered[name].read(id, text) !== null),
      ),
    ),
    list('counted', 'SELECT 1 FROM counted WHERE EXISTS (SELECT 1 FROM counters) LIMIT 1', [], () => [
      countedReader(file)(),
    ]),
    list('tokens', 'SELECT * FROM tokens', [], (rows) => tokens.readAll(named(rows, 'hash'))),
    list('settings', 'SELECT id, version, value FROM settings', [], (rows) =>
      control.settings.readable(rows).map(([, settings]) => settings),
    ),
    list('overrides', inForce('overrides', 'user'), [], control.users.readable),
    list(
      'organisationOverrides',
      inForce('organisation_overrides', 'organisation'),
      [],
      control.organisations.readable,
    ),
    list('grants', 'SELECT * FROM grants', [], control.grants.readable),
    list('audit', 'SELECT * FROM audit ORDER BY version', [], control.audit.readable),
    list('failures', `SELECT ${COLUMNS} FROM failures WHERE start >= ? ORDER BY start`, [since], (rows) =>
      failures.readAll(named(rows, 'start')),
    ),
    list('series', `SELECT * FROM ${series}`, [since], usage.series),
    list('silences', `SELECT 1 FROM ${series} LIMIT 1`, [since], sqliteReplicas(file, () => now).readSilences),
    list('refusals', 'SELECT id, episode FROM refusals WHERE last > ?', [now - KEEP_EPISODES_MS], usage.refusals),
  ]
}

function inForce(table: string, key: string): string {
  return `SELECT ${key} AS id, version, value FROM ${table} WHERE edition = ${IN_FORCE}`
}

/** All rows of a query in steps, with the event loop free in between. */
async function* inSteps<R>({ database }: SqliteFile, sql: string, values: number[]): AsyncGenerator<R[], void> {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  let some: R[] = []
  for (const row of statement.iterate(...values)) {
    some.push(plain(row as Row) as R)
    if (some.length < STEP) continue
    yield some
    some = []
    await turn()
  }
  if (some.length > 0) yield some
}

interface CounterRow {
  readonly scope: number
  readonly user: string
  readonly category: string
  readonly windows: Uint8Array
  readonly ends: number
}

/** The rows of one user or organisation follow each other. */
const COUNTERS = `SELECT scope, user, category, windows, ends FROM counters WHERE ends > ?
  ORDER BY scope, user, category`

/** The histories of owners without counters. The text contains the number of the scope, because a partial index needs it. */
const histories = (scope: number): string => `SELECT scope, user, runs, ends FROM history
  WHERE ends > ? AND scope = ${scope} AND user NOT IN (SELECT user FROM counters WHERE scope = ${scope})`

interface HistoryRow {
  readonly scope: number
  readonly user: string
  readonly runs: Uint8Array
  readonly ends: number
}

type Open = Omit<Owner, 'counters' | 'ends'> & { readonly counters: Map<string, Counter>; ends: number }

async function* owners(file: SqliteFile, now: number): AsyncGenerator<Portion, void> {
  const whole: Owner[] = []

  function close({ scope, id, counters, ends }: Open): void {
    const history = 'SELECT runs, ends FROM history WHERE scope = ? AND user = ?'
    const row = file.first<Pick<HistoryRow, 'runs' | 'ends'>>(history, SCOPE_NUMBERS[scope], id)
    const lasting = lastingOf(counters, ends, now)
    if (lasting.size === 0 && row === undefined) return
    whole.push({
      ...{ scope, id, counters: lasting, ends: Math.max(ends, row?.ends ?? 0) },
      ...(row !== undefined && { history: row.runs }),
    })
  }

  let open: Open | null = null
  for await (const rows of inSteps<CounterRow>(file, COUNTERS, [now])) {
    for (const { scope: number, user: id, category, windows, ends } of rows) {
      const scope = scopeOf(number)
      if (open === null || open.scope !== scope || open.id !== id) {
        if (open !== null) close(open)
        open = { scope, id, counters: new Map(), ends }
      }
      open.counters.set(category, unpack(windows))
      open.ends = Math.max(open.ends, ends)
    }
    yield* portionOf('counters', whole.splice(0))
  }
  if (open !== null) close(open)
  yield* portionOf('counters', whole.splice(0))
  for (const scope of [SCOPE_NUMBERS.personal, SCOPE_NUMBERS.organisation]) {
    for await (const rows of inSteps<HistoryRow>(file, histories(scope), [now])) {
      const alone = rows.map(({ user, runs, ends }) => ({
        ...{ scope: scopeOf(scope), id: user, counters: new Map(), history: runs, ends },
      }))
      yield* portionOf('counters', alone)
    }
  }
}

/** How an entry of each list is written. */
function putting(file: SqliteFile, records: Records): { readonly [K in keyof Lists]: (entry: Lists[K]) => void } {
  const control = controlRows(file, records)
  const rows = endingRows(file)
  const ending = (list: EndingList) => (entry: Ending) => rows.put(list, entry.id, entry.text, entry.ends)
  return {
    counters({ scope: name, id: user, counters, history, ends = 0 }) {
      const scope = SCOPE_NUMBERS[name]
      for (const [category, windows] of counters) {
        const lasts = Math.max(ends, endsAt(windows))
        file.put('counters', { scope, category, user, windows: pack(windows), ends: lasts })
      }
      if (history === undefined) return
      file.put('history', { scope, user, runs: history, ends: packedHistoryEnds(Buffer.from(history)) })
    },
    known: ending('known'),
    member: ending('member'),
    named: ending('named'),
    counted({ since, keeping }) {
      for (const [name, at] of since) file.put('counted', { name, since: at })
      noteKept(file, keeping)
    },
    tokens: (record) => putToken(file, record),
    settings: ({ version, value }) => control.settings.put(SETTINGS, version, JSON.stringify(value)),
    overrides: ([user, { version, value }]) => control.users.put(user, version, JSON.stringify(value)),
    organisationOverrides: ([id, { version, value }]) => control.organisations.put(id, version, JSON.stringify(value)),
    grants: ([id, { version, value }]) => control.grants.put(id, version, JSON.stringify(value)),
    audit: ({ from, to, ...entry }) => control.audit.put(entry, JSON.stringify(from), JSON.stringify(to)),
    series: (entry) => putSeries(file, entry),
    silences: ({ from, to }) => file.put('silences', { instance: `copied ${from} ${to}`, since: from, until: to }),
    refusals: (episode) => putEpisode(file, episode),
    failures: ({ asideFailed, ...counts }) => file.put('failures', { ...counts, aside_failed: asideFailed }),
  }
}
